"""Stop rules, sets, constraints, warnings, views and plots."""

import math
import re

import matplotlib
import numpy as np
import pandas as pd
import pytest
import supersample as ss

matplotlib.use("Agg")
import matplotlib.pyplot as plt

X = np.random.default_rng(0).normal(size=(800, 3)) * [1, 4, 0.3]


@pytest.fixture(autouse=True)
def no_figures_left():
    yield
    plt.close("all")


def test_stop_rules():
    all_errors = ss.herd(X, 200).error
    first = lambda e: 1 + int(np.argmax(all_errors <= e))
    by_tol = ss.herd(X, tol=0.05)
    assert (len(by_tol), by_tol.ended) == (first(0.05), "tolerance")
    single = by_tol.equivalent_draws * by_tol.mmd**2
    by_draws = ss.herd(X, equivalent_draws=500)
    assert (len(by_draws), by_draws.ended) == (first(math.sqrt(single / 500)), "equivalent_draws")
    assert by_draws.equivalent_draws >= 500
    assert ss.herd(X, 7).ended == "number"
    with pytest.warns(ss.SupersampleWarning, match="50 rows were asked for, but there are only 20 rows"):
        everything = ss.herd(X[:20], 50, unique=True)
    assert (len(everything), everything.ended) == (20, "exhausted")
    with pytest.warns(ss.SupersampleWarning, match="an MMD of 0.001 was not reached with 5 points"):
        assert ss.herd(X, 5, tol=0.001).ended == "number"
    with pytest.warns(ss.SupersampleWarning, match="neither an MMD of 0.0001 nor a goal of 1e9 equivalent draws"):
        ss.herd(X, 5, tol=0.0001, equivalent_draws=1e9)


def test_thin_is_better_than_herding_and_needs_fewer_rows():
    herded, thinned = ss.herd(X, 30, unique=True), ss.thin(X, 30)
    assert thinned.mmd < 0.9 * herded.mmd
    assert len(set(thinned.indices.tolist())) == 30
    few = ss.thin(X, tol=0.03)
    assert few.mmd <= 0.03 and few.ended == "tolerance" and len(few) < len(ss.herd(X, tol=0.03, unique=True))
    assert ss.thin(X, equivalent_draws=500).equivalent_draws >= 500
    thorough = ss.thin(X, 30, search=40)
    assert thorough.mmd <= ss.thin(X, 30, search=0).mmd
    seeds = [ss.thin(X, 30, search=10, seed=seed).indices.tolist() for seed in (0, 0, 1)]
    assert seeds[0] == seeds[1] != seeds[2]
    with pytest.warns(ss.SupersampleWarning, match="50 rows were asked for, but there are only 20 rows"):
        everything = ss.thin(X[:20], 50)
    assert (len(everything), everything.ended) == (20, "exhausted")
    assert len(ss.thin(X[:20], 50, repeats=True)) == 50


def test_a_refined_result_says_what_swaps_and_search_have_gained():
    result = ss.thin(X, 30, marginals=0, moments=0)
    story = result.refinement
    assert story.mmd_before == pytest.approx(ss.herd(X, 30, unique=True).mmd, rel=1e-9)
    assert story.mmd_before > story.mmd_swapped > story.mmd_searched == pytest.approx(result.mmd, rel=1e-9)
    assert story.herded and story.converged and story.kernel_rows > story.swaps >= story.sweeps > 0
    assert f"MMD {story}" in repr(result) and str(story) in result._repr_html_()
    assert re.fullmatch(
        r"0\.\d+ \(herding\) → 0\.\d+ \(swaps\) → 0\.\d+ \(search\); \d+ swaps in \d+ sweeps", str(story)
    )
    both = ss.thin(X, 30)
    start = both.refinement.mmd_before
    assert start == pytest.approx(ss.herd(X, 30, unique=True, marginals=0.1, moments=0.08).mmd, rel=1e-9)
    stages = list(both.refinement.objective.values())
    assert stages == sorted(stages, reverse=True) and "; objective 0." in repr(both)
    plain = ss.thin(X, 30, search=0)
    assert plain.refinement.mmd_searched is None and "(search)" not in repr(plain)
    assert plain.refinement.mmd_swapped == pytest.approx(plain.mmd, rel=1e-9)
    few = ss.thin(X, tol=0.03).refinement
    assert not few.herded and re.match(r"0\.\d+ \(start\) → ", str(few))
    assert ss.herd(X, 30).refinement is None


