"""Numbers as people read them: those of the library, and a worth and columns of text made of them."""

from __future__ import annotations

from collections.abc import Sequence

from ._native import counted, ordinal, significant, with_error, with_spread

__all__ = ["aligned", "counted", "is_all", "ordinal", "significant", "with_error", "with_spread", "worth_shown"]

#: A worth of so many times the rows is rounding.
_ALL = 1e6


def is_all(worth: float, rows: int) -> bool:
    """Whether nothing but rounding tells a set of such a worth from all rows."""
    return worth > _ALL * rows


def worth_shown(worth: float, rows: int) -> str:
    """worth 1,240 draws of these 4,000 rows; worth 413 iid draws where there are no rows."""
    if not rows:
        return f"worth {significant(worth)} iid draws"
    if is_all(worth, rows):
        return f"as good as all {counted(rows, 'row')}"
    return f"worth {significant(worth)} draws of these {counted(rows, 'row')}"


def aligned(lines: Sequence[tuple[str, ...]]) -> str:
    """Columns of text, each as wide as its widest cell."""
    widths = [max(map(len, column)) for column in zip(*lines)]
    rows = ("   ".join(cell.ljust(width) for cell, width in zip(line, widths)) for line in lines)
    return "\n".join(row.rstrip() for row in rows)
