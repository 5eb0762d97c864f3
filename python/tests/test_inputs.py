"""Everything users hand over: what works gives the same rows, what does not is refused in so many words."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import supersample as ss
import xarray as xr
from required import skipped

X = np.random.default_rng(0).normal(size=(60, 3)) * [1, 5, 0.2]
EXPECTED = ss.herd(X, 8).indices.tolist()
NAMES = ["a", "b", "c"]


class Array:
    """What torch and JAX look like to NumPy."""

    def __init__(self, x):
        self.x = x

    def __array__(self, dtype=None, copy=None):
        return np.array(self.x, dtype=dtype)


class Capsule:
    """What speaks DLPack only."""

    def __init__(self, x):
        self.x = x

    def __dlpack__(self, **options):
        return self.x.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.x.__dlpack_device__()


class OnAnotherDevice(Capsule):
    def __dlpack__(self, **options):
        raise BufferError("the data are on a GPU")


class Stream:
    """What speaks Arrow only."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


def read_only():
    x = X.copy()
    x.setflags(write=False)
    return x


def unaligned():
    buffer = np.zeros(X.nbytes + 1, dtype=np.uint8)[1:]
    x = buffer.view(np.float64).reshape(X.shape)
    x[:] = X
    return x


SAME = {
    "C order": X,
    "Fortran order": np.asfortranarray(X),
    "strided": np.repeat(X, 2, axis=0)[::2],
    "columns of a larger array": np.hstack([X, X])[:, :3],
    "reversed twice": X[::-1].copy()[::-1],
    "read-only": read_only(),
    "big-endian": X.astype(">f8"),
    "unaligned": unaligned(),
    "masked, nothing masked": np.ma.masked_array(X),
    "list": X.tolist(),
    "tuple of tuples": tuple(map(tuple, X)),
    "__array__": Array(X),
    "DLPack": Capsule(X),
    "pandas": pd.DataFrame(X, columns=NAMES),
    "pandas, odd index and ids": pd.DataFrame(X, columns=NAMES, index=range(100, 160)).assign(chain=1, lp__="x"),
    "pandas, nullable": pd.DataFrame(X, columns=NAMES).convert_dtypes(),
    "pandas, the same name twice": pd.DataFrame(X, columns=["a", "a", "b"]),
    "polars": pl.DataFrame(X, schema=NAMES),
    "polars, lazy": pl.LazyFrame(X, schema=NAMES),
    "polars, with a draw column": pl.DataFrame(X, schema=NAMES).with_row_index("draw"),
    "pyarrow": pa.table(dict(zip(NAMES, X.T))),
    "pyarrow, chunked": pa.concat_tables([pa.table(dict(zip(NAMES, X[:20].T))), pa.table(dict(zip(NAMES, X[20:].T)))]),
    "Arrow stream": Stream(pa.table(dict(zip(NAMES, X.T)))),
    "xarray": xr.DataArray(X, dims=("draw", "parameter")),
}


@pytest.mark.parametrize("x", SAME.values(), ids=SAME.keys())
def test_every_kind_gives_the_same_rows(x):
    result = ss.herd(x, 8)
    assert result.indices.tolist() == EXPECTED
    np.testing.assert_array_equal(result.points, X[EXPECTED])


def test_single_precision_and_whole_numbers_are_read_exactly():
    x = X.astype(np.float32)
    assert ss.herd(x, 8).indices.tolist() == ss.herd(x.astype(np.float64), 8).indices.tolist()
    whole = np.round(X * 10).astype(np.int16)
    assert ss.herd(whole, 8).indices.tolist() == ss.herd(whole.astype(float), 8).indices.tolist()


def test_doubles_in_c_order_are_not_copied():
    from supersample._tables import as_table

    assert as_table(X).values is X or np.shares_memory(as_table(X).values, X)
    assert np.shares_memory(as_table(read_only_view := X[5:50]).values, read_only_view)


def test_names_of_columns_are_kept():
    frame = pd.DataFrame(X, columns=NAMES).assign(chain=0, accept_stat__=0.9, Draw=range(60))
    assert ss.herd(frame, 5).names == ("a", "b", "c")
    assert ss.herd(X, 5).names is None


def test_rows_can_be_taken_from_anything():
    result = ss.thin(X, 5)
    for x in (X, pd.DataFrame(X, columns=NAMES), pl.DataFrame(X, schema=NAMES), pa.table(dict(zip(NAMES, X.T)))):
        taken = result.take(x)
        assert type(taken) is type(x)
        np.testing.assert_array_equal(
            np.column_stack([taken[name] for name in NAMES]) if x is not X else taken, result.points
        )


def nan():
    x = X.copy()
    x[7, 2] = np.nan
    return x


def text_column():
    return pd.DataFrame(np.tile(X, (1, 3)), columns=list("abcdefghi")).assign(label="cat")


