"""When to choose by scores, and when not: the tables of docs/stein.md.

    python examples/stein_cases.py                # prints them
    python examples/stein_cases.py --write-docs   # and writes them into the page, between the markers

Densities that are known, so that errors are those from the density itself, each with three seeds: a chain whose first
fifth is burn-in, a sampler at the wrong temperature, draws that are as they should be, and two modes so far apart that
no score tells their masses.
"""

import argparse
import pathlib

import numpy as np
import supersample as ss

PAGE = pathlib.Path(__file__).resolve().parents[1] / "docs/stein.md"
SEEDS = range(3)
ROWS, CHOSEN = 1000, 40
BURN_IN = ROWS // 5
#: Of the density with two modes: the mass of the first, and where the second is.
MASS, FAR = 0.8, np.array([12.0, 0.0])


def normal(seed, dim=3):
    """A correlated normal density: its mean, its covariance and its score."""
    rng = np.random.default_rng(seed)
    mixing = rng.normal(size=(dim, dim)) / 2 + np.eye(dim)
    covariance, mean = mixing @ mixing.T, rng.normal(size=dim)
    return mean, covariance, lambda x: -np.linalg.solve(covariance, (x - mean).T).T


def with_burn_in(seed):
    """Draws of which the first fifth drifts in from eight standard deviations away."""
    mean, covariance, score = normal(seed)
    x = np.random.default_rng(100 + seed).multivariate_normal(mean, covariance, size=ROWS)
    x[:BURN_IN] += 8 * np.exp(-np.arange(BURN_IN) / (BURN_IN / 2))[:, None] * np.sqrt(np.diag(covariance))
    return x, score(x), mean, covariance


def too_warm(seed):
    """Draws of the density to the power of 1/2: their standard deviations are 1.41 times too large."""
    mean, covariance, score = normal(seed)
    x = np.random.default_rng(200 + seed).multivariate_normal(mean, 2 * covariance, size=ROWS)
    return x, score(x), mean, covariance


def as_they_should_be(seed):
    """Independent draws of a density with eight columns."""
    mean, covariance, score = normal(seed, 8)
    x = np.random.default_rng(400 + seed).multivariate_normal(mean, covariance, size=ROWS)
    return x, score(x), mean, covariance


def two_modes(seed, share):
    """Draws of which so many are of the second mode, their scores, log-densities, and log-densities of the draws."""
    rng = np.random.default_rng(300 + seed)
    x = rng.normal(size=(ROWS, 2))
    x[ROWS - int(share * ROWS) :] += FAR

    def log_density(mass):
        near, far = -(x**2).sum(1) / 2, -((x - FAR) ** 2).sum(1) / 2
        return np.logaddexp(np.log(mass) + near, np.log(1 - mass) + far), np.log(mass) + near

    whole, near = log_density(MASS)
    part = np.exp(near - whole)[:, None]
    return x, -x * part - (x - FAR) * (1 - part), whole, log_density(1 - share)[0]


def of_one_density(case):
    """What each set of rows has: its share of burn-in, its errors of means and sds in sds of the density, its KSD."""
    found = {}
    for seed in SEEDS:
        x, scores, mean, covariance = case(seed)
        sd = np.sqrt(np.diag(covariance))
        for name, rows in {
            f"all {ROWS:,} rows": np.arange(ROWS),
            f"{CHOSEN} random rows": np.random.default_rng(seed).choice(ROWS, CHOSEN, replace=False),
            f"{CHOSEN} rows of `ss.thin`": ss.thin(x, CHOSEN).indices,
            f"{CHOSEN} rows of `ss.stein.thin`": ss.stein.thin(x, scores, CHOSEN).indices,
        }.items():
            errors = [(x[rows].mean(0) - mean) / sd, x[rows].std(0) / sd - 1]
            numbers = [(rows < BURN_IN).mean(), *(np.sqrt(np.mean(e**2)) for e in errors)]
            found.setdefault(name, []).append([*numbers, ss.stein.ksd(x, scores, rows)])
    return {name: np.mean(values, axis=0) for name, values in found.items()}


def of_two_modes():
    """The share of the second mode in each set of rows, from draws that have it right and from draws that have not."""
    found = {}
    for share in (1 - MASS, 0.5):
        for seed in SEEDS:
            x, scores, log_density, sampled = two_modes(seed, share)
            is_far = x[:, 0] > FAR[0] / 2
            regularised = {"log_density": log_density, "scale": "none"}
            quotas = {False: round(CHOSEN * MASS), True: CHOSEN - round(CHOSEN * MASS)}
            for name, result in {
                "`ss.thin`": ss.thin(x, CHOSEN),
                "`ss.thin`, `log_weight`": ss.thin(x, CHOSEN, log_weight=log_density - sampled),
                "`ss.stein.herd`": ss.stein.herd(x, scores, CHOSEN, scale="none"),
                "`ss.stein.herd`, `log_density`": ss.stein.herd(x, scores, CHOSEN, **regularised),
                "`ss.stein.thin`": ss.stein.thin(x, scores, CHOSEN, scale="none"),
                "`ss.stein.thin`, `log_density`": ss.stein.thin(x, scores, CHOSEN, **regularised),
                "`ss.stein.thin`, `groups`, `quotas`": ss.stein.thin(
                    x, scores, groups=is_far, quotas=quotas, scale="none"
                ),
            }.items():
                found.setdefault(name, {}).setdefault(share, []).append(is_far[result.indices].mean())
    return {name: [np.mean(values) for values in shares.values()] for name, shares in found.items()}


def table(head, found, digits):
    rows = [[name, *(f"{number:.{d}f}" for number, d in zip(numbers, digits))] for name, numbers in found.items()]
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *rows))


def tables():
    """The tables by the names of their places on the page."""
    head = ["", "error of means", "error of sds", "KSD"]
    warm, good = (
        {name: numbers[1:] for name, numbers in of_one_density(case).items()} for case in (too_warm, as_they_should_be)
    )
    return {
        "burn-in": table(["", "burn-in", *head[1:]], of_one_density(with_burn_in), (2, 3, 3, 3)),
        "temperature": table(head, warm, (3, 3, 3)),
        "good draws": table(head, good, (3, 3, 3)),
        "modes": table(["", "draws 80 : 20", "draws 50 : 50"], of_two_modes(), (2, 2)),
    }


def place(text, name):
    """Where a table begins and ends on the page."""
    begin = f"<!-- {name}:begin (written by examples/stein_cases.py --write-docs) -->\n"
    return text.index(begin) + len(begin), text.index(f"<!-- {name}:end -->")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write-docs", action="store_true", help="write the tables into docs/stein.md")
    write = parser.parse_args().write_docs
    for name, made in tables().items():
        print(f"{name}\n\n{made}\n")
        if write:
            text = PAGE.read_text(encoding="utf-8")
            begin, end = place(text, name)
            PAGE.write_text(f"{text[:begin]}\n{made}\n\n{text[end:]}", encoding="utf-8")


if __name__ == "__main__":
    main()
