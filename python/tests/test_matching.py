"""Another target than the rows, calibrated weights, resampling, and a set for each group."""

import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
import supersample as ss
from test_command import COMMAND, needs_the_command

RNG = np.random.default_rng(0)
POOL = pd.DataFrame(RNG.normal(size=(600, 3)), columns=["a", "b", "y"])
TARGET = pd.DataFrame(
    0.3 + 0.7 * RNG.normal(size=(150, 3)) @ [[1, 0.5, 0], [0, 1, 0], [0, 0, 1]], columns=["b", "a", "y"]
)
WEIGHTS = RNG.gamma(2.0, size=150)


def test_columns_are_matched_by_name():
    chosen = ss.thin(POOL, 30, match=TARGET)
    same = ss.thin(POOL.to_numpy(), 30, match=TARGET[["a", "b", "y"]].to_numpy())
    assert chosen.indices.tolist() == same.indices.tolist()
    error = chosen.points.mean(axis=0) - TARGET[["a", "b", "y"]].mean()
    assert np.abs(error / TARGET.std()).max() < 0.02
    assert chosen.overlap["rows"] == 150 and chosen.n_rows == 600
    assert "matched 150 other rows" in repr(chosen)
    judged = ss.evaluate(TARGET, chosen)
    assert judged.mmd == pytest.approx(chosen.mmd, rel=1e-6)
    assert ss.mmd(TARGET, POOL.iloc[chosen.indices], kernel="matern32") == pytest.approx(chosen.mmd, rel=1e-6)


def test_weights_and_functions_of_the_target_count():
    chosen = ss.thin(POOL, 30, match=TARGET, match_weight=WEIGHTS, functions="y")
    wanted = np.average(TARGET["y"], weights=WEIGHTS)
    assert POOL["y"][chosen.indices].mean() == pytest.approx(wanted, abs=0.02)
    assert chosen.names == ("a", "b")
    pair = ss.thin(
        POOL[["a", "b"]],
        30,
        match=TARGET[["a", "b"]],
        match_weight=WEIGHTS,
        functions=(POOL["y"].to_numpy(), TARGET["y"].to_numpy()),
    )
    assert pair.indices.tolist() == chosen.indices.tolist()
    assert ss.herd(POOL, 10, match=TARGET).overlap["unreached"] < 0.1


def test_a_target_out_of_reach_is_a_warning():
    with pytest.warns(ss.SupersampleWarning, match=r"the rows do not cover the target: 100 % .* in column 'b'"):
        found = ss.thin(POOL, 10, match=TARGET.assign(b=TARGET["b"] + 9))
    assert found.overlap["outside"]["b"] == pytest.approx(1) and found.overlap["floor"] <= found.mmd
    with pytest.warns(ss.SupersampleWarning, match="column 0"):
        ss.thin(np.zeros((5, 1)), 2, match=np.ones((4, 1)))


