"""The mean embedding of all pairs on one GPU: us, PyTorch, JAX, coreax and KeOps on the same input; and our whole command.

    python bench/peers/gpu.py [--rows 1000000] [--dims 2 5 57] [--timings PATH] [--command PATH] [--only means|others|coreax|keops|commands]

Every program gets the same normal draws and the same Gaussian kernel, and is timed on the device from points that are there to
means that are there, after one run that compiles: the best of several. The error is the worst of the mean at 20 rows against
the plain sum in double precision. `--timings` is our program, built by
`cargo build --release -p supersample-gpu --example timings`; by default it is looked for where cargo puts it.
What is not installed, or does not build on this machine, is named and left out. `--command` is the command, from `cargo build --release -p supersample-cli`: it is timed
from its start to its end, from .npy files of the same draws in the cache of the system, the best of two; the first run of a kernel on a machine
also compiles it, which the driver remembers.
"""

from __future__ import annotations

import argparse
import pathlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

import numpy as np
from inputs import mixture

ROOT = pathlib.Path(__file__).resolve().parents[2]
LENGTHS = {2: 1.0, 5: 1.5, 57: 10.0}


def worst_error(x: np.ndarray, length: float, mean: np.ndarray) -> float:
    """The largest error of the mean at 20 rows."""
    worst = 0.0
    for i in np.arange(20) * len(x) // 20:
        squared = np.zeros(len(x))
        for column in x.T:
            squared += (column - column[i]) ** 2
        exact = np.exp(squared / (-2 * length * length)).mean()
        worst = max(worst, abs(exact - float(mean[i])))
    return worst


def best_of(runs: int, work: Callable[[], None]) -> float:
    """The shortest of so many runs, after one that is not timed."""
    work()
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def ours(x: np.ndarray, length: float, binary: pathlib.Path) -> list[tuple[str, float, float]]:
    """Our program on a file of the same doubles, in f32 with f64 sums and in f64."""
    with tempfile.NamedTemporaryFile(suffix=".f64") as file:
        x.tofile(file.name)
        command = [str(binary), "file", file.name, str(x.shape[1]), str(length)]
        lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\n")
    names = ["supersample", "supersample, f64"]
    numbers = [[float(word) for word in line.split()] for line in lines if line]
    return [(name, seconds, error) for name, (seconds, error) in zip(names, numbers, strict=True)]


def in_torch(x: np.ndarray, length: float, runs: int, chunk: int = 8192) -> list[tuple[str, float, float]]:
    """PyTorch: chunks of rows against all, as written and compiled, with matrix products in f32, and compiled in tf32."""
    import torch

    points = torch.tensor(x, dtype=torch.float32, device="cuda")
    points -= points.mean(0)
    scale = -1 / (2 * length * length)

    def block(a: torch.Tensor, b: torch.Tensor, norms: torch.Tensor) -> torch.Tensor:
        squared = (a * a).sum(1, keepdim=True) + norms - 2 * (a @ b.T)
        return torch.exp(scale * squared).sum(1)

    results = []
    for name, precision, wrapped in [
        ("PyTorch, chunked", "highest", block),
        ("PyTorch, chunked, compiled", "highest", torch.compile(block)),
        ("the same in tf32", "high", torch.compile(block)),
    ]:
        torch.set_float32_matmul_precision(precision)
        mean = torch.empty(len(points), device="cuda")

        def work(wrapped: Callable[..., torch.Tensor] = wrapped, mean: torch.Tensor = mean) -> None:
            norms = (points * points).sum(1)
            for start in range(0, len(points), chunk):
                mean[start : start + chunk] = wrapped(points[start : start + chunk], points, norms)
            mean.div_(len(points))
            torch.cuda.synchronize()

        seconds = best_of(runs, work)
        results.append((name, seconds, worst_error(x, length, mean.cpu().numpy())))
    return results


def in_jax(x: np.ndarray, length: float, runs: int, chunk: int = 4000) -> list[tuple[str, float, float]]:
    """JAX as coreax does it: one jitted map over blocks of rows, each against all."""
    import jax
    import jax.numpy as jnp

    whole = len(x) // chunk * chunk
    points = jnp.asarray(x - x.mean(0), dtype=jnp.float32)
    scale = -1 / (2 * length * length)

    @jax.jit
    def means(points: jax.Array) -> jax.Array:
        norms = (points * points).sum(1)

        def block(a: jax.Array) -> jax.Array:
            product = jnp.matmul(a, points.T, precision="highest")
            squared = (a * a).sum(1)[:, None] + norms[None] - 2 * product
            return jnp.exp(scale * squared).mean(1)

        return jax.lax.map(block, points[:whole].reshape(-1, chunk, points.shape[1])).reshape(-1)

    def work() -> None:
        means(points).block_until_ready()

    seconds = best_of(runs, work) * len(x) / whole
    mean = np.asarray(means(points))
    rows = np.concatenate([mean, np.zeros(len(x) - whole)])
    return [("JAX, jitted map over blocks", seconds, worst_error(x, length, rows))]


def in_coreax(
    x: np.ndarray, length: float, runs: int, blocks: tuple[int, ...] = (2000, 10_000)
) -> list[tuple[str, float, float]]:
    """Coreax itself: the row means of its Gramian, in blocks of the best of these sizes."""
    import equinox
    import jax.numpy as jnp
    from coreax.kernels import SquaredExponentialKernel

    points = jnp.asarray(x - x.mean(0), dtype=jnp.float32)
    kernel = SquaredExponentialKernel(length_scale=length)
    best, mean = float("inf"), np.zeros(len(x))
    for block in blocks:
        means = equinox.filter_jit(lambda points, block=block: kernel.gramian_row_mean(points, block_size=block))
        seconds = best_of(runs, lambda means=means: means(points).block_until_ready())
        if seconds < best:
            best, mean = seconds, np.asarray(means(points))
    return [("coreax", best, worst_error(x, length, mean))]


