"""supersample.dask on a local cluster of processes: the same rows however it is done, and whatever fails."""

import os
import pickle
import signal
import uuid

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import supersample as ss
from distributed import Client, Event, LocalCluster

SIZES = (700, 0, 1300, 1, 999, 1000, 2000, 600, 500, 900)
SOME = dict(pool_rows=3000, landmarks=200, search=0, progress=False)


@pytest.fixture(scope="module")
def cluster():
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    with Client(cluster) as client:
        client.wait_for_workers(2)
        yield client


def rows(n=8000):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 3))
    x[:, 0] += 3 * (rng.random(n) < 0.3)
    return x


def array(x, sizes=SIZES):
    return da.from_array(x, chunks=(sizes, x.shape[1]))


def frame(x, **columns):
    table = pd.DataFrame(x, columns=[f"theta[{j}]" for j in range(x.shape[1])]).assign(**columns)
    parts = np.split(np.arange(len(x)), np.cumsum(SIZES)[:-1])
    return dd.from_map(lambda at: table.iloc[at], parts, meta=table.iloc[:0])


def delayed(x, make=lambda piece: piece, sizes=SIZES):
    pieces = np.split(x, np.cumsum(sizes)[:-1])
    return [dask.delayed(make, pure=False)(piece) for piece in pieces]


def same(a, b):
    return np.array_equal(a.indices, b.indices) and a.mmd == b.mmd and a.mmd_error == b.mmd_error


@pytest.fixture(scope="module")
def known(cluster):
    """What is chosen of these rows where nothing happens."""
    with Client(cluster):
        return ss.dask.thin(array(rows()), 20, **SOME)


@pytest.fixture(scope="module")
def unsized(cluster):
    """What is chosen of these rows where the sizes of partitions are not known beforehand, which draws other rows."""
    with Client(cluster):
        return ss.dask.thin(delayed(rows()), 20, **SOME)


def test_what_is_chosen_is_what_is_said_of_it(known):
    x = rows()
    assert np.array_equal(known.points, x[known.indices]) and len(set(known.indices)) == 20
    starts = np.concatenate([[0], np.cumsum(SIZES)])
    assert np.array_equal(starts[known.partitions] + known.partition_rows, known.indices)
    assert (known.partition_rows < np.array(SIZES)[known.partitions]).all()
    exact = ss.mmd(x, known.points, bandwidth=known.kernel.bandwidths[0], embedding="exact", precision="double")
    assert abs(known.mmd - exact) < 4 * known.mmd_error
    assert known.mmd_error < 0.05 * known.mmd and known.landmarks == 200
    # Better than herding from memory.
    assert known.mmd < ss.herd(x, 20).mmd
    names = [one.name for one in known.work.passes]
    assert names == ["gather", "landmarks", "measure"] and known.work.partitions == len(SIZES)
    assert known.work.bytes_read == 3 * x.nbytes and known.work.tasks > 3 * len(SIZES)
    assert known.n_rows == len(x) and repr(known).endswith("bytes moved")
    again = pickle.loads(pickle.dumps(known))
    assert np.array_equal(again.partitions, known.partitions) and again.work == known.work


def test_partitions_of_known_sizes_draw_the_rows_that_batches_draw(client, known):
    x = rows()
    some = {**SOME, "bandwidth": 1.5}
    of_array, here = ss.dask.thin(array(x), 20, **some), ss.thin(x, 20, **some)
    assert np.array_equal(of_array.indices, here.indices) and of_array.mmd == pytest.approx(here.mmd, rel=1e-4)
    assert (of_array.pool_rows, here.pool_rows) == (3000, 3000)
    # Other partitions of the same rows are the same sample.
    others = ss.dask.thin(array(x, (3000, 5000)), 20, **some)
    assert np.array_equal(others.indices, here.indices)
    # Columns in several chunks.
    pieces = da.from_array(x, chunks=(SIZES, 2))
    assert same(ss.dask.thin(pieces, 20, **SOME), known)
    assert np.array_equal(known.take(pieces), known.points)


