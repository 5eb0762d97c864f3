"""What goes on with a result: its weights, kernel and columns; and what must stay the same between two readings."""

import asyncio
import copy
import pickle
import subprocess
import sys
import textwrap
import warnings

import dask
import dask.array as da
import dask.dataframe as dd
import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
import supersample as ss
import xarray as xr

mpl.use("Agg")

RNG = np.random.default_rng(6)
X = RNG.normal(size=(6000, 3)) * [1, 5, 0.2]
NAMES = ["a", "b", "c"]
FRAME = pd.DataFrame(X, columns=NAMES)
WEIGHTS = np.exp(X[:, 0])
SOME = {"pool_rows": 2000, "landmarks": 200, "search": 0}


class Weighted(pd.DataFrame):
    """What frames of anesthetic look like: weights that belong to the rows."""

    _metadata = ("own",)

    def isweighted(self):
        return self.own is not None

    def get_weights(self):
        return self.own

    def set_weights(self, weights):
        other = Weighted(self)
        other.own = weights
        return other

    @property
    def _constructor(self):
        return Weighted


def weighted_frame():
    frame = Weighted(FRAME)
    frame.own = WEIGHTS
    return frame


# Batches.


def test_batches_whose_columns_differ_are_refused():
    parts = [FRAME[:3000], FRAME[3000:][["c", "a", "b"]]]
    renamed = [FRAME[:3000], FRAME[3000:].rename(columns={"a": "z"})]
    for batches in (parts, renamed):
        for source in (iter(batches), lambda batches=batches: iter(batches)):
            with pytest.raises(ValueError, match=r"the batches of x differ in their columns.*from row 3000 on"):
                ss.thin(source, 20, **SOME)
    pairs = [(X[:3000], WEIGHTS[:3000]), X[3000:]]
    for source in (iter(pairs), lambda: iter(pairs)):
        with pytest.raises(ValueError, match="only some of them have weights"):
            ss.thin(source, 20, **SOME)


def test_an_iterator_that_exists_already_loses_no_batch():
    # All rows are in the sample, so one pass is enough.
    made = iter([X[:3000], X[3000:]])
    result = ss.thin(lambda: made, 20, pool_rows=6000)
    assert result.n_rows == 6000
    np.testing.assert_array_equal(result.points, X[result.indices])
    made = iter([X[:3000], X[3000:]])
    with pytest.raises(ValueError, match="returned the same iterator twice; it must make a new one each time"):
        ss.thin(lambda: made, 20, **SOME)


def test_rows_in_another_order_each_time_are_refused():
    order = np.random.default_rng(0)

    def shuffled():
        x = X[order.permutation(6000)]
        return (x[start : start + 500] for start in range(0, 6000, 500))

    with pytest.raises(ValueError, match=r"the rows up to row 500 are not those of the first pass.*without shuffling"):
        ss.thin(shuffled, 20, **SOME)
    sizes = iter([500, 700, 1100, 900])

    def divided():
        size = next(sizes)
        return ((X[start : start + size], WEIGHTS[start : start + size]) for start in range(0, 6000, size))

    # Other batches of the same rows are the same rows.
    expected = ss.thin(X, 20, sample_weight=WEIGHTS, **SOME)
    assert ss.thin(divided, 20, **SOME).indices.tolist() == expected.indices.tolist()
    turns = iter([1.0, 2.0, 3.0, 4.0])
    with pytest.raises(ValueError, match="are not those of the first pass"):
        ss.thin(lambda: iter([(X, WEIGHTS + next(turns) * X[:, 0] ** 2)]), 20, **SOME)


class Loader:
    """What torch's DataLoader looks like: it can be gone through again and again."""

    def __init__(self, batches):
        self.batches, self.dataset = batches, self

    def __iter__(self):
        return iter(self.batches)

    def __len__(self):
        return len(self.batches)


