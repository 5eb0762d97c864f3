"""Rows in batches: memory maps, Arrow datasets and iterators, read several times and never held whole in memory."""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _native
from ._functions import functions_table, named, with_functions
from ._inputs import Table, as_table, as_vector, is_no_coordinate, weighted
from ._options import Options

#: Bytes of numbers in a batch, and the fewest and most rows of one.
_BATCH_BYTES, _FEWEST, _MOST = 8 << 20, 1024, 65_536


@dataclass
class Batches:
    """Rows that can be read several times: a source for the native module."""

    begin: Callable[[], Iterator[Table]]
    names: tuple[str, ...] | None = None
    unused: tuple[str, ...] = ()
    #: The number of rows, if it is known before the first pass.
    rows: int | None = None
    #: The object that holds the rows, which must live until they have been read.
    keeper: Any = None
    function_names: tuple[str, ...] | None = None
    given: Options = field(default_factory=Options)

    def gather(self) -> tuple[_native.Gatherer, int]:
        """The first pass: a gatherer that has seen all rows, and the number of functions."""
        gatherer, functions, done, total = None, 0, 0, self.rows
        for table in self.begin():
            values = table.wide()
            if gatherer is None:
                columns, functions = table.values.shape[1], values.shape[1] - table.values.shape[1]
                is_weighted = table.weights is not None or table.log_weights is not None
                drawn = _native.drawn_rows(self.given, columns, functions, is_weighted)
                gatherer = _native.Gatherer(values.shape[1], drawn, self.given["seed"] or 0)
            gatherer.update(values, table.weights, table.log_weights, self.given["threads"])
            done += len(values)
            self._report("reading", done, max(done, total or 0))
        if gatherer is None:
            raise ValueError("there are no rows to choose from")
        self.rows = done
        return gatherer, functions

    def sum(self, name: str, sums: list[_native.PassSums]) -> None:
        """A later pass, which adds all rows to each of the sums."""
        done, total = 0, self.rows or 0
        for table in self.begin():
            for one in sums:
                one.update(table.values, table.weights, table.log_weights, self.given["threads"])
            done += len(table.values)
            self._report("summing", done, total)
        if done != total:
            message = (
                f"there were {total} rows in the first pass and {done} in a later one; give the same rows in each pass"
            )
            raise ValueError(message)

    def _report(self, phase: str, done: int, total: int) -> None:
        if self.given["progress"] is not None:
            self.given["progress"](phase, done, total)


def is_stream(x: Any) -> bool:
    """Whether rows always come in batches: iterators, functions that return them, Arrow datasets."""
    if isinstance(x, np.ndarray) or hasattr(x, "__array__"):
        return False
    return hasattr(x, "__next__") or _is_dataset(x) or _is_reader(x) or (callable(x) and not hasattr(x, "columns"))


def as_single(x: Any) -> NDArray[Any] | None:
    """The rows of an array in single precision or less; None for all other input."""
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


def as_batches(x: Any, sample_weight: Any, log_weight: Any, functions: Any, what: str = "x") -> Batches:
    """The batches of any input with rows. Input that can be read only once is copied to a temporary file."""
    if sample_weight is not None and log_weight is not None:
        raise ValueError("give sample_weight or log_weight, not both")
    if _is_dataset(x):
        batches = _of_arrow(x.schema, lambda names: x.to_batches(columns=names, batch_size=_MOST), x.count_rows(), what)
    elif hasattr(x, "to_batches") and hasattr(x, "schema"):
        batches = _of_arrow(x.schema, lambda names: iter(x.select(names).to_batches(max_chunksize=_MOST)), len(x), what)
    elif _is_reader(x):
        batches = _spooled((_arrow_batch(batch, what) for batch in x), what)
    elif hasattr(x, "__next__"):
        batches = _spooled((batch_table(item, f"a batch of {what}") for item in x), what)
    elif callable(x) and not hasattr(x, "columns") and not hasattr(x, "__array__"):
        batches = _of_function(x, what)
    else:
        batches = _of_array(x, what)
    return _with_data(batches, sample_weight, log_weight, functions, what)


def _of_array(x: Any, what: str) -> Batches:
    # An array of numbers is read in blocks, so that a memory map is never whole in memory.
    is_plain = isinstance(x, np.ndarray) and x.ndim == 2 and x.dtype.kind in "fiub"
    table = Table(x) if is_plain and not isinstance(x, np.ma.MaskedArray) else as_table(x, what)
    rows = _rows_at_a_time(table.values.shape[1])

    def begin() -> Iterator[Table]:
        for start in range(0, len(table.values), rows):
            block = np.require(table.values[start : start + rows], dtype=np.float64, requirements=("C", "A"))
            weights = None if table.weights is None else table.weights[start : start + rows]
            yield Table(np.asarray(block), table.names, table.unused, weights)

    return Batches(begin, table.names, table.unused, len(table.values), keeper=x)