REFUSED = {
    "NaN": (nan(), ValueError, "row 7, column 2 of x is NaN"),
    "infinity": (np.where(np.arange(60)[:, None] == 3, -np.inf, X), ValueError, "row 3, column 0 of x is -inf"),
    "NaN in a frame": (pd.DataFrame(nan(), columns=NAMES), ValueError, "row 7, column 'c' of x is NaN"),
    "missing in polars": (pl.DataFrame({"a": [1, None, 3]}), ValueError, "row 1, column 'a' of x is NaN"),
    "missing in Arrow": (pa.table({"a": [1, None, 3]}), ValueError, "row 1, column 'a' of x is NaN"),
    "missing in pandas": (
        pd.DataFrame({"a": pd.array([1, None, 3], dtype="Int64")}),
        ValueError,
        "row 1, column 'a' of x is NaN",
    ),
    "0-d": (np.float64(3.0), ValueError, "x has shape (), but two dimensions are needed"),
    "1-d": (X[:, 0], ValueError, "x.reshape(-1, 1)"),
    "3-d": (X.reshape(3, 20, 3), ValueError, "x.reshape(-1, 3)"),
    "no rows": (np.empty((0, 3)), ValueError, "there are no points"),
    "no columns": (np.empty((3, 0)), ValueError, "no coordinates"),
    "empty list": ([], ValueError, "is empty; give at least one row"),
    "object": (X.astype(object), TypeError, "dtype object, which is not a type of real numbers"),
    "strings": (X.astype(str), TypeError, "not a type of real numbers"),
    "complex": (X.astype(complex), TypeError, "dtype complex128, which is not a type of real numbers"),
    "dates": (np.zeros((3, 1), dtype="M8[s]"), TypeError, "not a type of real numbers"),
    "masked": (np.ma.masked_array(X, X < -2), ValueError, "is masked at row"),
    "a string column": (text_column(), TypeError, "column 'label' of x holds"),
    "a string column, polars": (pl.from_pandas(text_column()), TypeError, "column 'label' of x holds"),
    "a string column, Arrow": (pa.Table.from_pandas(text_column()), TypeError, "column 'label' of x holds"),
    "ids only": (pd.DataFrame({"chain": [1, 2]}), ValueError, "has no column to use"),
    "a ragged list": ([[1.0], [1.0, 2.0]], ValueError, "the items of x differ in their length"),
    "a file that is not there": ("draws", FileNotFoundError, "draws: "),
    "None": (None, TypeError, "x is of type NoneType"),
    "on a GPU": (OnAnotherDevice(X), TypeError, "move it to the CPU first"),
    "Dataset": (xr.Dataset({"a": ("draw", X[:, 0])}), TypeError, "use supersample.arviz"),
}


@pytest.mark.parametrize(("x", "kind", "words"), REFUSED.values(), ids=REFUSED.keys())
@pytest.mark.parametrize("function", [ss.herd, ss.thin])
def test_what_cannot_be_used_is_refused_in_words(function, x, kind, words):
    with pytest.raises(kind) as refusal:
        function(x, 2)
    assert words in str(refusal.value)


def test_a_sparse_matrix_is_refused():
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(TypeError, match="toarray"):
        ss.herd(sparse.csr_matrix(X), 2)


OPTIONS = {
    "n 0": ({"n": 0}, ValueError, "n is 0; give at least 1"),
    "n negative": ({"n": -3}, ValueError, "n is -3"),
    "n fractional": ({"n": 2.5}, TypeError, "n is 2.5; give a whole number"),
    "n missing": ({"n": None}, ValueError, "give the size"),
    "tol": ({"tol": -1.0}, ValueError, "tol is -1; an error is a positive number"),
    "equivalent_draws": ({"equivalent_draws": float("nan")}, ValueError, "equivalent_draws is NaN"),
    "kernel": ({"kernel": "rbf"}, ValueError, "'rbf' is not a kernel; choose gaussian, laplace"),
    "kernel of another type": ({"kernel": 3}, TypeError, "give a name such as 'gaussian'"),
    "bandwidth": (
        {"bandwidth": 0.0},
        ValueError,
        "bandwidth is 0; give a positive length in the units of the scaled columns",
    ),
    "bandwidth word": ({"bandwidth": "auto"}, ValueError, "the word 'median'"),
    "bandwidth of linear": (
        {"kernel": "linear", "bandwidth": 1.0},
        ValueError,
        "linear takes no bandwidth; leave it out",
    ),
    "bandwidth twice": ({"kernel": ss.IMQ(1.0), "bandwidth": 1.0}, ValueError, "which has its own"),
    "several bandwidths": ({"kernel": "imq", "bandwidth": (1.0, 2.0)}, ValueError, "only gaussian takes several"),
    "scale": ({"scale": "unit"}, ValueError, "'unit' is not a scale; choose none, sd, mad, aad or pca"),
    "weights": ({"weights": "best"}, ValueError, "weights is 'best'; choose equal, simplex, signed or calibrated"),
    "precision": ({"precision": "half"}, ValueError, "'half' is not a precision; choose mixed or double"),
    "device": ({"device": "tpu"}, ValueError, "'tpu' is not a device; choose cpu or gpu"),
    "device of another type": ({"device": 0}, TypeError, "device is 0; choose cpu or gpu"),
    "threads": ({"threads": 0}, ValueError, "threads is 0"),
    "too many threads": ({"threads": 10**6}, ValueError, "at most 1024"),
    "weights of rows, count": ({"sample_weight": [1.0, 2.0]}, ValueError, "2 weights were given for 60 rows"),
    "weights of rows, negative": (
        {"sample_weight": -np.ones(60)},
        ValueError,
        "the weight of row 0 is -1; weights must be",
    ),
    "weights of rows, zero": ({"sample_weight": np.zeros(60)}, ValueError, "(logarithms of weights go to log_weight)"),
    "weights of rows, shape": ({"sample_weight": np.ones((60, 1))}, ValueError, "give one number for each row"),
    "weights of rows, text": ({"sample_weight": ["a"] * 60}, TypeError, "not a type of real numbers"),
    "log-weights of rows, count": ({"log_weight": [1.0, 2.0]}, ValueError, "2 weights were given for 60 rows"),
    "log-weights of rows, shape": ({"log_weight": np.ones((60, 1))}, ValueError, "give one number for each row"),
    "a word of others": ({"num_samples": 3}, TypeError, "unexpected keyword argument 'num_samples'; did you mean 'n'?"),
    "a slip": ({"bandwith": 3}, TypeError, "unexpected keyword argument 'bandwith'; did you mean 'bandwidth'?"),
    "nothing like it": ({"zzz": 3}, TypeError, "unexpected keyword argument 'zzz'"),
    "progress": ({"progress": "yes"}, TypeError, "give True, False or a function"),
}


