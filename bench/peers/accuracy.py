"""Us and kernel thinning on the same draws with the same kernel: MMD, and the errors that a smaller MMD may hide.

    bench/peers/setup.sh
    cargo build --release -p bench-ours --bin compress
    bench/peers/.venv/bin/python bench/peers/accuracy.py [FOLDER] [--sizes 25,100,156,500] [--search 3,40] [--out FOLDER]

FOLDER holds CSV files of draws, each with a header; columns named chain and draw are ids (default
../shared/data/posteriordb beside the repository). Columns are scaled to unit variance and the kernel is
exp(-r^2/(2 l^2)) with l the median distance, as our side computes it. goodpoints gets the kernel matrix itself, in
double precision, so the same kernel to rounding (its own Gaussian is exp(-r^2/l2): l2 would be 2 l^2), as swap kernel,
and as split kernel either the same or its square root exp(-r^2/l^2), whichever gives it the smaller MMD; distinct rows,
the mean of seeds 0, 1, 2. It halves, so its sizes are n/2^m: it appears only at a size that
is one. Random is the mean of 20 draws without replacement. All MMDs are computed here, from the rows alone.
"""

import argparse
import json
import math
import pathlib
import subprocess

import numpy as np
from goodpoints import kt

ROOT = pathlib.Path(__file__).resolve().parents[2]
QUANTILES = [0.05, 0.25, 0.5, 0.75, 0.95]


def load(path):
    names = path.open().readline().strip().split(",")
    kept = [i for i, name in enumerate(names) if name not in ("chain", "draw")]
    x = np.loadtxt(path, delimiter=",", skiprows=1, usecols=kept, ndmin=2)
    return (x - x.mean(0)) / x.std(0)


def gram(x, ell):
    squares = (x**2).sum(1)
    k = x @ x.T
    k *= 2
    k -= squares[:, None]
    k -= squares[None, :]
    np.minimum(k, 0, out=k)
    k /= 2 * ell * ell
    return np.exp(k, out=k)


class Scores:
    """The MMD of rows, and their errors of means, sds and quantiles in units of the sd (which is 1)."""

    def __init__(self, x, k):
        self.x, self.k, self.mu = x, k, k.mean(1)
        self.norm = self.mu.mean()
        self.quantiles = np.quantile(x, QUANTILES, axis=0, method="hazen")

    def __call__(self, rows):
        part = self.x[rows]
        squared = self.norm - 2 * self.mu[rows].mean() + self.k[np.ix_(rows, rows)].mean()
        rms = lambda errors: float(np.sqrt((np.asarray(errors) ** 2).mean()))
        quantiles = np.quantile(part, QUANTILES, axis=0, method="hazen")
        return {
            "mmd": float(np.sqrt(max(squared, 0.0))),
            "mean": rms(part.mean(0)),
            "sd": rms(part.std(0) - 1),
            "quantile": rms(quantiles - self.quantiles),
        }


def average(scores):
    return {key: float(np.mean([score[key] for score in scores])) for key in scores[0]}


def ours(path, size, searches):
    program = ROOT / "target/release/compress"
    if not program.exists():
        raise SystemExit(f"{program} is missing: cargo build --release -p bench-ours --bin compress")
    done = subprocess.run([program, path, str(size), *searches], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{path.name}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def compare(path, sizes, searches):
    x = load(path)
    n, results, scores, k = len(x), [], None, None
    for size in sizes:
        run = ours(path, size, searches)
        if scores is None:
            k = gram(x, run["bandwidth"])
            scores = Scores(x, k)
        random = [np.random.default_rng(seed).choice(n, size, replace=False) for seed in range(20)]
        methods = {"random": average([scores(rows) for rows in random])}
        halvings = [m for m in range(1, 20) if n // 2**m == size]
        if halvings:
            variants = {}
            for name, split in (("target split", k), ("root split", k**2)):
                thinned = [kt.thin_K(split, k, halvings[0], seed=seed, unique=True) for seed in range(3)]
                assert all(len(set(rows.tolist())) == size for rows in thinned)
                variants[name] = average([scores(rows) for rows in thinned])
            best = min(variants, key=lambda name: variants[name]["mmd"])
            methods["kernel thinning"] = variants[best] | {"variant": best}
        for name in ["herded", "refined"] + [f"searched {sweeps}" for sweeps in searches]:
            rows = np.array(run[name]["rows"])
            methods[name] = scores(rows)
            # Two independent computations of the same number; the difference of near-equal numbers costs digits.
            assert abs(methods[name]["mmd"] - run[name]["mmd"]) < 1e-6, (path, name)
            if name != "herded":
                assert len(set(rows.tolist())) == size
                methods[name].update(
                    kernel_rows=run[name]["kernel_rows"], sweeps=run[name]["sweeps"], seconds=run[name]["seconds"]
                )
        results.append({"file": path.stem, "n": n, "dim": x.shape[1], "size": size, "bandwidth": run["bandwidth"],
                        "methods": methods})
        print(path.stem, size, {name: round(score["mmd"], 5) for name, score in methods.items()}, flush=True)
    return results


def geometric(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def tables(results, sizes):
    lines = []
    for size in sizes:
        rows = [result for result in results if result["size"] == size]
        shown = list(rows[0]["methods"])
        for key, title in (("mmd", "MMD"), ("mean", "RMS error of the means"), ("sd", "RMS error of the sds"),
                           ("quantile", "RMS error of the 5, 25, 50, 75 and 95 % quantiles")):
            lines += [f"### T = {size}: {title}", "", "| posterior (d) | " + " | ".join(shown) + " |",
                      "|---" * (len(shown) + 1) + "|"]
            for result in rows:
                cells = [f"{result['methods'][name][key]:.5f}" for name in shown]
                lines.append(f"| {result['file']} ({result['dim']}) | " + " | ".join(cells) + " |")
            base = "kernel thinning" if "kernel thinning" in shown else "herded"
            ratios = {name: [r["methods"][name][key] / r["methods"][base][key] for r in rows] for name in shown}
            for label, fold in (("geometric mean", geometric), ("largest", max)):
                lines.append(f"| {label} of the ratio to {base} | "
                             + " | ".join(f"{fold(ratios[name]):.3f}" for name in shown) + " |")
            lines.append("")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=pathlib.Path, default=ROOT.parent / "shared/data/posteriordb")
    parser.add_argument("--sizes", default="156,25,100,500")
    parser.add_argument("--search", default="3,40", help="numbers of annealed sweeps")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "bench/peers/out")
    arguments = parser.parse_args()
    files = sorted(arguments.folder.glob("*.csv"))
    if not files:
        raise SystemExit(f"{arguments.folder} has no CSV files")
    sizes = [int(size) for size in arguments.sizes.split(",")]
    searches = arguments.search.split(",")
    results = [result for path in files for result in compare(path, sizes, searches)]
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "accuracy.json").write_text(json.dumps(results, indent=1))
    table = tables(results, sizes)
    (arguments.out / "accuracy.md").write_text(table)
    print(table)


if __name__ == "__main__":
    main()