REFUSED = {
    "columns": ({"match": TARGET[["a"]]}, "match has no column 'b'"),
    "number of columns": ({"x": POOL.to_numpy(), "match": np.ones((3, 2))}, "match has 2 columns, but x has 3"),
    "no rows": ({"match": TARGET[:0]}, "match has no rows"),
    "missing": ({"match": TARGET.assign(a=np.nan)}, "match: row 0, column 'a' is nan"),
    "weights": ({"match": TARGET, "match_weight": [1.0]}, "match_weight has 1 number, but match has 150 rows"),
    "bad weight": ({"match": TARGET, "match_weight": -WEIGHTS}, "match_weight is -.* in row 0"),
    "no weight": ({"match": TARGET, "match_weight": 0 * WEIGHTS}, "match_weight is 0 in every row"),
    "weights alone": ({"match_weight": WEIGHTS}, "match_weight has no effect without match"),
    "scores": ({"match": TARGET, "scores": POOL.to_numpy()}, "scores cannot be used with match"),
    "gram": ({"x": None, "gram": np.eye(3), "match": TARGET}, "gram cannot be used with match"),
    "chains": ({"match": TARGET, "chains": 2}, "chains cannot be used with match"),
    "weights in batches": ({"match": TARGET, "pool_rows": 50, "weights": "simplex"}, "unequal weights"),
    "functions in batches": (
        {"match": TARGET, "pool_rows": 50, "functions": (POOL["y"].to_numpy(), TARGET["y"].to_numpy())},
        "functions are names of columns of both",
    ),
    "auto": ({"match": TARGET, "n": "auto"}, "n='auto' cannot be used with match"),
    "one function": ({"match": TARGET, "functions": POOL["y"].to_numpy()}, "or a pair: those of x and those of match"),
    "short functions": (
        {"match": TARGET, "functions": (POOL["y"].to_numpy(), [1.0])},
        "the functions of match have 1 row, but match has 150 rows",
    ),
    "calibrate alone": ({"calibrate": "a"}, "calibrate has no effect without weights='calibrated'"),
    "no such mean": ({"weights": "calibrated", "calibrate": "q"}, "there is no column or function 'q'"),
    "no such column": ({"weights": "calibrated", "calibrate": 7}, "there is no column or function 7"),
    "total alone": ({"total": 5}, "total has no effect on equal weights"),
    "total": ({"weights": "calibrated", "total": -1}, "total is -1"),
    "out of reach": (
        {"weights": "calibrated", "match": TARGET + 50},
        "no positive weights give column 'a' the mean 50",
    ),
}


