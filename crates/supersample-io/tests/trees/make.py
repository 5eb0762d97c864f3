"""Writes the small NetCDF, HDF5 and Zarr files of the tests, and what xarray reads from them.

pip install arviz==0.23.4 arviz-base==0.8.2 h5netcdf netCDF4 zarr==3.1.6 nutpie==0.16.8 xarray
python crates/supersample-io/tests/trees/make.py
"""

import json
import shutil
import warnings
from itertools import product
from pathlib import Path

import numpy as np

warnings.simplefilter("ignore")

import arviz as az  # noqa: E402
import arviz_base as ab  # noqa: E402
import h5py  # noqa: E402
import nutpie  # noqa: E402
import xarray as xr  # noqa: E402
import zarr  # noqa: E402
from nutpie.compiled_pyfunc import from_pyfunc  # noqa: E402

FOLDER = Path(__file__).resolve().parent
CHAINS, DRAWS = 2, 6
rng = np.random.default_rng(33)
expected = {}


def normal(*shape):
    return rng.normal(size=shape)


def note(name, dataset, dims=("chain", "draw")):
    """What xarray reads: the names of the columns, and the rows, chain after chain."""
    names, columns = [], []
    for variable in dataset.data_vars:
        array = dataset[variable]
        if not set(dims) <= set(array.dims) or array.dtype.kind not in "fiub":
            continue
        array = array.transpose(*dims, ...)
        rest = array.dims[len(dims) :]
        labels = [list(array[dim].values) if dim in array.coords else range(array.sizes[dim]) for dim in rest]
        names += [f"{variable}[{', '.join(map(str, at))}]" if at else str(variable) for at in product(*labels)]
        rows = int(np.prod([dataset.sizes[dim] for dim in dims]))
        columns.append(np.asarray(array.values, dtype=float).reshape(rows, -1))
    values = np.concatenate(columns, axis=1)
    chains = dataset.sizes[dims[0]] if len(dims) > 1 else 1
    expected[name] = {"names": names, "values": values.tolist(), "chains": chains}


def fresh(name):
    path = FOLDER / name
    shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    return path


posterior = {
    "mu": normal(CHAINS, DRAWS),
    "theta": normal(CHAINS, DRAWS, 3),
    "count": rng.integers(-5, 9, size=(CHAINS, DRAWS)),
    "flag": rng.random((CHAINS, DRAWS)) > 0.5,
    "single": normal(CHAINS, DRAWS, 2).astype("f4"),
}
coords, dims = {"school": ["A", "B", "Ç"], "x": [0.5, 1e-5]}, {"theta": ["school"], "single": ["x"]}

# InferenceData, compressed, with other groups.
data = az.from_dict(
    posterior=posterior,
    coords=coords,
    dims=dims,
    sample_stats={"lp": normal(CHAINS, DRAWS)},
    observed_data={"y": np.arange(3.0)},
    prior={"mu": normal(1, 4)},
)
data.to_netcdf(str(fresh("arviz.nc")))
note("arviz.nc", az.from_netcdf(str(FOLDER / "arviz.nc")).posterior)

# DataTree by both libraries, not compressed, and as Zarr of both versions.
tree = ab.from_dict({"posterior": {"mu": posterior["mu"], "theta": posterior["theta"]}}, coords=coords, dims=dims)
tree.to_netcdf(fresh("datatree.nc"), engine="netcdf4")
note("datatree.nc", xr.open_datatree(FOLDER / "datatree.nc")["posterior"].to_dataset())
tree.to_zarr(fresh("v3.zarr"))
note("v3.zarr", xr.open_datatree(FOLDER / "v3.zarr", engine="zarr")["posterior"].to_dataset())

# Version 2 with the codecs of Blosc, another byte order, axes in Fortran's order, several chunks, and no group.
from numcodecs import Blosc, GZip, Zlib  # noqa: E402

