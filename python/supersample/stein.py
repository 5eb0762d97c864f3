"""Any density: draws chosen by the score of what they should be draws of, and not by what they are.

The mean of a Stein kernel under a density p is zero, whatever p is, normalised or not; all it needs is the score, the
gradient of log p, at every row. So the objective, the kernel Stein discrepancy (KSD), is the distance from
p itself: draws that are not from p, burn-in or a wrong temperature, are seen and left out, where `supersample.thin`
matches them like any others.

>>> import numpy as np, supersample as ss
>>> x = np.random.default_rng(0).normal(size=(1000, 2))
>>> x[:200] += 8  # the first fifth is no draw of N(0, 1)
>>> kept = ss.stein.thin(x, -x, 50)
>>> bool((kept.indices >= 200).all()), bool((ss.thin(x, 50).indices >= 200).all())
(True, False)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import _native
from ._advice import missed, tell
from ._choose import asked, chosen_from
from ._inputs import as_count, as_rows, as_table, as_vector, explained
from ._options import Options, SteinHerd, SteinJudge, SteinPlace, SteinThin, read, takes
from ._progress import reporting
from ._result import PoolResult, Result, placed_result
from ._scores import as_scored, with_preconditioner
from ._warnings import warn
from .kernels import known_kernel

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["herd", "ksd", "sample", "thin"]


@takes(SteinHerd)
def herd(x: Any, scores: Any, n: int | None = None, **options: Unpack[SteinHerd]) -> PoolResult:
    """Chooses `n` rows of `x` one after the other, each lowering the KSD most; any prefix of them is good too.

    This is Stein thinning: with the defaults the rows are those of the package stein_thinning, whose words for the
    preconditioners are understood too. `mmd` and `error` of the result are KSDs.

    Parameters
    ----------
    x
        One row for each draw, as in `supersample.herd`.
    scores
        The gradient of the log-density at each row, in the units of `x`: an array or a frame of the same shape. For
        parameters that were transformed, draws and scores are both those of the unconstrained space. A gradient of the
        potential, as in CmdStan's diagnostic files, has the other sign.
    n
        How many rows to choose; with `tol` or `equivalent_draws` at most this number.
    kernel, preconditioner
        The kernel that the Stein kernel is made of, (1 + u)^(-1/2) or exp(-u/2) of u = (x-y)' G^-1 (x-y), and G: the
        identity, the squared median distance of (at most 1,000) rows times the identity (median), that over the
        logarithm of their number (scaled-median), their covariance, or the square of a length that is given.
    scale
        Columns are divided by their mean absolute deviation (aad), as stein_thinning does, by their standard deviation
        (sd), or as in `supersample.herd`; scores are multiplied.
    tol, equivalent_draws
        Stop at the first KSD of at most `tol`, or when the points are as accurate as this number of independent draws
        of the density.
    **options

    >>> import numpy as np, supersample as ss
    >>> x = np.random.default_rng(0).normal(size=(500, 3))
    >>> result = ss.stein.herd(x, -x, 20)
    >>> result.indices[:5]
    array([357, 271,  64, 219, 207])
    >>> str(result).splitlines()[1][:34]
    '  KSD 0.333, equivalent to 43.6 iid draws,'
    >>> bool(np.isclose(result.mmd, ss.stein.ksd(x, -x, result.indices)))
    True
    """
    return _chosen("herd", x, scores, n, read(SteinHerd, options))


@takes(SteinThin)
def thin(x: Any, scores: Any, n: int | None = None, **options: Unpack[SteinThin]) -> PoolResult:
    """Chooses the best `n` distinct rows of `x` as a set: herding, then swaps until none lowers the KSD, then a search.

    What is not described here is as in `herd`, which gives the rows of the package stein_thinning; those of `thin` have
    a lower KSD.

    The keywords of sets, `repeats`, `search`, `seed`, `include`, `exclude`, `groups` and `quotas`, are those of
    `supersample.thin`.

    >>> import numpy as np, supersample as ss
    >>> x = np.random.default_rng(0).normal(size=(500, 3))
    >>> ss.stein.thin(x, -x, 20).mmd < ss.stein.herd(x, -x, 20).mmd
    True
    """
    return _chosen("thin", x, scores, n, read(SteinThin, options))


@takes(SteinJudge)
def ksd(x: Any, scores: Any, indices: Any = None, *, subset_weight: Any = None, **options: Unpack[SteinJudge]) -> float:
    """The KSD of the rows of `x`, or of some of them: their distance from the density that the scores are of.

    Parameters
    ----------
    x, scores, kernel, preconditioner, scale
        As in `herd`. Scale and preconditioner are those of all rows of `x`, whichever are measured.
    indices
        The numbers of the rows that are measured, or a result; by default all rows, which takes their number squared.
    subset_weight
        A weight for each of these, used as they are; by default equal ones, or those of a result.

    >>> import numpy as np, supersample as ss
    >>> x = np.random.default_rng(0).normal(size=(1000, 2))
    >>> all_rows, some = ss.stein.ksd(x, -x), ss.stein.ksd(x, -x, range(100))
    >>> all_rows < some
    True
    >>> round(ss.stein.ksd(x, -0.5 * x), 2), round(all_rows, 2)  # half the score: N(0, 2), of which these are no draws
    (0.16, 0.04)
    """
    scored, given = as_scored(x, scores), read(SteinJudge, options)
    count = len(scored.rows.values)
    if isinstance(indices, Result):
        if indices.indices is None:
            raise ValueError("the points of sample are no rows of x; their KSD is the mmd of the result")
        if indices.n_rows != count:
            raise ValueError(f"the result was chosen from {indices.n_rows} rows, but x has {count}")
        if subset_weight is None and not indices._has_equal_weights():
            subset_weight = indices.weights
        indices = indices.indices
    rows = slice(None) if indices is None else _row_numbers(indices, count)
    points, of_points = (np.ascontiguousarray(table.values[rows]) for table in scored)
    weights = None if subset_weight is None else as_vector(subset_weight, "subset_weight")
    with explained(scored.rows):
        subset = Options(points=points, scores=of_points, weights=weights)
        return _native.mmd(scored.rows.values, scored.given(given), subset)


@takes(SteinPlace)
def sample(
    score: Callable[[NDArray[np.float64]], Any],
    n: int,
    starts: Any,
    *,
    log_density: Callable[[NDArray[np.float64]], float] | None = None,
    climbs: int = 3,
    max_evaluations: int = 1_000_000,
    **options: Unpack[SteinPlace],
) -> Result:
    """Places `n` points for a density anywhere in space ("Stein points"), from its score alone.

    Each point is climbed to from the best of the starts, so that they need not be draws of the density, only somewhere
    near where it is. The gradient of the KSD takes two more scores and no Hessian.

    Parameters
    ----------
    score
        A function of one point, an array of its numbers, that returns the gradient of the log-density there. Where
        there is none, numbers that are not finite say so.
    n
        How many; with `tol` at most this number.
    starts
        Some hundred points, one a row, spread over where the density is. Scale and preconditioner are theirs.
    log_density
        A function of one point that is -inf where no point may lie; starts there are left out. By default points may
        lie wherever there is a score.
    climbs
        From how many of the best starts to climb for each point.
    max_evaluations
        After this number of evaluations of the score while climbing, climbs end where they are, with a warning.

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
        found = np.asarray(score(x)).reshape(-1)
        if found.dtype.kind not in "fiub":
            raise TypeError(f"score returns numbers of dtype {found.dtype}; give the gradient of the log-density")
        return np.require(found, dtype=np.float64, requirements=("C", "A"))

    values, dim = table.values, table.values.shape[1]
    if log_density is not None:
        values = values[[float(log_density(x)) > -np.inf for x in values]]
        if not len(values):
            raise ValueError("log_density is -inf or nan at every start; give starts where the density is")
    first = [checked(x) for x in values]
    for row, found in enumerate(first):
        if len(found) != dim:
            raise ValueError(f"score returns {len(found)} numbers for a point of {dim} (row {row} of starts)")
    with reporting(given["progress"]) as listener, explained(table, "starts"):
        placed = _native.stein_place(
            checked,
            None if log_density is None else lambda x: float(log_density(x)),
            values,
            np.ascontiguousarray(first),
            given.also(method="herd", n=as_count(n, "n"), progress=listener),
            as_count(climbs, "climbs"),
            as_count(max_evaluations, "max_evaluations"),
        )
    chosen, kernel = placed.chosen, known_kernel(f"stein-{given.get('kernel', 'imq')}", ())
    result = placed_result(chosen, kernel, values, given.get("scale", "aad"), table.names)
    if placed.evaluations >= max_evaluations:
        warn(f"the score was asked for {placed.evaluations:,} times, and {placed.stuck} climbs ended short of the top")
    elif placed.stuck:
        warn(f"{placed.stuck} of the climbs ended before the top; try more starts")
    tell(chosen.advice, table.names)
    missed(chosen, len(result), None, given["tol"], given["equivalent_draws"], error="KSD")
    return replace(result, objective="KSD")


def _chosen(method: str, x: Any, scores: Any, n: Any, given: Options) -> PoolResult:
    scored = as_scored(x, scores)
    given, labels = asked(method, n, given)
    result = chosen_from(scored.rows, scored.given(given), labels, "KSD")
    return replace(result, objective="KSD" + ", regularised" * (given["log_density"] is not None))


def _row_numbers(indices: Any, rows: int) -> NDArray[np.int64]:
    numbers = as_rows(indices, rows, "indices")
    if not len(numbers):
        raise ValueError("indices is empty; name at least one row")
    if numbers.max() >= rows:
        raise ValueError(f"indices has the row {numbers.max()}, but x has {rows} rows, counted from 0")
    return numbers
