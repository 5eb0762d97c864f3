"""Us, kernel thinning and Compress++ on the same draws with the same kernel: the MMD, and what people report.

    bench/peers/setup.sh
    cargo build --release -p supersample-cli
    bench/peers/.venv/bin/python bench/peers/accuracy.py [FOLDER] [--sizes 156,25,100,500] [--set thin|curve|kernels|search|weights]

FOLDER holds CSV files of draws, each with a header; columns named chain and draw are ids (default
../shared/data/posteriordb beside the repository). Ours are the rows that the command prints, with its defaults but for the
flags in VARIANTS. Everything is judged here, from the rows alone, on columns scaled to unit variance: the MMD of the Gaussian
kernel exp(-r^2/(2 l^2)) with l the median distance that the command reports, whatever kernel chose the rows, and the errors
of distribution functions, means, sds, quantiles and correlations.

goodpoints gets the kernel matrix itself in double precision (its own Gaussian is exp(-r^2/l2): l2 = 2 l^2) as swap kernel, and
as split kernel either the same or its square root exp(-r^2/l^2), whichever gives it the smaller MMD; distinct rows; the mean
of seeds 0, 1, 2. It halves, so that of n rows it can give n/2^m: for other sizes it is given as many evenly spaced rows as
lead there. Compress++ is its Compress to 1,024 rows (of 4,096, as it does itself with 10,000), thinned the same way. What the
peers chose is kept in OUT/peers.json, since it does not depend on us. Random is the mean of 20 draws without replacement.
"""

import argparse
import json
import math
import pathlib
import subprocess
import tempfile

import numpy as np
from goodpoints import compress, kt

ROOT = pathlib.Path(__file__).resolve().parents[2]
QUANTILES = [0.05, 0.25, 0.5, 0.75, 0.95]
MEASURES = {
    "mmd": "MMD",
    "cdf": "distance of the distribution functions, root mean square over the columns",
    "mean": "RMS error of the means",
    "sd": "RMS error of the sds",
    "quantile": "RMS error of the 5, 25, 50, 75 and 95 % quantiles",
    "correlation": "RMS error of the correlations",
}
# The verb and its flags, by the name of the column.
VARIANTS = {
    "thin": {
        "herd": ["herd"],
        "thin, joint alone": ["thin", "--marginals", "0"],
        "thin": ["thin"],
    },
    "curve": {f"W = {w}": ["thin", "--marginals", w] for w in "0 0.05 0.1 0.2 0.3 0.4 0.6 1 2 4".split()},
    "kernels": {
        f"{kernel}{', W = ' + w if w != '0' else ''}": ["thin", "--kernel", kernel, "--marginals", w]
        for w in ("0", "0.4")
        for kernel in ("gaussian", "imq", "energy", "laplace", "matern32")
    },
    "search": {f"search {n}": ["thin", "--search", n] for n in "0 3 40 150 400 1000 2000".split()},
    "weights": {
        "joint alone": ["thin", "--marginals", "0"],
        "joint alone, weighted": ["thin", "--marginals", "0", "--weights", "simplex"],
        "thin": ["thin"],
        "thin, weighted": ["thin", "--weights", "simplex"],
    },
}


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


def middle(sorted_values, cumulated, at):
    """The distribution function, at a jump the middle of it."""
    below, above = (np.searchsorted(sorted_values, at, side) for side in ("left", "right"))
    return (cumulated[below] + cumulated[above]) / 2


def quantiles(x, weights):
    """Where the line through the middles of the steps of the distribution function passes the levels."""
    columns = []
    for column in x.T:
        order = np.argsort(column, kind="stable")
        steps = np.cumsum(weights[order])
        columns.append(np.interp(QUANTILES, (steps - weights[order] / 2) / steps[-1], column[order]))
    return np.array(columns).T


