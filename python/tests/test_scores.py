"""Draws corrected by their scores: against the weights written out, with all that goes together, and wrong scores."""

import json
import os
import pickle
import subprocess

import numpy as np
import pandas as pd
import pytest
import supersample as ss
from test_command import needs_the_command


def features(x, g, products=True):
    """The Stein features of standardised draws."""
    z, h = (x - x.mean(0)) / x.std(0), g * x.std(0)
    below = np.tril_indices(x.shape[1], -1)
    mixed = [z[:, below[0]] * h[:, below[1]] + z[:, below[1]] * h[:, below[0]]] * products
    return np.hstack([h, 1 + z * h, *mixed])


def balanced(psi):
    """Weights under which the features have mean zero, by plain Newton steps."""
    slopes = np.zeros(psi.shape[1])
    for _ in range(60):
        log = -psi @ slopes
        w = np.exp(log - log.max())
        w /= w.sum()
        mean = w @ psi
        slopes += np.linalg.solve((psi * w[:, None]).T @ psi - np.outer(mean, mean), mean)
    return w


@pytest.fixture(scope="module")
def banana():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 800))
    return np.column_stack([a, b + 0.5 * (a**2 - 1)]), np.column_stack([-a + a * b, -b])


def test_the_weights_are_those_of_the_features(banana):
    x, g = banana
    result = ss.thin(x, 40, scores=g)
    assert result.corrected["features"] == result.corrected["tried"] == "products"
    assert result.corrected["count"] == 5 and 0.9 < result.corrected["effective_share"] <= 1
    want = balanced(features(x, g))
    assert np.allclose(result._row_weights["sample_weight"], want, rtol=1e-7)
    assert result.corrected["effective_share"] == pytest.approx(1 / (want @ want) / len(x))
    by_weight = ss.thin(x, 40, sample_weight=want)
    assert result.indices.tolist() == by_weight.indices.tolist()
    assert "Stein features" in str(result) and result.weighted
    assert result.objective == "joint MMD + 0.1 × marginals + 0.08 × moments"
    herded = ss.herd(x, 40, scores=g)
    assert herded.indices.tolist() == ss.herd(x, 40, sample_weight=want).indices.tolist()
    assert ss.thin(x, 40, scores=g, target="corrected").indices.tolist() == result.indices.tolist()
    few = ss.herd(x[:60], 5, scores=g[:60])  # fewer than twenty for each feature
    assert few.corrected["tried"] == "squares"


def test_other_targets_are_what_they_were(banana):
    x, g = banana
    assert ss.thin(x, 20, scores=g, target="rows").indices.tolist() == ss.thin(x, 20).indices.tolist()
    assert ss.thin(x, 20).corrected is None
    for method in ("thin", "herd"):
        want = getattr(ss.stein, method)(x, g, 20)
        found = getattr(ss, method)(x, 20, scores=g, target="density")
        assert found.indices.tolist() == want.indices.tolist() and found.kernel.name == "stein-imq"
    by_median = ss.thin(x, 20, scores=g, target="density", kernel="gaussian", search=0)
    assert by_median.kernel.name == "stein-gaussian"
    with pytest.raises(ValueError, match="marginals cannot be used with target='density'"):
        ss.thin(x, 20, scores=g, target="density", marginals=0.1)
    with pytest.raises(ValueError, match="target='corrected' needs the scores of the rows"):
        ss.thin(x, 20, target="corrected")
    with pytest.raises(ValueError, match="target"):
        ss.thin(x, 20, scores=g, target="posterior")


def test_any_subset_is_judged_against_the_corrected_draws(banana):
    x, g = banana
    result = ss.thin(x, 40, scores=g)
    for found in (
        ss.evaluate(x, result, scores=g),
        ss.evaluate(x, result),
        ss.evaluate(x, x[result.indices], scores=g),
    ):
        assert found.mmd == pytest.approx(result.mmd, rel=1e-6)
    plain = ss.thin(x, 40)
    assert ss.evaluate(x, plain, scores=g).mmd > ss.evaluate(x, plain).mmd
    assert ss.evaluate(x, result, scores=g, target="rows").mmd > result.mmd
    with pytest.raises(ValueError, match=r"supersample\.stein\.ksd"):
        ss.evaluate(x, result, scores=g, target="density")
    assert pickle.loads(pickle.dumps(result)).corrected == result.corrected


