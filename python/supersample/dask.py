"""thin, herd and evaluate for partitioned rows, on a Dask cluster.

The rows stay on the workers, which read them in a few passes. The calling process holds landmarks, sums, and the random
sample of rows to choose from.

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
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from . import _native
from ._choose import asked, grouped, popped_target, refuse_in_memory, reported
from ._evaluate import Evaluation, as_evaluation, by_geometry, own_weights, subset_of
from ._match import target_later
from ._numbers import counted
from ._options import Herd, JudgeBatches, Options, Thin, read, takes
from ._partitions import as_partitions, pieces_of
from ._passes import Cancelled, Pass, Run, Work, current_client
from ._progress import reporting
from ._result import PoolResult, Result
from ._tables import Table, as_table, explained, has_names, note_columns, roles_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["Cancelled", "PartitionedResult", "Pass", "Work", "evaluate", "herd", "thin"]


@dataclass(frozen=True, eq=False, repr=False)
class PartitionedResult(PoolResult):
    """The result of `supersample.dask.thin` and `herd`: rows of partitions, and the cost of choosing them.

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
    """The cost: passes, tasks and bytes."""
    #: The number of rows of each partition.
    _sizes: tuple[int, ...] = ()

    def take(self, x: Any) -> Any:
        """Returns the chosen rows of a collection with the same partitions: all columns, in the order of choice.

        An array with the same rows in other chunks is divided anew. Only the chosen rows leave the workers. For other
        objects it does the same as `Result.take`.

        >>> import dask.array as da, supersample as ss
        >>> x = da.random.default_rng(0).normal(size=(3000, 2), chunks=(1000, 2))
        >>> ss.dask.thin(x, 5, progress=False).take(x + 1).shape
        (5, 2)
        """
        chunks = getattr(x, "chunks", None)
        if chunks is not None and hasattr(x, "rechunk") and sum(chunks[0]) == self.n_rows:
            x = x.rechunk({0: self._sizes})
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
            [
                rows_of(pieces[number], result.partition_rows[at], int(number), result._sizes[number])
                for number, at in zip(wanted, places)
            ]
        )
        parts = client.gather(futures)
    # Where in the parts, one after the other, the row that was chosen first is, and so on.
    order = np.argsort(np.concatenate(places), kind="stable")
    if hasattr(parts[0], "iloc"):
        import pandas as pd

        return pd.concat(parts).iloc[order]
    return np.concatenate(parts)[order]


def _rows_at(piece: Any, rows: NDArray[np.int64], number: int, size: int) -> Any:
    if len(piece) != size:
        raise ValueError(
            f"partition {number} of x has {counted(len(piece), 'row')}, but had {size} when the result was chosen; "
            "give the same partitions"
        )
    return piece.iloc[rows] if hasattr(piece, "iloc") else np.asarray(piece)[rows]


@takes(Herd)
def herd(x: Any, n: SupportsIndex | None = None, **options: Unpack[Herd]) -> PartitionedResult:
    """Returns `n` rows of partitioned data, chosen one after the other: `supersample.herd` on a Dask cluster.

    There are three passes over the partitions. The first counts the rows, computes their moments and
    draws a uniform sample to choose from; the second computes sums at landmarks; the third measures
    the error of the chosen rows. A fourth pass is needed where the sizes of the partitions are unknown
    and very uneven. The same seed and the same partitions give the same rows, for any number of
    workers. Options that are not described here are those of `supersample.herd`.

    Parameters
    ----------
    x
        A Dask array of two dimensions, a Dask frame, whose id columns are not used, or a list of
        Delayed objects that each give a batch: an array, a frame, or a pair of one of these and its
        weights. The current client computes them, or threads of this process if there is none.
        Partitions are computed once for each pass, so persist data that is expensive to compute and
        fits into the memory of the cluster.
    n
        Number of rows to choose, as in `supersample.herd`.
    sample_weight, log_weight
        Weights of the rows, or their logarithms: a Dask array or series with the partitions of `x`,
        or a list of Delayed vectors.
    functions
        Names of columns of `x`, or a collection with the partitions of `x`.
    device
        The device of this process. Workers compute sums on their CPUs.
    pool_rows, max_memory
        The number of rows in the sample to choose from, as in `supersample.herd`, and the memory of
        this process.
    threads
        Threads of this process while it chooses. Each task uses one thread.
    progress
        True prints the number of passes to stderr and shows a bar. A function is called with (phase,
        done, total), counted in partitions.

    >>> import dask.array as da, supersample as ss
    >>> x = da.random.default_rng(0).normal(size=(8_000, 3), chunks=(1_000, 3))
    >>> result = ss.dask.herd(x, 10, pool_rows=2_000, progress=False)
    >>> result.n_rows, result.mmd < 0.1, result.mmd_error < 0.01
    (8000, True, True)
    """
    return _chosen("herd", x, n, read(Herd, options))


