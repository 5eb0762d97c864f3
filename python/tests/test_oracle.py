"""The same picks and errors as plain NumPy, over kernels, scalings, weights and both kinds of herding."""

import numpy as np
import oracle
import pytest
import supersample as ss

NAMES = list(oracle.KERNELS)


def case(seed):
    """Thirty different settings from thirty seeds."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(40, 250)), int(rng.integers(1, 7))
    x = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) * rng.uniform(0.1, 10) + rng.normal(size=d) * 3
    name = NAMES[seed % len(NAMES)]
    scale = ("sd", "none", "pca")[seed % 3]
    weights = rng.gamma(0.7, size=n) if seed % 4 == 3 else None
    bandwidth = "median" if seed % 5 == 0 and weights is None and name != "linear" else float(rng.uniform(0.4, 2.5))
    return x, name, scale, weights, bandwidth, bool(seed % 2), int(rng.integers(10, 40))


# Some of the thirty have bandwidths that see no neighbours, which is nothing to the oracle.
@pytest.mark.filterwarnings("ignore::supersample.SupersampleWarning")
@pytest.mark.parametrize("seed", range(30))
def test_picks_and_errors_are_those_of_numpy(seed):
    x, name, scale, weights, bandwidth, unique, n = case(seed)
    share = np.full(len(x), 1 / len(x)) if weights is None else weights / weights.sum()
    z = oracle.scaled(x, scale, share)
    length = oracle.median_distance(z) if bandwidth == "median" else bandwidth
    chosen, errors = oracle.herd(oracle.KERNELS[name](z, z, length), share, n, unique)
    options = {"kernel": name, "scale": scale, "sample_weight": weights, "unique": unique, "precision": "double"}
    if name != "linear":
        options["bandwidth"] = bandwidth
    result = ss.herd(x, n, **options)
    assert result.indices.tolist() == chosen
    np.testing.assert_allclose(result.error, errors, rtol=0, atol=1e-9)
    if name != "linear":
        assert result.kernel.bandwidths == pytest.approx((length,), rel=1e-12)
    herder = ss.Herder(x, **options)
    assert [pick.index for pick in herder.run(n)] == chosen


@pytest.mark.parametrize("name", NAMES)
def test_kernel_values_are_those_of_numpy(name):
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(5, 3)), rng.normal(size=(4, 3))
    kernel = ss.Linear() if name == "linear" else ss.kernels.BY_NAME[name](0.8)
    np.testing.assert_allclose(kernel(x, y), oracle.KERNELS[name](x, y, 0.8), rtol=1e-13)


def test_the_mean_of_several_gaussians():
    x = np.random.default_rng(2).normal(size=(60, 2))
    gram = sum(oracle.KERNELS["gaussian"](x, x, b) for b in (0.3, 1.0, 3.0)) / 3
    chosen, errors = oracle.herd(gram, np.full(60, 1 / 60), 20, False)
    result = ss.herd(x, 20, kernel=ss.Gaussian((0.3, 1, 3)), scale="none", precision="double")
    assert result.indices.tolist() == chosen
    np.testing.assert_allclose(result.error, errors, rtol=0, atol=1e-9)
    again = ss.herd(x, 20, bandwidth=(0.3, 1, 3), scale="none", precision="double")
    assert again.indices.tolist() == chosen


def test_the_golden_case_of_three_points():
    x = [[0.3, 0.25], [0.4, 0.2], [0.5, 0.125]]
    options = {"bandwidth": 0.5**0.5, "scale": "none"}
    assert ss.herd(x, 2, unique=True, **options).indices.tolist() == [1, 2]
    repeated = ss.herd(x, 14, **options)
    assert repeated.indices.tolist() == [1] * 9 + [2, 0, 1, 2, 0]
    assert repeated.error[11] > repeated.error[10]


def test_mmd_equivalent_draws_and_optimal_weights_are_those_of_numpy():
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(200, 3)), rng.normal(size=(15, 3))
    k = oracle.KERNELS["gaussian"]
    w = rng.gamma(1.0, size=15)
    for weights in (None, w):
        v = np.full(15, 1 / 15) if weights is None else w / w.sum()
        squared = k(x, x, 1.3).mean() - 2 * k(x, y, 1.3).mean(0) @ v + v @ k(y, y, 1.3) @ v
        assert ss.mmd(x, y, bandwidth=1.3, scale="none", subset_weight=weights) == pytest.approx(
            squared**0.5, abs=1e-12
        )
    result = ss.herd(x, 10, bandwidth=1.3, scale="none", weights="signed")
    gram, z = k(result.points, result.points, 1.3), k(result.points, x, 1.3).mean(1)
    # The weights of Bayesian quadrature, moved along K⁻¹1 until they sum to one.
    free, along = np.linalg.solve(gram, z), np.linalg.solve(gram, np.ones(10))
    best = free + along * (1 - free.sum()) / along.sum()
    np.testing.assert_allclose(result.weights, best, rtol=1e-6)
    squared = k(x, x, 1.3).mean() - 2 * z @ best + best @ gram @ best
    assert result.mmd == pytest.approx(squared**0.5, rel=1e-8)
    assert result.equivalent_draws == pytest.approx((1 - k(x, x, 1.3).mean()) / result.mmd**2, rel=1e-9)
    assert ss.mmd(x, result, bandwidth=1.3, scale="none") == pytest.approx(result.mmd, rel=1e-8)
    simplex = ss.herd(x, 10, bandwidth=1.3, scale="none", weights="simplex")
    assert simplex.weights.min() >= 0 and simplex.weights.sum() == pytest.approx(1)
    assert result.mmd <= simplex.mmd <= simplex.error[-1]


def test_the_mmd_to_a_mixture_is_that_of_many_draws():
    mixture = ss.GaussianMixture([1, 2], [[-1.0, 0], [1, 1]], [np.eye(2) * 0.5, [[1, 0.3], [0.3, 0.8]]])
    y = np.random.default_rng(4).normal(size=(20, 2))
    drawn = ss.mmd(mixture.draw(20_000, seed=1), y, bandwidth=1.0, scale="none")
    assert ss.mmd(mixture, y, bandwidth=1.0) == pytest.approx(drawn, abs=0.005)
    # The points that sample places are matched better than as many draws.
    assert ss.sample(mixture, 20, bandwidth=1.0).mmd < 0.5 * ss.mmd(mixture, mixture.draw(20), bandwidth=1.0)
