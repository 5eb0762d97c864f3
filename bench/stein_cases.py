#!/usr/bin/env python3
"""The tables of docs/stein.md: what plain and Stein thinning make of draws that are not from their density.

    python bench/stein_cases.py [--write-docs]

Three cases whose density is known, each with five seeds: draws whose first fifth drifts in from far out, draws at the
wrong temperature, and a mixture of far modes of which the sampler has visited each as often. Errors are against the
density itself. With --write-docs the tables go into docs/stein.md, between the markers.
"""

import argparse
import pathlib

import numpy as np
import supersample as ss

SEEDS = range(5)
CHOSEN = 100
ROWS = 5000
DIM = 4
PAGE = pathlib.Path(__file__).resolve().parents[1] / "docs/stein.md"


def normal(seed):
    """A correlated normal density: its mean, its covariance, and its score."""
    rng = np.random.default_rng(seed)
    mixing = rng.normal(size=(DIM, DIM)) / 2 + np.eye(DIM)
    covariance, mean = mixing @ mixing.T, rng.normal(size=DIM)
    return mean, covariance, lambda x: -np.linalg.solve(covariance, (x - mean).T).T


def errors(points, mean, covariance):
    """Root mean square over the columns of the errors of mean and sd, in sds of the density."""
    sd = np.sqrt(np.diag(covariance))
    return [float(np.sqrt(np.mean(e**2))) for e in ((points.mean(0) - mean) / sd, points.std(0) / sd - 1)]


def burn_in(seed):
    """A chain whose first fifth comes from far away, drifting in."""
    mean, covariance, score = normal(seed)
    rng = np.random.default_rng(100 + seed)
    x = rng.multivariate_normal(mean, covariance, size=ROWS)
    early = ROWS // 5
    x[:early] += 8 * np.exp(-np.arange(early) / (early / 2))[:, None] * np.sqrt(np.diag(covariance))
    return x, score(x), lambda points: errors(points, mean, covariance)


def temperature(seed):
    """Draws of the density to the power of 1/2: standard deviations that are 1.41 times too large."""
    mean, covariance, score = normal(seed)
    x = np.random.default_rng(200 + seed).multivariate_normal(mean, 2 * covariance, size=ROWS)
    return x, score(x), lambda points: errors(points, mean, covariance)


MASS, FAR = 0.8, 12.0


def modes(seed):
    """Two modes in the plane, 12 sds apart, of mass 0.8 and 0.2, each visited as often."""
    x = np.random.default_rng(300 + seed).normal(size=(ROWS, 2))
    x[ROWS // 2 :, 0] += FAR
    offset = np.array([FAR, 0.0])
    near, far = np.log(MASS) - (x**2).sum(1) / 2, np.log(1 - MASS) - ((x - offset) ** 2).sum(1) / 2
    log_density = np.logaddexp(near, far)
    share = np.exp(near - log_density)[:, None]
    return x, -x * share - (x - offset) * (1 - share), log_density


def table(head, rows):
    cells = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in cells)


def compared(case):
    """Mean errors over the seeds of all rows, of plain thinning and of Stein thinning."""
    found = {"all rows": [], f"`ss.thin`, {CHOSEN} rows": [], f"`ss.stein.thin`, {CHOSEN} rows": []}
    for seed in SEEDS:
        x, scores, measured = case(seed)
        sets = (x, ss.thin(x, CHOSEN).points, ss.stein.thin(x, scores, CHOSEN).points)
        for name, points in zip(found, sets):
            found[name].append([*measured(points), ss.stein.ksd(points, scores_of(x, scores, points))])
    return [[name, *(f"{e:.3f}" for e in np.mean(values, 0))] for name, values in found.items()]


def scores_of(x, scores, points):
    if points is x:
        return scores
    place = {row.tobytes(): at for at, row in enumerate(np.ascontiguousarray(x))}
    return scores[[place[row.tobytes()] for row in np.ascontiguousarray(points)]]


def far_modes():
    found = {"the density": [[1 - MASS]], "all rows": [], "`ss.stein.thin`": []}
    weights = (0.05, 0.2, 0.5)
    found |= {f"`ss.stein.thin`, `regularise={weight}`": [] for weight in weights}
    found[f"`ss.thin` of rows drawn by their density, {CHOSEN} rows"] = []
    for seed in SEEDS:
        x, scores, log_density = modes(seed)
        sets = [x, ss.stein.thin(x, scores, CHOSEN, scale="none").points]
        for weight in weights:
            options = {"log_density": log_density, "regularise": weight, "scale": "none"}
            sets.append(ss.stein.thin(x, scores, CHOSEN, **options).points)
        # Rows of either mode weighed by the ratio of the density to that of the sampler.
        sampler = np.logaddexp(-(x**2).sum(1) / 2, -((x - [FAR, 0.0]) ** 2).sum(1) / 2)
        sets.append(ss.thin(x, CHOSEN, log_weight=log_density - sampler).points)
        for name, points in zip(list(found)[1:], sets):
            found[name].append([float((points[:, 0] > FAR / 2).mean())])
    return [[name, f"{np.mean(values):.2f}"] for name, values in found.items()]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write-docs", action="store_true")
    write = parser.parse_args().write_docs
    tables = {
        "burn-in": table(["", "error of means", "error of sds", "KSD"], compared(burn_in)),
        "temperature": table(["", "error of means", "error of sds", "KSD"], compared(temperature)),
        "modes": table(["", "share of the second mode"], far_modes()),
    }
    text = PAGE.read_text(encoding="utf-8")
    for name, made in tables.items():
        print(f"{name}\n{made}\n")
        begin, end = f"<!-- {name}:begin (written by bench/stein_cases.py --write-docs) -->", f"<!-- {name}:end -->"
        text = text[: text.index(begin) + len(begin)] + f"\n{made}\n" + text[text.index(end) :]
    if write:
        PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