@takes(Thin)
def thin(x: Any, n: SupportsIndex | None = None, **options: Unpack[Thin]) -> PartitionedResult:
    """Returns the best `n` rows of partitioned data as a set: `supersample.thin` on a Dask cluster.

    The keywords are those of `supersample.dask.herd` and `supersample.thin`. Options that need all rows
    in memory (`weights`, `include`, `exclude`, `groups`) are refused. This process makes the swaps and
    the search, among the rows of the sample. Marginals are those of the sample, means and variances
    those of all rows.

    >>> import dask.array as da, supersample as ss
    >>> x = da.random.default_rng(0).normal(size=(8_000, 3), chunks=(1_000, 3))
    >>> thinned = ss.dask.thin(x, 10, pool_rows=2_000, progress=False)
    >>> thinned.mmd < ss.dask.herd(x, 10, pool_rows=2_000, progress=False).mmd
    True
    """
    return _chosen("thin", x, n, read(Thin, options))


@takes(JudgeBatches)
def evaluate(x: Any, y: Any, *, subset_weight: Any = None, **options: Unpack[JudgeBatches]) -> Evaluation:
    """Returns the errors of any subset `y` of partitioned data: `supersample.evaluate` on a Dask cluster.

    There are two passes over the partitions, or three where these are very uneven. The MMD compares
    with all rows. Distribution functions, quantiles and correlations are compared with a random sample
    of the rows, from which the random subsets are drawn too. `x`, weights of its rows, `seed`,
    `landmarks`, `pool_rows` and `progress` are as in `supersample.dask.herd`, all other keywords as in
    `supersample.evaluate`.

    >>> import dask.array as da, supersample as ss
    >>> x = da.random.default_rng(0).normal(size=(8_000, 3), chunks=(1_000, 3))
    >>> chosen = ss.dask.thin(x, 10, pool_rows=2_000, progress=False)
    >>> found = ss.dask.evaluate(x, chosen, pool_rows=2_000, progress=False)
    >>> abs(found.mmd / chosen.mmd - 1) < 0.01, bool(found.mmd < found.random.min())
    (True, True)
    """
    given = read(JudgeBatches, by_geometry(options, y))
    if given["sample_weight"] is None and given["log_weight"] is None:
        given = given.also(**own_weights(y, None))
    if not isinstance(y, Result) and not has_names(y) and np.ndim(y) == 1 and np.asarray(y).dtype.kind in "iub":
        raise TypeError("y is a list of row numbers or a mask; give the rows, for example x[y].compute()")
    size = len(y if isinstance(y, Result) else as_table(y, "y").values)
    with _running(x, given.also(n=size), "2 (at most 3)") as run:

        def subset() -> Options:
            # By the columns of the rows, which are known after the first pass.
            points, weights = subset_of(y, subset_weight, Table(np.empty((0, run.columns.count)), run.names))
            return Options(points=points, weights=weights)

        found = _native.evaluate(run, run.given, subset)
    return as_evaluation(found, size, run.names)


def _chosen(method: str, x: Any, n: Any, given: Options) -> PartitionedResult:
    refuse_in_memory(given)
    target, weight, _ = popped_target(given)
    if target is not None and n == "auto":
        raise ValueError("n='auto' cannot be used with match: the rows may be no draws of the target; give a number")
    given = asked(method, n, given)
    functions = given["functions"]
    with _running(x, given, "3 (at most 4)" if target is None else "1 (at most 2)") as run:
        later: dict[str, Any] = {}
        if target is not None:
            roles = run.partitions.layout.roles
            later = target_later(
                target, weight, None if roles.functions is not None else functions, roles, lambda: run.names
            )
            run.given = run.given.also(match_size=later["match_size"])
        # Workers get the options of the run, without the target.
        chosen = _native.choose(run, run.given.also(**later))
    result = reported(chosen, run, run.given)
    weights = np.empty(0) if result.weighted else None
    note_columns(Table(np.empty((0, run.columns.count)), run.names, run.unused, weights), run.partitions.layout.roles)
    starts = np.concatenate([[0], np.cumsum(run.sizes)])
    number = np.searchsorted(starts, result.indices, side="right") - 1
    rows = result.indices - starts[number]
    own = {"partitions": number, "partition_rows": rows, "work": run.work(), "_sizes": run.sizes}
    return PartitionedResult(**vars(result), **own)


@contextmanager
def _running(x: Any, given: Options, passes: str) -> Iterator[Run]:
    """A run on the current client; the number of passes is printed first."""
    progress, roles = given.pop("progress", None), roles_of(given)
    data = {name: given.pop(name, None) for name in ("sample_weight", "log_weight", "functions")}
    if roles.groups is not None:
        raise ValueError("groups needs all rows in memory; leave it out")
    given, _ = grouped(given, given.pop("groups", None), given.pop("quotas", None))
    _native.check_in_batches(given)
    partitions = as_partitions(x, roles, **data)
    weights = {name: data[name] for name in ("sample_weight", "log_weight") if data[name] is not None}
    with current_client() as client, reporting(progress) as listener:
        if progress is True:
            rows = "" if partitions.sizes is None else f", {counted(sum(partitions.sizes), 'row')}"
            workers = counted(len(client.nthreads()), "worker")
            print(
                f"supersample: {passes} passes over {counted(len(partitions), 'partition')}{rows}, on {workers}",
                file=sys.stderr,
            )
        run = Run(client, partitions, listener, given, row_weights=weights or None)
        run.given = given.also(progress=run.watched())
        with explained(run):
            yield run
