"""herd and thin: rows of an array chosen to stand in for all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from . import _batches, _native
from ._choice import Beside, Choice, Distances, Given, herding, thinning
from ._functions import Matched, matching
from ._inputs import Table, as_count, as_device, as_embedding, as_size, as_table, explained, prepared, weighted
from ._progress import reporting
from ._result import PoolResult, background, result_of
from ._types import Bandwidth, Device, Embedding, FunctionsUnit, Listener, Precision, Scale, Weights
from .kernels import Kernel


def herd(
    x: Any,
    n: int | None = None,
    *,
    kernel: str | Kernel = "gaussian",
    bandwidth: Bandwidth = "median",
    scale: Scale = "sd",
    weights: Weights = "equal",
    sample_weight: Any = None,
    log_weight: Any = None,
    marginals: float = 0.0,
    functions: Any = None,
    functions_weight: float | None = None,
    functions_unit: FunctionsUnit = "each",
    unique: bool = False,
    tol: float | None = None,
    worth: float | None = None,
    num_samples: int | None = None,
    embedding: Embedding = "auto",
    landmarks: int | None = None,
    pool_rows: int | None = None,
    max_memory: int | str | None = None,
    threads: int | None = None,
    precision: Precision = "mixed",
    device: Device = "cpu",
    progress: bool | Listener | None = None,
) -> PoolResult:
    """Chooses `n` rows of `x` one after the other by kernel herding; any prefix of them is good too.

    Rows may repeat, as in the paper, unless `unique` is set; `thin`, `supersample.arviz.herd` and `SuperSampler` choose
    distinct ones. With the linear kernel the score has the term -k(x, x)/2, which eq. 8 of the paper leaves out because
    it is the same for all points of its kernels. Of rows that are the same in every number any may be chosen.

    Parameters
    ----------
    x
        One row for each point: a NumPy array, anything that becomes one (`__array__`, DLPack), a frame (pandas, polars,
        dask, Arrow), of which ids (chain, draw, iteration, row, names ending in `__`) are passed over, or a dict of
        arrays with one entry for each draw along their first axis. Rows that need not fit into memory: an Arrow dataset
        or RecordBatchReader, an iterator of batches (arrays or frames, or pairs of these with weights), a function that
        makes such an iterator, or a memory map with `pool_rows` or `max_memory`. See there.
    n, num_samples
        How many rows to choose (not a step: `herd(x, 10)` chooses 10 rows, not every tenth); with `tol` or `worth` at
        most so many, and then by default as many as there are rows.
    kernel, bandwidth
        A name (see `supersample.kernels`: gaussian, laplace, imq, energy and others) with a length or the median
        distance, or a kernel such as `Gaussian(1.5)`. Lengths are in the units of the scaled points. Several lengths
        are a mean of Gaussians, not one length for each column.
    scale
        Every column to unit variance (sd), uncorrelated as well (pca), by median and median absolute deviation, which a
        few wild values do not move (mad), to unit mean absolute deviation (aad), or as it is (none).
    weights
        Weights of the chosen rows: equal ones, or the best that are not negative and sum to one (simplex), or the
        best of either sign that sum to one (free).
    sample_weight, log_weight
        Weights of the rows of `x`, for samples that are weighted, or their natural logarithms, of which -inf is no
        weight. Rows without weight are never chosen. Weighted frames of anesthetic and chains of getdist have theirs.
    marginals
        How much each column's own distribution counts beside the joint one, so that intervals are matched too. None at
        all by default, as in the paper; `thin` matches them.
    functions, functions_weight, functions_unit
        Functions of the rows whose means matter: predictions, generated quantities, costs. Numbers, one row for each
        row of `x`, or names of columns of `x`, which distances then do not use. And how much they count, by default as
        much as the joint distribution. What is not named is not matched: predictions at other inputs gain nothing.
        Errors of their means count in the standard deviations of each; `"common"` measures all in one unit, for
        functions of one kind, whose errors are compared as they are.
    unique
        Choose no row twice. By default rows may repeat, as in the paper.
    tol, worth
        Stop at the first MMD of at most `tol`, or when the points are worth so many independent draws of these rows.
    embedding, landmarks
        Compare all rows with each other (exact), or with landmarks, a few of them that stand for the others: time grows
        with the rows and not with their square, and the MMD has a standard error, `mmd_error`. By default (auto) exact
        up to 100,000 rows. How many landmarks: by default twice the rows that are herded, and four
        times those of `thin`.
    pool_rows, max_memory
        Go through the rows in batches and choose from so many of them, drawn at random, or from as many as fit into so
        much memory (bytes, or a text such as 500M or 2G); by default, where rows come in batches, from 100,000. All
        rows are matched and the MMD is that to all of them, with landmarks for the mean embedding. What can be gone
        through only once is copied to a temporary file. An array in float32 of more rows than are chosen from (200,000,
        or twenty for each that is chosen) goes this way unasked, so that it never becomes float64 whole.
    threads
        By default RAYON_NUM_THREADS or OMP_NUM_THREADS, where they are set, or else all cores; the result does not
        depend on it.
    precision
        Kernel values in single precision where that is safe (mixed), or in double throughout (double).
    device
        Where long sums run: cpu, or gpu, the first NVIDIA GPU of the machine. Without one, or without its driver, a
        RuntimeError says so before anything is done.
    progress
        True for a bar, or a function of (phase, done, total); at the end it is told ("done", total, total).

    >>> import numpy as np, supersample as ss
    >>> draws = np.random.default_rng(0).normal(size=(2000, 3))
    >>> result = ss.herd(draws, 50)
    >>> result.indices[:5]
    array([ 357, 1151,  135,  626, 1838])
    >>> few = ss.herd(draws, tol=0.05, unique=True)
    >>> few.ended, few.mmd <= 0.05
    ('tolerance', True)
    """
    return _chosen(
        herding(as_size(n, num_samples), tol, worth, weights, unique, threads),
        Given(x, sample_weight, log_weight),
        Distances(kernel, bandwidth, scale, precision, device),
        Beside(marginals, functions, functions_weight, functions_unit),
        (embedding, landmarks),
        (pool_rows, max_memory),
        progress,
    )


def thin(
    x: Any,
    n: int | None = None,
    *,
    kernel: str | Kernel = "gaussian",
    bandwidth: Bandwidth = "median",
    scale: Scale = "sd",
    weights: Weights = "equal",
    sample_weight: Any = None,
    log_weight: Any = None,
    marginals: float | None = None,
    functions: Any = None,
    functions_weight: float | None = None,
    functions_unit: FunctionsUnit = "each",
    repeats: bool = False,
    tol: float | None = None,
    worth: float | None = None,
    num_samples: int | None = None,
    search: int | None = None,
    seed: int = 0,
    include: Any = None,
    exclude: Any = None,
    groups: Any = None,
    quotas: int | Sequence[int] | Mapping[Any, int] | None = None,
    embedding: Embedding = "auto",
    landmarks: int | None = None,
    pool_rows: int | None = None,
    max_memory: int | str | None = None,
    threads: int | None = None,
    precision: Precision = "mixed",
    device: Device = "cpu",
    progress: bool | Listener | None = None,
) -> PoolResult:
    """Chooses the best `n` rows of `x` as a set: herding, then swaps until none helps, then a search.

    `n` is how many rows are kept, NOT a step as in other libraries' `thin`: `thin(x, 10)` keeps 10 rows.

    The rows come in greedy order, so that prefixes are good sets too, and `refinement` says what swaps and search have
    gained. What is not described here is as in `herd`.

    Parameters
    ----------
    n, num_samples
        How many; with `tol` or `worth` at most so many, and the fewest that reach it are looked for.
    marginals
        How much each column's own distribution counts beside the joint one: 0 is not at all, and None the default, 0.1.
    repeats
        Allow a row to be chosen more than once. By default rows are distinct.
    search, seed
        Annealed sweeps that look beyond the nearest optimum, and the seed of that search. By default 3 to 400, fewer
        for more rows, and none among more than 100,000 where fewer than 10 would be worth it; 0 is none.
    include, exclude
        Rows that must be among the chosen, even without weight, and rows that must not: numbers, or a mask.
    groups
        A label for each row (a chain, a class): each group gives rows in proportion to its mass.
    quotas
        How many rows each group is to give instead: one number for all, one for each label in sorted order, or a
        mapping from labels. `n` may then be left out.

    >>> import numpy as np, supersample as ss
    >>> draws = np.random.default_rng(0).normal(size=(2000, 3))
    >>> ss.thin(draws, 50).mmd < ss.herd(draws, 50).mmd
    True
    >>> label = draws[:, 0] > 1
    >>> chosen = ss.thin(draws, groups=label, quotas={False: 5, True: 5})
    >>> int(label[chosen.indices].sum())
    5
    >>> predicted = np.exp(draws)
    >>> named, plain = ss.thin(draws, 50, functions=predicted), ss.thin(draws, 50)
    >>> named.functions < ss.evaluate(draws, plain, functions=predicted).functions
    True
    """
    goals = (as_size(n, num_samples), tol, worth, weights)
    return _chosen(
        thinning(*goals, repeats, threads, search, seed, include, exclude, groups, quotas),
        Given(x, sample_weight, log_weight),
        Distances(kernel, bandwidth, scale, precision, device),
        Beside(_native.MARGINALS if marginals is None else marginals, functions, functions_weight, functions_unit),
        (embedding, landmarks),
        (pool_rows, max_memory),
        progress,
    )


def _chosen(
    choice: Choice,
    given: Given,
    distances: Distances,
    beside: Beside,
    embedded: tuple[str, int | None],
    drawn: tuple[int | None, int | str | None],
    progress: bool | Listener | None,
) -> PoolResult:
    """Rows chosen from all that are in memory, or from so many that were drawn in passes over batches."""
    as_device(distances.device)
    embedding, landmarks = embedded
    needs_all = {
        "weights": None if choice.weights == "equal" else choice.weights,
        "functions": beside.functions,
        "embedding": "exact" if embedding == "exact" else None,
        "include": choice.include,
        "exclude": choice.exclude,
        "groups": choice.groups.of_rows,
    }
    if drawn == (None, None) and all(value is None for value in needs_all.values()):
        single = _drawn_of_single(choice.n, given, distances.device, embedded)
        if single is not None:
            given, drawn = given._replace(x=_batches.as_single(given.x)), (single, None)
    if drawn != (None, None) or _batches.is_stream(given.x):
        _batches.refuse(**needs_all)
        batches = _batches.as_batches(*given)
        return _batches.choose(batches, choice, distances, beside.marginals, landmarks, drawn, progress)
    table = weighted(as_table(given.x), given.sample_weight, given.log_weight)
    table, matched = matching(table, beside)
    rows, columns = table.values.shape
    samples = prepared(
        table,
        **distances._asdict(),
        matched=matched,
        embedding=embedding,
        landmarks=landmarks,
        seed=choice.seed,
    )
    with reporting(progress, rows) as listener, explained(table.names, labels=choice.groups.labels):
        chosen = choice.among(samples, rows, listener)
    result = as_result(table, samples, chosen, distances.scale, matched)
    choice.tell(chosen, table.names, columns)
    return result


def _drawn_of_single(n: int | None, given: Given, device: str, embedded: tuple[str, int | None]) -> int | None:
    """How many rows are drawn of an array in single precision that is gone through in batches although nobody asked for
    that, so that it is never made double whole; None where it has to be."""
    array, (embedding, landmarks) = _batches.as_single(given.x), embedded
    # Rows with weights are chosen from all of them.
    if array is None or given.sample_weight is not None or given.log_weight is not None:
        return None
    landmarks = None if landmarks is None else as_count(landmarks, "landmarks", 1)
    return _native.pool_rows_of_single(len(array), n, as_embedding(embedding), landmarks, device)


def as_result(
    table: Table, samples: _native.Samples, chosen: _native.Chosen, scale: str, matched: Matched
) -> PoolResult:
    """What the native module has chosen as a result."""
    return result_of(
        samples,
        chosen,
        indices=chosen.rows,
        points=table.values[chosen.rows],
        rows=len(table.values),
        names=table.names,
        unused=table.unused,
        scale=scale,
        lowered=matched.lowered(),
        _data=background(table.values, samples.shares),
        _sample_weight=samples.shares,
    )
