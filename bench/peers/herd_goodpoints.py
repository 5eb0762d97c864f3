"""Kernel herding by goodpoints (its herding module, not its kernel thinning), in f64.

It takes any kernel function and returns n/2^m points, rounded down, for any number m: this m gives the number asked for.
The kernel is its own compiled Gaussian, exp(−r²/λ²), so λ² is 2ℓ².
"""

import math

import numpy as np
from goodpoints.gaussianc import gaussian_kernel_by_row
from goodpoints.herding import herding

from measure import arguments, report


def main():
    args = arguments()
    x = np.load(args.file)
    halvings = math.log2(len(x) / (args.number + 0.5))
    values = np.empty(len(x))

    def kernel(y, x):
        gaussian_kernel_by_row(y[0], x, 2 * args.bandwidth**2, values)
        return values

    report(args, lambda: (herding(x, halvings, kernel), {}))


if __name__ == "__main__":
    main()