class Judge:
    """The errors of weighted rows, in units of the sd (which is 1)."""

    def __init__(self, x, ell):
        self.x, self.k = x, gram(x, ell)
        self.mu = self.k.mean(1)
        self.norm = self.mu.mean()
        equal = np.full(len(x), 1 / len(x))
        self.quantiles, self.correlation = quantiles(x, equal), self.correlations(x, equal)
        steps = np.arange(len(x) + 1) / len(x)
        self.sorted = np.sort(x, axis=0)
        self.functions = [middle(column, steps, column) for column in self.sorted.T]

    @staticmethod
    def correlations(x, weights):
        centred = x - weights @ x
        covariance = (centred * weights[:, None]).T @ centred
        sd = np.sqrt(np.diag(covariance))
        return (covariance / np.outer(sd, sd))[np.triu_indices(x.shape[1], 1)]

    def __call__(self, rows, weights=None):
        rows = np.asarray(rows)
        weights = np.full(len(rows), 1 / len(rows)) if weights is None else np.asarray(weights)
        part = self.x[rows]
        squared = self.norm - 2 * weights @ self.mu[rows] + weights @ self.k[np.ix_(rows, rows)] @ weights
        distances = []
        for column, function, chosen in zip(self.sorted.T, self.functions, part.T):
            order = np.argsort(chosen, kind="stable")
            steps = np.concatenate([[0], np.cumsum(weights[order])])
            distances.append(((middle(chosen[order], steps, column) - function) ** 2).mean())
        mean = weights @ part
        rms = lambda errors: float(np.sqrt((np.asarray(errors) ** 2).mean()))
        return {
            "mmd": float(np.sqrt(max(squared, 0.0))),
            "cdf": float(np.sqrt(np.mean(distances))),
            "mean": rms(mean),
            "sd": rms(np.sqrt(weights @ (part - mean) ** 2) - 1),
            "quantile": rms(quantiles(part, weights) - self.quantiles),
            "correlation": rms(self.correlations(part, weights) - self.correlation),
        }


def average(scores):
    return {key: float(np.mean([score[key] for score in scores])) for key in scores[0]}


def ours(path, size, flags):
    program = ROOT / "target/release/supersample"
    if not program.exists():
        raise SystemExit(f"{program} is missing: cargo build --release -p supersample-cli")
    with tempfile.TemporaryDirectory() as folder:
        weighted = "--weights" in flags
        rows, table = f"{folder}/rows", f"{folder}/rows.csv"
        command = [program, *flags, path, "-n", size, "--indices", rows, "--json", f"{folder}/json", "-o", table, "-q"]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"{path.name}: {done.stderr.strip()}")
        weights = np.loadtxt(table, delimiter=",", skiprows=1, ndmin=2)[:, -1] if weighted else None
        return np.loadtxt(rows, dtype=int, ndmin=1), weights, json.loads(pathlib.Path(f"{folder}/json").read_text())


class Peers:
    """What the peers choose, kept in a file."""

    def __init__(self, path):
        self.path = path
        self.known = json.loads(path.read_text()) if path.exists() else {}

    def choose(self, file, size, judge, ell):
        key = f"{file} {size} {ell:.9g}"
        if key not in self.known:
            self.known[key] = {
                "kernel thinning, target split": [self.thinned(judge.k, 1, size, seed) for seed in range(3)],
                "kernel thinning, root split": [self.thinned(judge.k, 2, size, seed) for seed in range(3)],
                "Compress++": [self.compressed(judge, ell, size, seed) for seed in range(3)],
            }
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text(json.dumps(self.known))
        found = {name: average([judge(rows) for rows in sets]) for name, sets in self.known[key].items()}
        best = min(list(found)[:2], key=lambda name: found[name]["mmd"])
        return {"kernel thinning": found[best], "Compress++": found["Compress++"]}

    @staticmethod
    def thinned(k, power, size, seed):
        halvings = int(math.log2(len(k) / size))
        rows = np.arange(len(k))
        if len(k) >> halvings != size:
            # From the end, as goodpoints itself does.
            rows = np.linspace(len(k) - 1, 0, size << halvings, dtype=int)[::-1]
            k = np.ascontiguousarray(k[np.ix_(rows, rows)])
        chosen = rows[kt.thin_K(k**power, k, halvings, seed=seed, unique=True)]
        assert len(set(chosen.tolist())) == size
        return chosen.tolist()

    @staticmethod
    def compressed(judge, ell, size, seed):
        coreset = compress.compress_kt(judge.x, b"gaussian", np.array([2 * ell * ell]), g=4, num_bins=1, seed=seed)
        within = np.ascontiguousarray(judge.k[np.ix_(coreset, coreset)])
        return coreset[Peers.thinned(within, 1, size, seed)].tolist()


