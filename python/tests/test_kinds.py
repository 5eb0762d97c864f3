"""What users have beyond plain arrays: frames of others, dicts, weights; and what rows are taken from."""

import copy
import pickle
import re
import typing

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import supersample as ss
import xarray as xr
from supersample import _native, _options

X = np.random.default_rng(0).normal(size=(60, 3)) * [1, 5, 0.2]
NAMES = ["a", "b", "c"]
FRAME = pd.DataFrame(X, columns=NAMES)
WEIGHTS = np.random.default_rng(1).uniform(0.1, 1, 60)


class Array:
    """What hands out its own memory."""

    def __init__(self, x):
        self.x = x

    def __array__(self, dtype=None, copy=None):
        return self.x


class Flattening:
    """What JAX looks like: `take` without an axis is that of the flattened array."""

    def __init__(self, x):
        self.x = x
        self.shape = x.shape

    def __array__(self, dtype=None, copy=None):
        return np.array(self.x, dtype=dtype)

    def __getitem__(self, rows):
        return Flattening(self.x[rows])

    def take(self, rows):
        return self.x.ravel()[rows]


class Unwritable:
    """What torch looks like: it does not take, and warns of index arrays that cannot be written to."""

    def __init__(self, x):
        self.x = x
        self.shape = x.shape

    def __getitem__(self, rows):
        assert rows.flags.writeable
        return self.x[rows]

    def take(self, rows):
        raise TypeError("take(): argument 'index' must be Tensor")


class Ascending:
    """What h5py looks like: rows in ascending order, each once."""

    __module__ = "h5py._hl.dataset"

    def __init__(self, x):
        self.x = x
        self.shape = x.shape

    def __getitem__(self, rows):
        assert np.all(np.diff(rows) > 0)
        return self.x[rows]


class Dask:
    """What a dask frame looks like: names, `__array__`, and the frame itself when it is computed."""

    def __init__(self, frame):
        self.frame = frame
        self.columns = frame.columns
        self.iloc = None

    def __array__(self, dtype=None, copy=None):
        return self.frame.to_numpy(dtype=dtype)

    def compute(self):
        return self.frame


class Named:
    """Any other frame: names and columns by name."""

    def __init__(self, frame):
        self.frame = frame
        self.columns = list(frame.columns)

    def __getitem__(self, name):
        return self.frame[name].to_numpy()

    def __array__(self, dtype=None, copy=None):
        return self.frame.to_numpy(dtype=dtype)


class Weighted(pd.DataFrame):
    """What frames of anesthetic look like: weights that belong to the rows."""

    _metadata = ("own",)

    def isweighted(self):
        return True

    def get_weights(self):
        return self.own


class Chains:
    """What getdist's MCSamples look like."""

    def __init__(self, samples, weights, names):
        self.samples, self.weights, self.names = samples, weights, names

    def getParamNames(self):
        return self

    def list(self):
        return self.names


def test_rows_are_taken_from_arrays_of_any_library():
    result = ss.herd(X, 40)
    assert len(set(result.indices.tolist())) < 40, "rows that repeat are part of the test"
    expected = X[result.indices]
    np.testing.assert_array_equal(result.take(Flattening(X)), expected)
    np.testing.assert_array_equal(result.take(Unwritable(X)), expected)
    np.testing.assert_array_equal(result.take(Ascending(X)), expected)
    assert result.take(X.tolist()) == expected.tolist()
    assert result.take(tuple(range(60))) == tuple(result.indices.tolist())
    np.testing.assert_array_equal(result.take(pl.LazyFrame(X, schema=NAMES)).to_numpy(), expected)
    np.testing.assert_array_equal(result.take(Dask(FRAME)).to_numpy(), expected)
    np.testing.assert_array_equal(result.take(pa.chunked_array([X[:, 0]])).to_numpy(), expected[:, 0])
    np.testing.assert_array_equal(result.take(pl.Series(X[:, 0])).to_numpy(), expected[:, 0])
    np.testing.assert_array_equal(result.take(FRAME["a"]), expected[:, 0])
    taken = result.take({"a": X[:, 0], "x": X})
    np.testing.assert_array_equal(taken["a"], expected[:, 0])
    np.testing.assert_array_equal(taken["x"], expected)


