"""Passes over partitions on a Dask cluster: one task for each, a tree of sums in their order, and the cost."""

from __future__ import annotations

import builtins
import queue
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _native
from ._numbers import counted
from ._options import Listener, Options
from ._partitions import Columns, Layout, Partitions, arrays_of, as_block, fingerprint, in_partition

#: Number of results that one task merges.
_FAN = 8
#: Seconds between two checks for cancellation.
_LOOK = 0.2


@dataclass(frozen=True)
class Pass:
    """The cost of one pass over the partitions.

    >>> import supersample as ss
    >>> ss.dask.Pass("gather", 12, 8000, 100, 900, 0.1).tasks
    12
    """

    name: str
    """The purpose: 'gather', 'landmarks' or 'measure'."""
    tasks: int
    """The number of tasks, including those that compute the partitions."""
    bytes_read: int
    """The bytes of all numbers in the partitions."""
    bytes_sent: int
    """The bytes sent to every worker: landmarks, or chosen rows."""
    bytes_reduced: int
    """The bytes that tasks passed on, to be merged and returned."""
    seconds: float
    """The duration."""


@dataclass(frozen=True)
class Work:
    """The cost of a run on a cluster.

    >>> import supersample as ss
    >>> done = ss.dask.Work((ss.dask.Pass("gather", 12, 8000, 100, 900, 0.1),), 4)
    >>> done
    1 pass over 4 partitions, 12 tasks, 8,000 bytes read, 1,000 bytes moved
    """

    passes: tuple[Pass, ...]
    """The passes, in order."""
    partitions: int
    """The number of partitions."""

    @property
    def tasks(self) -> int:
        """The number of tasks of all passes.

        >>> import supersample as ss
        >>> ss.dask.Work((), 4).tasks
        0
        """
        return sum(one.tasks for one in self.passes)

    @property
    def bytes_read(self) -> int:
        """The bytes read by all passes.

        >>> import supersample as ss
        >>> ss.dask.Work((), 4).bytes_read
        0
        """
        return sum(one.bytes_read for one in self.passes)

    @property
    def bytes_moved(self) -> int:
        """The bytes sent to one worker and passed from task to task.

        >>> import supersample as ss
        >>> ss.dask.Work((), 4).bytes_moved
        0
        """
        return sum(one.bytes_sent + one.bytes_reduced for one in self.passes)

    def __repr__(self) -> str:
        passes = counted(len(self.passes), "pass").replace("passs", "passes")
        return (
            f"{passes} over {counted(self.partitions, 'partition')}, {counted(self.tasks, 'task')}, "
            f"{self.bytes_read:,} bytes read, {self.bytes_moved:,} bytes moved"
        )


# Tasks. They run on workers, on one thread each, because there are more partitions than threads.


@dataclass(frozen=True)
class Gathered:
    """The result of the first pass for consecutive partitions."""

    first: int
    columns: Columns
    gatherer: bytes
    #: For each partition the number of rows, and a fingerprint of them.
    marks: tuple[tuple[int, int], ...]
    #: For each partition the numbers of the rows that were left out.
    dropped: tuple[NDArray[np.int64], ...]
    #: Whether rows have weights.
    is_weighted: bool
    read: int
    reduced: int


@dataclass(frozen=True)
class Summed:
    """The sums over consecutive partitions."""

    numbers: tuple[NDArray[np.float64], ...]
    read: int
    reduced: int


def gather(number: int, share: float, first_row: int | None, given: Options, layout: Layout, *pieces: Any) -> Gathered:
    """The first pass over one partition."""
    block = as_block(number, layout, *pieces)
    columns, values = Columns.of(block), block.wide()
    with in_partition(number, block):
        part = _native.Gatherer(
            values.shape[1], drawn(given, columns, block.is_weighted()), given["seed"] or 0, (number, share, first_row)
        )
        part.update(values, block.weights, block.log_weights, 1)
    read = sum(array.nbytes for array in arrays_of(block))
    marks, dropped = (fingerprint(block),), (block.dropped,)
    return _handed_on(Gathered(number, columns, part.to_bytes(), marks, dropped, block.is_weighted(), read, 0))


