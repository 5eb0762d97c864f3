"""What the Python package costs beside the library: its import, a small call, a large call, the wait after Ctrl-C.

    cargo build --release -p bench-ours && pip install . && python bench/python_overhead.py

Everything is the best of several tries, in turns where two things are compared, on a machine that is otherwise idle.
The Rust program herds the same file with the same options through the library's own API; neither side counts reading
it.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import supersample as ss

ROOT = Path(__file__).resolve().parents[1]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))


def import_milliseconds(tries):
    program = "import numpy, time; t = time.perf_counter(); import supersample; print((time.perf_counter() - t) * 1e3)"
    run = lambda: float(subprocess.check_output([sys.executable, "-c", program], cwd=tempfile.gettempdir()))
    return min(run() for _ in range(tries))


def python_seconds(x, n, bandwidth):
    """Wall and CPU time of one call."""
    wall, cpu = time.perf_counter(), time.process_time()
    ss.herd(x, n, bandwidth=bandwidth, scale="none")
    return time.perf_counter() - wall, time.process_time() - cpu


def rust_seconds(program, file, n, bandwidth):
    words = [program, "herd", file, "--bandwidth", str(bandwidth), "--number", str(n)]
    told = json.loads(subprocess.check_output(words))
    return told["seconds"], told["embedding_cpu_seconds"] + told["picks_cpu_seconds"]


INTERRUPT = """
import os, signal, sys, threading, time
import numpy as np, supersample as ss
x = np.random.default_rng(0).normal(size=(300_000, 10))
sent = []
def strike():
    time.sleep(1.0)
    sent.append(time.perf_counter())
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=strike).start()
try:
    ss.herd(x, 10, precision="double")
except KeyboardInterrupt:
    print((time.perf_counter() - sent[0]) * 1e3)
"""


def interrupt_milliseconds(tries):
    run = lambda: float(subprocess.check_output([sys.executable, "-c", INTERRUPT], cwd=tempfile.gettempdir()))
    return max(run() for _ in range(tries))


def compare(program, folder, shape, n, bandwidth, tries):
    """The best wall and CPU times of both, in turns."""
    x = np.random.default_rng(0).normal(size=shape)
    file = Path(folder) / f"{shape[0]}x{shape[1]}.npy"
    np.save(file, x)
    ours, theirs = [], []
    for _ in range(tries):
        ours.append(python_seconds(x, n, bandwidth))
        theirs.append(rust_seconds(program, file, n, bandwidth))
    return [min(times) for times in zip(*ours)], [min(times) for times in zip(*theirs)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ours", default=TARGET / "release" / "bench-ours", help="the program of bench/ours")
    parser.add_argument("--tries", type=int, default=7)
    args = parser.parse_args()
    python = sys.version.split()[0]
    print(f"supersample {ss.__version__} ({ss.instruction_set()}), Python {python}, {os.cpu_count()} cores")
    print(f"import beyond NumPy's own: {import_milliseconds(3 * args.tries):.1f} ms")
    print(f"Ctrl-C while 300,000 x 10 rows are compared ends the call within {interrupt_milliseconds(5):.0f} ms")
    small = np.random.default_rng(0).normal(size=(100, 2))
    whole = min(python_seconds(small, 10, 1.0)[0] for _ in range(1000 * args.tries))
    print(f"herd 10 of 100 x 2: {whole * 1e6:.0f} us for the whole call, the library's work included")
    with tempfile.TemporaryDirectory() as folder:
        large, rust = compare(args.ours, folder, (100_000, 5), 1000, 1.5, args.tries)
        for what, ours, theirs in zip(("wall", "CPU"), large, rust):
            print(
                f"herd 1000 of 100,000 x 5, {what}: {ours:.3f} s, the Rust program {theirs:.3f} s: {ours / theirs:.3f}"
            )


if __name__ == "__main__":
    main()
