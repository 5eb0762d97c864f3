"""Other rows that are matched in place of those to choose from."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from ._files import is_file
from ._functions import functions_table
from ._inputs import as_vector, expect_same_order
from ._numbers import counted
from ._rows import without_dropped
from ._tables import Roles, Table, as_table, matched


def _read(target: Any, weight: Any, roles: Roles) -> Table:
    """The rows that are matched, with their weights: numbers, or the name of a column."""
    name = weight if isinstance(weight, str) else None
    # Of a table they are left out when its columns are known.
    drop = roles.drop and is_file(target)
    other = as_table(target, "match", Roles(functions=roles.functions, sample_weight=name, drop=drop))
    if weight is None or name is not None:
        return other
    expect_same_order(target, weight, "match_weight", "match")
    if len(other.dropped):
        weight = without_dropped(other, weight, "match_weight")
    return replace(other, weights=as_vector(weight, "match_weight"), log_weights=None)


def with_target(
    x: Any, own: Table, target: Any, weight: Any, functions: Any, roles: Roles
) -> tuple[Table, dict[str, Any]]:
    """The rows to choose from with their functions, and the rows that are matched as the native module reads them."""
    other = _read(target, weight, roles)
    if functions is not None:
        own, other = _with_pair(own, other, functions)
        for rows, values, what in zip((x, target), functions, ("x", "match")):
            expect_same_order(rows, values, f"the functions of {what}", what)
    if own.names is None and other.names is None and own.values.shape[1] != other.values.shape[1]:
        columns = counted(other.values.shape[1], "column")
        raise ValueError(f"match has {columns}, but x has {own.values.shape[1]}; give the same columns")
    other = matched(other, own.names, "match")
    other = other.complete() if roles.drop else other
    _check(other)
    return own, {
        "match_rows": other.values,
        "match_weight": other.weights,
        "match_functions": None if other.functions is None else other.functions.values,
    }


def target_later(target: Any, weight: Any, functions: Any, roles: Roles, names: Callable[[], Any]) -> dict[str, Any]:
    """The rows that are matched where those to choose from come in batches, whose columns are known after a pass."""
    if functions is not None:
        raise ValueError("with match and rows in batches, functions are names of columns of both")
    other = _read(target, weight, roles)

    def in_order() -> dict[str, Any]:
        found = matched(other, names(), "match")
        found = found.complete() if roles.drop else found
        _check(found)
        return {
            "match_rows": found.values,
            "match_weight": found.weights,
            "match_functions": None if found.functions is None else found.functions.values,
        }

    return {"match_later": in_order, "match_size": other.values.shape}


def summary_of(summary: Any, table: Table) -> tuple[bool, str, list[str]]:
    """Published numbers for the native module: whether it is a path, the text, and the names of the columns."""
    names = [str(column) for column in range(table.values.shape[1])] if table.names is None else list(table.names)
    if isinstance(summary, (str, os.PathLike)):
        return True, os.fspath(summary), names
    if not isinstance(summary, Mapping):
        raise TypeError(f"match_summary is a {type(summary).__name__}; give the path of a TOML file, or a dict")
    try:
        return False, json.dumps(summary, default=_number, allow_nan=False), names
    except ValueError:
        raise ValueError("match_summary has NaN or an infinite number; leave it out") from None
    except TypeError as error:
        raise TypeError(f"match_summary: {error}") from None


@contextmanager
def of_summary(summary: Any) -> Iterator[None]:
    """Leaves out of an error about a dict the place in the text that it became."""
    try:
        yield
    except ValueError as error:
        if isinstance(summary, Mapping) and str(error).startswith("line 1, column "):
            raise ValueError(f"match_summary: {str(error).partition(': ')[2]}") from None
        raise


def _number(value: Any) -> float:
    # NumPy's numbers are not those of JSON.
    if isinstance(value, (np.number, np.ndarray)) and np.ndim(value) == 0:
        return float(value)
    raise TypeError(f"{value!r} is a {type(value).__name__}; give numbers in tables")


def _with_pair(own: Table, other: Table, functions: Any) -> tuple[Table, Table]:
    if not isinstance(functions, (list, tuple)) or len(functions) != 2:
        raise ValueError("with match, functions are names of columns of both, or a pair: those of x and those of match")
    tables = [functions_table(part) for part in functions]
    for rows, values, what in ((own, tables[0], "x"), (other, tables[1], "match")):
        if len(rows.values) != len(values.values):
            raise ValueError(
                f"the functions of {what} have {counted(len(values.values), 'row')}, but {what} has "
                f"{counted(len(rows.values), 'row')}; give one for each row, in the same order"
            )
    return replace(own, functions=tables[0]), replace(other, functions=tables[1])


def _check(other: Table) -> None:
    bad = ~np.isfinite(other.values)
    if bad.any():
        row, column = (int(place) for place in np.argwhere(bad)[0])
        name = str(column) if other.names is None else f"'{other.names[column]}'"
        raise ValueError(f"match: row {row}, column {name} is {other.values[row, column]}; drop or impute it first")
    if len(other.values) == 0:
        raise ValueError("match has no rows; give the rows that are to be matched")
    if other.weights is None:
        return
    if len(other.weights) != len(other.values):
        given, rows = len(other.weights), counted(len(other.values), "row")
        raise ValueError(f"match_weight has {counted(given, 'number')}, but match has {rows}; give one for each row")
    wrong = ~(np.isfinite(other.weights) & (other.weights >= 0))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(f"match_weight is {other.weights[row]} in row {row}; weights must be finite and not negative")
    if not other.weights.any():
        raise ValueError("match_weight is 0 in every row; at least one must be positive")
