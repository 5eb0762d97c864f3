"""The pictures and the printed numbers of the examples, made by the code on their pages.

    python docs/gallery/figures.py             all five pages, in about a minute
    python docs/gallery/figures.py nested      one of them

Runs the blocks of Python of a page, writes what they print into the page, and draws NAME.svg and, for the overview,
NAME_small.svg. Needs the package with NumPy, matplotlib, pandas, scikit-learn and pyarrow. Colours are readable on
light and on dark pages.
"""

import contextlib
import io
import pathlib
import re
import sys
from collections.abc import Callable, Iterable
from typing import Any

import matplotlib as mpl
import numpy as np
import supersample as ss
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path

HERE = pathlib.Path(__file__).parent
#: A block of Python, or the text that the block before it prints.
BLOCK = re.compile(r"^```(python|text)\n(.*?)^```", re.MULTILINE | re.DOTALL)
INK, CLOUD, RANDOM, CHOSEN, OTHER = "#7d8791", "#8fa3b5", "#3f87d9", "#e4572e", "#8d6cc9"
STYLE = {
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.8,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "savefig.transparent": True,
    "svg.fonttype": "none",
    "svg.hashsalt": "gallery",
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}
#: A line along x, as `cloud` has one for each dot.
DOT = re.compile(r"M ([\d.]+) ([\d.]+)\s*\nL ([\d.]+) \2\s*\n")
#: What replaces the font that widths are measured by.
FONTS = "system-ui, 'Segoe UI', Helvetica, Arial, 'DejaVu Sans', sans-serif"

Names = dict[str, Any]


def run(page: str, smaller: Iterable[tuple[str, str]] = ()) -> tuple[Names, str, str]:
    """The names that the blocks of a page leave, the page, and the page with what they print in its text blocks.

    `smaller` are replacements, of numbers of rows for example, that are made in the page first.
    """
    text = (HERE / f"{page}.md").read_text(encoding="utf-8")
    for old, new in smaller:
        assert old in text, f"{page}.md has no {old}"
        text = text.replace(old, new)
    names: Names = {"__name__": page}
    said, printed, place = "", [], 0
    for block in BLOCK.finditer(text):
        if block[1] == "python":
            out = io.StringIO()
            # As many empty lines as there are above it, so that a traceback names the line of the page.
            above = "\n" * text[: block.start(2)].count("\n")
            with contextlib.redirect_stdout(out):
                exec(compile(above + block[2], str(HERE / f"{page}.md"), "exec"), names)
            said = out.getvalue()
        else:
            printed += [text[place : block.start(2)], said]
            place = block.end(2)
    return names, text, "".join([*printed, text[place:]])


def bare(axes: Axes) -> None:
    """A panel with a thin frame and no numbers."""
    axes.set(xticks=[], yticks=[])
    for spine in axes.spines.values():
        spine.set(visible=True, alpha=0.35)


def cloud(axes: Axes, points: np.ndarray, colour: str, size: float, alpha: float = 1, above: float = 1) -> None:
    """Points as one path of dots, which is short in a file; `size` is their diameter."""
    ends = np.stack([points, points + np.array([1e-3, 0])], axis=1).reshape(-1, 2)
    dots = Path(ends, np.tile([Path.MOVETO, Path.LINETO], len(points)))
    look = {"edgecolor": colour, "alpha": alpha, "linewidth": size, "capstyle": "round", "zorder": above}
    axes.add_patch(PathPatch(dots, fill=False, **look))


def dots(axes: Axes, points: np.ndarray, colour: str, size: float) -> None:
    """Chosen or random points with a thin white edge, above everything else."""
    if len(points):
        cloud(axes, points[:, :2], "white", size + 0.9, above=3)
        cloud(axes, points[:, :2], colour, size, above=4)