def test_loaders_are_batches_and_labels_are_no_weights():
    expected = ss.thin(X, 20, **SOME).indices.tolist()
    assert ss.thin(Loader([X[:3000], X[3000:]]), 20, **SOME).indices.tolist() == expected
    assert ss.thin(Loader([[X[:3000]], [X[3000:]]]), 20, **SOME).indices.tolist() == expected
    labels = (X[:, 0] > 0).astype(int)
    with pytest.raises(
        ValueError, match="is a list of two arrays; give the rows alone, or a tuple of rows and weights"
    ):
        ss.thin(Loader([[X, labels]]), 20, **SOME)
    with pytest.warns(ss.SupersampleWarning, match="used as weights, and holds whole numbers; if they are labels"):
        ss.thin(Loader([(X, labels)]), 20, **SOME)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ss.thin(Loader([(X, WEIGHTS)]), 20, **SOME)
    with pytest.raises(TypeError, match="a function that returned DataFrame; it must return an iterator of batches"):
        ss.thin(lambda: FRAME, 20)


def test_no_file_stays_open_when_batches_fail():
    program = """
        import warnings; warnings.simplefilter("error")
        import gc, sys, numpy as np, supersample as ss
        sys.unraisablehook = lambda found: print("left open", found.exc_value)
        def broken():
            yield np.zeros((5, 2))
            raise OSError("gone")
        for batches in (broken(), iter([np.zeros((5, 2)), np.zeros((5, 3))]), iter([])):
            try:
                ss.thin(batches, 2)
            except (OSError, ValueError) as error:
                pass
            del batches
            gc.collect()
        print("end")
    """
    found = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=60)
    assert (found.stdout, found.stderr) == ("end\n", "")


def test_lazy_arrays_are_computed_once():
    calls = []

    def block(x):
        calls.append(len(x))
        return x

    for dtype in (np.float32, np.float64):
        x = da.from_array(X.astype(dtype), chunks=(1500, 3)).map_blocks(block, dtype=dtype)
        calls.clear()
        with dask.config.set(scheduler="synchronous"):
            ss.thin(x, 5)
        assert calls.count(1500) == 4


# Weights and settings.


def test_weights_of_the_rows_go_on_with_a_result():
    expected = ss.thin(X, 20, sample_weight=WEIGHTS)
    for result in (expected, copy.copy(expected), copy.deepcopy(expected)):
        for function in (ss.mmd, lambda x, y: ss.evaluate(x, y).mmd):
            assert function(X, result) == pytest.approx(expected.mmd, rel=1e-6)
        assert result.plot_marginals().shape == (3,)
    logs = np.log(WEIGHTS)
    for options in ({"sample_weight": WEIGHTS}, {"log_weight": logs}):
        stream = ss.thin(iter([X]), 20, **options, **SOME)
        assert ss.mmd(X, stream, embedding="exact") == pytest.approx(stream.mmd, rel=0.05)
    pairs = ss.thin(iter([(X, WEIGHTS)]), 20, **SOME)
    with pytest.warns(ss.SupersampleWarning, match="they came in batches, or it was pickled; give sample_weight"):
        ss.mmd(X, pairs)
    with pytest.warns(ss.SupersampleWarning, match="they were 6,000 rows and x has 50; give sample_weight"):
        ss.mmd(X[:50], expected)
    again = pickle.loads(pickle.dumps(expected))
    with pytest.warns(ss.SupersampleWarning, match="or it was pickled"):
        ss.mmd(X, again)
    assert len(pickle.dumps(expected)) < 20_000


def test_weights_go_on_with_a_result_of_a_cluster():
    x, weights = da.from_array(X, chunks=(1500, 3)), da.from_array(WEIGHTS, chunks=1500)
    options = {**SOME, "progress": False}
    pieces = [dask.delayed(part) for part in np.split(X, 4)]
    of_pieces = [dask.delayed(part) for part in np.split(WEIGHTS, 4)]
    for rows, given in [
        (x, {"sample_weight": weights}),
        (x, {"log_weight": da.log(weights)}),
        (pieces, {"sample_weight": of_pieces}),
    ]:
        result = ss.dask.thin(rows, 20, **given, **options)
        judged = {"pool_rows": 2000, "landmarks": 200, "progress": False}
        with warnings.catch_warnings():
            warnings.simplefilter("error", ss.SupersampleWarning)
            assert ss.dask.evaluate(rows, result, **judged).mmd == pytest.approx(result.mmd, rel=0.05)
            assert ss.mmd(X, result) == pytest.approx(result.mmd, rel=0.05)
        with pytest.warns(ss.SupersampleWarning, match="give sample_weight"):
            ss.dask.evaluate(rows, pickle.loads(pickle.dumps(result)), **judged)


