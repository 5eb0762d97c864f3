"""What comes in with the rows: masks, indexes, names of columns, missing values, weights. All containers are alike."""

import array
import collections
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import supersample as ss

RNG = np.random.default_rng(5)
X = RNG.normal(size=(300, 3)) * [1, 5, 0.2]
NAMES = ["a", "b", "c"]
FRAME = pd.DataFrame(X, columns=NAMES)
WEIGHTS = RNG.gamma(2.0, size=300)


def rows(x, n=8, **options):
    return ss.thin(x, n, **options).indices.tolist()


EXPECTED = rows(X)


class Variable:
    """What netCDF4's variables look like: a masked array, and errors of their own for unknown attributes."""

    def __init__(self, values):
        self.values = values
        self.shape, self.dtype, self.ndim = values.shape, values.dtype, values.ndim

    def __getattr__(self, name):
        raise AttributeError(name) if name.startswith("__") else KeyError(name)

    def __array__(self, dtype=None, copy=None):
        return self.values

    def __getitem__(self, item):
        return self.values[item]

    def __len__(self):
        return len(self.values)


class Columns:
    """What astropy's tables look like: columns that are masked arrays."""

    def __init__(self, columns):
        self.columns = columns
        self.iloc = "not that of pandas"

    def __getitem__(self, item):
        return self.columns[item] if isinstance(item, str) else {name: one[item] for name, one in self.columns.items()}

    def __len__(self):
        return len(next(iter(self.columns.values())))


def test_masked_values_are_refused_wherever_they_are():
    filled = X.copy()
    filled[7, 1] = 9.96e36
    bad = np.ma.masked_values(filled, 9.96e36)
    for x in (
        bad,
        {"a": bad[:, 0], "b": bad[:, 1]},
        list(bad),
        Columns({"a": bad[:, 0], "b": bad[:, 1]}),
        Variable(bad),
        bad.astype(np.float32),
    ):
        with pytest.raises(ValueError, match="is masked at row 7; drop or impute masked rows first"):
            rows(x)
    weights = np.ma.masked_array(WEIGHTS, np.arange(300) == 7)
    for name in ("sample_weight", "log_weight", "functions", "groups", "chains", "scores"):
        with pytest.raises(ValueError, match="masked at row 7"):
            rows(X, **{name: weights if name != "scores" else bad})
    with pytest.raises(ValueError, match="masked at row 7"):
        ss.thin(iter([(X, weights)]), 5)
    with pytest.raises(ValueError, match="masked at row 7"):
        ss.mmd(X, bad)
    with pytest.raises(ValueError, match="what score returns is masked at row 1"):
        ss.stein.sample(lambda x: np.ma.masked_array(-x, [False, True, False]), 3, X)
    with pytest.raises(ValueError, match="bandwidth is masked at row 0"):
        rows(X, bandwidth=np.ma.masked_array([1.0, 2.0], [True, False]))
    # Of Dask too, of which NumPy loses the mask.
    lazy = pytest.importorskip("dask.array").from_array(bad, chunks=(100, 3))
    for x in (lazy, lazy.astype(np.float32)):
        with pytest.raises(ValueError, match="masked at row 7"):
            rows(x)
    # Nothing masked is nothing lost.
    free = np.ma.masked_array(X)
    assert rows({"a": free[:, 0], "b": free[:, 1], "c": free[:, 2]}) == rows(Variable(free)) == EXPECTED
    taken = ss.thin(X, 8).take(Columns({"a": free[:, 0]}))
    np.testing.assert_array_equal(taken["a"], X[EXPECTED, 0])
    np.testing.assert_array_equal(ss.thin(X, 8).take(Variable(free)), X[EXPECTED])


