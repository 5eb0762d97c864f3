"""Rows in batches: memory maps, Arrow datasets and iterators, gone through several times and never held whole."""

from __future__ import annotations

import tempfile
import time
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _native
from ._choice import Choice, Distances
from ._functions import Matched, as_weight
from ._inputs import Table, as_count, as_table, as_vector, explained, is_id
from ._numbers import counted
from ._progress import LONG, duration, reporting
from ._result import PoolResult, background, result_of
from ._types import Listener
from ._warnings import warn
from .kernels import native_kernel

#: Bytes of numbers in a batch, and the fewest and most rows of one.
_BATCH_BYTES, _FEWEST, _MOST = 8 << 20, 1024, 65_536
#: Memory for batches and for Python itself, of what `max_memory` allows.
_READING_BYTES = 96 << 20
#: Rows that are remembered for plots.
_BACKGROUND = 10_000

_UNITS = {"K": 10, "M": 20, "G": 30, "T": 40}


@dataclass(frozen=True)
class Batch:
    """Some rows that follow each other, and their weights where they have some."""

    values: NDArray[np.float64]
    weights: NDArray[np.float64] | None = None
    log_weights: NDArray[np.float64] | None = None


@dataclass(frozen=True)
class Batches:
    """Rows that can be gone through again and again."""

    begin: Callable[[], Iterator[Batch]]
    names: tuple[str, ...] | None = None
    unused: tuple[str, ...] = ()
    #: How many there are, where that is known before the first pass.
    rows: int | None = None
    #: What holds the rows, where it must not be thrown away before they have been gone through.
    keeper: Any = None


def is_stream(x: Any) -> bool:
    """Whether rows come in batches whatever is asked for: iterators, functions that make them, Arrow datasets."""
    if isinstance(x, np.ndarray) or hasattr(x, "__array__"):
        return False
    return hasattr(x, "__next__") or _is_dataset(x) or _is_reader(x) or (callable(x) and not hasattr(x, "columns"))


def as_single(x: Any) -> NDArray[Any] | None:
    """The rows of an array in single precision or less, NumPy's or one that becomes that; None for all else."""
    is_array = hasattr(x, "__array__") and not hasattr(x, "columns") and not isinstance(x, np.ma.MaskedArray)
    dtype = getattr(x, "dtype", None)
    if isinstance(dtype, np.dtype):
        is_single = dtype.kind == "f" and dtype.itemsize < 8
    else:
        is_single = str(dtype).endswith(("float32", "float16"))
    return np.asarray(x) if is_array and is_single and getattr(x, "ndim", None) == 2 else None


def _is_dataset(x: Any) -> bool:
    return hasattr(x, "to_batches") and hasattr(x, "count_rows")


def _is_reader(x: Any) -> bool:
    return hasattr(x, "read_next_batch") and hasattr(x, "schema")


def as_memory(value: Any) -> int | None:
    """Bytes, from a number of them or a text such as 500M or 2G."""
    if value is None:
        return None
    if isinstance(value, str):
        number, unit = value.strip().rstrip("iB").upper(), 0
        if number and number[-1] in _UNITS:
            number, unit = number[:-1], _UNITS[number[-1]]
        try:
            return as_count(int(float(number) * 2**unit), "max_memory")
        except ValueError:
            raise ValueError(f"max_memory is {value!r}; give a number of bytes, or a text such as 500M or 2G") from None
    return as_count(value, "max_memory")


def refuse(**keywords: Any) -> None:
    """Refuses what needs all rows in memory."""
    for name, value in keywords.items():
        if value is not None:
            message = f"{name} needs all rows in memory, and these come in batches; leave it out, or load the rows"
            raise ValueError(message)


