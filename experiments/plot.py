"""Draws the paper's figures from the numbers that the experiments leave.

    python experiments/plot.py out                  figN.svg beside each out/figN.csv
    python experiments/plot.py out docs/figures     into another folder
    python experiments/plot.py out docs/figures --write-docs     and the tables of figure 7 into docs/paper.md

Needs NumPy and matplotlib (both in python/tests/requirements.txt).
"""

import csv
import sys
from pathlib import Path
from types import SimpleNamespace

import matplotlib
import numpy as np

matplotlib.use("svg")
matplotlib.rcParams.update({"svg.hashsalt": "supersample", "axes.grid": True, "grid.color": "#d8dee4", "font.size": 9})
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.ticker import LogLocator  # noqa: E402

BLUE, ORANGE, GREEN, PURPLE = "#1f5fa8", "#d9702b", "#2f8f5b", "#7b4fa3"
RED, GREY, CYAN, DARK = "#c43c39", "#7d8590", "#4fb3c8", "#1b1f24"
FUNCTIONS = {"moment1": "first moment", "moment2": "second moment", "moment3": "third moment", "sine": "sin |x|"}


def read(path: Path) -> SimpleNamespace:
    """The columns of a table by name; an empty field is NaN."""
    with path.open() as file:
        rows = list(csv.DictReader(file))
    return SimpleNamespace(**{name: np.array([float(row[name] or "nan") for row in rows]) for name in rows[0]})


def draw_iid(axes, table: SimpleNamespace, name: str) -> None:
    """The mean error of independent sets, and one standard deviation about it."""
    mean, sd = getattr(table, f"{name}_iid_mean"), getattr(table, f"{name}_iid_sd")
    axes.fill_between(table.t, np.maximum(mean - sd, 1e-12), mean + sd, color=ORANGE, alpha=0.18, lw=0, label="± 1 sd")
    axes.plot(table.t, mean, color=ORANGE, label="independent draws, mean of 20 sets")
    axes.set_ylim(bottom=mean.min() / 100)


def log_log(axes, title: str, x: str, y: str) -> None:
    axes.set(title=title, xlabel=x, ylabel=y, xscale="log", yscale="log")


def fig1(folder: Path):
    points, mixture = read(folder / "fig1.csv"), read(folder / "fig1_mixture.csv")
    figure, axes = plt.subplots(figsize=(6, 5.8))
    side = np.linspace(-6.5, 6.5, 181)
    x, y = np.meshgrid(side, side)
    density = np.zeros_like(x)
    for weight, mx, my, xx, xy, yy in zip(*vars(mixture).values(), strict=True):
        determinant = xx * yy - xy * xy
        dx, dy = x - mx, y - my
        distance = (yy * dx * dx - 2 * xy * dx * dy + xx * dy * dy) / determinant
        density += weight * np.exp(-distance / 2) / (2 * np.pi * np.sqrt(determinant))
    # Equal steps of the logarithm down to 1 % of the summit.
    levels = sorted(density.max() * 0.8 * 10 ** (-k / 3.2) for k in range(7))
    axes.contour(x, y, density, levels, colors=GREY, linewidths=0.7)
    axes.plot(points.random_x, points.random_y, "o", mfc="none", color=PURPLE, label="20 independent draws")
    axes.plot(points.herding_x, points.herding_y, "s", color=RED, mec="white", label="first 20 super-samples")
    axes.set(xlabel="first coordinate", ylabel="second coordinate", aspect="equal")
    return figure


def fig2(folder: Path):
    table = read(folder / "fig2.csv")
    figure, axes = plt.subplots(figsize=(6.2, 4.2))
    axes.plot(table.t, table.line, "--", color=GREY, label="straight line fitted to T ≤ 500")
    axes.plot(table.t, table.inverse_error_iid, color=ORANGE, label="independent draws")
    axes.plot(table.t, table.inverse_error, color=BLUE, label="herding")
    axes.set(title="Error against the number of super-samples", xlabel="T", ylabel="1/E_T", xlim=(0, table.t[-1]))
    return figure


