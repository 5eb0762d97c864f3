"""How long a small call takes: 50 of 1,000 rows with 2 columns, on one thread, best of several.

python bench/small_calls.py
"""

import time

import numpy as np
import supersample as ss


def best(call, tries=200):
    times = []
    for _ in range(tries):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times) * 1e3


def main():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1000, 2))
    weights = np.exp(-0.5 * ((x - 0.5) ** 2).sum(axis=1))
    calls = {
        "herd": lambda: ss.herd(x, 50, threads=1),
        "herd, weights": lambda: ss.herd(x, 50, sample_weight=weights, threads=1),
        "thin, no search": lambda: ss.thin(x, 50, search=0, threads=1),
        "resample": lambda: ss.resample(x, n=50, threads=1),
        "resample, weights": lambda: ss.resample(x, weights, 50, threads=1),
        "resample, bandwidth given": lambda: ss.resample(x, n=50, bandwidth=1.5, threads=1),
    }
    for name, call in calls.items():
        print(f"{name}: {best(call):.2f} ms")


if __name__ == "__main__":
    main()
