"""Functions of the rows, whose means are matched in addition to the joint distribution."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ._inputs import as_array, expect_same_order
from ._numbers import counted
from ._tables import Table, as_table


def refuse_without_functions(given: Mapping[str, Any]) -> None:
    """Refuses options that have no effect without functions."""
    for what, default in (("functions_weight", None), ("functions_unit", "each")):
        if given.get("functions") is None and given.get(what, default) != default:
            raise ValueError(f"{what} has no effect without functions; leave it out, or give functions")


def with_functions(table: Table, functions: Any, x: Any = None) -> Table:
    """The rows with these functions as numbers, one row for each row; unchanged where there are none."""
    if functions is None:
        return table
    expect_same_order(x, functions, "functions")
    given = functions_table(functions)
    if len(given.values) != len(table.values):
        raise ValueError(
            f"functions has {counted(len(given.values), 'row')}, but x has {counted(len(table.values), 'row')}; give "
            "one for each row, in the same order"
        )
    return replace(table, functions=given)


def objective_of(matched: tuple[float, float, float | None], unit: str | None) -> str:
    """The objective in words: joint MMD + 0.1 × marginals + 0.08 × moments."""
    marginals, moments, functions = matched
    parts = ["joint MMD"] + [f"{marginals:g} × marginals"] * (marginals > 0) + [f"{moments:g} × moments"] * (moments > 0)
    if functions is not None:
        parts.append(f"{functions:g} × functions" + " in a common unit" * (unit == "common"))
    return " + ".join(parts)


def functions_table(functions: Any) -> Table:
    """Functions as numbers, one row for each row; a vector is one function."""
    is_series = hasattr(functions, "to_frame") and hasattr(functions, "dtype")
    has_names = isinstance(functions, Table) or hasattr(functions, "columns") or hasattr(functions, "keys")
    if is_series or not has_names:
        array = as_array(functions, "functions")
        functions = array.reshape(-1, 1) if array.ndim == 1 else array
    table = as_table(functions, "functions")
    if table.values.shape[1] == 0:
        raise ValueError("functions has no columns; give at least one function, or leave functions out")
    return table


def check_finite(functions: Table) -> None:
    """Refuses functions that are not finite numbers in every row."""
    bad = ~np.isfinite(functions.values)
    if bad.any():
        row, column = (int(place) for place in np.argwhere(bad)[0])
        function = str(column) if functions.names is None else f"'{functions.names[column]}'"
        raise ValueError(
            f"functions: row {row}, function {function} is "
            f"{functions.values[row, column]}; every function needs a finite number in every row; drop the row or "
            "the function"
        )
