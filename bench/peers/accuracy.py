"""Us, kernel thinning and Compress++ on the same draws with the same kernel: the MMD, and what people report.

    bench/peers/setup.sh
    cargo build --release -p supersample-cli
    bench/peers/.venv/bin/python bench/peers/accuracy.py [FOLDER] [--sizes 156,25,100,500] [--set thin|curve|…] [--seeds 3] [--before PROGRAM]
    bench/peers/.venv/bin/python bench/peers/accuracy.py --set cases
    bench/peers/.venv/bin/python bench/peers/accuracy.py --write-docs

FOLDER holds CSV files of draws, each with a header; columns named chain and draw are ids (default
../shared/data/posteriordb beside the repository). Ours are the rows that the command prints, with its defaults but for the
flags in VARIANTS. Everything is judged here, from the rows alone, on columns scaled to unit variance: the MMD of the Gaussian
kernel exp(-r^2/(2 l^2)) with l the median distance that the command reports, whatever kernel chose the rows, and the errors
of distribution functions, means, sds, quantiles and correlations. Where --no-peers is given NumPy is all that is needed; --before
adds what another build of the command chooses.

--set cases measures on --sets data sets each of the distributions in CASES, 4,000 rows, what 100 rows give: the ratio of the mean error
to that of 40 random sets, and the share of the random sets that are better.

goodpoints gets the kernel matrix itself in double precision (its own Gaussian is exp(-r^2/l2): l2 = 2 l^2) as swap kernel, and
as split kernel either the same or its square root exp(-r^2/l^2), whichever gives it the smaller MMD; distinct rows; the mean
of seeds 0, 1, 2. It halves, so that of n rows it can give n/2^m: for other sizes it is given as many evenly spaced rows as
lead there. Compress++ is its Compress to 1,024 rows (of 4,096, as it does itself with 10,000), thinned the same way. What the
peers chose is kept in OUT/peers.json, since it does not depend on us. Random is the mean of 20 draws without replacement.

The swap heuristic of Chen, Clement, Doerr and Kirk (Optimizing Kernel Discrepancies via Subset Selection, arXiv 2511.02706) is
written here from its description: from random rows the best swap for each chosen row in turn, until none helps, with sums that
make a swap cost one row of the matrix; the best of ten starts. It needs NumPy alone, and without goodpoints it is the only peer. Ours are the mean over --seeds seeds.
"""

import argparse
import importlib.util
import json
import math
import pathlib
import subprocess
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
QUANTILES = [0.05, 0.25, 0.5, 0.75, 0.95]
EXTREMES = [0.01, 0.99]
MEASURES = {
    "mmd": "MMD",
    "cdf": "distance of the distribution functions, root mean square over the columns",
    "mean": "RMS error of the means",
    "sd": "RMS error of the sds",
    "quantile": "RMS error of the 5, 25, 50, 75 and 95 % quantiles",
    "correlation": "RMS error of the correlations",
    "extreme": "RMS error of the 1 and 99 % quantiles",
}
VARIANCE = "total variance over that of all rows"
# The verb and its flags, by the name of the column.
VARIANTS = {
    "thin": {
        "herd": ["herd"],
        "thin, joint alone": ["thin", "--marginals", "0", "--moments", "0"],
        "thin": ["thin"],
    },
    "curve": {f"W = {w}": ["thin", "--marginals", w, "--moments", "0"] for w in "0 0.05 0.1 0.2 0.3 0.4 0.6 1 2 4".split()},
    "moments": {f"W = {w}": ["thin", "--moments", w] for w in "0 0.03 0.1 0.3 1".split()},
    "kernels": {
        f"{kernel}{', W = ' + w if w != '0' else ''}": ["thin", "--kernel", kernel, "--marginals", w, "--moments", "0"]
        for w in ("0", "0.4")
        for kernel in ("gaussian", "imq", "energy", "laplace", "matern32")
    },
    "search": {f"search {n}": ["thin", "--search", n] for n in "0 3 40 150 400 1000 2000".split()},
    "weights": {
        "joint alone": ["thin", "--marginals", "0", "--moments", "0"],
        "joint alone, weighted": ["thin", "--marginals", "0", "--moments", "0", "--weights", "simplex"],
        "thin": ["thin", "--moments", "0"],
        "thin, weighted": ["thin", "--moments", "0", "--weights", "simplex"],
    },
    "cases": {
        "thin": ["thin"],
        "energy": ["thin", "--kernel", "energy"],
        "moments 1": ["thin", "--moments", "1"],
        "pca": ["thin", "--scale", "pca"],
    },
}


