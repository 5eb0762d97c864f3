"""Compress++ of goodpoints (kernel thinning within, f64) with its compiled Gaussian exp(−r²/λ²), so λ² is 2ℓ².

It takes every so many-th row down to the largest power of four, and gives the square root of that: 512 of 10⁶ rows, 2,048 of 10⁷.
Four bins and an oversampling of g = 4, as in its own examples.
"""

import numpy as np
from goodpoints.compress import compresspp_kt

from measure import arguments, report


def main():
    args = arguments()
    x = np.load(args.file).astype(np.float64, copy=False)
    scale = np.array([2 * args.bandwidth**2])
    report(args, lambda: (compresspp_kt(x, b"gaussian", k_params=scale, g=4, num_bins=4, seed=0), {}))


if __name__ == "__main__":
    main()