@pytest.mark.parametrize(("options", "kind", "words"), OPTIONS.values(), ids=OPTIONS.keys())
@pytest.mark.parametrize("function", [ss.herd, ss.thin])
def test_options_that_make_no_sense_are_refused(function, options, kind, words):
    with pytest.raises(kind) as refusal:
        function(X, **{"n": 5, **options})
    assert words in str(refusal.value)


def test_a_gpu_that_is_not_there_is_an_error_of_one_sentence_before_any_work():
    try:
        name = ss._native.device_name("gpu")
    except RuntimeError as refusal:
        words = str(refusal)
    else:
        pytest.skip(f"this machine has {name}")
    assert words.startswith("no GPU: ")
    assert words.endswith("; use the device cpu")
    untouched = iter([X])
    for call in (
        lambda: ss.herd(X, 5, device="gpu"),
        lambda: ss.thin(X, 5, device="gpu"),
        lambda: ss.thin(untouched, 5, device="gpu"),
        lambda: ss.mmd(X, X[:5], device="gpu"),
        lambda: ss.evaluate(X, X[:5], device="gpu"),
        lambda: ss.Herder(X, device="gpu"),
    ):
        with pytest.raises(RuntimeError, match="no GPU: ") as refusal:
            call()
        assert str(refusal.value) == words
    assert next(untouched) is X
    assert ss.herd(X, 5, device="cpu").indices.tolist() == ss.herd(X, 5).indices.tolist()
    herder = ss.Herder(X, device="cpu")
    herder.run(3)
    state = herder.__getstate__()
    assert state["options"]["device"] == "cpu"
    with pytest.raises(RuntimeError, match="no GPU: "):
        ss.Herder.__new__(ss.Herder).__setstate__({**state, "options": state["options"].also(device="gpu")})
    with pytest.raises(TypeError, match="device is 0; choose cpu or gpu"):
        ss.Herder(X, device=0)


def test_a_herder_on_a_gpu_picks_as_herd_does_and_goes_on_from_a_pickle():
    try:
        ss._native.device_name("gpu")
    except RuntimeError as refusal:
        skipped("gpu", refusal)
    x = np.random.default_rng(3).normal(size=(20_000, 4))
    herder = ss.Herder(x, unique=True, device="gpu")
    first = herder.run(20)
    other = pickle.loads(pickle.dumps(herder))
    assert [pick.index for pick in other.run(10)] == [pick.index for pick in herder.run(10)]
    whole = ss.herd(x, 30, unique=True, device="gpu")
    assert herder.indices.tolist() == whole.indices.tolist()
    assert first[-1].error == pytest.approx(whole.error[19], rel=1e-3)


def test_refusals_name_columns_and_groups_where_they_have_names():
    frame = pd.DataFrame(nan(), columns=NAMES)
    with pytest.raises(ValueError, match="row 7, column 'c' of y is NaN; "):
        ss.mmd(pd.DataFrame(X, columns=NAMES), frame)
    with pytest.raises(ValueError, match="quotas: 9 rows of group 'low' are asked for, but only 5 may be chosen"):
        ss.thin(X, groups=np.where(np.arange(60) < 5, "low", "high"), quotas={"low": 9, "high": 2})


def test_a_refusal_crosses_to_another_process_in_words():
    from supersample import _native

    with pytest.raises(ValueError, match="bandwidth is -1") as refusal:
        _native.check_kernel("gaussian", [-1.0])
    assert isinstance(refusal.value.refusal, _native.Refusal)
    copy = pickle.loads(pickle.dumps(refusal.value))
    assert (str(copy), copy.refusal) == (str(refusal.value), str(refusal.value))
