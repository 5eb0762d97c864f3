"""Warnings about doubtful results."""

from __future__ import annotations

from collections.abc import Sequence

from . import _native
from ._numbers import counted
from ._warnings import warn


def tell(advice: Sequence[_native.Advice], names: Sequence[str] | None = None) -> None:
    """Warns, except about consequences of the given options."""
    for piece in advice:
        if not piece.is_expected:
            warn(piece.sentence(names))


def missed(chosen: _native.Chosen, count: int, limit: int | None = None, columns: int = 0) -> None:
    """Warns if a goal was not reached, or if more rows were asked for than there are."""
    if chosen.missed is not None:
        warn(f"{chosen.missed} reached with {count} points; allow more with n, or relax the goal")
    elif chosen.ended == "exhausted" and limit is not None:
        transposed = f"; with {columns:,} columns, is it transposed?" if columns > count else ""
        warn(f"{limit:,} rows were asked for, but there are only {counted(count, 'row')} to choose from{transposed}")
