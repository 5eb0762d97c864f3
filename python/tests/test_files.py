"""Files by their paths: the rows of the command and of the object that ArviZ or xarray reads from the same file."""

import os
import shutil
import subprocess
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import supersample as ss
import supersample.arviz as ssaz
import xarray as xr
from required import REQUIRED

ROOT = Path(__file__).resolve().parents[2]
DRAWS = ROOT / "examples" / "eight_schools.csv"
SCHOOLS = Path(__file__).parent / "data" / "eight_schools.nc"
TREES = ROOT / "crates" / "supersample-io" / "tests" / "trees"
COMMAND = os.environ.get("SUPERSAMPLE", "")

needs_the_command = pytest.mark.skipif(
    not COMMAND and "command" not in REQUIRED,
    reason="SUPERSAMPLE does not name the command; cargo build -p supersample-cli makes it",
)


def opened(path):
    """The file as a tree, or as a dataset where it has no groups."""
    engine = "zarr" if path.suffix == ".zarr" else "h5netcdf"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with xr.open_datatree(path, engine=engine) as data:
            data = data.load()
    return data if data.children else data.to_dataset()


def written(folder, name):
    """A file with groups, dtypes and codecs of a kind."""
    rng = np.random.default_rng(5)
    posterior = xr.Dataset(
        {
            "mu": (("chain", "draw"), rng.normal(size=(3, 40))),
            "theta": (("chain", "draw", "a", "b"), rng.normal(size=(3, 40, 2, 2)).astype("f4")),
            "k": (("draw", "chain"), rng.integers(-4, 5, size=(40, 3)).astype("i2")),
            "flag": (("chain", "draw"), rng.random((3, 40)) > 0.3),
            "shared": (("draw",), np.arange(40.0)),
        },
        coords={"chain": [2, 3, 5], "draw": np.arange(40) * 2 + 1, "a": ["x", "ÿz"], "b": [0.25, 1e-7]},
        attrs={"made_by": "a test", "sizes": [1, 2, 3]},
    )
    stats = xr.Dataset({"lp": (("chain", "draw"), rng.normal(size=(3, 40)))}, coords=posterior.coords)
    prior = xr.Dataset({"mu": (("chain", "draw"), rng.normal(size=(1, 7)))})
    data = xr.Dataset({"y": (("i",), np.arange(4))}, attrs={"from": "nowhere"})
    tree = xr.DataTree.from_dict(
        {"/posterior": posterior, "/sample_stats": stats.drop_vars(["a", "b"]), "/prior": prior, "/observed_data": data}
    )
    tree.attrs["title"] = "all"
    path = folder / name
    if name == "plain.nc":
        posterior.to_netcdf(path, engine="h5netcdf")
    elif name == "packed.nc":
        compressed = {"zlib": True, "complevel": 6, "shuffle": True, "fletcher32": True}
        tree.to_netcdf(path, engine="h5netcdf", encoding={"/posterior": {"mu": compressed, "theta": compressed}})
    elif path.suffix == ".nc":
        tree.to_netcdf(path, engine="h5netcdf")
    else:
        tree.to_zarr(path, zarr_format=2 if "v2" in name else 3, consolidated="apart" not in name)
    return path


FILES = ["plain.nc", "packed.nc", "tree.nc", "v2.zarr", "v3.zarr", "v3-apart.zarr"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FILES)
def test_a_path_is_what_xarray_reads_from_it(tmp_path, name):
    path = written(tmp_path, name)
    values, names = ssaz.matrix(opened(path))
    result = ss.thin(path, 8)
    if "apart" in name:
        # Without a list of them, xarray has the arrays in the order of the folder.
        order = [names.index(name) for name in result.names]
        values, names = values[:, order], tuple(names[j] for j in order)
    assert result.names == names
    assert result.points.tolist() == values[result.indices].tolist()
    _, expected = ssaz.thin(opened(path), 8, return_result=True)
    assert result.indices.tolist() == expected.indices.tolist()
    assert result.mmd == pytest.approx(expected.mmd, rel=1e-6)
    assert result.draws.kernel_ess == pytest.approx(expected.draws.kernel_ess, rel=1e-6)


@needs_the_command
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FILES)
def test_the_command_cuts_a_file_as_python_does(tmp_path, name):
    path = written(tmp_path, name)
    out, rows = tmp_path / f"out{path.suffix}", tmp_path / "rows"
    subprocess.run([COMMAND, "thin", path, "-n", "8", "-o", out, "--indices", rows, "-q"], check=True)
    indices = np.loadtxt(rows, dtype=int)
    assert indices.tolist() == ss.thin(path, 8).indices.tolist()
    _same(opened(out), ssaz.take(opened(path), indices))


@needs_the_command
@pytest.mark.filterwarnings("ignore")
def test_the_files_of_arviz_nutpie_and_numpyro(tmp_path):
    for path in [SCHOOLS, TREES / "arviz.nc", TREES / "datatree.nc", TREES / "nutpie.zarr", TREES / "v3.zarr"]:
        for ending in (".nc", ".zarr"):
            out, rows = tmp_path / f"{path.stem}{ending}", tmp_path / "rows"
            subprocess.run([COMMAND, "thin", path, "-n", "6", "-o", out, "--indices", rows, "-q"], check=True)
            indices = np.loadtxt(rows, dtype=int)
            _same(opened(out), ssaz.take(opened(path), indices))
            shutil.rmtree(out) if out.is_dir() else out.unlink()