def fig3(folder: Path):
    table, weighted = read(folder / "fig3.csv"), read(folder / "fig3_weighted.csv")
    bandwidths, halton = read(folder / "fig3_bandwidth.csv"), read(folder / "fig3_halton.csv")
    figure, panels = plt.subplots(3, 2, figsize=(8.8, 9))
    for axes, (name, title) in zip(panels.flat, FUNCTIONS.items(), strict=False):
        draw_iid(axes, table, name)
        axes.plot(table.t, getattr(table, f"{name}_halton"), color=GREEN, lw=0.9, label="Halton set")
        axes.plot(table.t, getattr(table, f"{name}_herding"), color=BLUE, label="herding")
        axes.plot(weighted.t, getattr(weighted, name), "o", mfc="none", color=PURPLE, label="with simplex weights")
        log_log(axes, title, "T", "error")
    gains, errors = panels.flat[4:]
    gains.axhline(1, ls="--", color=ORANGE)
    for (name, title), colour in zip(FUNCTIONS.items(), [BLUE, PURPLE, RED, GREEN], strict=True):
        gain = getattr(bandwidths, name)
        gains.plot(bandwidths.bandwidth, gain, color=colour)
        gains.annotate(title, (bandwidths.bandwidth[-1], gain[-1]), (4, 0), textcoords="offset points", color=colour)
    log_log(gains, "gain over independent draws, T = 1000", "bandwidth", "error of iid / error of herding")
    gains.set_xlim(right=2.4 * bandwidths.bandwidth[-1])
    errors.plot(table.t, table.mmd_iid, color=ORANGE)
    errors.plot(halton.t, halton.mmd, color=GREEN, lw=0.9)
    errors.plot(table.t, table.mmd_herding, color=BLUE)
    log_log(errors, "E_T, the MMD", "T", "E_T")
    return figure


def fig4(folder: Path):
    table = read(folder / "fig4.csv")
    figure, panels = plt.subplots(2, 2, figsize=(8.8, 6))
    for axes, (name, title) in zip(panels.flat, FUNCTIONS.items(), strict=True):
        draw_iid(axes, table, name)
        axes.plot(
            table.t, getattr(table, f"{name}_herding_against_p"), color=RED, label="herding on D, error against p"
        )
        axes.plot(
            table.t, getattr(table, f"{name}_herding_against_d"), color=BLUE, label="herding on D, error against D"
        )
        axes.plot(table.t, getattr(table, f"{name}_own_error_of_d"), "--", color=GREY, label="error of D itself")
        log_log(axes, title, "T", "error")
    return figure


def fig5(folder: Path):
    table = read(folder / "fig5.csv")
    figure, axes = plt.subplots(figsize=(6.8, 4.6))
    for name, style, colour, label in [
        ("d_reference", "--", RED, "D against the larger set"),
        ("std_line", "--", GREY, "std line of D"),
        ("random_mean", "-", ORANGE, "random subsets against D (mean)"),
        ("herding_reference", "-", RED, "herding against the larger set"),
        ("herding", "-", BLUE, "herding against D"),
        ("named_elsewhere", "-", CYAN, "with predictions of other messages named"),
        ("named", "-", DARK, "with these predictions named"),
        ("weighted", "o", GREEN, "with simplex weights"),
        ("swapped", "s", PURPLE, "with swap sweeps"),
    ]:
        axes.plot(table.t, getattr(table, name), style, color=colour, label=label)
    log_log(axes, "RMSE of the predicted probability", "T", "RMSE")
    return figure


def fig6(folder: Path):
    table = read(folder / "fig6.csv")
    figure, axes = plt.subplots(figsize=(6.8, 4.4))
    for name, values in vars(table).items():
        if name.startswith("random"):
            axes.plot(table.t, values, color=CYAN, lw=0.8, label="random subsets")
    axes.plot(table.t, table.d, color=RED, label="all of D")
    axes.plot(table.t, table.named, color=PURPLE, label="with the predictions named")
    axes.plot(table.t, table.herding, color=DARK, label="herding")
    whole = table.d[0]
    axes.set(title="Accuracy on the test messages", xlabel="T", ylabel="accuracy", xscale="log")
    axes.set_ylim(whole - 0.015, whole + 0.008)
    return figure


