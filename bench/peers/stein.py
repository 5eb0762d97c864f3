#!/usr/bin/env python3
"""Stein thinning by us and by the package stein_thinning, one after the other in one process: time and rows.

    pip install . stein-thinning==0.2.0 && python bench/peers/stein.py [--rows 100000] [--dim 10] [--chosen 1000]

Both get the same draws of a normal density and their scores, and the defaults of both are the same. Ours runs three
times, the best counts; theirs once.
"""

import argparse
import time

import numpy as np
import stein_thinning.thinning
import supersample as ss

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--rows", type=int, default=100_000)
parser.add_argument("--dim", type=int, default=10)
parser.add_argument("--chosen", type=int, default=1000)
parser.add_argument("--preconditioner", default="id")
asked = parser.parse_args()

rng = np.random.default_rng(1)
mixing = rng.normal(size=(asked.dim, asked.dim)) + 3 * np.eye(asked.dim)
x = rng.normal(size=(asked.rows, asked.dim)) @ mixing.T
scores = -np.linalg.solve(mixing @ mixing.T, x.T).T

ours = []
for _ in range(3):
    start = time.perf_counter()
    rows = ss.stein.herd(x, scores, asked.chosen, preconditioner=asked.preconditioner).indices
    ours.append(time.perf_counter() - start)
start = time.perf_counter()
theirs = stein_thinning.thinning.thin(x, scores, asked.chosen, preconditioner=asked.preconditioner)
seconds = time.perf_counter() - start

print(f"n={asked.rows:,}, d={asked.dim}, T={asked.chosen:,}, preconditioner {asked.preconditioner}")
print(f"supersample {ss.__version__} ({ss.instruction_set()}): {min(ours):.3f} s, of {np.round(ours, 3).tolist()}")
print(f"stein_thinning: {seconds:.1f} s, {seconds / min(ours):.1f} times as long")
print(f"the same rows: {np.array_equal(rows, theirs)}")
