"""Conversion of user input to C-ordered matrices of doubles, with errors that name the input."""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _native
from ._warnings import warn

_IDS = ("chain", "draw", "iteration", "row")
#: Names of the weight columns that this package and the command write; the second if the first is in use.
OWN_WEIGHTS = ("weight", "supersample_weight")
#: The largest plausible number of chains.
_MOST_CHAINS = 16
#: The most threads that the native module starts.
_MOST_THREADS = 1024
_UNITS = {"K": 10, "M": 20, "G": 30, "T": 40}


@dataclass(frozen=True)
class Table:
    """Rows of doubles with names of columns, weights and functions, where there are any."""

    values: NDArray[np.float64]
    names: tuple[str, ...] | None = None
    #: Columns that were not used.
    unused: tuple[str, ...] = ()
    weights: NDArray[np.float64] | None = None
    #: Logarithms of the weights, in place of the weights.
    log_weights: NDArray[np.float64] | None = None
    #: Whether the values are a private copy.
    is_copy: bool = False
    #: The number of each row's chain, where a column says it.
    chains: int | list[int] | NDArray[np.int64] | None = None
    #: Functions of the rows, which distances do not use.
    functions: Table | None = None

    @property
    def function_names(self) -> tuple[str, ...] | None:
        """The names of the functions, if they have names."""
        return None if self.functions is None else self.functions.names

    def data(self) -> dict[str, Any]:
        """Weights and functions, as the native module reads them."""
        functions = None if self.functions is None else self.functions.values
        return {
            "sample_weight": self.weights,
            "log_weight": self.log_weights,
            "functions": functions,
            "chains": self.chains,
        }

    def wide(self) -> NDArray[np.float64]:
        """The rows with their functions as the last columns."""
        return self.values if self.functions is None else np.hstack([self.values, self.functions.values])


def as_table(x: Any, what: str = "x", keep_weights: bool = False) -> Table:
    """The numbers of any array or frame. A C-ordered array of doubles is not copied. Columns of frames that are ids, or
    weights that this package writes, are not used; with `keep_weights` only ids are not used."""
    is_unused = is_id if keep_weights else is_no_coordinate
    if isinstance(x, Table):
        return x
    if isinstance(x, np.ndarray):
        return Table(_matrix(x, what))
    if is_posterior(x):
        raise TypeError(f"{what} is of type {type(x).__name__}; for chains and draws use supersample.arviz.thin")
    if isinstance(x, Mapping):
        return _from_mapping(x, what)
    kinds = {base.__module__.partition(".")[0] for base in type(x).__mro__}
    if "pandas" in kinds and hasattr(x, "columns"):
        return _from_pandas(x, what, is_unused)
    if "polars" in kinds and hasattr(x, "collect"):
        x = x.collect()
    if "polars" in kinds and hasattr(x, "get_column"):
        return _from_named(x.columns, lambda name: x.get_column(name).to_numpy(), what, is_unused)
    if kinds & {"pandas", "polars"} and hasattr(x, "to_frame") and hasattr(x, "dtype"):
        raise ValueError(f"{what} is a Series, but two dimensions are needed; for one column use {what}.to_frame()")
    if hasattr(x, "getParamNames") and hasattr(x, "samples"):
        return _from_getdist(x, what)
    if hasattr(x, "columns") and hasattr(x, "compute"):
        return as_table(x.compute(), what, keep_weights)
    if hasattr(x, "__arrow_c_stream__") and "xarray" not in kinds:
        return _from_arrow(x, what, is_unused)
    if hasattr(x, "columns") and hasattr(x, "__getitem__"):
        return _from_named(x.columns, lambda name: np.asarray(x[name]), what, is_unused)
    if hasattr(x, "toarray") and hasattr(x, "nnz"):
        raise TypeError(f"{what} is a sparse matrix; use {what}.toarray() if it fits into memory")
    if isinstance(x, (list, tuple)) and x and all(np.ndim(item) == 2 for item in x):
        raise ValueError(
            f"{what} is a list of {len(x)} tables; for batches of rows give iter({what}), otherwise concatenate them"
        )
    if hasattr(x, "__array__") or isinstance(x, (list, tuple)):
        return Table(_matrix(np.asarray(x), what))
    if hasattr(x, "__dlpack__"):
        try:
            return Table(_matrix(np.from_dlpack(x), what))
        except (BufferError, RuntimeError) as error:
            raise TypeError(f"{what} cannot be read by NumPy ({error}); move it to the CPU first") from None
    raise TypeError(f"{what} is of type {type(x).__name__}; give an array or a frame with one row for each point")


def is_posterior(x: Any) -> bool:
    """Whether it is a Dataset, a DataTree or InferenceData, which are mappings too."""
    return hasattr(x, "data_vars") or (hasattr(x, "groups") and hasattr(x, "extend"))


