"""Rows in batches, against the same rows in memory."""

from __future__ import annotations

import gc
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
import supersample as ss
from numpy.typing import NDArray

ROWS, POOL = 6000, 2000


@pytest.fixture(scope="module")
def draws() -> NDArray[np.float64]:
    rng = np.random.default_rng(3)
    return rng.normal(size=(ROWS, 3)) * [1, 10, 0.1] + [0, 5, 0]


def batches(x: NDArray[Any], size: int = 700) -> Iterator[NDArray[Any]]:
    return (x[start : start + size] for start in range(0, len(x), size))


def sources(draws: NDArray[np.float64], folder: Path) -> dict[str, Any]:
    """The same rows in every form that is gone through in batches."""
    np.save(folder / "x.npy", draws)
    table = pa.table({name: draws[:, j] for j, name in enumerate("abc")})
    pq.write_table(table, folder / "x.parquet", row_group_size=1000)
    return {
        "array": draws,
        "memmap": np.load(folder / "x.npy", mmap_mode="r"),
        "table": table,
        "dataset": ds.dataset(folder / "x.parquet"),
        "reader": pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=500)),
        "iterator": batches(draws),
        "function": lambda: batches(draws, 999),
    }


def test_every_source_gives_the_same_rows_and_the_error_to_all_of_them(
    draws: NDArray[np.float64], tmp_path: Path
) -> None:
    first = None
    for name, x in sources(draws, tmp_path).items():
        # Without the search, which shows the rounding of sums over batches of other sizes.
        result = ss.thin(x, 20, bandwidth=1.5, pool_rows=POOL, search=0, threads=2)
        assert result.indices is not None and len(set(result.indices)) == 20, name
        assert result.n_rows == ROWS
        np.testing.assert_array_equal(result.points, draws[result.indices])
        first = result.indices if first is None else first
        np.testing.assert_array_equal(result.indices, first, err_msg=name)
        exact = ss.mmd(draws, result.points, bandwidth=1.5)
        assert result.mmd == pytest.approx(exact, rel=0.02), name
        assert result.refinement is not None and result.refinement.mmd_swapped is not None
        if name in ("dataset", "reader", "table"):
            assert result.names == ("a", "b", "c")


def test_weights_come_with_the_rows_or_beside_them(draws: NDArray[np.float64]) -> None:
    weights = np.random.default_rng(0).uniform(0.1, 2, ROWS)
    weights[::5] = 0
    pairs = zip(batches(draws), batches(weights))
    beside = ss.herd(draws, 15, bandwidth=2, sample_weight=weights, pool_rows=POOL)
    with_rows = ss.herd(pairs, 15, bandwidth=2, pool_rows=POOL)
    with np.errstate(divide="ignore"):
        logs = ss.herd(batches(draws), 15, bandwidth=2, log_weight=np.log(weights) - 5000, pool_rows=POOL)
    assert beside.weighted and beside.indices is not None
    assert np.all(weights[beside.indices] > 0)
    for other in (with_rows, logs):
        np.testing.assert_array_equal(other.indices, beside.indices)
        assert other.mmd == pytest.approx(beside.mmd, rel=1e-6)
    exact = ss.mmd(draws, beside.points, bandwidth=2, sample_weight=weights)
    assert beside.mmd == pytest.approx(exact, rel=0.02)