def drawn(given: Options, columns: Columns, is_weighted: bool) -> int:
    """The size of the sample to choose from, the same on every machine."""
    return _native.drawn_rows(given.also(threads=1), columns.count, columns.functions, is_weighted)


def merge(*parts: Gathered) -> Gathered:
    """The first pass over consecutive partitions, merged."""
    head = parts[0]
    whole = _native.Gatherer.from_bytes(head.gatherer)
    for part in parts[1:]:
        if part.columns != head.columns:
            raise ValueError(
                f"partition {part.first} has {part.columns.in_words()}, and partition {head.first} has "
                f"{head.columns.in_words()}; give all partitions the same columns"
            )
        with in_partition(part.first):
            whole.merge(_native.Gatherer.from_bytes(part.gatherer))
    return _handed_on(
        Gathered(
            head.first,
            head.columns,
            whole.to_bytes(),
            tuple(mark for part in parts for mark in part.marks),
            tuple(rows for part in parts for rows in part.dropped),
            head.is_weighted,
            sum(part.read for part in parts),
            sum(part.reduced for part in parts),
        )
    )


def _handed_on(gathered: Gathered) -> Gathered:
    size = len(gathered.gatherer)
    return replace(gathered, reduced=gathered.reduced + size)


def sum_at(number: int, mark: tuple[int, int], passes: Sequence[bytes], layout: Layout, *pieces: Any) -> Summed:
    """A later pass over one partition: its sums at the points of each of `passes`."""
    block = as_block(number, layout, *pieces)
    found = fingerprint(block)
    if found != mark:
        what = f"{found[0]} rows, and had {mark[0]}" if found[0] != mark[0] else "other numbers than"
        raise ValueError(
            f"partition {number} has {what} in the first pass; partitions must be the same each time they are "
            "computed, so give random ones a seed, or persist the data"
        )
    numbers = []
    with in_partition(number, block):
        for one in passes:
            sums = _native.PassSums.from_bytes(one)
            sums.update(block.values, block.weights, block.log_weights, 1)
            numbers.append(sums.numbers())
    read = sum(array.nbytes for array in arrays_of(block))
    return Summed(tuple(numbers), read, sum(array.nbytes for array in numbers))


def add(*sums: Summed) -> Summed:
    """A later pass over consecutive partitions: their sums, added in this order."""
    totals = [array.copy() for array in sums[0].numbers]
    for part in sums[1:]:
        for total, array in zip(totals, part.numbers):
            total += array
    own = sum(array.nbytes for array in totals)
    return Summed(tuple(totals), sum(part.read for part in sums), sum(part.reduced for part in sums) + own)


# The calling process.


class Cancelled(RuntimeError):
    """The work was cancelled by the caller, or the cluster was shut down.

    >>> import supersample as ss
    >>> issubclass(ss.dask.Cancelled, RuntimeError)
    True
    """


