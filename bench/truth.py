#!/usr/bin/env python3
"""Rows more accurate than the draws: errors against the density itself, over the number of rows.

    pip install . numpyro && python bench/truth.py [--cache FOLDER] [--replicates 20] [--write-docs]

Eight densities of 3 to 40 columns. Of each there are 20 replicates of 4,000 NUTS draws (4 chains of 1,000) and a truth from
a million draws of its own, independent ones where the density can be sampled directly. All rows that are compared have equal weights.
`--write-docs` writes the tables into docs/truth.md and the figure docs/figures/truth.svg. Draws are kept in the cache, which
saves most of the time of a second run.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

QUANTILES = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
SIZES = (25, 50, 100, 200, 400)
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
    from jax.scipy.special import gammaln
    from jax.nn import log_sigmoid

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
        """Normal means in groups, not centred: the mean, the logarithm of the spread, one standardised effect a group."""
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