def test_what_has_other_rows_is_not_taken_from():
    result = ss.thin(X, 4)
    for x in (X[:50], np.vstack([X, X]), list(range(61)), pd.DataFrame(X[1:])):
        with pytest.raises(ValueError, match=re.escape(f"x has {len(x)} rows, but the result was chosen from 60 rows")):
            result.take(x)
    for x in (3, set(range(60))):
        with pytest.raises(TypeError, match=r"use result\.indices"):
            result.take(x)
    with pytest.raises(TypeError, match=r"use supersample\.arviz\.take"):
        result.take(xr.Dataset({"a": ("draw", X[:, 0])}))


FRAMES = {
    "dask": Dask(FRAME.assign(chain=1)),
    "any other": Named(FRAME.assign(chain=1, Draw=2)),
    "dict": {"a": X[:, 0], "b": X[:, 1], "c": X[:, 2]},
    "dict of matrices": {"a": X[:, :1], "t": X[:, 1:]},
}


@pytest.mark.parametrize("x", FRAMES.values(), ids=FRAMES.keys())
def test_frames_of_other_libraries_and_dicts_are_read_by_column(x):
    result = ss.thin(x, 6)
    assert result.indices.tolist() == ss.thin(X, 6).indices.tolist()
    assert result.names == {"dict of matrices": ("a[0]", "t[0]", "t[1]")}.get(
        next(name for name, value in FRAMES.items() if value is x), ("a", "b", "c")
    )


def test_dicts_that_are_not_draws_are_refused_in_words():
    for x, kind, words in [
        ({}, ValueError, "without arrays"),
        ({"a": 1.0}, ValueError, "'a' of x is a single number"),
        ({"a": X[:, 0], "b": X[:9]}, ValueError, "differ in their number of draws"),
        ({"a": ["x", "y"]}, TypeError, "column 'a' of x holds"),
        ({"mu": np.zeros((4, 100)), "t": np.zeros((4, 100, 3))}, ValueError, "look like 4 chains of 100 draws"),
    ]:
        with pytest.raises(kind, match=words):
            ss.thin(x, 2)


def test_columns_that_were_passed_over_are_shown():
    result = ss.thin(FRAME.assign(Draw=range(60), lp__=0.0), 5)
    assert result.unused == ("Draw", "lp__") and result.names == ("a", "b", "c")
    assert "not used: Draw, lp__" in repr(result) and "lp__" in result._repr_html_()
    assert "not used" not in repr(ss.thin(FRAME, 5)) and ss.thin(X, 5).unused == ()


def test_weights_that_come_with_the_rows_are_used():
    expected = ss.thin(X, 6, sample_weight=WEIGHTS)
    frame = Weighted(FRAME)
    frame.own = WEIGHTS
    for x in (frame, Chains(X, WEIGHTS, NAMES)):
        result = ss.thin(x, 6)
        assert result.indices.tolist() == expected.indices.tolist() and result.weighted
        assert result.names == ("a", "b", "c")
        assert ss.thin(x, 6, sample_weight=np.ones(60)).indices.tolist() == ss.thin(X, 6).indices.tolist()


def test_logarithms_of_weights_are_weights():
    # Nested sampling has weights that no double holds.
    logs = np.log(WEIGHTS) - 2000
    assert not np.exp(logs).any()
    for function in (ss.herd, ss.thin):
        expected = function(X, 6, sample_weight=WEIGHTS)
        found = function(X, 6, log_weight=logs)
        assert found.indices.tolist() == expected.indices.tolist()
        assert found.mmd == pytest.approx(expected.mmd, rel=1e-9)
    herder = ss.Herder(X, log_weight=logs)
    herder.run(6)
    assert herder.indices.tolist() == ss.herd(X, 6, sample_weight=WEIGHTS).indices.tolist()
    assert ss.mmd(X, X[:9], log_weight=logs) == pytest.approx(ss.mmd(X, X[:9], sample_weight=WEIGHTS), rel=1e-9)
    found = ss.evaluate(X, X[:9], log_weight=logs)
    assert found.mmd == pytest.approx(ss.evaluate(X, X[:9], sample_weight=WEIGHTS).mmd, rel=1e-9)
    # -inf is no weight: the target is that of the others.
    half = np.where(np.arange(60) < 30, -np.inf, 0.0)
    options = {"bandwidth": 1.0, "scale": "none"}
    assert ss.mmd(X, X[:9], log_weight=half, **options) == pytest.approx(ss.mmd(X[30:], X[:9], **options), rel=1e-9)


