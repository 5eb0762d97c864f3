"""herd and thin: rows of an array chosen to stand in for all of them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from . import _native
from ._inputs import Table, as_count, as_rows, as_table, as_threads, prepared
from ._numbers import significant, worth_of
from ._progress import Listener, reporting
from ._result import Result, SupersampleWarning
from .kernels import Kernel, known_kernel

if TYPE_CHECKING:
    Bandwidth = float | Sequence[float] | Literal["median"]
    Precision = Literal["mixed", "double"]
    Scale = Literal["none", "sd", "pca"]
    Weights = Literal["equal", "simplex", "free"]


def herd(
    x: Any,
    n: int | None = None,
    *,
    kernel: str | Kernel = "gaussian",
    bandwidth: Bandwidth = "median",
    scale: Scale = "sd",
    weights: Weights = "equal",
    sample_weight: Any = None,
    unique: bool = False,
    tol: float | None = None,
    worth: float | None = None,
    threads: int | None = None,
    precision: Precision = "mixed",
    progress: bool | Listener | None = None,
) -> Result:
    """Chooses `n` rows of `x` one after the other by kernel herding; any prefix of them is good too.

    Parameters
    ----------
    x
        One row for each point: a NumPy array, anything that becomes one (`__array__`, DLPack), or a pandas, polars or
        Arrow table, of which ids (chain, draw, iteration, row, names ending in `__`) are passed over.
    n
        How many; with `tol` or `worth` at most so many, and then by default as many as there are rows.
    kernel, bandwidth
        A name (gaussian, laplace, matern12, matern32, matern52, imq, linear) with a length or the median distance,
        or a kernel such as `Gaussian(1.5)`. Lengths are in the units of the scaled points.
    scale
        Every column to unit variance (sd), uncorrelated as well (pca), or as it is (none).
    weights
        Weights of the chosen rows: equal ones, or the best that are not negative and sum to one (simplex), or the
        best of either sign that sum to one (free).
    sample_weight
        Weights of the rows of `x`, for samples that are weighted.
    unique
        Choose no row twice. By default rows may repeat, as in the paper.
    tol, worth
        Stop at the first MMD of at most `tol`, or when the points are worth so many iid draws.
    threads
        By default all cores; the result does not depend on it.
    precision
        Kernel values in single precision where that is safe (mixed), or in double throughout (double).
    progress
        True for a bar on stderr, or a function of (phase, done, total).

    >>> import numpy as np, supersample as ss
    >>> draws = np.random.default_rng(0).normal(size=(2000, 3))
    >>> result = ss.herd(draws, 50)
    >>> result.indices[:5]
    array([ 357, 1151,  135,  626, 1838])
    >>> few = ss.herd(draws, tol=0.05, unique=True)
    >>> few.ended, few.mmd <= 0.05
    ('tolerance', True)
    """
    table, limit = as_table(x), _limit(n, tol, worth)
    samples = prepared(table, kernel, bandwidth, scale, sample_weight, precision)
    herder = _native.Herder(samples, bool(unique))
    threads = as_threads(threads)
    with reporting(progress) as listener:
        most = len(table.values) if limit is None else limit
        ended = herder.advance(most, tol, worth, threads, listener)
        result = as_result(table, samples, herder, ended, scale, weights, threads, listener)
    look_at(result, samples, herder, sample_weight)
    missed(result, tol, worth)
    return result


def thin(
    x: Any,
    n: int | None = None,
    *,
    kernel: str | Kernel = "gaussian",
    bandwidth: Bandwidth = "median",
    scale: Scale = "sd",
    weights: Weights = "equal",
    sample_weight: Any = None,
    repeats: bool = False,
    tol: float | None = None,
    worth: float | None = None,
    search: int | None = None,
    seed: int = 0,
    include: Any = None,
    exclude: Any = None,
    groups: Any = None,
    quotas: int | Sequence[int] | Mapping[Any, int] | None = None,
    threads: int | None = None,
    precision: Precision = "mixed",
    progress: bool | Listener | None = None,
) -> Result:
    """Chooses the best `n` rows of `x` as a set: herding, then swaps until none helps, then a search.

    The rows come in greedy order, so that prefixes are good sets too. What is not described here is as in `herd`.

    Parameters
    ----------
    n
        How many; with `tol` or `worth` at most so many, and the fewest that reach it are looked for.
    repeats
        Allow a row to be chosen more than once. By default rows are distinct.
    search, seed
        Annealed sweeps that look beyond the nearest optimum, and the seed of that search. By default 3 to 40, fewer for
        more rows; 0 is none.
    include, exclude
        Rows that must be among the chosen, and rows that must not: numbers, or a mask.
    groups
        A label for each row (a chain, a class): each group gives rows in proportion to its mass.
    quotas
        How many rows each group is to give instead: one number for all, one for each label in sorted order, or a
        mapping from labels. `n` may then be left out.

    >>> import numpy as np, supersample as ss
    >>> draws = np.random.default_rng(0).normal(size=(2000, 3))
    >>> ss.thin(draws, 50).mmd < ss.herd(draws, 50).mmd
    True
    >>> label = draws[:, 0] > 1
    >>> chosen = ss.thin(draws, groups=label, quotas={False: 5, True: 5})
    >>> int(label[chosen.indices].sum())
    5
    """
    table = as_table(x)
    rows = len(table.values)
    group_of, quota_of = _grouped(groups, quotas)
    if n is None and quota_of is not None:
        n = sum(quota_of)
    limit = _limit(n, tol, worth)
    most = rows if limit is None else limit
    samples = prepared(table, kernel, bandwidth, scale, sample_weight, precision)
    barred = as_rows(exclude, rows, "exclude")
    available = rows - len(set(barred))
    exhausted = not repeats and quota_of is None and most > available > 0
    threads = as_threads(threads)
    with reporting(progress) as listener:
        chosen, ended = _native.thin(
            samples,
            available if exhausted else most,
            tol=tol,
            worth=worth,
            repeats=bool(repeats),
            search=None if search is None else as_count(search, "search", 0),
            seed=as_count(seed, "seed", 0),
            include=as_rows(include, rows, "include"),
            exclude=barred,
            groups=group_of,
            quotas=quota_of,
            threads=threads,
            progress=listener,
        )
        # What a herder says of these rows is what it says of any rows in that order.
        herder = _native.Herder(samples, False)
        herder.replay(chosen.tolist(), threads)
        if exhausted and ended == "number":
            ended = "exhausted"
        result = as_result(table, samples, herder, ended, scale, weights, threads, listener)
    look_at(result, samples, herder, sample_weight)
    missed(result, tol, worth)
    return result


def _limit(n: int | None, tol: float | None, worth: float | None) -> int | None:
    if n is None:
        if tol is None and worth is None:
            raise ValueError("say how many: a number n, an error tol, or a number of independent draws worth")
        return None
    return as_count(n, "n")


def _grouped(groups: Any, quotas: Any) -> tuple[list[int] | None, list[int] | None]:
    """Groups by number and the quota of each."""
    if groups is None:
        if quotas is not None:
            raise ValueError("quotas have no effect without groups; give the group of each row")
        return None, None
    given = np.asarray(groups)
    if given.ndim != 1:
        raise ValueError(f"groups has shape {given.shape}; give one label for each row")
    labels, numbers = np.unique(given, return_inverse=True)
    if quotas is None:
        return numbers.tolist(), None
    if isinstance(quotas, Mapping):
        known = labels.tolist()
        strange = [label for label in quotas if label not in known]
        if strange:
            raise ValueError(f"there is no group {strange[0]!r}; the groups are {known}")
        each = [quotas.get(label, 0) for label in known]
    elif np.ndim(quotas) == 0:
        each = [quotas] * len(labels)
    else:
        each = list(quotas)
    return numbers.tolist(), [as_count(quota, "a quota", 0) for quota in each]


def as_result(
    table: Table,
    samples: _native.Samples,
    herder: _native.Herder,
    ended: str,
    scale: str,
    weights: str,
    threads: int | None,
    listener: Listener | None,
) -> Result:
    """The picks of a herder as a result."""
    indices, error = herder.indices(), herder.errors()
    if weights == "equal":
        shares, mmd = np.full(len(indices), 1 / len(indices)), float(error[-1])
    else:
        shares, mmd = _native.optimal_weights(samples, indices, weights, threads, listener)
    single_draw, floor = herder.scale_of_errors() or (None, 0.0)
    return Result(
        indices=indices,
        points=table.values[indices],
        weights=shares,
        error=error,
        mmd=mmd,
        worth=worth_of(mmd, single_draw, floor),
        kernel=known_kernel(*samples.kernel),
        ended=ended,
        rows=len(table.values),
        scale=scale,
        precision=samples.precision,
        names=table.names,
        _data=table.values,
    )


def missed(result: Result, tol: float | None, worth: float | None) -> None:
    """Warns where an error was asked for and not reached."""
    if (tol is None and worth is None) or result.ended in ("tolerance", "worth"):
        return
    goals = [f"an MMD of {tol}"] * (tol is not None) + [f"a worth of {worth}"] * (worth is not None)
    what = goals[0] + " was not" if len(goals) == 1 else f"neither {goals[0]} nor {goals[1]} was"
    _warn(f"{what} reached with {len(result)} points; allow more with n, or ask for less")


def look_at(result: Result, samples: _native.Samples, herder: _native.Herder, sample_weight: Any) -> None:
    """Warns of kernels that see all rows alike or none near another, of uneven weights, of dropped directions."""
    dropped = samples.degenerate[1]
    if dropped:
        _warn(f"{dropped} of the directions have no variance of their own and were left out")
    own = 1 / result.rows
    if sample_weight is not None:
        shares = np.asarray(sample_weight, dtype=np.float64)
        own = float(np.sum((shares / shares.sum()) ** 2))
        if own > 0.1:
            _warn(f"the weights are so uneven that the rows are worth {significant(1 / own)} equal ones; check them")
            return
    single_draw, _ = herder.scale_of_errors() or (None, 0.0)
    if single_draw is None or not result.kernel.bandwidths or result.rows < 2:
        return
    # The mean of k over all pairs, and over the pairs of different rows.
    mean = 1 - single_draw
    advice = f"bandwidth {', '.join(map(significant, result.kernel.bandwidths))} is too"
    if mean > 0.99 and single_draw > 1e-12:
        _warn(f"the kernel is nearly constant, so all rows look alike to it; {advice} long")
    elif mean - own < 0.01 * own:
        _warn(f"the kernel is nearly diagonal, so it sees no neighbours; {advice} short")


def _warn(message: str) -> None:
    warnings.warn(message, SupersampleWarning, stacklevel=4)