def _matrix(x: NDArray[Any], what: str) -> NDArray[np.float64]:
    if isinstance(x, np.ma.MaskedArray):
        if np.ma.is_masked(x):
            row = int(np.nonzero(np.ma.getmaskarray(x).reshape(len(x), -1).any(axis=1))[0][0])
            raise ValueError(f"{what} is masked at row {row}; drop or impute masked rows first")
        x = x.data
    if x.ndim != 2:
        advice = "give one row for each point and one column for each coordinate"
        if x.ndim == 1:
            advice += f"; for one column use {what}.reshape(-1, 1)"
        elif x.ndim > 2:
            advice += f", for example {what}.reshape(-1, {x.shape[-1]})"
        raise ValueError(f"{what} has shape {x.shape}, but two dimensions are needed; {advice}")
    if x.dtype.kind not in "fiub":
        raise TypeError(f"{what} has dtype {x.dtype}, which is not a type of real numbers; convert it first")
    return _doubles(x)


def _doubles(x: NDArray[Any]) -> NDArray[np.float64]:
    """C-ordered doubles, without a copy if possible."""
    if x.size == 0:
        # NumPy calls an empty array aligned at any address.
        return np.empty(x.shape)
    return np.require(np.asarray(x), dtype=np.float64, requirements=("C", "A"))


def is_id(name: Any) -> bool:
    """Whether a column is an id (chain, draw, …), or has no name."""
    text = str(name)
    bare = text.removeprefix(".")
    return not bare or text.endswith("__") or bare.lower() in _IDS


def _is_chain(name: Any) -> bool:
    return str(name).removeprefix(".").lower() == "chain"


def _in_chains(table: Table, chain: NDArray[Any] | None, what: str) -> Table:
    """The rows with the chain of each, where a column has it."""
    if chain is None:
        return table
    try:
        return replace(table, chains=chain_numbers(chain, f"the column chain of {what}"))
    except (TypeError, ValueError) as error:
        warn(f"{error}; the rows are taken as one chain")
        return table


def chain_numbers(labels: NDArray[Any], what: str) -> NDArray[np.int64]:
    """A number for each label, none of which may be missing."""
    # A missing label is not equal to itself, or None.
    nothing: Any = None
    missing = np.nonzero((labels != labels) | (labels == nothing))[0]
    if missing.size:
        raise ValueError(f"{what} has no label in row {missing[0]}; give every row its chain")
    try:
        numbers: NDArray[np.int64] = np.unique(labels, return_inverse=True)[1].astype(np.int64)
    except TypeError:
        raise TypeError(f"{what} has labels of several types; give labels of one type") from None
    return numbers


def as_chains(chains: Any, rows: int) -> int | list[int] | NDArray[np.int64]:
    """A number of chains of equal length, the lengths of chains, or the number of each row's chain."""
    given = np.asarray(chains)
    if given.ndim == 0:
        return as_count(chains, "chains")
    if given.ndim > 1:
        raise ValueError(f"chains has shape {given.shape}; give a number, the length of each chain, or a label a row")
    if len(given) == rows:
        return chain_numbers(given, "chains")
    if given.dtype.kind not in "iu":
        raise ValueError(
            f"chains has {len(given):,} labels, but there are {rows:,} rows; give one for each row, or the lengths"
        )
    return [as_count(length, "the length of a chain", 0) for length in given.tolist()]


def is_no_coordinate(name: Any) -> bool:
    """Whether a column is an id or holds weights that this package writes; the command has the same rule."""
    return is_id(name) or name in OWN_WEIGHTS


def _from_pandas(frame: Any, what: str, is_unused: Callable[[Any], bool]) -> Table:
    # anesthetic keeps weights in the index, and a label for plots with each name.
    weights = frame.get_weights() if hasattr(frame, "isweighted") and frame.isweighted() else None
    if hasattr(frame, "drop_labels"):
        frame = frame.drop_labels()
    columns, unused, chain = [], [], None
    for place, name in enumerate(frame.columns):
        if is_unused(name):
            unused.append(name)
            if _is_chain(name):
                chain = frame.iloc[:, place].to_numpy()
            continue
        column = frame.iloc[:, place]
        if column.dtype.kind not in "fiub":
            raise _not_numbers(what, name, column.dtype)
        columns.append((name, column.to_numpy(dtype=np.float64, na_value=np.nan)))
    table = _in_chains(_from_columns(columns, what, unused), chain, what)
    return table if weights is None else replace(table, weights=as_vector(weights, f"the weights of {what}"))


