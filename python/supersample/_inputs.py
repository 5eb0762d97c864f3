"""What users hand over, as a C-ordered matrix of doubles; refused here, by name, where that cannot be."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from . import _native
from .kernels import Kernel, native_kernel

_IDS = ("chain", "draw", "iteration", "row")


@dataclass(frozen=True)
class Table:
    """Rows of doubles, and the names of their columns where they have some."""

    values: NDArray[np.float64]
    names: tuple[str, ...] | None = None


def as_table(x: Any, what: str = "x") -> Table:
    """The matrix behind any array or frame. A C-ordered array of doubles is used where it lies, without a copy."""
    if isinstance(x, Table):
        return x
    if isinstance(x, np.ndarray):
        return Table(_matrix(x, what))
    kind = type(x).__module__.partition(".")[0]
    if kind == "pandas" and hasattr(x, "columns"):
        return _from_pandas(x, what)
    if kind == "polars" and hasattr(x, "collect"):
        x = x.collect()
    if kind == "polars" and hasattr(x, "get_column"):
        return _from_polars(x, what)
    if kind == "xarray" and hasattr(x, "data_vars"):
        raise TypeError(f"{what} is an xarray Dataset; use supersample.arviz for chains and draws")
    if hasattr(x, "__arrow_c_stream__") and kind != "xarray":
        return _from_arrow(x, what)
    if hasattr(x, "toarray") and hasattr(x, "nnz"):
        raise TypeError(f"{what} is a sparse matrix; give {what}.toarray() if it fits into memory")
    if hasattr(x, "__array__") or isinstance(x, (list, tuple)):
        return Table(_matrix(np.asarray(x), what))
    if hasattr(x, "__dlpack__"):
        try:
            return Table(_matrix(np.from_dlpack(x), what))
        except (BufferError, RuntimeError) as error:
            raise TypeError(f"{what} cannot be read by NumPy ({error}); move it to the CPU first") from None
    raise TypeError(f"{what} is of type {type(x).__name__}; give an array or a frame with one row for each point")


def _matrix(x: NDArray[Any], what: str) -> NDArray[np.float64]:
    if isinstance(x, np.ma.MaskedArray):
        if np.ma.is_masked(x):
            row = int(np.nonzero(np.ma.getmaskarray(x).reshape(len(x), -1).any(axis=1))[0][0])
            raise ValueError(f"{what} is masked at row {row}; drop or impute masked rows first")
        x = x.data
    if x.ndim != 2:
        advice = "give one row for each point and one column for each coordinate"
        if x.ndim == 1:
            advice += f"; for points on a line {what}.reshape(-1, 1)"
        elif x.ndim > 2:
            advice += f", for example {what}.reshape(-1, {x.shape[-1]})"
        raise ValueError(f"{what} has shape {x.shape}, but two dimensions are needed; {advice}")
    if x.dtype.kind not in "fiub":
        raise TypeError(f"{what} has dtype {x.dtype}, which is not of real numbers; convert it first")
    return np.require(np.asarray(x), dtype=np.float64, requirements=("C", "A"))


def _is_id(name: Any) -> bool:
    """Whether a column numbers chains and draws, or has no name, by the rule of the command line."""
    text = str(name)
    bare = text.removeprefix(".")
    return not bare or text.endswith("__") or bare.lower() in _IDS


def _from_pandas(frame: Any, what: str) -> Table:
    columns = []
    for place, name in enumerate(frame.columns):
        if not _is_id(name):
            column = frame.iloc[:, place]
            if column.dtype.kind not in "fiub":
                raise _not_numbers(what, name, column.dtype)
            columns.append((name, column.to_numpy(dtype=np.float64, na_value=np.nan)))
    return _from_columns(columns, what)


def _from_polars(frame: Any, what: str) -> Table:
    names = [name for name in frame.columns if not _is_id(name)]
    return _from_columns([(name, frame.get_column(name).to_numpy()) for name in names], what)


def _from_arrow(x: Any, what: str) -> Table:
    try:
        import pyarrow as pa
    except ImportError:
        raise TypeError(f"{what} speaks Arrow, which needs pyarrow: pip install 'supersample[frames]'") from None
    table = pa.table(x)
    columns = []
    for name, column in zip(table.column_names, table.columns):
        if not _is_id(name):
            kind = column.type
            if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
                raise _not_numbers(what, name, kind)
            # A missing value becomes NaN, which is refused with its row and column.
            columns.append((name, column.cast(pa.float64()).to_numpy(zero_copy_only=False)))
    return _from_columns(columns, what)


def _from_columns(columns: Sequence[tuple[Any, NDArray[Any]]], what: str) -> Table:
    if not columns:
        raise ValueError(f"{what} has no column to choose by (ids such as chain and draw do not count)")
    values = np.empty((len(columns[0][1]), len(columns)), dtype=np.float64)
    for j, (name, column) in enumerate(columns):
        if column.dtype.kind not in "fiub":
            raise _not_numbers(what, name, column.dtype)
        values[:, j] = column
    return Table(values, tuple(str(name) for name, _ in columns))


def _not_numbers(what: str, name: Any, kind: Any) -> TypeError:
    return TypeError(f"column '{name}' of {what} holds {kind}, not numbers; drop it, or convert it to numbers first")


def prepared(
    table: Table,
    kernel: str | Kernel,
    bandwidth: object,
    scale: str,
    sample_weight: Any,
    precision: str,
    known: NDArray[np.float64] | None = None,
) -> _native.Samples:
    """The samples made ready by the native module; a refusal names the column where columns have names."""
    name, bandwidths = native_kernel(kernel, bandwidth)
    weights = None if sample_weight is None else as_vector(sample_weight, "sample_weight")
    try:
        return _native.Samples(table.values, name, bandwidths, scale, weights, precision, known)
    except ValueError as error:
        raise with_column_name(error, table.names) from None


def with_column_name(error: ValueError, names: Sequence[str] | None) -> ValueError:
    """The same refusal with the name of the column it numbers."""
    message = str(error)
    if names is None or not message.startswith("row "):
        return error
    number = message.partition("column ")[2].partition(" ")[0]
    if not number.isdecimal() or int(number) >= len(names):
        return error
    return ValueError(message.replace(f"column {number} ", f"column {number} ('{names[int(number)]}') ", 1))


def as_vector(x: Any, what: str) -> NDArray[np.float64]:
    """One number for each row."""
    values = np.asarray(x)
    if values.ndim != 1:
        raise ValueError(f"{what} has shape {values.shape}; give one number for each row")
    if values.dtype.kind not in "fiub":
        raise TypeError(f"{what} has dtype {values.dtype}, which is not of real numbers")
    return np.require(values, dtype=np.float64, requirements=("C", "A"))


def as_rows(x: Any, rows: int, what: str) -> list[int]:
    """Row numbers from a list of them or from a mask."""
    if x is None:
        return []
    values = np.asarray(x)
    if values.size == 0:
        return []
    if values.dtype.kind == "b":
        if values.shape != (rows,):
            raise ValueError(f"{what} is a mask of shape {values.shape} for {rows} rows")
        values = np.nonzero(values)[0]
    if values.ndim != 1 or values.dtype.kind not in "iu":
        raise TypeError(f"{what} must be a list of row numbers or a mask")
    if values.min() < 0:
        raise ValueError(f"{what} has the row {values.min()}; rows are numbered from 0")
    return cast("list[int]", values.tolist())


def as_count(value: Any, what: str, least: int = 1) -> int:
    """A whole number of at least `least`."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{what} is {value!r}; give a whole number") from None
    if number < least:
        raise ValueError(f"{what} is {number}; give at least {least}")
    return number


def as_threads(value: Any) -> int | None:
    """None for all cores."""
    return None if value is None else as_count(value, "threads")