SAMPLERS = {1: ("random walk", GREY), 2: ("MALA", BLUE), 3: ("HMC", ORANGE)}
REPELLED = {
    "scores1": "scores, α = 1",
    "scores5": "scores, α = 5",
    "scores20": "scores, α = 20",
    "scores1w": "scores, α = 1, reweighted",
    "scores5w": "scores, α = 5, reweighted",
    "scores20w": "scores, α = 20, reweighted",
    "kernel3": "kernel, β = 3, reweighted",
    "kernel30": "kernel, β = 30, reweighted",
    "kernel100": "kernel, β = 100, reweighted",
    "stein_last": "Stein points, from the last",
    "stein_influential": "Stein points, from the influential",
}
SPINS = {"herded": "herded Gibbs", "repelled": "self-repellent walk, α = 5"}
CURVES = [
    ("chain", "--", GREY, "the chain as it is"),
    ("corrected", "-", BLUE, "corrected afterwards"),
    ("scores5", "-", RED, "scores, α = 5"),
    ("kernel3", "-", ORANGE, "kernel, β = 3, reweighted"),
    ("thin_corrected", "-", GREEN, "50 rows corrected afterwards"),
    ("stein_last", "-", PURPLE, "50 Stein points"),
]


def overall(table: SimpleNamespace, way: str) -> np.ndarray:
    """The geometric mean of the four errors of a way; an error below 0.001 counts as 0.001, as in fig7.rs."""
    errors = [np.maximum(getattr(table, f"{way}_{name}"), 1e-3) for name in ["means", "seconds", "cdf", "mmd"]]
    return np.exp(np.mean(np.log(errors), axis=0))


def fig7(folder: Path):
    table, ratios, spins = (read(folder / f"fig7{name}.csv") for name in ["", "_ratios", "_spins"])
    figure, panels = plt.subplot_mosaic("aaa;aaa;bcd", figsize=(9.4, 9.2))
    every = panels["a"]
    for row, way in enumerate(REPELLED):
        for sampler, (name, colour) in SAMPLERS.items():
            of = ratios.sampler == sampler
            height = np.full(of.sum(), -row + 0.22 * (2 - sampler))
            every.plot(
                np.minimum(getattr(ratios, way)[of], 270), height, "o", ms=4.5, mfc="none", color=colour, label=name
            )
    last = spins.sweeps == spins.sweeps.max()
    spin_ratios = {way: overall(spins, way)[last] / overall(spins, "gibbs")[last] for way in SPINS}
    for row, found in enumerate(spin_ratios.values(), len(REPELLED)):
        every.plot(
            found, np.full(found.size, -row), "s", ms=4.5, mfc="none", color=DARK, label="Gibbs sampling of spins"
        )
    names = [*REPELLED.values(), *SPINS.values()]
    every.set_yticks(-np.arange(len(names)), names)
    every.axvspan(1e-2, 0.7, color=GREEN, alpha=0.1, lw=0)
    every.axvspan(1.3, 1e4, color=RED, alpha=0.07, lw=0)
    every.set(xscale="log", xlabel="error over that of the best method afterwards, one point for each density")
    # What left its density altogether stands at the edge.
    every.set_xlim(0.05, 500)
    for letter, density, title in [
        ("b", 2, "normal, d = 5, MALA"),
        ("c", 4, "banana, MALA"),
        ("d", 7, "two far modes, MALA"),
    ]:
        of = (table.density == density) & (table.sampler == 2)
        for way, style, colour, label in CURVES:
            panels[letter].plot(
                table.evaluations[of], overall(table, way)[of], style, marker=".", color=colour, label=label
            )
        log_log(panels[letter], title, "evaluations", "error")
        panels[letter].set_xticks(budgets := np.unique(table.evaluations), [f"{b:.0f}" for b in budgets])
        panels[letter].yaxis.set_major_locator(LogLocator(subs=[1, 2, 3, 5]))
        panels[letter].yaxis.set_major_formatter("{x:g}")
        panels[letter].xaxis.set_minor_formatter("")
        panels[letter].yaxis.set_minor_formatter("")
    return figure


