"""supersample.dask on a cluster that is started by Dask's own commands: time, quality, faults, memory, network.

    cargo build --release -p supersample-cli && pip install '.[dask]' && python bench/dask_cluster.py time

    time      2,000,000 x 10 in 64 partitions on two workers of one thread, and the command on the same rows with two
    quality   the MMD at 200,000 rows, beside exact herding in memory
    same      the rows with 1, 2 and 4 workers, and with a worker killed in each pass
    memory    the peak memory of the process that asks, of rows that are made by the workers and ten times as large
    cost      what each pass reads, computes and moves, beside the model in docs/dask.md, at --rows rows

Every number is of one run, on a machine that should be otherwise idle.
"""

import argparse
import contextlib
import itertools
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import dask
import numpy as np
import supersample as ss
from distributed import Client

ROOT = Path(__file__).resolve().parents[1]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
COMMAND = os.environ.get("SUPERSAMPLE", str(TARGET / "release" / "supersample"))


@contextlib.contextmanager
def cluster(workers, folder):
    """A scheduler and so many workers of one thread, each a process of its own; gives a client."""
    file = Path(folder) / f"scheduler-{time.monotonic_ns()}.json"
    environment = dict(os.environ, PYTHONUNBUFFERED="1")
    start = lambda *words: subprocess.Popen(
        [sys.executable, "-m", "dask", *words],
        cwd=folder,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    begun = [start("scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", str(file))]
    try:
        while not file.exists():
            time.sleep(0.05)
        options = ["--nthreads", "1", "--no-dashboard", "--memory-limit", "2GB", "--scheduler-file", str(file)]
        begun += [start("worker", *options) for _ in range(workers)]
        with Client(scheduler_file=str(file)) as client:
            client.wait_for_workers(workers)
            # The first import is not what is measured.
            client.run(lambda: __import__("supersample.dask"))
            yield client
    finally:
        for process in reversed(begun):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            process.wait()


def mixture(rows, dim, seed):
    """Rows of a mixture of four normals."""
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(99).normal(size=(4, dim)) * 2
    return centres[rng.integers(4, size=rows)] + rng.normal(size=(rows, dim)) * rng.uniform(0.5, 1.5, size=dim)


def made(total, partitions, dim):
    """Partitions that workers make, the same each time."""
    sizes = np.diff(np.linspace(0, total, partitions + 1).astype(int))
    return [dask.delayed(mixture, pure=False)(int(size), dim, seed) for seed, size in enumerate(sizes)]


def part_of(path, start, stop):
    return np.array(np.load(path, mmap_mode="r")[start:stop])


def read(path, total, partitions):
    """Partitions that workers read from one file."""
    edges = np.linspace(0, total, partitions + 1).astype(int)
    return [dask.delayed(part_of, pure=False)(path, int(a), int(b)) for a, b in itertools.pairwise(edges)]


def timed(run, *words, **options):
    begun = time.perf_counter()
    result = run(*words, **options)
    return time.perf_counter() - begun, result


def told(result):
    """The passes of a result, one in a line."""
    lines = [
        f"  {one.name:<10} {one.seconds:6.2f} s  {one.tasks:>5} tasks  read {one.bytes_read / 1e6:9.1f} MB  "
        f"sent {one.bytes_sent / 1e6:6.2f} MB  reduced {one.bytes_reduced / 1e6:8.2f} MB"
        for one in result.work.passes
    ]
    return "\n".join(lines)


def measure_time(options, folder):
    path = str(Path(folder) / "rows.npy")
    x = mixture(options.rows, options.dim, 0)
    np.save(path, x)
    del x
    verb, n = options.verb, options.n
    with cluster(2, folder) as client:
        data, choose = read(path, options.rows, options.partitions), getattr(ss.dask, verb)
        before = cpu_seconds(client)
        seconds, result = timed(choose, data, n, progress=False, threads=2)
        cpu = cpu_seconds(client) - before
    print(f"{verb} -n {n}, cluster: {seconds:.1f} s ({cpu:.1f} s of CPU)", end=", ")
    print(f"MMD {result.mmd:.5f} ± {result.mmd_error or 0:.5f}")
    print(told(result), flush=True)
    pool = ["--pool-rows", "100000", "--max-memory", "1G"]
    for more in ([], pool) if options.pool else ([],):
        words = [
            COMMAND,
            verb,
            path,
            "-n",
            str(n),
            "--threads",
            "2",
            "-o",
            f"{folder}/chosen.npy",
            "--json",
            "-",
            *more,
        ]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        alone, output = timed(subprocess.check_output, words, stderr=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        own = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        mmd = json.loads(output)["result"]["mmd"]
        what = "the command from a pool" if more else "the command"
        print(f"{verb} -n {n}, {what}: {alone:.1f} s ({own:.1f} s of CPU), MMD {mmd:.5f}")
        print(f"  the cluster takes {seconds / alone:.2f} of that, {cpu / own:.2f} of its CPU time", flush=True)


def cpu_seconds(client):
    """The CPU time so far of the workers, the scheduler and this process."""
    workers = client.run(time.process_time).values()
    return sum(workers) + client.run_on_scheduler(time.process_time) + time.process_time()


def measure_quality(options, folder):
    x = mixture(200_000, options.dim, 0)
    path = str(Path(folder) / "rows.npy")
    np.save(path, x)
    for n in (100, 1000):
        seconds, exact = timed(ss.herd, x, n, embedding="exact")
        print(f"herd -n {n}, exact, in memory: MMD {exact.mmd:.6f}, {seconds:.1f} s", flush=True)
        with cluster(2, folder):
            for verb in ("herd", "thin") if n == 100 else ("herd",):
                result = getattr(ss.dask, verb)(read(path, len(x), options.partitions), n, progress=False)
                # By the same kernel against all rows, exactly.
                known = ss.mmd(x, result.points, kernel=exact.kernel, embedding="exact")
                print(
                    f"{verb} -n {n}, cluster: MMD {result.mmd:.6f} ± {result.mmd_error:.6f}, exactly {known:.6f}: "
                    f"{known / exact.mmd:.3f} of exact herding",
                    flush=True,
                )


def fatal(piece, folder, number):
    """The piece; the worker that is given the file of this number, once, is killed."""
    with contextlib.suppress(FileNotFoundError):
        os.rename(f"{folder}/kill-{number}", f"{folder}/killed-{number}")
        os.kill(os.getpid(), signal.SIGKILL)
    return piece


class Arm:
    """A listener: once a third of the tasks of a pass are done the next one kills its worker."""

    def __init__(self, folder, number):
        self.path, self.before = Path(f"{folder}/kill-{number}"), number

    def __call__(self, phase, done, count):
        if phase in ("reading", "summing") and done == count // 3:
            self.before -= 1
            if self.before == -1:
                self.path.touch()


def measure_same(options, folder):
    total, partitions = options.rows // 10, options.partitions
    rows = {}
    for workers in (1, 2, 4):
        with cluster(workers, folder):
            rows[f"{workers} workers"] = ss.dask.thin(made(total, partitions, options.dim), 100, progress=False)
    for number, name in enumerate(("gather", "landmarks", "measure")):
        with cluster(2, folder):
            pieces = [
                dask.delayed(fatal, pure=False)(one, folder, number) for one in made(total, partitions, options.dim)
            ]

            rows[f"killed in {name}"] = ss.dask.thin(pieces, 100, progress=Arm(folder, number))
            assert Path(f"{folder}/killed-{number}").exists(), "no worker was killed"
    first = next(iter(rows.values()))
    for what, result in rows.items():
        is_same = np.array_equal(result.indices, first.indices) and result.mmd == first.mmd
        print(f"{what:<20} MMD {result.mmd!r}: {'the same rows' if is_same else 'OTHER ROWS'}")


def measure_memory(options, folder):
    imported = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    with cluster(2, folder):
        data = made(options.rows, options.partitions, options.dim)
        seconds, result = timed(ss.dask.thin, data, 100, progress=False)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    size = options.rows * options.dim * 8 / 1e6
    print(f"{options.rows:,} x {options.dim}, {size:,.0f} MB, in {seconds:.0f} s")
    print(f"peak of the asking process: {peak:.0f} MB, {imported:.0f} MB of it imports")
    print(told(result))


def transfers(dask_worker):
    """The bytes that a worker has fetched from others, by the pass that they belong to."""
    found = {}
    for one in dask_worker.transfer_incoming_log:
        for key, size in one["keys"].items():
            name = str(key).split("-")[1] if str(key).startswith("supersample") else "partitions"
            found[name] = found.get(name, 0) + size
    return found


def measure_cost(options, folder):
    n, landmarks = 100, 500
    with cluster(2, folder) as client:
        result = ss.dask.thin(made(options.rows, options.partitions, options.dim), n, progress=False)
        fetched = client.run(transfers).values()
    print(told(result))
    for name in ("gather", "landmarks", "measure", "partitions"):
        print(f"  fetched by workers from each other, {name}: {sum(one.get(name, 0) for one in fetched) / 1e6:.2f} MB")
    values = options.rows * (landmarks + 1000 + n)
    seconds = sum(one.seconds for one in result.work.passes if one.name != "gather")
    rate = values / seconds / 2 / 1e6
    print(f"{values:.3g} kernel values in {seconds:.1f} s: {rate:.0f} million a second and thread")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["time", "quality", "same", "memory", "cost"])
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--dim", type=int, default=10)
    parser.add_argument("--partitions", type=int, default=64)
    parser.add_argument("--verb", choices=["herd", "thin"], default="herd", help="time: what is measured")
    parser.add_argument("-n", type=int, default=1000, help="time: how many rows are chosen")
    parser.add_argument("--pool", action="store_true", help="time: the command from a pool of 100,000 rows as well")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        globals()[f"measure_{options.what}"](options, folder)


if __name__ == "__main__":
    main()
