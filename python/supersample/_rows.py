"""Rows in memory, with everything that belongs to them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._functions import check_finite, with_functions
from ._inputs import as_array, expect_same_order
from ._scores import as_scores
from ._tables import Roles, Table, as_chains, as_table, weighted


def all_rows(
    x: Any,
    roles: Roles,
    *,
    sample_weight: Any = None,
    log_weight: Any = None,
    functions: Any = None,
    chains: Any = None,
    groups: Any = None,
    scores: Any = None,
) -> Table:
    """The rows with their weights, functions, chains, groups and scores. Rows with NaN are left out if `roles` says
    so."""
    table = as_table(x, "x", roles)
    if len(table.dropped):
        # A file, whose reader has left rows out: what is given for all its rows loses them too.
        if chains is not None:
            chains = _labels(as_chains(chains, table.rows), table.rows)
        given = {"sample_weight": sample_weight, "log_weight": log_weight, "functions": functions}
        given |= {"chains": chains, "groups": groups, "scores": scores}
        sample_weight, log_weight, functions, chains, groups, scores = (
            without_dropped(table, values, name) for name, values in given.items()
        )
    table = weighted(table, sample_weight, log_weight, x)
    table = with_functions(table, functions, x)
    if scores is not None:
        table = replace(table, scores=as_scores(x, table, scores).values)
    if chains is not None:
        expect_same_order(x, chains, "chains")
        found = as_chains(chains, len(table.values))
        table = replace(table, chains=_labels(found, len(table.values)) if roles.drop else found)
    if groups is not None:
        expect_same_order(x, groups, "groups")
        table = replace(table, groups=_groups(groups, len(table.values)))
    table = finished(table, roles.drop)
    if len(table.dropped) and not len(table.values):
        raise ValueError("every row has NaN in a column that is used; name the columns to use with columns=[…]")
    return table


def without_dropped(table: Table, values: Any, what: str) -> Any:
    """The values of the rows that were not left out; unchanged where they are not those of all rows."""
    given = None if values is None else as_array(values, what)
    if given is None or not given.ndim or len(given) != table.rows:
        return values
    return np.delete(given, table.dropped, axis=0)


def finished(table: Table, drop: bool) -> Table:
    """The rows, after those with NaN are left out and functions and groups are checked."""
    if drop:
        table = table.complete()
    if table.functions is not None:
        check_finite(table.functions)
    return table


def _labels(chains: Any, rows: int) -> Any:
    """A label for each row, so that rows can be left out; unchanged where the numbers do not fit."""
    lengths = [rows // chains] * chains if isinstance(chains, int) else chains
    if isinstance(lengths, list):
        return np.repeat(np.arange(len(lengths)), lengths) if sum(lengths) == rows else chains
    return chains


def _groups(groups: Any, rows: int) -> NDArray[Any]:
    labels = as_array(groups, "groups")
    if labels.ndim != 1:
        raise ValueError(f"groups has shape {labels.shape}; give one label for each row")
    if len(labels) != rows:
        raise ValueError(f"groups has {len(labels):,} labels, but there are {rows:,} rows; give one for each row")
    return labels
