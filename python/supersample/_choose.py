"""herd and thin: rows of an array chosen to stand in for all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from . import _native
from ._inputs import (
    Table,
    as_count,
    as_goal,
    as_rows,
    as_rule,
    as_size,
    as_table,
    as_threads,
    prepared,
    weighted,
)
from ._numbers import counted, significant, worth_of
from ._progress import reporting
from ._result import PoolResult, Result, background
from ._types import Bandwidth, Listener, Precision, Scale, Weights
from ._warnings import warn
from .kernels import Kernel, known_kernel


def herd(
    x: Any,
    n: int | None = None,
    *,
    kernel: str | Kernel = "gaussian",
    bandwidth: Bandwidth = "median",
    scale: Scale = "sd",
    weights: Weights = "equal",
    sample_weight: Any = None,
    log_weight: Any = None,
    unique: bool = False,
    tol: float | None = None,
    worth: float | None = None,
    num_samples: int | None = None,
    threads: int | None = None,
    precision: Precision = "mixed",
    progress: bool | Listener | None = None,
) -> PoolResult:
    """Chooses `n` rows of `x` one after the other by kernel herding; any prefix of them is good too.

    Rows may repeat, as in the paper, unless `unique` is set; `thin`, `supersample.arviz.herd` and `SuperSampler` choose
    distinct ones. With the linear kernel the score has the term -k(x, x)/2, which eq. 8 of the paper leaves out because
    it is the same for all points of its kernels. Of rows that are the same in every number any may be chosen.

    Parameters
    ----------
    x
        One row for each point: a NumPy array, anything that becomes one (`__array__`, DLPack), a frame (pandas, polars,
        dask, Arrow), of which ids (chain, draw, iteration, row, names ending in `__`) are passed over, or a dict of
        arrays with one entry for each draw along their first axis.
    n, num_samples
        How many rows to choose (not a step: `herd(x, 10)` chooses 10 rows, not every tenth); with `tol` or `worth` at
        most so many, and then by default as many as there are rows.
    kernel, bandwidth
        A name (gaussian, laplace, matern12, matern32, matern52, imq, linear) with a length or the median distance,
        or a kernel such as `Gaussian(1.5)`. Lengths are in the units of the scaled points. Several lengths are a mean
        of Gaussians, not one length for each column.
    scale
        Every column to unit variance (sd), uncorrelated as well (pca), or as it is (none).
    weights
        Weights of the chosen rows: equal ones, or the best that are not negative and sum to one (simplex), or the
        best of either sign that sum to one (free).
    sample_weight, log_weight
        Weights of the rows of `x`, for samples that are weighted, or their natural logarithms, of which -inf is no
        weight. Weighted frames of anesthetic and chains of getdist bring their own.
    unique
        Choose no row twice. By default rows may repeat, as in the paper.
    tol, worth
        Stop at the first MMD of at most `tol`, or when the points are worth so many independent draws of these rows.
    threads
        By default RAYON_NUM_THREADS or OMP_NUM_THREADS, where they are set, or else all cores; the result does not
        depend on it.
    precision
        Kernel values in single precision where that is safe (mixed), or in double throughout (double).
    progress
        True for a bar, or a function of (phase, done, total); at the end it is told ("done", total, total).

    >>> import numpy as np, supersample as ss
    >>> draws = np.random.default_rng(0).normal(size=(2000, 3))
    >>> result = ss.herd(draws, 50)
    >>> result.indices[:5]
    array([ 357, 1151,  135,  626, 1838])
    >>> few = ss.herd(draws, tol=0.05, unique=True)
    >>> few.ended, few.mmd <= 0.05
    ('tolerance', True)
    """
    n, tol, worth, weights_ = as_size(n, num_samples), as_goal(tol, "tol"), as_goal(worth, "worth"), as_rule(weights)
    table, limit = weighted(as_table(x), sample_weight, log_weight), _limit(n, tol, worth)
    samples = prepared(table, kernel, bandwidth, scale, precision)
    herder = _native.Herder(samples, bool(unique))
    threads = as_threads(threads)
    with reporting(progress) as listener:
        most = len(table.values) if limit is None else limit
        ended = herder.advance(most, tol, worth, threads, listener)
        result = as_result(table, samples, herder, ended, scale, weights_, threads, listener)
    look_at(table, samples, herder)
    missed(result, limit, tol, worth)
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
    log_weight: Any = None,
    repeats: bool = False,
    tol: float | None = None,
    worth: float | None = None,
    num_samples: int | None = None,
    search: int | None = None,
    seed: int = 0,
    include: Any = None,
    exclude: Any = None,
    groups: Any = None,
    quotas: int | Sequence[int] | Mapping[Any, int] | None = None,
    threads: int | None = None,
    precision: Precision = "mixed",
    progress: bool | Listener | None = None,
) -> PoolResult:
    """Chooses the best `n` rows of `x` as a set: herding, then swaps until none helps, then a search.

    `n` is how many rows are kept, NOT a step as in other libraries' `thin`: `thin(x, 10)` keeps 10 rows.

    The rows come in greedy order, so that prefixes are good sets too. What is not described here is as in `herd`.

    Parameters
    ----------
    n, num_samples
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
    n, tol, worth, weights_ = as_size(n, num_samples), as_goal(tol, "tol"), as_goal(worth, "worth"), as_rule(weights)
    table = weighted(as_table(x), sample_weight, log_weight)
    rows = len(table.values)
    group_of, quota_of = _grouped(groups, quotas)
    if n is None and quota_of is not None:
        n = sum(quota_of)
    limit = _limit(n, tol, worth)
    most = rows if limit is None else limit
    samples = prepared(table, kernel, bandwidth, scale, precision)
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
        result = as_result(table, samples, herder, ended, scale, weights_, threads, listener)
    look_at(table, samples, herder)
    missed(result, limit, tol, worth)
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
    try:
        labels, numbers = np.unique(given, return_inverse=True)
    except TypeError:
        kinds = ", ".join(sorted({type(label).__name__ for label in given}))
        raise TypeError(
            f"groups has labels that cannot be sorted ({kinds}); give each row a label of one type"
        ) from None
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
        if len(each) != len(labels):
            raise ValueError(
                f"{len(each)} quotas were given for {len(labels)} groups; give one for each of {labels.tolist()}, or a "
                "mapping from labels"
            )
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
) -> PoolResult:
    """The picks of a herder as a result."""
    indices, error = herder.indices(), herder.errors()
    if weights == "equal":
        shares, mmd = np.full(len(indices), 1 / len(indices)), float(error[-1])
    else:
        shares, mmd = _native.optimal_weights(samples, indices, weights, threads, listener)
    single_draw, floor = herder.scale_of_errors() or (None, 0.0)
    return PoolResult(
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
        unused=table.unused,
        weighted=table.weights is not None,
        _data=background(table.values, table.weights),
        # Their own copy: the caller may write to the array.
        _sample_weight=None if table.weights is None else table.weights.copy(),
    )