def test_weights_that_make_no_sense_are_refused():
    for options, words in [
        ({"log_weight": np.zeros(60), "sample_weight": np.ones(60)}, "not both"),
        ({"log_weight": np.full(60, -np.inf)}, "every log-weight is -inf"),
        ({"log_weight": np.r_[np.nan, np.zeros(59)]}, "log-weight of row 0 is NaN"),
        ({"log_weight": np.r_[0, np.inf, np.zeros(58)]}, "log-weight of row 1 is inf"),
        ({"log_weight": np.zeros(3)}, "3 weights were given for 60 rows"),
        ({"sample_weight": np.log(WEIGHTS) - 5}, "logarithms of weights go to log_weight"),
        ({"sample_weight": np.exp(np.full(60, -2000.0))}, "all weights are zero; .*go to log_weight"),
    ]:
        with pytest.raises(ValueError, match=words):
            ss.thin(X, 5, **options)
    for function in (ss.herd, ss.thin):
        with pytest.raises(TypeError, match="use sample_weight"):
            function(X, 5, weights=np.ones(60))
    with pytest.raises(TypeError, match="use sample_weight"):
        ss.sample(ss.GaussianMixture([1], [[0.0]], [[[1.0]]]), 3, weights=[1.0, 2.0, 3.0])


def test_columns_are_matched_by_name():
    few = FRAME.iloc[:20]
    expected = ss.mmd(X, X[:20])
    for y in (
        few[["c", "a", "b"]],
        few.assign(other=1.0)[["other", "b", "c", "a"]],
        pl.from_pandas(few[["b", "c", "a"]]),
    ):
        assert ss.mmd(FRAME, y) == pytest.approx(expected, rel=1e-12)
        assert ss.evaluate(FRAME, y).mmd == pytest.approx(expected, rel=1e-12)
    assert ss.mmd(FRAME, X[:20]) == ss.mmd(X, few) == pytest.approx(expected, rel=1e-12)
    result = ss.thin(FRAME[["b", "c", "a"]], 9)
    assert ss.mmd(FRAME, result) == pytest.approx(result.mmd, rel=1e-6)
    # A result is measured by the columns that it was chosen by.
    fewer = ss.thin(FRAME[["a", "b"]], 3)
    for x in (FRAME, FRAME[["b", "c", "a"]], pl.from_pandas(FRAME).lazy(), dict(zip(NAMES, X.T))):
        assert ss.evaluate(x, fewer).mmd == pytest.approx(fewer.mmd, rel=1e-6)
    for y in (few[["a", "b"]], few.rename(columns={"a": "A"}), ss.thin(FRAME.rename(columns={"a": "A"}), 3)):
        with pytest.raises(ValueError, match="has no column"):
            ss.evaluate(FRAME, y)
    with pytest.raises(ValueError, match="'a' occurs more than once"):
        ss.mmd(FRAME, pd.DataFrame(X[:5][:, [0, 0, 1, 2]], columns=["a", "a", "b", "c"]))