def _funnel(rng, n):
    v = 3 * rng.normal(size=(n, 1))
    return np.c_[v, np.exp(v / 2) * rng.normal(size=(n, 4))]


def _hierarchy(rng, n):
    mean, spread = 5 * rng.normal(size=(n, 1)), np.abs(5 * rng.standard_cauchy(size=(n, 1)))
    return np.c_[mean, spread, mean + spread * rng.normal(size=(n, 8))]


def _far_mode(rng, n):
    return rng.normal(size=(n, 3)) + 8 * (rng.uniform(size=(n, 1)) < 0.01)


def _collinear(dim):
    return lambda rng, n: rng.normal(size=(n, 1)) + 0.0316 * rng.normal(size=(n, dim))


# Distributions where a small subset is hard to choose, by name: from a generator and a number of rows, rows.
CASES = {
    "normal, d = 5": lambda rng, n: rng.normal(size=(n, 5)),
    "normal, d = 200": lambda rng, n: rng.normal(size=(n, 200)),
    "multivariate t5, d = 10": lambda rng, n: rng.normal(size=(n, 10)) / np.sqrt(rng.chisquare(5, size=(n, 1)) / 5),
    "t3, d = 5": lambda rng, n: rng.standard_t(3, size=(n, 5)),
    "t2, d = 1": lambda rng, n: rng.standard_t(2, size=(n, 1)),
    "Cauchy, d = 3": lambda rng, n: rng.standard_cauchy(size=(n, 3)),
    "lognormal, log-sd 1, d = 3": lambda rng, n: np.exp(rng.normal(size=(n, 3))),
    "lognormal, log-sd 2, d = 3": lambda rng, n: np.exp(2 * rng.normal(size=(n, 3))),
    "zero-inflated, d = 4": lambda rng, n: (rng.uniform(size=(n, 4)) < 0.3) * np.exp(rng.normal(size=(n, 4))),
    "funnel, d = 5": _funnel,
    "hierarchy, d = 10": _hierarchy,
    "far mode of 1 %, d = 3": _far_mode,
    "correlation 0.999, d = 2": _collinear(2),
    "correlation 0.999, d = 5": _collinear(5),
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


def quantiles(x, weights, levels=QUANTILES):
    """Where the line through the middles of the steps of the distribution function passes the levels."""
    columns = []
    for column in x.T:
        order = np.argsort(column, kind="stable")
        steps = np.cumsum(weights[order])
        columns.append(np.interp(levels, (steps - weights[order] / 2) / steps[-1], column[order]))
    return np.array(columns).T


class Judge:
    """The errors of weighted rows, in units of the sd (which is 1)."""

    def __init__(self, x, ell):
        self.x, self.k = x, gram(x, ell)
        self.mu = self.k.mean(1)
        self.norm = self.mu.mean()
        equal = np.full(len(x), 1 / len(x))
        self.quantiles, self.correlation = quantiles(x, equal), self.correlations(x, equal)
        self.extremes = quantiles(x, equal, EXTREMES)
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
            "correlation": rms(self.correlations(part, weights) - self.correlation) if part.shape[1] > 1 else 0.0,
            "extreme": rms(quantiles(part, weights, EXTREMES) - self.extremes),
            "variance": float((weights @ (part - mean) ** 2).mean()),
        }


def average(scores):
    return {key: float(np.mean([score[key] for score in scores])) for key in scores[0]}


PROGRAM = ROOT / "target/release/supersample"


