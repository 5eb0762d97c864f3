"""Rows in batches: memory maps, Arrow datasets and iterators, read several times and never held whole in memory."""

from __future__ import annotations

import tempfile
import weakref
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _native
from ._frames import is_posterior
from ._functions import functions_table, with_functions
from ._inputs import as_array, as_vector, has
from ._options import Options
from ._rows import finished
from ._tables import Roles, Table, as_table, used_places, weighted
from ._warnings import warn

#: Bytes of numbers in a batch, and the fewest and most rows of one.
_BATCH_BYTES, _FEWEST, _MOST = 8 << 20, 1024, 65_536
#: The checksums of no rows: coordinates, functions, weights and logarithms of weights.
_UNMARKED: tuple[int, ...] = (0, 0, 0, 0)


@dataclass
class Batches:
    """Rows that can be read several times: a source for the native module."""

    begin: Callable[[], Iterator[Table]]
    #: A table with the columns of all batches.
    like: Table
    #: The number of rows, if it is known before the first pass.
    rows: int | None = None
    #: The object that holds the rows, which must live until they have been read.
    keeper: Any = None
    given: Options = field(default_factory=Options)
    #: Whether rows with NaN are left out, and the numbers of those that were.
    drop: bool = False
    dropped: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    #: Weights that were given for all rows at once, by keyword.
    row_weights: Mapping[str, Any] | None = None
    #: Checksums of all rows up to the end of each batch of the first pass.
    marks: dict[int, tuple[int, ...]] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...] | None:
        """The names of the columns."""
        return self.like.names

    @property
    def unused(self) -> tuple[str, ...]:
        """The columns that are not used."""
        return self.like.unused

    @property
    def function_names(self) -> tuple[str, ...] | None:
        """The names of the functions."""
        return self.like.function_names

    def gather(self) -> tuple[_native.Gatherer, int]:
        """The first pass: a gatherer that has seen all rows, and the number of functions."""
        gatherer, functions, total, dropped = None, 0, self.rows, []
        for done, table in self._read(is_first=True):
            dropped.append(done - table.rows + table.dropped)
            self.rows = done
            if not len(table.values):
                continue
            values = table.wide()
            if gatherer is None:
                columns, functions = table.values.shape[1], values.shape[1] - table.values.shape[1]
                drawn = _native.drawn_rows(self.given, columns, functions, table.is_weighted())
                gatherer = _native.Gatherer(values.shape[1], drawn, self.given["seed"] or 0)
            gatherer.update(values, table.weights, table.log_weights, self.given["threads"])
            self._report("reading", done, max(done, total or 0))
        if gatherer is None:
            raise ValueError("there are no rows to choose from")
        self.dropped = np.concatenate(dropped)
        return gatherer, functions

    def sum(self, name: str, sums: list[_native.PassSums]) -> None:
        """A later pass, which adds all rows to each of the sums."""
        last, total = 0, self.rows or 0
        for done, table in self._read(is_first=False):
            for one in sums if len(table.values) else []:
                one.update(table.values, table.weights, table.log_weights, self.given["threads"])
            last = done
            self._report("summing", done, total)
        if last != total:
            raise ValueError(
                f"there were {total} rows in the first pass and {last} in a later one; give the same rows in each pass"
            )

    def _read(self, is_first: bool) -> Iterator[tuple[int, Table]]:
        """The number of rows up to the end of each batch, and the batch, after a check that it is as expected."""
        done, mark = 0, _UNMARKED
        columns = _columns(self.like)
        for table in self.begin():
            if _columns(table) != columns:
                raise ValueError(
                    f"the batches of x differ in their columns, or only some of them have weights: from row {done} on "
                    f"there is {_in_words(table)}, and before {_in_words(self.like)}"
                )
            done, mark = done + len(table.values), _marked(table, mark)
            if is_first:
                self.marks[done] = mark
            elif self.marks.get(done, mark) != mark:
                raise ValueError(
                    f"the rows up to row {done} are not those of the first pass; give the same rows in the same order "
                    "each time they are read, for example without shuffling"
                )
            yield done, finished(table, self.drop)

    def _report(self, phase: str, done: int, total: int) -> None:
        if self.given["progress"] is not None:
            self.given["progress"](phase, done, total)


