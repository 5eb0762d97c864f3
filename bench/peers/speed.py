#!/usr/bin/env python3
"""Us and the peers on the same inputs in one go: time, MMD reached, peak memory, and the machine's own ceilings.

    python3 bench/peers/speed.py                 everything; needs about a quarter of an hour of an idle machine
    python3 bench/peers/speed.py --quick         small inputs, each once: does the tool work?
    python3 bench/peers/speed.py --write-docs    and put the tables into docs/performance.md and README.md
    python3 bench/peers/speed.py --docs-only     the tables of the last run, without running anything

Makes bench/peers/.venv with the versions pinned in requirements.txt (once), builds our side with cargo, writes the inputs
to a temporary folder, runs everybody in turn, each in a process of its own, and saves bench/peers/results/speed.json and
speed.md. docs/performance.md says what is measured and how. Linux; Python 3.10 or later, its standard library alone.
"""

import argparse
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile
import time

from speed_tables import long_table, short_table, write_between_markers

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
VENV = HERE / ".venv"
PYTHON = VENV / "bin/python"
RESULTS = HERE / "results"

SHAPES = {
    "A": {"kind": "mixture", "n": 100_000, "d": 5, "bandwidth": 1.5, "T": 1000},
    "B": {"kind": "heavy", "n": 100_000, "d": 57, "bandwidth": 10.0, "T": 1000},
    "C": {"kind": "mixture", "n": 10_000, "d": 2, "bandwidth": 1.0, "T": 1000},
    "D": {"kind": "mixture", "n": 1_000_000, "d": 2, "bandwidth": 1.0, "T": 100},
    "E": {"kind": "mixture", "n": 10_000, "d": 5, "T": 100, "csv": True},
}
QUICK = {"A": (20_000, 100), "B": (20_000, 100), "C": (2_000, 100), "D": (40_000, 20), "E": (2_000, 20)}

# Who runs where. The n² of coreax and NumPy take an hour at D, goodpoints' and scikit-learn's several minutes at A.
PEERS = {
    "A": ["ours", "coreax, compiled", "NumPy", "NumPy, blocked", "NumPy, tuned"],
    "B": ["ours", "coreax, compiled", "NumPy", "NumPy, blocked", "NumPy, tuned"],
    "C": ["ours", "coreax", "coreax, compiled", "NumPy", "NumPy, blocked", "NumPy, tuned", "scikit-learn", "goodpoints"],
    "D": ["ours", "ours, all pairs"],
}
PROGRAMS = {
    "coreax": ["herd_coreax.py"],
    "coreax, compiled": ["herd_coreax.py", "--compiled"],
    "NumPy": ["herd_numpy.py"],
    "NumPy, blocked": ["herd_numpy.py", "--form", "blocked"],
    "NumPy, tuned": ["herd_numpy.py", "--form", "tuned"],
    "scikit-learn": ["herd_sklearn.py"],
    "goodpoints": ["herd_goodpoints.py"],
}


SLOW = ("coreax, compiled", "NumPy", "NumPy, blocked")


def say(*words):
    print(*words, file=sys.stderr, flush=True)