def test_frames_and_batches_give_the_same_rows(client, known, unsized):
    x = rows()
    ids = dict(chain=np.arange(len(x)) % 4, label=np.arange(len(x)) * 10)
    table = frame(x, **ids)
    of_frame = ss.dask.thin(table.drop(columns="label"), 20, **SOME)
    assert abs(unsized.mmd / known.mmd - 1) < 0.3
    assert same(of_frame, unsized) and of_frame.unused == ("chain",) and of_frame.names[0] == "theta[0]"
    taken = of_frame.take(table)
    assert np.array_equal(taken["label"], 10 * of_frame.indices) and list(taken.columns) == list(table.columns)
    lists = delayed(
        x,
        lambda piece: (
            {"a": piece[:, 0], "b": piece[:, 1:]}
            if len(piece)
            else pd.DataFrame({"a": [], "b[0]": [], "b[1]": []}, dtype=float)
        ),
    )
    assert same(ss.dask.thin(lists, 20, **SOME), unsized)


def test_any_number_of_workers_gives_the_same_rows(known):
    for workers in (1, 4):
        with Client(processes=False, n_workers=workers, threads_per_worker=1, dashboard_address=":0"):
            assert same(ss.dask.thin(array(rows()), 20, **SOME), known)
    # Without any client the threads of this process do the work.
    assert same(ss.dask.thin(array(rows()), 20, **SOME), known)


def test_another_seed_draws_other_rows(client, known):
    other = ss.dask.thin(array(rows()), 20, seed=1, **SOME)
    assert not np.array_equal(other.indices, known.indices) and abs(other.mmd / known.mmd - 1) < 0.3


def killing(directory, number, calls):
    """Batches of which one kills its worker when it is computed for the so-manieth time, and never again."""

    def make(piece, at):
        if at == number:
            seen = len(os.listdir(directory))
            open(os.path.join(directory, uuid.uuid4().hex), "w").close()
            if seen in calls:
                os.kill(os.getpid(), signal.SIGKILL)
        return piece

    pieces = np.split(rows(), np.cumsum(SIZES)[:-1])
    return [dask.delayed(make, pure=False)(piece, at) for at, piece in enumerate(pieces)]


def test_a_worker_that_is_killed_in_every_pass_changes_nothing(client, unsized, tmp_path):
    # Computed twice in each pass, and killed the first time.
    data = killing(str(tmp_path), 2, {0, 2, 4})
    assert same(ss.dask.thin(data, 20, **SOME), unsized)
    assert len(list(tmp_path.iterdir())) >= 6


def test_a_partition_that_kills_every_worker_is_named(cluster, client, tmp_path):
    before, cluster.scheduler.allowed_failures = cluster.scheduler.allowed_failures, 0
    try:
        with pytest.raises(RuntimeError, match=r"^partition 0: every worker that worked on it has died"):
            ss.dask.thin(killing(str(tmp_path), 2, range(9))[2:3], 20, **SOME)
    finally:
        cluster.scheduler.allowed_failures = before


def test_what_is_wrong_is_named_by_partition_and_row(client):
    def unreadable(piece):
        if len(piece) == 999:
            raise OSError("no such file")
        return piece

    x = rows()
    with pytest.raises(RuntimeError, match=r"^partition 4 cannot be computed: OSError: no such file"):
        ss.dask.thin(delayed(x, unreadable), 20, **SOME)
    bad = x.copy()
    bad[sum(SIZES[:6]) + 203, 1] = np.nan
    with pytest.raises(ValueError, match=r"^partition 6: row 203, column 'theta\[1\]' is NaN"):
        ss.dask.thin(frame(bad), 20, **SOME)
    weight = np.ones(len(x))
    weight[sum(SIZES[:7]) + 5] = -1
    with pytest.raises(ValueError, match=r"^partition 7: weight 5 is -1"):
        ss.dask.thin(array(x), 20, sample_weight=da.from_array(weight, chunks=(SIZES,)), **SOME)
    with pytest.raises(ValueError, match=r"^partition 2 has 2 columns, and partition 0 has 3 columns"):
        ss.dask.thin(delayed(x, lambda piece: piece[:, :2] if len(piece) == 1300 else piece), 20, **SOME)
    with pytest.raises(ValueError, match=r"^partition 3 has shape \(1, 3, 1\)"):
        ss.dask.thin(delayed(x, lambda piece: piece[..., None] if len(piece) == 1 else piece), 20, **SOME)


