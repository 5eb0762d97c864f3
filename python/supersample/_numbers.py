"""Numbers as people read them: three significant digits, and commas between the thousands."""

from __future__ import annotations

import math
from collections.abc import Sequence

#: A worth of so many times the rows is rounding.
_ALL = 1e6


def significant(value: float) -> str:
    """Three significant digits: 0.00712, 3.98, 9,800; powers of ten where the zeros would be many."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    scientific = f"{value:.2e}"
    exponent = int(scientific.partition("e")[2])
    if not -4 <= exponent <= 8:
        return f"{scientific.partition('e')[0]}e{exponent}"
    return f"{float(scientific):,.{max(2 - exponent, 0)}f}"


def with_spread(mean: float, spread: float) -> str:
    """The mean to three significant digits, the spread to as many decimals: 0.0702 ± 0.0046."""
    shown = significant(mean)
    if "e" in shown or mean == 0 or not math.isfinite(mean):
        return f"{shown} ± {significant(spread)}"
    return f"{shown} ± {spread:,.{len(shown.partition('.')[2])}f}"


def with_error(value: float, error: float) -> str:
    """Three significant digits and the standard error to as many decimals, or to one digit: 0.00222 ± 1e-06."""
    shown = with_spread(value, error)
    number, _, spread = shown.partition(" ± ")
    return f"{number} ± {error:.0e}" if error > 0 and float(spread.replace(",", "")) == 0 else shown


def ordinal(number: int) -> str:
    """1st, 2nd, 3rd, 4th, …."""
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number:,}{'th' if number % 100 in (11, 12, 13) else ending}"


def counted(number: int, noun: str) -> str:
    """1 row, 4,000 rows."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


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