def _from_named(
    names: Sequence[Any], column: Callable[[Any], NDArray[Any]], what: str, is_unused: Callable[[Any], bool]
) -> Table:
    used, unused = [name for name in names if not is_unused(name)], [name for name in names if is_unused(name)]
    table = _from_columns([(name, column(name)) for name in used], what, unused)
    chain = next((column(name) for name in unused if _is_chain(name)), None)
    return _in_chains(table, chain, what)


def _from_arrow(x: Any, what: str, is_unused: Callable[[Any], bool]) -> Table:
    try:
        import pyarrow as pa
    except ImportError:
        raise TypeError(f"{what} is an Arrow table, which needs pyarrow: pip install 'supersample[frames]'") from None
    table = pa.table(x)
    columns, unused, chain = [], [], None
    for name, column in zip(table.column_names, table.columns):
        if is_unused(name):
            unused.append(name)
            if _is_chain(name):
                chain = column.to_numpy()
            continue
        kind = column.type
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
            raise _not_numbers(what, name, kind)
        # A missing value becomes NaN, which is refused later with its row and column.
        columns.append((name, column.cast(pa.float64()).to_numpy(zero_copy_only=False)))
    return _in_chains(_from_columns(columns, what, unused), chain, what)


def _from_getdist(chains: Any, what: str) -> Table:
    names = tuple(map(str, chains.getParamNames().list()))
    values = _matrix(np.asarray(chains.samples), what)
    weights = None if chains.weights is None else as_vector(chains.weights, f"the weights of {what}")
    return Table(values, names if len(names) == values.shape[1] else None, weights=weights)


def _from_mapping(samples: Mapping[Any, Any], what: str) -> Table:
    """Arrays by name, with the draws along the first axis, as from NumPyro, JAX and CmdStanPy."""
    arrays = {name: np.asarray(value) for name, value in samples.items()}
    shapes = {name: array.shape for name, array in arrays.items()}
    if not arrays:
        raise ValueError(f"{what} is a mapping without arrays; give at least one")
    for name, array in arrays.items():
        if array.ndim == 0:
            raise ValueError(f"'{name}' of {what} is a single number; give one for each draw, along the first axis")
        if array.dtype.kind not in "fiub":
            raise _not_numbers(what, name, array.dtype)
    if len({shape[0] for shape in shapes.values()}) > 1:
        raise ValueError(f"the arrays of {what} differ in their number of draws, the first axis: {shapes}")
    leading = {shape[:2] for shape in shapes.values()}
    first = next(iter(leading))
    if len(leading) == 1 and len(first) == 2 and first[0] <= _MOST_CHAINS and first[0] < first[1]:
        raise ValueError(
            f"the arrays of {what} look like {first[0]} chains of {first[1]} draws; use supersample.arviz.thin, or, if "
            f"they are {first[0]} draws of {first[1]} numbers, give one matrix"
        )
    columns: list[tuple[Any, NDArray[Any]]] = []
    for name, array in arrays.items():
        flat = array.reshape(len(array), -1)
        columns.extend(zip(element_names(str(name), [range(size) for size in array.shape[1:]]), flat.T))
    return _from_columns(columns, what, ())


def element_names(name: str, labels: Sequence[Sequence[Any]]) -> list[str]:
    """mu, theta[0], theta[1], …, Sigma[0, 0], …, with the labels of each axis."""
    if not labels:
        return [name]
    shape = tuple(map(len, labels))
    return [f"{name}[{', '.join(str(axis[i]) for axis, i in zip(labels, at))}]" for at in np.ndindex(shape)]


def _from_columns(columns: Sequence[tuple[Any, NDArray[Any]]], what: str, unused: Sequence[Any]) -> Table:
    if not columns:
        raise ValueError(f"{what} has no column to use (ids such as chain and draw are not used)")
    values = np.empty((len(columns[0][1]), len(columns)), dtype=np.float64)
    for j, (name, column) in enumerate(columns):
        if column.dtype.kind not in "fiub":
            raise _not_numbers(what, name, column.dtype)
        values[:, j] = column
    return Table(values, tuple(str(name) for name, _ in columns), tuple(map(str, unused)), is_copy=True)


def _not_numbers(what: str, name: Any, kind: Any) -> TypeError:
    return TypeError(f"column '{name}' of {what} holds {kind}, not numbers; drop it, or convert it to numbers first")


def matched(table: Table, names: tuple[str, ...] | None, what: str) -> Table:
    """The columns of these names in this order; unchanged where either has no names."""
    if names is None or table.names is None or table.names == names:
        return table
    for name in names:
        if name not in table.names:
            raise ValueError(f"{what} has no column '{name}'; its columns are {', '.join(table.names)}")
        if table.names.count(name) > 1 or names.count(name) > 1:
            raise ValueError(f"the column '{name}' occurs more than once, so columns cannot be matched by name")
    places = [table.names.index(name) for name in names]
    left_out = [name for name in table.names if name not in names]
    return replace(
        table, values=np.ascontiguousarray(table.values[:, places]), names=names, unused=(*table.unused, *left_out)
    )