def test_partitions_that_change_between_passes_are_refused(client):
    def noisy(piece):
        return piece + np.random.default_rng().normal() * (len(piece) == 2000)

    with pytest.raises(ValueError, match=r"^partition 6 has other numbers than in the first pass.*seed"):
        ss.dask.thin(delayed(rows(), noisy), 20, **SOME)


def test_uneven_partitions_take_one_more_pass(client):
    x = rows()
    uneven = (0, 0, len(x) - 1, 0, 0, 0, 1, 0, 0, 0)
    result = ss.dask.thin(delayed(x, sizes=uneven), 20, **SOME)
    assert [one.name for one in result.work.passes] == ["gather", "gather", "landmarks", "measure"]
    # Where sizes are known they are drawn by, and the rows are the same.
    known = ss.dask.thin(array(x, uneven), 20, **SOME)
    assert len(known.work.passes) == 3 and same(result, known)
    one = ss.dask.thin(delayed(x, sizes=(len(x),)), 20, **SOME)
    assert len(one.work.passes) == 3 and abs(one.mmd / known.mmd - 1) < 0.3


def test_few_rows_are_chosen_from_as_in_memory(client):
    x = rows(2000)
    sizes = (500, 0, 1500)
    whole = ss.dask.thin(array(x, sizes), 10, progress=False)
    here = ss.thin(x, 10)
    assert np.array_equal(whole.indices, here.indices) and whole.mmd == here.mmd and len(whole.work.passes) == 1
    found, there = ss.dask.evaluate(array(x, sizes), x[:10], progress=False), ss.evaluate(x, x[:10])
    assert found.mmd == there.mmd and np.array_equal(found.mean_error, there.mean_error)


def test_weights_of_rows(client):
    x = rows()
    weight = np.exp(-x[:, 1])
    weight[::7] = 0
    chunks = (SIZES,)
    of_weights = ss.dask.thin(array(x), 20, sample_weight=da.from_array(weight, chunks=chunks), **SOME)
    with np.errstate(divide="ignore"):
        logs = np.log(weight) - 2000
    of_logs = ss.dask.thin(array(x), 20, log_weight=da.from_array(logs, chunks=chunks), **SOME)
    pairs = [dask.delayed(lambda a, b: (a, b))(*pair) for pair in zip(delayed(x), delayed(weight))]
    of_pairs = ss.dask.thin(pairs, 20, **SOME)
    of_lists = ss.dask.thin(delayed(x), 20, sample_weight=delayed(weight), **SOME)
    # Other chunks of weights are brought to those of the rows; plain ones are cut.
    of_chunks = ss.dask.thin(array(x), 20, sample_weight=da.from_array(weight, chunks=1000), **SOME)
    of_array = ss.dask.thin(array(x), 20, sample_weight=weight, **SOME)
    assert same(of_lists, of_pairs) and same(of_weights, of_chunks) and same(of_weights, of_array)
    assert of_weights.weighted and (weight[of_weights.indices] > 0).all()
    assert abs(of_logs.mmd / of_weights.mmd - 1) < 0.3
    exact = ss.mmd(x, of_weights.points, sample_weight=weight, bandwidth=of_weights.kernel.bandwidths[0])
    assert abs(of_weights.mmd - exact) < 4 * of_weights.mmd_error