def test_rows_without_weight_are_never_chosen():
    import supersample.arviz
    import xarray as xr

    # A hard constraint: nothing near the middle, where most of the rows are.
    x = np.random.default_rng(4).normal(size=(600, 1))
    allowed = np.abs(x[:, 0]) >= 1.5
    weights = allowed.astype(float)
    with np.errstate(divide="ignore"):
        logs = np.log(weights)
    posterior = xr.Dataset({"a": (("chain", "draw"), x.reshape(2, 300))})
    count = int(allowed.sum())
    assert 20 < count < 150
    for option in ({"sample_weight": weights}, {"log_weight": logs}):
        herder = ss.Herder(x, unique=True, **option)
        chosen = [
            ss.herd(x, 40, **option).indices,
            ss.thin(x, 20, **option).indices,
            ss.thin(x, 20, include=[int(np.flatnonzero(allowed)[3])], **option).indices,
            ss.thin(x, tol=0.02, **option).indices,
            np.array([pick.index for pick in herder]),
            supersample.arviz.thin(posterior, 20, return_result=True, **option)[1].indices,
            ss.SuperSampler(20).fit(x, **option).sample_indices_,
        ]
        assert all(allowed[rows].all() for rows in chosen)
        assert len(herder) == count
        with pytest.warns(ss.SupersampleWarning, match=f"500 rows were asked for, but there are only {count} rows"):
            assert len(ss.thin(x, 500, **option)) == count
    # Rows that must be in are, whatever they weigh.
    outside = int(np.flatnonzero(~allowed)[0])
    assert outside in ss.thin(x, 20, include=[outside], sample_weight=weights).indices


def test_columns_can_be_scaled_by_what_wild_values_do_not_move():
    wild = np.vstack([X, np.full((3, 3), 1e6)])
    plain = ss.thin(X, 20, scale="mad")
    assert ss.thin(wild, 20, scale="mad", exclude=[800, 801, 802]).kernel.bandwidth == pytest.approx(
        plain.kernel.bandwidth, rel=0.05
    )
    assert "columns divided by 1.4826 × the median absolute deviation" in repr(plain)
    mostly_zero = np.column_stack([X, np.where(np.arange(800) < 700, 0.0, X[:, 0])])
    with pytest.warns(ss.SupersampleWarning, match="half of the values are equal in column 3; scaled to unit sd"):
        ss.herd(mostly_zero, 3, scale="mad")
    with pytest.warns(ss.SupersampleWarning, match="half of the values are equal in column d; scaled to unit sd"):
        ss.herd(pd.DataFrame(mostly_zero, columns=list("abcd")), 3, scale="mad")


def test_weights_that_cannot_be_found_are_equal_with_a_warning():
    x = np.random.default_rng(0).normal(size=(6000, 1))
    with pytest.warns(ss.SupersampleWarning, match="at most 5,000 points, but 5,001 were chosen"):
        result = ss.herd(x, 5001, weights="simplex")
    assert np.all(result.weights == 1 / 5001) and result.mmd == result.error[-1]


def test_rows_can_be_included_and_excluded():
    chosen = ss.thin(X, 10, include=[3, 5], exclude=np.arange(800) > 400).indices
    assert {3, 5} <= set(chosen.tolist()) and chosen.max() <= 400
    for options, words in [
        ({"include": [-1]}, "row -1; rows are numbered from 0"),
        ({"include": [800]}, "include has the row 800, but x has 800 rows"),
        ({"include": [3], "exclude": [3]}, "row 3 is in both include and exclude"),
        ({"exclude": np.ones(5, dtype=bool)}, "a mask of shape (5,) for 800 rows"),
    ]:
        with pytest.raises(ValueError, match=re.escape(words)):
            ss.thin(X, 10, **options)
    with pytest.raises(TypeError, match="a list of row numbers or a mask"):
        ss.thin(X, 10, include=[0.5])


