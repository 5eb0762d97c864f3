"""The picture of the first page: draws, as many of them at random, and as many chosen.

    python docs/figures/one_picture.py            writes one_picture.svg beside this file
    python docs/figures/one_picture.py OUT.svg    writes it elsewhere

Needs the package and NumPy. Colours are neither of a light page nor of a dark one, and nothing is drawn behind them.
"""

import sys
from pathlib import Path

import numpy as np
import supersample as ss

COUNT, FEW = 2000, 20
SIDE, GAP, HEAD, FOOT = 300, 24, 36, 32
INK, CLOUD, RANDOM, CHOSEN = "#808a94", "#8fa3b5", "#3f87d9", "#e4572e"


def bent_draws() -> np.ndarray:
    """A ridge that bends, and a small mode beside it."""
    rng = np.random.default_rng(7)
    x = rng.normal(size=COUNT)
    y = 0.6 * x**2 + 0.45 * rng.normal(size=COUNT)
    draws = np.column_stack([x, y])
    aside = rng.random(COUNT) < 0.15
    draws[aside] = [1.7, -0.9] + 0.3 * rng.normal(size=(int(aside.sum()), 2))
    return draws


def to_panel(draws: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Places in a square panel, y upwards; the farthest draws may lie outside of it."""
    low, high = np.quantile(draws, [0.002, 0.998], axis=0)
    inside = (points - low) / (high - low)
    return np.column_stack([inside[:, 0], 1 - inside[:, 1]]) * (SIDE - 24) + 12


def picture() -> str:
    """The whole figure as SVG."""
    draws = bent_draws()
    # Shorter than the median distance, so that the kernel sees the bend.
    kernel = {"bandwidth": 0.5}
    chosen = ss.thin(draws, FEW, **kernel)
    at_random = np.random.default_rng(3).choice(COUNT, FEW, replace=False)
    random_mmd = ss.mmd(draws, draws[at_random], **kernel)
    if not chosen.mmd < random_mmd:
        raise SystemExit("the chosen rows are no better than random ones; the picture would say something false")

    cloud = "".join(f"M{x:.1f} {y:.1f}h0" for x, y in to_panel(draws, draws))
    panels = [
        (f"{COUNT:,} draws", f"Gaussian kernel, bandwidth {kernel['bandwidth']}", np.empty((0, 2)), INK),
        (f"{FEW} at random", f"MMD {random_mmd:.2g}", draws[at_random], RANDOM),
        (
            f"{FEW} chosen",
            f"MMD {chosen.mmd:.2g}: like {chosen.equivalent_draws:,.0f} draws",
            chosen.points,
            CHOSEN,
        ),
    ]
    width, height = 3 * SIDE + 2 * GAP, HEAD + SIDE + FOOT
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f"font-family=\"system-ui, 'Segoe UI', Helvetica, Arial, 'DejaVu Sans', sans-serif\">",
        "<title>Draws, twenty of them at random, and the twenty that are chosen</title>",
        f'<defs><clipPath id="panel"><rect width="{SIDE}" height="{SIDE}" rx="8"/></clipPath>'
        f'<path id="cloud" d="{cloud}" stroke="{CLOUD}" stroke-width="3" stroke-linecap="round" fill="none"/></defs>',
    ]
    for place, (title, note, points, colour) in enumerate(panels):
        dots = "".join(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="6.5" fill="{colour}" stroke="#fff" stroke-width="1.5"/>'
            for x, y in to_panel(draws, points)
        )
        opacity = 0.75 if place == 0 else 0.33
        parts.append(
            f'<g transform="translate({place * (SIDE + GAP)} 0)">'
            f'<text x="{SIDE / 2}" y="23" font-size="21" font-weight="600" fill="{colour}" '
            f'text-anchor="middle">{title}</text>'
            f'<g transform="translate(0 {HEAD})"><rect x=".5" y=".5" width="{SIDE - 1}" height="{SIDE - 1}" rx="8" '
            f'fill="none" stroke="{INK}" stroke-opacity=".35"/><g clip-path="url(#panel)">'
            f'<use href="#cloud" opacity="{opacity}"/>{dots}</g></g>'
            f'<text x="{SIDE / 2}" y="{HEAD + SIDE + 23}" font-size="16.5" fill="{INK}" '
            f'text-anchor="middle">{note}</text></g>'
        )
    return "\n".join([*parts, "</svg>", ""])


if __name__ == "__main__":
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_suffix(".svg")
    out.write_text(picture(), encoding="utf-8")
