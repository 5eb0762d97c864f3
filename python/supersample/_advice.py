"""What to know before believing a result, as warnings."""

from __future__ import annotations

from collections.abc import Sequence

from . import _native
from ._numbers import counted
from ._warnings import warn


def tell(advice: Sequence[_native.Advice], names: Sequence[str] | None = None) -> None:
    """Warns of each piece but those that follow from what was asked for."""
    for piece in advice:
        if not piece.is_expected:
            warn(piece.sentence(names))


def missed(
    chosen: _native.Chosen,
    count: int,
    limit: int | None = None,
    tol: float | None = None,
    equivalent_draws: float | None = None,
    columns: int = 0,
    error: str = "MMD",
) -> None:
    """Warns where an error was asked for and not reached, or more rows than there are."""
    goals = [f"{'an' if error == 'MMD' else 'a'} {error} of {tol}"] * (tol is not None) + [
        f"a goal of {equivalent_draws} equivalent draws"
    ] * (equivalent_draws is not None)
    if chosen.missed:
        what = goals[0] + " was not" if len(goals) == 1 else f"neither {goals[0]} nor {goals[1]} was"
        warn(f"{what} reached with {count} points; allow more with n, or ask for less")
    elif chosen.ended == "exhausted" and not goals and limit is not None:
        transposed = f"; with {columns:,} columns, is it transposed?" if columns > count else ""
        warn(f"{limit:,} rows were asked for, but there are only {counted(count, 'row')} to choose from{transposed}")
