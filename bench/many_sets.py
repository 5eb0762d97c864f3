"""How long many sets at once take: 10,000 groups of 500 rows with 10 columns, 50 rows of each.

python bench/many_sets.py --groups 10000
"""

import argparse
import time

import numpy as np
import supersample as ss


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--groups", type=int, default=10_000)
    options.add_argument("--threads", type=int)
    given = options.parse_args()
    x = np.random.default_rng(0).normal(size=(500 * given.groups, 10))
    start = time.perf_counter()
    result = ss.thin_each(x, 50, each=np.repeat(np.arange(given.groups), 500), threads=given.threads)
    print(f"{given.groups:,} groups: {time.perf_counter() - start:.1f} s; median MMD {np.median(result.mmd):.4f}")


if __name__ == "__main__":
    main()