def test_whatever_goes_with_rows_goes_with_corrected_ones(banana):
    x, g = banana
    weight = np.random.default_rng(3).gamma(2.0, size=len(x))
    for options in (
        {"weights": "simplex"},
        {"kernel": "laplace", "bandwidth": 2.0},
        {"scale": "pca"},
        {"landmarks": 50},
        {"functions": np.exp(x)},
        {"sample_weight": weight},
        {"groups": x[:, 0] > 0},
        {"include": [3], "exclude": [5]},
        {"max_memory": "1G"},
    ):
        assert len(ss.thin(x, 12, scores=g, **options)) == 12, options
    frame, scores = pd.DataFrame(x, columns=["a", "b"]), pd.DataFrame(g, columns=["a", "b"])
    want = ss.thin(x, 12, scores=g).indices.tolist()
    assert ss.thin(frame, 12, scores=scores[["b", "a"]]).indices.tolist() == want
    with pytest.raises(ValueError, match=r"give scores\.loc"):
        ss.thin(frame, 12, scores=scores.iloc[::-1])
    seen = []
    ss.thin(x, 12, scores=g, progress=lambda phase, done, total: seen.append(phase))
    one, two = (ss.thin(x, 12, scores=g, threads=threads) for threads in (1, 2))
    assert seen and np.array_equal(one._row_weights["sample_weight"], two._row_weights["sample_weight"])
    sampler = ss.SuperSampler(n_samples=12, target="corrected").fit(x, scores=g)
    assert sampler.sample_indices_.tolist() == want
    assert ss.SuperSampler(n_samples=12, target="corrected").fit(x).result_.corrected is None


def test_what_has_no_place_for_scores_refuses_them(banana):
    x, g = banana
    with pytest.raises(ValueError, match="scores cannot be used with rows in batches"):
        ss.thin(iter([x]), 12, scores=g)
    with pytest.raises(ValueError, match="scores cannot be used with rows in batches"):
        ss.thin(x, 12, scores=g, pool_rows=100)
    with pytest.raises(ValueError, match="scores has no effect with gram"):
        ss.thin(gram=np.eye(800), n=12, scores=g)
    with pytest.raises(ValueError, match="scores has shape"):
        ss.thin(x, 12, scores=g[:10])
    with pytest.raises(TypeError, match="scores is a function"):
        ss.thin(x, 12, scores=lambda x: -x)
    array = pytest.importorskip("dask.array")
    with pytest.raises(ValueError, match="scores need all rows in memory"):
        ss.dask.thin(array.from_array(x, chunks=(400, 2)), 12, scores=g)


def test_wrong_scores_are_refused_by_column(banana):
    x, g = banana
    frame = pd.DataFrame(x, columns=["a", "b"])
    rng = np.random.default_rng(1)
    for wrong, message in (
        (
            -g,
            r"column 'a' are not those of its rows: .*\(x - mean\) \* score is .*; they have the sign of a pot",
        ),
        (g * [1, 0], "column 'b' .* is 0.*all of them are 0"),
        (g[:, ::-1], "column 'a' .*they are those of column 'b'"),
        (rng.permutation(g), "in the order of the rows"),
        (4 * g, "they are of another scale, .*target='density' chooses by the scores alone"),
    ):
        with pytest.raises(ValueError, match=message):
            ss.thin(frame, 12, scores=wrong)
    with pytest.warns(ss.SupersampleWarning, match="the scores of column b may not be those of the rows"):
        ss.thin(frame, 12, scores=g * [1, 1.7])
    bad = g.copy()
    bad[7, 1] = np.nan
    with pytest.raises(ValueError, match="score"):
        ss.thin(frame, 12, scores=bad)
    far = rng.normal(1.3, size=(500, 1))
    with pytest.warns(ss.SupersampleWarning, match="not draws of the density .*target='density'"):
        ss.thin(far, 12, scores=-far)


def test_a_posterior_is_corrected_by_its_scores(banana):
    xr = pytest.importorskip("xarray")
    x, g = banana
    chains = {name: (("chain", "draw"), x[:, j].reshape(2, 400)) for j, name in enumerate("ab")}
    data = xr.Dataset(chains)
    scores = xr.Dataset({name: (("chain", "draw"), g[:, j].reshape(2, 400)) for j, name in enumerate("ab")})
    want = ss.thin(x, 12, scores=g).indices.tolist()
    for given in (scores, g, ss.scores.Scored(x, g, ("a", "b"))):
        small, result = ss.arviz.thin(data, 12, scores=given, return_result=True)
        assert result.indices.tolist() == want and small.sizes["draw"] == 12
        assert small.attrs["supersample_corrected_by"] == "products"
    assert "supersample_kernel" not in small.attrs  # it is that of other parameters
    with pytest.raises(ValueError, match="log_density has no effect without scores and target='density'"):
        ss.arviz.thin(data, 12, scores=scores, log_density=x[:, 0])
    with pytest.raises(ValueError, match="scores has 10 draws, but the data have 800"):
        ss.arviz.thin(data, 12, scores=ss.scores.Scored(x[:10], g[:10], ("a", "b")))


