"""Writes simplex.csv: the least MMD over weights on the simplex, by an independent quadratic-programming solver.

    pip install numpy==2.4.6 quadprog==0.1.13
    python simplex.py > simplex.csv

The solver is quadprog (Goldfarb and Idnani's dual method). Sections of lines: `case,KERNEL,DIM`, one `s,...` for each
sample of the target, one `p,...` for each point to be weighted, and `mmd,VALUE,EQUAL` with the least MMD and that of
equal weights.
"""

import numpy as np
import quadprog

GAUSSIAN, LAPLACE, MATERN32 = "gaussian", "laplace", "matern32"


def gram(name, ell, a, b):
    difference = a[:, None, :] - b[None, :, :]
    if name == LAPLACE:
        return np.exp(-np.abs(difference).sum(-1) / ell)
    r = np.sqrt((difference**2).sum(-1))
    if name == MATERN32:
        v = np.sqrt(3.0) * r / ell
        return (1 + v) * np.exp(-v)
    return np.exp(-(r**2) / (2 * ell**2))


def main():
    rng = np.random.default_rng(11)
    cases = [(GAUSSIAN, 0.8, 1, 60, 6), (GAUSSIAN, 1.5, 3, 120, 40), (LAPLACE, 2.0, 2, 100, 30),
             (MATERN32, 1.0, 5, 80, 80), (GAUSSIAN, 0.4, 2, 50, 25)]
    for name, ell, dim, samples, count in cases:
        x = np.round(rng.normal(size=(samples, dim)), 6)
        p = np.round(rng.normal(size=(count, dim)) * 1.4 + 0.3, 6)
        k, z, norm = gram(name, ell, p, p), gram(name, ell, p, x).mean(1), gram(name, ell, x, x).mean()
        # min ½ wᵀKw − zᵀw with Σw = 1 (the first constraint, an equality) and w ≥ 0.
        constraints = np.hstack([np.ones((count, 1)), np.eye(count)])
        w = quadprog.solve_qp(k, z, constraints, np.r_[1.0, np.zeros(count)], 1)[0]
        mmd = lambda w: np.sqrt(norm - 2 * w @ z + w @ k @ w)
        print(f"case,{name}({ell}),{dim}")
        for letter, rows in (("s", x), ("p", p)):
            for row in rows:
                print(",".join([letter] + [repr(float(v)) for v in row]))
        print(f"mmd,{float(mmd(w))!r},{float(mmd(np.full(count, 1 / count)))!r}")


main()
