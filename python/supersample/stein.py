"""Stein thinning: draws chosen to match a density p with known gradient, not the draws themselves.

The only input in addition to the rows is the score, the gradient of log p, at every row; p need not be normalised. The
objective, the kernel Stein discrepancy (KSD), is the distance from p itself. Draws that are not from p (burn-in, a
wrong temperature) are left out, while `supersample.thin` matches them like all others.

>>> import numpy as np, supersample as ss
>>> x = np.random.default_rng(0).normal(size=(1000, 2))
>>> x[:200] += 8  # the first fifth does not follow N(0, 1)
>>> kept = ss.stein.thin(x, -x, 50)
>>> bool((kept.indices >= 200).all()), bool((ss.thin(x, 50).indices >= 200).all())
(True, False)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from . import _native
from ._advice import missed, tell
from ._choose import asked, chosen_from, grouped, numbered
from ._inputs import as_array, as_count, as_rows, as_vector, expect_same_order
from ._options import Options, SteinHerd, SteinJudge, SteinPlace, SteinThin, read, takes
from ._progress import reporting
from ._result import PoolResult, Result, placed_result
from ._scores import as_scored, with_preconditioner
from ._tables import as_table, explained
from ._warnings import warn
from .kernels import known_kernel

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["herd", "ksd", "sample", "thin"]


@takes(SteinHerd)
def herd(x: Any, scores: Any, n: SupportsIndex | None = None, **options: Unpack[SteinHerd]) -> PoolResult:
    """Returns `n` rows of `x`, chosen one by one by Stein thinning. Every prefix is a good subset.

    Each row reduces the KSD most. With the defaults the rows are those of the package stein_thinning,
    whose names for the preconditioners are accepted too. `mmd` and `error` of the result are KSDs.

    Parameters
    ----------
    x
        One row per draw, as in `supersample.herd`.
    scores
        The gradient of the log-density at each row, in the units of `x`: an array or a frame of the
        same shape. For transformed parameters, draws and scores must both be those of the
        unconstrained space. A gradient of the potential, as in CmdStan's diagnostic files, has the
        opposite sign.
    n
        Number of rows to choose; with `tol` or `equivalent_draws`, the maximum.
    kernel, preconditioner
        The base of the Stein kernel: imq is (1 + u)^(-1/2), gaussian is exp(-u/2), with
        u = (x-y)' G^-1 (x-y). G is the identity, the squared median distance of at most 1,000 rows
        times the identity (median), the same divided by the logarithm of their number
        (scaled-median), their covariance, or the square of a given length.
    scale
        Columns are divided by their mean absolute deviation (aad), as in stein_thinning, by their
        standard deviation (sd), or as in `supersample.herd`. Scores are multiplied.
    tol, equivalent_draws
        Stop at a KSD of at most `tol`, or when the points are as accurate as this number of
        independent draws from the density.
    **options

    >>> import numpy as np, supersample as ss
    >>> x = np.random.default_rng(0).normal(size=(500, 3))
    >>> result = ss.stein.herd(x, -x, 20)
    >>> result.indices[:5]
    array([357, 271,  64, 219, 207])
    >>> str(result).splitlines()[1][:42]
    '  KSD 0.333, equivalent to 43.6 iid draws,'
    >>> bool(np.isclose(result.mmd, ss.stein.ksd(x, -x, result.indices)))
    True
    """
    return _chosen("herd", x, scores, n, read(SteinHerd, options))


@takes(SteinThin)
def thin(x: Any, scores: Any, n: SupportsIndex | None = None, **options: Unpack[SteinThin]) -> PoolResult:
    """Returns the `n` distinct rows of `x` with the lowest KSD, as a set.

    Swaps and a search follow the herding of `supersample.stein.herd`, so the KSD is lower than that of
    the package stein_thinning. The keywords are those of `supersample.stein.herd`, and `repeats`,
    `search`, `seed`, `include`, `exclude`, `groups` and `quotas` of `supersample.thin`.

    >>> import numpy as np, supersample as ss
    >>> x = np.random.default_rng(0).normal(size=(500, 3))
    >>> ss.stein.thin(x, -x, 20).mmd < ss.stein.herd(x, -x, 20).mmd
    True
    """
    return _chosen("thin", x, scores, n, read(SteinThin, options))


@takes(SteinJudge)
def ksd(x: Any, scores: Any, indices: Any = None, *, subset_weight: Any = None, **options: Unpack[SteinJudge]) -> float:
    """Returns the KSD of the rows of `x`, or of some of them: their distance from the density.

    Parameters
    ----------
    x, scores, kernel, preconditioner, scale
        As in `herd`. Scale and preconditioner are computed from all rows of `x`.
    indices
        The numbers of the rows to measure, or a result, which is measured by the kernel, the
        preconditioner and the scale that it was chosen by, unless others are given. By default all
        rows; the time grows with the square of their number.
    subset_weight
        A weight for each of these rows, used unchanged. By default equal, or those of the result.

    >>> import numpy as np, supersample as ss
    >>> x = np.random.default_rng(0).normal(size=(1000, 2))
    >>> all_rows, some = ss.stein.ksd(x, -x), ss.stein.ksd(x, -x, range(100))
    >>> all_rows < some
    True
    >>> round(ss.stein.ksd(x, -0.5 * x), 2), round(all_rows, 2)  # half the score is that of N(0, 2)
    (0.16, 0.04)
    """
    scored, given = as_scored(x, scores), read(SteinJudge, _as_chosen(options, indices))
    count = len(scored.rows.values)
    if isinstance(indices, Result):
        if indices.indices is None:
            raise ValueError("points of sample are not rows of x; their KSD is the mmd of the result")
        if indices.n_rows != count:
            raise ValueError(f"the result was chosen from {indices.n_rows} rows, but x has {count} rows")
        if subset_weight is None and not indices._has_equal_weights():
            subset_weight = indices.weights
        indices = indices.indices
    rows = slice(None) if indices is None else _row_numbers(indices, count)
    points, of_points = (np.ascontiguousarray(table.values[rows]) for table in scored)
    weights = None if subset_weight is None else as_vector(subset_weight, "subset_weight")
    with explained(scored.rows):
        subset = Options(points=points, scores=of_points, weights=weights)
        return _native.mmd(scored.rows.values, scored.given(given), subset)[0]


@takes(SteinPlace)
def sample(
    score: Callable[[NDArray[np.float64]], Any],
    n: SupportsIndex,
    starts: Any,
    *,
    log_density: Callable[[NDArray[np.float64]], float] | None = None,
    climbs: int = 3,
    max_evaluations: int = 1_000_000,
    **options: Unpack[SteinPlace],
) -> Result:
    """Returns `n` points that represent a density, placed anywhere in space ("Stein points").

    Each point is found by gradient ascent from the best starting points. These need not be draws from
    the density, only cover the region where it is large. A gradient of the KSD needs two more
    evaluations of the score, and no Hessian.

    Parameters
    ----------
    score
        A function of one point, an array, that returns the gradient of the log-density there. Values
        that are not finite mean that there is no gradient.
    n
        Number of points; with `tol`, the maximum.
    starts
        A few hundred points, one per row, spread over the region of the density. Scale and
        preconditioner are computed from them.
    log_density
        A function of one point that returns -inf where no point is allowed; such starts are left out.
        By default a point is allowed wherever the score is finite.
    climbs
        Number of starting points, the best ones, from which gradient ascent runs for each point.
    max_evaluations
        After this number of evaluations of the score, gradient ascent stops, with a warning.

    The other keywords are those of `herd`.

    >>> import numpy as np, supersample as ss
    >>> starts = np.random.default_rng(0).uniform(-3, 3, size=(200, 2))
    >>> result = ss.stein.sample(lambda x: -x, 30, starts)  # N(0, 1)
    >>> result.indices is None, bool(np.abs(result.points.mean(0)).max() < 0.1)
    (True, True)
    """
    if not callable(score):
        raise TypeError(f"score is of type {type(score).__name__}; give a function of one point")
    table, given = as_table(starts, "starts"), with_preconditioner(read(SteinPlace, options))

    def checked(x: NDArray[np.float64]) -> NDArray[np.float64]:
        # Copies, because the function may work in place, or return the same array each time.
        found = as_array(score(x.copy()), "what score returns").reshape(-1)
        if found.dtype.kind not in "fiub":
            raise TypeError(f"score returns numbers of dtype {found.dtype}; give the gradient of the log-density")
        return np.array(found, dtype=np.float64)

    def density(x: NDArray[np.float64]) -> float:
        assert log_density is not None
        return float(log_density(x.copy()))

    values, dim = table.values, table.values.shape[1]
    if log_density is not None:
        values = values[[density(x) > -np.inf for x in values]]
        if not len(values):
            raise ValueError("log_density is -inf or nan at every start; give starts where the density is")
    first = [checked(x) for x in values]
    for row, found in enumerate(first):
        if len(found) != dim:
            raise ValueError(f"score returns {len(found)} numbers for a point of {dim} (row {row} of starts)")
    with reporting(given["progress"]) as listener, explained(table, "starts"):
        placed = _native.stein_place(
            checked,
            None if log_density is None else density,
            values,
            np.ascontiguousarray(first),
            given.also(method="herd", n=as_count(n, "n"), progress=listener),
            as_count(climbs, "climbs"),
            as_count(max_evaluations, "max_evaluations"),
        )
    chosen, kernel = placed.chosen, known_kernel(f"stein-{given.get('kernel', 'imq')}", ())
    result = placed_result(chosen, kernel, values, given.get("scale", "aad"), table.names)
    if placed.evaluations >= max_evaluations:
        warn(
            f"the score was evaluated {placed.evaluations:,} times, and {placed.stuck} gradient ascents did not end; "
            "allow more with max_evaluations"
        )
    elif placed.stuck:
        warn(f"{placed.stuck} of the gradient ascents did not reach a maximum; try more starts")
    tell(chosen.advice, table.names)
    missed(chosen, result)
    return replace(result, objective="KSD", preconditioner=given["preconditioner"] or "identity")


def _chosen(method: str, x: Any, scores: Any, n: Any, given: Options) -> PoolResult:
    given = asked(method, n, given)
    scored, groups = as_scored(x, scores), given.pop("groups", None)
    expect_same_order(x, groups, "groups")
    given, labels = grouped(given, groups, given.pop("quotas", None))
    given = scored.given(numbered(given, x, scored.rows))
    result = chosen_from(scored.rows, given, labels)
    what = "KSD" + ", regularised" * (given["log_density"] is not None)
    return replace(result, objective=what, preconditioner=given["preconditioner"] or "identity")


def _as_chosen(options: Mapping[str, Any], chosen: Any) -> Mapping[str, Any]:
    """The keywords with what a result was chosen by, where nothing else is given."""
    given = {name: one for name, one in options.items() if one is not None}
    if not isinstance(chosen, Result) or chosen.preconditioner is None:
        return given
    own = {"kernel": chosen.kernel.name.removeprefix("stein-"), "scale": chosen.scale}
    return {**own, "preconditioner": chosen.preconditioner, **given}


def _row_numbers(indices: Any, rows: int) -> NDArray[np.int64]:
    numbers = as_rows(indices, rows, "indices")
    if not len(numbers):
        raise ValueError("indices is empty; name at least one row")
    return numbers