@pytest.mark.filterwarnings("ignore::supersample.SupersampleWarning")
@pytest.mark.parametrize(("options", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_matched_is_refused(options, words):
    options = {"x": POOL, "n": 10, **options}
    with pytest.raises(ValueError, match=words):
        ss.thin(options.pop("x"), options.pop("n"), **options)


def test_the_target_has_its_weights_as_a_column_and_its_rows_with_nan_are_left_out():
    chosen = ss.thin(POOL, 20, match=TARGET, match_weight=WEIGHTS)
    weighted, holes = TARGET.assign(w=WEIGHTS), TARGET.copy()
    named = [ss.thin(POOL, 20, match=weighted, match_weight="w")]
    named.append(ss.thin(lambda: iter([POOL]), 20, match=weighted, match_weight="w"))
    assert all(one.indices.tolist() == chosen.indices.tolist() for one in named)
    with pytest.raises(ValueError, match="no column 'v'"):
        ss.thin(POOL, 20, match=weighted, match_weight="v")
    holes.loc[7, "b"] = np.nan
    dropped = ss.thin(POOL, 20, match=holes, nan="drop")
    assert dropped.indices.tolist() == ss.thin(POOL, 20, match=TARGET.drop(index=7)).indices.tolist()
    assert dropped.overlap["rows"] == 149


def test_a_pool_in_batches_chooses_as_in_memory():
    pool, target = POOL[["a", "b"]], TARGET[["b", "a"]]
    held = ss.thin(pool, 15, match=target, match_weight=WEIGHTS)
    batches = [pool.iloc[first : first + 130] for first in range(0, len(pool), 130)]
    for x, options in ((lambda: iter(batches), {}), (pool, {"pool_rows": len(pool)}), (pool, {"max_memory": "1G"})):
        same = ss.thin(x, 15, match=target, match_weight=WEIGHTS, **options)
        assert same.indices.tolist() == held.indices.tolist() and same.mmd == held.mmd
        assert same.overlap == held.overlap
    drawn = ss.thin(lambda: iter(batches), 15, match=target, match_weight=WEIGHTS, pool_rows=200)
    assert drawn.pool_rows == 200 and drawn.n_rows == len(pool)
    assert (drawn.points == pool.to_numpy()[drawn.indices]).all()
    mmd = ss.mmd(TARGET[["a", "b"]], pool.iloc[drawn.indices], sample_weight=WEIGHTS, kernel="matern32")
    assert drawn.mmd == pytest.approx(mmd, rel=1e-6)
    with_functions = ss.thin(lambda: iter([POOL]), 15, match=TARGET, functions="y", pool_rows=300)
    assert abs(POOL["y"][with_functions.indices].mean() - TARGET["y"].mean()) < 0.05 * TARGET["y"].std()


def test_dask_matches_another_target():
    dask = pytest.importorskip("dask.dataframe")
    x = dask.from_pandas(POOL, npartitions=3)
    options = {"match": TARGET, "match_weight": WEIGHTS, "functions": "y"}
    found, held = ss.dask.thin(x, 12, **options), ss.thin(POOL, 12, **options)
    assert found.indices.tolist() == held.indices.tolist() and found.mmd == held.mmd
    assert found.overlap == held.overlap
    for options, words in (
        ({"match": TARGET, "n": "auto"}, "n='auto' cannot be used with match"),
        ({"match_weight": WEIGHTS}, "match_weight has no effect without match"),
        ({"match_summary": {"columns": {"a": {"mean": 0}}}}, "match_summary needs all rows in memory"),
        ({"match": TARGET, "functions": x[["y"]]}, "functions are names of columns of both"),
    ):
        with pytest.raises(ValueError, match=words):
            ss.dask.thin(x, **{"n": 5, **options})


SUMMARY = {
    "n": 300,
    "columns": {
        "a": {"mean": np.float64(0.2), "sd": 0.9, "quantiles": {0.25: -0.4, 0.75: 0.8}},
        "b": {"mean": -0.1, "sd": 0.8, "n": 100},
    },
    "correlations": {"a": {"b": 0.3}},
}


def test_published_numbers_are_reached_and_named():
    pool = POOL[["a", "b"]]
    chosen = ss.thin(pool, 60, match_summary=SUMMARY)
    assert [(one["column"], one["number"]) for one in chosen.published] == [
        ("a", "mean"),
        ("a", "sd"),
        ("a", "quantile"),
        ("a", "quantile"),
        ("b", "mean"),
        ("b", "sd"),
        ("a", "correlation"),
    ]
    assert all(abs(one["error"]) < 0.02 for one in chosen.published)
    mean, correlation = chosen.published[0], chosen.published[-1]
    points = chosen.points
    assert mean["reached"] == pytest.approx(points[:, 0].mean()) and mean["published"] == 0.2
    assert mean["all_rows"] == pytest.approx(pool["a"].mean()) and mean["n"] == 300
    assert chosen.published[4]["n"] == 100
    assert correlation["with"] == "b" and correlation["reached"] == pytest.approx(np.corrcoef(points.T)[0, 1])
    assert "matched 7 published numbers; the largest error is " in repr(chosen)
    exact = ss.thin(pool, 60, match_summary=SUMMARY, weights="calibrated")
    assert all(abs(one["error"]) < 1e-9 for one in exact.published if one["number"] != "quantile")
    unnamed = ss.thin(pool.to_numpy(), 60, match_summary={"columns": {0: {"mean": 0.2}}})
    assert unnamed.published[0]["column"] == 0 and abs(unnamed.published[0]["error"]) < 0.01


@needs_the_command
def test_the_command_matches_the_same_numbers(tmp_path):
    pool, table = tmp_path / "pool.csv", tmp_path / "table.toml"
    POOL[["a", "b"]].to_csv(pool, index=False)
    table.write_text(
        'n = 300\n[columns.a]\nmean = 0.2\nsd = 0.9\nquantiles = { "0.25" = -0.4, "0.75" = 0.8 }\n'
        "[columns.b]\nmean = -0.1\nsd = 0.8\nn = 100\n[correlations]\na = { b = 0.3 }\n"
    )
    words = [COMMAND, "thin", pool, "-n", "30", "--match-summary", table, "-q", "-o", tmp_path / "o.csv"]
    subprocess.run([*words, "--indices", tmp_path / "i"], check=True)
    for summary in (SUMMARY, table, str(table)):
        same = ss.thin(pd.read_csv(pool), 30, match_summary=summary)
        assert np.loadtxt(tmp_path / "i", dtype=int).tolist() == same.indices.tolist()


def _mean(value, **others):
    return {"match_summary": {"columns": {"a": {"mean": value}}}, **others}


REFUSED_SUMMARIES = {
    "both": (_mean(0, match=TARGET), ValueError, "match and match_summary were both given"),
    "scores": (_mean(0, scores=POOL.to_numpy()), ValueError, "scores cannot be used with match_summary"),
    "gram": (_mean(0, x=None, gram=np.eye(3)), ValueError, "gram cannot be used with match_summary"),
    "chains": (_mean(0, chains=2), ValueError, "chains cannot be used with match_summary"),
    "auto": (_mean(0, n="auto"), ValueError, "n='auto' cannot be used with match_summary"),
    "batches": (_mean(0, pool_rows=50), ValueError, "match_summary needs the rows of x in memory"),
    "memory": (_mean(0, max_memory="1G"), ValueError, "match_summary needs the rows of x in memory"),
    "a list": ({"match_summary": [1]}, TypeError, "match_summary is a list"),
    "no number": (_mean([1, 2]), ValueError, "invalid type: sequence"),
    "an object": (_mean(object()), TypeError, "match_summary: .* give numbers in tables"),
    "no file": ({"match_summary": "none.toml"}, FileNotFoundError, "none.toml"),
    "unknown key": ({"match_summary": {"columns": {"a": {"median": 1}}}}, ValueError, "unknown field `median`"),
    "unknown column": (
        {"match_summary": {"columns": {"q": {"mean": 1}}}},
        ValueError,
        "a column 'q', but the rows are matched",
    ),
    "nan": (_mean(np.nan), ValueError, "match_summary has NaN or an infinite number"),
    "outside": (_mean(90), ValueError, "the mean of column 'a' is 90, but the rows to choose from have "),
    "nothing": ({"match_summary": {}}, ValueError, "the summary has no numbers"),
}


@pytest.mark.parametrize(("options", "kind", "words"), REFUSED_SUMMARIES.values(), ids=REFUSED_SUMMARIES.keys())
def test_summaries_that_cannot_be_matched_are_refused(options, kind, words):
    options = {"x": POOL, "n": 10, **options}
    with pytest.raises(kind, match=words):
        ss.thin(options.pop("x"), options.pop("n"), **options)


def test_the_default_kernel_is_that_of_matching_unless_one_is_named():
    def kernel(**options):
        found = ss.thin(POOL, 5, match=TARGET, **options).kernel
        return found.name, found.bandwidths

    assert kernel()[0] == "matern32" and kernel() == kernel(bandwidth="median")
    assert kernel(bandwidth=1.5) == ("matern32", (1.5,))
    assert kernel(kernel="gaussian", bandwidth=1.5) == ("gaussian", (1.5,))
    assert kernel(bandwidth=[1.5, 3.0]) == ("gaussian", (1.5, 3.0))
    assert ss.thin(POOL, 5, bandwidth=1.5).kernel.name == "gaussian"


def test_calibrated_weights_give_the_means_exactly():
    chosen = ss.thin(POOL, 25, weights="calibrated", total=600)
    assert chosen.weights.sum() == pytest.approx(600) and (chosen.weights > 0).all()
    mean = np.average(chosen.points, axis=0, weights=chosen.weights)
    assert np.abs(mean - POOL.mean()).max() < 1e-9
    assert ss.mmd(POOL, chosen) == pytest.approx(chosen.mmd, rel=1e-6)
    some = ss.thin(POOL, 25, weights="calibrated", calibrate=["a", "y"], functions="y", match=TARGET)
    for values, wanted in ((POOL["a"], TARGET["a"]), (POOL["y"], TARGET["y"])):
        assert np.average(values[some.indices], weights=some.weights) == pytest.approx(wanted.mean(), abs=1e-9)
    with pytest.warns(ss.SupersampleWarning, match="could not be computed and are equal: no positive weights"):
        few = ss.thin(POOL, 2, weights="calibrated", total=600)
    assert few.weights.tolist() == [300, 300]
    with pytest.raises(ValueError, match="calibrated weights are those of rows"):
        ss.sample(ss.GaussianMixture([1.0], [[0.0]], [[[1.0]]]), 5, weights="calibrated")


@needs_the_command
@pytest.mark.parametrize("weighted", [False, True])
def test_the_command_matches_and_calibrates_the_same(tmp_path, weighted):
    pool, target = tmp_path / "pool.csv", tmp_path / "target.csv"
    POOL.to_csv(pool, index=False)
    TARGET.assign(w=WEIGHTS).to_csv(target, index=False)
    words = [COMMAND, "thin", pool, "-n", "20", "--match", target, "--weights", "calibrated", "--calibrate", "a,b"]
    words += ["--columns", "a,b", "--functions", "y", *(["--match-weight-column", "w"] if weighted else [])]
    subprocess.run([*words, "-q", "-o", tmp_path / "o.csv", "--indices", tmp_path / "i"], check=True)
    options = {"match_weight": WEIGHTS} if weighted else {}
    same = ss.thin(
        pd.read_csv(pool),
        20,
        match=pd.read_csv(target)[["a", "b", "y"]],
        functions="y",
        weights="calibrated",
        calibrate=["a", "b"],
        **options,
    )
    assert np.loadtxt(tmp_path / "i", dtype=int).tolist() == same.indices.tolist()
    assert pd.read_csv(tmp_path / "o.csv")["weight"].to_numpy() == pytest.approx(same.weights, rel=1e-9)


def test_resample_represents_the_weights_and_may_repeat():
    x = np.random.default_rng(1).normal(size=(500, 2))
    weights = np.exp(x[:, 0])
    found = ss.resample(x, weights, 100)
    wanted = np.average(x, axis=0, weights=weights)
    spread = np.sqrt(np.average((x - wanted) ** 2, axis=0, weights=weights))
    assert np.abs((found.points.mean(axis=0) - wanted) / spread).max() < 0.03
    assert len(np.unique(found.indices)) < 100
    assert ss.resample(x, log_weight=np.log(weights) - 900, n=100).indices.tolist() == found.indices.tolist()
    same = ss.thin(x, 100, sample_weight=weights, repeats=True, search=0, marginals=0.2)
    assert found.indices.tolist() == same.indices.tolist() and found.draws is None
    assert len(ss.resample(x, weights)) == 500
    assert ss.resample(x, weights, 100, search=5).mmd <= found.mmd + 1e-3
    frame = pd.DataFrame(x, columns=["a", "b"])
    assert list(ss.resample(frame, weights, 10).take(frame).columns) == ["a", "b"]


@needs_the_command
def test_the_command_resamples_the_same_and_never_a_row_without_weight(tmp_path):
    x = np.random.default_rng(4).normal(size=(60, 2))
    weights = np.where(np.arange(60) % 4 == 0, 0.0, np.exp(x[:, 0]))
    pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "w": weights}).to_csv(tmp_path / "x.csv", index=False)
    for n in (20, 60, 90):
        words = [
            COMMAND,
            "thin",
            tmp_path / "x.csv",
            "-n",
            str(n),
            "--weight-column",
            "w",
            "--repeats",
            "--search",
            "0",
            "--marginals",
            "0.2",
        ]
        subprocess.run([*words, "-q", "-o", tmp_path / "o.csv", "--indices", tmp_path / "i"], check=True)
        rows = np.loadtxt(tmp_path / "i", dtype=int)
        assert rows.tolist() == ss.resample(x, weights, n).indices.tolist()
        assert len(rows) == n and (weights[rows] > 0).all()


