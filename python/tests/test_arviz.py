"""Posteriors of a real sampler, thinned with all their groups."""

import warnings
from pathlib import Path

import numpy as np
import pytest
import supersample as ss
import supersample.arviz as ssaz
import xarray as xr

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import arviz as az

# Made by NumPyro: see eight_schools.py beside it.
FILE = Path(__file__).parent / "data" / "eight_schools.nc"
BY = ["mu", "tau", "theta"]


def inference_data():
    return az.from_netcdf(str(FILE))


def tree():
    with xr.open_datatree(FILE, engine="h5netcdf") as data:
        return data.load()


def group(data, name):
    return data[name].to_dataset() if isinstance(data, xr.DataTree) else data[name]


def groups(data):
    return list(data.children) if isinstance(data, xr.DataTree) else list(data.groups())


# From ArviZ 1 on both are the same.
@pytest.fixture(params=[inference_data, tree], ids=["ArviZ", "DataTree"])
def posterior(request):
    return request.param()


def test_all_groups_are_cut_to_the_same_draws(posterior):
    small = ssaz.thin(posterior, 100, var_names=BY)
    assert type(small) is type(posterior) and sorted(groups(small)) == sorted(groups(posterior))
    chain, draw = (group(small, "posterior")[f"source_{dim}"].values for dim in ("chain", "draw"))
    assert len(set(zip(chain, draw))) == 100
    for name in ("posterior", "sample_stats", "posterior_predictive", "log_likelihood"):
        whole, part = group(posterior, name), group(small, name)
        assert part.sizes["chain"] == 1 and part.sizes["draw"] == 100
        for key, variable in whole.data_vars.items():
            picked = np.stack([variable.sel(chain=c, draw=d).values for c, d in zip(chain, draw)])
            np.testing.assert_array_equal(part[key].values[0], picked)
            assert part[key].dims == variable.dims and part[key].attrs == variable.attrs
        kept = {key: value for key, value in part.attrs.items() if not key.startswith("supersample_")}
        assert kept == whole.attrs and (name == "posterior") == (len(kept) < len(part.attrs))
    assert list(group(small, "posterior")["school"].values) == list("ABCDEFGH")
    for name in ("observed_data", "prior", "prior_predictive"):
        assert group(small, name).identical(group(posterior, name))
    assert posterior.attrs == small.attrs


def test_the_draws_are_those_of_the_matrix(posterior):
    values, names = ssaz.matrix(posterior, var_names=BY)
    assert values.shape == (720, 10) and names[:3] == ("mu", "tau", "theta[A]")
    expected = ss.thin(values, 30)
    cut = ssaz.thin(posterior, 30, var_names=BY)
    small, _ = ssaz.matrix(cut, var_names=BY)
    np.testing.assert_array_equal(small, expected.points)
    herded, _ = ssaz.matrix(ssaz.herd(posterior, 30, var_names=BY), var_names=BY)
    np.testing.assert_array_equal(herded, ss.herd(values, 30, unique=True).points)
    assert group(ssaz.take(posterior, expected.indices), "posterior").equals(group(cut, "posterior"))


def test_saved_loaded_and_summarised(posterior, tmp_path):
    small = ssaz.thin(posterior, 100, var_names=BY)
    path = tmp_path / "small.nc"
    if isinstance(small, xr.DataTree):
        small.to_netcdf(path, engine="h5netcdf")
        with xr.open_datatree(path, engine="h5netcdf") as opened:
            again = opened.load()
    else:
        small.to_netcdf(str(path), engine="h5netcdf")
        again = az.from_netcdf(str(path))
    assert group(again, "posterior").equals(group(small, "posterior"))
    options = {"var_names": BY, "round_to": "none"}
    whole, part = (
        az.summary(group(data, "posterior"), kind="stats", **options).astype(float) for data in (posterior, again)
    )
    assert (abs(part["mean"] - whole["mean"]) < 0.12 * whole["sd"]).all()
    assert (abs(part["sd"] / whole["sd"] - 1) < 0.2).all()
    # As many draws at random are three times as far off.
    assert np.abs(part["mean"] - whole["mean"]).max() < 0.5 * (whole["sd"] / np.sqrt(100)).max()