def test_a_column_of_weights_is_read_as_the_command_reads_it():
    best = ss.thin(FRAME, 9, weights="simplex")
    frame = best.to_frame()
    assert frame.columns.tolist() == [*NAMES, "weight"] and frame.index.tolist() == best.indices.tolist()
    assert ss.evaluate(FRAME, frame).mmd == pytest.approx(best.mmd, rel=1e-6)
    assert ss.mmd(FRAME, frame) < ss.mmd(FRAME, frame, subset_weight=np.ones(9))
    assert ss.mmd(X, frame) == ss.mmd(FRAME, frame)
    with pytest.raises(ValueError, match="the subset has dimension 4, but dimension 3 is needed"):
        ss.mmd(X, frame.rename(columns={"weight": "d"}))
    assert ss.thin(FRAME, 3).to_frame().columns.tolist() == NAMES


def test_a_result_is_evaluated_as_it_was_chosen():
    for options in ({"kernel": "laplace", "scale": "none"}, {"bandwidth": 0.7}, {"sample_weight": WEIGHTS}):
        result = ss.thin(X, 9, **options)
        assert ss.evaluate(X, result).mmd == pytest.approx(result.mmd, rel=1e-6)
        assert ss.mmd(X, result) == pytest.approx(result.mmd, rel=1e-6)
        assert ss.evaluate(X, result).kernel == result.kernel
    result = ss.thin(X, 9, kernel="laplace", scale="none")
    told = {"kernel": "gaussian", "bandwidth": "median", "scale": "sd"}
    assert ss.mmd(X, result, **told) == ss.mmd(X, result.points) == ss.evaluate(X, result, **told).mmd
    assert ss.mmd(X, result, bandwidth=3.0) == ss.mmd(X, result.points, kernel=ss.Laplace(3.0), scale="none")
    placed = ss.sample(ss.GaussianMixture([1], [[0.0]], [[[1.0]]]), 5, bandwidth=0.4)
    assert ss.mmd(ss.GaussianMixture([1], [[0.0]], [[[1.0]]]), placed) == pytest.approx(placed.mmd, rel=1e-9)
    weighted = pickle.loads(pickle.dumps(ss.thin(X, 9, sample_weight=WEIGHTS)))
    with pytest.warns(ss.SupersampleWarning, match="give sample_weight"):
        ss.mmd(X, weighted)
    assert ss.mmd(X, weighted, sample_weight=WEIGHTS) == pytest.approx(weighted.mmd, rel=1e-6)


def test_a_herder_does_not_see_what_is_written_to_the_array_later():
    x = X.copy()
    herder = ss.Herder(x, sample_weight=(weights := WEIGHTS.copy()))
    herder.run(5)
    x[:], weights[:] = 0.0, 1.0
    pick = next(herder)
    np.testing.assert_array_equal(pick.point, X[pick.index])
    np.testing.assert_array_equal(herder.result().points, X[herder.indices])
    again = pickle.loads(pickle.dumps(herder))
    again.run(5)
    assert again.indices.tolist() == ss.herd(X, 11, sample_weight=WEIGHTS).indices.tolist()
    shared = X.copy()
    for x in (shared, shared[:], Array(shared), xr.DataArray(shared)):
        herder = ss.Herder(x)
        assert not np.shares_memory(herder._table.values, shared)
    shared.setflags(write=False)
    assert np.shares_memory(ss.Herder(shared)._table.values, shared)
    x = X.copy()
    result = ss.thin(x, 5)
    x[:] = 0.0
    assert result._data.any()


def test_a_result_keeps_few_rows_alive():
    x = np.random.default_rng(0).normal(size=(40_000, 2)).astype(np.float32)
    result = ss.herd(x, 3)
    assert len(result._data) <= 10_000 and result._data.nbytes < 200_000


def test_a_result_is_an_array_of_its_points():
    result = ss.thin(X, 5)
    np.testing.assert_array_equal(np.asarray(result), result.points)
    np.testing.assert_array_equal(np.asarray(result, dtype=np.float32), result.points.astype(np.float32))
    np.testing.assert_array_equal(result[1:3], result.points[1:3])
    assert [point.tolist() for point in result] == result.points.tolist()
    assert isinstance(result, ss.PoolResult) and isinstance(ss.Herder(X).replay([1])[0], ss.Pick)


