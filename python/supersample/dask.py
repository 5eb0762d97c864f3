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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _native
from ._batches import pool_result, pool_samples, refuse
from ._choice import Beside, Choice, Distances, Given, herding, thinning
from ._evaluate import Evaluation, as_evaluation, geometry_of, subset_of
from ._functions import Matched, counting
from ._inputs import as_count, as_size, as_threads, explained
from ._numbers import counted
from ._partitions import Partitions, as_partitions, pieces_of
from ._passes import Cancelled, Draw, Gathered, Pass, Run, Work, current_client
from ._progress import reporting
from ._result import PoolResult
from ._types import Bandwidth, FunctionsUnit, Listener, Precision, Scale, Weights
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
    functions_unit: FunctionsUnit = "each",
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
    functions, functions_weight, functions_unit
        Names of columns of `data`, or a collection with the partitions of `data`.
    seed
        Of the rows that are drawn to choose from, of landmarks and of control rows.
    landmarks
        How many; by default twice the rows that are herded, and four times those of `thin`.
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
        herding(as_size(n, num_samples), tol, worth, weights, unique, threads, seed),
        Given(data, sample_weight, log_weight),
        Distances(kernel, bandwidth, scale, precision),
        Beside(marginals, functions, functions_weight, functions_unit),
        landmarks,
        pool_rows,
        progress,
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
    functions_unit: FunctionsUnit = "each",
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
        thinning(as_size(n, num_samples), tol, worth, weights, repeats, threads, search, seed),
        Given(data, sample_weight, log_weight),
        Distances(kernel, bandwidth, scale, precision),
        Beside(_native.MARGINALS if marginals is None else marginals, functions, functions_weight, functions_unit),
        landmarks,
        pool_rows,
        progress,
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
    distances = Distances(*geometry_of(y, kernel, bandwidth, scale), precision)
    native_kernel(distances.kernel, distances.bandwidth)
    seed, threads = as_count(seed, "seed", 0), as_threads(threads)
    draw = Draw(None if pool_rows is None else as_count(pool_rows, "pool_rows"), None, seed)
    compared = partial(_native.compared_with, n=None, landmarks=landmarks, thinning=False)
    with _running(partitions, progress, "2 (at most 3)", compared) as run:
        gathered = run.gather(draw)
        names, columns = gathered.columns.names, gathered.columns.count
        points, shares = subset_of(y, weights, names, columns)
        rows = sum(rows for rows, _ in gathered.marks)
        with explained(names, "data"):
            samples = _samples(gathered, distances, Matched(), landmarks, seed)
            if _native.gathered(samples) is None:
                found = _native.evaluate(samples, points, shares, None, threads, run.watched())
            else:
                sums = _native.landmark_sums(samples, len(points), threads, thinning=False)
                at_points = sums.at(samples, points)
                run.sum_at("landmarks", [sums, at_points], gathered)
                _native.project_on(samples, sums, threads)
                found = _native.evaluate_measured(samples, points, shares, at_points, threads, run.watched())
    return as_evaluation(found, samples, len(points), rows, names)


def _chosen(
    choice: Choice,
    given: Given,
    distances: Distances,
    beside: Beside,
    landmarks: int | None,
    pool_rows: Any,
    progress: bool | Listener | None,
) -> PartitionedResult:
    refuse(weights=None if choice.weights == "equal" else choice.weights)
    matched = counting(beside)
    native_kernel(distances.kernel, distances.bandwidth)
    partitions = as_partitions(*given, beside.functions)
    draw = Draw(None if pool_rows is None else as_count(pool_rows, "pool_rows"), choice.n, choice.seed)
    compared = partial(_native.compared_with, n=choice.n, landmarks=landmarks, thinning=choice.thinning)
    with _running(partitions, progress, "3 (at most 4)", compared) as run:
        gathered = run.gather(draw)
        columns = gathered.columns
        with explained(columns.names, "data", functions=columns.function_names):
            samples = _samples(gathered, distances, matched, landmarks, choice.seed)
            chosen = _measured(run, gathered, samples, choice)
    choice.tell(chosen, columns.names)
    lowered = matched.lowered(bool(columns.functions))
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
        scale=distances.scale,
        lowered=lowered,
        kind=PartitionedResult,
        partitions=number,
        partition_rows=indices - starts[number],
        work=run.work(),
    )
    assert isinstance(result, PartitionedResult)
    return result


def _samples(gathered: Gathered, distances: Distances, matched: Matched, landmarks: Any, seed: int) -> _native.Samples:
    gatherer = _native.Gatherer.from_bytes(gathered.gatherer)
    return pool_samples(gatherer, distances, matched, landmarks, seed, gathered.columns.functions)


def _measured(run: Run, gathered: Gathered, samples: _native.Samples, choice: Choice) -> _native.Chosen:
    """The passes after the first, and the choice between them."""
    is_whole = _native.gathered(samples) is None
    if not is_whole:
        sums = _native.landmark_sums(samples, choice.n, choice.threads, thinning=choice.thinning)
        run.sum_at("landmarks", [sums], gathered)
        _native.project_on(samples, sums, choice.threads)
    unmeasured = choice.from_pool(samples, run.watched(), _KEPT)
    at_chosen = None
    if not is_whole:
        at_chosen = unmeasured.sums(samples)
        run.sum_at("measure", [at_chosen], gathered)
    return unmeasured.measured(samples, at_chosen, choice.threads)


@contextmanager
def _running(
    partitions: Partitions, progress: bool | Listener | None, passes: str, compared: Callable[[int], int]
) -> Iterator[Run]:
    """A run on the current client, after it was said what it will take: with how many points each of so many rows is
    compared."""
    with current_client() as client, reporting(progress) as listener:
        if progress is not False:
            workers = len(client.nthreads())
            print(
                f"supersample: {passes} passes over {counted(len(partitions), 'partition')}, "
                f"{_size(partitions.sizes, compared)}, on {counted(workers, 'worker')}",
                file=sys.stderr,
            )
        yield Run(client, partitions, listener)


def _size(sizes: tuple[int, ...] | None, compared: Callable[[int], int]) -> str:
    """1,000 rows compared with 1,600 points each."""
    if sizes is None:
        return f"each row compared with up to {counted(compared(sys.maxsize), 'point')}"
    return f"{counted(sum(sizes), 'row')} compared with {counted(compared(sum(sizes)), 'point')} each"