def test_groups_and_quotas():
    label = np.where(X[:, 0] > 0.5, "high", "low")
    share = (label == "high").mean()
    counts = lambda result: int((label[result.indices] == "high").sum())
    assert abs(counts(ss.thin(X, 40, groups=label)) - 40 * share) <= 1
    assert counts(ss.thin(X, groups=label, quotas=7)) == 7
    assert counts(ss.thin(X, groups=label, quotas={"high": 2, "low": 9})) == 2
    assert counts(ss.thin(X, 11, groups=label, quotas=[9, 2])) == 9
    for options, words in [
        ({"quotas": 3}, "no effect without groups"),
        ({"groups": label, "quotas": {"huge": 3}}, "there is no group 'huge'"),
        (
            {"groups": label, "quotas": [1, 2, 3]},
            "3 quotas were given for 2 groups; give one for each of ['high', 'low']",
        ),
        ({"groups": label[:5]}, "groups has 5 labels, but there are 800 rows"),
        ({"groups": label, "quotas": [3, 3]}, "the quotas add up to 6, but n is 10"),
    ]:
        with pytest.raises(ValueError, match=re.escape(words)):
            ss.thin(X, 10, **options)


def test_weights_of_rows_are_as_rows_that_repeat():
    weights = np.random.default_rng(1).integers(1, 5, size=len(X))
    repeated = np.repeat(X, weights, axis=0)
    options = {"bandwidth": 1.0, "precision": "double"}
    weighted, plain = ss.herd(X, 20, sample_weight=weights, **options), ss.herd(repeated, 20, **options)
    np.testing.assert_allclose(weighted.points, plain.points)
    np.testing.assert_allclose(weighted.error, plain.error, atol=1e-9)
    assert ss.mmd(X, X[:9], sample_weight=weights, **{"bandwidth": 1.0}) == pytest.approx(
        ss.mmd(repeated, X[:9], bandwidth=1.0), abs=1e-9
    )


def test_numbers_are_printed_as_the_command_prints_them():
    from supersample._numbers import counted, ordinal, significant, with_error, with_spread

    shown = [significant(value) for value in (0, 0.0071234, 999.7, 12_345.6, 1.5e15, 1.234e-5, np.inf, np.float32(0.5))]
    assert shown == ["0", "0.00712", "1,000", "12,300", "1.50e15", "1.23e-5", "inf", "0.500"]
    assert with_error(0.002219, 1.1e-6) == "0.00222 ± 1e-6"
    assert with_spread(0.07021, 0.00461) == "0.0702 ± 0.0046"
    assert (ordinal(np.int64(4001)), counted(1, "row"), counted(4000, "row")) == ("4,001st", "1 row", "4,000 rows")


def test_warnings_of_kernels_weights_and_columns():
    for options, words in [
        ({"bandwidth": 1e3}, "nearly constant.*; try bandwidth='median'"),
        ({"bandwidth": 1e9}, "nearly constant"),
        ({"bandwidth": 1e-4}, "nearly diagonal"),
        (
            {"sample_weight": np.r_[1.0, np.full(799, 1e-9)]},
            "very uneven: the effective sample size of the rows is 1.00",
        ),
    ]:
        with pytest.warns(ss.SupersampleWarning, match=words):
            ss.herd(X, 3, **options)
        herder = ss.Herder(X, **options)
        with pytest.warns(ss.SupersampleWarning, match=words):
            herder.run(2)
        herder.run(2)  # It has been said.
    ss.herd(X[:5], 2, sample_weight=[1.0, 2.0, 1.0, 2.0, 1.0])  # Few rows, and not uneven.
    with pytest.warns(ss.SupersampleWarning, match="1 of 4 directions have no variance of their own and were dropped"):
        ss.herd(np.column_stack([X, X[:, 0]]), 3, scale="pca")


def test_as_many_lengths_as_columns_are_doubted():
    for function in (lambda **options: ss.thin(X, 3, **options), lambda **options: ss.mmd(X, X[:5], **options)):
        with pytest.warns(
            ss.SupersampleWarning, match="a length does not belong to a column: the kernel is the mean of 3"
        ):
            function(bandwidth=[0.5, 1.0, 2.0])
        function(bandwidth=[0.5, 1.0])
        function(kernel=ss.Gaussian((0.5, 1.0, 2.0)))


