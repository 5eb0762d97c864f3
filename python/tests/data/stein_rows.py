"""Makes stein_rows.json: the rows that the package stein_thinning 0.2.0 chooses in the cases of test_stein.py.

pip install stein-thinning==0.2.0 && python stein_rows.py > stein_rows.json
"""

import json

import numpy as np

PRECONDITIONERS = ("id", "med", "sclmed", "smpcov", "2.5")
CHOSEN = 20


def case(seed):
    """Draws near a correlated normal density, heavier in the tails, in units far apart, and its scores."""
    rng = np.random.default_rng(seed)
    dim = 2 + seed % 5
    # Some have more rows than the median distance is taken of.
    rows = int(rng.integers(30, 300)) if seed % 5 else int(rng.integers(1001, 1500))
    mixing = rng.normal(size=(dim, dim)) + 2 * np.eye(dim)
    units = 10.0 ** rng.integers(-2, 3, size=dim)
    x = (rng.standard_t(5, size=(rows, dim)) @ mixing.T + rng.normal(size=dim)) * units
    scores = -np.linalg.solve(mixing @ mixing.T, (x / units).T).T / units
    return x, scores


if __name__ == "__main__":
    from stein_thinning.thinning import thin

    chosen = {
        f"{preconditioner} {standardize}": [
            thin(*case(seed), CHOSEN, standardize=standardize, preconditioner=preconditioner).tolist()
            for seed in range(30)
        ]
        for preconditioner in PRECONDITIONERS
        for standardize in (True, False)
    }
    print(json.dumps(chosen, separators=(",", ":")).replace("]],", "]],\n"))