def _same(found, expected):
    if isinstance(expected, xr.Dataset):
        xr.testing.assert_equal(found, expected)
        assert _texts(found.attrs) == _texts(expected.attrs)
        return
    assert set(found.children) == set(expected.children) and found.attrs.keys() == expected.attrs.keys()
    for name, group in expected.children.items():
        xr.testing.assert_equal(found[name].to_dataset(), group.to_dataset())
        assert _texts(found[name].attrs) == _texts(group.attrs)
        for key, variable in group.data_vars.items():
            assert found[name][key].dims == variable.dims
            assert found[name][key].dtype.kind == variable.dtype.kind


def _texts(attributes):
    """Some libraries give a list for an array, and some read text as an object."""
    return {name: np.asarray(value).tolist() for name, value in attributes.items()}


def test_every_other_format_by_its_path(tmp_path):
    frame = pd.read_csv(DRAWS)
    whole = ss.thin(frame, 12)
    for name in ("draws.csv", "draws.parquet", "draws.feather"):
        path = tmp_path / name
        {".csv": frame.to_csv, ".parquet": frame.to_parquet, ".feather": frame.to_feather}[path.suffix](path)
        by_path = ss.thin(str(path), 12, columns=list(whole.names))
        assert by_path.names == whole.names and by_path.indices.tolist() == whole.indices.tolist()
    np.save(tmp_path / "draws.npy", frame[list(whole.names)].to_numpy())
    assert ss.thin(tmp_path / "draws.npy", 12).indices.tolist() == whole.indices.tolist()


def test_several_files_are_several_chains(tmp_path):
    rng = np.random.default_rng(0)
    parts = [pd.DataFrame(rng.normal(size=(200, 2)), columns=["a", "b"]) for _ in range(3)]
    paths = [tmp_path / f"{i}.csv" for i in range(3)]
    for part, path in zip(parts, paths):
        part.to_csv(path, index=False)
    read = [pd.read_csv(path) for path in paths]
    result = ss.thin(paths, 10)
    assert result.indices.tolist() == ss.thin(pd.concat(read), 10, chains=3).indices.tolist()
    assert result.draws.chains == 3


def test_columns_have_their_roles(tmp_path):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(300, 4)), columns=["a", "b", "f", "w"])
    frame["w"] = frame["w"].abs()
    frame["group"] = np.where(frame["a"] > 0, "up", "down")
    frame.loc[7, "a"] = np.nan
    path = tmp_path / "draws.csv"
    frame.to_csv(path, index=False)
    frame = pd.read_csv(path)
    options = {"functions": ["f"], "sample_weight": "w", "nan": "drop"}
    of_path = ss.thin(path, 9, **options, groups="group")
    of_frame = ss.thin(frame, 9, **options, groups="group")
    assert of_path.indices.tolist() == of_frame.indices.tolist() and 7 not in of_path.indices
    assert ss.thin(path, 9, columns=["~a", "~w", "~group"]).names == ("b", "f")
    with pytest.raises(ValueError, match=r"row 7 \(line 9\), column 'a' is .*nan='drop'"):
        ss.thin(path, 9)
    with pytest.raises(ValueError, match="there is no column 'c'; the columns are a, b, f, w, group"):
        ss.thin(path, 9, columns=["c"])


def test_rows_with_nan_in_a_file_are_left_out_of_all_that_belongs_to_rows(tmp_path):
    rng = np.random.default_rng(1)
    x, labels = rng.normal(size=(300, 3)), np.arange(300) % 3
    weights = rng.gamma(2.0, size=300)
    frame = pd.DataFrame(x, columns=["a", "b", "c"])
    frame.loc[[7, 50], "b"] = np.nan
    path = tmp_path / "draws.csv"
    frame.to_csv(path, index=False, float_format="%.17g")
    for options in (
        {"sample_weight": weights},
        {"log_weight": x[:, 0]},
        {"functions": x**2},
        {"groups": labels},
        {"include": [8, 60], "exclude": np.arange(91, 100)},
        {"sample_weight": np.where(labels == 1, np.nan, weights)},
        {"match": path, "match_weight": weights},
    ):
        of_frame = {**options, "match": frame} if "match" in options else options
        found, expected = ss.thin(path, 9, nan="drop", **options), ss.thin(frame, 9, nan="drop", **of_frame)
        assert found.indices.tolist() == expected.indices.tolist() and found.dropped == expected.dropped
        np.testing.assert_array_equal(found.points, frame.to_numpy()[found.indices])
    for chains in (3, [100, 50, 150], labels // 2):
        found, expected = (ss.diagnose(rows, nan="drop", chains=chains) for rows in (path, frame))
        assert found.kernel_ess == expected.kernel_ess
    found, expected = (ss.thin_each(rows, 4, each=labels, nan="drop") for rows in (path, frame))
    assert found.indices.tolist() == expected.indices.tolist()
    found, expected = (ss.resample(rows, weights, 20, nan="drop") for rows in (path, frame))
    assert found.indices.tolist() == expected.indices.tolist()
    result = ss.thin(path, 9, nan="drop", columns=["a", "b"])
    assert ss.mmd(path, result) == pytest.approx(result.mmd, rel=1e-6)
    with pytest.raises(ValueError, match="sample_weight has 9 rows"):
        ss.thin(path, 9, nan="drop", sample_weight=weights[:9])


def test_what_cannot_be_read(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.nc"):
        ss.thin(tmp_path / "none.nc", 3)
    with pytest.raises(IsADirectoryError):
        ss.thin(tmp_path, 3)
    damaged = tmp_path / "damaged.nc"
    damaged.write_bytes(SCHOOLS.read_bytes()[:5000])
    with pytest.raises(ValueError, match="not a valid NetCDF file"):
        ss.thin(damaged, 3)