def in_keops(x: np.ndarray, length: float, runs: int) -> list[tuple[str, float, float]]:
    """KeOps through its PyTorch interface."""
    import torch
    from pykeops.torch import LazyTensor

    points = torch.tensor(x - x.mean(0), dtype=torch.float32, device="cuda")
    scaled = points / (length * 2**0.5)
    rows, columns = LazyTensor(scaled[:, None, :]), LazyTensor(scaled[None, :, :])
    result = {}

    def work() -> None:
        result["mean"] = (-((rows - columns) ** 2).sum(-1)).exp().sum(1) / len(points)
        torch.cuda.synchronize()

    seconds = best_of(runs, work)
    return [("KeOps", seconds, worst_error(x, length, result["mean"].cpu().numpy().ravel()))]


def whole_commands(command: pathlib.Path, rows: int, dims: list[int]) -> None:
    """Times the command from a .npy file to the chosen rows, on the GPU and, at A, on two threads of the CPU."""
    with tempfile.TemporaryDirectory() as folder:

        def timed(name: str, x: np.ndarray, words: str, runs: int = 2) -> None:
            file = pathlib.Path(folder, "x.npy")
            np.save(file, x)
            times, phases = [], ""
            for _ in range(runs):
                start = time.perf_counter()
                arguments = [str(command), *words.split(), str(file), "--timing", "-o", str(file.with_name("o.npy"))]
                ran = subprocess.run(arguments, check=True, capture_output=True, text=True)
                times.append(time.perf_counter() - start)
                phases = ran.stderr.strip().split("\n")[-1]
            told = " ".join(f"{seconds:.2f}" for seconds in times)
            print(f"{name:<44}{min(times):>8.2f}  ({told}; last: {phases})", flush=True)

        print(f"{'whole command':<44}{'seconds':>8}", flush=True)
        for dim in dims:
            x = np.random.default_rng(dim).standard_normal((rows, dim))
            words = f"herd -n 1000 --embedding exact --scale none --bandwidth {LENGTHS.get(dim, (2.0 * dim) ** 0.5)} --device gpu"
            timed(f"1,000 of {rows:,} x {dim}, all pairs", x, words)
        x = mixture(np.random.default_rng(ord("A")), 100_000, 5)
        for name, words in [("GPU", "--device gpu"), ("two threads of the CPU", "--threads 2")]:
            timed(f"thin at A, {name}", x, f"thin -n 1000 --scale none --bandwidth 1.5 {words}")
        x = np.random.default_rng(7).standard_normal((10 * rows, 57), dtype=np.float32)
        words = "herd -n 1000 --unique --scale none --bandwidth 10 --device gpu"
        timed(f"1,000 of {10 * rows:,} x 57 (f32 file), landmarks", x, words)


def main() -> None:
    """Prints one table for all dimensions."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--dims", type=int, nargs="+", default=[2, 5, 57])
    parser.add_argument("--runs", type=int, default=2, help="timed runs of the others; of ours there are three")
    default = ROOT / "target" / "release" / "examples" / "timings"
    command = ROOT / "target" / "release" / "supersample"
    parser.add_argument("--command", type=pathlib.Path, default=command, help="our command")
    parser.add_argument(
        "--only",
        choices=["means", "others", "coreax", "keops", "commands"],
        help="ours, PyTorch and JAX, coreax (many minutes for a million rows), KeOps, or whole commands alone",
    )
    parser.add_argument("--timings", type=pathlib.Path, default=default, help="our program")
    options = parser.parse_args()
    if options.only == "commands":
        return whole_commands(options.command.resolve(), options.rows, options.dims)
    print(f"{'program':<32}{'rows':>10}{'d':>5}{'seconds':>11}{'worst error':>14}", flush=True)
    for dim in options.dims:
        length = LENGTHS.get(dim, (2.0 * dim) ** 0.5)
        x = np.random.default_rng(dim).standard_normal((options.rows, dim))
        programs: list[Callable[[], list[tuple[str, float, float]]]] = [
            lambda x=x, length=length: ours(x, length, options.timings.resolve()),
            lambda x=x, length=length: in_torch(x, length, options.runs),
            lambda x=x, length=length: in_jax(x, length, options.runs),
            lambda x=x, length=length: in_coreax(x, length, options.runs),
            lambda x=x, length=length: in_keops(x, length, options.runs),
        ]
        some = {"means": programs[:1], "others": programs[1:3], "coreax": programs[3:4], "keops": programs[4:]}
        chosen = some.get(options.only, programs[:4])
        for program in chosen:
            try:
                rows = program()
            except (ImportError, OSError, RuntimeError, ValueError) as error:
                print(f"left out: {type(error).__name__}: {error}", flush=True)
                continue
            for name, seconds, error in rows:
                print(f"{name:<32}{len(x):>10}{dim:>5}{seconds:>11.4f}{error:>14.1e}", flush=True)
    if options.only is None:
        # By itself, because it can end the whole program.
        words = ["--only", "keops", "--rows", str(options.rows), "--dims", *map(str, options.dims)]
        status = subprocess.run([sys.executable, __file__, *words, "--runs", str(options.runs)], check=False).returncode
        if status:
            print(f"left out: KeOps ended with status {status}", flush=True)
        whole_commands(options.command.resolve(), options.rows, options.dims)


if __name__ == "__main__":
    main()