def ours(path, size, flags, program=PROGRAM):
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
        ways = {"swaps, ten starts": lambda seed: self.swapped(judge, size, seed)}
        if importlib.util.find_spec("goodpoints"):
            ways |= {
                "kernel thinning, target split": lambda seed: self.thinned(judge.k, 1, size, seed),
                "kernel thinning, root split": lambda seed: self.thinned(judge.k, 2, size, seed),
                "Compress++": lambda seed: self.compressed(judge, ell, size, seed),
            }
        sets = self.known.setdefault(f"{file} {size} {ell:.9g}", {})
        for name in ways.keys() - sets.keys():
            sets[name] = [ways[name](seed) for seed in range(3)]
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text(json.dumps(self.known))
        found = {name: average([judge(rows) for rows in sets[name]]) for name in sets}
        splits = [name for name in found if name.startswith("kernel thinning")]
        best = {"kernel thinning": found[min(splits, key=lambda name: found[name]["mmd"])]} if splits else {}
        return best | {name: errors for name, errors in found.items() if name not in splits}

    @staticmethod
    def thinned(k, power, size, seed):
        from goodpoints import kt

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
    def swapped(judge, size, seed, starts=10):
        rng, best = np.random.default_rng(seed), None
        for _ in range(starts):
            chosen = rng.choice(len(judge.x), size, replace=False)
            sums, moved = judge.k[chosen].sum(0), True
            while moved:
                moved = False
                for place in range(size):
                    old = chosen[place]
                    # A swap lowers the squared MMD by the difference of these, times 2/size^2.
                    fit = size * judge.mu - (sums - judge.k[old]) - judge.k.diagonal() / 2
                    here = fit[old]
                    fit[chosen] = -np.inf
                    new = int(fit.argmax())
                    if fit[new] > here + 1e-12 * size:
                        sums += judge.k[new] - judge.k[old]
                        chosen[place], moved = new, True
            squared = judge.k[np.ix_(chosen, chosen)].mean() - 2 * judge.mu[chosen].mean()
            if best is None or squared < best[0]:
                best = squared, chosen.tolist()
        return best[1]

    @staticmethod
    def compressed(judge, ell, size, seed):
        from goodpoints import compress

        coreset = compress.compress_kt(judge.x, b"gaussian", np.array([2 * ell * ell]), g=4, num_bins=1, seed=seed)
        within = np.ascontiguousarray(judge.k[np.ix_(coreset, coreset)])
        return coreset[Peers.thinned(within, 1, size, seed)].tolist()


def compare(path, sizes, variants, peers, before, seeds):
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
        if before:
            chosen = [ours(path, size, ["thin", "--seed", seed], before)[0] for seed in range(seeds)]
            methods["thin, before"] = average([judge(rows) for rows in chosen])
        for name, flags in variants.items():
            # Herding has no random numbers.
            tried = range(seeds if flags[0] == "thin" else 1)
            chosen = [ours(path, size, [*flags, "--seed", seed])[:2] for seed in tried]
            methods[name] = average([judge(rows, weights) for rows, weights in chosen])
            if flags[0] == "thin":
                assert all(len(set(rows.tolist())) == size for rows, _ in chosen)
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
        lines += [f"### T = {size}: ratio to random rows, geometric mean", "", "| | " + " | ".join(MEASURES) + " | variance |",
                  "|---" * (len(MEASURES) + 2) + "|"]
        for name in rows[0]["methods"]:
            cells = [f"{geometric(ratios(rows, name, key, 'random')):.3f}" for key in MEASURES]
            cells.append(f"{geometric([row['methods'][name]['variance'] for row in rows]):.3f}")
            lines.append(f"| {name} | " + " | ".join(cells) + " |")
        lines.append("")
    return "\n".join(lines)


