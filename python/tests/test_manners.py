"""Good manners: threads, forks, Ctrl-C, pickles, progress, memory."""

import copy
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
import warnings
from types import ModuleType
from typing import ClassVar

import numpy as np
import pytest
import supersample as ss

X = np.random.default_rng(0).normal(size=(3000, 4))


def run(program, **options):
    """Runs a program in a fresh interpreter."""
    command = [sys.executable, "-c", textwrap.dedent(program)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True, **options).stdout


@pytest.mark.parametrize("precision", ["mixed", "double"])
def test_the_number_of_threads_changes_nothing(precision):
    one = ss.herd(X, 60, threads=1, precision=precision)
    for threads in (2, 3, 7):
        more = ss.herd(X, 60, threads=threads, precision=precision)
        assert one.indices.tolist() == more.indices.tolist()
        assert one.error.tolist() == more.error.tolist()
    few = [ss.thin(X, 20, threads=threads, precision=precision).indices.tolist() for threads in (1, 2, None)]
    assert few[0] == few[1] == few[2]


def test_several_python_threads_work_at_once():
    expected = ss.herd(X, 30).indices.tolist()
    found = [None] * 6

    def work(i):
        found[i] = ss.herd(X, 30, threads=1 + i % 2).indices.tolist()

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert found == [expected] * 6