long = xr.Dataset(
    {
        "bits": (("chain", "draw"), normal(CHAINS, 300)),
        "packed": (("chain", "draw", "k"), np.round(normal(CHAINS, 300, 2), 1).astype(">f4")),
        "zlib": (("draw", "chain"), rng.integers(0, 3, size=(300, CHAINS)).astype(">i2")),
        "inner": (("chain", "draw"), np.arange(CHAINS * 300).reshape(CHAINS, 300) // 7),
        "words": (("chain", "draw"), np.full((CHAINS, 300), "ab")),
    }
)
codecs = {
    "bits": Blosc("lz4", 5, Blosc.BITSHUFFLE),
    "packed": Blosc("zstd", 5, Blosc.SHUFFLE),
    "zlib": Zlib(6),
    "inner": Blosc("zlib", 5, Blosc.SHUFFLE),
    "words": GZip(6),
}
path = fresh("v2.zarr")
root = zarr.open_group(str(path), mode="w", zarr_format=2)
for name, array in long.data_vars.items():
    order = "F" if name == "zlib" else "C"
    chunks = tuple(min(n, 128) for n in array.shape)
    made = root.create_array(
        name,
        shape=array.shape,
        dtype=array.dtype,
        chunks=chunks,
        compressors=codecs[name],
        order=order,
        fill_value=None,
    )
    made[...] = array.values
    made.attrs["_ARRAY_DIMENSIONS"] = list(array.dims)
note("v2.zarr", xr.open_dataset(path, engine="zarr", consolidated=False)[sorted(long.data_vars)])

# One dimension of draws; packed, missing and big-endian numbers; times; the classic format.
plain = xr.Dataset(
    {
        "level": (("time", "site"), np.round(normal(8, 2), 2)),
        "depth": (("site", "time"), normal(2, 8)),
        "whole": (("time",), np.arange(8) - 3),
        "when": (("time",), np.arange(8), {"units": "days since 2000-01-01"}),
        "fixed": (("site",), [1.0, 2.0]),
    },
    coords={"time": np.arange(8) * 10, "site": [7, 9]},
    attrs={"title": "levels"},
)
packing = {"level": {"dtype": "i2", "scale_factor": 0.01, "add_offset": 1.5, "_FillValue": -32768}}
plain.to_netcdf(fresh("packed.nc"), engine="h5netcdf", encoding={**packing, "depth": {"dtype": ">f4"}})
note("packed.nc", xr.open_dataset(FOLDER / "packed.nc"), ("time",))
plain.to_netcdf(fresh("classic.nc"), format="NETCDF3_64BIT", engine="netcdf4")
note("classic.nc", xr.open_dataset(FOLDER / "classic.nc"), ("time",))
holes = plain[["level"]].copy(deep=True)
holes["level"][4, 1] = np.nan
holes.to_netcdf(fresh("holes.nc"), engine="h5netcdf", encoding=packing)

# emcee's backend with room for more steps than were written.
with h5py.File(fresh("emcee.h5"), "w") as file:
    mcmc = file.create_group("mcmc")
    mcmc.attrs.update({"version": "3.1.6", "nwalkers": 4, "ndim": 2, "has_blobs": False, "iteration": 6})
    chain = mcmc.create_dataset("chain", (10, 4, 2), maxshape=(None, 4, 2), dtype="f8", chunks=(5, 4, 2))
    chain[:6] = normal(6, 4, 2)
    log_prob = mcmc.create_dataset("log_prob", (10, 4), maxshape=(None, 4), dtype="f8", chunks=(5, 4))
    log_prob[:6] = normal(6, 4)
    mcmc.create_dataset("accepted", data=np.ones(4))
    found = xr.Dataset({f"var_{i}": (("draw", "chain"), chain[:6, :, i]) for i in range(2)})
note("emcee.h5", found)


# nutpie's store, without most of its statistics.
def make_logp():
    return lambda x: (float(-0.5 * np.sum(x**2)), -x)


def make_expand(*_):
    return lambda x, **_: {"mu": np.array(x[0]), "theta": x[1:3].copy()}


double = np.dtype("float64")
model = from_pyfunc(
    3,
    make_logp,
    make_expand,
    [double, double],
    [(), (2,)],
    ["mu", "theta"],
    dims={"theta": ("school",)},
    coords={"school": ["A", "B"]},
)
path = fresh("nutpie.zarr")
path.mkdir()
store = nutpie.zarr_store.LocalStore(str(path))
nutpie.sample(
    model, draws=20, tune=20, chains=2, cores=1, seed=1, progress_bar=False, zarr_store=store, save_warmup=False
)
for below in sorted(path.glob("*/*")):
    if below.is_dir() and below.parent.name != "posterior" and below.name not in ("energy", "diverging"):
        shutil.rmtree(below)
for below in path.glob("warmup_*"):
    shutil.rmtree(below)
note("nutpie.zarr", xr.open_datatree(path, engine="zarr")["posterior"].to_dataset())

(FOLDER / "expected.json").write_text(json.dumps(expected))