def test_warnings_point_to_the_line_of_the_caller():
    import warnings

    import supersample.arviz
    import xarray as xr

    posterior = xr.Dataset({"a": (("chain", "draw", "k"), X.reshape(2, 400, 3))})
    mixture = ss.GaussianMixture([1], [[0.0]], [[[1.0]]])
    calls = [
        lambda: ss.herd(X, 2, tol=1e-6),
        lambda: ss.thin(X, 2, tol=1e-6),
        lambda: next(ss.Herder(X, bandwidth=1e3)),
        lambda: ss.sample(mixture, 2, tol=1e-6),
        lambda: ss.evaluate(X, X[:5], bandwidth=[1, 2, 3]),
        lambda: supersample.arviz.thin(posterior, 2, tol=1e-6),
        lambda: supersample.arviz.herd(posterior, 2, tol=1e-6),
        lambda: ss.SuperSampler(2, bandwidth=1e3).fit(X),
    ]
    for call in calls:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call()
        assert [(warning.category, warning.filename) for warning in caught] == [(ss.SupersampleWarning, __file__)]


def test_constant_data_are_no_reason_to_panic():
    for function in (ss.herd, ss.thin):
        result = function(np.ones((30, 2)), 4)
        assert result.mmd == 0 and result.equivalent_draws is None
    assert len(ss.herd([[1.0]], 3)) == 3


def test_evaluation_says_what_the_result_says():
    result = ss.thin(X, 25)
    found = ss.evaluate(X, result)
    assert found.mmd == pytest.approx(result.mmd, rel=1e-6) and found.equivalent_draws == pytest.approx(
        result.equivalent_draws, rel=1e-5
    )
    assert found.random.shape == (20,) and found.mmd < found.random.min() and found.mmd < found.spaced_errors["mmd"]
    np.testing.assert_allclose(found.mean_error, (result.points.mean(0) - X.mean(0)) / X.std(0), atol=1e-12)
    np.testing.assert_allclose(found.sd_error, result.points.std(0) / X.std(0) - 1, atol=1e-12)
    assert found.spaced_errors["mmd"] == pytest.approx(ss.mmd(X, X[::32]), rel=1e-9)
    assert found.errors["mean"] == pytest.approx(np.sqrt(np.mean(found.mean_error**2)))
    assert found.errors["correlation"] < found.random_errors["correlation"]
    assert found.spaced_errors["sd"] == pytest.approx(np.sqrt(np.mean((X[::32].std(0) / X.std(0) - 1) ** 2)))
    own = ss.evaluate(X, X)
    assert own.mmd < 1e-7 and own.random is None and own.spaced_errors is None and own.random_errors is None
    assert np.abs(own.mean_error).max() < 1e-12
    signed = ss.herd(X, 25, weights="signed")
    assert ss.evaluate(X, signed).mmd == pytest.approx(signed.mmd, rel=1e-6)
    frame = pd.DataFrame(X, columns=["mu", "tau", "theta"])
    assert "(tau" in repr(ss.evaluate(frame, X[X[:, 1] > 0]))
    with pytest.raises(ValueError, match="subset_weight has no effect on a Result"):
        ss.mmd(X, result, subset_weight=np.ones(25))
    with pytest.raises(ValueError, match="their sum must be positive"):
        ss.mmd(X, X[:2], subset_weight=[1.0, -1.0])
    with pytest.raises(ValueError, match="the subset has dimension 2, but dimension 3 is needed"):
        ss.evaluate(X, X[:, :2])


def test_repr_and_notebook_view():
    result = ss.herd(pd.DataFrame(X, columns=["<mu>", "tau", "theta"]), 40)
    assert repr(result).startswith("Result: 40 of 800 rows")
    assert re.search(r"equivalent to [\d,.]+ draws of these 800 rows", repr(result))
    assert "draws of these 800 rows" in repr(ss.evaluate(X, result.points)) and "iid" not in repr(result)
    # Nothing but rounding tells these from all rows.
    everything = ss.thin(X[:50], 50)
    assert "as good as all 50 rows" in repr(everything) and "e1" not in repr(everything)
    assert "as good as all" in repr(ss.evaluate(X[:50], everything.points))
    view = ss.evaluate(pd.DataFrame(X, columns=["<mu>", "<mu>2", "<mu>3"]), X[:9])._repr_html_()
    assert "random 9 rows" in view and "&lt;mu&gt;" in view and "<mu>" not in view
    html = result._repr_html_()
    assert "&lt;mu&gt;" in html and "<mu>" not in html and "<svg" in html and "script" not in html
    assert "<svg" not in ss.herd(X, 2)._repr_html_()
    assert "with unequal weights" in repr(ss.herd(X, 10, weights="simplex"))
    assert "times among 4 rows" in repr(ss.herd(X[:4], 10))
    assert "kernel linear" not in repr(ss.herd(X, 3, kernel="linear")) and "linear kernel" in repr(
        ss.herd(X, 3, kernel="linear")
    )
    assert repr(ss.Herder(X, bandwidth=1.5)) == "<Herder of 800 rows, gaussian(1.5) kernel, 0 picks>"