def test_python_goes_on_while_rows_are_compared():
    x = np.random.default_rng(1).normal(size=(20_000, 5))
    ticks, done = [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(1)
            time.sleep(0.001)

    ticker = threading.Thread(target=tick)
    ticker.start()
    before = len(ticks)
    ss.herd(x, 50, precision="double", threads=1)
    during = len(ticks) - before
    done.set()
    ticker.join()
    assert during > 10


def test_a_herder_that_is_at_work_says_so():
    herder = ss.Herder(np.random.default_rng(1).normal(size=(20_000, 5)), precision="double")
    said = []

    def look(phase, done, total):
        if phase == "done":
            return
        for ask in (lambda: len(herder), lambda: next(herder), herder.restart):
            with pytest.raises(RuntimeError, match="in use by another thread"):
                ask()
        said.append(phase)

    herder.run(3, progress=look)
    assert said and len(herder) == 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_has_threads_of_its_own():
    expected = ss.herd(X, 30).indices.tolist()
    herder = ss.Herder(X)
    herder.run(5)
    child = os.fork()
    if child == 0:
        # No assertion may run pytest's code here: the exit status is the verdict.
        same = ss.herd(X, 30).indices.tolist() == expected and len(herder.run(25)) == 25
        os._exit(0 if same and herder.indices.tolist() == expected else 1)
    for _ in range(600):
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            break
        time.sleep(0.1)
    else:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        pytest.fail("the child waits for ever")
    assert os.waitstatus_to_exitcode(status) == 0
    assert ss.herd(X, 30).indices.tolist() == expected


def chosen(seed):
    return ss.herd(np.random.default_rng(seed).normal(size=(3000, 4)), 30).indices.tolist()


@pytest.mark.parametrize("method", [m for m in ("fork", "spawn") if m in multiprocessing.get_all_start_methods()])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_pool_of_processes(method):
    here = [chosen(seed) for seed in range(4)]
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map_async(chosen, range(4)).get(timeout=120) == here


INTERRUPTED = """
    import signal, sys, threading, time, os
    import numpy as np
    import supersample as ss

    x = np.random.default_rng(0).normal(size={shape})
    herder = ss.Herder(x, precision="double")
    {before}

    def strike():
        time.sleep(0.4)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=strike).start()
    try:
        {call}
        print("it was not stopped")
    except KeyboardInterrupt:
        print("stopped")
    {after}
"""


@pytest.mark.skipif(os.name == "nt", reason="SIGINT cannot be sent to one process on Windows")
@pytest.mark.parametrize(
    ("shape", "before", "call", "after"),
    [
        # The mean embedding of many rows, and afterwards that of a few with the same threads.
        ((150_000, 10), "pass", "herder.run(3)", "print(len(herder), ss.herd(x[:500], 3).indices.shape)"),
        # Many picks: those made are kept, and the herder goes on.
        (
            (4_000, 5),
            "herder.run(2)",
            "herder.run(10**8)",
            "n = len(herder); print(n > 2, herder.run(3)[-1].t == n + 3)",
        ),
        ((150_000, 10), "pass", "ss.thin(x, 2000)", "print('still here')"),
        ((60_000, 10), "pass", "ss.mmd(x, x)", "print('still here')"),
        # Weights of all rows, whose equations take most of the time.
        ((4_900, 3), "pass", "ss.herd(x, 4_900, unique=True, weights='simplex')", "print('still here')"),
        # Few samples against many points: the time goes into the points among themselves.
        ((150_000, 10), "pass", "ss.mmd(x[:200], x)", "print('still here')"),
    ],
    ids=["embedding", "picks", "thin", "mmd", "weights", "mmd of many"],
)
def test_ctrl_c_stops_and_leaves_the_herder_usable(shape, before, call, after):
    lines = run(INTERRUPTED.format(shape=shape, before=before, call=call, after=after)).splitlines()
    assert lines[0] == "stopped"
    expected = {"herder.run(3)": "0 (3,)", "herder.run(10**8)": "True True"}.get(call, "still here")
    assert lines[1] == expected


def test_an_exception_of_the_progress_function_stops_the_work():
    class Enough(Exception):
        pass

    def listener(phase, done, total):
        raise Enough

    with pytest.raises(Enough):
        ss.herd(np.random.default_rng(1).normal(size=(20_000, 5)), 10, progress=listener)


def test_progress_and_its_end_are_told():
    told = []
    ss.thin(X, 30, progress=lambda *news: told.append(news))
    *phases, (last, done, total) = told
    known = ("comparing", "choosing", "swapping", "searching", "evaluating", "measuring")
    assert phases and all(phase in known for phase, _, _ in phases)
    assert all(done >= 0 and total >= 0 for _, done, total in told)
    assert last == "done" and done == total > 0


class Tqdm:
    """As much of tqdm as is used."""

    drawn: ClassVar = []

    def __init__(self, total, desc, miniters, bar_format):
        assert "remaining" not in bar_format
        self.total, self.desc, self.n, self.start_t = total, desc, 0, 5.0

    def reset(self, total):
        self.total, self.n, self.start_t = total, 0, 9.0

    def set_description(self, desc, refresh):
        self.desc = desc

    def update(self, n):
        self.n += n
        self.drawn.append((self.desc, self.n, self.total, self.start_t))

    def refresh(self):
        self.drawn.append("refreshed")

    def close(self):
        self.drawn.append("closed")


def test_the_bar_of_tqdm_is_used_where_it_is_installed(monkeypatch, capsys):
    module = ModuleType("tqdm.auto")
    module.tqdm = Tqdm
    monkeypatch.setitem(sys.modules, "tqdm", ModuleType("tqdm"))
    monkeypatch.setitem(sys.modules, "tqdm.auto", module)
    ss.thin(X, 30, progress=True)
    *phases, end, refreshed, closed = Tqdm.drawn
    assert phases and all(n >= 0 for _, n, _, _ in phases)
    assert end[0] == "done" and end[1] == end[2] > 0 and end[3] == 5.0, "the end shows the time of the whole"
    assert (refreshed, closed) == ("refreshed", "closed") and capsys.readouterr().err == ""


def test_the_own_bar_is_drawn_to_its_end(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    ss.thin(X, 30, progress=True)
    drawn = capsys.readouterr()
    assert drawn.out == "" and "\r" in drawn.err and drawn.err.endswith("\n")
    assert drawn.err.splitlines()[-1].startswith("done      100.0% |")
    ss.herd(X, 30, progress=False)
    assert capsys.readouterr().err == ""


def test_a_long_run_is_told_of_once_and_foretells_nothing():
    from supersample._progress import Patience, reporting

    now = 0.0
    patience = Patience(lambda: now)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for now in (0.0, 1.0, 19.0):  # noqa: B007 (the clock reads it)
            patience("landmarks", 1, 1_000_000)
    now = 21.0
    with pytest.warns(ss.SupersampleWarning, match="swapping, after 21 s; progress=True shows a progress bar") as told:
        patience("swapping", 1, 10)
        now = 50.0
        patience("swapping", 2, 10)
    assert len(told) == 1
    # However few columns there are, and in every function; and nothing at all if asked.
    with reporting(None, 20_000) as many, reporting(None, None) as unknown, reporting(None, 1000) as few:
        assert isinstance(many, Patience) and isinstance(unknown, Patience) and few is None
    with reporting(False, 20_000) as quiet:
        assert quiet is None


def test_long_times_have_hours():
    from supersample._progress import _clock

    assert [_clock(seconds) for seconds in (7.9, 307, 3599, 3600, 104 * 3600 + 65)] == [
        "00:07",
        "05:07",
        "59:59",
        "1:00:00",
        "104:01:05",
    ]


@pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="threads cannot be counted on this system")
@pytest.mark.parametrize(
    ("environment", "argument", "expected"),
    [
        ({"RAYON_NUM_THREADS": "3"}, "", 3),
        ({"OMP_NUM_THREADS": "3,1"}, "", 3),
        ({"RAYON_NUM_THREADS": "5", "OMP_NUM_THREADS": "3"}, "", 5),
        ({"OMP_NUM_THREADS": "3"}, ", threads=4", 4),
        ({"RAYON_NUM_THREADS": "0", "OMP_NUM_THREADS": "many"}, "", len(os.sched_getaffinity(0))),
    ],
)
def test_the_environment_says_how_many_threads(environment, argument, expected):
    program = f"""
        import glob
        import numpy as np, supersample as ss
        ss.herd(np.random.default_rng(0).normal(size=(5000, 4)), 3{argument})
        # Numbered within their pool; beside them is the one thread that makes rows ready.
        names = {{open(path).read() for path in glob.glob("/proc/self/task/*/comm")}}
        print(sum(name.startswith("supersample-") for name in names))
    """
    clean = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    assert int(run(program, env={**clean, **environment})) == expected


def test_large_kernel_matrices_are_those_of_small_ones(monkeypatch):
    kernel = ss.Matern32(0.8)
    whole = kernel(X[:40], X)
    monkeypatch.setattr(ss.kernels, "_BLOCK", 10_000)
    np.testing.assert_array_equal(kernel(X[:40], X), whole)


@pytest.mark.parametrize(
    "options", [{}, {"unique": True, "precision": "double"}, {"sample_weight": np.arange(1.0, 3001)}]
)
def test_a_pickled_herder_goes_on_to_the_same_picks(options):
    whole = ss.Herder(X, **options)
    expected = [(pick.index, pick.error) for pick in whole.run(40)]
    herder = ss.Herder(X, **options)
    early = pickle.loads(pickle.dumps(herder))
    herder.run(15)
    for again in (pickle.loads(pickle.dumps(herder)), copy.deepcopy(herder), copy.copy(herder)):
        assert len(again) == 15 and again.kernel == herder.kernel
        again.run(25)
        assert [(index, error) for index, error in zip(again.indices.tolist(), again.error.tolist())] == expected
    assert len(herder) == 15
    early.run(40)
    assert early.indices.tolist() == [index for index, _ in expected]


def test_results_kernels_mixtures_and_evaluations_are_pickled():
    result = ss.herd(X, 10, weights="simplex")
    again = pickle.loads(pickle.dumps(result))
    assert again.indices.tolist() == result.indices.tolist() and again.mmd == result.mmd
    assert again.kernel == result.kernel and repr(again) == repr(result)
    assert len(pickle.dumps(result)) < 5000, "the rows that were not chosen stay behind"
    mixture = ss.GaussianMixture([1, 2], [[0.0], [1.0]], [[[1.0]], [[2.0]]])
    assert pickle.loads(pickle.dumps(mixture)) == mixture
    assert pickle.loads(pickle.dumps(ss.Gaussian((1, 2)))) == ss.Gaussian((1, 2))
    found = ss.evaluate(X, result)
    assert repr(pickle.loads(pickle.dumps(found))) == repr(found)


def test_results_cannot_be_changed():
    result = ss.herd(X, 10)
    with pytest.raises(AttributeError):
        result.mmd = 0.0
    with pytest.raises(ValueError):
        result.points[0, 0] = 0.0
    with pytest.raises(AttributeError):
        ss.Gaussian(1.0).bandwidth = 2.0


def test_a_thousand_calls_do_not_leak():
    program = """
        import numpy as np, os, resource
        import supersample as ss

        x = np.random.default_rng(0).normal(size=(400, 50))
        sizes = []
        for i in range(551):
            ss.herd(x[i % 7:], 3, bandwidth=1.0, threads=1 + i % 2)
            herder = ss.Herder(x[:200]); herder.run(2)
            if i % 50 == 0:
                ss.thin(x[:100], 5); ss.evaluate(x[:100], x[:5])
                ss.sample(ss.GaussianMixture([1], [[0.0]], [[[1.0]]]), 2)
                with open("/proc/self/statm") as statm:
                    sizes.append(int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE"))
        print(sizes[-1] - sizes[1])
    """
    if not os.path.exists("/proc/self/statm"):
        pytest.skip("the memory of a process cannot be read on this system")
    # Twice 500 calls take 160 and 80 kB of points: a leak of every tenth copy would be 12 MB.
    assert int(run(program)) < 6 << 20


def test_importing_is_light():
    program = """
        import sys
        import numpy
        before = set(sys.modules)
        import supersample
        heavy = {"pandas", "sklearn", "matplotlib", "xarray", "arviz", "scipy", "pyarrow", "polars", "jax", "torch"}
        print(sorted(heavy & {name.partition(".")[0] for name in set(sys.modules) - before}))
        print(supersample.__version__)
    """
    loaded, version = run(program).splitlines()
    assert loaded == "[]" and version == ss.__version__
