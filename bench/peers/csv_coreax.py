"""What `supersample herd IN -n T -q -o OUT` does, by coreax and NumPy: python csv_coreax.py IN T OUT"""

import sys

import jax.numpy as jnp
import numpy as np
from coreax.data import Data
from coreax.kernels import SquaredExponentialKernel, median_heuristic
from coreax.solvers import KernelHerding

path, number, out = sys.argv[1], int(sys.argv[2]), sys.argv[3]
with open(path) as lines:
    header = lines.readline().strip()
rows = np.loadtxt(path, delimiter=",", skiprows=1)
x = (rows - rows.mean(0)) / rows.std(0)
subsample = np.random.default_rng(0).choice(len(x), 1000, replace=False)
# coreax's heuristic is the median distance divided by √2.
bandwidth = 2**0.5 * float(median_heuristic(jnp.asarray(x[subsample])))
kernel = SquaredExponentialKernel(length_scale=bandwidth)
solver = KernelHerding(coreset_size=number, kernel=kernel, unique=False, block_size=1000)
coreset, _ = solver.reduce(Data(jnp.asarray(x)))
np.savetxt(out, rows[np.asarray(coreset.unweighted_indices)], delimiter=",", header=header, comments="")