def as_batches(x: Any, sample_weight: Any, log_weight: Any, what: str = "x") -> Batches:
    """The batches of anything that has rows. What can be gone through only once is copied to a temporary file."""
    if sample_weight is not None and log_weight is not None:
        raise ValueError("give sample_weight or log_weight, not both")
    if _is_dataset(x):
        batches = _of_dataset(x, what)
    elif hasattr(x, "to_batches") and hasattr(x, "schema"):
        batches = _of_arrow(x.schema, lambda names: iter(x.select(names).to_batches(max_chunksize=_MOST)), len(x), what)
    elif _is_reader(x):
        batches = _spooled((_arrow_batch(x.schema, batch, what) for batch in x), what)
    elif hasattr(x, "__next__"):
        batches = _spooled((batch_table(item, f"a batch of {what}") for item in x), what)
    elif callable(x) and not hasattr(x, "columns") and not hasattr(x, "__array__"):
        batches = _of_function(x, what)
    else:
        batches = _of_array(x, what)
    if sample_weight is None and log_weight is None:
        return batches
    return _weighted(batches, sample_weight, log_weight)


def _of_array(x: Any, what: str) -> Batches:
    # An array of numbers is taken a block at a time, so that a memory map is never held whole.
    is_plain = isinstance(x, np.ndarray) and x.ndim == 2 and x.dtype.kind in "fiub"
    table = None if is_plain and not isinstance(x, np.ma.MaskedArray) else as_table(x, what)
    array = x if table is None else table.values
    weights = (None, None) if table is None else (table.weights, table.log_weights)
    rows = _rows_at_a_time(array.shape[1])

    def begin() -> Iterator[Batch]:
        for start in range(0, len(array), rows):
            block = np.require(array[start : start + rows], dtype=np.float64, requirements=("C", "A"))
            own = [None if w is None else w[start : start + rows] for w in weights]
            yield Batch(np.asarray(block), *own)

    if table is None:
        return Batches(begin, rows=len(array), keeper=x)
    return Batches(begin, table.names, table.unused, len(array), keeper=x)


