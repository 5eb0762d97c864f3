"""Kernel herding in a few lines of NumPy: slow, plain, and what the package is held against."""

import numpy as np


def distance(x, y, power):
    """All distances: Euclidean ones, or sums of absolute differences."""
    difference = np.abs(x[:, None, :] - y[None, :, :])
    return difference.sum(-1) if power == 1 else np.sqrt((difference**2).sum(-1))


KERNELS = {
    "gaussian": lambda x, y, b: np.exp(-0.5 * (distance(x, y, 2) / b) ** 2),
    "laplace": lambda x, y, b: np.exp(-distance(x, y, 1) / b),
    "matern12": lambda x, y, b: np.exp(-distance(x, y, 2) / b),
    "matern32": lambda x, y, b: (1 + 3**0.5 * distance(x, y, 2) / b) * np.exp(-(3**0.5) * distance(x, y, 2) / b),
    "matern52": lambda x, y, b: (
        (1 + 5**0.5 * distance(x, y, 2) / b + 5 * distance(x, y, 2) ** 2 / (3 * b * b))
        * np.exp(-(5**0.5) * distance(x, y, 2) / b)
    ),
    "imq": lambda x, y, b: 1 / np.sqrt(1 + (distance(x, y, 2) / b) ** 2),
    "linear": lambda x, y, b: x @ y.T,
}


def scaled(x, scale, share):
    """Columns as they are, or of weighted mean 0 and variance 1, or uncorrelated as well."""
    if scale == "none":
        return x
    mean = share @ x
    z = (x - mean) / np.sqrt(share @ (x - mean) ** 2)
    if scale == "sd":
        return z
    variance, axes = np.linalg.eigh((z * share[:, None]).T @ z)
    return z @ axes / np.sqrt(variance)


def median_distance(x):
    """The upper median over all pairs."""
    pairs = distance(x, x, 2)[np.triu_indices(len(x), 1)]
    return np.sort(pairs)[len(pairs) // 2]


def herd(gram, share, n, unique):
    """Eq. 8 of the paper over a pool that is the samples, and E_T of eq. 9 computed afresh at every step."""
    mu = gram @ share
    norm = share @ mu
    diagonal = np.diag(gram)
    chosen, errors = [], []
    for t in range(n):
        score = (t + 1) * mu - gram[:, chosen].sum(1)
        if not np.all(diagonal == diagonal[0]):
            score = score - diagonal / 2
        if unique:
            score[chosen] = -np.inf
        chosen.append(int(np.argmax(score)))
        pairs = gram[np.ix_(chosen, chosen)].mean()
        errors.append(np.sqrt(max(norm - 2 * mu[chosen].mean() + pairs, 0.0)))
    return chosen, errors
