"""One driver of the passes: files of the command, batches of Python and partitions of Dask choose the same rows."""

import json
import os
import subprocess

import dask.array as da
import numpy as np
import pytest
import supersample as ss
from distributed import Client

COMMAND = os.environ.get("SUPERSAMPLE", "")
SIZE, POOL = 4096, 4000
WAYS = {
    "herd": ("herd", [], {}),
    "herd, unique": ("herd", ["--unique", "--scale", "mad"], {"unique": True, "scale": "mad"}),
    "thin": ("thin", ["--search", 2], {"search": 2}),
    "thin, another seed": ("thin", ["--search", 2, "--seed", 3], {"search": 2, "seed": 3}),
    "thin to an error": ("thin", ["--tol", 0.03, "--search", 0], {"n": None, "tol": 0.03, "search": 0}),
}


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(0).normal(size=(30_000, 3)) * [1, 10, 0.1] + [0, 5, 0]


@pytest.fixture(scope="module")
def client():
    with Client(processes=False, n_workers=1, threads_per_worker=2, dashboard_address=":0") as client:
        yield client


# A median of the sample says so where columns are scaled by it.
@pytest.mark.filterwarnings("ignore::supersample.SupersampleWarning")
@pytest.mark.parametrize("way", WAYS)
def test_the_same_rows_whatever_drives_the_passes(way, rows, client, tmp_path):
    verb, words, options = WAYS[way]
    options = {"n": 20, "pool_rows": POOL, **options}
    batches = (rows[start : start + SIZE] for start in range(0, len(rows), SIZE))
    of_batches = getattr(ss, verb)(batches, **options)
    partitions = da.from_array(rows, chunks=(SIZE, 3))
    of_dask = getattr(ss.dask, verb)(partitions, **options, progress=False)
    assert of_batches.pool_rows == of_dask.pool_rows == POOL and of_batches.n_rows == of_dask.n_rows == len(rows)
    assert of_dask.indices.tolist() == of_batches.indices.tolist()
    # Sums in single precision, of other batches and in another order.
    assert of_dask.mmd == pytest.approx(of_batches.mmd, rel=1e-5)
    if not COMMAND:
        pytest.skip("SUPERSAMPLE does not name the command; Python and Dask agree")
    path, chosen, summary = tmp_path / "rows.npy", tmp_path / "chosen", tmp_path / "summary.json"
    np.save(path, rows)
    number = [] if options["n"] is None else ["-n", options["n"]]
    outputs = ["--indices", chosen, "--json", summary, "-o", tmp_path / "out.csv", "-q"]
    command = [COMMAND, verb, path, *number, "--pool-rows", POOL, *words, *outputs]
    subprocess.run(list(map(str, command)), check=True)
    assert np.loadtxt(chosen, dtype=int).tolist() == of_batches.indices.tolist()
    assert json.loads(summary.read_text())["result"]["mmd"] == pytest.approx(of_batches.mmd, rel=1e-5)


def test_weights_and_functions_go_through_the_passes_too(rows, client):
    weights, values = np.exp(rows[:, 0] / 3), np.stack([np.sin(rows[:, 0]), rows[:, 2] ** 2], axis=1)
    options = {"n": 20, "pool_rows": POOL, "search": 0}
    chunks = (SIZE, 2)
    given = ss.thin(rows, sample_weight=weights, functions=values, **options)
    parts = {"sample_weight": da.from_array(weights, chunks=SIZE), "functions": da.from_array(values, chunks=chunks)}
    of_dask = ss.dask.thin(da.from_array(rows, chunks=(SIZE, 3)), **parts, **options, progress=False)
    # Which rows measure the norm is drawn part by part where rows have weights, so that errors differ in it.
    assert of_dask.mmd == pytest.approx(given.mmd, rel=0.02)
    assert given.functions_error == pytest.approx(of_dask.functions_error, rel=0.5)
    error = np.average(values, axis=0, weights=weights) - values[given.indices].mean(axis=0)
    spread = np.sqrt(np.average((values - np.average(values, axis=0, weights=weights)) ** 2, axis=0, weights=weights))
    assert given.functions_error == pytest.approx(np.sqrt(np.mean((error / spread) ** 2)), rel=1e-9)
    plain = ss.thin(rows, sample_weight=weights, **options)
    assert plain.functions_error is None and plain.indices.tolist() != given.indices.tolist()
    frame = {f"x[{j}]": rows[:, j] for j in range(3)} | {"f": values[:, 0], "g": values[:, 1]}
    named = ss.thin(frame, sample_weight=weights, functions=["f", "g"], **options)
    assert named.indices.tolist() == given.indices.tolist() and named.names == ("x[0]", "x[1]", "x[2]")
    assert named.objective == "joint MMD + 0.1 × marginals + 0.08 × moments + 1 × functions"
    with pytest.raises(ValueError, match="5 functions were given for 30000 rows"):
        ss.thin(rows, functions=values[:5], **options)
    with pytest.raises(ValueError, match="function 'one' is constant"):
        ss.thin({"a": rows[:, 0], "one": np.ones(len(rows))}, functions="one", **options)
