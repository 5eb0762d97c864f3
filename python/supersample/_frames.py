"""Tables with named columns, of any library, behind one interface."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._inputs import as_array, as_vector, expect_same_order, has

#: The largest plausible number of chains.
_MOST_CHAINS = 16
_NUMBERS = "fiub"


@dataclass(frozen=True)
class Frame:
    """The columns of a table by their places; nothing is converted before it is asked for."""

    names: tuple[str, ...]
    #: The type of a column that does not hold numbers; None for one that does.
    kind: Callable[[int], Any]
    #: A column as doubles, with NaN for missing values.
    numbers: Callable[[int], NDArray[np.float64]]
    #: A column as it is.
    labels: Callable[[int], NDArray[Any]]
    #: Weights that belong to the rows.
    weights: NDArray[np.float64] | None = None


def libraries(x: Any) -> set[str]:
    """The libraries that a type and its bases come from."""
    return {base.__module__.partition(".")[0] for base in type(x).__mro__}


def is_posterior(x: Any) -> bool:
    """Whether it is a Dataset, a DataTree or InferenceData, which are mappings too."""
    return has(x, "data_vars") or has(x, "groups", "extend")


def as_frame(x: Any, what: str, wanted: Callable[[str], bool] | None = None) -> Frame | None:
    """The columns of a table; None for what has no names. Of a mapping, only what is `wanted` is looked at."""
    if isinstance(x, np.ndarray):
        return None if x.dtype.names is None else _of_arrays({name: x[name] for name in x.dtype.names}, what)
    if isinstance(x, tuple) and has(x, "_asdict") and all(np.ndim(part) for part in x):
        return as_frame(getattr(x, "_asdict")(), what, wanted)  # noqa: B009 (mypy knows tuples without names)
    if isinstance(x, Mapping):
        return _of_mapping({name: one for name, one in x.items() if wanted is None or wanted(str(name))}, what)
    kinds = libraries(x)
    if "pandas" in kinds and has(x, "columns"):
        return _of_pandas(x, what)
    if "polars" in kinds and has(x, "collect"):
        x = x.collect()
    if "polars" in kinds and has(x, "get_column"):
        return _of_polars(x)
    if has(x, "getParamNames", "samples"):
        return _of_getdist(x, what)
    if has(x, "columns", "compute"):
        return as_frame(x.compute(), what, wanted)
    if has(x, "__arrow_c_stream__") and "xarray" not in kinds:
        return _of_arrow(x, what)
    if has(x, "columns", "__getitem__"):
        # Keys of astropy's columns are names; its columns keep their masks.
        return _of_arrays({name: x[name] for name in list(x.columns)}, what)
    return None


def _of_arrays(columns: Mapping[Any, Any], what: str) -> Frame:
    """Named vectors."""
    names = list(columns)

    def column(place: int) -> NDArray[Any]:
        return as_array(columns[names[place]], f"column '{names[place]}' of {what}")

    def kind(place: int) -> Any:
        found = column(place)
        if found.ndim != 1:
            return f"arrays of shape {found.shape[1:]}"
        return None if found.dtype.kind in _NUMBERS else found.dtype

    return Frame(tuple(map(str, names)), kind, lambda place: column(place).astype(np.float64), column)


def _of_pandas(frame: Any, what: str) -> Frame:
    # anesthetic keeps weights in the index, and a label for plots with each name.
    weights = frame.get_weights() if hasattr(frame, "isweighted") and frame.isweighted() else None
    if hasattr(frame, "drop_labels"):
        frame = frame.drop_labels()

    def kind(place: int) -> Any:
        dtype = frame.iloc[:, place].dtype
        return None if dtype.kind in _NUMBERS else dtype

    return Frame(
        tuple(map(str, frame.columns)),
        kind,
        lambda place: frame.iloc[:, place].to_numpy(dtype=np.float64, na_value=np.nan),
        lambda place: frame.iloc[:, place].to_numpy(),
        None if weights is None else as_vector(weights, f"the weights of {what}"),
    )


def _of_polars(frame: Any) -> Frame:
    import polars as pl

    columns = frame.get_columns()

    def kind(place: int) -> Any:
        dtype = columns[place].dtype
        return None if dtype.is_numeric() or dtype == pl.Boolean else dtype

    return Frame(
        tuple(frame.columns),
        kind,
        lambda place: columns[place].cast(pl.Float64).to_numpy(),
        lambda place: columns[place].to_numpy(),
    )


def _of_arrow(x: Any, what: str) -> Frame:
    try:
        import pyarrow as pa
    except ImportError:
        raise TypeError(f"{what} is an Arrow table, which needs pyarrow: pip install 'supersample[frames]'") from None
    if isinstance(x, (pa.ChunkedArray, pa.Array)):
        raise ValueError(
            f"{what} is one column, but two dimensions are needed; for one column use pa.table({{'{what}': {what}}})"
        )
    table = pa.table(x)

    def kind(place: int) -> Any:
        dtype, types = table.column(place).type, pa.types
        is_number = types.is_integer(dtype) or types.is_floating(dtype) or types.is_boolean(dtype)
        return None if is_number or types.is_decimal(dtype) else dtype

    def numbers(place: int) -> NDArray[np.float64]:
        # Large whole numbers are rounded, as by all other libraries.
        found: NDArray[np.float64] = table.column(place).cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        return found

    return Frame(tuple(table.column_names), kind, numbers, lambda place: table.column(place).to_numpy())


def _of_getdist(chains: Any, what: str) -> Frame:
    values = as_array(chains.samples, what)
    names = tuple(map(str, chains.getParamNames().list()))
    if len(names) != values.shape[1]:
        names = tuple(f"x{j + 1}" for j in range(values.shape[1]))
    weights = None if chains.weights is None else as_vector(chains.weights, f"the weights of {what}")

    def column(place: int) -> NDArray[Any]:
        return values[:, place]

    return Frame(names, lambda place: None, column, column, weights)


def _of_mapping(samples: Mapping[Any, Any], what: str) -> Frame:
    """Arrays by name, with the draws along the first axis, as from NumPyro, JAX and CmdStanPy."""
    for name, value in samples.items():
        expect_same_order(next(iter(samples.values())), value, f"{what}['{name}']")
    arrays = {name: as_array(value, f"'{name}' of {what}") for name, value in samples.items()}
    shapes = {name: array.shape for name, array in arrays.items()}
    if not arrays:
        raise ValueError(f"{what} is a mapping without arrays; give at least one")
    for name, array in arrays.items():
        if array.ndim == 0:
            raise ValueError(f"'{name}' of {what} is a single number; give one for each draw, along the first axis")
    if len({shape[0] for shape in shapes.values()}) > 1:
        raise ValueError(f"the arrays of {what} differ in their number of draws, the first axis: {shapes}")
    leading = {shape[:2] for shape in shapes.values()}
    first = next(iter(leading))
    if len(leading) == 1 and len(first) == 2 and first[0] <= _MOST_CHAINS and first[0] < first[1]:
        raise ValueError(
            f"the arrays of {what} look like {first[0]} chains of {first[1]} draws; use supersample.arviz.thin, or, if "
            f"they are {first[0]} draws of {first[1]} numbers, give one matrix"
        )
    columns: list[tuple[str, NDArray[Any]]] = []
    for name, array in arrays.items():
        labels = [range(size) for size in array.shape[1:]]
        flat = array.reshape(len(array), math.prod(array.shape[1:]))
        columns.extend(zip(element_names(str(name), labels), flat.T))
    return Frame(
        tuple(name for name, _ in columns),
        lambda place: None if columns[place][1].dtype.kind in _NUMBERS else columns[place][1].dtype,
        lambda place: columns[place][1].astype(np.float64),
        lambda place: columns[place][1],
    )


def element_names(name: str, labels: Sequence[Sequence[Any]]) -> list[str]:
    """mu, theta[0], theta[1], …, Sigma[0, 0], …, with the labels of each axis."""
    if not labels:
        return [name]
    shape = tuple(map(len, labels))
    return [f"{name}[{', '.join(str(axis[i]) for axis, i in zip(labels, at))}]" for at in np.ndindex(shape)]