def test_functions_are_matched_to_their_means_over_all_rows(client):
    x = rows()
    values = np.sin(5 * x[:, :2])
    plain = ss.dask.thin(array(x), 20, **SOME)
    given = ss.dask.thin(array(x), 20, functions=array(values), **SOME)
    named = ss.dask.thin(frame(x, f=values[:, 0], g=values[:, 1]), 20, functions=["f", "g"], **SOME)
    lists = ss.dask.thin(delayed(x), 20, functions=delayed(values), **SOME)
    assert same(lists, named) and lists.functions_error == named.functions_error
    error = lambda chosen: np.sqrt(
        np.mean(((values[chosen.indices].mean(axis=0) - values.mean(axis=0)) / values.std(axis=0)) ** 2)
    )
    assert abs(given.functions_error - error(given)) < 1e-9 and error(given) < 0.5 * error(plain)
    assert (
        given.objective == "joint MMD + 0.1 × marginals + 0.08 × moments + 1 × functions" and given.points.shape[1] == 3
    )
    with pytest.raises(ValueError, match="constant"):
        ss.dask.thin(array(x), 20, functions=array(np.ones((len(x), 1))), **SOME)


def test_evaluate_measures_against_all_rows(client, known):
    x = rows()
    found = ss.dask.evaluate(array(x), known, pool_rows=3000, landmarks=200, progress=False)
    assert found.size == 20 and found.n_rows == len(x) and found.landmarks == 200
    assert abs(found.mmd / known.mmd - 1) < 1e-3
    here = ss.evaluate(x, known, embedding="exact")
    assert abs(found.mmd - here.mmd) < 4 * found.mmd_error
    # Means and sds are those of all rows.
    np.testing.assert_allclose(found.mean_error, here.mean_error, atol=1e-9)
    np.testing.assert_allclose(found.sd_error, here.sd_error, atol=1e-9)
    signed = np.linspace(-0.2, 1, 20)
    weighted = ss.dask.evaluate(array(x), x[:20], subset_weight=signed, pool_rows=3000, progress=False)
    there = ss.evaluate(x, x[:20], subset_weight=signed)
    assert abs(weighted.mmd / there.mmd - 1) < 0.01


def test_options_reach_the_choice(client):
    x = array(rows())
    some = {name: value for name, value in SOME.items() if name != "search"}
    herded = ss.dask.herd(x, 30, **some)
    assert herded.refinement is None and herded.objective == "joint MMD"
    with pytest.warns(ss.SupersampleWarning, match="scaled by the 3,000 rows of the sample"):
        unique = ss.dask.herd(
            x, 30, unique=True, kernel="laplace", bandwidth=2.0, scale="pca", precision="double", **some
        )
    assert unique.kernel == ss.Laplace(2.0) and unique.scale == "pca" and unique.precision == "double"
    assert ss.dask.thin(x, tol=0.1, marginals=0, moments=0, **SOME).ended == "tolerance"
    with pytest.warns(ss.SupersampleWarning, match="scaled by the 3,000 rows of the sample"):
        by_draws = ss.dask.thin(x, equivalent_draws=50, repeats=True, scale="mad", threads=1, **SOME)
    assert by_draws.ended == "equivalent_draws" and by_draws.equivalent_draws >= 50 and by_draws.scale == "mad"


def left_on(client):
    """Tasks of ours that the scheduler still has, after all that was sent to it before."""
    client.submit(int, 0, pure=False).result()
    return client.run_on_scheduler(
        lambda dask_scheduler: sum("supersample" in str(key) for key in dask_scheduler.tasks)
    )


def test_an_exception_of_the_listener_stops_the_work(client):
    told = []

    def stop(phase, done, total):
        told.append((phase, done, total))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ss.dask.thin(array(rows()), 20, **dict(SOME, progress=stop))
    assert told == [("reading", 1, len(SIZES))] and left_on(client) == 0


