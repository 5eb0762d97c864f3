"""thin, herd and evaluate for rows in many partitions, on a Dask cluster.

The rows stay where they are. Workers go through them in a few passes, and the process that asks holds landmarks, a
sample of the rows to choose from, and sums.

>>> import dask.array as da, supersample as ss
>>> x = da.random.default_rng(0).normal(size=(40_000, 3), chunks=(5_000, 3))
>>> result = ss.dask.thin(x, 20, pool_rows=5_000, progress=False)
>>> len(result), len(result.work.passes), result.work.partitions
(20, 3, 8)
>>> bool(result.partitions.max() < 8), bool((result.partition_rows < 5_000).all())
(True, True)
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _native
from ._advice import missed, tell
from ._batches import Choice, pool_result, refuse
from ._choose import limit_of
from ._evaluate import Evaluation, as_evaluation, geometry_of, subset_of
from ._functions import Matched, as_weight
from ._inputs import as_count, as_goal, as_rule, as_size, as_threads, explained
from ._numbers import counted
from ._partitions import Partitions, as_partitions, pieces_of
from ._passes import Cancelled, Draw, Gathered, Pass, Run, Work, current_client
from ._progress import reporting
from ._result import PoolResult
from ._types import Bandwidth, Listener, Precision, Scale, Weights
from .kernels import Kernel, native_kernel

__all__ = ["Cancelled", "PartitionedResult", "Pass", "Work", "evaluate", "herd", "thin"]

#: Bytes of kernel rows that are kept while rows are exchanged.
_KEPT = 128 << 20


@dataclass(frozen=True, eq=False, repr=False)
class PartitionedResult(PoolResult):
    """Rows of partitions, and what it took to choose them: what `supersample.dask.thin` and `herd` return.

    >>> import dask.array as da, supersample as ss
    >>> x = da.random.default_rng(0).normal(size=(3000, 2), chunks=(1000, 2))
    >>> result = ss.dask.thin(x, 5, progress=False)
    >>> bool((result.indices == 1000 * result.partitions + result.partition_rows).all())
    True
    >>> bool((result.take(x) == result.points).all())
    True
    """

    partitions: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    """The partition of each chosen row, counted from 0."""
    partition_rows: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    """Its row in that partition, counted from 0."""
    work: Work = field(default_factory=lambda: Work((), 0))
    """What it took: passes, tasks and bytes."""

    def take(self, x: Any) -> Any:
        """The chosen rows of a collection with the same partitions, with all of its columns, in the order of choice.

        Only the chosen rows leave the workers. Of anything else it takes rows as `Result.take` does.

        >>> import dask.array as da, supersample as ss
        >>> x = da.random.default_rng(0).normal(size=(3000, 2), chunks=(1000, 2))
        >>> ss.dask.thin(x, 5, progress=False).take(x + 1).shape
        (5, 2)
        """
        pieces = pieces_of(x)
        return super().take(x) if pieces is None else _taken(pieces, self)

    def __repr__(self) -> str:
        return f"{super().__repr__()}\n  {self.work}"


def _taken(pieces: list[Any], result: PartitionedResult) -> Any:
    from dask import delayed

    if len(pieces) != result.work.partitions:
        raise ValueError(
            f"x has {counted(len(pieces), 'partition')}, but the result was chosen from {result.work.partitions}"
        )
    wanted = np.unique(result.partitions)
    places = [np.flatnonzero(result.partitions == number) for number in wanted]
    rows_of = delayed(_rows_at, pure=False)
    with current_client() as client:
        futures = client.compute(
            [rows_of(pieces[number], result.partition_rows[at]) for number, at in zip(wanted, places)]
        )
        parts = client.gather(futures)
    # Where in the parts, one after the other, the row that was chosen first is, and so on.
    order = np.argsort(np.concatenate(places), kind="stable")
    if hasattr(parts[0], "iloc"):
        import pandas as pd

        return pd.concat(parts).iloc[order]
    return np.concatenate(parts)[order]


def _rows_at(piece: Any, rows: NDArray[np.int64]) -> Any:
    return piece.iloc[rows] if hasattr(piece, "iloc") else np.asarray(piece)[rows]


def herd(
    data: Any,
    n: int | None = None,
    *,
    kernel: str | Kernel = "gaussian",
    bandwidth: Bandwidth = "median",
    scale: Scale = "sd",
    weights: Weights = "equal",
    sample_weight: Any = None,
    log_weight: Any = None,
    marginals: float = 0.0,
    functions: Any = None,
    functions_weight: float | None = None,
    unique: bool = False,
    tol: float | None = None,
    worth: float | None = None,
    num_samples: int | None = None,
    seed: int = 0,
    landmarks: int | None = None,
    pool_rows: int | None = None,
    threads: int | None = None,
    precision: Precision = "mixed",
    progress: bool | Listener | None = None,
) -> PartitionedResult:
    """Chooses `n` rows of partitioned data one after the other by kernel herding: `supersample.herd` on a Dask cluster.

    Three passes over the partitions, or four where their sizes are not known and very uneven: how many rows there
    are, their moments and a uniform sample to choose from; sums at landmarks; the error of what was chosen. The same
    seed and the same partitions give the same rows, whatever the number of workers. What is not described here is as in
    `supersample.herd`.

    Parameters
    ----------
    data
        A Dask array of two dimensions, a Dask frame, of which ids are passed over, or a list of Delayed objects that
        each give a batch: an array, a frame, or a pair of either and its weights. Whatever client is current computes
        them; without one the threads of this process do. Partitions are computed once for each pass, so persist data
        that is expensive to make and fits into the memory of the cluster.
    weights
        Equal ones; others need all rows in memory.
    sample_weight, log_weight
        Weights of the rows, or their logarithms: a Dask array or series with the partitions of `data`, or a list of
        Delayed vectors.
    functions, functions_weight
        Names of columns of `data`, or a collection with the partitions of `data`.
    seed
        Of the rows that are drawn to choose from, of landmarks and of control rows.
    landmarks
        How many; by default twice the rows that are chosen.
    pool_rows
        How many rows are drawn to choose from: by default 100,000, or fewer where rows have so many columns that these
        would need more than 128 MB.
    threads
        Of this process, while it chooses. Tasks use one each.
    progress
        What the run will take is said on stderr before it begins; True shows a bar as well, False is silent, and a
        function is told (phase, done, total), of the passes in partitions.

    >>> import dask.array as da, supersample as ss
    >>> x = da.random.default_rng(0).normal(size=(8_000, 3), chunks=(1_000, 3))
    >>> result = ss.dask.herd(x, 10, pool_rows=2_000, progress=False)
    >>> result.rows, result.mmd < 0.1, result.mmd_error < 0.01
    (8000, True, True)
    """
    return _chosen(
        data,
        Choice(
            n=as_size(n, num_samples),
            tol=tol,
            worth=worth,
            thinning=False,
            distinct=bool(unique),
            marginals=marginals,
            landmarks=landmarks,
            search=0,
            seed=seed,
            threads=threads,
        ),
        kernel=kernel,
        bandwidth=bandwidth,
        scale=scale,
        weights=weights,
        sample_weight=sample_weight,
        log_weight=log_weight,
        functions=functions,
        functions_weight=functions_weight,
        pool_rows=pool_rows,
        precision=precision,
        progress=progress,
    )


def thin(
    data: Any,
    n: int | None = None,
    *,
    kernel: str | Kernel = "gaussian",
    bandwidth: Bandwidth = "median",
    scale: Scale = "sd",
    weights: Weights = "equal",
    sample_weight: Any = None,
    log_weight: Any = None,
    marginals: float | None = None,
    functions: Any = None,
    functions_weight: float | None = None,
    repeats: bool = False,
    tol: float | None = None,
    worth: float | None = None,
    num_samples: int | None = None,
    search: int | None = None,
    seed: int = 0,
    landmarks: int | None = None,
    pool_rows: int | None = None,
    threads: int | None = None,
    precision: Precision = "mixed",
    progress: bool | Listener | None = None,
) -> PartitionedResult:
    """Chooses the best `n` rows of partitioned data as a set: `supersample.thin` on a Dask cluster.

    What is not described here is as in `supersample.dask.herd` and `supersample.thin`. Swaps and search are made by
    this process, among the rows that were drawn; marginals are those of these rows.

    Parameters
    ----------
    search, seed
        Annealed sweeps that look beyond the nearest optimum, and the seed of that search and of all that is drawn.

    >>> import dask.array as da, supersample as ss
    >>> x = da.random.default_rng(0).normal(size=(8_000, 3), chunks=(1_000, 3))
    >>> thinned = ss.dask.thin(x, 10, pool_rows=2_000, progress=False)
    >>> thinned.mmd < ss.dask.herd(x, 10, pool_rows=2_000, progress=False).mmd
    True
    """
    return _chosen(
        data,
        Choice(
            n=as_size(n, num_samples),
            tol=tol,
            worth=worth,
            thinning=True,
            distinct=not repeats,
            marginals=_native.MARGINALS if marginals is None else marginals,
            landmarks=landmarks,
            search=search,
            seed=seed,
            threads=threads,
        ),
        kernel=kernel,
        bandwidth=bandwidth,
        scale=scale,
        weights=weights,
        sample_weight=sample_weight,
        log_weight=log_weight,
        functions=functions,
        functions_weight=functions_weight,
        pool_rows=pool_rows,
        precision=precision,
        progress=progress,
    )


def evaluate(
    data: Any,
    y: Any,
    *,
    kernel: str | Kernel | None = None,
    bandwidth: Bandwidth | None = None,
    scale: Scale | None = None,
    sample_weight: Any = None,
    log_weight: Any = None,
    weights: Any = None,
    seed: int = 0,
    landmarks: int | None = None,
    pool_rows: int | None = None,
    threads: int | None = None,
    precision: Precision = "mixed",
    progress: bool | Listener | None = None,
) -> Evaluation:
    """How good the subset `y` of partitioned data is, whoever made it: `supersample.evaluate` on a Dask cluster.

    Two passes over the partitions, or three where they are very uneven. The MMD is that to all rows; distribution
    functions, quantiles and correlations are compared with those of the rows that were drawn, and other subsets are
    drawn from these. `data`, weights of its rows, `seed`, `landmarks`, `pool_rows` and `progress` are as in
    `supersample.dask.herd`, and all else as in `supersample.evaluate`.

    >>> import dask.array as da, supersample as ss
    >>> x = da.random.default_rng(0).normal(size=(8_000, 3), chunks=(1_000, 3))
    >>> chosen = ss.dask.thin(x, 10, pool_rows=2_000, progress=False)
    >>> found = ss.dask.evaluate(x, chosen, pool_rows=2_000, progress=False)
    >>> abs(found.mmd / chosen.mmd - 1) < 0.01, bool(found.mmd < found.random.min())
    (True, True)
    """
    partitions = as_partitions(data, sample_weight, log_weight, None)
    kernel, bandwidth, scale = geometry_of(y, kernel, bandwidth, scale)
    name, bandwidths = native_kernel(kernel, bandwidth)
    seed, threads = as_count(seed, "seed", 0), as_threads(threads)
    draw = Draw(None if pool_rows is None else as_count(pool_rows, "pool_rows"), None, seed)
    with _running(partitions, progress, "2 (at most 3)", None, landmarks) as run:
        gathered = run.gather(draw)
        names, columns = gathered.columns.names, gathered.columns.count
        points, shares = subset_of(y, weights, names, columns)
        rows = sum(rows for rows, _ in gathered.marks)
        with explained(names, "data"):
            samples = _samples(gathered, name, bandwidths, scale, precision, Matched(), landmarks, seed)
            if _native.gathered(samples) is None:
                found = _native.evaluate(samples, points, shares, None, threads, run.watched())
            else:
                sums = _native.landmark_sums(samples, len(points), threads)
                at_points = sums.at(samples, points)
                run.sum_at("landmarks", [sums, at_points], gathered)
                _native.project_on(samples, sums, threads)
                found = _native.evaluate_measured(samples, points, shares, at_points, threads, run.watched())
    return as_evaluation(found, samples, len(points), rows, names)


def _chosen(
    data: Any,
    given: Choice,
    *,
    kernel: str | Kernel,
    bandwidth: object,
    scale: str,
    weights: Any,
    sample_weight: Any,
    log_weight: Any,
    functions: Any,
    functions_weight: float | None,
    pool_rows: Any,
    precision: str,
    progress: bool | Listener | None,
) -> PartitionedResult:
    rule, tol, worth = as_rule(weights), as_goal(given.tol, "tol"), as_goal(given.worth, "worth")
    refuse(weights=None if rule == "equal" else rule)
    choice = Choice(
        n=limit_of(given.n, tol, worth),
        tol=tol,
        worth=worth,
        thinning=given.thinning,
        distinct=given.distinct,
        marginals=as_weight(given.marginals, "marginals"),
        landmarks=given.landmarks,
        search=None if given.search is None else as_count(given.search, "search", 0),
        seed=as_count(given.seed, "seed", 0),
        threads=as_threads(given.threads),
    )
    if functions is None and functions_weight is not None:
        raise ValueError("functions_weight has no effect without functions; leave it out, or give functions")
    weight = 1.0 if functions_weight is None else as_weight(functions_weight, "functions_weight")
    name, bandwidths = native_kernel(kernel, bandwidth)
    partitions = as_partitions(data, sample_weight, log_weight, functions)
    draw = Draw(None if pool_rows is None else as_count(pool_rows, "pool_rows"), choice.n, choice.seed)
    with _running(partitions, progress, "3 (at most 4)", choice.n, choice.landmarks) as run:
        gathered = run.gather(draw)
        columns = gathered.columns
        matched = Matched(choice.marginals, None, weight)
        with explained(columns.names, "data", functions=columns.function_names):
            samples = _samples(gathered, name, bandwidths, scale, precision, matched, choice.landmarks, choice.seed)
            chosen = _measured(run, gathered, samples, choice)
    tell(chosen.advice, columns.names)
    missed(chosen, len(chosen.rows), choice.n, choice.tol, choice.worth)
    lowered = matched.lowered() + (f" + {weight:g} × functions" if columns.functions else "")
    sizes = np.array([rows for rows, _ in gathered.marks])
    starts = np.concatenate([[0], np.cumsum(sizes)])
    drawn = _native.gathered(samples)
    indices = chosen.rows if drawn is None else drawn[1][chosen.rows]
    number = np.searchsorted(starts, indices, side="right") - 1
    result = pool_result(
        samples,
        chosen,
        rows=int(starts[-1]),
        names=columns.names,
        unused=columns.unused,
        scale=scale,
        lowered=lowered,
        kind=PartitionedResult,
        partitions=number,
        partition_rows=indices - starts[number],
        work=run.work(),
    )
    assert isinstance(result, PartitionedResult)
    return result


def _samples(
    gathered: Gathered,
    kernel: str,
    bandwidths: list[float] | None,
    scale: str,
    precision: str,
    matched: Matched,
    landmarks: Any,
    seed: int,
) -> _native.Samples:
    """The problem of choosing from the rows that were drawn, to match all that were gathered."""
    return _native.Gatherer.from_bytes(gathered.gatherer).samples(
        kernel=kernel,
        bandwidths=bandwidths,
        scale=scale,
        precision=precision,
        marginals=matched.marginals,
        landmarks=None if landmarks is None else as_count(landmarks, "landmarks", 1),
        seed=seed,
        functions=gathered.columns.functions,
        functions_weight=matched.functions_weight,
    )


def _measured(run: Run, gathered: Gathered, samples: _native.Samples, choice: Choice) -> _native.Chosen:
    """The passes after the first, and the choice between them."""
    is_whole = _native.gathered(samples) is None
    if not is_whole:
        sums = _native.landmark_sums(samples, choice.n, choice.threads)
        run.sum_at("landmarks", [sums], gathered)
        _native.project_on(samples, sums, choice.threads)
    unmeasured = _native.choose_from_pool(
        samples,
        choice.n,
        tol=choice.tol,
        worth=choice.worth,
        thinning=choice.thinning,
        distinct=choice.distinct,
        search=choice.search,
        seed=choice.seed,
        threads=choice.threads,
        progress=run.watched(),
        kept=_KEPT,
    )
    at_chosen = None
    if not is_whole:
        at_chosen = unmeasured.sums(samples)
        run.sum_at("measure", [at_chosen], gathered)
    return unmeasured.measured(samples, at_chosen, choice.threads)


@contextmanager
def _running(
    partitions: Partitions, progress: bool | Listener | None, passes: str, n: int | None, landmarks: int | None
) -> Iterator[Run]:
    """A run on the current client, after it was said what it will take."""
    with current_client() as client, reporting(progress) as listener:
        if progress is not False:
            workers = len(client.nthreads())
            print(
                f"supersample: {passes} passes over {counted(len(partitions), 'partition')}, "
                f"{_size(partitions.sizes, n, landmarks)}, on {counted(workers, 'worker')}",
                file=sys.stderr,
            )
        yield Run(client, partitions, listener)


def _size(sizes: tuple[int, ...] | None, n: int | None, landmarks: int | None) -> str:
    """1,000 rows compared with 1,600 points each."""
    if sizes is None:
        points = _native.compared_with(sys.maxsize, n, landmarks)
        return f"each row compared with up to {counted(points, 'point')}"
    points = _native.compared_with(sum(sizes), n, landmarks)
    return f"{counted(sum(sizes), 'row')} compared with {counted(points, 'point')} each"
