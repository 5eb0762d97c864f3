"""Streams of rows that are seen once."""

import pickle

import numpy as np
import pandas as pd
import pytest
import supersample as ss

X = np.random.default_rng(0).normal(size=(6000, 3))
POOL = {"pool_rows": 1500, "landmarks": 200}


def streamed(x, n=30, batch=700, weights=None, **options):
    stream = ss.Stream(n, **{**POOL, **options})
    for start in range(0, len(x), batch):
        some = slice(start, start + batch)
        stream.update(x[some], sample_weight=None if weights is None else weights[some])
    return stream


def test_before_it_settles_it_is_thin():
    stream = streamed(X[:1500])
    wanted = ss.thin(X[:1500], 30, landmarks=200)
    found = stream.thin()
    np.testing.assert_array_equal(found.indices, wanted.indices)
    assert (found.mmd, found.mmd_error, stream.kernel) == (wanted.mmd, wanted.mmd_error, None)
    assert stream.bandwidth is None


@pytest.mark.parametrize("weights", [None, np.random.default_rng(1).uniform(0.5, 2, 6000)])
def test_it_is_as_good_as_thin_on_all_rows(weights):
    stream = streamed(X, weights=weights)
    found = stream.thin()
    assert found.n_rows == stream.rows == 6000 and found.pool_rows == 1500 and found.mmd_error > 0
    np.testing.assert_array_equal(found.points, X[found.indices])
    wanted = ss.thin(X, 30, sample_weight=weights)
    exact = [ss.mmd(X, one.points, bandwidth=1.5, sample_weight=weights) for one in (found, wanted)]
    assert exact[0] < 1.3 * exact[1]
    assert found.kernel == stream.kernel and found.kernel.bandwidth == stream.bandwidth


def test_streams_are_merged_and_pickled():
    first = streamed(X[:2000])
    others = [pickle.loads(pickle.dumps(first.like(part))) for part in (1, 2)]
    for other, rows in zip(others, (X[2000:4000], X[4000:])):
        assert other.rows == 0 and other.bandwidth == first.bandwidth
        first.merge(other.update(rows))
    result = first.thin()
    assert first.rows == 6000 and first.kernel == others[0].kernel
    np.testing.assert_array_equal(result.points, X[result.indices])
    again = pickle.loads(pickle.dumps(first)).thin()
    np.testing.assert_array_equal(again.indices, result.indices)
    assert repr(first) == "Stream: 30 of 6,000 rows so far"


def test_columns_are_matched_by_name():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    stream = ss.Stream(30, **POOL, columns=["a", "b"])
    for start in range(0, 6000, 1000):
        some = frame[start : start + 1000]
        stream.update(some[["c", "b", "a"]] if start % 2000 else some)
    result = stream.thin()
    assert result.names == ("a", "b")
    np.testing.assert_array_equal(result.points, X[result.indices, :2])
    with pytest.raises(ValueError, match="no column 'b'"):
        stream.update(frame[["a", "c"]].rename(columns={"c": "d"}))
    with pytest.raises(ValueError, match="the columns are a, b, and those of other a, c"):
        stream.merge(ss.Stream(30, columns=["a", "c"]).update(frame))


def test_weights_may_be_a_column():
    rows = X[:600]
    frame = pd.DataFrame(rows).add_prefix("x").assign(w=np.exp(rows[:, 0]))
    expected = ss.thin(rows, 5, sample_weight=frame.w.to_numpy()).indices.tolist()
    stream = ss.Stream(5)
    for some in (frame[:200], frame[200:]):
        stream.update(some, sample_weight="w")
    assert stream.thin().indices.tolist() == expected
    assert ss.Stream(5).update(frame.assign(w=rows[:, 0]), log_weight="w").thin().indices.tolist() == expected
    with pytest.raises(ValueError, match="not both"):
        stream.update(frame, sample_weight="w", log_weight=np.zeros(600))
    with pytest.raises(ValueError, match="a batch has no column 'v'"):
        stream.update(frame, sample_weight="v")


def test_what_cannot_be_is_refused():
    stream = ss.Stream(5)
    with pytest.raises(ValueError, match=r"row|point"):
        stream.thin()
    stream.update(X[:10])
    bad = X[:10].copy()
    bad[3, 1] = np.nan
    with pytest.raises(ValueError, match="row 13, column 1 of the stream is NaN"):
        stream.update(bad)
    with pytest.raises(ValueError, match=r"the items of a batch differ .*give rows alone"):
        stream.update((X[:10], np.ones(10)))
    with pytest.raises(ValueError, match="a batch is a list of 2 tables; concatenate them"):
        stream.update([X[:10], X[:10]])
    with pytest.raises(ValueError, match="dimension 2"):
        stream.update(X[:4, :2])
    with pytest.raises(ValueError, match="weights"):
        stream.update(X[:4], sample_weight=np.ones(4))
    with pytest.raises(ValueError, match="n is 0"):
        ss.Stream(0)
    with pytest.raises(TypeError, match="chains"):
        ss.Stream(5, chains=4)
    with pytest.raises(TypeError, match="another Stream"):
        stream.merge(stream)
    assert stream.rows == 10
    with pytest.raises(ValueError, match="begin as such"):
        ss.Stream.__new__(ss.Stream).__setstate__({**stream.__dict__, "_native": b"x"})


def test_rows_that_move_are_told_of():
    with pytest.warns(ss.SupersampleWarning, match="have settled, are unlike those since"):
        streamed(X[np.argsort(X[:, 0])], pool_rows=500).thin()