def compare(path, sizes, variants, peers):
    x = load(path)
    judge, results = None, []
    for size in sizes:
        methods = {}
        if judge is None:
            ell = ours(path, size, ["herd"])[2]["kernel"]["bandwidth"]
            judge = Judge(x, ell)
        draws = [np.random.default_rng(seed).choice(len(x), size, replace=False) for seed in range(20)]
        methods["random"] = average([judge(rows) for rows in draws])
        if peers:
            methods |= peers.choose(path.stem, size, judge, ell)
        for name, flags in variants.items():
            rows, weights, summary = ours(path, size, flags)
            methods[name] = judge(rows, weights)
            if flags[0] == "thin":
                assert len(set(rows.tolist())) == size
        results.append({"file": path.stem, "n": len(x), "dim": x.shape[1], "size": size, "methods": methods})
        print(path.stem, size, {name: round(score["mmd"], 5) for name, score in methods.items()}, flush=True)
    return results


def geometric(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def ratios(rows, name, key, base):
    return [row["methods"][name][key] / row["methods"][base][key] for row in rows]


def full_tables(results, sizes):
    """A table for each size and measure, with every posterior."""
    lines = []
    for size in sizes:
        rows = [result for result in results if result["size"] == size]
        shown = list(rows[0]["methods"])
        for key, title in MEASURES.items():
            lines += [f"### T = {size}: {title}", "", "| posterior (d) | " + " | ".join(shown) + " |",
                      "|---" * (len(shown) + 1) + "|"]
            for result in rows:
                cells = [f"{result['methods'][name][key]:.5f}" for name in shown]
                lines.append(f"| {result['file']} ({result['dim']}) | " + " | ".join(cells) + " |")
            for base in [base for base in ("random", "kernel thinning") if base in shown]:
                for label, fold in (("geometric mean", geometric), ("largest", max)):
                    cells = [f"{fold(ratios(rows, name, key, base)):.3f}" for name in shown]
                    lines.append(f"| {label} of the ratio to {base} | " + " | ".join(cells) + " |")
            lines.append("")
    return "\n".join(lines)


def ratio_tables(results, sizes):
    """For each size one row a method: the geometric means of the ratios to random rows."""
    lines = []
    for size in sizes:
        rows = [result for result in results if result["size"] == size]
        lines += [f"### T = {size}: ratio to random rows, geometric mean", "", "| | " + " | ".join(MEASURES) + " |",
                  "|---" * (len(MEASURES) + 1) + "|"]
        for name in rows[0]["methods"]:
            cells = [f"{geometric(ratios(rows, name, key, 'random')):.3f}" for key in MEASURES]
            lines.append(f"| {name} | " + " | ".join(cells) + " |")
        lines.append("")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=pathlib.Path, default=ROOT.parent / "shared/data/posteriordb")
    parser.add_argument("--sizes", default="156,25,100,500")
    parser.add_argument("--set", default="thin", choices=VARIANTS, help="which of our variants")
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "bench/peers/out")
    arguments = parser.parse_args()
    files = sorted(arguments.folder.glob("*.csv"))
    if not files:
        raise SystemExit(f"{arguments.folder} has no CSV files")
    sizes = [int(size) for size in arguments.sizes.split(",")]
    peers = None if arguments.no_peers else Peers(arguments.out / "peers.json")
    variants = VARIANTS[arguments.set]
    results = [result for path in files for result in compare(path, sizes, variants, peers)]
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / f"accuracy-{arguments.set}.json").write_text(json.dumps(results, indent=1))
    table = ratio_tables(results, sizes)
    if arguments.set == "thin":
        table += "\n" + full_tables(results, sizes)
    (arguments.out / f"accuracy-{arguments.set}.md").write_text(table)
    print(table)


if __name__ == "__main__":
    main()