def test_rows_of_a_cluster_are_taken_from_the_same_rows_only():
    x = da.from_array(X, chunks=(1500, 3))
    result = ss.dask.thin(x, 20, progress=False, **SOME)
    labels = np.arange(6000)
    for chunks in (1500, 700, (1600, 1400, 1600, 1400)):
        assert (result.take(da.from_array(labels, chunks=(chunks,))) == result.indices).all()
    uneven = [dask.delayed(part) for part in np.split(labels, [1600, 3000, 4600])]
    for other in (da.arange(12_000, chunks=3000), uneven, dd.from_pandas(pd.Series(np.arange(8000)), npartitions=4)):
        with pytest.raises(ValueError, match=r"partition \d of x has .* rows, but had 1500 when the result was chosen"):
            result.take(other)
    assert (pickle.loads(pickle.dumps(result)).take(da.from_array(labels, chunks=1500)) == result.indices).all()


def test_rows_with_nan_are_left_out_on_a_cluster():
    bad = X.copy()
    bad[[5, 1500, 1501, 5999], 1] = np.nan
    keep = np.flatnonzero(~np.isnan(bad[:, 1]))
    options = {**SOME, "progress": False}
    frame = dd.from_map(lambda part: FRAME.assign(b=bad[:, 1], note="x").iloc[part], list(np.split(np.arange(6000), 4)))
    for x, more in [(da.from_array(bad, chunks=(1500, 3)), {}), (frame, {"columns": NAMES})]:
        result = ss.dask.thin(x, 20, nan="drop", **more, **options)
        assert (result.n_rows, result.dropped) == (6000, 4) and set(result.indices) <= set(keep)
        np.testing.assert_array_equal(result.points, bad[result.indices])
        assert (result.indices == 1500 * result.partitions + result.partition_rows).all()
        assert (result.take(da.arange(6000, chunks=1500)) == result.indices).all()
        judged = {"pool_rows": 2000, "landmarks": 200, "progress": False, **more}
        assert ss.dask.evaluate(x, result, **judged).mmd == pytest.approx(result.mmd, rel=0.05)
    weights = frame.assign(w=1.0)
    named = ss.dask.thin(weights, 20, nan="drop", columns=NAMES, sample_weight="w", **options)
    assert named.weighted and named.names == ("a", "b", "c")


def test_an_asynchronous_client_is_not_waited_for():
    from distributed import Client

    async def main():
        async with Client(processes=False, asynchronous=True, dashboard_address=":0"):
            x = da.from_array(X, chunks=(3000, 3))
            with pytest.raises(TypeError, match=r"await asyncio\.to_thread\(supersample\.dask\.thin"):
                ss.dask.thin(x, 5, progress=False)
            return await asyncio.to_thread(ss.dask.thin, x, 5, progress=False, pool_rows=2000)

    assert len(asyncio.run(main())) == 5


def test_landmarks_know_their_columns_and_weights():
    options = {"bandwidth": 3.0}
    expected = ss.Landmarks(50, **options).partial_fit(X).partial_fit(X)
    mu = ss.Landmarks(50, **options).partial_fit(FRAME).partial_fit(FRAME[["c", "b", "a"]])
    np.testing.assert_array_equal(mu.values(FRAME[["c", "a", "b"]][:5]), expected.values(X[:5]))
    with pytest.raises(ValueError, match="x has no column 'a'"):
        mu.partial_fit(FRAME.rename(columns={"a": "z"}))
    other = mu.empty().partial_fit(FRAME[["c", "b", "a"]])
    assert mu.merge(pickle.loads(pickle.dumps(other))).n_rows == 18_000
    with pytest.raises(TypeError, match="other is of type int; give Landmarks"):
        mu.merge(3)
    with pytest.raises(ValueError, match="the columns are a, b, c, and those of other z"):
        given = ss.Landmarks(pd.DataFrame(mu.landmarks, columns=["z", "b", "c"]), **options)
        mu.merge(given)
    weighted = ss.Landmarks(50, **options).partial_fit(weighted_frame())
    assert weighted.weight == pytest.approx(WEIGHTS.sum())
    best = ss.thin(FRAME, 60, weights="simplex")
    assert mu.empty().partial_fit(best).weight == pytest.approx(1.0)