@pytest.mark.filterwarnings("ignore:the weights are very uneven")
def test_a_row_with_all_the_weight_is_every_row():
    weights = np.zeros(20)
    weights[7] = 1.0
    assert ss.resample(np.arange(40.0).reshape(20, 2), weights).indices.tolist() == [7] * 20


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"weights": [1.0]}, "weight"),
        ({"weights": -np.ones(20)}, "not negative"),
        ({"weights": np.zeros(20)}, "all weights are zero"),
        ({"weights": np.ones(20), "log_weight": np.ones(20)}, "give weights or log_weight, not both"),
        ({"n": 0}, "n is 0"),
    ],
)
def test_resample_refuses(options, words):
    with pytest.raises(ValueError, match=words):
        ss.resample(np.arange(40.0).reshape(20, 2), **options)
    with pytest.raises(TypeError, match="weights is 5; give one for each row, and the number of rows as n"):
        ss.resample(np.arange(40.0).reshape(20, 2), 5)


def test_each_group_gets_what_it_would_get_alone():
    x = np.random.default_rng(2).normal(size=(300, 2))
    labels = np.array(["u", "v", "w"])[np.arange(300) % 3]
    weights = np.random.default_rng(3).gamma(2.0, size=300)
    for options in ({}, {"sample_weight": weights}, {"weights": "simplex", "marginals": 0.5}):
        found = ss.thin_each(x, 7, each=labels, **options)
        assert list(found) == ["u", "v", "w"] and len(found) == 3
        for at, label in enumerate(found):
            own = np.flatnonzero(labels == label)
            one = {name: value[own] if name == "sample_weight" else value for name, value in options.items()}
            alone = ss.thin(x[own], 7, **one)
            assert found[label].tolist() == own[alone.indices].tolist()
            assert found.mmd[at] == pytest.approx(alone.mmd)
            assert found.weights[7 * at : 7 * at + 7] == pytest.approx(alone.weights)
    frame = pd.DataFrame(x, columns=["a", "b"]).assign(site=labels)
    assert ss.thin_each(frame, 7, each="site").indices.tolist() == ss.thin_each(x, 7, each=labels).indices.tolist()
    assert ss.thin_each(x, 500, each=labels).sizes.tolist() == [100, 100, 100]
    with pytest.raises(KeyError):
        found["z"]


