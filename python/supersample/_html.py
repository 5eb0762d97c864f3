"""The notebook view of a result: a small table and a plot of the error, without scripts."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from ._numbers import counted, equivalent_shown, significant

if TYPE_CHECKING:
    from ._evaluate import Evaluation
    from ._result import Result

_WIDTH, _HEIGHT = 180, 54
_CELL = "padding:2px 14px 2px 0;text-align:left"


def result_view(result: Result) -> str:
    """HTML that takes its colours from the page, so that it can be read on light and dark."""
    lines = [(result._error_name(), result._mmd_shown())]
    if result.equivalent_draws is not None:
        rows = 0 if result._is_stein() else result.n_rows
        lines.append(("equivalent to", equivalent_shown(result.equivalent_draws, rows).removeprefix("equivalent to ")))
    if result.posterior_draws is not None:
        lines.append(("of the posterior", significant(result.posterior_draws)))
    if result.draws is not None:
        lines.append(("draws", str(result.draws)))
    lines += [(name, significant(error)) for name, error in result._others()]
    if not result._is_of_joint_alone():
        lines.append(("objective", result.objective))
    if result.refinement is not None:
        lines.append(("stages", str(result.refinement)))
    lines.append(("kernel", result._how().replace(" kernel", "", 1)))
    if result.names is not None:
        shown = ", ".join(result.names[:4]) + (", …" if len(result.names) > 4 else "")
        lines.append(("columns", shown))
    if result.unused:
        lines.append(("not used", ", ".join(result.unused)))
    if result._of_scores:
        lines.append(("scores", result._of_scores))
    lines.extend(("note", caution) for caution in result._cautions)
    table = "".join(
        f'<tr><th style="{_CELL};font-weight:normal;opacity:.65">{escape(name)}</th>'
        f'<td style="{_CELL}">{escape(value)}</td></tr>'
        for name, value in lines
    )
    return (
        '<div style="display:flex;flex-wrap:wrap;gap:24px;align-items:center">'
        f'<div><div style="font-weight:600;margin-bottom:2px">{escape(result._what())}</div>'
        f'<table style="border-collapse:collapse;border:0">{table}</table></div>'
        f"{_trace(result)}</div>"
    )


def evaluation_view(found: Evaluation) -> str:
    """The table of an evaluation, and its last line."""
    header = found._header("equivalent draws")
    rows = "".join(
        "<tr>" + "".join(f'<td style="{_CELL}">{escape(cell)}</td>' for cell in line) + "</tr>"
        for line in (header, *found._lines())
    )
    note = f"equivalent draws: of these {counted(found.n_rows, 'row')}; {found._worst()}"
    return (
        f'<table style="border-collapse:collapse;border:0">{rows}</table>'
        f'<div style="font-size:85%;opacity:.65">{escape(note)}</div>'
    )


def _trace(result: Result) -> str:
    """log E_T over log T as a small picture; empty where there is too little to draw."""
    error = result.error
    t = np.arange(1, len(error) + 1)
    known = error > 0
    if known.sum() < 3:
        return ""
    x, y = np.log(t[known]), np.log(error[known])
    if len(x) > 200:
        keep = np.unique(np.searchsorted(x, np.linspace(x[0], x[-1], 200)).clip(max=len(x) - 1))
        x, y = x[keep], y[keep]
    right, down = np.ptp(x) or 1.0, np.ptp(y) or 1.0
    across = 4 + (x - x[0]) / right * (_WIDTH - 8)
    height = 4 + (y.max() - y) / down * (_HEIGHT - 8)
    line = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(across, height))
    what = f"{result._error_name()} of the first T points"
    return (
        f'<div style="max-width:{_WIDTH + 20}px">'
        f'<svg width="{_WIDTH}" height="{_HEIGHT}" role="img" aria-label="{what}">'
        f'<polyline points="{line}" fill="none" stroke="#c2410c" stroke-width="1.5"/></svg>'
        f'<div style="font-size:85%;opacity:.65">{what}, from {significant(float(error[0]))} '
        f"to {significant(float(error[-1]))} (both axes logarithmic)</div></div>"
    )