def test_newer_arviz_reads_and_summarises_the_tree(tmp_path):
    base, stats = pytest.importorskip("arviz_base"), pytest.importorskip("arviz_stats")
    rng = np.random.default_rng(0)
    data = base.from_dict({"posterior": {"mu": rng.normal(size=(4, 200)), "theta": rng.normal(size=(4, 200, 3))}})
    small = ssaz.thin(data, 50)
    assert isinstance(small, xr.DataTree) and small["posterior"].sizes["draw"] == 50
    small.to_netcdf(tmp_path / "small.nc", engine="h5netcdf")
    with xr.open_datatree(tmp_path / "small.nc", engine="h5netcdf") as again:
        summary = stats.summary(again.load(), kind="stats", round_to="none")
    assert len(summary) == 4 and (abs(summary["mean"].astype(float)) < 0.2).all()


def test_equal_parts_of_all_chains_weights_and_other_groups(posterior):
    small = group(ssaz.thin(posterior, 40, var_names=BY, groups="chain"), "posterior")
    assert np.bincount(small["source_chain"].values).tolist() == [10, 10, 10, 10]
    weights = np.zeros((4, 180))
    weights[2, 80:] = 1.0
    few = group(ssaz.herd(posterior, 5, var_names="mu", sample_weight=weights), "posterior")
    assert few["mu"].shape == (1, 5)
    prior = ssaz.thin(posterior, 20, group="prior", var_names=["mu", "tau"], bandwidth=1.0)
    assert group(prior, "prior").sizes["draw"] == 20 == group(prior, "prior_predictive").sizes["draw"]
    assert group(prior, "posterior").sizes["draw"] == 180


def test_datasets_odd_dimensions_and_variables_without_draws():
    rng = np.random.default_rng(0)
    dataset = xr.Dataset(
        {
            "a": (("x", "draw", "chain"), rng.normal(size=(2, 50, 3))),
            "n": ("x", [1, 2]),
            "name": (("chain", "draw"), np.full((3, 50), "s")),
        },
        coords={"chain": [5, 6, 7], "draw": np.arange(100, 150)},
    )
    small = ssaz.thin(dataset, 10, var_names="~name")
    assert isinstance(small, xr.Dataset) and dict(small.sizes) == {"chain": 1, "draw": 10, "x": 2}
    assert set(small["source_chain"].values) <= {5, 6, 7} and small["source_draw"].values.min() >= 100
    assert small["n"].dims == ("x",) and small["name"].shape == (1, 10)


def test_what_cannot_be_thinned_is_refused_in_words(posterior):
    for arguments, kind, words in [
        ({"var_names": ["nu"]}, ValueError, "there is no variable 'nu' with draws; there are"),
        ({"group": "posteriors"}, ValueError, "there is no group 'posteriors'; there are"),
        ({"group": "observed_data"}, ValueError, "has no dimension 'chain'"),
        ({"kernel": "rbf"}, ValueError, "not a kernel; choose gaussian"),
        ({"bandwith": 1.0}, TypeError, "bandwith"),
    ]:
        with pytest.raises(kind, match=words):
            ssaz.thin(posterior, 10, **arguments)
    with pytest.raises(TypeError, match="give InferenceData, a DataTree or a Dataset"):
        ssaz.thin(np.zeros((4, 100)), 10)
    for draws, kind, words in [
        ([5, 720, 3], ValueError, "draw 720 is not there"),
        ([5, -1, 900], ValueError, "the row -1; rows are numbered from 0"),
        ([1.7], TypeError, "a list of row numbers or a mask"),
        ([], ValueError, "at least one draw"),
        (np.ones((4, 100), dtype=bool), ValueError, r"the mask has shape \(4, 100\)"),
        (ss.thin(np.zeros((9, 1)), 2), ValueError, "was chosen from 9 draws, but there are 720"),
    ]:
        with pytest.raises(kind, match=words):
            ssaz.take(posterior, draws)
    with pytest.raises(ValueError, match="groups is 'school'; give 'chain'"):
        ssaz.thin(posterior, 10, var_names=BY, groups="school")
    bad = group(posterior, "posterior").copy(deep=True)
    bad["theta"].values[1, 2, 3] = np.nan
    with pytest.raises(ValueError, match=r"row 182, column 'theta\[D\]' of x is NaN"):
        ssaz.thin(bad, 10, var_names=BY)
    text = bad.assign(label=(("chain", "draw"), np.full((4, 180), "s")))
    with pytest.raises(TypeError, match="variable 'label' holds"):
        ssaz.thin(text, 10)


