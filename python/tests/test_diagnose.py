"""How accurate draws are themselves, and the number of rows that follows from it."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import supersample as ss
import xarray as xr


def chains(phi=0.8, count=4, draws=250, columns=2, seed=0):
    """Autoregressive chains of unit variance."""
    x = np.random.default_rng(seed).normal(size=(count, draws, columns))
    for t in range(1, draws):
        x[:, t] = phi * x[:, t - 1] + (1 - phi * phi) ** 0.5 * x[:, t]
    return x


X = chains()
FLAT = X.reshape(-1, 2)
LABELS = np.repeat(["b", "a", "d", "c"], 250)


def test_chains_are_told_in_any_way():
    expected = ss.diagnose(FLAT, chains=4)
    assert (expected.draws, expected.chains, expected.chains_assumed) == (1000, 4, False)
    assert expected.kernel_ess < 400 and expected.disagreement < 2
    assert str(expected).startswith("all 1,000 draws are as accurate as ")
    frame = pd.DataFrame({"x": FLAT[:, 0], "chain": LABELS, "y": FLAT[:, 1]})
    mixed = frame.iloc[np.arange(1000).reshape(4, 250).T.ravel()]
    dataset = xr.Dataset({"x": (("chain", "draw", "k"), X)})
    for found in (
        ss.diagnose(FLAT, chains=[250] * 4),
        ss.diagnose(FLAT, chains=LABELS),
        ss.diagnose(frame),
        ss.diagnose(mixed),
        ss.diagnose(pl.from_pandas(frame)),
        ss.diagnose(pa.Table.from_pandas(frame)),
        ss.diagnose(frame.rename(columns={"chain": ".chain"})),
        ss.arviz.diagnose(dataset),
        ss.arviz.diagnose({"x": X}),
        ss.arviz.diagnose(dataset.stack(sample=("chain", "draw"))),
    ):
        assert found.chains == 4 and not found.chains_assumed
        assert found.kernel_ess == pytest.approx(expected.kernel_ess, rel=1e-5)
        assert found.disagreement == pytest.approx(expected.disagreement, rel=1e-4)
    one = ss.diagnose(FLAT)
    assert one.chains_assumed and "taken as one chain in this order" in str(one)
    single = ss.diagnose(FLAT, chains=1000)
    assert single.disagreement is None and "taken as independent" in str(single)
    assert single.kernel_ess == pytest.approx(1000, rel=0.01)


def test_results_have_it():
    result = ss.thin(FLAT, 40, chains=4)
    assert result.draws == ss.diagnose(FLAT, chains=4) or result.draws.kernel_ess == pytest.approx(
        ss.diagnose(FLAT, chains=4).kernel_ess, rel=1e-5
    )
    expected = 1 / (1 / result.equivalent_draws + 1 / result.draws.kernel_ess)
    assert (
        result.posterior_draws
        == pytest.approx(expected)
        == pytest.approx(result.draws.of_posterior(result.equivalent_draws))
    )
    assert f"{result.draws}" in repr(result) and " of the posterior" in repr(result)
    assert "of the posterior" in result._repr_html_()
    assert pickle.loads(pickle.dumps(result)).draws == result.draws
    found = ss.evaluate(FLAT, result, chains=4)
    assert found.posterior_draws == pytest.approx(result.posterior_draws, rel=1e-3)
    assert "of the posterior" in repr(found)
    small = ss.arviz.thin(xr.Dataset({"x": (("chain", "draw", "k"), X)}), 40)
    assert small.attrs["supersample_posterior_draws"] == pytest.approx(result.posterior_draws, rel=1e-3)
    # What was chosen is in no order of sampling.
    assert ss.arviz.diagnose(small).chains_assumed
    assert ss.thin(gram=np.exp(-0.5 * ((FLAT[:50, None] - FLAT[None, :50]) ** 2).sum(-1)), n=5).draws is None


def test_chains_that_disagree_are_warned_of():
    apart = X + 4 * np.array([0, 1, 0, 1])[:, None, None]
    with pytest.warns(ss.SupersampleWarning, match="the 4 chains disagree: they differ"):
        found = ss.diagnose(apart.reshape(-1, 2), chains=4)
    assert found.disagreement > 10
    with pytest.warns(ss.SupersampleWarning, match="chains disagree"):
        ss.thin(apart.reshape(-1, 2), 20, chains=4)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (3, "1000 rows do not make 3 chains of equal length"),
        (0, "chains is 0; give at least 1"),
        (2.5, "chains is 2.5; give a whole number"),
        ([500, 400], "the chains have 900 draws together, and there are 1000 rows"),
        ([500, 0, 500], "chain 1, counted from 0, has no draws"),
        ([[500, 500]], "chains has shape"),
        (["a", "b"], "chains has 2 labels, but there are 1,000 rows"),
        (np.where(np.arange(1000) == 7, np.nan, 1.0), "chains has no label in row 7"),
        (np.array([None if i == 3 else "a" for i in range(1000)], dtype=object), "chains has no label in row 3"),
    ],
)
def test_what_makes_no_chains_is_refused(given, said):
    for function in (ss.diagnose, lambda x, **options: ss.thin(x, 5, **options)):
        with pytest.raises((TypeError, ValueError), match=said):
            function(FLAT, chains=given)


def test_what_cannot_be_said_is_refused():
    for x in (np.ones((1, 2)), np.ones((20, 2))):
        with pytest.raises(ValueError, match="how accurate the draws themselves are is not known"):
            ss.diagnose(x)
    with pytest.raises(ValueError, match="chains needs all rows in memory"):
        ss.thin(iter([FLAT]), 5, chains=4)
    with pytest.raises(ValueError, match="chains has no effect with gram"):
        ss.thin(gram=np.eye(4), n=2, chains=2)
    frame = pd.DataFrame({"x": FLAT[:, 0], "chain": np.where(np.arange(1000) == 7, np.nan, 1.0)})
    with pytest.warns(
        ss.SupersampleWarning, match="no label in row 7; give every row its chain; the rows are taken as"
    ):
        assert ss.diagnose(frame).chains_assumed


def test_the_number_of_rows_can_follow():
    enough = ss.thin(FLAT, "auto", chains=4, search=0)
    assert enough.ended == "enough" and 4 < len(enough) < 400
    assert len(ss.thin(FLAT, "auto", chains=4, add=0.5, search=0)) < len(enough)
    assert enough.equivalent_draws > enough.draws.kernel_ess / 0.21
    small = ss.arviz.thin(xr.Dataset({"x": (("chain", "draw", "k"), X)}), "auto", search=0)
    assert small.sizes["draw"] == len(enough)
    weight = np.random.default_rng(1).gamma(1.0, size=1000)
    weighted = ss.thin(FLAT, "auto", sample_weight=weight, search=0)
    assert weighted.ended == "enough"
    for options, said in (
        ({"tol": 0.1}, "n='auto' cannot be used with a tolerance"),
        ({"groups": LABELS, "quotas": 3}, "the number of rows is fixed by quotas"),
        ({"add": -1}, "add is -1; give a positive part"),
        ({"pool_rows": 100}, "needs all rows in memory"),
    ):
        with pytest.raises(ValueError, match=said):
            ss.thin(FLAT, "auto", **options)
    with pytest.raises(ValueError, match="n='auto' cannot be used with a herded sequence"):
        ss.herd(FLAT, "auto")
    with pytest.raises(ValueError, match="n='auto' cannot be used with a Gram matrix"):
        ss.thin(gram=np.eye(6), n="auto")
    with pytest.raises(ValueError, match="add cannot be used with a size other than auto"):
        ss.thin(FLAT, 10, add=0.1)
    with pytest.raises(TypeError, match="n is 'many'"):
        ss.thin(FLAT, "many")