def shown(ax):
    """The distribution function of all rows in a panel."""
    line = ax.lines[0]
    return line.get_xdata()


def test_plots_match_columns_by_name_and_keep_weights():
    result = ss.thin(FRAME, 20)
    turned = result.plot_marginals(FRAME[["c", "b", "a"]])
    np.testing.assert_array_equal(shown(turned[0]), np.sort(X[:, 0]))
    with pytest.raises(ValueError, match="data has no column 'a'"):
        result.plot_pairs(FRAME.rename(columns={"a": "z"}))
    weighted = ss.thin(FRAME, 20, sample_weight=WEIGHTS)
    mean = np.average(X[:, 0], weights=WEIGHTS)
    again = pickle.loads(pickle.dumps(weighted))
    for axes in (
        weighted.plot_marginals(FRAME),
        weighted.plot_marginals(),
        again.plot_marginals(FRAME, sample_weight=WEIGHTS),
        again.plot_marginals(weighted_frame()),
    ):
        assert shown(axes[0]).mean() == pytest.approx(mean, abs=0.05)
    with pytest.warns(ss.SupersampleWarning, match="give sample_weight"):
        again.plot_pairs(FRAME)
    for columns, names in [([True, False, True], ["a", "c"]), (np.int64(1), ["b"]), ("c", ["c"])]:
        assert [ax.get_title() for ax in result.plot_marginals(columns=columns)] == names
    for columns, words in [([], "columns is empty"), ([True], "a mask of 1 for 3 columns"), ([7], "no column 7")]:
        with pytest.raises(ValueError, match=words):
            result.plot_marginals(columns=columns)
    mpl.pyplot.close("all")


def test_rows_of_a_weighted_frame_are_not_weighted_twice():
    frame = weighted_frame()
    result = ss.thin(frame, 300)
    taken = result.take(frame)
    assert not taken.isweighted()
    assert taken.a.mean() == pytest.approx(np.average(X[:, 0], weights=WEIGHTS), abs=0.02)
    best = ss.thin(frame, 60, weights="simplex")
    np.testing.assert_array_equal(best.take(frame).get_weights(), best.weights)
    # Rows that were chosen without the weights keep them.
    plain = ss.thin(X, 300).take(frame.set_weights(None))
    assert not plain.isweighted()


# Stein.


def test_the_ksd_of_a_result_is_that_by_which_it_was_chosen():
    x = X[:500]
    scores = -x / np.array([1, 25, 0.04])
    for options in (
        {"scale": "sd", "preconditioner": "median"},
        {"kernel": "gaussian", "preconditioner": 1.5},
        {"preconditioner": "smpcov"},
        {},
    ):
        for function in (ss.stein.thin, ss.stein.herd):
            result = function(x, scores, 20, **options)
            for again in (result, copy.copy(result), pickle.loads(pickle.dumps(result))):
                assert ss.stein.ksd(x, scores, again) == pytest.approx(result.mmd, rel=1e-6)
    assert "preconditioner 1.50" in repr(ss.stein.thin(x, scores, 5, preconditioner=1.5))
    assert result.preconditioner == "identity" and ss.thin(x, 5).preconditioner is None
    told = ss.stein.thin(x, scores, 20, preconditioner="median")
    assert ss.stein.ksd(x, scores, told, preconditioner="identity") == ss.stein.ksd(x, scores, told.indices)


def test_a_score_may_use_its_arrays_again():
    starts = np.random.default_rng(0).uniform(-3, 3, size=(200, 2))
    expected = ss.stein.sample(lambda x: -x, 10, starts)
    buffer = np.empty(2)

    def shared(x):
        np.negative(x, out=buffer)
        return buffer

    def in_place(x):
        x *= -1
        return x

    for score in (shared, in_place):
        kept = starts.copy()
        found = ss.stein.sample(score, 10, kept, log_density=lambda x: -(in_place(x) ** 2).sum() / 2)
        np.testing.assert_array_equal(found.points, expected.points)
        np.testing.assert_array_equal(kept, starts)


