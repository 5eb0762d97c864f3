#!/usr/bin/env python3
"""A million rows and more: us beside those who go that far, one shape at a time. Time, peak memory, and the MMD by mmd.py.

    python3 bench/peers/large.py F            10⁶ × 5 (G: 10⁶ × 57; H: 10⁶ × 384 in f32; I: 10⁷ × 10, Parquet; J and K: 262,144 × 5 and × 57)
    python3 bench/peers/large.py F --quick    a fiftieth of the rows and a tenth of the points: does the tool work?
    python3 bench/peers/large.py F --exact    and our own herding over all pairs (minutes at F and G, an hour at H, a day at I)
    python3 bench/peers/large.py F --peers Compress++,coreax   random rows and these alone, of those we are compared with
    python3 bench/peers/large.py --table      the tables of the runs so far
    python3 bench/peers/large.py --write-docs the same, into docs/performance.md

Everybody gets the same rows, kernel and number of points and runs in a process of its own. Of us it is the whole command, from
the file to the chosen rows; of the others what lies between the array in memory and the row numbers. Compress++ decides itself
how many points it gives (herd_compress.py says how), so there is a line of ours with that number too.
The environment, build and results are those of speed.py: bench/peers/.venv, cargo, bench/peers/results/large-F.json.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import tempfile
import time

from speed import HERE, PYTHON, RESULTS, ROOT, build, json_of, machine, make_environment, run, say, whole_command
from speed_tables import figure

SHAPES = {
    "F": {"kind": "mixture", "n": 1_000_000, "d": 5, "bandwidth": 1.5, "T": 1000},
    "G": {"kind": "heavy", "n": 1_000_000, "d": 57, "bandwidth": 10.0, "T": 1000},
    "H": {"kind": "embedding", "n": 1_000_000, "d": 384, "bandwidth": 1.0, "T": 500, "single": True},
    "I": {"kind": "mixture", "n": 10_000_000, "d": 10, "bandwidth": 3.0, "T": 1000, "parquet": True, "memory": "1G"},
    # As many rows as Compress++ takes without leaving any out, and as many as it gives.
    "J": {"kind": "mixture", "n": 262_144, "d": 5, "bandwidth": 1.5, "T": 512},
    "K": {"kind": "heavy", "n": 262_144, "d": 57, "bandwidth": 10.0, "T": 512},
}
TITLES = {"F": "mixture of ten normals", "G": "white, heavy-tailed", "H": "like text embeddings, f32", "I": "Parquet, 1 GiB",
          "J": "mixture of ten normals", "K": "white, heavy-tailed"}
OURS = {"herd": ["herd"], "thin": ["thin"]}
PEERS = {
    "Compress++": ["herd_compress.py"],
    "coreax, MapReduce": ["herd_mapreduce.py"],
    "MiniBatchKMeans": ["herd_kmeans.py"],
    "random rows": ["herd_random.py"],
}
#: coreax's MapReduce herds leaves of so many rows one after the other, over an hour in all at H and I.
TOO_SLOW = {("H", "coreax, MapReduce"), ("I", "coreax, MapReduce")}
#: A peer that takes longer is stopped, and the table says so.
LIMIT = 3600.0


def ours(command, name, shape, folder, verb, flags, number=None):
    """The whole command, from the file to the chosen rows."""
    ending, number = "parquet" if shape.get("parquet") else "npy", number or shape["T"]
    label = "-".join([verb, str(number), *(flag.strip("-") for flag in flags)])
    memory = ["--max-memory", shape["memory"]] if "memory" in shape else []
    points, rows = folder / f"{name}.{ending}", folder / f"{name}-{label}.txt"
    return whole_command(command, verb, points, rows, number, shape["bandwidth"], [*memory, *flags])


def peer(name, shape, folder, who):
    picks = folder / f"{name}-{who.replace(' ', '-')}.txt"
    program, *flags = PEERS[who]
    words = [PYTHON, HERE / program, folder / f"{name}.npy", "--bandwidth", shape["bandwidth"], "--number", shape["T"],
             "--picks", picks, *flags]
    try:
        return json_of(words, timeout=LIMIT) | {"picks": str(picks)}
    except subprocess.TimeoutExpired:
        return None


def measure(name, args):
    threads = len(os.sched_getaffinity(0)) if args.threads is None else args.threads
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    for variable in ("RAYON_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = str(threads)
    os.environ.pop("SUPERSAMPLE_ISA", None)
    os.environ["JAX_PLATFORMS"] = "cpu"
    make_environment()
    command = build() / "supersample"
    shape = dict(SHAPES[name])
    if args.quick:
        shape["n"], shape["T"] = shape["n"] // 50, shape["T"] // 10
        shape |= {"memory": "60M"} if "memory" in shape else {}
    results = {"date": time.strftime("%Y-%m-%d"), "quick": args.quick, "machine": machine(threads),
               "load_before": os.getloadavg()[0], "shape": shape}
    with tempfile.TemporaryDirectory(prefix="supersample-large-", dir=args.folder) as folder:
        folder = pathlib.Path(folder)
        (folder / "shapes.json").write_text(json.dumps({name: shape}))
        say(f"{name}: n={shape['n']} d={shape['d']} T={shape['T']}")
        run([PYTHON, HERE / "inputs.py", folder, folder / "shapes.json"])
        found = {}
        for verb in OURS:
            found[f"supersample {verb}"] = ours(command, name, shape, folder, verb, [])
            say(f"  {verb}: {found[f'supersample {verb}']['seconds']:.2f} s")
        if args.exact:
            found["supersample herd, all pairs"] = ours(command, name, shape, folder, "herd", ["--embedding", "exact"])
        for who in PEERS:
            named = "random rows," + (args.peers or "")
            is_wanted = args.peers is None or any(word and word in who for word in map(str.strip, named.split(",")))
            if not is_wanted or ((name, who) in TOO_SLOW and not args.quick):
                continue
            found[who] = peer(name, shape, folder, who)
            say(f"  {who}: " + (f"{found[who]['seconds']:.2f} s" if found[who] else f"more than {LIMIT:.0f} s"))
        compressed = found.get("Compress++")
        given = len(pathlib.Path(compressed["picks"]).read_text().split()) if compressed else shape["T"]
        if given != shape["T"]:
            found[f"supersample thin, {given:,} points"] = ours(command, name, shape, folder, "thin", [], given)
        done = {who: result for who, result in found.items() if result}
        norm = [] if args.quick else ["--estimate-norm"]
        judged = json_of([PYTHON, HERE / "mmd.py", folder / f"{name}.npy", *(result["picks"] for result in done.values()),
                          "--bandwidth", shape["bandwidth"], *norm])
        for result, reached in zip(done.values(), judged["picks"]):
            result["points"] = len(pathlib.Path(result.pop("picks")).read_text().split())
            result |= reached
    results |= {"peers": found, "squared_norm": judged["squared_norm"],
                "squared_norm_error": judged["squared_norm_error"], "load_after": os.getloadavg()[0]}
    return results


def table(name, results):
    shape, peers = results["shape"], results["peers"]
    machine_of, fastest = results["machine"], peers["supersample herd"]["seconds"]
    trial = " **A trial with small inputs: the figures mean nothing.**" if results["quick"] else ""
    lines = [f"### {name}: n={shape['n']:,}, d={shape['d']}, ℓ={shape['bandwidth']:g}, T={shape['T']:,} ({TITLES[name]})", "",
             f"{results['date']}, {machine_of['cpu']}, {machine_of['threads']} threads, supersample at {machine_of['commit']}; "
             f"load average before {results['load_before']:.1f}, after {results['load_after']:.1f}.{trial}", "",
             "| | seconds | times ours (herd) | points | MMD | of random rows' | peak memory |", "|---" * 7 + "|"]
    random = peers["random rows"]["mmd"]
    for who, result in peers.items():
        if result is None:
            lines.append(f"| {who} | more than {LIMIT:.0f} | | | | | |")
            continue
        cells = [who, figure(result["seconds"]), figure(result["seconds"] / fastest) + "×", f"{result['points']:,}",
                 f"{result['mmd']:.5f}", figure(result["mmd"] / random), f"{result['peak_bytes'] / 2**20:,.0f} MiB"]
        lines.append("| " + " | ".join(cells) + " |")
    for who in TOO_SLOW:
        if who[0] == name and who[1] not in peers:
            lines.append(f"| {who[1]} | not run: over an hour | | | | | |")
    error = results["squared_norm_error"]
    lines += ["", f"‖μ‖² = {results['squared_norm']:.8f}"
              + (f" ± {error:.1e} (estimated by mmd.py), the same for all." if error else " (all pairs, by mmd.py)."), ""]
    return "\n".join(lines)


def write_docs():
    """Replaces the tables of docs/performance.md, each from its heading to the line of ‖μ‖²."""
    page = ROOT / "docs" / "performance.md"
    text = page.read_text()
    for name in SHAPES:
        path = RESULTS / f"large-{name}.json"
        if path.exists():
            found = re.compile(rf"### {name}: .*?\n‖μ‖² = [^\n]*\n", re.DOTALL)
            text = found.sub(lambda _: table(name, json.loads(path.read_text())), text)
    page.write_text(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shape", nargs="?", choices=[*SHAPES], help="one of " + ", ".join(SHAPES))
    parser.add_argument("--quick", action="store_true", help="small inputs")
    parser.add_argument("--exact", action="store_true", help="our own herding over all pairs as well")
    parser.add_argument("--peers", help="beside random rows only those whose names have one of these: Compress++,coreax,MiniBatchKMeans")
    parser.add_argument("--threads", type=int, help="for everybody (default: all cores this process may use)")
    parser.add_argument("--folder", help="for the inputs, up to 3 GB (default: the system's for temporary files)")
    parser.add_argument("--table", action="store_true", help="print the tables of the runs so far")
    parser.add_argument("--write-docs", action="store_true", help="write the tables of the runs so far into docs/performance.md")
    args = parser.parse_args()
    if (args.table or args.write_docs) == (args.shape is not None):
        parser.error("name one shape, or ask for the --table or to --write-docs")
    RESULTS.mkdir(exist_ok=True)
    if args.shape:
        results = measure(args.shape, args)
        name = f"large-{args.shape}{'-trial' if args.quick else ''}.json"
        (RESULTS / name).write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")
        print(table(args.shape, results))
        return
    if args.write_docs:
        return write_docs()
    for name in SHAPES:
        path = RESULTS / f"large-{name}.json"
        if path.exists():
            print(table(name, json.loads(path.read_text())))


if __name__ == "__main__":
    main()