def missed(result: Result, limit: int | None, tol: float | None, worth: float | None) -> None:
    """Warns where an error was asked for and not reached, or more rows than there are."""
    if tol is None and worth is None:
        if result.ended == "exhausted" and limit is not None:
            warn(f"{limit:,} rows were asked for, but there are only {counted(len(result), 'row')} to choose from")
        return
    if result.ended in ("tolerance", "worth"):
        return
    goals = [f"an MMD of {tol}"] * (tol is not None) + [f"a worth of {worth}"] * (worth is not None)
    what = goals[0] + " was not" if len(goals) == 1 else f"neither {goals[0]} nor {goals[1]} was"
    warn(f"{what} reached with {len(result)} points; allow more with n, or ask for less")


def look_at(table: Table, samples: _native.Samples, herder: _native.Herder) -> None:
    """Warns of kernels that see all rows alike or none near another, of uneven weights, of dropped directions."""
    dropped = samples.degenerate[1]
    if dropped:
        warn(f"{dropped} of the directions have no variance of their own and were left out")
    rows, shares = len(table.values), table.weights
    own = 1 / rows
    if shares is not None:
        own = float(np.sum((shares / shares.sum()) ** 2))
        if own > 0.1 and rows > 10:
            warn(f"the weights are so uneven that the rows are worth {significant(1 / own)} equal ones; check them")
            return
    single_draw, _ = herder.scale_of_errors() or (None, 0.0)
    bandwidths = samples.kernel[1]
    if single_draw is None or not bandwidths or rows < 2:
        return
    # The mean of k over all pairs, and over the pairs of different rows.
    mean = 1 - single_draw
    advice = f"bandwidth {', '.join(map(significant, bandwidths))} is too"
    if mean > 0.99:
        if np.all(table.values == table.values[0]):
            return
        warn(f"the kernel is nearly constant, so all rows look alike to it; {advice} long")
    elif mean - own < 0.01 * own:
        warn(f"the kernel is nearly diagonal, so it sees no neighbours; {advice} short")
