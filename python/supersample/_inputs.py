"""Conversion and checks of single values, vectors and row numbers, with errors that name the input."""

from __future__ import annotations

import math
import operator
import os
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _native

#: The most threads that the native module starts.
_MOST_THREADS = 1024
_UNITS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}
_MEMORY = re.compile(r"([0-9.]+(?:E[+-]?[0-9]+)?)\s*([KMGT]?)(?:I?B)?", re.IGNORECASE)
#: The largest whole numbers that the native module takes: counts, and seeds.
_MOST, _MOST_SEED = 2**63 - 1, 2**64 - 1


def has(x: Any, *names: str) -> bool:
    """Whether it has these attributes. Some objects raise other errors than AttributeError."""
    try:
        return all(hasattr(x, name) for name in names)
    except Exception:
        return False


def as_array(x: Any, what: str) -> NDArray[Any]:
    """The values as an array, in which no value is masked."""
    if isinstance(x, (list, tuple)) and any(isinstance(item, np.ma.MaskedArray) for item in x):
        x = np.ma.asarray(x)
    elif has(x, "to_numpy", "dtype") and getattr(x.dtype, "na_value", None) is not None:
        # Nullable columns of pandas: missing values become NaN.
        kind = getattr(x.dtype, "kind", "O")
        x = x.to_numpy(dtype=np.float64, na_value=np.nan) if kind in "fiu" else x.to_numpy()
    elif has(x, "__dask_graph__", "compute"):
        # As an argument of NumPy it would lose its mask.
        x = x.compute()
    try:
        # Not `asarray`, which drops the mask of what `__array__` returns.
        array = np.asanyarray(x)
    except ValueError as error:
        if "inhomogeneous" not in str(error):
            raise
        advice = "; give rows alone, and weights as sample_weight" if isinstance(x, tuple) and len(x) == 2 else ""
        raise ValueError(f"the items of {what} differ in their length or dimensions{advice}") from None
    if isinstance(array, np.ma.MaskedArray):
        if np.ma.is_masked(array):
            row = np.argwhere(np.ma.getmaskarray(array))[0][:1]
            at = f" at row {row[0]}" if len(row) else ""
            raise ValueError(f"{what} is masked{at}; drop or impute masked rows first")
        array = array.data
    return np.asarray(array)


def refuse_masked(x: Any, what: str) -> None:
    """Refuses an array, or a list of rows, with a masked value."""
    if isinstance(x, np.ma.MaskedArray) or (
        isinstance(x, (list, tuple)) and isinstance(next(iter(x), 0), np.ma.MaskedArray)
    ):
        as_array(x, what)


def doubles(x: NDArray[Any]) -> NDArray[np.float64]:
    """C-ordered doubles, without a copy if possible."""
    if x.size == 0:
        # NumPy calls an empty array aligned at any address.
        return np.empty(x.shape)
    return np.require(np.asarray(x), dtype=np.float64, requirements=("C", "A"))


def as_vector(x: Any, what: str) -> NDArray[np.float64]:
    """One number for each row."""
    values = as_array(x, what)
    if values.ndim != 1:
        raise ValueError(f"{what} has shape {values.shape}; give one number for each row")
    if values.dtype.kind not in "fiub":
        raise TypeError(f"{what} has dtype {values.dtype}, which is not a type of real numbers")
    return doubles(values)


def as_rows(x: Any, rows: int | None, what: str) -> NDArray[np.int64]:
    """Row numbers, from a list or a mask. The length of a mask is checked if the number of rows is known."""
    values = as_array([] if x is None else x, what)
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
    if values.size and rows is not None and values.max() >= rows:
        raise ValueError(f"{what} has the row {values.max()}, but x has {rows} rows, counted from 0")
    return values.astype(np.int64)


def expect_same_order(x: Any, other: Any, what: str, of: str = "x") -> None:
    """Refuses pandas objects whose indexes show that the rows of `other` are in another order than those of `x`."""
    if not (has(x, "index") and has(other, "index")):
        return
    ours, theirs = x.index, other.index
    if not (has(ours, "sort_values") and has(theirs, "sort_values")) or ours.equals(theirs):
        return
    try:
        is_permuted = ours.sort_values().equals(theirs.sort_values())
    except TypeError:
        # Labels of several types have no order.
        is_permuted = len(ours) == len(theirs) and set(ours) == set(theirs)
    if is_permuted:
        raise ValueError(f"the index of {what} has another order than that of {of}; give {what}.loc[{of}.index]")


def as_count(value: Any, what: str, least: float = 1, most: int = _MOST) -> int:
    """A whole number of at least `least`. True and False are refused."""
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{what} is {value!r}; give a whole number") from None
    if number < least:
        raise ValueError(f"{what} is {number}; give at least {least}")
    if number > most:
        raise ValueError(f"{what} is {number}; give at most {most}")
    return number


def as_seed(value: Any, what: str) -> int:
    """A seed: a whole number, or one drawn by a random generator of NumPy."""
    if isinstance(value, np.random.Generator):
        return int(value.integers(_MOST))
    return as_count(value, what, 0, _MOST_SEED)


def as_number(value: Any, what: str) -> float:
    """A number. The native module checks its range. True and False are refused."""
    try:
        if not isinstance(value, (str, bool)):
            return float(value)
    except (TypeError, ValueError):
        pass
    raise TypeError(f"{what} is {value!r}; give a number")


def as_memory(value: Any, what: str) -> int:
    """Bytes, from a number of them or a text such as 500M or 2 GB."""
    if isinstance(value, str):
        found = _MEMORY.fullmatch(value.strip())
        if found is None:
            raise ValueError(f"{what} is {value!r}; give a number of bytes, or a text such as 500M or 2G")
        value = float(found[1]) * 2 ** _UNITS[found[2].upper()]
    if isinstance(value, float) and 1 <= value <= _MOST:
        return int(value)
    if isinstance(value, float):
        raise ValueError(f"{what} is {value:g}; give a number of bytes from 1 to {_MOST:.0e}")
    return as_count(value, what)


def as_rule(weights: Any, what: str = "weights") -> str:
    """The rule for the weights of chosen points."""
    if isinstance(weights, str):
        return weights
    raise TypeError(
        f"{what} is of type {type(weights).__name__}, but it is the rule for the weights of the chosen points: equal, "
        "simplex, signed or calibrated; for weights of the input rows use sample_weight"
    )


def as_device(device: object, what: str = "device") -> str:
    """The device, after a check that it exists."""
    if not isinstance(device, str):
        raise TypeError(f"device is {device!r}; choose cpu or gpu")
    _native.device_name(device)
    return device


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