def _rows_at_a_time(columns: int) -> int:
    return min(max(_BATCH_BYTES // 8 // max(columns, 1), _FEWEST), _MOST)


def _of_arrow(schema: Any, read: Callable[[list[str]], Iterator[Any]], rows: int, what: str) -> Batches:
    names = [name for name in schema.names if not is_no_coordinate(name)]
    unused = tuple(name for name in schema.names if is_no_coordinate(name))
    if not names:
        raise ValueError(f"{what} has no column to use (ids such as chain and draw are not used)")

    def begin() -> Iterator[Table]:
        return (_arrow_batch(batch, what) for batch in read(names) if len(batch))

    return Batches(begin, tuple(names), unused, rows)


def _arrow_batch(batch: Any, what: str) -> Table:
    import pyarrow as pa

    return as_table(pa.Table.from_batches([batch]), what)


def batch_table(item: Any, what: str) -> Table:
    """One batch: rows, or a pair of rows and their weights."""
    if isinstance(item, tuple) and len(item) == 2 and np.ndim(item[1]) == 1:
        return replace(as_table(item[0], what), weights=as_vector(item[1], f"the weights of {what}"))
    return as_table(item, what)


def _of_function(make: Callable[[], Any], what: str) -> Batches:
    def begin() -> Iterator[Table]:
        made = make()
        if not hasattr(made, "__iter__") or isinstance(made, np.ndarray):
            raise TypeError(
                f"{what} is a function that returned {type(made).__name__}; it must return an iterator of batches"
            )
        return (table for table in (batch_table(item, f"a batch of {what}") for item in made) if len(table.values))

    first = next(begin(), None)
    if first is None:
        raise ValueError(f"{what} has no batches, so there are no rows to choose from")
    return Batches(begin, first.names, first.unused)


def _spooled(tables: Iterator[Table], what: str) -> Batches:
    """Rows that can be read only once, copied to a temporary file without a name."""
    file = tempfile.TemporaryFile(prefix="supersample-")  # noqa: SIM115 (kept open for the passes to come)
    rows, first = 0, None
    width = 0
    for table in tables:
        if first is None:
            first, width = table, table.values.shape[1] + (table.weights is not None)
        columns = table.values if table.weights is None else np.column_stack([table.values, table.weights])
        if columns.shape[1] != width or table.names != first.names:
            raise ValueError(f"the batches of {what} differ in their columns, or only some of them have weights")
        file.write(np.ascontiguousarray(columns).data)
        rows += len(columns)
    if first is None or rows == 0:
        raise ValueError(f"{what} has no rows to choose from")
    file.flush()
    spool: NDArray[np.float64] = np.memmap(file, dtype=np.float64, mode="r", shape=(rows, width))
    weakref.finalize(spool, file.close)
    has_weights, at_a_time = first.weights is not None, _rows_at_a_time(width)
    names, unused = first.names, first.unused

    def begin() -> Iterator[Table]:
        for start in range(0, rows, at_a_time):
            block = np.array(spool[start : start + at_a_time])
            if has_weights:
                yield Table(np.ascontiguousarray(block[:, :-1]), names, unused, np.ascontiguousarray(block[:, -1]))
            else:
                yield Table(block, names, unused)

    return Batches(begin, names, unused, rows, keeper=file)


def _with_data(batches: Batches, sample_weight: Any, log_weight: Any, functions: Any, what: str) -> Batches:
    """The batches, with weights or functions that were given for all rows at once."""
    kind = "log_weight" if sample_weight is None else "sample_weight"
    weights = log_weight if sample_weight is None else sample_weight
    weights = None if weights is None else as_vector(weights, kind)
    values = None if functions is None or named(functions) is not None else functions_table(functions)
    if weights is None and functions is None:
        return batches

    def begin() -> Iterator[Table]:
        start = 0
        for table in batches.begin():
            rows = slice(start, start + len(table.values))
            start = rows.stop
            if weights is not None:
                own = weights[rows]
                table = weighted(table, own, None) if log_weight is None else weighted(table, None, own)
            given = functions if values is None else replace(values, values=values.values[rows])
            yield with_functions(table, given, what)
        for what_is, one in (("weights", weights), ("functions", None if values is None else values.values)):
            if one is not None and len(one) != start:
                raise ValueError(f"{len(one)} {what_is} were given for {start} rows; give one for each row")

    fitted = Table(np.empty((0, len(batches.names or ()))), batches.names)
    if functions is not None:
        fitted = with_functions(fitted, functions if values is None else replace(values, values=values.values[:0]))
    names = batches.names if batches.names is None else fitted.names
    return replace(batches, begin=begin, names=names, function_names=fitted.function_names)