BEGIN, END = "<!-- fig7:begin (written by experiments/plot.py --write-docs) -->", "<!-- fig7:end -->"
DENSITIES = [
    "normal, d = 2",
    "normal, d = 5",
    "normal, d = 20",
    "banana",
    "funnel",
    "two modes, near",
    "two modes, far",
    "five modes, near",
    "five modes, far",
    "logistic regression",
]
MODELS = [
    "independent, 8",
    "complete, 4, weak",
    "complete, 4, strong",
    "complete, 8, weak",
    "complete, 8, strong",
    "complete, 12, strong",
    "chain, 10",
    "lattice, 3 × 3, weak",
    "lattice, 3 × 3, critical",
    "lattice, 3 × 4, critical",
]


def markdown(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def number(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:.0f}" if value < 1000 else "> 999"


def tables(folder: Path) -> str:
    """The tables of figure 7: errors over those of the best method afterwards."""
    ratios, spins = read(folder / "fig7_ratios.csv"), read(folder / "fig7_spins.csv")

    def of_density(ways: list[str]) -> str:
        def cell(way: str, density: int) -> str:
            return " / ".join(number(value) for value in getattr(ratios, way)[ratios.density == density + 1])

        rows = [[name, *(cell(way, i) for way in ways)] for i, name in enumerate(DENSITIES)]
        return markdown(["", *(REPELLED[way] for way in ways)], rows)

    def verdict(found: np.ndarray) -> str:
        return f"{(found <= 0.7).sum()}; {number(found.min())} to {number(found.max())}"

    def of_rule(way: str) -> list[str]:
        return [verdict(getattr(ratios, way)[ratios.sampler == sampler]) for sampler in SAMPLERS]

    last = spins.sweeps == spins.sweeps.max()
    pairs = [("herded", "gibbs"), ("repelled", "gibbs"), ("herded_both", "gibbs_both"), ("repelled_both", "gibbs_both")]
    pairs += [("herded_thin", "gibbs_thin"), ("repelled_thin", "gibbs_thin")]
    of_spins = [overall(spins, way)[last] / overall(spins, other)[last] for way, other in pairs]
    names = ["herded Gibbs", "self-repellent"]
    names += [f"{name}, both states" for name in names[:2]] + [f"{name}, then `thin`" for name in names[:2]]
    ways = list(REPELLED)
    return "\n\n".join(
        [
            f"{ratios.replicates[0]:.0f} replicates. Error over that of the best afterwards, random walk / MALA / HMC:",
            of_density(ways[:6]),
            of_density(ways[6:]),
            "Number of densities on which that is at most 0.7 (7 are needed), and its range (1.30 is allowed):",
            markdown(["", *(name for name, _ in SAMPLERS.values())], [[REPELLED[way], *of_rule(way)] for way in ways]),
            "Spins, error over that of Gibbs sampling (both states: over Gibbs sampling with both states):",
            markdown(
                ["", *names],
                [[name, *(number(found[i]) for found in of_spins)] for i, name in enumerate(MODELS)]
                + [["at most 0.7; range", *(verdict(found) for found in of_spins)]],
            ),
        ]
    )


def write_docs(folder: Path) -> None:
    page = Path("docs/paper.md")
    before, rest = page.read_text().split(BEGIN)
    page.write_text(f"{before}{BEGIN}\n\n{tables(folder)}\n\n{END}{rest.split(END)[1]}")


def main(folder: Path, into: Path) -> None:
    for draw in [fig1, fig2, fig3, fig4, fig5, fig6, fig7]:
        if not (folder / f"{draw.__name__}.csv").exists():
            continue
        figure = draw(folder)
        # Each name once, above all panels.
        names = {}
        for axes in figure.axes:
            names.update({label: line for line, label in zip(*axes.get_legend_handles_labels(), strict=True)})
        figure.legend(names.values(), names.keys(), loc="outside upper center", ncols=3, frameon=False)
        figure.set_layout_engine("constrained")
        path = into / f"{draw.__name__}.svg"
        figure.savefig(path, metadata={"Date": None})
        plt.close(figure)
        print(path)


if __name__ == "__main__":
    arguments = [Path(argument) for argument in sys.argv[1:] if argument != "--write-docs"] or [Path("out")]
    main(arguments[0], arguments[-1])
    if "--write-docs" in sys.argv:
        write_docs(arguments[0])
