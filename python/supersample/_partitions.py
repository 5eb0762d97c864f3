"""Partitions of Dask collections, and the numbers in one of them, read on its worker."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._batches import batch_table
from ._functions import with_functions
from ._inputs import as_array, as_vector
from ._numbers import counted
from ._rows import finished
from ._tables import Roles, Table, as_table, explained, refuse_names, weighted


@dataclass(frozen=True)
class Layout:
    """The data that comes with the rows of every partition."""

    roles: Roles
    #: The kind of weights that are a separate collection: sample_weight, log_weight, or None.
    weights: str | None = None
    #: Whether functions are a separate collection.
    functions: bool = False


@dataclass(frozen=True)
class Partitions:
    """Rows in consecutive pieces, each a lazy Dask object, with weights and functions if there are any."""

    pieces: list[list[Any]]
    layout: Layout
    #: The number of rows of each, if it is known before they are read.
    sizes: tuple[int, ...] | None = None

    def __len__(self) -> int:
        return len(self.pieces)


@dataclass(frozen=True)
class Columns:
    """The columns of a partition, which must be the same for all partitions."""

    count: int
    names: tuple[str, ...] | None
    unused: tuple[str, ...]
    #: The number of functions after the coordinates, and their names.
    functions: int = 0
    function_names: tuple[str, ...] | None = None

    @classmethod
    def of(cls, block: Table) -> Columns:
        """The columns of one partition."""
        functions = 0 if block.functions is None else block.functions.values.shape[1]
        return cls(block.values.shape[1], block.names, block.unused, functions, block.function_names)

    def in_words(self) -> str:
        """A description for error messages."""
        if self.names is None:
            return counted(self.count, "column")
        return f"the columns {', '.join(self.names)}"


def as_partitions(x: Any, roles: Roles, sample_weight: Any, log_weight: Any, functions: Any) -> Partitions:
    """The partitions of a Dask array or frame, or of a list of Delayed objects."""
    if sample_weight is not None and log_weight is not None:
        raise ValueError("give sample_weight or log_weight, not both")
    rows, sizes = _pieces(x, "x", None, None, roles)
    if not rows:
        raise ValueError("x has no partitions, so there are no rows to choose from")
    pieces = [[piece] for piece in rows]
    layout = Layout(
        roles,
        weights="sample_weight" if sample_weight is not None else "log_weight" if log_weight is not None else None,
        functions=functions is not None,
    )
    given = log_weight if sample_weight is None else sample_weight
    if given is not None:
        assert layout.weights is not None
        _attach(pieces, given, layout.weights, sizes)
    if layout.functions:
        _attach(pieces, functions, "functions", sizes)
    return Partitions(pieces, layout, sizes)


def pieces_of(x: Any) -> list[Any] | None:
    """The lazy pieces of a Dask collection, chunked by rows; None for other objects."""
    if hasattr(x, "dask") and hasattr(x, "chunks") and hasattr(x, "ndim"):
        return list(x.rechunk(dict.fromkeys(range(1, x.ndim), -1)).to_delayed().ravel())
    if hasattr(x, "to_delayed") and hasattr(x, "npartitions"):
        return list(x.to_delayed())
    if isinstance(x, (list, tuple)) and x and all(_is_delayed(piece) for piece in x):
        return list(x)
    return [x] if _is_delayed(x) else None


def _attach(pieces: list[list[Any]], given: Any, what: str, sizes: tuple[int, ...] | None) -> None:
    others, _ = _pieces(given, what, len(pieces), sizes)
    if len(others) != len(pieces):
        raise ValueError(
            f"{what} has {counted(len(others), 'partition')}, and x has {len(pieces)}; give one for each, with "
            "as many rows"
        )
    for piece, other in zip(pieces, others):
        piece.append(other)


def _pieces(
    x: Any, what: str, count: int | None, sizes: tuple[int, ...] | None, roles: Roles | None = None
) -> tuple[list[Any], tuple[int, ...] | None]:
    """The lazy pieces of a collection, and the number of rows of each if known."""
    if hasattr(x, "dask") and hasattr(x, "chunks") and hasattr(x, "ndim"):
        return _of_array(x, what, sizes, roles)
    if what == "x" and hasattr(x, "npartitions") and hasattr(x, "columns"):
        # Columns that are not numbers are refused before anything is read.
        as_table(x._meta, what, roles)
    pieces = pieces_of(x)
    if pieces is not None:
        return pieces, None
    is_extra = count is not None
    if is_extra and sizes is not None and hasattr(x, "__array__"):
        array = as_array(x, what)
        if len(array) != sum(sizes):
            raise ValueError(f"{what} has {counted(len(array), 'row')}, and x has {sum(sizes)}; give one each")
        return np.split(array, np.cumsum(sizes)[:-1]), sizes
    advice = "a Dask array, frame or a list of Delayed batches"
    if is_extra:
        advice += " with the partitions of x"
    elif hasattr(x, "__array__") or hasattr(x, "columns"):
        advice += "; rows in memory are for supersample.thin, herd and evaluate"
    raise TypeError(f"{what} is of type {type(x).__name__}; give {advice}")


def _is_delayed(x: Any) -> bool:
    return hasattr(x, "dask") and hasattr(x, "key") and hasattr(x, "compute")


def _of_array(
    x: Any, what: str, sizes: tuple[int, ...] | None, roles: Roles | None
) -> tuple[list[Any], tuple[int, ...] | None]:
    if roles is not None:
        refuse_names(roles, what)
    dims = (2,) if what == "x" else (1,) if what != "functions" else (1, 2)
    if x.ndim not in dims:
        wanted = "two dimensions are needed" if dims == (2,) else f"give {' or '.join(map(str, dims))} dimensions"
        raise ValueError(f"{what} has shape {x.shape}; {wanted}, with one row for each point")
    if x.dtype.kind not in "fiub":
        raise TypeError(f"{what} has dtype {x.dtype}, which is not a type of real numbers; convert it first")
    if x.ndim == 2 and x.numblocks[1] > 1:
        x = x.rechunk({1: -1})
    own = None if any(math.isnan(size) for size in x.chunks[0]) else tuple(map(int, x.chunks[0]))
    if sizes is not None and own is not None and own != sizes and sum(own) == sum(sizes):
        x, own = x.rechunk({0: sizes}), sizes
    return list(x.to_delayed().ravel()), own


@contextmanager
def in_partition(number: int, block: Table | None = None) -> Iterator[None]:
    """Adds the number of the partition to errors; rows are counted from 0 in each partition."""
    named = Table(np.empty((0, 0))) if block is None else replace(block, names=_all_names(block))
    try:
        with explained(named, None):
            yield
    except (ValueError, TypeError) as error:
        text = str(error)
        if text.startswith(f"partition {number}"):
            raise
        raise type(error)(f"partition {number}: {text}") from error


def _all_names(block: Table) -> tuple[str, ...]:
    """The names of coordinates and functions, or default names."""
    functions = 0 if block.functions is None else block.functions.values.shape[1]
    of_functions = block.function_names or tuple(f"f{j + 1}" for j in range(functions))
    return (*(block.names or (f"x{j + 1}" for j in range(block.values.shape[1]))), *of_functions)


def as_block(number: int, layout: Layout, rows: Any, *others: Any) -> Table:
    """The numbers in one partition, with their weights and functions."""
    given = list(others)
    with in_partition(number):
        what = f"partition {number}"
        table = batch_table(rows, what, layout.roles)
        if layout.weights is not None:
            vector = as_vector(given.pop(0), layout.weights)
            if len(vector) != len(table.values):
                raise ValueError(
                    f"{what} has {counted(len(table.values), 'row')} and {len(vector)} of {layout.weights}; give one "
                    "each"
                )
            is_logs = layout.weights == "log_weight"
            table = weighted(table, None if is_logs else vector, vector if is_logs else None)
        table = with_functions(table, given.pop(0) if layout.functions else None)
        return finished(table, layout.roles.drop)


def arrays_of(block: Table) -> list[NDArray[np.float64]]:
    """All numbers of a partition."""
    return [array for array in (block.wide(), block.weights, block.log_weights) if array is not None]


def fingerprint(block: Table) -> tuple[int, int]:
    """The number of rows of a partition, and a checksum of its numbers."""
    mark = 0
    for array in arrays_of(block):
        mark = zlib.crc32(array.data, mark)
    return len(block.values), mark