def test_cancelling_the_future_that_asks_stops_the_work(client):
    begun, go, stopped = (Event(f"{name}-{uuid.uuid4().hex}") for name in ("begun", "go", "stopped"))

    def held(piece):
        begun.set()
        go.wait(30)
        return piece

    def ask(data):
        try:
            return ss.dask.thin(data, 20, **SOME)
        except ss.dask.Cancelled:
            stopped.set()

    future = client.submit(lambda make: ask(make()), lambda: delayed(rows(), held), pure=False)
    assert begun.wait(30)
    future.cancel()
    assert stopped.wait(30)
    go.set()
    assert left_on(client) == 0


def test_it_is_told_before_and_on_the_way(client, capsys):
    told = []
    listener = lambda phase, done, total: told.append((phase, done, total))
    ss.dask.thin(array(rows()), 20, **dict(SOME, progress=listener))
    assert capsys.readouterr().err == ""
    assert [one for one in told if one[0] == "reading"] == [("reading", i + 1, 10) for i in range(10)]
    assert ("summing", 10, 10) in told and told[-1][0] == "done"
    ss.dask.evaluate(delayed(rows()), rows()[:9], pool_rows=3000)
    assert capsys.readouterr().err == ""
    ss.dask.evaluate(delayed(rows()), rows()[:9], pool_rows=3000, progress=True)
    assert "supersample: 2 (at most 3) passes over 10 partitions, on 2 workers" in capsys.readouterr().err


X = da.ones((10, 2), chunks=(5, 2))


@pytest.mark.parametrize(
    "data, keywords, kind, message",
    [
        (np.ones((4, 2)), {}, TypeError, "x is of type ndarray; give a Dask array.*rows in memory are for"),
        (da.ones(10), {}, ValueError, r"x has shape \(10,\); two dimensions are needed"),
        (X.astype(complex), {}, TypeError, "x has dtype complex128"),
        (X, {"sample_weight": da.ones(10), "log_weight": da.ones(10)}, ValueError, "not both"),
        (X, {"sample_weight": np.ones(9)}, ValueError, "sample_weight has 9 rows, and x has 10"),
        (X, {"sample_weight": [dask.delayed(np.ones)(5)]}, ValueError, "sample_weight has 1 partition, and x has 2"),
        (X, {"sample_weight": "w"}, ValueError, "sample_weight names a column, but the columns of x have no names"),
        (X, {"weights": "simplex"}, ValueError, "unequal weights needs all rows in memory"),
        *(
            (X, {name: value}, ValueError, f"{name} needs all rows in memory; leave it out")
            for name, value in {"include": [3], "exclude": [3], "calibrate": ["a"], "chains": 2}.items()
        ),
        (X, {"functions_weight": 2}, ValueError, "no effect without functions"),
        (X, {"pool_rows": 0}, ValueError, "pool_rows is 0"),
        (X, {"n": None}, ValueError, "give the size"),
        (X, {"seed": -1}, ValueError, "seed is -1"),
        (X, {"marginals": -1}, ValueError, "marginals is -1; give a number of at least 0"),
        (X, {"moments": -1}, ValueError, "moments is -1; give a number of at least 0"),
        (X, {"kernel": "cosine"}, ValueError, "cosine"),
        ([], {}, TypeError, "x is of type list"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_read(data, keywords, kind, message):
    with pytest.raises(kind, match=message):
        ss.dask.thin(data, **{"n": 5, "progress": False, **keywords})


def test_row_numbers_are_no_points():
    for y in ([1, 2, 3], np.arange(10) > 4):
        with pytest.raises(TypeError, match=r"a list of row numbers or a mask; give the rows"):
            ss.dask.evaluate(X, y)


def test_frames_with_text_are_refused_before_anything_is_read():
    table = dd.from_pandas(pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}), npartitions=1)
    with pytest.raises(TypeError, match="column 'b' of x holds"):
        ss.dask.thin(table, 1)