def _columns(table: Table) -> tuple[Any, ...]:
    """What all batches must have in common."""
    functions = None if table.functions is None else table.functions.values.shape[1]
    kinds = (table.weights is None, table.log_weights is None)
    return table.names, table.values.shape[1], functions, table.function_names, *kinds


def _in_words(table: Table) -> str:
    names = f"{table.values.shape[1]} columns" if table.names is None else f"the columns {', '.join(table.names)}"
    return names + " with weights" * table.is_weighted()


def _marked(table: Table, mark: tuple[int, ...]) -> tuple[int, ...]:
    """Checksums that go on from those of the batches before; how rows are divided into batches does not matter."""
    functions = None if table.functions is None else table.functions.values
    parts = (table.values, functions, table.weights, table.log_weights)
    crcs = (old if part is None else zlib.crc32(part.data, old) for part, old in zip(parts, mark))
    return tuple(crcs)


def is_stream(x: Any) -> bool:
    """Whether rows always come in batches: iterators, functions that return them, loaders, Arrow datasets."""
    if isinstance(x, np.ndarray) or has(x, "__array__") or has(x, "read", "readline"):
        return False
    return has(x, "__next__") or _is_dataset(x) or _is_reader(x) or _is_function(x) or _is_loader(x)


def _is_function(x: Any) -> bool:
    return callable(x) and not has(x, "columns")


def _is_loader(x: Any) -> bool:
    """Whether it can be gone through again and again, and is nothing else: torch's DataLoader, for example."""
    if isinstance(x, (str, bytes, Sequence, Set, Mapping)) or is_posterior(x):
        return False
    others = ("columns", "__arrow_c_stream__", "__dlpack__", "samples", "nnz", "dtype", "_as_table")
    return has(x, "__iter__") and not any(has(x, name) for name in others)


def as_single(x: Any) -> NDArray[Any] | None:
    """The rows of an array in single precision or less; None for all other input."""
    is_array = has(x, "__array__") and not has(x, "columns")
    dtype = getattr(x, "dtype", None) if is_array else None
    if isinstance(dtype, np.dtype):
        is_single = dtype.kind == "f" and dtype.itemsize < 8
    else:
        is_single = str(dtype).endswith(("float32", "float16"))
    return as_array(x, "x") if is_array and is_single and getattr(x, "ndim", None) == 2 else None


def _is_dataset(x: Any) -> bool:
    return has(x, "to_batches", "count_rows")


def _is_reader(x: Any) -> bool:
    return has(x, "read_next_batch", "schema")


def as_batches(
    x: Any, roles: Roles, sample_weight: Any = None, log_weight: Any = None, functions: Any = None, what: str = "x"
) -> Batches:
    """The batches of any input with rows. Input that can be read only once is copied to a temporary file."""
    if sample_weight is not None and log_weight is not None:
        raise ValueError("give sample_weight or log_weight, not both")
    part = f"a batch of {what}"
    if _is_dataset(x):
        batches = _of_arrow(
            x.schema, lambda names: x.to_batches(columns=names, batch_size=_MOST), x.count_rows(), what, roles
        )
    elif has(x, "to_batches", "schema"):
        batches = _of_arrow(
            x.schema, lambda names: iter(x.select(names).to_batches(max_chunksize=_MOST)), len(x), what, roles
        )
    elif _is_reader(x):
        batches = _spooled((_arrow_batch(batch, what, roles) for batch in x), what)
    elif has(x, "__next__"):
        batches = _spooled((batch_table(item, part, roles) for item in x), what)
    elif _is_function(x) and not has(x, "__array__"):
        batches = _of_function(x, what, roles)
    elif _is_loader(x):
        batches = _of_function(lambda: iter(x), what, roles)
    else:
        batches = _of_array(x, what, roles)
    batches.drop = roles.drop
    return _with_data(batches, sample_weight, log_weight, functions)


