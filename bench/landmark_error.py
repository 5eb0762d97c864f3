"""The standard error of the MMD with landmarks against all pairs of rows: python bench/landmark_error.py [--rows N] [data sets] [case …]

For each case and data set, 50 of N = 4,000 rows are chosen with landmarks, and the MMD of these rows is computed once more from all pairs
in double precision. The table has the share of data sets in which the exact MMD is within one, two and three stated standard
errors (68, 95 and 99.7 % for a normal error), the largest deviation in standard errors, the median of the standard error over
the MMD, and the largest error of the MMD. With 4,000 rows all are control rows, so that only rounding is left; with 12,000 the control
rows are a sample. The last cases have 20,000 rows and more, where kernel values are in single precision; there the mean deviation shows a bias.
SUPERSAMPLE_ISA=avx2 or sse2 shows it with fewer lanes.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import supersample as ss

Rows = NDArray[np.float64]


def clusters(count: int, power: float) -> Callable[[np.random.Generator, int], Rows]:
    def draw(rng: np.random.Generator, n: int) -> Rows:
        shares = np.arange(1, count + 1.0) ** -power
        centres = rng.normal(size=(count, 5))
        found: Rows = centres[rng.choice(count, n, p=shares / shares.sum())] + 1e-3 * rng.normal(size=(n, 5))
        return found

    return draw


def normal(dim: int) -> Callable[[np.random.Generator, int], Rows]:
    return lambda rng, n: rng.normal(size=(n, dim))


def cauchy(rng: np.random.Generator, n: int) -> Rows:
    return rng.standard_cauchy(size=(n, 3))


def distinct(rng: np.random.Generator, n: int) -> Rows:
    found: Rows = rng.normal(size=(50, 3))[rng.integers(50, size=n)]
    return found


def far_mode(rng: np.random.Generator, n: int) -> Rows:
    found: Rows = rng.normal(size=(n, 3)) + 10 * (rng.uniform(size=(n, 1)) < 1 / 400)
    return found


def lognormal(rng: np.random.Generator, n: int) -> Rows:
    found: Rows = np.exp(2 * rng.normal(size=(n, 3)))
    return found


# By name: rows from a generator and a number of them, keywords, and whether rows have weights with heavy tails.
CASES: dict[str, tuple[Callable[[np.random.Generator, int], Rows], dict[str, Any], bool]] = {
    "normal, d = 5": (normal(5), {}, False),
    "20 tight clusters": (clusters(20, 0), {}, False),
    "200 clusters, power law": (clusters(200, 1.5), {}, False),
    "Cauchy": (cauchy, {}, False),
    "Cauchy, scale mad": (cauchy, {"scale": "mad"}, False),
    "bandwidth 0.1": (normal(5), {"bandwidth": 0.1}, False),
    "bandwidth 0.3": (normal(5), {"bandwidth": 0.3}, False),
    "bandwidth 50": (normal(5), {"bandwidth": 50.0}, False),
    "50 distinct points": (distinct, {}, False),
    "d = 1": (normal(1), {}, False),
    "d = 1, bandwidth 0.02": (normal(1), {"bandwidth": 0.02}, False),
    "d = 2": (normal(2), {}, False),
    "d = 1,000": (normal(1000), {}, False),
    "heavy weights": (normal(3), {}, True),
    "heavy weights, bandwidth 0.3": (normal(3), {"bandwidth": 0.3}, True),
    "energy, d = 3": (normal(3), {"kernel": "energy"}, False),
    "energy, Cauchy": (cauchy, {"kernel": "energy"}, False),
    "laplace": (normal(3), {"kernel": "laplace"}, False),
    "imq": (normal(3), {"kernel": "imq"}, False),
    "50 landmarks, d = 5": (normal(5), {"landmarks": 50}, False),
    "20 landmarks, 20 clusters": (clusters(20, 0), {"landmarks": 20}, False),
    "lognormal, log-sd 2": (lognormal, {}, False),
    "far mode of 1/400": (far_mode, {}, False),
    "far mode, 60 landmarks": (far_mode, {"landmarks": 60}, False),
}
# Rows, dimension and chosen rows in single precision.
SINGLE = {
    f"{rows:,} rows, d = {dim}, {size} chosen": (rows, dim, size)
    for rows, dim, size in (
        (20_000, 1, 400),
        (20_000, 2, 100),
        (20_000, 2, 400),
        (20_000, 3, 400),
        (60_000, 2, 400),
        (150_000, 1, 400),
        (150_000, 5, 400),
    )
}


def deviation(x: Rows, size: int, weight: Rows | None, keywords: dict[str, Any]) -> tuple[float, float, float]:
    """MMD with landmarks less the exact one, its standard error, and the exact one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        chosen = ss.thin(x, size, embedding="landmarks", search=0, sample_weight=weight, **keywords)
        exact = {key: value for key, value in keywords.items() if key not in ("landmarks", "bandwidth")}
        # The median of pairs of rows is of a sample, which is not the same one.
        exact["kernel"] = chosen.kernel
        mmd = ss.mmd(x, chosen, sample_weight=weight, embedding="exact", precision="double", **exact)
    assert chosen.mmd is not None and chosen.mmd_error is not None
    return chosen.mmd - mmd, chosen.mmd_error, mmd


def line(name: str, found: list[tuple[float, float, float]]) -> str:
    off, error, mmd = np.array(found).T
    z = off / error
    shares = " / ".join(f"{np.mean(np.abs(z) <= within):.2f}" for within in (1, 2, 3))
    return f"| {name} | {len(z)} | {shares} | {np.abs(z).max():.3g} | {z.mean():+.2f} | {np.median(error / mmd):.1e} | {np.abs(off / mmd).max():.1e} |"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rows", type=int, default=4000)
    options.add_argument("sets", type=int, nargs="?", default=100)
    options.add_argument("cases", nargs="*")
    given = options.parse_args()
    sets, asked = given.sets, given.cases
    print("| case | data sets | within 1 / 2 / 3 | largest | mean | standard error / MMD | largest error of the MMD |")
    print("|---|---|---|---|---|---|---|")
    for name, (draw, keywords, weighted) in CASES.items():
        if asked and name not in asked:
            continue
        count = min(sets, 40) if name == "d = 1,000" else sets
        found = []
        for seed in range(count):
            rng = np.random.default_rng([seed, len(name)])
            x = draw(rng, given.rows)
            weight = np.exp(2 * rng.normal(size=len(x))) if weighted else None
            found.append(deviation(x, 50, weight, keywords))
        print(line(name, found), flush=True)
    for name, (rows, dim, size) in SINGLE.items():
        if asked and name not in asked:
            continue
        found = [
            deviation(np.random.default_rng([seed, dim]).normal(size=(rows, dim)), size, None, {})
            for seed in range(max(sets // 10, 3))
        ]
        print(line(name, found), flush=True)


if __name__ == "__main__":
    main()