def hard_cases(variants, sets, draws=40, n=4000, size=100):
    """A table of the cases: of the means, sds, correlations and extreme quantiles the ratio of mean errors to those of random sets,
    and the share of random sets that are better; the total variance. Of the remedies those that are meant for the case."""
    keys = ["mmd", "cdf", "mean", "sd", "correlation", "extreme"]
    lines = ["| case | | " + " | ".join(keys) + " | variance |", "|---" * (len(keys) + 3) + "|"]
    for case, draw in CASES.items():
        remedies = [] if case.startswith("normal") else ["pca"] if case.startswith("correlation") else ["energy", "moments 1"]
        tried = {name: variants[name] for name in ("thin", *remedies)}
        found = {name: [] for name in tried}
        random = []
        for seed in range(sets):
            x = draw(np.random.default_rng([seed, len(case)]), n)
            with tempfile.TemporaryDirectory() as folder:
                path = pathlib.Path(folder) / "rows.csv"
                np.savetxt(path, x, delimiter=",", header=",".join(f"x{j}" for j in range(x.shape[1])), comments="")
                chosen = {name: ours(path, size, flags) for name, flags in tried.items()}
            judge = Judge((x - x.mean(0)) / x.std(0), chosen["thin"][2]["kernel"]["bandwidth"])
            rng = np.random.default_rng(seed)
            random.append([judge(rng.choice(n, size, replace=False)) for _ in range(draws)])
            for name, (rows, _, _) in chosen.items():
                found[name].append(judge(rows))
        for name in tried:
            cells = []
            for key in keys:
                mean = np.mean([score[key] for scores in random for score in scores])
                better = np.mean([score[key] < mine[key] for mine, scores in zip(found[name], random) for score in scores])
                ratio = np.mean([mine[key] for mine in found[name]]) / mean if mean > 0 else None
                cells.append("" if ratio is None else f"{ratio:.2f} ({100 * better:.0f} %)")
            cells.append(f"{np.mean([mine['variance'] for mine in found[name]]):.3f}")
            lines.append(f"| {case if name == 'thin' else ''} | {name} | " + " | ".join(cells) + " |")
            print(lines[-1], flush=True)
    return "\n".join(lines) + "\n"


def write_docs(out):
    """Puts the tables of the sets thin and cases in OUT into docs/accuracy.md, without --before."""
    page = ROOT / "docs/accuracy.md"
    results = json.loads((out / "accuracy-thin.json").read_text())
    for result in results:
        result["methods"].pop("thin, before", None)
    sizes = list(dict.fromkeys(result["size"] for result in results))
    tables = {
        "ratios": ratio_tables(results, sizes),
        "cases": (out / "accuracy-cases.md").read_text(),
        "files": full_tables(results, sizes[:1]),
    }
    text = page.read_text()
    for name, table in tables.items():
        begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
        before, rest = text.split(begin)
        text = f"{before}{begin}\n{table.strip()}\n\n{end}{rest.split(end)[1]}"
    page.write_text(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=pathlib.Path, default=ROOT.parent / "shared/data/posteriordb")
    parser.add_argument("--sizes", default="156,25,100,500")
    parser.add_argument("--set", default="thin", choices=VARIANTS, help="which of our variants")
    parser.add_argument("--seeds", type=int, default=3, help="seeds of each of our sets, over which errors are averaged")
    parser.add_argument("--sets", type=int, default=12, help="data sets of each case")
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--before", type=pathlib.Path, help="another build of the command, whose thin is compared too")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "bench/peers/out")
    parser.add_argument("--write-docs", action="store_true", help="put the tables of earlier runs into docs/accuracy.md")
    arguments = parser.parse_args()
    if arguments.write_docs:
        write_docs(arguments.out)
        return
    if arguments.set == "cases":
        arguments.out.mkdir(parents=True, exist_ok=True)
        (arguments.out / "accuracy-cases.md").write_text(hard_cases(VARIANTS["cases"], arguments.sets))
        return
    files = sorted(arguments.folder.glob("*.csv"))
    if not files:
        raise SystemExit(f"{arguments.folder} has no CSV files")
    sizes = [int(size) for size in arguments.sizes.split(",")]
    peers = None if arguments.no_peers else Peers(arguments.out / "peers.json")
    variants = VARIANTS[arguments.set]
    results = [result for path in files for result in compare(path, sizes, variants, peers, arguments.before, arguments.seeds)]
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / f"accuracy-{arguments.set}.json").write_text(json.dumps(results, indent=1))
    table = ratio_tables(results, sizes)
    if arguments.set == "thin":
        table += "\n" + full_tables(results, sizes)
    (arguments.out / f"accuracy-{arguments.set}.md").write_text(table)
    print(table)


if __name__ == "__main__":
    main()
