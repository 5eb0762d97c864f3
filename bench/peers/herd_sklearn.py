"""Kernel herding on scikit-learn's rbf_kernel, in f64 and chunks of 1024 rows: what one writes in a notebook."""

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel

from measure import arguments, report


def main():
    args = arguments()
    x = np.load(args.file)
    gamma = 1 / (2 * args.bandwidth**2)

    def herd():
        mu = np.concatenate([rbf_kernel(x[i : i + 1024], x, gamma).mean(1) for i in range(0, len(x), 1024)])
        sums, picks = np.zeros(len(x)), []
        for t in range(args.number):
            picks.append(int(((t + 1) * mu - sums).argmax()))
            sums += rbf_kernel(x[picks[-1:]], x, gamma)[0]
        return picks, {"squared_norm": float(mu.mean())}

    report(args, herd)


if __name__ == "__main__":
    main()
