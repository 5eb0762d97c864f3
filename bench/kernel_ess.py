"""The kernel effective sample size against the closed form: python bench/kernel_ess.py [replicates]

Autoregressive normal chains x' = φx + √(1 − φ²)z, 4 × 1,000 draws in five dimensions, scaled by their true sds. For a
Gaussian kernel of length ℓ the mean of the kernel between draws that are correlated by c is (1 + 2(1 − c)/ℓ²)^(−d/2), so
that the expected squared MMD of all draws to the truth is a sum over lags. The table has estimate over truth. Below it is the
disagreement of chains that have mixed, and of chains that differ in their correlation alone.
"""

from __future__ import annotations

import sys

import numpy as np
from numpy.typing import NDArray

import supersample as ss

CHAINS, DRAWS, COLUMNS, LENGTH = 4, 1000, 5, 3.0


def autoregressive(phi: float, columns: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Chains from the stationary distribution."""
    x = rng.normal(size=(CHAINS, DRAWS, columns))
    for t in range(1, DRAWS):
        x[:, t] = phi * x[:, t - 1] + (1 - phi * phi) ** 0.5 * x[:, t]
    return x


def truth(phi: float) -> float:
    """v over the expected squared MMD."""

    def mean(c: NDArray[np.float64]) -> NDArray[np.float64]:
        found: NDArray[np.float64] = (1 + 2 * (1 - c) / LENGTH**2) ** (-COLUMNS / 2)
        return found

    lags = np.arange(1, DRAWS)
    norm = float(mean(np.zeros(1))[0])
    total = DRAWS * (1 - norm) + 2 * float(((DRAWS - lags) * (mean(phi**lags) - norm)).sum())
    return (1 - norm) * DRAWS**2 * CHAINS / total


def main() -> None:
    """Prints the tables."""
    replicates = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    print(f"{replicates} replicates\nφ       true ESS   estimate over truth: median   sd     disagreement: median   above 2")
    for phi in (-0.3, 0.0, 0.5, 0.9, 0.98):
        found = [
            ss.diagnose(
                autoregressive(phi, COLUMNS, np.random.default_rng(seed)).reshape(-1, COLUMNS),
                chains=CHAINS,
                scale="none",
                bandwidth=LENGTH,
            )
            for seed in range(replicates)
        ]
        ratios = np.array([one.kernel_ess for one in found]) / truth(phi)
        apart = np.array([one.disagreement for one in found], dtype=float)
        print(
            f"{phi:<8}{truth(phi):<11.0f}{np.median(ratios):<29.3f}{ratios.std():<7.3f}{np.median(apart):<23.2f}"
            f"{np.mean(apart > 2):.2f}"
        )
    for r in (0.3, 0.7):
        apart = []
        for seed in range(min(replicates, 20)):
            x = autoregressive(0.5, 2, np.random.default_rng(seed))
            sign = np.where(np.arange(CHAINS) % 2, r, -r)[:, None]
            x[:, :, 1] = sign * x[:, :, 0] + (1 - r * r) ** 0.5 * x[:, :, 1]
            apart.append(ss.diagnose(x.reshape(-1, 2), chains=CHAINS).disagreement or 0.0)
        print(f"chains of correlation ±{r}: disagreement {np.median(apart):.1f} ({min(apart):.1f} to {max(apart):.1f})")


if __name__ == "__main__":
    import warnings

    # Chains that disagree are what is looked for.
    warnings.simplefilter("ignore", ss.SupersampleWarning)
    main()
