"""What to know before believing a result: the library's advice, which is data, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from . import _native
from ._numbers import counted, significant
from ._warnings import warn

#: A sentence for each kind of advice; rows without weight are what somebody has asked for.
_SENTENCES = {
    "uneven_weights": "the weights are so uneven that the rows are worth {effective_size} equal ones; check them",
    "directions_dropped": "{dropped} of the directions have no variance of their own and were left out",
    "scaled_by_sd": "{columns} no median absolute deviation, so unit sd is used there",
    "kernel_nearly_constant": "bandwidth {bandwidth} is too long: the kernel is nearly constant, rows look alike to it",
    "kernel_nearly_diagonal": "bandwidth {bandwidth} is too short: the kernel is nearly diagonal, it sees nothing near",
    "landmarks_too_few": (
        "{landmarks} {residual} of the mean embedding out, beside an MMD of {error}, so other rows may "
        "be better; give more landmarks, embedding='exact' or a longer bandwidth"
    ),
    "too_many_to_weigh": "{count} points are too many for unequal weights, of which {most} are found; they are equal",
    "not_weighed": "no unequal weights were found, so they are equal: {reason}",
    "scores_point_away": (
        "the scores of {which} point away from the rows, as the gradient of a potential does (over draws of a density "
        "the mean of (x - mean) * score is -1); is the sign right?"
    ),
    "scores_unrelated": (
        "the scores of {which} say next to nothing of where the rows are (the mean of (x - mean) * score, -1 over "
        "draws of a density, is near 0); are they the scores of these columns?"
    ),
    "weights_not_optimal": "the weights are the best that were met, and not quite the best there are",
}


def tell(advice: Sequence[Mapping[str, Any]], names: Sequence[str] | None = None) -> None:
    """Warns of each."""
    for piece in advice:
        sentence = _SENTENCES.get(piece["kind"])
        if sentence is not None:
            shown = {key: _shown(key, value, names) for key, value in piece.items()}
            warn(sentence.format(which=_which(piece.get("columns", ()), names), **shown))


def _which(columns: Sequence[int], names: Sequence[str] | None) -> str:
    named = ", ".join(str(j) if names is None else names[j] for j in columns)
    return f"column{'' if len(columns) == 1 else 's'} {named}"


def _shown(key: str, value: Any, names: Sequence[str] | None) -> str:
    if key == "columns":
        named = ", ".join(str(j) if names is None else names[j] for j in value)
        return f"column {named} has" if len(value) == 1 else f"columns {named} have"
    if key == "landmarks":
        return "1 landmark leaves" if value == 1 else f"{value:,} landmarks leave"
    if isinstance(value, float):
        return significant(value)
    return f"{value:,}" if isinstance(value, int) else str(value)


def missed(
    chosen: _native.Chosen,
    count: int,
    limit: int | None = None,
    tol: float | None = None,
    worth: float | None = None,
    columns: int = 0,
    error: str = "MMD",
) -> None:
    """Warns where an error was asked for and not reached, or more rows than there are."""
    goals = [f"{'an' if error == 'MMD' else 'a'} {error} of {tol}"] * (tol is not None) + [f"a worth of {worth}"] * (
        worth is not None
    )
    if chosen.missed:
        what = goals[0] + " was not" if len(goals) == 1 else f"neither {goals[0]} nor {goals[1]} was"
        warn(f"{what} reached with {count} points; allow more with n, or ask for less")
    elif chosen.ended == "exhausted" and not goals and limit is not None:
        transposed = f"; with {columns:,} columns, is it transposed?" if columns > count else ""
        warn(f"{limit:,} rows were asked for, but there are only {counted(count, 'row')} to choose from{transposed}")