@dataclass
class Run:
    """Passes over partitions, one after the other: a source for the native module."""

    client: Any
    partitions: Partitions
    listener: Listener | None
    given: Options
    passes: list[Pass] = field(default_factory=list)
    token: str = field(default_factory=lambda: uuid.uuid4().hex[:12])
    #: The result of the first pass.
    columns: Columns = field(default_factory=lambda: Columns(0, None, ()))
    marks: tuple[tuple[int, int], ...] = ()
    parts: tuple[NDArray[np.int64], ...] = ()
    #: Weights that were given for all rows, by keyword.
    row_weights: Mapping[str, Any] | None = None

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of rows of each partition, before any were left out."""
        return tuple(rows + len(dropped) for (rows, _), dropped in zip(self.marks, self.parts))

    @property
    def dropped(self) -> NDArray[np.int64]:
        """The numbers of the rows that were left out."""
        starts = accumulate(self.sizes, initial=0)
        parts = [start + dropped for start, dropped in zip(starts, self.parts)]
        return np.concatenate([np.empty(0, np.int64), *parts])

    @property
    def names(self) -> tuple[str, ...] | None:
        """The names of the columns, known after the first pass."""
        return self.columns.names

    @property
    def unused(self) -> tuple[str, ...]:
        """The columns that are not used."""
        return self.columns.unused

    @property
    def function_names(self) -> tuple[str, ...] | None:
        """The names of the functions."""
        return self.columns.function_names

    def gather(self) -> tuple[_native.Gatherer, int]:
        """The first pass, and a second one if partitions are so uneven that the first drew too few rows."""
        sizes = self.partitions.sizes
        found = self._gathered(sizes)
        gatherer, rows = _native.Gatherer.from_bytes(found.gatherer), [rows for rows, _ in found.marks]
        wanted = drawn(self.given, found.columns, found.is_weighted)
        if sizes is None and gatherer.drawn < 0.9 * min(sum(rows), wanted):
            found = self._gathered(rows)
            gatherer = _native.Gatherer.from_bytes(found.gatherer)
            for number, (was, now) in enumerate(zip(rows, found.marks)):
                if was != now[0]:
                    raise ValueError(f"partition {number} has {now[0]} rows, and had {was} in the first pass")
        self.columns, self.marks, self.parts = found.columns, found.marks, found.dropped
        return gatherer, found.columns.functions

    def _gathered(self, sizes: Sequence[int] | None) -> Gathered:
        count = len(self.partitions)
        if sizes is None:
            # Twice the expected number of each, where their sizes are unknown.
            own: list[tuple[Any, ...]] = [(min(1.0, 2 / count), None)] * count
        else:
            # Rows that are left out are not counted, so that the number of the first row is then known only in the end.
            is_known = not self.partitions.layout.roles.drop or sizes is not self.partitions.sizes
            starts = accumulate(sizes, initial=0)
            own = [(share, start if is_known else None) for share, start in zip(_shares(sizes), starts)]
        # Workers do not need the listener, and use their own devices.
        given = Options({name: self.given[name] for name in self.given if name not in ("progress", "device")})
        found: Gathered = self._pass("gather", gather, merge, own, (given,), 0)
        return found

    def sum(self, name: str, sums: Sequence[_native.PassSums]) -> None:
        """A later pass, which adds all rows to each of the sums."""
        passes = tuple(one.to_bytes() for one in sums)
        sent = builtins.sum(map(len, passes))
        found: Summed = self._pass(name, sum_at, add, [(mark,) for mark in self.marks], (passes,), sent)
        for one, numbers in zip(sums, found.numbers):
            one.add_numbers(numbers)

    def work(self) -> Work:
        """The cost of all passes."""
        return Work(tuple(self.passes), len(self.partitions))

    def _pass(
        self,
        name: str,
        task: Callable[..., Any],
        merged: Callable[..., Any],
        own: Sequence[tuple[Any, ...]],
        common: tuple[Any, ...],
        sent: int,
    ) -> Any:
        from dask import config, delayed

        begun, prefix = time.monotonic(), f"supersample-{name}-{self.token}-{len(self.passes)}"
        # Data common to all tasks is sent once, and made again from the graph if the worker that had it is lost.
        shared = [delayed(one, pure=False, name=f"{prefix}-sent-{i}", traverse=False) for i, one in enumerate(common)]
        do, then = delayed(task, pure=False, traverse=False), delayed(merged, pure=False, traverse=False)
        parts = [
            do(number, *own[number], *shared, self.partitions.layout, *pieces, dask_key_name=f"{prefix}-{number}")
            for number, pieces in enumerate(self.partitions.pieces)
        ]
        level, depth = parts, 0
        while len(level) > 1:
            depth += 1
            groups = [level[start : start + _FAN] for start in range(0, len(level), _FAN)]
            level = [
                then(*group, dask_key_name=f"{prefix}-merge-{depth}-{i}") if len(group) > 1 else group[0]
                for i, group in enumerate(groups)
            ]
        with config.set({"distributed.admin.large-graph-warning-threshold": "1GB"}):
            futures = self.client.compute(parts if len(parts) == 1 else [*parts, level[0]])
        found = self._awaited(futures, "reading" if name == "gather" else "summing")
        self.passes.append(Pass(name, len(level[0].dask), found.read, sent, found.reduced, time.monotonic() - begun))
        return found

    def _awaited(self, futures: list[Any], phase: str) -> Any:
        """The last of the futures. Those before it are partitions, whose numbers are named in errors."""
        last, count = futures[-1], len(self.partitions)
        number_of = {future.key: number for number, future in enumerate(futures[:count])}
        finished: queue.SimpleQueue[Any] = queue.SimpleQueue()
        done = 0
        try:
            for future in futures:
                future.add_done_callback(finished.put)
            while True:
                try:
                    future = finished.get(timeout=_LOOK)
                except queue.Empty:
                    future = None
                self.look()
                if future is None:
                    continue
                if future.status == "error":
                    raise _failure(future, number_of, futures)
                if future.status != "finished":
                    raise Cancelled(f"the work was cancelled: a task of the pass over partitions is {future.status}")
                if future.key in number_of:
                    done += 1
                    if self.listener is not None:
                        self.listener(phase, done, count)
                if future.key == last.key:
                    return last.result()
                # Its result is merged on its worker.
                future.release()
        except BaseException:
            # Tasks that are no longer needed are not started.
            for future in futures:
                future.release()
            raise

    def look(self) -> None:
        """Raises `Cancelled` if the calling task was cancelled."""
        if _is_abandoned():
            raise Cancelled("the task that asked for this was cancelled")

    def watched(self) -> Listener:
        """A listener that stops the work of this process if the calling task was cancelled."""

        def watch(phase: str, done: int, total: int) -> None:
            self.look()
            if self.listener is not None:
                self.listener(phase, done, total)

        return watch


def _shares(sizes: Sequence[int]) -> list[float]:
    total = sum(sizes)
    # A partition without rows may have some later.
    return [min(1.0, max(size, 1) / max(total, 1)) for size in sizes]


def _failure(future: Any, number_of: dict[str, int], futures: list[Any]) -> BaseException:
    """The error, with the number of the partition."""
    if future.key not in number_of:
        # A sum fails if one of its partitions has failed, which may be reported a moment later.
        found = [one for one in futures if one.key in number_of and one.status == "error"]
        future = found[0] if found else future
    error: BaseException = future.exception()
    number = number_of.get(future.key)
    if number is None or str(error).startswith(f"partition {number}"):
        return error
    if type(error).__name__ == "KilledWorker":
        failure = RuntimeError(
            f"partition {number}: every worker that worked on it has died, perhaps out of memory; make partitions "
            f"smaller, or give workers more memory ({error})"
        )
    else:
        failure = RuntimeError(f"partition {number} cannot be computed: {type(error).__name__}: {error}")
    failure.__cause__ = error
    return failure


def _is_abandoned() -> bool:
    """Whether this process is a task that was cancelled."""
    from distributed import get_worker

    try:
        worker = get_worker()
        key = worker.get_current_task()
    except (ValueError, AttributeError, KeyError):
        return False
    task = worker.state.tasks.get(key)
    return task is None or task.state in ("cancelled", "released", "forgotten")


@contextmanager
def current_client() -> Iterator[Any]:
    """The current client, or threads of this process if there is none."""
    try:
        from distributed import Client, get_client, rejoin, secede
    except ImportError:
        raise ImportError("supersample.dask needs Dask's scheduler: pip install 'supersample[dask]'") from None
    try:
        client = get_client()
    except ValueError:
        with Client(processes=False, dashboard_address=":0") as own:
            yield own
        return
    if client.asynchronous:
        raise TypeError(
            "the current client is asynchronous, and this call waits for it; from its event loop use "
            "await asyncio.to_thread(supersample.dask.thin, …)"
        )
    # A caller that is itself a task gives its place to the tasks that it waits for.
    is_task = True
    try:
        secede()
    except (KeyError, ValueError, AttributeError):
        is_task = False
    yield client
    # Not after an error, which ends the task: it would wait for a place.
    if is_task:
        rejoin()