def forecasts(axes: Axes, names: Names, sets: list[np.ndarray], colour: str) -> None:
    """The band and the mean of all draws, and those of each set of rows."""
    curves, days = names["everything"], np.arange(1, 31)
    low, high = np.quantile(curves, [0.05, 0.95], axis=0)
    axes.fill_between(days, low, high, color=CLOUD, alpha=0.35, linewidth=0)
    axes.plot(days, curves.mean(axis=0), color=INK, linewidth=2.5)
    for rows in sets:
        for line in np.quantile(curves[rows], [0.05, 0.95], axis=0, method="hazen"):
            axes.plot(days, line, color=colour, linewidth=1, linestyle=(0, (3, 1.5)))
        axes.plot(days, curves[rows].mean(axis=0), color=colour, linewidth=1.3)
    axes.set(xlim=(1, 30), ylim=(0, None))


def posterior(names: Names) -> Figure:
    """Forecasts by three random sets, and by the chosen draws."""
    figure = Figure(figsize=(7.4, 3), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    forecasts(left, names, names["at_random"][:3], RANDOM)
    forecasts(right, names, [names["chosen"].indices], CHOSEN)
    left.set_title("25 at random, three times", color=RANDOM)
    right.set_title("25 chosen", color=CHOSEN)
    left.set(xlabel="day", ylabel="people in bed")
    right.set(xlabel="day")
    right.text(29.5, 0.86 * left.get_ylim()[1], "grey: all 4,000 draws\nlines: mean, 5 % and 95 %", ha="right")
    return figure


def posterior_small(axes: Axes, names: Names) -> None:
    """The chosen draws alone."""
    forecasts(axes, names, [names["chosen"].indices], CHOSEN)


def rings(axes: Axes, names: Names, rows: np.ndarray, colour: str, strength: float = 0.5) -> None:
    """Every third point of the run, in three sizes by weight, and some of them."""
    points, share = names["points"][::3], names["weight"][::3] / names["weight"].max()
    for low, high, size in [(0.001, 0.1, 0.7), (0.1, 0.5, 1.4), (0.5, 1.1, 2.4)]:
        cloud(axes, points[(low < share) & (share <= high)], CLOUD, size, strength)
    dots(axes, names["points"][rows], colour, 2.7)
    axes.set(xlim=(-6.2, 6.2), ylim=(-2.8, 2.8), aspect="equal")
    bare(axes)


def nested(names: Names) -> Figure:
    """The run, a set drawn by weight, and the chosen set."""
    figure = Figure(figsize=(7.4, 1.75), layout="constrained")
    panels = figure.subplots(1, 3)
    rings(panels[0], names, np.array([], int), INK, 0.9)
    rings(panels[1], names, names["independent"][0], RANDOM)
    rings(panels[2], names, names["chosen"].indices, CHOSEN)
    panels[0].set_title(f"{len(names['points']):,} weighted points", color=INK)
    panels[1].set_title("100 drawn by weight", color=RANDOM)
    panels[2].set_title("100 chosen", color=CHOSEN)
    return figure


def nested_small(axes: Axes, names: Names) -> None:
    """The chosen set."""
    rings(axes, names, names["chosen"].indices, CHOSEN)


def mosaic(axes: Axes, names: Names, columns: int) -> None:
    """The chosen images by digit, in the ink of the figure on nothing."""
    rows = names["to_label"]
    rows = rows[np.argsort(names["pool_digit"][rows], kind="stable")]
    tiles = np.pad(names["pool"][rows].reshape(-1, 8, 8), ((0, 0), (1, 1), (1, 1)))
    sheet = tiles.reshape(-1, columns, 10, 10).swapaxes(1, 2).reshape(-1, 10 * columns)
    picture = np.empty((*sheet.shape, 4))
    picture[..., :3] = mpl.colors.to_rgb(CHOSEN)
    picture[..., 3] = sheet
    axes.imshow(picture, interpolation="none")
    axes.axis("off")


def spread(axes: Axes, values: np.ndarray, place: float, colour: str) -> None:
    """A dot for each value on one line, and a diamond for their mean."""
    axes.scatter(values, np.full(len(values), place), s=9, color=colour, alpha=0.4, linewidth=0)
    axes.scatter(values.mean(), place, s=46, color=colour, marker="D", edgecolor="white", linewidth=0.7, zorder=3)


def digits(names: Names) -> Figure:
    """The chosen images, and how well each way does."""
    figure = Figure(figsize=(7.4, 2.5), layout="constrained")
    figure.get_layout_engine().set(wspace=0.06)
    left, middle, right = figure.subplots(1, 3, width_ratios=[1.7, 1, 1])
    mosaic(left, names, 10)
    left.set_title("50 chosen images, by digit", color=CHOSEN)
    ways = [("at_random", "random", RANDOM), ("thinned", "ss.thin", CHOSEN), ("medoids", "medoids", OTHER)]
    values = {name: np.array(names["results"][name]) for name, _, _ in ways}
    for axes, column, title in [
        (middle, 0, "accuracy,\nnearest neighbour"),
        (right, 2, "error of class shares,\npercentage points"),
    ]:
        for place, (name, label, colour) in enumerate(ways):
            spread(axes, values[name][:, column], place, colour)
            if axes is middle:
                axes.text(
                    -0.05, place, label, color=colour, ha="right", va="center", transform=axes.get_yaxis_transform()
                )
        axes.set_title(title, fontweight="normal", fontsize=9)
        axes.set(ylim=(2.5, -0.5), yticks=[])
        axes.spines.left.set_visible(False)
    middle.set(xticks=[0.8, 0.85, 0.9, 0.95])
    right.set(xticks=[0, 2, 4, 6], xlim=(0, None))
    return figure


def digits_small(axes: Axes, names: Names) -> None:
    """The chosen images."""
    mosaic(axes, names, 10)


def distances(axes: Axes, names: Names) -> None:
    """The distance from the whole ensemble against the number of members, means over the splits of the page."""
    rng, sizes = np.random.default_rng(0), [5, 7, 10, 14, 20, 28, 40, 50]
    options = {"kernel": "linear", "scale": "none", "marginals": 0}
    bands, at_random, chosen = [], [], []
    for on_validation, on_new, _ in names["splits"]:
        gap = lambda rows, new=on_new: np.sqrt(np.mean((new[rows].mean(axis=0) - new.mean(axis=0)) ** 2))
        gaps = [[gap(rng.choice(200, size, replace=False)) for _ in range(100)] for size in sizes]
        bands.append(np.quantile(gaps, [0.05, 0.95], axis=1))
        at_random.append(np.mean(gaps, axis=1))
        chosen.append([gap(ss.thin(on_validation, size, **options).indices) for size in sizes])
    axes.fill_between(sizes, *np.mean(bands, axis=0), color=RANDOM, alpha=0.22, linewidth=0)
    axes.plot(sizes, np.mean(at_random, axis=0), color=RANDOM, linewidth=1.6, marker="o", markersize=4)
    axes.plot(sizes, np.mean(chosen, axis=0), color=CHOSEN, linewidth=1.6, marker="D", markersize=4)
    axes.set(xlim=(4, 51), ylim=(0, None))


def ensemble(names: Names) -> Figure:
    """One panel, with its two lines named."""
    figure = Figure(figsize=(5.6, 2.9), layout="constrained")
    axes = figure.subplots()
    distances(axes, names)
    axes.set(xlabel="members kept", ylabel="distance from all 200,\non new rows")
    axes.text(0.42, 0.62, "random members\n(mean, and 90 % of the sets)", color=RANDOM, transform=axes.transAxes)
    axes.text(0.12, 0.12, "chosen members", color=CHOSEN, transform=axes.transAxes)
    return figure


def ensemble_small(axes: Axes, names: Names) -> None:
    """The same lines."""
    distances(axes, names)


def sky(axes: Axes, names: Names, points: np.ndarray, colour: str, strength: float) -> None:
    """The density of all stars, brighter ones higher, and some of them."""
    bounds = (-0.6, 2.6, 15.5, -5.0)
    counts, _, _ = np.histogram2d(*names["everything"].T[:2], bins=90, range=[bounds[:2], bounds[:1:-1]])
    shade = np.log1p(counts.T * 1e6 / names["rows"])
    picture = np.empty((*shade.shape, 4))
    picture[..., :3] = mpl.colors.to_rgb(CLOUD)
    picture[..., 3] = strength * shade / shade.max()
    axes.imshow(picture, extent=bounds[:2] + bounds[2:], aspect="auto", interpolation="none", origin="upper")
    dots(axes, points, colour, 2.8)
    axes.set(xlim=bounds[:2], ylim=bounds[2:])


def parquet(names: Names) -> Figure:
    """All stars, the chosen ones, and the errors of random and chosen ones."""
    figure = Figure(figsize=(7.4, 2.8), layout="constrained")
    left, middle, right = figure.subplots(1, 3, width_ratios=[1, 1, 1.1])
    sky(left, names, np.empty((0, 2)), INK, 1)
    sky(middle, names, names["chosen"].points, CHOSEN, 0.5)
    left.set_title(f"{names['rows']:,} stars", color=INK)
    middle.set_title("200 chosen", color=CHOSEN)
    left.set(xlabel="colour", ylabel="magnitude (bright is up)")
    middle.set(xlabel="colour", yticklabels=[])
    errors, chosen = names["errors"], names["errors"](names["chosen"].points)
    at_random = np.array([errors(x) for x in names["sets"]])
    for place, label in enumerate(("mean", "sd", "quantiles")):
        spread(right, at_random[:, place], place, RANDOM)
        spread(right, np.array([chosen[place]]), place, CHOSEN)
        right.text(1.02, place, label, va="center", transform=right.get_yaxis_transform())
    right.set(xscale="log", xlim=(8e-4, 0.3), ylim=(2.5, -0.75), yticks=[], xlabel="error, in standard deviations")
    right.set_xticks([0.001, 0.01, 0.1], ["0.001", "0.01", "0.1"])
    right.minorticks_off()
    right.text(at_random[:, 0].mean(), -0.3, "random", color=RANDOM, ha="center")
    right.text(chosen[0], -0.3, "chosen", color=CHOSEN, ha="center")
    right.spines.left.set_visible(False)
    return figure


def parquet_small(axes: Axes, names: Names) -> None:
    """The chosen stars."""
    sky(axes, names, names["chosen"].points, CHOSEN, 0.5)


PAGES: dict[str, tuple[Callable[[Names], Figure], Callable[[Axes, Names], None]]] = {
    "posterior": (posterior, posterior_small),
    "nested": (nested, nested_small),
    "digits": (digits, digits_small),
    "ensemble": (ensemble, ensemble_small),
    "parquet": (parquet, parquet_small),
}


def draw(page: str, names: Names, folder: pathlib.Path) -> None:
    """Writes both pictures of a page."""
    picture, small = PAGES[page]
    with mpl.rc_context(STYLE):
        thumbnail = Figure(figsize=(2.6, 1.5))
        axes = thumbnail.add_axes((0.01, 0.01, 0.98, 0.98))
        small(axes, names)
        if axes.axison:
            bare(axes)
        for figure, name in [(picture(names), page), (thumbnail, f"{page}_small")]:
            out = io.StringIO()
            figure.savefig(out, format="svg", metadata={"Date": None})
            (folder / f"{name}.svg").write_text(tidy(out.getvalue()), encoding="utf-8")


def tidy(svg: str) -> str:
    """The same picture in fewer bytes: two decimals, dots as lines of no length, fonts of the reader's system."""
    svg = re.sub(r"\d+\.\d{4,}", lambda number: f"{float(number[0]):.2f}".rstrip("0").rstrip("."), svg)
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = DOT.sub(
        lambda line: f"M{line[1]} {line[2]}h0\n" if abs(float(line[3]) - float(line[1])) < 0.1 else line[0], svg
    )
    svg = svg.replace("'DejaVu Sans'", FONTS)
    return re.sub(r"[ \t]*\n\s*", "\n", svg)


if __name__ == "__main__":
    for page in sys.argv[1:] or PAGES:
        names, _, text = run(page)
        (HERE / f"{page}.md").write_text(text, encoding="utf-8")
        draw(page, names, HERE)