def run(command, **options):
    """The stdout of a command; its stderr and ours when it fails."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, cwd=ROOT, **options)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def json_of(command, **options):
    return json.loads(run(command, **options).strip().splitlines()[-1])


def make_environment():
    wanted = (HERE / "requirements.txt").read_text()
    stamp = VENV / "installed.txt"
    if stamp.exists() and stamp.read_text() == wanted:
        return
    say(f"making {VENV.relative_to(ROOT)} (once)")
    run([sys.executable, "-m", "venv", VENV])
    run([PYTHON, "-m", "pip", "install", "--quiet", "--requirement", HERE / "requirements.txt"])
    stamp.write_text(wanted)


def build():
    say("building our side")
    run(["cargo", "build", "--release", "--locked", "-p", "bench-ours", "-p", "supersample-cli"])
    described = run(["cargo", "metadata", "--format-version", "1", "--no-deps", "--locked"])
    folder = pathlib.Path(json.loads(described)["target_directory"]) / "release"
    check_inlined(folder / "bench-ours")
    return folder


def check_inlined(program):
    """Refuses a build in which an operation on vectors is a function of its own: an inner loop was compiled without the
    instruction set around it, and takes several times as long."""
    if shutil.which("nm") is None:
        say("nm is not there: whether all inner loops are inlined is not known")
        return
    names = [line.split()[-1] for line in run(["nm", program]).splitlines() if "__fearless_simd_kernel" in line]
    if names:
        raise SystemExit(f"{program.name} has {len(names)} vector operations out of line, the first {names[0]}")


def cpu_model():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor() or "unknown"


def machine(threads):
    names = [line.split("==")[0] for line in (HERE / "requirements.txt").read_text().split()]
    code = "import importlib.metadata as m, json, sys; print(json.dumps({n: m.version(n) for n in sys.argv[1:]}))"
    git = lambda *words: subprocess.run(["git", *words], capture_output=True, text=True, cwd=ROOT).stdout.strip()
    changed = [line for line in git("status", "--porcelain").splitlines() if "bench/peers/results" not in line]
    return {
        "cpu": cpu_model(),
        "threads": threads,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "rustc": run(["rustc", "--version"]).split()[1],
        "commit": git("rev-parse", "--short", "HEAD") + (" with changes" if changed else ""),
        "versions": json_of([PYTHON, "-c", code, *names]),
    }


def peak_of(process):
    """Waits for a process; the most memory that it had resident, as the kernel counts it."""
    peak, status = 0, pathlib.Path(f"/proc/{process.pid}/status")
    while process.poll() is None:
        try:
            lines = status.read_text().splitlines()
            peak = max([peak, *(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))])
        except OSError:
            pass
        time.sleep(0.01)
    return peak


def whole_command(command, verb, points, rows, number, bandwidth, flags=()):
    """One run of the command, from the file to the row numbers, with the report that it writes."""
    out, summary = rows.with_suffix(points.suffix), rows.with_suffix(".json")
    words = [command, verb, points, "-n", number, "--bandwidth", bandwidth, "--scale", "none", "-q", "-o", out, "--indices", rows,
             "--json", summary, *flags]
    start = time.perf_counter()
    process = subprocess.Popen([str(word) for word in words], stderr=subprocess.PIPE, text=True)
    peak = peak_of(process)
    seconds = time.perf_counter() - start
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, words))} failed:\n{process.stderr.read()}")
    report = json.loads(summary.read_text())
    return {"seconds": seconds, "peak_bytes": peak, "mmd": report["result"]["mmd"], "picks": str(rows)}


class Runner:
    def __init__(self, binaries, folder):
        self.ours, self.command = binaries / "bench-ours", binaries / "supersample"
        self.folder = folder

    def file(self, name):
        return self.folder / f"{name}.npy"

    def herd(self, name, shape, peer):
        """One process of one peer. C is where coreax's second call in the same process is asked for."""
        picks = self.folder / f"{name}-{peer}.txt"
        task = [self.file(name), "--bandwidth", shape["bandwidth"], "--number", shape["T"], "--picks", picks]
        if (name, peer) == ("D", "ours"):
            return whole_command(self.command, "herd", self.file(name), picks, shape["T"], shape["bandwidth"])
        if peer.startswith("ours"):
            return json_of([self.ours, "herd", *task])
        calls = 2 if (name, peer) == ("C", "coreax") else 1
        program, *flags = PROGRAMS[peer]
        return json_of([PYTHON, HERE / program, *task, "--calls", calls, *flags])

    def shape(self, name, shape, repeats, slow_repeats):
        """Everybody in turn, round after round; then one routine for everybody's MMD."""
        runs = {peer: [] for peer in PEERS[name]}
        slow = name in "AB"
        for turn in range(repeats):
            for peer in runs:
                if turn < (slow_repeats if slow and peer in SLOW else repeats):
                    runs[peer].append(self.herd(name, shape, peer))
                    say(f"  {name} {peer}: {runs[peer][-1]['seconds']:.3f} s")
        picks = [self.folder / f"{name}-{peer}.txt" for peer in runs]
        norm, norm_by = self.squared_norm(name, shape, runs)
        given = [] if norm is None else ["--squared-norm", norm]
        check = json_of([PYTHON, HERE / "mmd.py", self.file(name), *picks, "--bandwidth", shape["bandwidth"], *given])
        peers = {}
        for (peer, all_runs), reached in zip(runs.items(), check["picks"]):
            best = dict(min(all_runs, key=lambda run: run["seconds"]))
            best.pop("picks", None)
            best["claimed_mmd"] = best.pop("mmd", None)
            best |= reached
            best["runs"] = [run["seconds"] for run in all_runs]
            best["peak_bytes"] = max(run["peak_bytes"] for run in all_runs)
            peers[peer] = best
        self.check(name, shape, peers, check["squared_norm"])
        input_bytes = shape["n"] * shape["d"] * 8
        return shape | {"input_bytes": input_bytes, "peers": peers, "squared_norm": check["squared_norm"],
                        "squared_norm_by": norm_by}

    def squared_norm(self, name, shape, runs):
        """‖μ‖², the same for everybody, and who computed it: n² kernel values, so mmd.py's own only where n is small."""
        if name == "C":
            return None, "NumPy in f64"
        if name == "D":
            return runs["ours, all pairs"][0]["squared_norm"], "our mixed sums"
        norm = json_of([self.ours, "norm", self.file(name), "--bandwidth", shape["bandwidth"]])
        return norm["squared_norm"], "our f64 sums"

    def check(self, name, shape, peers, norm):
        """Nobody wins by being wrong: all reach the same MMD, ours says its own right, and ‖μ‖² is confirmed."""
        ours = peers["ours"]
        problems = []
        if abs(ours["claimed_mmd"] / ours["mmd"] - 1) > 1e-3:
            problems.append(f"we claim an MMD of {ours['claimed_mmd']}, it is {ours['mmd']}")
        for peer, result in peers.items():
            # The level, since rounding breaks near-ties differently and the MMD at one T is up or down by a tenth.
            # At D two of our own runs are compared, of other pools: landmarks choose from 200,000 rows.
            if abs(result["mmd_level"] / ours["mmd_level"] - 1) > (0.15 if name == "D" else 0.05):
                problems.append(f"{peer} is at an MMD of about {result['mmd_level']}, we at {ours['mmd_level']}")
            if "squared_norm" in result and abs(result["squared_norm"] / norm - 1) > 2e-6:
                problems.append(f"{peer} has a squared norm of {result['squared_norm']}, not {norm}")
        shape["problems"] = problems
        for problem in problems:
            say(f"  {name}: {problem}")

    def cold(self, shape, repeats):
        """E: the whole command, from the shell's point of view."""
        table, number = self.folder / "E.csv", shape["T"]
        outs = {"ours": self.folder / "E-ours.csv", "coreax": self.folder / "E-coreax.csv"}
        commands = {
            "ours": [self.command, "herd", table, "-n", number, "-q", "-o", outs["ours"]],
            "coreax": [PYTHON, HERE / "csv_coreax.py", table, number, outs["coreax"]],
        }
        times = {peer: [] for peer in commands}
        for _ in range(repeats):
            for peer, command in commands.items():
                start = time.perf_counter()
                run(command)
                times[peer].append(time.perf_counter() - start)
                say(f"  E {peer}: {times[peer][-1]:.3f} s")
        check = json_of([PYTHON, HERE / "mmd.py", self.file("E"), "--standardise", *outs.values()])
        peers = {peer: {"seconds": min(runs), "runs": runs} | reached
                 for (peer, runs), reached in zip(times.items(), check["picks"])}
        problems = []
        # Each takes the median of its own subsample as bandwidth, off by a percent or so: other picks, a similar MMD.
        levels = {peer: result["mmd_level"] for peer, result in peers.items()}
        if not 0.75 < levels["ours"] / levels["coreax"] < 1.33:
            problems.append(f"we are at an MMD of about {levels['ours']}, coreax at {levels['coreax']}")
        return shape | {"peers": peers, "problems": problems, "squared_norm": check["squared_norm"],
                        "squared_norm_by": "NumPy in f64", "bandwidth": check["bandwidth"]}

    def scaling(self, shape, repeats):
        """Twice the rows (the embedding), twice the picks (the pick loop); shape A."""
        herd = [self.ours, "herd", self.file("A"), "--bandwidth", shape["bandwidth"]]
        cases = {
            "half_n": ["--rows", shape["n"] // 2, "--number", 1],
            "full_n": ["--number", 1],
            "T": ["--number", shape["T"]],
            "twice_T": ["--number", 2 * shape["T"]],
        }
        keys = {"half_n": "embedding_seconds", "full_n": "embedding_seconds", "T": "picks_seconds",
                "twice_T": "picks_seconds"}
        best = {case: float("inf") for case in cases}
        for _ in range(repeats):
            for case, flags in cases.items():
                best[case] = min(best[case], json_of([*herd, *flags])[keys[case]])
        return best | {"n_ratio": best["full_n"] / best["half_n"], "T_ratio": best["twice_T"] / best["T"]}


    def refinement(self, shape, repeats):
        """Sweeps of swaps until none helps, beside the embedding they follow, and a search after them; shape A."""
        thin = [self.ours, "thin", self.file("A"), "--bandwidth", shape["bandwidth"], "--number", shape["T"]]
        best = {}
        for name, flags in {"sweeps": [], "search": ["--search", 3]}.items():
            runs = [json_of([*thin, *flags]) for _ in range(repeats)]
            best[name] = min(runs, key=lambda run: run["refinement_seconds"])
            best[name]["embedding_seconds"] = min(run["embedding_seconds"] for run in runs)
        return best


def share_of_floor(shape, ceilings):
    """Which part of the time that the ceilings allow the embedding takes; by the clock, and by processor time."""
    def share(fma, exp, seconds):
        pairs = shape["n"] ** 2 / 2
        floor = pairs * (shape["d"] / fma + 1 / exp)
        return {"floor_seconds": floor, "embedding_seconds": seconds, "share": floor / seconds}

    ours = shape["peers"]["ours"]
    by_clock = share(ceilings["fma_per_second"], ceilings["exp_per_second"], ours["embedding_seconds"])
    if ceilings["fma_per_second_by_cpu"] and ours["embedding_cpu_seconds"]:
        by_cpu = share(ceilings["fma_per_second_by_cpu"], ceilings["exp_per_second_by_cpu"],
                       ours["embedding_cpu_seconds"] / ours["threads"])
        by_clock["share_by_cpu"] = by_cpu["share"]
    return by_clock


def bars(results):
    """What we ask of ourselves, and whether this run shows it."""
    shapes = results["shapes"]
    rows = []

    def bar(text, value, limit, at_least=True):
        rows.append({"bar": text, "value": value, "limit": limit, "at_least": at_least,
                     "reached": value >= limit if at_least else value <= limit})

    for name, peer, limit in [("A", "coreax, compiled", 40), ("A", "NumPy", 30),
                              ("B", "coreax, compiled", 12), ("B", "NumPy", 6),
                              ("C", "coreax", 30), ("E", "coreax", 50)]:
        if name in shapes:
            peers = shapes[name]["peers"]
            second = "'s second call" if name == "C" else ""
            bar(f"{name}: times as fast as {peer}{second}", peers[peer]["seconds"] / peers["ours"]["seconds"], limit)
    for name in "AB":
        if name in shapes:
            bar(f"{name}: share of the floor", results["floor"][name]["share"], 0.70)
            peak = shapes[name]["peers"]["ours"]["peak_bytes"] / shapes[name]["input_bytes"]
            bar(f"{name}: peak memory, times the f64 input", peak, 4.0, at_least=False)
    if "D" in shapes:
        bar("D: peak memory, GiB", shapes["D"]["peers"]["ours"]["peak_bytes"] / 2**30, 1.0, at_least=False)
    if "scaling" in results:
        bar("twice the rows: time of the embedding", results["scaling"]["n_ratio"], 4.3, at_least=False)
        bar("twice the picks: time of the pick loop", results["scaling"]["T_ratio"], 2.1, at_least=False)
        sweeps = results["refinement"]["sweeps"]
        bar("A: sweeps until no swap helps, times the embedding",
            sweeps["sweeps_seconds"] / sweeps["embedding_seconds"], 1.0, at_least=False)
    return rows


def ceilings_of(binaries):
    return json_of([binaries / "bench-ours", "ceilings"])


def faster(a, b):
    """The better rates of two measurements of the ceilings: a busy moment must not flatter us."""
    return {key: max(a[key], b[key]) for key in a}


def measure(args):
    threads = len(os.sched_getaffinity(0)) if args.threads is None else args.threads
    # The same cores for everybody, also for those that do not read the variables below.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    for name in ("RAYON_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(threads)
    os.environ.pop("SUPERSAMPLE_ISA", None)
    os.environ["JAX_PLATFORMS"] = "cpu"

    make_environment()
    binaries = build()
    shapes = {name: dict(SHAPES[name]) for name in args.shapes}
    if args.quick:
        for name, shape in shapes.items():
            shape["n"], shape["T"] = QUICK[name]
    repeats, slow_repeats = (1, 1) if args.quick else (args.repeats, args.slow_repeats)
    results = {"date": time.strftime("%Y-%m-%d"), "quick": args.quick, "repeats": repeats,
               "slow_repeats": slow_repeats, "machine": machine(threads), "load_before": os.getloadavg()[0]}
    start = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="supersample-speed-") as folder:
        folder = pathlib.Path(folder)
        (folder / "shapes.json").write_text(json.dumps(shapes))
        run([PYTHON, HERE / "inputs.py", folder, folder / "shapes.json"])
        runner = Runner(binaries, folder)
        ceilings = ceilings_of(binaries)
        results["shapes"] = {}
        for name, shape in shapes.items():
            say(f"{name}: n={shape['n']} d={shape['d']} T={shape['T']}")
            measured = runner.cold(shape, repeats) if name == "E" else runner.shape(name, shape, repeats, slow_repeats)
            results["shapes"][name] = measured
            ceilings = faster(ceilings, ceilings_of(binaries))
        if "A" in shapes:
            results["scaling"] = runner.scaling(shapes["A"], max(repeats, 2))
            results["refinement"] = runner.refinement(shapes["A"], max(repeats, 2))
    results["ceilings"] = ceilings
    results["floor"] = {name: share_of_floor(results["shapes"][name], ceilings) for name in "AB" if name in shapes}
    results["seconds_in_all"] = time.perf_counter() - start
    results["load_after"] = os.getloadavg()[0]
    results["bars"] = bars(results)
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small inputs, each once")
    parser.add_argument("--shapes", default="ABCDE", help="which of A, B, C, D, E (default: all)")
    parser.add_argument("--threads", type=int, help="for everybody (default: all cores this process may use)")
    parser.add_argument("--repeats", type=int, default=3, help="best of this many")
    parser.add_argument("--slow-repeats", type=int, default=2, help="the same for the peers at A and B")
    parser.add_argument("--write-docs", action="store_true", help="put the tables into the documents")
    parser.add_argument("--docs-only", action="store_true", help="the same from the last results, without a run")
    args = parser.parse_args()
    if not set(args.shapes) <= set(SHAPES):
        parser.error(f"--shapes takes letters of {''.join(SHAPES)}")
    if args.write_docs and (args.quick or set(args.shapes) != set(SHAPES)):
        parser.error("--write-docs needs a whole run")

    if args.docs_only:
        results = json.loads((RESULTS / "speed.json").read_text())
        if results["quick"] or set(results["shapes"]) != set(SHAPES):
            parser.error("the last results are not of a whole run")
    else:
        results = measure(args)
        # A trial does not replace the results that the documents quote.
        name = "speed" if not args.quick and set(args.shapes) == set(SHAPES) else "trial"
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / f"{name}.json").write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")
        (RESULTS / f"{name}.md").write_text(long_table(results))
    print(long_table(results))
    if args.write_docs or args.docs_only:
        write_between_markers(ROOT / "docs/performance.md", long_table(results))
        write_between_markers(ROOT / "README.md", short_table(results))
    problems = [problem for shape in results["shapes"].values() for problem in shape["problems"]]
    if problems:
        raise SystemExit("not all results agree:\n" + "\n".join(problems))


if __name__ == "__main__":
    main()