def test_plots_show_rows_by_their_weights():
    weights = np.where(X[:, 0] > 0, 1.0, 1e-9)
    grey, _ = ss.thin(X, 20, sample_weight=weights).plot_marginals()[0].lines
    assert (grey.get_xdata() > 0).mean() > 0.99


def test_plots_return_axes_with_ink():
    result = ss.thin(X, 40)
    axes = result.plot_error()
    grey, own = result.plot_marginals()[0].lines
    np.testing.assert_array_equal(own.get_xdata(), np.sort(result.points[:, 0]))
    np.testing.assert_array_equal(grey.get_xdata(), np.sort(X[:, 0]))
    assert own.get_ydata()[-1] == pytest.approx(1) and own.get_ydata()[0] == pytest.approx(1 / 40)
    assert axes.get_xscale() == "log" and len(axes.lines) == 2
    assert result.plot_error(ax=axes) is axes
    marginals = result.plot_marginals()
    assert marginals.shape == (3,) and all(len(ax.lines) == 2 for ax in marginals)
    pairs = result.plot_pairs(columns=["x1", 2])
    assert pairs.shape == (2, 2) and len(pairs[1, 0].collections) == 2
    with pytest.raises(ValueError, match="there is no column 'mu'"):
        result.plot_pairs(columns="mu")
    with pytest.raises(ValueError, match="there is no column 3; 3 are numbered from 0"):
        result.plot_pairs(columns=[3])
    import pickle

    again = pickle.loads(pickle.dumps(result))
    with pytest.raises(ValueError, match="give them as data"):
        again.plot_pairs()
    assert again.plot_pairs(X).shape == (3, 3)
    placed = ss.sample(ss.GaussianMixture([1], [[0.0, 0.0]], [np.eye(2)]), 30)
    assert placed.plot_pairs().shape == (2, 2) and placed.plot_error() is not None


def test_mixtures(tmp_path):
    mixture = ss.GaussianMixture([1, 3], [[-2.0, 0.0], [2.0, 1.0]], [[[1, 0.5], [0.5, 1]], [[0.3, 0], [0, 0.3]]])
    for name in ("m.toml", "m.json"):
        mixture.write(tmp_path / name)
        assert ss.GaussianMixture.read(tmp_path / name) == mixture
    draws = mixture.draw(50_000, seed=3)
    np.testing.assert_allclose(draws.mean(0), mixture.weights @ mixture.means, atol=0.03)
    result = ss.sample(mixture, 40)
    np.testing.assert_allclose(result.points.mean(0), mixture.weights @ mixture.means, atol=0.1)
    assert ss.sample(mixture, 40, weights="signed").mmd < ss.sample(mixture, 40, weights="simplex").mmd < result.mmd
    assert ss.sample(mixture, 200, equivalent_draws=200).ended == "equivalent_draws"
    grid = np.stack(np.meshgrid(np.linspace(-8, 8, 161), np.linspace(-8, 8, 161)), -1).reshape(-1, 2)
    assert mixture.density(grid).sum() * 0.01 == pytest.approx(1, abs=1e-6)
    (tmp_path / "bad.toml").write_text("[[component]]\nweight = 1\n")
    with pytest.raises(ValueError, match=r"bad\.toml"):
        ss.GaussianMixture.read(tmp_path / "bad.toml")
    for error, path in [(FileNotFoundError, tmp_path / "none.toml"), (OSError, tmp_path)]:
        with pytest.raises(error):
            ss.GaussianMixture.read(path)
    for words, arguments in [
        ("not positive definite", ([1], [[0.0, 0.0]], [[[1, 1], [1, 1]]])),
        ("give one square matrix", ([1], [[0.0, 0.0]], [[1, 1]])),
        ("2 weights were given for 1 components", ([1, 1], [[0.0]], [[[1.0]]])),
    ]:
        with pytest.raises(ValueError, match=words):
            ss.GaussianMixture(*arguments)
    with pytest.raises(ValueError, match="no closed form with the imq kernel"):
        ss.sample(mixture, 3, kernel="imq")
    with pytest.raises(TypeError, match="give a GaussianMixture"):
        ss.sample(X, 3)