def test_a_group_of_a_tree_and_what_extract_returns_are_thinned_too():
    data = tree()
    expected = group(ssaz.thin(data, 20, var_names=BY), "posterior")
    node = ssaz.thin(data["posterior"], 20, var_names=BY)
    assert isinstance(node, xr.DataTree) and node.name == "posterior" and node.to_dataset().identical(expected)
    whole = data["posterior"].to_dataset()
    stacked = whole.stack(sample=("chain", "draw"))
    small = ssaz.thin(stacked, 20, var_names=BY)
    assert dict(small.sizes) == {"sample": 20, "school": 8}
    np.testing.assert_array_equal(small["mu"].values, expected["mu"].values[0])
    np.testing.assert_array_equal(small["chain"].values, expected["source_chain"].values)
    np.testing.assert_array_equal(small["draw"].values, expected["source_draw"].values)
    assert ssaz.matrix(stacked)[1] == ssaz.matrix(whole)[1]
    by_chain = ssaz.thin(stacked, 20, var_names=BY, groups="chain")
    assert np.bincount(by_chain["chain"].values).tolist() == [5, 5, 5, 5]
    array = ssaz.thin(stacked["theta"], 20)
    assert isinstance(array, xr.DataArray) and array.name == "theta" and array.sizes == {"school": 8, "sample": 20}
    assert ssaz.evaluate(stacked["theta"], array).mmd == pytest.approx(array.attrs["supersample_mmd"], rel=1e-6)
    assert "supersample_mmd" not in ssaz.take(array, [0, 1]).attrs
    if hasattr(az, "extract"):
        again = ssaz.thin(az.extract(inference_data()), 20, var_names=BY)
        np.testing.assert_array_equal(again["mu"].values, small["mu"].values)


def test_dicts_of_arrays_by_chain():
    whole = tree()["posterior"].to_dataset()
    samples = {name: whole[name].values for name in BY}
    expected = ssaz.thin(whole, 20, var_names=BY)
    small, result = ssaz.thin(samples, 20, return_result=True)
    assert list(small) == BY and small["theta"].shape == (1, 20, 8)
    np.testing.assert_array_equal(small["theta"], expected["theta"].values)
    assert result.names[:3] == ("mu", "tau", "theta[0]")
    for bad in ({"mu": samples["mu"][0]}, {"mu": samples["mu"].T}, {}, {**samples, "x": np.zeros((4, 9))}):
        with pytest.raises(ValueError, match=r"must all be of shape \(chain, draw, …\)"):
            ssaz.thin(bad, 5)
    with pytest.raises(ValueError, match="use return_result=True"):
        ssaz.thin(samples, 5, weights="simplex")


def test_optimal_weights_are_kept_with_the_draws(posterior, tmp_path):
    for rule in ("simplex", "signed"):
        small, result = ssaz.thin(posterior, 30, var_names=BY, weights=rule, return_result=True)
        for name in ("posterior", "log_likelihood"):
            np.testing.assert_array_equal(group(small, name)["weight"].values, result.weights)
        found = ssaz.evaluate(posterior, small)
        assert found.mmd == pytest.approx(result.mmd, rel=1e-6)
        assert found.mmd < ssaz.evaluate(posterior, small, subset_weight=np.ones(30)).mmd
    assert "weight" not in group(ssaz.thin(posterior, 30, var_names=BY), "posterior").coords
    # They are the weights of the draws when these are thinned again, and gone when draws are taken.
    simplex = ssaz.thin(posterior, 30, var_names=BY, weights="simplex")
    twice, result = ssaz.thin(simplex, 5, var_names=BY, return_result=True)
    assert result.weighted and "weight" not in group(twice, "posterior").coords
    for name in ("posterior", "log_likelihood"):
        assert "weight" not in group(ssaz.take(simplex, [0, 1]), name).coords
    # What is called so already is not touched.
    own = group(posterior, "posterior").assign(weight=(("chain", "draw"), np.ones((4, 180))))
    both, result = ssaz.thin(own, 30, var_names=BY, weights="simplex", return_result=True)
    assert "weight" in both.data_vars
    np.testing.assert_array_equal(both["supersample_weight"].values, result.weights)
    assert ssaz.evaluate(own, both).mmd == pytest.approx(result.mmd, rel=1e-6)
    assert "supersample_weight" not in ssaz.take(both, [0, 1]).coords


