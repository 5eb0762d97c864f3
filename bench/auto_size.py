"""Whether n="auto" keeps what it says: python bench/auto_size.py [runs] [number of a case, from 0]

Five chains with a known truth, 4 × 1,000 draws each, and a weighted sample. For each run the rows that n="auto" chooses are held
against the truth: errors of means, sds (both in true sds) and of the distribution functions (root mean square over the draws'
quantiles), root mean square over columns and runs, divided by those of all draws.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from math import erf

import numpy as np
from numpy.typing import NDArray

import supersample as ss

Array = NDArray[np.float64]
CHAINS, DRAWS = 4, 1000


def normal_cdf(x: Array) -> Array:
    """Of the standard normal."""
    found: Array = 0.5 * (1 + np.vectorize(erf)(x / np.sqrt(2)))
    return found


def autoregressive(phi: float, columns: int) -> Callable[[np.random.Generator], Array]:
    """Normal chains from their stationary distribution."""

    def draw(rng: np.random.Generator) -> Array:
        x = rng.normal(size=(CHAINS, DRAWS, columns))
        for t in range(1, DRAWS):
            x[:, t] = phi * x[:, t - 1] + (1 - phi * phi) ** 0.5 * x[:, t]
        return x.reshape(-1, columns)

    return draw


def banana(rng: np.random.Generator) -> Array:
    """A normal chain of correlated steps, bent: the second column depends on the square of the first."""
    x = autoregressive(0.8, 2)(rng)
    return np.column_stack([x[:, 0], x[:, 1] + x[:, 0] ** 2])


def metropolis(rng: np.random.Generator) -> Array:
    """Random-walk Metropolis between two modes at ±2 in the first of two columns."""
    x = rng.normal(size=(CHAINS, 2))
    x[:, 0] += np.where(rng.random(CHAINS) < 0.5, 2.0, -2.0)

    def log_density(y: Array) -> Array:
        found: Array = np.logaddexp(-((y[:, 0] - 2) ** 2) / 2, -((y[:, 0] + 2) ** 2) / 2) - y[:, 1] ** 2 / 2
        return found

    out, at = np.empty((CHAINS, DRAWS, 2)), log_density(x)
    for t in range(DRAWS):
        for _ in range(4):
            y = x + 2.0 * rng.normal(size=x.shape)
            new = log_density(y)
            accepted = np.log(rng.random(CHAINS)) < new - at
            x, at = np.where(accepted[:, None], y, x), np.where(accepted, new, at)
        out[:, t] = x
    return out.reshape(-1, 2)


def importance(rng: np.random.Generator) -> Array:
    """Draws of a wider normal in three columns; the last column has the weights that make them standard normal."""
    x = 1.4 * rng.normal(size=(CHAINS * DRAWS, 3))
    return np.column_stack([x, np.exp((x**2).sum(axis=1) * (1 / 1.4**2 - 1) / 2)])


class Case:
    """Draws, and the truth about each column: mean, sd and distribution function."""

    def __init__(self, name: str, draw: Callable[[np.random.Generator], Array], truths: list[tuple]) -> None:
        self.name, self.draw, self.truths = name, draw, truths

    def errors(self, x: Array, weights: Array) -> Array:
        """Squared errors of mean, sd and distribution function, mean over the columns."""
        squares = []
        for column, (mean, sd, cdf) in zip(x.T, self.truths):
            own = float(np.sum(weights * column))
            spread = float(np.sum(weights * (column - own) ** 2)) ** 0.5
            # Over a grid of true quantiles, which is what ∫ (F_S − F)² dF is.
            order = np.argsort(column)
            reached = np.concatenate([[0.0], np.cumsum(weights[order])])
            found = reached[np.searchsorted(column[order], cdf[0], side="right")]
            squares.append([((own - mean) / sd) ** 2, ((spread - sd) / sd) ** 2, np.mean((found - cdf[1]) ** 2)])
        mean_over_columns: Array = np.mean(squares, axis=0)
        return mean_over_columns


LEVELS = (np.arange(1000) + 0.5) / 1000


def quantiles_of(draws: Array) -> tuple[float, float, tuple[Array, Array]]:
    """Mean, sd and quantiles of very many draws of one column."""
    return float(draws.mean()), float(draws.std()), (np.quantile(draws, LEVELS), LEVELS)


def normal() -> tuple[float, float, tuple[Array, Array]]:
    """Of the standard normal: the levels at a fine grid of values stand for its quantiles."""
    grid = np.linspace(-5, 5, 20_001)
    return 0.0, 1.0, (np.interp(LEVELS, normal_cdf(grid), grid), LEVELS)


def cases() -> list[Case]:
    """Five chains and a weighted sample."""
    rng = np.random.default_rng(12345)
    z = rng.normal(size=(2, 4_000_000))
    bent = (0.0, 1.0, normal()[2]), (1.0, 3**0.5, quantiles_of(z[1] + z[0] ** 2)[2])
    sides = z[0] + np.where(rng.random(z.shape[1]) < 0.5, 2.0, -2.0)
    return [
        Case("AR 0, d = 5", autoregressive(0.0, 5), [normal()] * 5),
        Case("AR .9, d = 5", autoregressive(0.9, 5), [normal()] * 5),
        Case("AR .98, d = 3", autoregressive(0.98, 3), [normal()] * 3),
        Case("banana", banana, list(bent)),
        Case("Metropolis ±2", metropolis, [(0.0, 5**0.5, quantiles_of(sides)[2]), normal()]),
        Case("weighted, d = 3", importance, [normal()] * 3),
    ]


def main() -> None:
    """Prints the table."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    print(f"{runs} runs; total error of the rows of n='auto' over that of all draws\n")
    print("                 kernel ESS   rows   mean    sd      cdf")
    some = cases()
    for case in some if len(sys.argv) < 3 else [some[int(sys.argv[2])]]:
        ours, all_draws, sizes, ess = [], [], [], []
        for seed in range(runs):
            x = case.draw(np.random.default_rng(seed))
            weight = None
            if x.shape[1] > len(case.truths):
                x, weight = np.ascontiguousarray(x[:, :-1]), x[:, -1]
            shares = np.full(len(x), 1 / len(x)) if weight is None else weight / weight.sum()
            chosen = ss.thin(x, "auto", chains=CHAINS if weight is None else None, sample_weight=weight)
            ours.append(case.errors(chosen.points, np.full(len(chosen), 1 / len(chosen))))
            all_draws.append(case.errors(x, shares))
            sizes.append(len(chosen))
            ess.append(chosen.draws.kernel_ess)
        ratios = np.sqrt(np.mean(ours, axis=0) / np.mean(all_draws, axis=0))
        print(f"{case.name:<17}{np.median(ess):<13.0f}{np.median(sizes):<7.0f}" + "".join(f"{r:<8.2f}" for r in ratios), flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore", ss.SupersampleWarning)
    main()
