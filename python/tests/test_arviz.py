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


@pytest.fixture(params=[inference_data, tree], ids=["InferenceData", "DataTree"])
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
        assert part.attrs == whole.attrs
    assert list(group(small, "posterior")["school"].values) == list("ABCDEFGH")
    for name in ("observed_data", "prior", "prior_predictive"):
        assert group(small, name).identical(group(posterior, name))
    assert posterior.attrs == small.attrs


def test_the_draws_are_those_of_the_matrix(posterior):
    values, names = ssaz.matrix(posterior, var_names=BY)
    assert values.shape == (720, 10) and names[:3] == ("mu", "tau", "theta[0]")
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
        az.summary(az.InferenceData(posterior=group(data, "posterior")), kind="stats", **options)
        for data in (posterior, again)
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
        ({"kernel": "rbf"}, ValueError, "choose one of"),
        ({"bandwith": 1.0}, TypeError, "bandwith"),
    ]:
        with pytest.raises(kind, match=words):
            ssaz.thin(posterior, 10, **arguments)
    with pytest.raises(TypeError, match="give InferenceData, a DataTree or a Dataset"):
        ssaz.thin(np.zeros((4, 100)), 10)
    with pytest.raises(ValueError, match="draw 720 is not there"):
        ssaz.take(posterior, [720])
    bad = group(posterior, "posterior").copy(deep=True)
    bad["theta"].values[1, 2, 3] = np.nan
    with pytest.raises(ValueError, match=r"row 182, column \d+ \('theta\[3\]'\) is NaN"):
        ssaz.thin(bad, 10, var_names=BY)
    text = bad.assign(label=(("chain", "draw"), np.full((4, 180), "s")))
    with pytest.raises(TypeError, match="variable 'label' holds"):
        ssaz.thin(text, 10)