def test_the_draws_say_how_good_they_are(posterior, tmp_path):
    small, result = ssaz.thin(posterior, 30, var_names=BY, kernel="imq", scale="pca", return_result=True)
    said = group(small, "posterior").attrs
    assert said["supersample_mmd"] == result.mmd and said["supersample_equivalent_draws"] == result.equivalent_draws
    assert said["supersample_kernel"] == "imq" and said["supersample_var_names"] == BY
    path = tmp_path / "small.nc"
    group(small, "posterior").to_netcdf(path, engine="h5netcdf")
    with xr.open_dataset(path, engine="h5netcdf") as opened:
        again = opened.load()
    for subset in (small, again, result):
        # By the variables, the kernel and the scale by which they were chosen.
        found = ssaz.evaluate(posterior, subset)
        assert found.mmd == pytest.approx(result.mmd, rel=1e-6) and found.names == result.names
    other = ssaz.evaluate(posterior, small, var_names=["mu"], kernel="gaussian", scale="sd")
    assert other.names == ("mu",) and other.kernel.name == "gaussian"
    assert not any(key.startswith("supersample_") for key in group(ssaz.take(small, [0, 1]), "posterior").attrs)
    weighted = ssaz.thin(posterior, 30, var_names=BY, sample_weight=np.linspace(1, 2, 720).reshape(4, 180))
    with pytest.warns(ss.SupersampleWarning, match="give sample_weight"):
        ssaz.evaluate(posterior, weighted)


def test_draws_that_are_chosen_twice_keep_their_place(posterior):
    once = ssaz.thin(posterior, 60, var_names=BY)
    twice = group(ssaz.thin(once, 10, var_names=BY), "posterior")
    whole = group(posterior, "posterior")
    for place in range(10):
        chain, draw = (int(twice[f"source_{dim}"][place]) for dim in ("chain", "draw"))
        assert float(twice["mu"][0, place]) == float(whole["mu"].sel(chain=chain, draw=draw))


def test_masks_results_and_flat_lists_are_the_same_draws(posterior):
    mask = np.zeros((4, 180), dtype=bool)
    mask[2, 5:9] = True
    expected = group(ssaz.take(posterior, np.flatnonzero(mask)), "posterior")
    assert group(ssaz.take(posterior, mask), "posterior").identical(expected)
    assert group(ssaz.take(posterior, mask.ravel()), "posterior").identical(expected)
    assert expected["source_chain"].values.tolist() == [2] * 4
    turned = xr.DataArray(mask.T, dims=("draw", "chain"))
    assert group(ssaz.take(posterior, turned), "posterior").identical(expected)
    result = ss.thin(ssaz.matrix(posterior, var_names=BY)[0], 9)
    assert group(ssaz.take(posterior, result), "posterior").equals(
        group(ssaz.take(posterior, result.indices), "posterior")
    )
    inside = group(ssaz.thin(posterior, 4, var_names=BY, exclude=~mask), "posterior")
    assert set(inside["source_draw"].values.tolist()) == {5, 6, 7, 8}


def test_weights_of_draws_are_taken_by_their_dimensions(posterior):
    weights = np.random.default_rng(0).uniform(0.1, 1, size=(4, 180))
    expected = group(ssaz.thin(posterior, 9, var_names=BY, sample_weight=weights), "posterior")
    turned = xr.DataArray(weights.T, dims=("draw", "chain"))
    for options in (
        {"sample_weight": weights.ravel()},
        {"sample_weight": turned},
        {"log_weight": np.log(weights) - 2000},
        {"log_weight": np.log(turned)},
    ):
        assert group(ssaz.thin(posterior, 9, var_names=BY, **options), "posterior").equals(expected)
    for wrong in (weights.T, weights[:2], turned.rename(draw="sample")):
        with pytest.raises(ValueError, match=r"sample_weight has (shape|the dimensions)"):
            ssaz.thin(posterior, 9, var_names=BY, sample_weight=wrong)


def test_variables_that_are_hardly_meant_are_doubted():
    rng = np.random.default_rng(0)
    mu, tau = rng.normal(size=(2, 4, 500))
    plain = {"mu": mu, "tau": np.exp(tau)}
    dataset = lambda **more: xr.Dataset(
        {name: (("chain", "draw", *(["k"] * (value.ndim - 2))), value) for name, value in {**plain, **more}.items()}
    )
    assert ssaz.thin(dataset(), 5)["mu"].shape == (1, 5)
    for more, words in [
        (
            {"trend": mu[..., None] + np.arange(3) * np.exp(tau)[..., None]},
            "3 of their 5 numbers are linear combinations of the others",
        ),
        ({"y": rng.normal(size=(4, 500, 150))}, r"they have 152 numbers \(150 of 'y'\)"),
        ({"z": rng.integers(0, 3, size=(4, 500))}, "'z' holds integers"),
    ]:
        with pytest.warns(ss.SupersampleWarning, match=words):
            ssaz.thin(dataset(**more), 5)
        # Whoever names variables means them.
        assert ssaz.thin(dataset(**more), 5, var_names=["mu", "tau"])["mu"].shape == (1, 5)
        assert ssaz.thin(dataset(**more), 5, var_names=["mu", "tau", *more])["mu"].shape == (1, 5)
