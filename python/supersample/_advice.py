"""Warnings about doubtful results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from . import _native
from ._numbers import counted
from ._warnings import warn

if TYPE_CHECKING:
    from ._result import Result


def tell(advice: Sequence[_native.Advice], names: Sequence[str] | None = None) -> None:
    """Warns, except about consequences of the given options."""
    for piece in advice:
        if not piece.is_expected:
            warn(piece.sentence(names))


def spare_columns(values: NDArray[np.float64]) -> int:
    """The number of columns that are linear combinations of the others."""
    some = values[:: -(-len(values) // 1000)]
    varying = some[:, some.std(axis=0) > 0]
    if not 1 < varying.shape[1] < len(some) // 2 or not np.all(np.isfinite(varying)):
        return 0
    alike = (varying - varying.mean(axis=0)) / varying.std(axis=0) / np.sqrt(len(some))
    # Columns that differ only by rounding to a few digits count as the same.
    return int(varying.shape[1] - np.linalg.matrix_rank(alike, 1e-4))


def missed(chosen: _native.Chosen, result: Result, limit: int | None = None) -> None:
    """Warns if a goal was not reached, or if more rows were asked for than there are."""
    count, columns = result.points.shape
    if chosen.missed is not None:
        warn(f"{chosen.missed} reached with {count} points; allow more with n, or relax the goal")
    elif chosen.ended == "exhausted" and limit is not None:
        transposed = f"; with {columns:,} columns, is it transposed?" if columns > result.n_rows else ""
        of = " of positive weight" * result.weighted
        there = "there is" if count == 1 else "there are"
        rows = f"{counted(count, 'row')}{of}"
        warn(f"{limit:,} rows were asked for, but {there} only {rows} to choose from{transposed}")