def _rows_at_a_time(columns: int) -> int:
    return min(max(_BATCH_BYTES // 8 // max(columns, 1), _FEWEST), _MOST)


def _of_dataset(x: Any, what: str) -> Batches:
    return _of_arrow(x.schema, lambda names: x.to_batches(columns=names, batch_size=_MOST), x.count_rows(), what)


def _of_arrow(schema: Any, read: Callable[[list[str]], Iterator[Any]], rows: int, what: str) -> Batches:
    names = [name for name in schema.names if not is_id(name)]
    unused = tuple(name for name in schema.names if is_id(name))
    if not names:
        raise ValueError(f"{what} has no column to choose by (ids such as chain and draw do not count)")

    def begin() -> Iterator[Batch]:
        return (Batch(_arrow_batch(schema, batch, what).values) for batch in read(names) if len(batch))

    return Batches(begin, tuple(names), unused, rows)


def _arrow_batch(schema: Any, batch: Any, what: str) -> Table:
    import pyarrow as pa

    return as_table(pa.Table.from_batches([batch]), what)


def batch_table(item: Any, what: str) -> Table:
    """One batch: rows, or a pair of rows and their weights."""
    if isinstance(item, tuple) and len(item) == 2 and np.ndim(item[1]) == 1:
        table, weights = as_table(item[0], what), as_vector(item[1], f"the weights of {what}")
        return Table(table.values, table.names, table.unused, weights=weights)
    return as_table(item, what)


def _of_function(make: Callable[[], Any], what: str) -> Batches:
    def tables() -> Iterator[Table]:
        made = make()
        if not hasattr(made, "__iter__") or isinstance(made, np.ndarray):
            raise TypeError(f"{what} is a function that gave {type(made).__name__}; let it give an iterator of batches")
        return (batch_table(item, f"a batch of {what}") for item in made)

    first = next(tables(), None)
    if first is None:
        raise ValueError(f"{what} has no batches; there must be rows to choose from")

    def begin() -> Iterator[Batch]:
        return (Batch(table.values, table.weights) for table in tables() if len(table.values))

    return Batches(begin, first.names, first.unused)


def _spooled(tables: Iterator[Table], what: str) -> Batches:
    """Rows that come only once, copied to a temporary file without a name."""
    file = tempfile.TemporaryFile(prefix="supersample-")  # noqa: SIM115 (kept open for the passes to come)
    rows, first = 0, None
    width = 0
    for table in tables:
        if first is None:
            first, width = table, table.values.shape[1] + (table.weights is not None)
        columns = table.values if table.weights is None else np.column_stack([table.values, table.weights])
        if columns.shape[1] != width or table.names != first.names:
            raise ValueError(f"the batches of {what} do not all have the same columns, or not all of them weights")
        file.write(np.ascontiguousarray(columns).data)
        rows += len(columns)
    if first is None or rows == 0:
        raise ValueError(f"{what} has no rows; there must be rows to choose from")
    file.flush()
    spool: NDArray[np.float64] = np.memmap(file, dtype=np.float64, mode="r", shape=(rows, width))
    weakref.finalize(spool, file.close)
    has_weights, at_a_time = first.weights is not None, _rows_at_a_time(width)

    def begin() -> Iterator[Batch]:
        for start in range(0, rows, at_a_time):
            block = np.array(spool[start : start + at_a_time])
            if has_weights:
                yield Batch(np.ascontiguousarray(block[:, :-1]), np.ascontiguousarray(block[:, -1]))
            else:
                yield Batch(block)

    return Batches(begin, first.names, first.unused, rows, keeper=file)


def _weighted(batches: Batches, sample_weight: Any, log_weight: Any) -> Batches:
    what, given = ("sample_weight", sample_weight) if log_weight is None else ("log_weight", log_weight)
    weights = np.asarray(given)
    if weights.ndim != 1 or weights.dtype.kind not in "fiub":
        raise ValueError(f"{what} has shape {weights.shape} and dtype {weights.dtype}; give one number for each row")

    def begin() -> Iterator[Batch]:
        start = 0
        for batch in batches.begin():
            own = np.require(weights[start : start + len(batch.values)], dtype=np.float64, requirements=("C", "A"))
            start += len(batch.values)
            yield Batch(batch.values, *((own, None) if log_weight is None else (None, own)))
        if start != len(weights):
            raise ValueError(f"{len(weights)} weights were given for {start} rows; give exactly one each")

    return Batches(begin, batches.names, batches.unused, batches.rows, batches.keeper)


def choose(
    batches: Batches,
    choice: Choice,
    distances: Distances,
    marginals: float,
    landmarks: int | None,
    drawn: tuple[Any, Any],
    progress: bool | Listener | None,
) -> PoolResult:
    """Chooses from a uniform sample of the rows, to match all of them: a pass for the sample, one for the mean
    embedding on landmarks, and one for the error of what was chosen. `drawn` is what pool_rows and max_memory say."""
    native_kernel(distances.kernel, distances.bandwidth)
    matched = Matched(as_weight(marginals, "marginals"))
    with reporting(progress) as listener, explained(batches.names):
        gatherer = _gathered(batches, choice, drawn, listener)
        total = gatherer.rows
        samples = pool_samples(gatherer, distances, matched, landmarks, choice.seed)
        is_sample = _native.gathered(samples) is not None
        if is_sample:
            sums = _native.landmark_sums(samples, choice.n, choice.threads, thinning=choice.thinning)
            what = f"comparing {counted(total, 'row')} with {counted(sums.landmarks, 'landmark')}"
            _summed(batches, sums, total, choice.threads, listener, what)
            _native.project_on(samples, sums, choice.threads)
        unmeasured = choice.from_pool(samples, listener)
        at_chosen = None
        if is_sample:
            at_chosen, what = unmeasured.sums(samples), f"comparing {counted(total, 'row')} with those chosen"
            _summed(batches, at_chosen, total, choice.threads, listener, what)
        chosen = unmeasured.measured(samples, at_chosen, choice.threads)
    choice.tell(chosen, batches.names)
    return pool_result(
        samples,
        chosen,
        rows=total,
        names=batches.names,
        unused=batches.unused,
        scale=distances.scale,
        lowered=matched.lowered(),
    )


def pool_samples(
    gatherer: _native.Gatherer,
    distances: Distances,
    matched: Matched,
    landmarks: Any,
    seed: int,
    functions: int = 0,
) -> _native.Samples:
    """The problem of choosing from the rows that were drawn, to match all that were gone through. The last so many
    columns are functions."""
    name, bandwidths = native_kernel(distances.kernel, distances.bandwidth)
    return gatherer.samples(
        kernel=name,
        bandwidths=bandwidths,
        scale=distances.scale,
        precision=distances.precision,
        marginals=matched.marginals,
        landmarks=None if landmarks is None else as_count(landmarks, "landmarks", 1),
        seed=seed,
        functions=functions,
        functions_weight=matched.functions_weight,
        functions_unit=matched.functions_unit,
        device=distances.device,
    )


def _gathered(batches: Batches, choice: Choice, drawn: tuple[Any, Any], listener: Listener | None) -> _native.Gatherer:
    gatherer, done = None, 0
    for batch in batches.begin():
        if gatherer is None:
            columns = batch.values.shape[1]
            gatherer = _native.Gatherer(columns, _pool_rows(*drawn, columns, choice), choice.seed)
        gatherer.update(batch.values, batch.weights, batch.log_weights)
        done += len(batch.values)
        if listener is not None:
            listener("reading", done, max(done, batches.rows or 0))
    if gatherer is None:
        raise ValueError("there are no rows to choose from")
    return gatherer


def _pool_rows(pool_rows: Any, max_memory: Any, columns: int, choice: Choice) -> int:
    if pool_rows is not None:
        return as_count(pool_rows, "pool_rows")
    limit = as_memory(max_memory)
    if limit is None:
        # As many as a run over all pairs takes: what fits everywhere.
        return 100_000
    left = limit - min(_READING_BYTES, limit // 4)
    return _native.pool_rows(left, columns, choice.n, thinning=choice.thinning)


def _summed(
    batches: Batches,
    sums: _native.PassSums,
    total: int,
    threads: int | None,
    listener: Listener | None,
    what: str,
) -> None:
    """One more pass; one that will take long is told of when its first batches are through."""
    done, begun, is_told = 0, time.monotonic(), listener is not None
    for batch in batches.begin():
        sums.update(batch.values, batch.weights, batch.log_weights, threads)
        done += len(batch.values)
        if listener is not None:
            listener("summing", done, total)
        passed = time.monotonic() - begun
        if not is_told and passed > 0.5:
            is_told, left = True, passed * (total - done) / done
            if left > LONG:
                warn(f"{what} will take about {duration(left)} more; progress=True shows how far it is")
    if done != total:
        message = f"there were {total} rows in the first pass and {done} in a later one; give the same each time"
        raise ValueError(message)


def pool_result(
    samples: _native.Samples,
    chosen: _native.Chosen,
    *,
    rows: int,
    names: tuple[str, ...] | None,
    unused: tuple[str, ...],
    scale: str,
    lowered: str,
    kind: type[PoolResult] = PoolResult,
    **more: Any,
) -> PoolResult:
    """What was chosen from a pool as a result, of this kind and with more fields if it has some."""
    drawn, shares = _native.gathered(samples), samples.shares
    places = np.arange(rows) if drawn is None else drawn[1]
    some = np.arange(0, len(places), -(-len(places) // _BACKGROUND))
    some_shares = None if shares is None else shares[some] / shares[some].sum()
    return result_of(
        samples,
        chosen,
        indices=places[chosen.rows],
        points=_native.pool_points(samples, chosen.rows),
        pool_rows=None if drawn is None else len(places),
        rows=rows,
        names=names,
        unused=unused,
        scale=scale,
        lowered=lowered,
        kind=kind,
        _data=background(_native.pool_points(samples, some), some_shares),
        **more,
    )