def test_an_index_of_another_order_is_refused_for_all_that_belongs_to_rows():
    mask = (FRAME.a > 0).sort_values()
    series = pd.Series(WEIGHTS).sort_values()
    for name, value in {
        "exclude": mask,
        "include": mask & False,
        "sample_weight": series,
        "log_weight": series,
        "functions": series,
        "groups": mask,
        "chains": mask,
        "scores": FRAME.sort_values("a"),
    }.items():
        with pytest.raises(
            ValueError, match=rf"the index of {name} has another order than that of x; give {name}\.loc"
        ):
            rows(FRAME, **{name: value})
        if name in ("exclude", "sample_weight"):
            assert rows(FRAME, **{name: value.loc[FRAME.index]}) == rows(FRAME, **{name: value.sort_index().to_numpy()})
    for function in (ss.mmd, ss.evaluate):
        with pytest.raises(ValueError, match="the index of y has another order"):
            function(FRAME, mask)
    for name in ("weights", "log_weight", "functions"):
        with pytest.raises(ValueError, match=f"the index of {name} has another order than that of x"):
            ss.resample(FRAME, n=5, **{name: series})
    for options in ({"match_weight": series}, {"functions": (FRAME.a, series)}):
        with pytest.raises(ValueError, match="has another order than that of match"):
            rows(FRAME, match=FRAME, **options)
    with pytest.raises(ValueError, match="the functions of x has another order than that of x"):
        rows(FRAME, match=FRAME, functions=(series, FRAME.a))
    # Other labels say nothing of the order, and numbers of rows have no index.
    assert rows(FRAME, sample_weight=pd.Series(WEIGHTS, index=range(1000, 1300))) == rows(X, sample_weight=WEIGHTS)
    assert 7 in rows(FRAME, include=pd.Series([7, 3], index=[1, 0]))
    with pytest.raises(ValueError, match=r"the index of x\['b'\] has another order"):
        rows({"a": FRAME.a, "b": FRAME.b.sort_values()})
    odd = FRAME.set_axis([*range(299), "last"])
    with pytest.raises(ValueError, match="another order"):
        rows(odd, sample_weight=pd.Series(WEIGHTS, index=odd.index)[::-1])


