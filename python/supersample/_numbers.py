"""Numbers and tables as text. Formats come from the library."""

from __future__ import annotations

from collections.abc import Sequence

from ._native import counted, ordinal, significant, with_error, with_spread

__all__ = ["aligned", "counted", "equivalent_shown", "is_all", "ordinal", "significant", "with_error", "with_spread"]

#: More equivalent draws than this factor times the rows is rounding error.
_ALL = 1e6


def is_all(draws: float, rows: int) -> bool:
    """Whether the error of a set with this number of equivalent draws is only rounding."""
    return draws > _ALL * rows


def equivalent_shown(draws: float, rows: int) -> str:
    """equivalent to 1,240 draws of these 4,000 rows; equivalent to 413 iid draws where there are no rows."""
    if not rows:
        return f"equivalent to {significant(draws)} iid draws"
    if is_all(draws, rows):
        return f"as good as all {counted(rows, 'row')}"
    return f"equivalent to {significant(draws)} draws of these {counted(rows, 'row')}"


def aligned(lines: Sequence[tuple[str, ...]]) -> str:
    """Columns of text, each as wide as its widest cell."""
    widths = [max(map(len, column)) for column in zip(*lines)]
    rows = ("   ".join(cell.ljust(width) for cell, width in zip(line, widths)) for line in lines)
    return "\n".join(row.rstrip() for row in rows)