def test_memory_decides_how_many_rows_are_drawn(draws: NDArray[np.float64]) -> None:
    told: list[tuple[str, int, int]] = []
    result = ss.herd(draws, 10, max_memory="1G", progress=lambda *where: told.append(where))
    # All of them fit, so it is the choice from all rows.
    np.testing.assert_array_equal(result.indices, ss.herd(draws, 10).indices)
    assert told[0][0] == "reading" and told[-1][0] == "done"
    assert ss.herd(batches(draws), 10, max_memory=44 << 20).n_rows == ROWS
    with pytest.raises(ValueError, match=r"needs about|memory"):
        ss.herd(batches(draws), 10, max_memory="1M")


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"pool_rows": 0}, "pool_rows is 0"),
        ({"pool_rows": 2.5}, "pool_rows is 2.5"),
        ({"max_memory": "much"}, "max_memory is 'much'"),
        ({"pool_rows": 1000, "weights": "simplex"}, "unequal weights needs all rows in memory"),
        ({"pool_rows": 1000, "groups": [0]}, "groups, needs all rows in memory"),
        ({"pool_rows": 1000, "include": [0]}, "included or excluded rows, .* needs all rows in memory"),
        ({"pool_rows": 1000, "sample_weight": [1.0]}, "weights were given for|one number|exactly one"),
    ],
)
def test_what_cannot_be_is_refused(draws: NDArray[np.float64], keywords: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        ss.thin(draws, 5, **keywords)


def test_columns_that_are_scaled_by_the_sample_are_warned_of(draws: NDArray[np.float64]) -> None:
    with pytest.warns(ss.SupersampleWarning, match="scaled by the 2,000 rows of the sample, not by all rows"):
        ss.thin(batches(draws), 5, pool_rows=POOL, scale="mad")


def test_batches_that_do_not_fit_together_are_refused(draws: NDArray[np.float64]) -> None:
    with pytest.raises(ValueError, match="no rows"):
        ss.herd(iter(()), 5)
    with pytest.raises(ValueError, match="differ in their columns"):
        ss.herd(iter([draws, draws[:, :2]]), 5)
    with pytest.raises(ValueError, match="no batches"):
        ss.herd(lambda: iter(()), 5)
    with pytest.raises(ValueError, match="row 5001, column 1"):
        bad = draws.copy()
        bad[5001, 1] = np.nan
        ss.herd(batches(bad), 5)
    calls = iter([draws, draws, draws[:-1]])
    with pytest.raises(ValueError, match="first pass and"):
        ss.herd(lambda: batches(next(calls)), 5, pool_rows=1500)


def test_landmarks_add_up_over_batches_and_machines(draws: NDArray[np.float64]) -> None:
    x = draws / draws.std(axis=0)
    rng = np.random.default_rng(1)
    some = x[rng.choice(ROWS, 1500, replace=False)]
    made = {"bandwidth": 1.5, "controls": some[500:], "precision": "double"}
    whole = ss.Landmarks(some[:500], **made).partial_fit(x)
    parts = ss.Landmarks(some[:500], **made)
    other = parts.empty()
    for i, batch in enumerate(batches(x)):
        (parts if i < 4 else other).partial_fit(batch)
    other = pickle.loads(pickle.dumps(other))
    assert parts.n_rows + other.n_rows == ROWS and parts.merge(other).n_rows == ROWS == whole.n_rows
    np.testing.assert_allclose(parts.values(x[:50]), whole.values(x[:50]), rtol=1e-9)
    values = ss.Gaussian(1.5)(x, x).mean(axis=1)
    np.testing.assert_allclose(whole.values(x[:50]), values[:50], atol=2e-4)
    assert whole.squared_norm is not None and whole.squared_norm_error is not None
    assert abs(whole.squared_norm - values.mean()) < 4 * whole.squared_norm_error + 1e-7
    assert whole.residual is not None and whole.residual < 0.01
    weights = rng.uniform(size=ROWS)
    weighted = ss.Landmarks(some[:500], **made).partial_fit(x, sample_weight=weights)
    assert weighted.weight == pytest.approx(weights.sum())
    chosen = ss.Landmarks(100, bandwidth=1.5).partial_fit(x[:3000]).partial_fit(x[3000:])
    assert chosen.landmarks.shape == (100, 3) and chosen.kernel == ss.Gaussian(1.5)
    assert "100" in repr(chosen) and repr(ss.Landmarks(7)) == "Landmarks(7)"


def test_landmarks_refuse_what_does_not_fit(draws: NDArray[np.float64]) -> None:
    one = ss.Landmarks(draws[:10], bandwidth=1.0)
    with pytest.raises(ValueError, match="differ in landmarks"):
        one.merge(ss.Landmarks(draws[:11], bandwidth=1.0))
    with pytest.raises(ValueError, match="median"):
        ss.Landmarks(draws[:10])
    with pytest.raises(ValueError, match="call partial_fit first"):
        ss.Landmarks(10).values(draws)
    with pytest.raises(ValueError, match="add the rows first"):
        one.values(draws)
    with pytest.raises(ValueError, match="no effect"):
        ss.Landmarks(10, controls=draws)
    one.partial_fit(draws)
    assert one.squared_norm is None and one.residual is None
    with pytest.raises(ValueError, match=r"dim|column|coordinates"):
        one.partial_fit(draws[:, :2])


@pytest.mark.filterwarnings("error")
def test_what_comes_once_is_kept_in_a_file_that_is_closed(draws: NDArray[np.float64]) -> None:
    ss.herd(batches(draws), 5, bandwidth=2, pool_rows=POOL)
    gc.collect()


def test_lists_of_tables_are_told_how_to_be_batches(draws: NDArray[np.float64]) -> None:
    with pytest.raises(ValueError, match=r"x is a list of 2 tables; for batches of rows give iter\(x\)"):
        ss.thin([draws[:100], draws[100:]], 5)


def test_rows_that_lie_on_their_side_are_noticed(draws: NDArray[np.float64]) -> None:
    with pytest.warns(ss.SupersampleWarning, match="only 3 rows to choose from; with .* columns, is it transposed"):
        ss.thin(draws[:50].T, 5)


def test_a_want_of_memory_is_told_in_units(draws: NDArray[np.float64]) -> None:
    with pytest.raises(ValueError, match=r"the run needs about [\d.]+ MiB, and max_memory allows [\d.]+ KiB"):
        ss.thin(draws, 5, max_memory="10k")


def test_very_many_rows_in_single_precision_stay_in_it() -> None:
    x = np.random.default_rng(5).normal(size=(210_000, 2)).astype(np.float32)
    options: dict[str, Any] = {"bandwidth": 1.0, "landmarks": 50}
    result = ss.herd(x, 5, **options)
    assert (result.n_rows, result.pool_rows) == (210_000, 200_000)
    same = ss.herd(x, 5, pool_rows=200_000, **options)
    np.testing.assert_array_equal(result.indices, same.indices)
    np.testing.assert_array_equal(result.points, x[result.indices])
    exact = ss.evaluate(x.astype(np.float64), result, **options)
    assert result.mmd == pytest.approx(exact.mmd, rel=0.05)


def test_what_needs_all_rows_has_them_in_double_precision() -> None:
    x = np.random.default_rng(5).normal(size=(210_000, 1)).astype(np.float32)
    options: dict[str, Any] = {"bandwidth": 1.0, "landmarks": 50}
    kept = ss.thin(x, 3, include=[7], search=0, marginals=0, moments=0, **options)
    assert kept.indices is not None and 7 in kept.indices
    weighted = ss.herd(x, 3, sample_weight=np.abs(x[:, 0]), **options)
    assert kept.pool_rows is None and weighted.pool_rows is None
    # Few rows are compared with each other, whatever their precision.
    np.testing.assert_array_equal(ss.herd(x[:500], 3).indices, ss.herd(x[:500].astype(float), 3).indices)
    with pytest.raises(TypeError, match="embedding is 3; choose auto, exact or landmarks"):
        ss.herd(x, 3, embedding=3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="row 4, column 0 of x is NaN"):
        ss.herd(np.where(np.arange(len(x))[:, None] == 4, np.float32("nan"), x), 3)


def test_arrays_of_others_in_single_precision_are_not_copied() -> None:
    from supersample._batches import as_single

    class Tensor:
        def __init__(self, x: NDArray[Any]) -> None:
            self.x, self.ndim, self.dtype = x, x.ndim, f"tensor.{x.dtype}"

        def __array__(self, dtype: Any = None, copy: Any = None) -> NDArray[Any]:
            return self.x

    for kind in ("f4", ">f4", "f2"):
        x = np.zeros((4, 2), kind)
        array = as_single(x)
        assert array is not None and np.shares_memory(array, x)
    x = np.zeros((4, 2), np.float32)
    array = as_single(Tensor(x))
    assert array is not None and np.shares_memory(array, x)
    for other in (x.astype(float), x[0], x.astype(int), [[1.0]], Tensor(x.astype(float))):
        assert as_single(other) is None
