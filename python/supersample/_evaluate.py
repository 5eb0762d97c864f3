"""How good any points are: the MMD, and a table beside random rows and every k-th row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _native
from ._choice import Beside
from ._functions import Matched, matching, named, split
from ._inputs import Table, as_device, as_table, as_threads, as_vector, explained, matched, prepared, weighted
from ._mixture import GaussianMixture, as_mixture, gaussian_lengths
from ._numbers import aligned, counted, is_all, ordinal, significant, with_error, with_spread
from ._progress import reporting
from ._result import Result
from ._types import Bandwidth, Device, Embedding, FunctionsUnit, Listener, Precision, Scale
from ._warnings import warn
from .kernels import Kernel, known_kernel

#: The quantiles that are compared.
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


def mmd(
    x: Any,
    y: Any,
    *,
    kernel: str | Kernel | None = None,
    bandwidth: Bandwidth | None = None,
    scale: Scale | None = None,
    sample_weight: Any = None,
    log_weight: Any = None,
    weights: Any = None,
    threads: int | None = None,
    precision: Precision = "mixed",
    embedding: Embedding = "auto",
    landmarks: int | None = None,
    device: Device = "cpu",
    progress: bool | Listener | None = None,
) -> float:
    """The maximum mean discrepancy between `x` and `y`.

    `x` is what is to be matched: rows with `sample_weight` or `log_weight`, or a Gaussian mixture (under the Gaussian
    kernel). `y` are points, with `weights` that are divided by their sum, or a `Result`, whose weights are used as they
    are. Where both have names, columns are matched by name: their order does not matter, and more of them in `y` are
    passed over, but for a column `weight` that only `y` has, which is its weights.

    Kernel, bandwidth, scale and the weights of the rows are those by which a `Result` was chosen, unless they are
    given; for other points they are gaussian, median and sd. Scaling and the median bandwidth are taken from `x`, so
    `mmd(x, y)` is not `mmd(y, x)`: to compare several sets keep `x`, or give `scale="none"` and a bandwidth. A mixture
    is not scaled, and its median is that of `sample`. The rows of `x` are compared in single precision where that is
    safe, which leaves the MMD right to one part in a thousand, unless `precision` is "double". `embedding`,
    `landmarks` and `device` as in `herd`: more than 100,000 rows are compared with landmarks.

    >>> import numpy as np, supersample as ss
    >>> x = np.random.default_rng(0).normal(size=(500, 2))
    >>> ss.mmd(x, x[:100]) > ss.mmd(x, ss.thin(x, 100))
    True
    >>> normal = ss.GaussianMixture([1], [[0.0]], [[[1.0]]])
    >>> round(ss.mmd(normal, [[-1.0], [0.0], [1.0]], bandwidth=1.0), 4)
    0.0683
    """
    threads = as_threads(threads)
    if isinstance(x, GaussianMixture) or hasattr(x, "covariance_type"):
        if sample_weight is not None or log_weight is not None:
            raise ValueError("sample_weight has no effect on a mixture; leave it out")
        if device != "cpu":
            raise ValueError("device has no effect on a mixture; leave it out")
        target = as_mixture(x)
        points, shares = subset_of(y, weights, None, target.means.shape[1])
        # Lengths of a result that was scaled are in other units than those of a mixture, which is not.
        own = y if isinstance(y, Result) and y.scale == "none" else None
        kernel, bandwidth, _ = geometry_of(own, kernel, bandwidth, scale)
        lengths = gaussian_lengths(kernel, bandwidth) or [target._native.median(1000, 0)]
        return target._native.mmd(lengths, points, shares, threads)
    as_device(device)
    table = _target(x, y, sample_weight, log_weight)
    points, shares = subset_of(y, weights, table.names, table.values.shape[1])
    kernel, bandwidth, scale = geometry_of(y, kernel, bandwidth, scale)
    samples = prepared(
        table, kernel, bandwidth, scale, precision, embedding=embedding, landmarks=landmarks, device=device
    )
    with reporting(progress) as listener, explained(table.names, "y"):
        return _native.mmd(samples, points, shares, threads, listener)


def geometry_of(
    y: Any, kernel: str | Kernel | None, bandwidth: Bandwidth | None, scale: Scale | None
) -> tuple[str | Kernel, Bandwidth, Scale]:
    """What is asked for, else what a result was chosen by, else the defaults of `herd`."""
    if isinstance(y, Result):
        if kernel is None:
            kernel = y.kernel if bandwidth is None else y.kernel.name
        scale = scale or y.scale  # type: ignore[assignment]
    return kernel or "gaussian", "median" if bandwidth is None else bandwidth, scale or "sd"


def _target(x: Any, y: Any, sample_weight: Any, log_weight: Any) -> Table:
    """The rows to be matched, with the weights that a result was chosen by where none are given."""
    table = weighted(as_table(x), sample_weight, log_weight)
    is_weighted = table.weights is not None or table.log_weights is not None
    if is_weighted or not isinstance(y, Result) or not y.weighted or y.rows != len(table.values):
        return table
    if y._sample_weight is None:
        warn("the rows had weights when the result was chosen, which a pickle does not keep; give sample_weight")
        return table
    return weighted(table, y._sample_weight, None)


def subset_of(
    y: Any, weights: Any, names: tuple[str, ...] | None, columns: int
) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    """Points by the columns of these names, or by so many columns where they have none, and weights unless equal."""
    if isinstance(y, Result):
        if weights is not None:
            raise ValueError("weights have no effect on a Result, which has its own; leave them out")
        points = matched(Table(y.points, y.names), names, "the result").values
        return points, None if y._has_equal_weights() else y.weights
    given = as_table(y, "y")
    # A column of weights as the command and `Result.to_frame` write it; other columns are not asked for.
    own = next((name for name in ("supersample_weight", "weight") if name in (given.names or ())), None)
    if own is not None and own not in (names or ()) and (names is not None or given.values.shape[1] == columns + 1):
        assert given.names is not None
        if weights is None:
            weights = given.values[:, given.names.index(own)]
        given = matched(given, tuple(name for name in given.names if name != own), "y")
    points = matched(given, names, "y").values
    if weights is None:
        weights = given.weights
    if weights is None:
        return points, None
    shares = as_vector(weights, "weights")
    total = shares.sum()
    if not (np.isfinite(total) and total > 0):
        raise ValueError(f"the weights sum to {total}; their sum must be positive")
    return points, shares / total


@dataclass(frozen=True)
class TypicalErrors:
    """Errors in what people read from rows, each the root mean square over the columns, in sds of all rows.

    >>> import numpy as np, supersample as ss
    >>> x = np.random.default_rng(0).normal(size=(1000, 2))
    >>> found = ss.evaluate(x, ss.thin(x, 20))
    >>> found.typical.mean < found.random_typical.mean
    True
    """

    cdf: float | None
    """Of the distribution functions: their distance, not in sds; None, like the others, where there is none."""
    mean: float | None
    """Of the means."""
    sd: float | None
    """Of the standard deviations."""
    quantile: float | None
    """Of the quantiles."""
    correlation: float | None
    """Of the correlations, over the pairs of columns."""
    functions: float | None
    """Of the means of the functions that were given, in the sds of each, or in a common unit."""


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """How good a subset is. Errors of columns are subset minus data, in standard deviations of the data.

    >>> import numpy as np, supersample as ss
    >>> x = np.random.default_rng(0).normal(size=(1000, 2))
    >>> ss.evaluate(x, ss.thin(x, 20))
                        MMD             worth in draws of these 1,000 rows   cdf
    this subset of 20   0.00772         7,010                                0.0211
    random 20 rows      0.142 ± 0.049   20                                   0.0924
    every 50th row      0.0965          44.9                                 0.0608
    worst error, in sds of all rows: mean 0.00802 (x2), sd 0.0206 (x2), quantile 0.161 (x1, 5%)
    """

    mmd: float
    """The MMD of the subset."""
    mmd_error: float | None
    """The standard error of the MMD, where landmarks stand for the mean embedding; None where it is exact."""
    landmarks: int | None
    """How many landmarks there are; None where all rows were compared with each other."""
    worth: float | None
    """How many independent draws of these very rows have the same expected squared MMD; see `Result.worth`."""
    random: NDArray[np.float64] | None
    """The MMDs of 20 random subsets of the same size, fewer (at least 3) for subsets of more than 10,000; None where
    there are not more rows than that."""
    spaced: float | None
    """The MMD of every k-th row, or of rows at equal steps of the summed weight."""
    spaced_worth: float | None
    """Its worth."""
    size: int
    """How many rows the subset has."""
    rows: int
    """How many rows all the data have."""
    mean_error: NDArray[np.float64]
    """The error of the mean of each column; NaN for a constant column."""
    sd_error: NDArray[np.float64]
    """The error of the standard deviation of each column; NaN where weights are negative, too."""
    quantile_error: NDArray[np.float64]
    """The error of the 5, 25, 50, 75 and 95 % quantiles (Hazen's, between the rows), one row for each column."""
    correlation_rms: float | None
    """The root mean square error of the correlations; None without a pair of columns that has one."""
    cdf: float | None
    """The distance of the columns' distribution functions from those of all rows, root mean square; independent draws
    have 0.408/√T. None where every column is constant."""
    functions: float | None
    """The error of the means of the functions that were given, root mean square, in their units; None without any."""
    typical: TypicalErrors
    """The errors of the subset over all columns."""
    random_typical: TypicalErrors | None
    """The means of those of the random subsets."""
    spaced_typical: TypicalErrors | None
    """Those of the evenly spaced subset."""
    kernel: Kernel
    """The kernel, its bandwidth in the units of the scaled points."""
    names: tuple[str, ...]
    """The names of the columns, or x1, x2, …."""

    def __repr__(self) -> str:
        header = self._header(f"worth in draws of these {counted(self.rows, 'row')}")
        return f"{aligned([header, *self._lines()])}\n{self._worst()}"

    def _repr_html_(self) -> str:
        from ._html import evaluation_view

        return evaluation_view(self)

    def _header(self, worth: str) -> tuple[str, ...]:
        return ("", "MMD", worth, "cdf", "functions")[: 4 if self.functions is None else 5]

    def _lines(self) -> list[tuple[str, ...]]:
        """What, its MMD, its worth and its other errors: this subset, random ones, an evenly spaced one."""

        def others(errors: TypicalErrors | None) -> tuple[str, ...]:
            both = (None, None) if errors is None else (errors.cdf, errors.functions)
            shown = tuple("" if error is None else significant(error) for error in both)
            return shown[: 1 if self.functions is None else 2]

        size, own = f"this subset of {self.size:,}", others(self.typical)
        mmd = significant(self.mmd) if self.mmd_error is None else with_error(self.mmd, self.mmd_error)
        lines = [(size, mmd, self._shown(self.worth), *own)]
        if self.random is not None and self.spaced is not None:
            spread = with_spread(float(self.random.mean()), float(self.random.std(ddof=1)))
            random, spaced = others(self.random_typical), others(self.spaced_typical)
            lines.append((f"random {counted(self.size, 'row')}", spread, f"{self.size:,}", *random))
            lines.append((self._spacing(), significant(self.spaced), self._shown(self.spaced_worth), *spaced))
        return lines

    def _shown(self, worth: float | None) -> str:
        if worth is None:
            return ""
        return "as good as all" if is_all(worth, self.rows) else significant(worth)

    def _spacing(self) -> str:
        return "evenly spaced rows" if self.rows % self.size else f"every {ordinal(self.rows // self.size)} row"

    def _worst(self) -> str:
        def of(errors: NDArray[np.float64]) -> str:
            sizes = np.abs(errors.reshape(len(self.names), -1))
            if np.all(np.isnan(sizes)):
                return "unknown"
            column, which = np.unravel_index(int(np.nanargmax(sizes)), sizes.shape)
            level = f", {QUANTILES[which]:.0%}" if sizes.shape[1] > 1 else ""
            return f"{significant(float(sizes[column, which]))} ({self.names[column]}{level})"

        return (
            f"worst error, in sds of all rows: mean {of(self.mean_error)}, sd {of(self.sd_error)}, "
            f"quantile {of(self.quantile_error)}"
        )


def evaluate(
    x: Any,
    y: Any,
    *,
    kernel: str | Kernel | None = None,
    bandwidth: Bandwidth | None = None,
    scale: Scale | None = None,
    sample_weight: Any = None,
    log_weight: Any = None,
    weights: Any = None,
    functions: Any = None,
    functions_unit: FunctionsUnit = "each",
    threads: int | None = None,
    precision: Precision = "mixed",
    embedding: Embedding = "auto",
    landmarks: int | None = None,
    device: Device = "cpu",
    progress: bool | Listener | None = None,
) -> Evaluation:
    """How good the subset `y` of the rows `x` is, whoever made it, beside random rows and every k-th row.

    `y` are the rows themselves with `weights` that are divided by their sum, or a `Result`, whose weights are used as
    they are; columns are matched and kernel, bandwidth, scale, precision and weights of rows are found as in `mmd`, and
    `embedding`, `landmarks` and `device` are those of `herd`.
    `functions` are numbers, one row for each row of `x`, where `y` is a `Result`, or names of columns that both have;
    distances do not use them. Errors of their means are in the sds of each, or all in one unit (`functions_unit`).

    >>> import numpy as np, supersample as ss
    >>> x = np.random.default_rng(0).normal(size=(1000, 2))
    >>> found = ss.evaluate(x, ss.thin(x, 20))
    >>> bool(found.mmd < found.random.min()), found.mean_error.shape, found.quantile_error.shape
    (True, (2,), (2, 5))
    """
    as_device(device)
    table = _target(x, y, sample_weight, log_weight)
    table, what, of_subset = _with_functions(table, y, Beside(0.0, functions, None, functions_unit))
    points, shares = subset_of(y, weights, table.names, table.values.shape[1])
    kernel, bandwidth, scale = geometry_of(y, kernel, bandwidth, scale)
    samples = prepared(
        table,
        kernel,
        bandwidth,
        scale,
        precision,
        matched=what,
        embedding=embedding,
        landmarks=landmarks,
        device=device,
    )
    with reporting(progress) as listener, explained(table.names, "y"):
        found = _native.evaluate(samples, points, shares, of_subset, as_threads(threads), listener)
    return as_evaluation(found, samples, len(points), len(table.values), table.names)


def as_evaluation(
    found: _native.Evaluation, samples: _native.Samples, size: int, rows: int, names: tuple[str, ...] | None
) -> Evaluation:
    """What the native module has found of a subset of so many rows."""
    others = (found.random_typical, found.spaced_typical)
    random_typical, spaced_typical = (None if errors is None else TypicalErrors(**errors) for errors in others)
    return Evaluation(
        mmd=found.mmd,
        mmd_error=found.mmd_error,
        landmarks=found.landmarks,
        worth=found.worth,
        random=found.random,
        spaced=found.spaced,
        spaced_worth=found.spaced_worth,
        size=size,
        rows=rows,
        mean_error=found.mean_error,
        sd_error=found.sd_error,
        quantile_error=found.quantile_error,
        correlation_rms=found.correlation_rms,
        cdf=found.typical["cdf"],
        functions=found.typical["functions"],
        typical=TypicalErrors(**found.typical),
        random_typical=random_typical,
        spaced_typical=spaced_typical,
        kernel=known_kernel(*samples.kernel),
        names=names or tuple(f"x{j + 1}" for j in range(len(found.mean_error))),
    )


def _with_functions(table: Table, y: Any, beside: Beside) -> tuple[Table, Matched, NDArray[np.float64] | None]:
    """The rows without the columns that are functions, the functions, and those of the rows of `y`."""
    names = named(beside.functions)
    table, what = matching(table, beside)
    own = what.functions
    if own is None:
        return table, what, None
    if isinstance(y, Result) and y.indices is not None and y.rows == len(table.values):
        return table, what, np.ascontiguousarray(own.values[y.indices])
    if names is None or isinstance(y, Result):
        raise ValueError(
            "the functions of y are not known; give y as a Result of these rows, or name columns that x and y both have"
        )
    _, of_subset = split(as_table(y, "y"), names, "y")
    # In the order of those of all rows.
    return table, what, matched(of_subset, own.names, "y").values
