"""Kernel herding in NumPy, f32 with f64 sums, in one of three forms.

Without a flag, as one writes it in an hour: 1024 rows at a time against all others, distances as |x|² + |y|² − 2x·y
through one (threaded) sgemm a block, all else in place, exp by NumPy, which uses one core. With --form blocked, the same
in blocks of 1024 × 1024, which stay in the second-level cache. With --form tuned, as far as we could take it without
leaving NumPy:

- blocks of 1024 × 1024;
- the exponent −|x−y|²/2 is the inner product of (x, −|x|²/2, 1) and (y, 1, −|y|²/2): no pass besides the sgemm;
- each pair of blocks is visited once, for the rows of both;
- blocks are shared among Python threads (NumPy lets go of the interpreter), each with a BLAS of one thread.
"""

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from threadpoolctl import threadpool_limits

from measure import arguments, report

BLOCK = 1024


def row_embedding(scaled, half):
    n = len(scaled)
    mu, buffer = np.zeros(n), np.empty((BLOCK, n), np.float32)
    for i in range(0, n, BLOCK):
        rows = scaled[i : i + BLOCK]
        block = buffer[: len(rows)]
        np.matmul(rows, scaled.T, out=block)
        block -= half[i : i + BLOCK, None]
        block -= half
        np.exp(block, out=block)
        mu[i : i + BLOCK] = block.sum(1, dtype=np.float64)
    return mu / n


def blocked_embedding(scaled, half):
    n = len(scaled)
    mu, buffer = np.zeros(n), np.empty(BLOCK * BLOCK, np.float32)
    for i in range(0, n, BLOCK):
        rows = scaled[i : i + BLOCK]
        for j in range(0, n, BLOCK):
            columns = scaled[j : j + BLOCK]
            block = buffer[: len(rows) * len(columns)].reshape(len(rows), len(columns))
            np.matmul(rows, columns.T, out=block)
            block -= half[i : i + BLOCK, None]
            block -= half[j : j + BLOCK]
            np.exp(block, out=block)
            mu[i : i + BLOCK] += block.sum(1)
    return mu / n


def tuned_embedding(scaled, half):
    n, workers = len(scaled), len(os.sched_getaffinity(0))
    ones = np.ones(n, np.float32)
    left = np.concatenate([scaled, -half[:, None], ones[:, None]], axis=1)
    right = np.concatenate([scaled, ones[:, None], -half[:, None]], axis=1)
    starts = range(0, n, BLOCK)

    def share(worker):
        mu, buffer = np.zeros(n), np.empty(BLOCK * BLOCK, np.float32)
        for place, i in enumerate(starts):
            rows = left[i : i + BLOCK]
            for j in starts[place + (worker - place) % workers :: workers]:
                columns = right[j : j + BLOCK]
                block = buffer[: len(rows) * len(columns)].reshape(len(rows), len(columns))
                np.matmul(rows, columns.T, out=block)
                np.exp(block, out=block)
                mu[i : i + BLOCK] += block @ ones[: len(columns)]
                if j > i:
                    mu[j : j + BLOCK] += ones[: len(rows)] @ block
        return mu

    with threadpool_limits(1, "blas"), ThreadPoolExecutor(workers) as pool:
        return sum(pool.map(share, range(workers))) / n


FORMS = {"rows": row_embedding, "blocked": blocked_embedding, "tuned": tuned_embedding}


def main():
    args = arguments()
    x = np.load(args.file)

    def herd():
        scaled = ((x - x.mean(0)) / args.bandwidth).astype(np.float32)
        half = np.einsum("ij,ij->i", scaled, scaled) / 2
        mu = FORMS[args.form](scaled, half)
        n = len(x)
        sums, row, scores = np.zeros(n), np.empty(n, np.float32), np.empty(n)
        picks = np.empty(args.number, int)
        for t in range(args.number):
            np.multiply(mu, t + 1, out=scores)
            scores -= sums
            picks[t] = best = scores.argmax()
            np.matmul(scaled, scaled[best], out=row)
            row -= half
            row -= half[best]
            np.exp(row, out=row)
            sums += row
        return picks, {"squared_norm": float(mu.mean())}

    report(args, herd)


if __name__ == "__main__":
    main()