def test_ksds_are_called_by_their_name():
    x = X[:300] / [1, 5, 0.2]
    result = ss.stein.thin(x, -x, 20)
    assert result.plot_error().get_ylabel() == "KSD" and ss.thin(x, 20).plot_error().get_ylabel() == "MMD"
    assert "KSD of the first T points" in result._repr_html_() and "MMD of" not in result._repr_html_()
    placed = ss.stein.sample(lambda v: -v, 5, x[:100, :1])
    labels = [text.get_text() for text in placed.plot_marginals()[0].get_legend().get_texts()]
    assert labels == ["the starts", "chosen"]
    mpl.pyplot.close("all")


# Words.


def test_a_sample_of_the_rows_is_told():
    x = np.random.default_rng(0).normal(size=(9000, 2))
    result = ss.thin(iter([x]), 5, pool_rows=1000, landmarks=50, search=0)
    for shown in (repr(result), result._repr_html_()):
        assert "5 of 9,000 rows, chosen from 1,000 random rows" in shown and "50 landmarks" in shown and "±" in shown
    assert "random rows" not in repr(ss.thin(x[:500], 5))


def test_draws_of_a_tree_with_coordinates_at_its_root():
    draws = xr.Dataset({"mu": (("chain", "draw"), X[:400, 0].reshape(4, 100))})
    data = xr.Dataset({"y": ("obs", np.arange(7.0))})
    coords = {"chain": np.arange(4), "draw": np.arange(100), "obs": np.arange(7), "school": ["A", "B"]}
    tree = xr.DataTree.from_dict(
        {"/": xr.Dataset(coords=coords), "/posterior": draws, "/sample_stats": 2 * draws, "/observed_data": data}
    )
    small = ss.arviz.thin(tree, 10)
    assert small["posterior"]["mu"].shape == small["sample_stats"]["mu"].shape == (1, 10)
    assert small["observed_data"]["y"].shape == (7,) and set(small.coords) == {"obs", "school"}
    source = small["posterior"]
    for k in range(10):
        at = {"chain": int(source["source_chain"][k]), "draw": int(source["source_draw"][k])}
        assert float(source["mu"][0, k]) == float(draws["mu"].isel(at))
    again = ss.arviz.thin(small, 4)
    assert again["posterior"]["mu"].shape == (1, 4)


def test_no_variables_are_not_all_variables():
    draws = xr.Dataset({name: (("chain", "draw"), X[:400, j].reshape(4, 100)) for j, name in enumerate(NAMES)})
    with pytest.raises(ValueError, match="var_names is empty"):
        ss.arviz.thin(draws, 5, var_names=[])
    small = ss.arviz.thin(draws, 20, var_names=["a"])
    # Other variables have other distances.
    found = ss.arviz.evaluate(draws, small, var_names=["a", "b", "c"])
    expected = ss.evaluate(X[:400], small.to_dataarray().values[:, 0].T)
    assert found.kernel == expected.kernel and found.mmd == pytest.approx(expected.mmd, rel=1e-9)
    assert ss.arviz.evaluate(draws, small).mmd == pytest.approx(small.attrs["supersample_mmd"], rel=1e-6)


def test_chains_of_one_variable_are_no_rows():
    draws = xr.DataArray(X[:400, 0].reshape(4, 100), dims=("chain", "draw"))
    for x in (draws, draws.T):
        with pytest.raises(TypeError, match=r"x has chains and draws; use supersample\.arviz\.thin\(x\.to_dataset"):
            ss.thin(x, 2)
    assert ss.arviz.thin(draws.to_dataset(name="x"), 5).sizes == {"chain": 1, "draw": 5}


def test_a_dataset_without_chains_is_told_the_way():
    fields = xr.Dataset({"sst": (("time", "lat", "lon"), X[:200].reshape(50, 4, 3))})
    with pytest.raises(TypeError, match=r"x\.to_stacked_array\('column', \['time'\]\)"):
        ss.thin(fields, 5)
    stacked = fields.to_stacked_array("column", ["time"])
    result = ss.thin(stacked, 5)
    with pytest.raises(TypeError, match=r"x\.isel\(time=result\.indices\)"):
        result.take(fields)
    assert fields.isel(time=result.indices)["sst"].shape == (5, 4, 3)
