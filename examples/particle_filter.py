"""Sequential kernel herding: a particle filter whose particles are chosen, not drawn.

    python examples/particle_filter.py

A linear Gaussian model, whose exact filter (Kalman) is known. In every step each of 50 weighted particles is moved many
times, which gives 1,000 predicted ones; `ss.resample` keeps 50 of them, and only these are weighted by the likelihood.
It pays where a likelihood takes much longer than a move, and in few dimensions. The estimate of the marginal likelihood
is not unbiased, so it is no replacement for the bootstrap filter inside particle MCMC.
"""

import numpy as np
import supersample as ss

STEPS, KEPT, PREDICTED = 40, 50, 1000


class Model:
    """x' = A x + noise, y = x + noise, both of unit variance; A has 0.42**(|i - j| + 1)."""

    def __init__(self, dim):
        self.dim = dim
        self.transition = 0.42 ** (np.abs(np.subtract.outer(range(dim), range(dim))) + 1)

    def move(self, x, rng):
        return x @ self.transition.T + rng.normal(size=x.shape)

    def move_in_pairs(self, x, rng):
        """As `move`, with noise of opposite sign for neighbours, so that its mean is exactly zero."""
        noise = np.repeat(rng.normal(size=(len(x) // 2, self.dim)), 2, axis=0)
        noise[1::2] *= -1
        return x @ self.transition.T + noise

    def log_likelihood(self, x, y):
        return -0.5 * ((x - y) ** 2).sum(axis=1)

    def observed(self, seed):
        rng = np.random.default_rng(seed)
        x, observations = rng.normal(size=(1, self.dim)), []
        for _ in range(STEPS):
            observations.append(x[0] + rng.normal(size=self.dim))
            x = self.move(x, rng)
        return np.array(observations)


def kalman(model, observations):
    """The exact means of the filter."""
    mean, covariance, means = np.zeros(model.dim), np.eye(model.dim), []
    for y in observations:
        gain = covariance @ np.linalg.inv(covariance + np.eye(model.dim))
        mean, covariance = mean + gain @ (y - mean), covariance - gain @ covariance
        means.append(mean)
        mean = model.transition @ mean
        covariance = model.transition @ covariance @ model.transition.T + np.eye(model.dim)
    return np.array(means)


def weighed(model, x, y):
    """The weights of the particles, which sum to one."""
    logs = model.log_likelihood(x, y)
    weights = np.exp(logs - logs.max())
    return weights / weights.sum()


def systematic(weights, count, rng):
    """Systematic resampling: the numbers of the particles."""
    return np.searchsorted(np.cumsum(weights), (np.arange(count) + rng.random()) / count).clip(max=len(weights) - 1)


def bootstrap(model, observations, count, seed):
    """The bootstrap filter, with systematic resampling."""
    rng = np.random.default_rng(seed)
    x, means = rng.normal(size=(count, model.dim)), []
    for y in observations:
        weights = weighed(model, x, y)
        means.append(weights @ x)
        x = model.move(x[systematic(weights, count, rng)], rng)
    return np.array(means)


def herding(model, observations, seed, kept=KEPT, predicted=PREDICTED):
    """The filter that weighs only the particles it keeps of the predicted ones."""
    rng = np.random.default_rng(seed)
    cloud, means = rng.normal(size=(predicted, model.dim)), []
    for y in observations:
        x = ss.resample(cloud, n=kept, kernel="matern32").points
        weights = weighed(model, x, y)
        means.append(weights @ x)
        cloud = model.move_in_pairs(x[systematic(weights, predicted, rng)], rng)
    return np.array(means)


def rms(means, truth):
    """The error of the means of a filter."""
    return float(np.sqrt(np.mean((means - truth) ** 2)))


def main(runs=5):
    print("error of the filter mean, of 50 likelihoods in each step, relative to the bootstrap filter")
    for dim in (1, 2, 4):
        model, errors = Model(dim), np.zeros((runs, 2))
        for run in range(runs):
            observations = model.observed(run)
            truth = kalman(model, observations)
            errors[run] = (
                rms(bootstrap(model, observations, KEPT, run), truth),
                rms(herding(model, observations, run), truth),
            )
        plain, chosen = np.sqrt((errors**2).mean(axis=0))
        print(f"{dim} dimensions: {chosen / plain:.2f}")


if __name__ == "__main__":
    main()