def test_ids_and_own_weights_are_passed_over_in_dicts_as_in_frames():
    ids = {"chain": np.arange(300) // 75, "draw": np.arange(300), "lp__": X[:, 0], "weight": WEIGHTS}
    table = {**dict(zip(NAMES, X.T)), **ids}
    for x in (table, pd.DataFrame(table), pl.DataFrame(table), pa.table(table), pd.DataFrame(table).to_records(False)):
        with pytest.warns(ss.SupersampleWarning, match="column 'weight' is not used; use it .* sample_weight='weight'"):
            result = ss.thin(x, 8)
        assert result.names == ("a", "b", "c") and result.indices.tolist() == EXPECTED
        assert result.unused == ("chain", "draw", "lp__", "weight")
        assert result.draws.chains == 4


def test_a_weighted_result_keeps_its_weights_as_input():
    best = ss.thin(FRAME, 60, weights="simplex")
    frame = best.to_frame()
    expected = ss.thin(best.points, 5, sample_weight=best.weights)
    assert ss.thin(best, 5).indices.tolist() == expected.indices.tolist() and ss.thin(best, 5).weighted
    assert ss.thin(frame, 5, sample_weight="weight").indices.tolist() == expected.indices.tolist()
    with pytest.warns(ss.SupersampleWarning, match="column 'weight' is not used"):
        assert ss.thin(frame, 5).names == ("a", "b", "c")
    assert ss.mmd(best, X[:40]) == ss.mmd(best.points, X[:40], sample_weight=best.weights)


def test_columns_that_look_like_ids_or_weights_are_noted():
    noise = np.random.default_rng(8).normal(size=(2, 300))
    ids = {"nr": np.arange(1, 301), "Unnamed: 0": noise[0], "step": noise[1]}
    for x in (FRAME.assign(**ids), pl.from_pandas(FRAME.assign(**ids)), {**dict(zip(NAMES, X.T)), **ids}):
        for source in (x,) if isinstance(x, dict) else (x, iter([x])):
            words = r"columns .*Unnamed: 0, step are used, but look like an id.*columns=\[.*'~Unnamed: 0', '~step'\]"
            with pytest.warns(ss.SupersampleWarning, match=words):
                ss.thin(source, 5)
        assert rows(x, columns=["~nr", "~Unnamed: 0", "~step"]) == EXPECTED
        ss.thin(x, 5, columns=[*NAMES, "step"])
    with pytest.warns(ss.SupersampleWarning, match=r"columns nr are|column 'nr' is used, but looks like an id"):
        ss.herd(FRAME.assign(nr=ids["nr"]), 5)
    # It begins again with every chain.
    again = FRAME.assign(nr=np.arange(300) % 100, chain=np.arange(300) // 100)
    with pytest.warns(ss.SupersampleWarning, match="column 'nr' is used, but looks like an id"):
        ss.thin(again, 5)
    with pytest.warns(
        ss.SupersampleWarning, match="column 'logwt' is used .* or use one with sample_weight or log_weight"
    ):
        ss.Herder(FRAME.assign(logwt=WEIGHTS))
    ss.thin(FRAME.assign(logwt=WEIGHTS), 5, log_weight="logwt")


TABLE = FRAME.assign(g=np.where(X[:, 0] > 0, "high", "low"), w=WEIGHTS, f=X[:, 0] * X[:, 1], run=np.arange(300) // 100)
TABLES = {"pandas": TABLE, "polars": pl.from_pandas(TABLE), "Arrow": pa.Table.from_pandas(TABLE, preserve_index=False)}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES.keys())
def test_columns_have_the_roles_that_are_named(table):
    named = {"columns": NAMES, "sample_weight": "w", "groups": "g", "functions": ["f"], "chains": "run"}
    plain = {
        "sample_weight": WEIGHTS,
        "groups": TABLE.g.to_numpy(),
        "functions": TABLE[["f"]].to_numpy(),
        "chains": TABLE.run.to_numpy(),
    }
    found, expected = ss.thin(table, 8, **named), ss.thin(X, 8, **plain)
    assert found.indices.tolist() == expected.indices.tolist() and found.mmd == expected.mmd
    assert found.names == ("a", "b", "c") and found.unused == () and found.draws.chains == 3
    judged = {name: named[name] for name in ("columns", "sample_weight", "functions", "chains")}
    del plain["groups"]
    assert ss.evaluate(table, found, **judged).errors == ss.evaluate(X, expected, **plain).errors
    logs = ss.thin(table, 8, columns=["~g", "~w", "~f", "~run"], log_weight="w")
    assert logs.indices.tolist() == rows(X, log_weight=WEIGHTS)
    assert ss.herd(table, 8, columns="a").indices.tolist() == ss.herd(X[:, :1], 8).indices.tolist()
    assert ss.mmd(table, X[:9], columns=NAMES) == ss.mmd(X, X[:9])
    assert ss.diagnose(table, columns=NAMES, chains="run").chains == 3
    herder = ss.Herder(table, columns=NAMES, sample_weight="w")
    assert [pick.index for pick in herder.run(5)] == ss.herd(X, 5, sample_weight=WEIGHTS).indices.tolist()
    assert ss.mmd(table, found) == pytest.approx(found.mmd, rel=1e-6)
    # In batches too.
    batches = {"columns": NAMES, "sample_weight": "w", "pool_rows": 300}
    assert rows(table, **batches) == rows(X, sample_weight=WEIGHTS, pool_rows=300)
    parts = [table[:120], table[120:]]
    options = {name: batches[name] for name in ("columns", "sample_weight")}
    assert rows(iter(parts), **options) == rows(lambda: iter(parts), **options) == rows(X, sample_weight=WEIGHTS)


def test_vectors_patterns_and_entries_are_columns():
    samples = {"mu": X[:, 0], "theta": X[:, 1:], "y_hat": RNG.normal(size=(300, 40)), "note": np.array(["x"] * 300)}
    for columns in (["mu", "theta"], ["mu", "theta*"], ["mu", "theta[0]", "theta[1]"], ["~y_hat", "~note"]):
        found = ss.thin(samples, 8, columns=columns)
        assert found.indices.tolist() == EXPECTED and found.names == ("mu", "theta[0]", "theta[1]")
    found = ss.thin(samples, 8, columns=["mu", "theta"], functions=["y_hat"])
    assert found.indices.tolist() == rows(X, functions=samples["y_hat"])
    assert ss.thin(pd.DataFrame(X), 8, columns=[0, 2]).names == ("0", "2")
    assert rows(collections.namedtuple("draws", "mu theta")(X[:, 0], X[:, 1:])) == EXPECTED
    # An id is a function, or a column, if it is named.
    frame = FRAME.assign(lp__=X[:, 0] ** 2)
    assert rows(frame, functions=["lp__"]) == rows(X, functions=X[:, :1] ** 2)
    assert ss.thin(frame, 8, columns=["a", "lp__"]).names == ("a", "lp__")


def test_roles_that_make_no_sense_are_refused_in_words():
    for x, options, kind, words in [
        (TABLE, {"columns": ["a", "z"]}, ValueError, "x has no column 'z'; its columns are a, b, c, g"),
        (TABLE, {"columns": ["a", "f"], "functions": ["f"]}, ValueError, "column 'f' is a function, which distances"),
        (TABLE, {"columns": 3}, TypeError, r"columns is 3; give the names of columns in a list"),
        (TABLE, {"columns": ["g"]}, TypeError, r"column 'g' of x holds .*, not numbers"),
        (TABLE, {"columns": ["a"], "sample_weight": "g"}, TypeError, "column 'g' of x holds"),
        (TABLE, {"columns": ["a"], "sample_weight": "w", "log_weight": "w"}, ValueError, "not both"),
        (TABLE, {"columns": ["a"], "sample_weight": "w", "log_weight": WEIGHTS}, ValueError, "not both"),
        (
            X,
            {"columns": [0]},
            ValueError,
            r"columns= needs names, and the columns of x have none; take them from .* x\[:, \[0, 1\]\]",
        ),
        (X, {"sample_weight": "w"}, ValueError, "sample_weight names a column, but"),
        (TABLE, {"columns": NAMES, "nan": "zero"}, ValueError, "nan is 'zero'; choose refuse or drop"),
        (TABLE, {"columns": NAMES, "nan": 0.0}, TypeError, "nan is 0.0; choose refuse or drop"),
        (TABLE, {"columns": ["~a", "~b", "~c", "~g", "~w", "~f", "~run"]}, ValueError, "has no column to use"),
        (
            iter([TABLE]),
            {"columns": NAMES, "groups": "g"},
            ValueError,
            "groups needs all rows in memory, and they come in batches",
        ),
        (iter([TABLE]), {"columns": NAMES, "chains": "run"}, ValueError, "chains needs all rows in memory"),
        (None, {"gram": np.eye(3), "columns": ["a"]}, ValueError, "columns has no effect with gram"),
    ]:
        with pytest.raises(kind, match=words):
            rows(x, **options)


def test_all_columns_without_numbers_are_named_at_once():
    frame = FRAME.assign(sex="f", region=pd.Categorical(["n"] * 300), joined=pd.Timestamp("2020-01-01"))
    for x in (frame, pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        with pytest.raises(TypeError, match=r"3 columns of x do not hold numbers: 'sex' \(.*'region' \(.*'joined' \("):
            rows(x)
        assert rows(x, columns=NAMES) == EXPECTED


def with_nan():
    x = X.copy()
    x[[3, 50], 0] = x[50, 2] = np.nan
    return x


def test_rows_with_nan_are_left_out_if_asked():
    x, keep = with_nan(), np.setdiff1d(np.arange(300), [3, 50])
    with pytest.raises(ValueError, match=r"NaN by column: a \(2\), c \(1\), in 2 rows; nan='drop' leaves these out"):
        rows(pd.DataFrame(x, columns=NAMES))
    expected = ss.thin(x[keep], 8, chains=np.arange(300)[keep] // 75)
    data = {"groups": X[:, 1] > 0, "sample_weight": WEIGHTS, "functions": X[:, 0]}
    kept = {name: value[keep] for name, value in data.items()}
    for table in (x, pd.DataFrame(x, columns=NAMES), pl.DataFrame(x, schema=NAMES), dict(zip(NAMES, x.T))):
        result = ss.thin(table, 8, nan="drop", chains=4)
        assert result.indices.tolist() == keep[expected.indices].tolist() and result.mmd == expected.mmd
        assert (result.n_rows, result.dropped, result.draws.kernel_ess) == (300, 2, expected.draws.kernel_ess)
        assert "8 of 300 rows, 2 of them left out because of NaN" in repr(result)
        # Taken from the uncut table, and judged as it was chosen.
        np.testing.assert_array_equal(result.take(X), result.points)
        assert ss.mmd(table, result) == pytest.approx(result.mmd, rel=1e-6)
        found = ss.evaluate(table, result, sample_weight=WEIGHTS, functions=X[:, 0])
        wanted = ss.evaluate(x[keep], expected, sample_weight=WEIGHTS[keep], functions=X[keep, 0])
        assert found.errors == wanted.errors
        every = ss.thin(table, 8, nan="drop", include=[298], exclude=X[:, 0] > 1, **data)
        there = ss.thin(x[keep], 8, include=[296], exclude=x[keep, 0] > 1, **kept)
        assert every.indices.tolist() == keep[there.indices].tolist() and every.mmd == there.mmd
        assert ss.mmd(table, every) == pytest.approx(every.mmd, rel=1e-6)
    herder = ss.Herder(x, nan="drop")
    assert [pick.index for pick in herder.replay([4, 299])] == [4, 299] == herder.indices.tolist()
    assert herder.run(3)[0].point.tolist() == x[herder.indices[2]].tolist()
    again = ss.Herder.__new__(ss.Herder)
    again.__setstate__(herder.__getstate__())
    assert again.indices.tolist() == herder.indices.tolist() == herder.result().indices.tolist()
    with pytest.raises(ValueError, match="include has the row 50, which is left out because it has NaN"):
        rows(x, include=[50], nan="drop")
    with pytest.raises(ValueError, match="row 299 is in both include and exclude"):
        rows(x, include=[299], exclude=[2, 299], nan="drop")
    with pytest.raises(ValueError, match="the weight of row 51 is -1"):
        rows(x, sample_weight=np.where(np.arange(300) == 51, -1.0, 1.0), nan="drop")
    with pytest.raises(ValueError, match="every row has NaN"):
        rows(x * np.nan, nan="drop")
    with pytest.raises(ValueError, match="is inf"):
        rows(np.where(np.isnan(x), np.inf, x), nan="drop")


def test_rows_with_nan_are_left_out_of_batches():
    x, keep = with_nan(), np.setdiff1d(np.arange(300), [3, 50])
    expected = keep[ss.thin(x[keep], 8).indices].tolist()
    for size in (1, 7, 300):
        parts = [x[start : start + size] for start in range(0, 300, size)]
        for source in (iter(parts), lambda parts=parts: iter(parts)):
            result = ss.thin(source, 8, nan="drop")
            assert result.indices.tolist() == expected and (result.n_rows, result.dropped) == (300, 2)
            np.testing.assert_array_equal(result.points, x[expected])
    weighted = ss.thin(iter([x]), 8, nan="drop", sample_weight=WEIGHTS)
    assert weighted.indices.tolist() == keep[ss.thin(x[keep], 8, sample_weight=WEIGHTS[keep]).indices].tolist()
    assert ss.mmd(x, weighted) == pytest.approx(weighted.mmd, rel=1e-6)
    with pytest.raises(ValueError, match="there are no rows to choose from"):
        ss.thin(iter([x * np.nan]), 8, nan="drop")


def test_subsets_may_be_row_numbers_or_masks():
    chosen = [5, 7, 200, 7]
    mask = np.zeros(300, bool)
    mask[[5, 7, 200]] = True
    for function in (ss.mmd, lambda x, y, **k: ss.evaluate(x, y, **k).mmd):
        assert function(X, chosen) == function(X, np.array(chosen)) == function(X, X[chosen])
        assert function(X, mask) == function(X, pd.Series(mask)) == function(X, X[mask])
        assert function(X, range(10)) == function(X, X[:10])
        assert function(X, chosen, subset_weight=[1, 2, 3, 4]) == function(X, X[chosen], subset_weight=[1, 2, 3, 4])
        for y, words in [
            ([300], "y has the row 300, but x has 300 rows"),
            ([-1], "y has the row -1; rows are numbered from 0"),
            (mask[:9], "y is a mask of shape"),
            (~mask & mask, "y names no row"),
            ([0.5, 1.5], "two dimensions are needed"),
        ]:
            with pytest.raises(ValueError, match=words):
                function(X, y)
    assert ss.evaluate(X, chosen, functions=X**2).functions_error is not None
    with pytest.raises(ValueError, match="y has the row 50, which is left out because it has NaN"):
        ss.mmd(with_nan(), [4, 50], nan="drop")


def test_numbers_of_every_type_are_read():
    big = np.arange(300) + 2**60
    table = pa.table({"time": big, "x": X[:, 0]})
    assert rows(table) == rows(pd.DataFrame({"time": big, "x": X[:, 0]}))
    with pytest.raises(ValueError, match=r"two dimensions are needed; for one column use pa\.table"):
        rows(pa.chunked_array([X[:, 0]]))
    # A missing truth value is NaN; what is no number is named by the type of its library.
    truth = pl.DataFrame({"t": [True, None, False] * 100, "x": X[:, 0]})
    assert ss.thin(truth, 8, nan="drop").dropped == 100
    money = pl.DataFrame({"m": pl.Series(np.arange(300)[::-1]).cast(pl.Decimal(10, 2)), "x": X[:, 0]})
    assert rows(money) == rows(np.column_stack([np.arange(300)[::-1], X[:, 0]]))
    for column, kind in [(pl.Series(X, dtype=pl.Array(pl.Float64, 3)), "Array"), (pl.Series(["a"] * 300), "String")]:
        with pytest.raises(TypeError, match=f"column 'v' of x holds {kind}"):
            rows(pl.DataFrame({"v": column, "x": X[:, 0]}))
    records = np.rec.fromarrays(X.T, names=NAMES)
    assert rows(records) == rows(np.asarray(records)) == EXPECTED and ss.thin(records, 3).names == ("a", "b", "c")
    nullable = FRAME.assign(w=pd.array(WEIGHTS, dtype="Float64"))
    assert rows(FRAME, sample_weight=nullable.w) == rows(X, sample_weight=WEIGHTS)


def test_rows_are_taken_from_any_sequence():
    result = ss.thin(X, 8)
    numbers = result.indices.tolist()
    point = collections.namedtuple("point", "first second")
    assert result.take(range(300)) == numbers
    assert result.take(collections.deque(range(300))) == collections.deque(numbers)
    assert result.take(collections.UserList(range(300))) == numbers
    assert result.take(array.array("d", X[:, 0])).tolist() == X[numbers, 0].tolist()
    assert result.take(memoryview(X[:, 0].copy())).tolist() == X[numbers, 0].tolist()
    taken = result.take(point(X, X[:, 0]))
    assert isinstance(taken, point) and taken.first.tolist() == X[numbers].tolist()
    sparse = pytest.importorskip("scipy.sparse")
    assert (result.take(sparse.coo_matrix(X)).toarray() == X[numbers]).all()
    with pytest.raises(TypeError, match="'DESCR' of x is a text"):
        result.take({"data": X, "DESCR": "words"})
    with pytest.raises(TypeError, match="x is a text or a path"):
        result.take("x" * 300)


def test_numbers_beyond_all_bounds_are_refused_in_words():
    for options, words in [
        ({"seed": 2**64}, "seed is 18446744073709551616; give at most"),
        ({"n": 2**70}, "n is 1180591620717411303424; give at most"),
        ({"pool_rows": 2**70}, "pool_rows is"),
        ({"threads": 2**70}, "threads is"),
        ({"max_memory": "inf"}, "max_memory is 'inf'; give a number of bytes"),
        ({"max_memory": float("inf")}, "max_memory is inf; give a number of bytes"),
        ({"max_memory": "much"}, "max_memory is 'much'"),
    ]:
        with pytest.raises(ValueError, match=words):
            ss.thin(X, **{"n": 5, **options})
    for memory in (1e9, "1000 mb", "1e9", "1 GiB", "1gb", "1048576k"):
        assert rows(X, max_memory=memory) == rows(X, max_memory="1G")
    assert rows(X, seed=np.random.default_rng(3)) == rows(X, seed=np.random.default_rng(3))


def test_what_comes_in_two_shapes_is_told_both_ways():
    for x in (np.zeros((100, 8, 8)), np.zeros((5, 100, 3))):
        with pytest.raises(
            ValueError, match=r"x\.reshape\(len\(x\), -1\) if the first axis counts the points, x\.resha"
        ):
            rows(x)


def test_one_row_with_weight_is_one_row():
    with pytest.warns(ss.SupersampleWarning) as told:
        assert rows(X, sample_weight=np.arange(300) == 7) == [7]
    assert [str(one.message) for one in told if "asked for" in str(one.message)] == [
        "8 rows were asked for, but there is only 1 row of positive weight to choose from"
    ]


def test_computed_quantities_in_a_dict_are_doubted():
    samples = {"mu": X[:, 0], "theta": X[:, 1:], "sum": X.sum(1), "double": 2 * X}
    with pytest.warns(ss.SupersampleWarning, match=r"all 7 columns, but 4 are linear combinations .*columns=\["):
        ss.thin(samples, 5)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ss.SupersampleWarning)
        ss.thin(samples, 5, columns=["mu", "theta"])
        ss.thin({"mu": X[:, 0], "theta": X[:, 1:]}, 5)


def test_labels_that_are_missing_are_named():
    labels = np.where(X[:, 0] > 0, 1.0, 2.0)
    labels[9] = np.nan
    for groups in (labels, pd.Series(labels), [None if label != label else str(label) for label in labels]):
        with pytest.raises(ValueError, match="groups has no label in row 9; give every row its group"):
            rows(X, groups=groups)
    assert 9 not in rows(X, groups=labels, nan="drop", n=299)


def test_other_values_of_one_number_a_row_are_counted_before_rows_are_left_out():
    holes = X.copy()
    holes[7, 1] = np.nan
    for name in ("sample_weight", "log_weight"):
        with pytest.raises(ValueError, match=f"{name} has 5 rows, but x has 300 rows"):
            rows(holes, nan="drop", **{name: WEIGHTS[:5]})


def test_what_has_no_rows_says_so():
    each = ss.thin_each(X, 2, each=np.arange(300) % 3)
    for call in (lambda: rows(each, 2), lambda: ss.mmd(X, each), lambda: ss.resample(each, None, 2)):
        with pytest.raises(TypeError, match="an EachResult has numbers of rows, not points"):
            call()
    with open(__file__) as file, pytest.raises(TypeError, match="x is an open file; give its path"):
        rows(file)
    for x, words in (
        ([[1, 2], [3]], "the items of x differ in their length or dimensions$"),
        ((X, WEIGHTS), "the items of x differ .*; give rows alone, and weights as sample_weight"),
        ((row for row in X), r"a batch of x has shape \(3,\).*for one row rows.reshape\(1, -1\)"),
    ):
        with pytest.raises(ValueError, match=words):
            rows(x, 1)
    result = ss.thin(X, 3)
    with pytest.raises(TypeError, match="x is a text or a path"):
        result.take("a.csv")
    with pytest.raises(TypeError, match=r"ask whether it is in \.indices"):
        3 in result  # noqa: B015


def test_leaving_rows_out_is_advised_where_it_is_possible():
    holes = np.where(np.arange(300)[:, None] == 7, np.nan, X)
    with pytest.raises(ValueError, match="in 1 row; nan='drop' leaves these out"):
        ss.thin(holes, 5)
    for call in (lambda: ss.stein.thin(holes, -X, 5), lambda: ss.thin(n=2, gram=holes[5:8])):
        with pytest.raises(ValueError, match=r"NaN by column: .*in 1 row$"):
            call()
    with pytest.raises(ValueError, match="data has NaN in row 7"):
        ss.thin(X, 5).plot_marginals(holes)


def test_words_that_may_be_left_out_are_checked():
    for call in (ss.thin, ss.herd):
        with pytest.raises(TypeError, match="target is 3; choose rows, corrected or density"):
            call(X, 5, target=3)


def test_a_column_of_weights_is_noted_where_subsets_are_measured():
    weighted = FRAME.assign(weight=WEIGHTS)
    for call in (ss.mmd, ss.evaluate):
        with pytest.warns(ss.SupersampleWarning, match="column 'weight' is not used; use it as weights"):
            call(weighted, FRAME[:9])
        with warnings.catch_warnings():
            warnings.simplefilter("error", ss.SupersampleWarning)
            call(weighted, FRAME[:9], sample_weight="weight")
            call(weighted, ss.thin(weighted, 9, sample_weight="weight"))
