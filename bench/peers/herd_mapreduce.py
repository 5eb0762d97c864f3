"""MapReduce of coreax around its kernel herding, f32: leaves of four times as many rows as points, in blocks of 100."""

import jax.numpy as jnp
import numpy as np
from coreax.data import Data
from coreax.kernels import SquaredExponentialKernel
from coreax.solvers import KernelHerding, MapReduce

from measure import arguments, report


def main():
    args = arguments()
    x = jnp.asarray(np.load(args.file), dtype=jnp.float32).block_until_ready()
    kernel = SquaredExponentialKernel(length_scale=args.bandwidth)
    herding = KernelHerding(coreset_size=args.number, kernel=kernel, unique=True, block_size=100)
    solver = MapReduce(herding, leaf_size=4 * args.number)
    report(args, lambda: (np.asarray(solver.reduce(Data(x))[0].indices.data).ravel(), {}))


if __name__ == "__main__":
    main()
