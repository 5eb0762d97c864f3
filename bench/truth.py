#!/usr/bin/env python3
"""Rows more accurate than the draws: errors against the density itself, over the number of rows.

    pip install . numpyro && python bench/truth.py [--cache FOLDER] [--replicates 20] [--write-docs]

Eight densities of 3 to 40 columns. Of each there are 20 replicates of 4,000 NUTS draws (4 chains of 1,000) and a truth
from a million draws or more, independent ones where the density can be sampled directly. All rows that are compared
have equal weights. `--write-docs` writes the tables into docs/truth.md and the figure docs/figures/truth.svg. Draws are
kept in the cache, which saves most of the time of a second run.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

QUANTILES = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
SIZES = (25, 100, 400)
CHAINS, DRAWS, WARMUP = 4, 1000, 1000
MEASURES = ("mean", "sd", "quantile")


@dataclass(frozen=True)
class Density:
    """A log-density in JAX of a point of `dim` numbers; `sampler` draws from it directly where that is possible."""

    name: str
    dim: int
    log_density: Callable
    sampler: Callable[[np.random.Generator, int], Array] | None = None


def densities() -> list[Density]:
    """The eight densities. All data are synthetic and come from fixed seeds."""
    import jax.numpy as jnp
    from jax.nn import log_sigmoid
    from jax.scipy.special import gammaln

    def logistic(name: str, dim: int, rows: int, seed: int) -> Density:
        rng = np.random.default_rng(seed)
        inputs = np.c_[np.ones(rows), rng.normal(size=(rows, dim - 1))]
        truth = rng.normal(size=dim)
        sign = jnp.asarray(np.where(rng.uniform(size=rows) < 1 / (1 + np.exp(-inputs @ truth)), 1.0, -1.0))
        table = jnp.asarray(inputs)
        return Density(name, dim, lambda x: log_sigmoid(sign * (table @ x)).sum() - 0.5 * (x / 2.5) @ (x / 2.5))

    def counts(name: str, dim: int, rows: int, seed: int) -> Density:
        """Negative binomial counts with a log link; the last column is the logarithm of the shape."""
        rng = np.random.default_rng(seed)
        inputs = np.c_[np.ones(rows), rng.normal(size=(rows, dim - 2))]
        means = np.exp(inputs @ np.r_[1.0, 0.4 * rng.normal(size=dim - 2)])
        seen = jnp.asarray(rng.negative_binomial(2.0, 2.0 / (2.0 + means)).astype(float))
        table = jnp.asarray(inputs)

        def log_density(x):
            shape, rate = jnp.exp(x[-1]), table @ x[:-1]
            total = jnp.logaddexp(x[-1], rate)
            fit = gammaln(seen + shape) - gammaln(shape) + shape * (x[-1] - total) + seen * (rate - total)
            return fit.sum() - 0.5 * (x[:-1] / 2) @ (x[:-1] / 2) - 0.5 * x[-1] ** 2

        return Density(name, dim, log_density)

    def groups(name: str, dim: int, seed: int) -> Density:
        """Normal means in groups, not centred: the mean, the logarithm of the spread, a standardised effect a group."""
        rng = np.random.default_rng(seed)
        errors = jnp.asarray(rng.uniform(5, 15, size=dim - 2))
        seen = jnp.asarray(rng.normal(6, 8, size=dim - 2) + np.asarray(errors) * rng.normal(size=dim - 2))

        def log_density(x):
            mean, spread, effects = x[0], jnp.exp(x[1]), x[2:]
            fit = (seen - mean - spread * effects) / errors
            return -0.5 * (fit @ fit + effects @ effects + (mean / 10) ** 2 + ((x[1] - 1.5) / 0.7) ** 2)

        return Density(name, dim, log_density)

    def banana(name: str, dim: int) -> Density:
        """A normal density whose second column is bent by the square of the first."""

        def log_density(x):
            bent = x[1] - 0.5 * (x[0] ** 2 - 1)
            return -0.5 * (x[0] ** 2 + bent**2 + x[2:] @ x[2:])

        def sampler(rng: np.random.Generator, count: int) -> Array:
            x = rng.normal(size=(count, dim))
            x[:, 1] += 0.5 * (x[:, 0] ** 2 - 1)
            return x

        return Density(name, dim, log_density, sampler)

    def student(name: str, dim: int, freedom: float) -> Density:
        """A multivariate t density."""
        return Density(
            name,
            dim,
            lambda x: -0.5 * (freedom + dim) * jnp.log1p(x @ x / freedom),
            lambda rng, count: (
                rng.normal(size=(count, dim)) / np.sqrt(rng.chisquare(freedom, size=(count, 1)) / freedom)
            ),
        )

    def normal(name: str, dim: int, seed: int) -> Density:
        rng = np.random.default_rng(seed)
        mixing = np.linalg.cholesky(np.corrcoef(rng.normal(size=(dim, 2 * dim))))
        inverse = jnp.asarray(np.linalg.inv(mixing))
        return Density(
            name,
            dim,
            lambda x: -0.5 * (inverse @ x) @ (inverse @ x),
            lambda rng, count: rng.normal(size=(count, dim)) @ mixing.T,
        )

    def intensity(name: str, dim: int, seed: int) -> Density:
        """Poisson counts whose log-intensity is an autoregression, one column a step."""
        rng = np.random.default_rng(seed)
        path = np.zeros(dim)
        for step in range(1, dim):
            path[step] = 0.9 * path[step - 1] + 0.4 * rng.normal()
        seen = jnp.asarray(rng.poisson(np.exp(1 + path)).astype(float))

        def log_density(x):
            fit = seen * (1 + x) - jnp.exp(1 + x)
            steps = (x[1:] - 0.9 * x[:-1]) / 0.4
            return fit.sum() - 0.5 * steps @ steps - 0.5 * x[0] ** 2

        return Density(name, dim, log_density)

    return [
        logistic("logistic regression", 3, 40, 1),
        banana("banana", 4),
        student("t, 8 degrees", 5, 8.0),
        counts("negative binomial", 6, 80, 2),
        groups("groups", 10, 3),
        normal("normal", 15, 4),
        logistic("logistic regression", 25, 200, 5),
        intensity("Poisson intensity", 40, 6),
    ]


def nuts(density: Density, chains: int, draws: int, seed: int) -> Array:
    """Draws of shape (chains, draws, columns)."""
    import jax
    from numpyro.infer import MCMC, NUTS

    kernel = NUTS(potential_fn=lambda x: -density.log_density(x), dense_mass=False)
    mcmc = MCMC(
        kernel, num_warmup=WARMUP, num_samples=draws, num_chains=chains, chain_method="vectorized", progress_bar=False
    )
    starts = 0.5 * jax.random.normal(jax.random.key(seed + 1), (chains, density.dim))
    mcmc.run(jax.random.key(seed), init_params=starts)
    return np.asarray(mcmc.get_samples(group_by_chain=True), dtype=float)


@dataclass(frozen=True)
class Case:
    """The draws of all replicates, their scores, and the truth."""

    name: str
    draws: Array  # (replicates, draws, columns)
    scores: Array
    truth: dict[str, Array]
    unit: Array

    def errors(self, x: Array, weights: Array | None = None) -> Array:
        """The squared errors of means, sds and quantiles in units of the true sds, means over columns."""
        found = summary(x, weights)
        return np.array([np.mean(((found[name] - self.truth[name]) / self.unit) ** 2) for name in MEASURES])


def summary(x: Array, weights: Array | None = None) -> dict[str, Array]:
    """Means, sds (without n - 1) and quantiles of the columns."""
    if weights is None:
        weights = np.full(len(x), 1 / len(x))
    mean = weights @ x
    order = np.argsort(x, axis=0)
    found = np.empty((len(QUANTILES), x.shape[1]))
    for j in range(x.shape[1]):
        steps = np.cumsum(weights[order[:, j]]) - 0.5 * weights[order[:, j]]
        found[:, j] = np.interp(QUANTILES, steps, x[order[:, j], j])
    return {"mean": mean, "sd": np.sqrt(weights @ (x - mean) ** 2), "quantile": found}


def cases(cache: Path, replicates: int) -> list[Case]:
    """The draws of all densities, from the cache where it has them."""
    cache.mkdir(parents=True, exist_ok=True)
    all_cases = []
    for at, density in enumerate(densities()):
        name = f"{density.name}, d = {density.dim}"
        file = cache / f"{at}-{density.name.replace(' ', '-').replace(',', '')}-{density.dim}-{replicates}.npz"
        if not file.exists():
            _sample(density, at, replicates, file)
            print(f"{name}: sampled", flush=True)
        with np.load(file) as held:
            truth = {name: held[name] for name in MEASURES}
            all_cases.append(Case(name, held["draws"], held["scores"], truth, truth["sd"]))
    return all_cases


def _sample(density: Density, seed: int, replicates: int, file: Path) -> None:
    import jax

    found = nuts(density, CHAINS * replicates, DRAWS, seed)
    draws = found.reshape(replicates, CHAINS * DRAWS, density.dim)
    scores = np.asarray(jax.vmap(jax.grad(density.log_density))(draws.reshape(-1, density.dim)))
    if density.sampler is not None:
        many = density.sampler(np.random.default_rng(100 + seed), 4_000_000)
    else:
        many = nuts(density, 250, 4000, 1000 + seed).reshape(-1, density.dim)
    with file.open("wb") as out:
        np.savez(out, draws=draws, scores=scores.reshape(draws.shape), **summary(many))


@dataclass(frozen=True)
class Found:
    """Root mean squares over the replicates, by way, size and measure, over those of all draws."""

    random: dict[int, Array]
    rows: dict[int, Array]
    corrected: dict[int, Array]
    weighted: Array
    effective: float
    features: str


def replicate(task: tuple[Case, int]) -> tuple[dict[str, Array], float, str]:
    """The squared errors of one replicate, by way: a row for each size."""
    import supersample as ss

    case, number = task
    x, g = case.draws[number], case.scores[number]
    rng = np.random.default_rng(number)

    def at_random(size: int) -> Array:
        return np.mean([case.errors(x[rng.choice(len(x), size, replace=False)]) for _ in range(10)], axis=0)

    plain = [ss.thin(x, size, threads=1) for size in SIZES]
    corrected = [ss.thin(x, size, scores=g, threads=1) for size in SIZES]
    record, weights = corrected[0].corrected, corrected[0]._row_weights["sample_weight"]
    assert record is not None
    squares = {
        "all": case.errors(x),
        "weighted": case.errors(x, weights),
        "random": np.array([at_random(size) for size in SIZES]),
        "rows": np.array([case.errors(result.points) for result in plain]),
        "corrected": np.array([case.errors(result.points) for result in corrected]),
    }
    return squares, record["effective_share"], str(record["features"])


def compared(case: Case) -> Found:
    """The errors of rows against the truth, as parts of the errors of all draws."""
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        done = list(pool.map(replicate, [(case, number) for number in range(len(case.draws))]))
    mean = {way: np.mean([squares[way] for squares, _, _ in done], axis=0) for way in done[0][0]}
    ratio = {way: np.sqrt(found / mean["all"]) for way, found in mean.items()}
    by_size = {way: dict(zip(SIZES, ratio[way])) for way in ("random", "rows", "corrected")}
    features = [kind for _, _, kind in done]
    return Found(
        **by_size,
        weighted=ratio["weighted"],
        effective=float(np.mean([share for _, share, _ in done])),
        features=max(set(features), key=features.count),
    )


def geometric(found: list[Array]) -> Array:
    """The geometric mean over the densities."""
    return np.exp(np.mean(np.log(found), axis=0))


def tables(names: list[str], found: list[Found]) -> str:
    """The tables of docs/truth.md."""
    lines = [
        "Geometric means over the densities:",
        "",
        "| | means | sds | quantiles |",
        "| --- | --- | --- | --- |",
        "| all 4,000 draws | 1 | 1 | 1 |",
        _line("all draws, with the corrected weights", geometric([one.weighted for one in found])),
    ]
    for size in SIZES:
        for way, label in (("random", "at random"), ("rows", "that match the draws"), ("corrected", "corrected")):
            means = geometric([getattr(one, way)[size] for one in found])
            lines.append(_line(f"{size} rows {label}", means))
    lines += [
        "",
        "Each density, means / sds / quantiles:",
        "",
        "| | features, effective size | all draws, weighted | 100 rows that match the draws | 100 corrected "
        "| 400 that match the draws | 400 corrected |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, one in zip(names, found):
        cells = [one.weighted, one.rows[100], one.corrected[100], one.rows[400], one.corrected[400]]
        shown = " | ".join(" / ".join(f"{number:.2f}" for number in cell) for cell in cells)
        lines.append(f"| {name} | {one.features}, {one.effective:.2f} | {shown} |")
    return "\n".join(lines)


def _line(label: str, numbers: Array) -> str:
    return f"| {label} | " + " | ".join(f"{number:.2f}" for number in numbers) + " |"


def figure(found: list[Found]) -> str:
    """Error over the number of rows, a panel for each measure, both axes logarithmic."""
    side, gap, left, top, bottom = 250, 34, 46, 34, 46
    ink, colours = "#808a94", {"random": "#8fa3b5", "rows": "#3f87d9", "corrected": "#e4572e"}
    labels = {"random": "at random", "rows": "matching the draws", "corrected": "corrected by scores"}
    low, high = 0.2, 10.0
    width, height = left + 3 * side + 2 * gap + 8, top + side + bottom + 26

    def across(size: float) -> float:
        return float(np.log(size / SIZES[0]) / np.log(SIZES[-1] / SIZES[0]) * (side - 20) + 10)

    def down(ratio: float) -> float:
        return float((1 - np.log(ratio / low) / np.log(high / low)) * side)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'font-size="13" fill="{ink}" '
        "font-family=\"system-ui, 'Segoe UI', Helvetica, Arial, 'DejaVu Sans', sans-serif\">",
        "<title>Error against the density over the number of rows, as a part of the error of all draws</title>",
    ]
    for place, measure in enumerate(("means", "standard deviations", "quantiles")):
        parts.append(f'<g transform="translate({left + place * (side + gap)} {top})">')
        parts.append(f'<text x="{side / 2}" y="-12" font-size="16" text-anchor="middle">{measure}</text>')
        parts.append(f'<rect width="{side}" height="{side}" fill="none" stroke="{ink}" stroke-opacity=".35"/>')
        for ratio in (0.2, 0.5, 1, 2, 5, 10):
            at = down(ratio)
            dashed = 'stroke-opacity="1" stroke-dasharray="5 4"' if ratio == 1 else 'stroke-opacity=".15"'
            parts.append(f'<path d="M0 {at:.1f}h{side}" stroke="{ink}" {dashed}/>')
            if place == 0:
                parts.append(f'<text x="-8" y="{at + 4:.1f}" text-anchor="end">{ratio:g}</text>')
        parts.append(f'<text x="{side - 6}" y="{down(1) - 5:.1f}" font-size="12" text-anchor="end">all draws</text>')
        for size in SIZES:
            parts.append(f'<text x="{across(size):.1f}" y="{side + 18}" text-anchor="middle">{size}</text>')
        for way, colour in colours.items():
            ratios = [geometric([getattr(one, way)[size] for one in found])[place] for size in SIZES]
            points = [(across(size), down(ratio)) for size, ratio in zip(SIZES, ratios)]
            path = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
            parts.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2.5"/>')
            parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>' for x, y in points]
        parts.append("</g>")
    parts.append(
        f'<text x="{left + 1.5 * side + gap}" y="{top + side + 40}" text-anchor="middle">number of rows</text>'
    )
    for place, (way, colour) in enumerate(colours.items()):
        x, y = left + place * (side + gap), height - 8
        parts.append(f'<path d="M{x} {y - 4}h24" stroke="{colour}" stroke-width="2.5"/>')
        parts.append(f'<text x="{x + 32}" y="{y}">{labels[way]}</text>')
    return "\n".join([*parts, "</svg>", ""])


BEGIN, END = "<!-- truth:begin (written by bench/truth.py --write-docs) -->", "<!-- truth:end -->"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cache", type=Path, default=Path("bench/out/truth"))
    parser.add_argument("--replicates", type=int, default=20)
    parser.add_argument("--write-docs", action="store_true")
    asked = parser.parse_args()
    all_cases = cases(asked.cache, asked.replicates)
    found = []
    for case in all_cases:
        found.append(compared(case))
        print(f"{case.name}: compared", flush=True)
    text = tables([case.name for case in all_cases], found)
    print(text)
    if asked.write_docs:
        docs = Path(__file__).parents[1] / "docs"
        (docs / "figures" / "truth.svg").write_text(figure(found), encoding="utf-8")
        page = (docs / "truth.md").read_text(encoding="utf-8")
        before, after = page.split(BEGIN)[0], page.split(END)[1]
        (docs / "truth.md").write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    import jax

    jax.config.update("jax_enable_x64", True)
    main()