@pytest.mark.parametrize(
    ("each", "options", "kind", "words"),
    [
        ([1, 2], {}, ValueError, "each has 2 labels, but x has 600 rows"),
        (np.ones((600, 2)), {}, ValueError, "give one label for each row"),
        ("site", {}, ValueError, "x has no column 'site'"),
        ([1, "a"] * 300, {}, None, None),
        (np.arange(600) % 2, {"sample_weight": np.arange(600) % 2}, ValueError, "group '0': all weights are zero"),
        (np.where(np.arange(600) == 7, np.nan, 1), {}, ValueError, "each has no label for row 7"),
        ([None] + ["a"] * 599, {}, ValueError, "each has no label for row 0"),
        (np.arange(600) % 2, {"match": TARGET}, TypeError, "unexpected keyword argument 'match'"),
    ],
)
def test_groups_that_cannot_be_are_refused(each, options, kind, words):
    if kind is None:
        each, kind, words = np.array(each, dtype=object), TypeError, "labels of several types"
    with pytest.raises(kind, match=words):
        ss.thin_each(POOL, 3, each=each, **options)


def test_labels_of_another_order_are_refused_and_groups_of_one_row_have_no_median():
    labels = pd.Series(np.arange(600) % 2)
    with pytest.raises(ValueError, match="the index of each has another order"):
        ss.thin_each(POOL, 3, each=labels.sort_values(kind="stable"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "median" in repr(ss.thin_each(POOL.iloc[:5], 3, each=np.arange(5)))


def test_groups_may_be_a_column_of_anything_and_rows_with_nan_are_left_out():
    labels = np.arange(600) % 3
    rows = np.array(POOL, dtype=float)
    names = [f"x{column}" for column in range(rows.shape[1])]
    expected = ss.thin_each(rows, 4, each=labels).indices.tolist()
    frame = pd.DataFrame(rows, columns=names).assign(event=labels, text="u")
    for x in (frame.drop(columns="text"), frame.drop(columns="text").to_dict("list")):
        assert ss.thin_each(x, 4, each="event").indices.tolist() == expected
    assert ss.thin_each(frame, 4, each="event", columns=["~text"]).indices.tolist() == expected
    assert ss.thin_each(frame, 4, each=labels, columns=names).indices.tolist() == expected
    rows[7, 1] = np.nan
    for x, each in ((rows, labels), (frame.assign(x1=rows[:, 1]), "event")):
        found = ss.thin_each(x, 4, each=each, nan="drop", **({} if x is rows else {"columns": names}))
        assert found.group_rows.tolist() == [200, 199, 200]
        for label, chosen in found.items():
            own = np.flatnonzero((labels == label) & (np.arange(600) != 7))
            assert chosen.tolist() == own[ss.thin(rows[own], 4).indices].tolist()
    with pytest.raises(ValueError, match="x has no column 'event'; its columns are"):
        ss.thin_each(frame[names], 4, each="event")
    with pytest.raises(ValueError, match="x has no column 'event'; give a label for each row"):
        ss.thin_each(rows, 4, each="event")


def test_each_group_has_calibrated_weights_of_its_own():
    labels = np.arange(600) % 3
    found = ss.thin_each(POOL, 20, each=labels, weights="calibrated", calibrate=["a"], total=60)
    for label, rows in found.items():
        weights = found.weights[np.isin(found.indices, rows)]
        assert weights.sum() == pytest.approx(60)
        assert weights @ POOL.a.to_numpy()[rows] / 60 == pytest.approx(POOL.a[labels == label].mean())
    with pytest.raises(ValueError, match="calibrate has no effect without"):
        ss.thin_each(POOL, 20, each=labels, calibrate=["a"])
    with pytest.raises(ValueError, match="total has no effect on equal weights"):
        ss.thin_each(POOL, 20, each=labels, total=60)


def test_weights_of_resampling_may_be_a_column_and_rows_with_nan_are_left_out():
    rows = np.array(POOL, dtype=float)
    weights = np.exp(rows[:, 0] / 2)
    names = [f"x{column}" for column in range(rows.shape[1])]
    frame = pd.DataFrame(rows, columns=names).assign(w=weights, text="u")
    expected = ss.resample(rows, weights, 50).indices.tolist()
    assert ss.resample(frame, "w", 50, columns=["~text"]).indices.tolist() == expected
    assert (
        ss.resample(frame.assign(w=np.log(weights)), None, 50, log_weight="w", columns=names).indices.tolist()
        == expected
    )
    rows[7, 1] = np.nan
    dropped = ss.resample(rows, weights, nan="drop")
    assert len(dropped) == 599 and dropped.dropped == 1 and 7 not in dropped.indices
    with pytest.raises(TypeError, match="n is 'auto'"):
        ss.resample(frame[names], weights, "auto")
    with pytest.raises(ValueError, match=r"weights has shape \(600, 1\)"):
        ss.resample(frame[names], weights[:, None], 5)
    with pytest.warns(ss.SupersampleWarning, match="with weights='weight'"):
        ss.resample(frame[names].assign(weight=weights), None, 5)


def test_words_of_summaries_and_of_calibration_are_about_what_was_given():
    with pytest.raises(ValueError, match=r"^match_summary: unknown field `x0`"):
        ss.thin(POOL, 5, match_summary={"x0": {"mean": 0.0}})
    with pytest.raises(ValueError, match="calibrate is empty"):
        ss.thin(POOL, 5, weights="calibrated", calibrate=[])
    with pytest.raises(ValueError, match="needs all rows in memory"):
        ss.thin(lambda: iter([POOL]), 5, weights="calibrated", calibrate=["x0"])


def test_nothing_to_resample_is_refused():
    with pytest.raises(ValueError, match="x has no rows"):
        ss.resample(np.empty((0, 2)), [])
    with pytest.raises(ValueError, match="y is empty"):
        ss.evaluate(POOL, [])


def test_the_particle_filter_of_the_examples_runs():
    from pathlib import Path

    examples = Path(__file__).resolve().parents[2] / "examples"
    program = "import particle_filter as f; f.STEPS = 6; f.main(runs=2)"
    told = subprocess.run(
        [sys.executable, "-c", program], cwd=examples, capture_output=True, text=True, check=True
    ).stdout
    ratios = [float(line.rpartition(":")[2]) for line in told.splitlines()[1:]]
    assert len(ratios) == 3 and ratios[0] < 0.7
