"""The figures of docs/guide/matching.md: 300 of 20,000 rows for a target of 1,000 rows with shifted and correlated covariates.

    python bench/matching.py --seeds 5

Compared with nearest-neighbour matching without replacement (each row of a random 300 of the target takes the nearest row
that is left, on columns scaled by the target) by standardised mean differences and by the energy distance to the target.
"""

import argparse

import numpy as np
import supersample as ss

POOL, TARGET, CHOSEN = 20_000, 1000, 300
KERNELS = (None, "gaussian", "energy")


def shifted(rng, dim):
    """A pool, and a target that is shifted by up to 0.6 sd, with other correlations, and skewed in one column."""
    pool = rng.normal(size=(POOL, dim))
    pool[:, 1] += 0.4 * pool[:, 0]
    mixing = np.eye(dim) + 0.25 * np.triu(np.ones((dim, dim)), 1)
    target = 0.8 * rng.normal(size=(TARGET, dim)) @ mixing / np.linalg.norm(mixing, axis=0)
    target += np.linspace(0.6, -0.4, dim)
    target[:, -1] = np.exp(0.4 * target[:, -1]) - 1
    return pool, target


def skewed(rng, dim):
    """Positive columns with long tails."""
    pool = rng.lognormal(0, 0.8, size=(POOL, dim))
    common = rng.normal(size=(TARGET, 1))
    return pool, np.exp(0.2 + 0.5 * (0.6 * common + 0.8 * rng.normal(size=(TARGET, dim))))


def clusters(rng, dim):
    """A wide pool, and three narrow clusters in it."""
    centres = 1.5 * rng.normal(size=(3, dim))
    return 2 * rng.normal(size=(POOL, dim)), centres[rng.integers(0, 3, TARGET)] + 0.5 * rng.normal(size=(TARGET, dim))


def nearest(pool, target, seed):
    """Nearest-neighbour matching without replacement."""
    scale = target.std(axis=0)
    rng = np.random.default_rng(seed)
    free, taken = np.ones(len(pool), bool), []
    for row in rng.choice(len(target), CHOSEN, replace=False):
        distance = (((pool - target[row]) / scale) ** 2).sum(axis=1)
        distance[~free] = np.inf
        best = int(distance.argmin())
        free[best] = False
        taken.append(best)
    return pool[taken]


def mean_distance(a, b):
    return np.mean([np.sqrt(((b - row) ** 2).sum(axis=1)).mean() for row in a])


def energy(a, b):
    """The energy distance, on columns scaled by the target b."""
    scale = b.std(axis=0)
    a, b = a / scale, b / scale
    return np.sqrt(max(0.0, 2 * mean_distance(a, b) - mean_distance(a, a) - mean_distance(b, b)))


def differences(a, b):
    """The largest standardised mean difference."""
    return np.abs((a.mean(axis=0) - b.mean(axis=0)) / b.std(axis=0)).max()


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--seeds", type=int, default=5)
    options.add_argument("--dim", type=int, default=6)
    options.add_argument("--kind", choices=("shifted", "skewed", "clusters"), default="shifted")
    given = options.parse_args()
    found = []
    for seed in range(given.seeds):
        pool, target = globals()[given.kind](np.random.default_rng(seed), given.dim)
        theirs = nearest(pool, target, seed)
        row, told = (
            [differences(theirs, target)],
            f"seed {seed}: nearest neighbours SMD {differences(theirs, target):.4f}",
        )
        for kernel in KERNELS:
            ours = ss.thin(pool, CHOSEN, match=target, kernel=kernel)
            row += [differences(ours.points, target), energy(ours.points, target) / energy(theirs, target)]
            told += f"; {ours.kernel.name} SMD {row[-2]:.4f}, energy distance {row[-1]:.2f} of theirs"
        calibrated = ss.thin(pool, CHOSEN, match=target, weights="calibrated")
        row.append(np.abs((calibrated.weights @ calibrated.points - target.mean(axis=0)) / target.std(axis=0)).max())
        found.append(row)
        print(
            f"{told}; calibrated means off by {row[-1]:.0e} sd; {calibrated.overlap['unreached']:.1%} unreached",
            flush=True,
        )
    print("worst:", ", ".join(f"{value:.2g}" for value in np.max(found, axis=0)))


if __name__ == "__main__":
    main()