@needs_the_command
def test_the_command_corrects_alike(banana, tmp_path):
    x, g = banana
    pd.DataFrame(np.hstack([x, g]), columns=["a", "b", "s_a", "s_b"]).to_csv(tmp_path / "draws.csv", index=False)
    read = pd.read_csv(tmp_path / "draws.csv").to_numpy()
    result = ss.thin(read[:, :2], 20, scores=read[:, 2:])
    words = ["thin", "draws.csv", "--score-prefix", "s_", "-n", "20", "--json", "out.json", "-q", "-o", "out.csv"]
    subprocess.run([os.environ["SUPERSAMPLE"], *words], cwd=tmp_path, check=True)
    found = json.loads((tmp_path / "out.json").read_text())
    assert found["result"]["rows"] == result.indices.tolist()
    assert found["corrected"] == pytest.approx(result.corrected)


def moments(scored):
    """The means of (x - mean) * score, which are -1."""
    return ((scored.draws - scored.draws.mean(0)) * scored.scores).mean(0)


@pytest.mark.filterwarnings("default")
def test_scores_of_a_pymc_model():
    pm = pytest.importorskip("pymc", reason="pymc is not installed")
    seen = np.random.default_rng(1).normal(3, 2, size=(30, 2))
    with pm.Model() as model:
        theta, sd = pm.Normal("theta", 0, 10, shape=2), pm.HalfNormal("sd", 5)
        pm.Uniform("part", 0, 1)
        pm.Normal("seen", theta, sd, observed=seen)
        run = {"chains": 2, "cores": 1, "random_seed": 1, "progressbar": False}
        plain = pm.sample(400, tune=400, **run)
        whole = pm.sample(400, tune=400, idata_kwargs={"include_transformed": True}, **run)
    scored, other = ss.scores.pymc(model, plain), ss.scores.pymc(model, whole)
    assert scored.names[:2] == ("theta[0]", "theta[1]") and scored.draws.shape == (800, 4)
    assert np.allclose(scored.draws, other.draws, atol=1e-5) and np.allclose(
        scored.scores, other.scores, rtol=1e-3, atol=1e-3
    )
    assert np.abs(moments(scored) + 1).max() < 0.5
    assert np.allclose(np.exp(scored.draws[:, 2]), plain.posterior["sd"].to_numpy().reshape(-1), rtol=1e-5)
    small = ss.arviz.thin(plain, 30, scores=scored)
    assert small.posterior.sizes["draw"] == 30


@pytest.mark.filterwarnings("default")
def test_scores_of_a_numpyro_model():
    pytest.importorskip("numpyro", reason="numpyro is not installed")
    import jax
    import numpyro
    import numpyro.distributions as dist
    from numpyro.infer import MCMC, NUTS

    def model(seen):
        theta = numpyro.sample("theta", dist.Normal(0, 10).expand([2]).to_event(1))
        sd = numpyro.sample("sd", dist.HalfNormal(5))
        numpyro.deterministic("double", 2 * sd)
        numpyro.sample("seen", dist.Normal(theta, sd), obs=seen)

    mcmc = MCMC(
        NUTS(model), num_warmup=400, num_samples=400, num_chains=2, chain_method="sequential", progress_bar=False
    )
    mcmc.run(jax.random.key(1), np.random.default_rng(1).normal(3, 2, size=(30, 2)))
    scored = ss.scores.numpyro(model, mcmc)
    assert scored.names == ("sd", "theta[0]", "theta[1]") and scored.draws.shape == (800, 3)
    assert np.allclose(np.exp(scored.draws[:, 0]), mcmc.get_samples()["sd"], rtol=1e-4)
    assert np.abs(moments(scored) + 1).max() < 0.5
    small = ss.thin(scored.draws, 30, scores=scored.scores).take(mcmc.get_samples())
    assert small["double"].shape == (30,)
