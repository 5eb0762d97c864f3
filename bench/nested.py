"""The figures of docs/guide/resampling.md for nested sampling: a dynesty run to 500 rows of equal weight.

    pip install dynesty==3.1.0 && python bench/nested.py --seeds 3

The error is that of the widths of the central 50, 80, 90 and 95 % intervals of every parameter, relative to those of all
weighted rows, root mean square, for `ss.resample` and for `dynesty.utils.resample_equal` (20 random draws of 500 rows).
"""

import argparse

import numpy as np
import supersample as ss

LEVELS, COUNT = (0.5, 0.8, 0.9, 0.95), 500


def run(seed):
    """A correlated, skewed posterior in four dimensions: samples and weights."""
    import dynesty

    rng = np.random.default_rng(seed)
    mixing = np.linalg.cholesky(0.6 * np.ones((4, 4)) + 0.4 * np.eye(4))
    precision = np.linalg.inv(mixing @ mixing.T)

    def log_likelihood(x):
        z = x.copy()
        z[1] -= 0.3 * (z[0] ** 2 - 1)
        return -0.5 * z @ precision @ z

    sampler = dynesty.NestedSampler(log_likelihood, lambda u: 16 * u - 8, 4, nlive=500, rstate=rng)
    sampler.run_nested(print_progress=False)
    results = sampler.results
    return results.samples, results.importance_weights()


def quantiles(x, weights, levels):
    order = np.argsort(x)
    reached = np.cumsum(weights[order]) - 0.5 * weights[order]
    return np.interp(levels, reached / weights.sum(), x[order])


def widths(x, weights):
    """The widths of all intervals of all columns."""
    all_levels = np.array([[0.5 - level / 2, 0.5 + level / 2] for level in LEVELS])
    ends = [[quantiles(column, weights, levels) for levels in all_levels] for column in x.T]
    return np.diff(np.array(ends), axis=2)[..., 0]


def error(x, truth):
    return np.sqrt(np.mean((widths(x, np.ones(len(x))) / truth - 1) ** 2))


def main():
    import dynesty.utils

    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--seeds", type=int, default=3)
    ratios = []
    for seed in range(options.parse_args().seeds):
        samples, weights = run(seed)
        truth = widths(samples, weights)
        ours = error(ss.resample(samples, weights, COUNT).points, truth)
        rng, drawn = np.random.default_rng(seed), []
        for _ in range(20):
            equal = dynesty.utils.resample_equal(samples, weights, rstate=rng)
            drawn.append(error(equal[rng.choice(len(equal), COUNT, replace=False)], truth))
        theirs = np.sqrt(np.mean(np.square(drawn)))
        ratios.append(ours / theirs)
        print(
            f"seed {seed}: {len(samples):,} rows; error of widths {ours:.4f}, resample_equal {theirs:.4f}, ratio {ratios[-1]:.2f}"
        )
    print(f"worst ratio {max(ratios):.2f}")


if __name__ == "__main__":
    main()
