"""Reads one large CSV with Supersample's reader and with polars, in turns, and prints times and memory of both.

    cargo build --release -p supersample-io --example read_csv
    python -m pip install polars
    python bench/read_csv.py [rows] [columns] [rounds]

Each round runs both once, each in a process of its own, so that the file is equally warm and neither inherits the other's
memory. The file (about 1 GB for the default 5,000,000 x 10) is made in the temporary folder and removed at the end.
"""

import os
import random
import resource
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
READER = os.path.join(HERE, "..", "target", "release", "examples", "read_csv")
# Polars is timed inside its process, without the start of Python; our reader as a whole process.
POLARS = """
import polars, sys, time
start = time.perf_counter()
frame = polars.read_csv(sys.argv[1])
seconds = time.perf_counter() - start
print(frame.shape, sum(frame.row(-1)), seconds)
"""


def make(path, rows, columns):
    """A file of uniform numbers with all their digits; a block of rows is repeated, which no reader can tell."""
    rng = random.Random(1)
    block = "".join(",".join(repr(rng.gauss(0, 1)) for _ in range(columns)) + "\n" for _ in range(20_000))
    with open(path, "w") as file:
        file.write(",".join(f"x{j}" for j in range(columns)) + "\n")
        for _ in range(rows // 20_000):
            file.write(block)


def run(command):
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    said = process.stdout.read().strip()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    if status:
        sys.exit(f"{command[0]} failed")
    return seconds, usage.ru_maxrss * 1024, said


def main():
    rows, columns, rounds = (int(word) for word in (sys.argv[1:] + ["5000000", "10", "5"][len(sys.argv) - 1 :]))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "draws.csv")
        make(path, rows, columns)
        size, numbers = os.path.getsize(path), rows * columns * 8
        print(f"{rows} x {columns}, {size / 1e9:.2f} GB of text, {numbers / 1e6:.0f} MB of numbers, {os.cpu_count()} cores")
        best = {}
        for _ in range(rounds):
            for name, command in (("supersample", [READER, path]), ("polars", [sys.executable, "-c", POLARS, path])):
                seconds, memory, said = run(command)
                if name == "polars":
                    said, _, inside = said.rpartition(" ")
                    seconds = float(inside)
                best[name] = min(best.get(name, (9e9, 0)), (seconds, memory))
                print(f"{name:12} {seconds:6.2f} s {memory / 1e6:7.0f} MB  {said}")
        ours, theirs = best["supersample"], best["polars"]
        print(f"best of {rounds}: {ours[0] / theirs[0]:.2f} times polars' time; memory {ours[1] / numbers:.2f} times the numbers")


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    main()
