"""Kernel herding by coreax, f32, blocks of 1000: `reduce` as its users call it, which compiles its parts on the first call.

With --compiled, the whole of `reduce` is compiled into one program beforehand, the best that a user could do for it.
"""

import time

import jax
import jax.numpy as jnp
import numpy as np
from coreax.data import Data
from coreax.kernels import SquaredExponentialKernel
from coreax.solvers import KernelHerding

from measure import arguments, report


def main():
    args = arguments()
    x = jnp.asarray(np.load(args.file), dtype=jnp.float32).block_until_ready()
    # unique=False as in the paper, and as everybody else in this comparison.
    kernel = SquaredExponentialKernel(length_scale=args.bandwidth)
    solver = KernelHerding(coreset_size=args.number, kernel=kernel, unique=False, block_size=1000)

    if not args.compiled:
        return report(args, lambda: (np.asarray(solver.reduce(Data(x))[0].unweighted_indices), {}))
    start = time.perf_counter()
    solve = jax.jit(lambda x: solver.reduce(Data(x))[0].unweighted_indices).lower(x).compile()
    compiled = time.perf_counter() - start
    report(args, lambda: (np.asarray(solve(x).block_until_ready()), {}), compile_seconds=compiled)


if __name__ == "__main__":
    main()
