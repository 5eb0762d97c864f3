"""Functions of the rows, whose means are matched in addition to the joint distribution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._inputs import Table, as_table
from ._numbers import counted


def refuse_without_functions(given: Mapping[str, Any]) -> None:
    """Refuses options that have no effect without functions."""
    for what, default in (("functions_weight", None), ("functions_unit", "each")):
        if given.get("functions") is None and given.get(what, default) != default:
            raise ValueError(f"{what} has no effect without functions; leave it out, or give functions")


def with_functions(table: Table, functions: Any, what: str = "x") -> Table:
    """The rows with these functions: numbers, or names of columns, which are then not coordinates."""
    if functions is None:
        return table
    table, own = split(table, functions, what)
    return replace(table, functions=own)


def objective_of(matched: tuple[float, float, float | None], unit: str | None) -> str:
    """The objective in words: joint MMD + 0.1 × marginals + 0.08 × moments."""
    marginals, moments, functions = matched
    parts = ["joint MMD"] + [f"{marginals:g} × marginals"] * (marginals > 0) + [f"{moments:g} × moments"] * (moments > 0)
    if functions is not None:
        parts.append(f"{functions:g} × functions" + " in a common unit" * (unit == "common"))
    return " + ".join(parts)


def split(table: Table, functions: Any, what: str = "x") -> tuple[Table, Table]:
    """The rows without the columns that are functions, and the functions."""
    names = named(functions)
    if names is not None:
        return _taken(table, names, what)
    given = functions_table(functions)
    if len(given.values) != len(table.values):
        raise ValueError(
            f"functions has {counted(len(given.values), 'row')}, but {what} has {counted(len(table.values), 'row')}; "
            "give one for each row, in the same order"
        )
    return table, given


def named(functions: Any) -> list[str] | None:
    """The names where functions are given by name; None where they are numbers."""
    if isinstance(functions, str):
        return [functions]
    if isinstance(functions, (list, tuple)) and functions and all(isinstance(name, str) for name in functions):
        return list(functions)
    return None


def functions_table(functions: Any) -> Table:
    """Functions as numbers, one row for each row; a vector is one function."""
    is_series = hasattr(functions, "to_frame") and hasattr(functions, "dtype")
    has_names = isinstance(functions, Table) or hasattr(functions, "columns") or hasattr(functions, "keys")
    if is_series or not has_names:
        array = np.asarray(functions)
        functions = array.reshape(-1, 1) if array.ndim == 1 else array
    table = as_table(functions, "functions")
    if table.values.shape[1] == 0:
        raise ValueError("functions has no columns; give at least one function, or leave functions out")
    _check_finite(table)
    return table


def function_name(names: Sequence[str] | None, column: int) -> str:
    """The name of a function."""
    return f"f{column + 1}" if names is None else names[column]


def _check_finite(functions: Table) -> None:
    bad = ~np.isfinite(functions.values)
    if bad.any():
        row, column = (int(place) for place in np.argwhere(bad)[0])
        function = str(column) if functions.names is None else f"'{functions.names[column]}'"
        raise ValueError(
            f"functions: row {row}, function {function} is "
            f"{functions.values[row, column]}; every function needs a finite number in every row; drop the row or "
            "the function"
        )


def _taken(table: Table, wanted: Sequence[str], what: str) -> tuple[Table, Table]:
    if table.names is None:
        raise ValueError(
            f"functions are named, but the columns of {what} have no names; give the functions as numbers, one row for "
            "each row"
        )
    places: list[int] = []
    for name in wanted:
        found = _places(table.names, name)
        if not found:
            raise ValueError(f"{what} has no column '{name}'; its columns are {', '.join(table.names)}")
        places += [place for place in found if place not in places]
    rest = [place for place in range(len(table.names)) if place not in places]
    if not rest:
        raise ValueError(f"every column of {what} is a function; distances need at least one other column")

    def of(columns: list[int]) -> tuple[NDArray[np.float64], tuple[str, ...]]:
        assert table.names is not None
        return np.ascontiguousarray(table.values[:, columns]), tuple(table.names[j] for j in columns)

    functions = functions_table(Table(*of(places), is_copy=True))
    values, names = of(rest)
    return replace(table, values=values, names=names, is_copy=True), functions


def _places(names: Sequence[str], wanted: str) -> list[int]:
    """The places of a column, of the entries of a vector of that name, or of the columns that match a pattern."""
    exact = [place for place, name in enumerate(names) if name == wanted]
    if exact:
        return exact
    if "*" in wanted or "?" in wanted:
        # Brackets have no special meaning.
        pattern = wanted.replace("[", "[[]")
        return [place for place, name in enumerate(names) if fnmatchcase(name, pattern)]
    return [place for place, name in enumerate(names) if _is_entry(name, wanted)]


def _is_entry(name: str, vector: str) -> bool:
    if not name.startswith(vector):
        return False
    rest = name[len(vector) :]
    return (rest[:1] == "[" and rest[-1:] == "]") or (rest[:1] == "." and rest[1:2].isdigit())