def weighted(table: Table, sample_weight: Any, log_weight: Any) -> Table:
    """The rows with these weights or logarithms of weights, or with their own where neither is given."""
    if sample_weight is not None and log_weight is not None:
        raise ValueError("give sample_weight or log_weight, not both")
    if log_weight is not None:
        return replace(table, weights=None, log_weights=as_vector(log_weight, "log_weight"))
    if sample_weight is not None:
        return replace(table, weights=as_vector(sample_weight, "sample_weight"), log_weights=None)
    return table


@contextmanager
def explained(rows: Any, what: str | None = "x", labels: Sequence[Any] = ()) -> Iterator[None]:
    """Puts the names of columns, functions and groups into errors of the native module, which does not know them."""
    try:
        yield
    except ValueError as error:
        refusal = getattr(error, "refusal", None)
        if isinstance(refusal, _native.Refusal):
            groups = [str(label) for label in labels]
            of = getattr(error, "of", what)
            error.args = (refusal.sentence(of, rows.names, rows.function_names, groups),)
            # An outer caller has other names.
            del error.refusal  # type: ignore[attr-defined]
        raise


def as_device(device: object, what: str = "device") -> str:
    """The device, after a check that it exists."""
    if not isinstance(device, str):
        raise TypeError(f"device is {device!r}; choose cpu or gpu")
    _native.device_name(device)
    return device


def as_vector(x: Any, what: str) -> NDArray[np.float64]:
    """One number for each row."""
    values = np.asarray(x)
    if values.ndim != 1:
        raise ValueError(f"{what} has shape {values.shape}; give one number for each row")
    if values.dtype.kind not in "fiub":
        raise TypeError(f"{what} has dtype {values.dtype}, which is not a type of real numbers")
    return _doubles(values)


def as_rows(x: Any, rows: int | None, what: str) -> NDArray[np.int64]:
    """Row numbers, from a list or a mask. The length of a mask is checked if the number of rows is known."""
    values = np.asarray([] if x is None else x)
    if values.size == 0:
        return np.empty(0, dtype=np.int64)
    if values.dtype.kind == "b":
        if rows is not None and values.shape != (rows,):
            raise ValueError(f"{what} is a mask of shape {values.shape} for {rows} rows")
        values = np.nonzero(values)[0]
    if values.ndim != 1 or values.dtype.kind not in "iu":
        raise TypeError(f"{what} must be a list of row numbers or a mask")
    if values.size and values.min() < 0:
        raise ValueError(f"{what} has the row {values.min()}; rows are numbered from 0")
    return values.astype(np.int64)


def as_count(value: Any, what: str, least: float = 1) -> int:
    """A whole number of at least `least`."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{what} is {value!r}; give a whole number") from None
    if number < least:
        raise ValueError(f"{what} is {number}; give at least {least}")
    return number


def as_number(value: Any, what: str) -> float:
    """A number. The native module checks its range. True and False are refused."""
    try:
        if not isinstance(value, (str, bool)):
            return float(value)
    except (TypeError, ValueError):
        pass
    raise TypeError(f"{what} is {value!r}; give a number")


def as_memory(value: Any, what: str) -> int:
    """Bytes, from a number of them or a text such as 500M or 2G."""
    if isinstance(value, str):
        number, unit = value.strip().rstrip("iB").upper(), 0
        if number and number[-1] in _UNITS:
            number, unit = number[:-1], _UNITS[number[-1]]
        try:
            return as_count(int(float(number) * 2**unit), what)
        except ValueError:
            raise ValueError(f"{what} is {value!r}; give a number of bytes, or a text such as 500M or 2G") from None
    return as_count(value, what)


def as_rule(weights: Any, what: str = "weights") -> str:
    """The rule for the weights of chosen points."""
    if isinstance(weights, str):
        return weights
    raise TypeError(
        f"{what} is of type {type(weights).__name__}, but it is the rule for the weights of the chosen points: equal, "
        "simplex, signed or calibrated; for weights of the input rows use sample_weight"
    )


def as_threads(value: Any) -> int | None:
    """The number of threads: as given, or from RAYON_NUM_THREADS or OMP_NUM_THREADS, or None for all cores."""
    if value is not None:
        if as_count(value, "threads", -math.inf) < 1:
            raise ValueError(f"threads is {value}; give at least 1, or None for all cores")
        return int(value)
    for name in ("RAYON_NUM_THREADS", "OMP_NUM_THREADS"):
        # OpenMP allows a list, one number for each level of nesting.
        number = os.environ.get(name, "").partition(",")[0].strip()
        if number.isdecimal() and int(number) > 0:
            return min(int(number), _MOST_THREADS)
    return None
