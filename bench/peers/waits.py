#!/usr/bin/env python3
"""Whole calls in which a user waits, on one thread unless said, next to what else does such work; the rest is in speed.py and large.py.

    python3 bench/peers/waits.py                everything, on an otherwise idle Linux machine: some minutes
    python3 bench/peers/waits.py --write-docs   the same, and the table in docs/performance.md is rewritten
    python3 bench/peers/waits.py --quick        small inputs, each once: only to see that it works

The runs take turns, and the best of three counts. The environment and the build are those of speed.py.
"""

import argparse
import datetime
import json
import os
import pathlib
import subprocess
import tempfile
import time

from speed import HERE, PYTHON, ROOT, build, json_of, machine, make_environment, peak_of, run, say
from speed_tables import figure

BEGIN, END = "<!-- waits:begin (written by bench/peers/waits.py --write-docs) -->", "<!-- waits:end -->"
MAKE = """
import sys
import numpy as np
kind, n, d, path = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
np.save(path, np.random.default_rng(n + d).normal(size=(n, d)).astype(kind))
"""
EIGH = """
import json, sys, time
import numpy as np
x = np.load(sys.argv[1])
start = time.perf_counter()
np.linalg.eigh(np.corrcoef(x.T))
print(json.dumps({"seconds": time.perf_counter() - start}))
"""


def best(repeats, **programs):
    """The fastest run of each program; they take turns."""
    runs = [{name: work() for name, work in programs.items()} for _ in range(repeats)]
    return {name: min((each[name] for each in runs), key=lambda result: result["seconds"]) for name in programs}


class Waits:
    def __init__(self, binaries, folder, args):
        self.command, self.folder = binaries / "supersample", folder
        self.repeats, self.small = (1, 20) if args.quick else (3, 1)

    def file(self, kind, n, d):
        path = self.folder / f"{kind}-{n}-{d}.npy"
        if not path.exists():
            run([PYTHON, "-c", MAKE, kind, n, d, path])
        return path

    def whole(self, verb, path, number, *flags):
        """One run of the command, from the file to the rows."""
        words = [self.command, verb, path, "-n", number, *flags, "--threads", 1, "-q", "-o", self.folder / "chosen.npy"]
        start = time.perf_counter()
        process = subprocess.Popen([str(word) for word in words], stderr=subprocess.PIPE, text=True)
        peak = peak_of(process)
        if process.returncode != 0:
            raise SystemExit(f"{' '.join(map(str, words))} failed:\n{process.stderr.read()}")
        return {"seconds": time.perf_counter() - start, "peak_bytes": peak}

    def more(self, n):
        """1,000 rows more after 1,010."""
        path, n = self.file("f8", n // self.small, 5), n // self.small

        def more(precision):
            def fastest(number):
                runs = [self.whole("herd", path, number, "--precision", precision) for _ in range(self.repeats)]
                return min(result["seconds"] for result in runs)

            return lambda: {"seconds": fastest(2010) - fastest(1010)}

        found = best(self.repeats, ours=more("mixed"), peer=more("double"))
        return [f"herd 1,000 rows more after 1,010, {n:,} × 5", found, "in double precision"]

    def wide(self):
        n, number = 50_000 // self.small, 200
        path = self.file("f4", n, 384)
        numpy = [PYTHON, HERE / "herd_numpy.py", path, "--bandwidth", 20, "--number", number, "--form", "tuned",
                 "--picks", self.folder / "numpy.txt"]
        found = best(self.repeats, ours=lambda: self.whole("thin", path, number), peer=lambda: json_of(numpy))
        return [f"thin {n:,} × 384 f32 to {number}", found, "NumPy, tuned, herding alone"]

    def whitened(self, verb):
        columns = 2000 // self.small
        path = self.file("f8", 200, columns)
        found = best(self.repeats, ours=lambda: self.whole(verb, path, 50, "--scale", "pca"),
                     peer=lambda: json_of([PYTHON, "-c", EIGH, path]))
        return [f"{verb} 200 × {columns:,} to 50, `--scale pca`", found, "numpy.linalg.eigh alone"]

    def all(self):
        yield self.more(20_000)
        yield self.more(80_000)
        yield self.wide()
        yield self.whitened("herd")
        yield self.whitened("thin")


def table(results):
    of = results["machine"]
    lines = [f"{results['date']}, {of['cpu']}, one thread, supersample at {of['commit']}, NumPy {of['versions']['numpy']}; best of "
             f"{results['repeats']}. Load average before {results['load_before']:.1f}, after {results['load_after']:.1f}.", "",
             "| call | seconds | peak memory | for comparison | seconds | peak memory |", "|---" * 6 + "|"]

    def memory(result):
        return f"{result['peak_bytes'] / 2**20:,.0f} MiB" if "peak_bytes" in result else ""

    for name, found, peer in results["calls"]:
        cells = [name, figure(found["ours"]["seconds"]), memory(found["ours"]), peer, figure(found["peer"]["seconds"]),
                 memory(found["peer"])]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small inputs, each once")
    parser.add_argument("--write-docs", action="store_true", help="put the table into docs/performance.md")
    args = parser.parse_args()
    if args.quick and args.write_docs:
        parser.error("--write-docs needs a whole run")
    make_environment()
    binaries, load = build(), os.getloadavg()[0]
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])
    for variable in ("RAYON_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = "1"
    os.environ.pop("SUPERSAMPLE_ISA", None)
    with tempfile.TemporaryDirectory() as folder:
        waits = Waits(binaries, pathlib.Path(folder), args)
        calls = []
        for call in waits.all():
            say(call[0], {who: result["seconds"] for who, result in call[1].items()})
            calls.append(call)
    results = {"date": datetime.date.today().isoformat(), "machine": machine(1), "repeats": waits.repeats, "calls": calls,
               "load_before": load, "load_after": os.getloadavg()[0]}
    print(table(results))
    if args.write_docs:
        page = ROOT / "docs" / "performance.md"
        before, rest = page.read_text().split(BEGIN)
        page.write_text(f"{before}{BEGIN}\n{table(results)}{END}{rest.split(END)[1]}")


if __name__ == "__main__":
    main()