def _of_array(x: Any, what: str, roles: Roles) -> Batches:
    # An array of numbers is read in blocks, so that a memory map is never whole in memory.
    is_plain = isinstance(x, np.ndarray) and x.ndim == 2 and x.dtype.kind in "fiub"
    is_plain = is_plain and not isinstance(x, np.ma.MaskedArray) and roles.names_any() is None
    table = Table(x) if is_plain else as_table(x, what, roles)
    rows = _rows_at_a_time(table.values.shape[1])

    def begin() -> Iterator[Table]:
        return (_sliced(table, slice(start, start + rows)) for start in range(0, len(table.values), rows))

    return Batches(begin, _sliced(table, slice(0, 0)), len(table.values), keeper=x)


def _sliced(table: Table, rows: slice) -> Table:
    """Some of the rows, as doubles."""

    def part(array: NDArray[Any]) -> NDArray[np.float64]:
        return np.asarray(np.require(array[rows], dtype=np.float64, requirements=("C", "A")))

    functions = table.functions and replace(table.functions, values=part(table.functions.values))
    weights, logs = (None if one is None else part(one) for one in (table.weights, table.log_weights))
    return Table(part(table.values), table.names, table.unused, weights, logs, functions=functions)


def _rows_at_a_time(columns: int) -> int:
    return min(max(_BATCH_BYTES // 8 // max(columns, 1), _FEWEST), _MOST)


def _of_arrow(schema: Any, read: Callable[[list[str]], Iterator[Any]], rows: int, what: str, roles: Roles) -> Batches:
    like = as_table(schema.empty_table(), what, roles)
    used = [schema.names[j] for places in used_places(schema.names, what, roles) for j in places]
    # By their exact names, because the batches have no other columns.
    roles = replace(roles, columns=like.names, functions=like.function_names)

    def begin() -> Iterator[Table]:
        batches = (_arrow_batch(batch, what, roles) for batch in read(list(dict.fromkeys(used))) if len(batch))
        return (replace(batch, unused=like.unused) for batch in batches)

    return Batches(begin, like, rows)


def _arrow_batch(batch: Any, what: str, roles: Roles) -> Table:
    import pyarrow as pa

    return as_table(pa.Table.from_batches([batch]), what, roles)


def batch_table(item: Any, what: str, roles: Roles) -> Table:
    """One batch: rows, or a pair of rows and their weights."""
    if isinstance(item, (list, tuple)) and len(item) == 1 and np.ndim(item[0]) == 2:
        # A loader of data without labels.
        item = item[0]
    if isinstance(item, list) and len(item) == 2 and np.ndim(item[0]) == 2 and np.ndim(item[1]) < 2:
        raise ValueError(
            f"{what} is a list of two arrays; give the rows alone, or a tuple of rows and weights, for example "
            "lambda: (rows for rows, labels in loader)"
        )
    if isinstance(item, tuple) and len(item) == 2 and np.ndim(item[1]) == 1:
        weights = as_array(item[1], f"the weights of {what}")
        if weights.dtype.kind in "iub":
            warn(
                "the second of each pair of a batch is used as weights, and holds whole numbers; if they are labels, "
                "give batches of rows alone"
            )
        return replace(as_table(item[0], what, roles), weights=as_vector(weights, f"the weights of {what}"))
    return as_table(item, what, roles)


def _of_function(make: Callable[[], Any], what: str, roles: Roles) -> Batches:
    made: list[Any] = []

    def tables() -> Iterator[Table]:
        found = make()
        if has(found, "columns") or has(found, "__array__") or not has(found, "__iter__"):
            raise TypeError(
                f"{what} is a function that returned {type(found).__name__}; it must return an iterator of batches"
            )
        if made and found is made[0] and has(found, "__next__"):
            raise ValueError(
                f"{what} is a function that returned the same iterator twice; it must make a new one each time"
            )
        made[:] = [found]
        return (batch_table(item, f"a batch of {what}", roles) for item in found)

    # The first batch is read at once, and belongs to the first pass.
    begun = tables()
    first = next((table for table in begun if len(table.values)), None)
    if first is None:
        raise ValueError(f"{what} has no batches, so there are no rows to choose from")
    waiting = [chain([first], begun)]

    def begin() -> Iterator[Table]:
        found = waiting.pop() if waiting else tables()
        return (table for table in found if len(table.values))

    return Batches(begin, _sliced(first, slice(0, 0)))


def _spooled(tables: Iterator[Table], what: str) -> Batches:
    """Rows that can be read only once, copied to a temporary file without a name."""
    file = tempfile.TemporaryFile(prefix="supersample-")  # noqa: SIM115 (kept open for the passes to come)
    try:
        batches = _copied(tables, file, what)
    except BaseException:
        file.close()
        raise
    return batches


def _copied(tables: Iterator[Table], file: Any, what: str) -> Batches:
    rows, first = 0, None
    for table in tables:
        first = first or table
        if _columns(table) != _columns(first):
            raise ValueError(
                f"the batches of {what} differ in their columns, or only some of them have weights: from row {rows} on "
                f"there is {_in_words(table)}, and before {_in_words(first)}"
            )
        weights = table.log_weights if table.weights is None else table.weights
        parts = table.wide() if weights is None else np.column_stack([table.wide(), weights])
        file.write(np.ascontiguousarray(parts).data)
        rows += len(parts)
    if first is None or rows == 0:
        raise ValueError(f"{what} has no rows to choose from")
    file.flush()
    like, columns = _sliced(first, slice(0, 0)), first.values.shape[1]
    functions = 0 if like.functions is None else like.functions.values.shape[1]
    width = columns + functions + like.is_weighted()
    spool: NDArray[np.float64] = np.memmap(file, dtype=np.float64, mode="r", shape=(rows, width))
    weakref.finalize(spool, file.close)
    at_a_time = _rows_at_a_time(width)

    def begin() -> Iterator[Table]:
        for start in range(0, rows, at_a_time):
            block = np.array(spool[start : start + at_a_time])
            table = replace(like, values=np.ascontiguousarray(block[:, :columns]))
            if like.functions is not None:
                own = np.ascontiguousarray(block[:, columns : columns + functions])
                table = replace(table, functions=replace(like.functions, values=own))
            if like.is_weighted():
                own_weights = np.ascontiguousarray(block[:, -1])
                is_logs = like.weights is None
                table = replace(
                    table, weights=None if is_logs else own_weights, log_weights=own_weights if is_logs else None
                )
            yield table

    return Batches(begin, like, rows, keeper=file)


def _with_data(batches: Batches, sample_weight: Any, log_weight: Any, functions: Any) -> Batches:
    """The batches, with weights or functions that were given for all rows at once."""
    kind = "log_weight" if sample_weight is None else "sample_weight"
    weights = log_weight if sample_weight is None else sample_weight
    weights = None if weights is None else as_vector(weights, kind)
    values = None if functions is None else functions_table(functions)
    if weights is None and values is None:
        return batches

    def with_data(table: Table, rows: slice) -> Table:
        if weights is not None:
            own = weights[rows]
            table = weighted(table, own, None) if log_weight is None else weighted(table, None, own)
        return table if values is None else with_functions(table, replace(values, values=values.values[rows]))

    def begin() -> Iterator[Table]:
        start = 0
        for table in batches.begin():
            rows = slice(start, start + len(table.values))
            start = rows.stop
            if all(one is None or len(one) >= start for one in (weights, None if values is None else values.values)):
                yield with_data(table, rows)
        for what_is, one in (("weights", weights), ("functions", None if values is None else values.values)):
            if one is not None and len(one) != start:
                raise ValueError(f"{len(one)} {what_is} were given for {start} rows; give one for each row")

    row_weights = None if weights is None else {kind: weights}
    return replace(batches, begin=begin, like=with_data(batches.like, slice(0, 0)), row_weights=row_weights)