def test_series_posteriors_and_the_like_are_pointed_elsewhere():
    for x, kind, words in [
        (FRAME["a"], ValueError, r"x\.to_frame\(\)"),
        (pl.Series(X[:, 0]), ValueError, r"x\.to_frame\(\)"),
        (
            xr.DataTree.from_dict({"posterior": xr.Dataset({"a": (("chain", "draw"), X)})}),
            TypeError,
            "supersample.arviz",
        ),
    ]:
        with pytest.raises(kind, match=words):
            ss.thin(x, 5)


def test_the_words_of_refusals_are_those_of_python():
    for call, kind, words in [
        (lambda: ss.Gaussian("wide"), TypeError, "bandwidth is 'wide'"),
        (lambda: ss.Laplace([1.0, 2.0]), ValueError, "laplace takes one bandwidth, not 2"),
        (lambda: ss.thin(X, 3, kernel="laplace", bandwidth=[1, 2]), ValueError, "laplace takes one bandwidth, not 2"),
        (lambda: ss.thin(X, 3, scale=True), TypeError, "scale is True; choose none, sd, mad, aad or pca"),
        (lambda: ss.thin(X, 3, precision=True), TypeError, "precision is True; choose mixed or double"),
        (lambda: ss.thin(X, 3, threads=-1), ValueError, "threads is -1; give at least 1, or None for all cores"),
        (lambda: ss.thin(X, equivalent_draws="3"), TypeError, "equivalent_draws is '3'; give a number"),
        (lambda: ss.herd(X, tol=[1.0, 2.0]), TypeError, "tol is"),
        (lambda: ss.thin(X, 6, groups=np.array([1, "a"] * 30, object)), TypeError, "labels that cannot be sorted"),
        (lambda: ss.thin(X, 6, groups=["a", "b"] * 30, quotas=[1]), ValueError, r"one for each of \['a', 'b'\]"),
    ]:
        with pytest.raises(kind, match=words):
            call()
    assert ss.Gaussian(np.array([1.0, 2.0])).bandwidths == (1.0, 2.0)
    assert ss.thin(X, 5, bandwidth=np.array([0.5, 1.0])).kernel == ss.Gaussian((0.5, 1.0))


@pytest.mark.parametrize("name", [name for name, *_ in _native.KERNELS])
def test_every_kernel_of_the_library_is_a_frozen_value(name):
    most = {name: most for name, most, _ in _native.KERNELS}[name]
    kind = ss.kernels.BY_NAME[name]
    kernel = kind(0.7) if most else kind()
    again = kind(bandwidth=0.7) if most else kind()
    assert kernel == again and hash(kernel) == hash(again) and pickle.loads(pickle.dumps(kernel)) == kernel
    assert copy.deepcopy(kernel) == kernel and kernel != "gaussian"
    shown = "bandwidth=0.7" if most else ""
    assert repr(kernel) == f"{kind.__name__}({shown})" and kind.__module__ == "supersample.kernels"
    assert getattr(ss, kind.__name__) is getattr(ss.kernels, kind.__name__) is kind
    assert kernel.name == name and kernel.bandwidths == ((0.7,) if most else ()) and isinstance(kernel, ss.Kernel)
    with pytest.raises(AttributeError):
        kernel.bandwidth = 2.0
    with pytest.raises(TypeError):
        kind() if most else kind(1.0)
    if most:
        assert kernel != kind(0.8) and kernel != ss.Linear()
        with pytest.raises(ValueError, match="bandwidth is 0; give a positive length"):
            kind(0)
    chosen = ss.herd(X, 3, kernel=name)
    assert type(chosen.kernel) is kind and len(chosen.kernel.bandwidths) == min(most, 1)


def test_a_word_of_python_is_one_of_the_library():
    assert list(typing.get_args(_options.Scale)) == list(_native.SCALES)
    with pytest.raises(ValueError, match="linear takes no bandwidth"):
        ss.thin(X, 3, kernel="linear", bandwidth=1.0)
    with pytest.raises(ValueError, match="a Stein kernel needs the scores"):
        ss.thin(X, 3, kernel="stein-imq")
    with pytest.raises(AttributeError):
        ss.kernels.Cauchy  # noqa: B018
