"""Errors of any subset: the MMD, and a table with random rows and every k-th row for comparison."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import _native
from ._advice import tell
from ._diagnose import Diagnosis, diagnosed
from ._files import is_file
from ._functions import refuse_without_functions
from ._inputs import as_rows, as_vector, expect_same_order, has
from ._mixture import GaussianMixture, as_mixture, gaussian_lengths
from ._numbers import aligned, counted, is_all, ordinal, significant, with_error, with_spread
from ._options import JudgeRows, JudgeScored, Options, read, takes
from ._progress import reporting
from ._result import Result
from ._rows import all_rows
from ._tables import (
    OWN_WEIGHTS,
    Roles,
    Table,
    as_table,
    explained,
    has_names,
    kept_number,
    matched,
    names_of,
    roles_of,
)
from ._warnings import warn
from .kernels import Kernel, known_kernel

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: The quantiles that are compared.
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
#: Errors without a column of their own in the table: shown first, or by column of the data.
_WITHOUT_COLUMN = ("mmd", "equivalent_draws", "posterior_draws", "mean", "sd", "quantile", "correlation")


@takes(JudgeRows)
def mmd(x: Any, y: Any, *, subset_weight: Any = None, **options: Unpack[JudgeRows]) -> float:
    """Returns the maximum mean discrepancy (MMD) between `x` and `y`, a float.

    `x` is the target: rows, with `sample_weight` or `log_weight`, or a Gaussian mixture (Gaussian kernel
    only). `y` is a set of points, with weights `subset_weight` (divided by their sum), numbers of rows of
    `x` or a mask, or a `Result`, whose weights are used unchanged. Where both have column names, columns
    are matched by name. Further columns of `y` are ignored, except a column `weight`, which holds its
    weights.

    For a `Result`, kernel, bandwidth, scale and the weights of the rows are by default those by which it
    was chosen; for other points the defaults are gaussian, median and sd. The scale and the median
    bandwidth are computed from `x`, so `mmd(x, y)` differs from `mmd(y, x)`. To compare several sets,
    keep the same `x`, or give `scale="none"` and a bandwidth. A mixture is not scaled, and its median
    bandwidth is that of `sample`. With `precision="mixed"` the MMD is accurate to one part in a thousand.
    The other keywords are those of `herd`. Above 100,000 rows, landmarks are used.

    >>> import numpy as np, supersample as ss
    >>> x = np.random.default_rng(0).normal(size=(500, 2))
    >>> ss.mmd(x, x[:100]) > ss.mmd(x, ss.thin(x, 100))
    True
    >>> normal = ss.GaussianMixture([1], [[0.0]], [[[1.0]]])
    >>> round(ss.mmd(normal, [[-1.0], [0.0], [1.0]], bandwidth=1.0), 4)
    0.0683
    """
    is_mixture = isinstance(x, GaussianMixture) or hasattr(x, "covariance_type")
    # Lengths of a result that was scaled are in other units than those of a mixture, which is not.
    has_units = not is_mixture or (isinstance(y, Result) and y.scale == "none")
    given = read(JudgeRows, by_geometry(options, y) if has_units else options)
    if is_mixture:
        for what in ("sample_weight", "log_weight", "columns", "nan"):
            if given[what] is not None:
                raise ValueError(f"{what} has no effect on a mixture; leave it out")
        if given.get("device", "cpu") != "cpu":
            raise ValueError("device has no effect on a mixture; leave it out")
        target = as_mixture(x)
        points, weights = subset_of(y, subset_weight, Table(np.empty((0, target.means.shape[1]))))
        lengths = gaussian_lengths(given) or [target._native.median(1000, 0)]
        return target._native.mmd(lengths, points, weights, given["threads"])
    table = _target(x, y, given)
    _note_weights(y, table)
    points, weights = subset_of(y, subset_weight, table)
    given.doubt(table.values.shape[1])
    with judging(given, table, len(points)) as given:
        found, doubts = _native.mmd(table.values, given, Options(points=points, weights=weights))
    if not isinstance(y, Result):
        # What is to be said of a result was said when it was chosen.
        tell(doubts, table.names)
    return found


@contextmanager
def judging(given: Options, table: Table, size: int) -> Iterator[Options]:
    """The options by which a subset of this size of these rows is judged, while the native module is at work."""
    with reporting(given["progress"], len(table.values)) as listener, explained(table):
        yield given.also(n=size, progress=listener, **table.data())


def by_geometry(options: Mapping[str, Any], y: Any) -> Mapping[str, Any]:
    """The keywords with the kernel and the scale that a result was chosen by, where no others are given."""
    given = {name: one for name, one in options.items() if one is not None}
    if not isinstance(y, Result):
        return given
    own = y.kernel if options.get("bandwidth") is None else y.kernel.name
    return {"kernel": own, "scale": y.scale, **({"nan": "drop"} if y.dropped else {}), **given}


def own_weights(y: Any, rows: int | None) -> Mapping[str, Any]:
    """The weights of the rows that a result was chosen by, by keyword; with a warning where they are not held."""
    if not isinstance(y, Result) or not y.weighted:
        return {}
    chosen_from = y.n_rows - y.dropped
    if rows is not None and rows != chosen_from:
        doubt = f"they were {counted(chosen_from, 'row')} and x has {rows:,}"
    elif y._row_weights is None:
        doubt = "the result does not hold them: they came in batches, or it was pickled"
    else:
        return y._row_weights
    warn(f"the rows had weights when the result was chosen, but {doubt}; give sample_weight")
    return {}


def _target(x: Any, y: Any, given: Options, **of_rows: Any) -> Table:
    """The rows to be matched, with the weights that a result was chosen by where none are given."""
    roles = roles_of(given)
    if isinstance(y, Result) and y.names is not None and roles.columns is None and (has_names(x) or is_file(x)):
        # A result is measured by the columns that it was chosen by.
        roles = replace(roles, columns=y.names)
    if getattr(getattr(y, "dtype", None), "kind", None) == "b":
        expect_same_order(x, y, "y")
    weights = {name: given.pop(name, None) for name in ("sample_weight", "log_weight")}
    table = all_rows(x, roles, **weights, **of_rows)
    if table.is_weighted() or table.scores is not None:
        return table
    held = held_weights(y, table)
    return replace(table, weights=held.get("sample_weight"), log_weights=held.get("log_weight"))


def _note_weights(y: Any, table: Table) -> None:
    """Warns of a column of weights that is not used; of a result it was said when it was chosen."""
    if not isinstance(y, Result) and not table.is_weighted():
        for note in _native.column_notes([(name, False, False) for name in table.unused]):
            warn(note)


def held_weights(y: Any, table: Table) -> dict[str, NDArray[np.float64]]:
    """The weights of these rows that a result was chosen by, by keyword."""
    held = {name: _in_memory(one) for name, one in own_weights(y, len(table.values)).items()}
    # Weights that were given for all rows.
    return {name: np.delete(one, table.dropped) if len(one) == table.rows else one for name, one in held.items()}


def _in_memory(weights: Any) -> NDArray[np.float64]:
    """Weights as numbers, computed where they are those of a Dask collection."""
    if isinstance(weights, list):
        from dask import compute

        weights = np.concatenate([np.asarray(part) for part in compute(*weights)])
    return as_vector(weights, "sample_weight")


def subset_of(y: Any, subset_weight: Any, of: Table) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    """The points of a subset with the columns of these rows, and their weights unless equal. Columns are matched by
    name, or by their number where there are no names."""
    names, columns = of.names, of.values.shape[1]
    if isinstance(y, Result):
        if subset_weight is not None:
            raise ValueError("subset_weight has no effect on a Result, which has its own weights; leave it out")
        points = matched(Table(y.points, y.names), names, "the result").values
        if y._has_equal_weights():
            return points, None
        # Weights may be given another sum (`total`).
        total = float(y.weights.sum())
        return points, y.weights if abs(total - 1) < 1e-6 else y.weights / total
    rows = numbers_of(y, of)
    if rows is not None:
        return np.ascontiguousarray(of.values[rows]), _shares(subset_weight)
    given = as_table(y, "y", Roles(keep_weights=True))
    # A column of weights as the command and `Result.to_frame` write it; other columns are not asked for.
    own = next((name for name in reversed(OWN_WEIGHTS) if name in (given.names or ())), None)
    if own is not None and own not in (names or ()) and (names is not None or given.values.shape[1] == columns + 1):
        assert given.names is not None
        if subset_weight is None:
            subset_weight = given.values[:, given.names.index(own)]
        given = matched(given, tuple(name for name in given.names if name != own), "y")
    points = matched(given, names, "y").values
    return points, _shares(given.weights if subset_weight is None else subset_weight)


def numbers_of(y: Any, of: Table) -> NDArray[np.int64] | None:
    """The places of rows that are given by their numbers or by a mask; None for points."""
    is_series = has(y, "dtype", "to_frame")
    if (has_names(y) and not is_series) or np.ndim(y) != 1 or not len(of.values):
        return None
    if np.asarray(y).dtype.kind not in "iub":
        return None
    numbers = kept_number(of.dropped, as_rows(y, of.rows, "y"), "y")
    if not len(numbers):
        raise ValueError("y names no row; give at least one")
    return numbers


def _shares(weights: Any) -> NDArray[np.float64] | None:
    """Weights divided by their sum; None for equal ones."""
    if weights is None:
        return None
    shares = as_vector(weights, "subset_weight")
    total = float(shares.sum())
    if not (np.isfinite(total) and total > 0):
        raise ValueError(f"the weights sum to {total}; their sum must be positive")
    return np.divide(shares, total)


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """The errors of a subset, as `evaluate` returns them. Printing shows a table.

    Errors of columns are subset minus all rows, in standard deviations of all rows.

    >>> import numpy as np, supersample as ss
    >>> x = np.random.default_rng(0).normal(size=(1000, 2))
    >>> ss.evaluate(x, ss.thin(x, 20))
                        MMD             equivalent draws of these 1,000 rows   of the posterior   cdf
    this subset of 20   0.00609         11,300                                 891                0.0174
    random 20 rows      0.142 ± 0.049   20                                     19.6               0.0924
    every 50th row      0.0965          44.9                                   42.9               0.0608
    worst error, in sds of all rows: mean 0.00780 (x2), sd 0.00958 (x2), quantile 0.153 (x2, 5%)
    """

    errors: Mapping[str, float | None]
    """The errors of the subset by name: `mmd`, `equivalent_draws`, `cdf`, `functions_error`, and `mean`, `sd`,
    `quantile` and `correlation` (root mean square over all columns, in standard deviations of all rows). None where an
    error is unknown or undefined."""
    random_errors: Mapping[str, float | None] | None
    """The mean errors of random subsets of the same size; None if the subset is not smaller than the data."""
    spaced_errors: Mapping[str, float | None] | None
    """The errors of every k-th row, or of rows at equal steps of the cumulative weight."""
    mmd_error: float | None
    """The standard error of the MMD, where landmarks approximate the mean embedding; None where it is exact."""
    landmarks: int | None
    """The number of landmarks; None where all pairs of rows were compared."""
    random: NDArray[np.float64] | None
    """The MMDs of 20 random subsets of the same size, fewer (at least 3) for more than 10,000 rows; None if the subset
    is not smaller than the data."""
    draws: Diagnosis | None
    """The accuracy of the rows as draws in chains; None where it is not known."""
    size: int
    """The number of rows of the subset."""
    n_rows: int
    """The number of rows of the data."""
    mean_error: NDArray[np.float64]
    """The error of the mean of each column; NaN for a constant column."""
    sd_error: NDArray[np.float64]
    """The error of the standard deviation of each column; NaN also where weights are negative."""
    quantile_error: NDArray[np.float64]
    """The error of the 5, 25, 50, 75 and 95 % quantiles (Hazen's definition), one row for each column."""
    kernel: Kernel
    """The kernel, its bandwidth in the units of the scaled points."""
    names: tuple[str, ...]
    """The names of the columns, or x1, x2, …."""

    @property
    def mmd(self) -> float:
        """The MMD of the subset.

        >>> import supersample as ss
        >>> ss.evaluate([[0.0], [1.0], [5.0]], [[0.0], [1.0], [5.0]]).mmd < 1e-7
        True
        """
        found = self.errors["mmd"]
        assert found is not None
        return found

    @property
    def equivalent_draws(self) -> float | None:
        """The number of independent draws of these rows with the same expected squared MMD; see
        `Result.equivalent_draws`.

        >>> import numpy as np, supersample as ss
        >>> x = np.random.default_rng(0).normal(size=(1000, 2))
        >>> ss.evaluate(x, x[::50]).equivalent_draws > 20
        True
        """
        return self.errors["equivalent_draws"]

    @property
    def posterior_draws(self) -> float | None:
        """How many independent draws of what the rows were drawn from are as accurate; see `Result.posterior_draws`.

        >>> import numpy as np, supersample as ss
        >>> x = np.random.default_rng(0).normal(size=(1000, 2))
        >>> found = ss.evaluate(x, x[::50], chains=4)
        >>> found.posterior_draws < found.equivalent_draws
        True
        """
        return self.errors["posterior_draws"]

    @property
    def cdf(self) -> float | None:
        """The distance between the distribution functions of the subset and of all rows, root mean square over the
        columns. Independent draws have 0.408/√T where no values tie, and less where they do. None where every column is
        constant.

        >>> import numpy as np, supersample as ss
        >>> x = np.random.default_rng(0).normal(size=(1000, 2))
        >>> ss.evaluate(x, ss.thin(x, 20)).cdf < 0.408 / 20**0.5
        True
        """
        return self.errors["cdf"]

    @property
    def functions_error(self) -> float | None:
        """The error of the means of the given functions, root mean square, in their units; None without functions.

        >>> import numpy as np, supersample as ss
        >>> x = np.random.default_rng(0).normal(size=(1000, 2))
        >>> ss.evaluate(x, ss.thin(x, 20), functions=x**2).functions_error < 0.5
        True
        """
        return self.errors["functions_error"]

    def __repr__(self) -> str:
        header = self._header(f"equivalent draws of these {counted(self.n_rows, 'row')}")
        return f"{aligned([header, *self._lines()])}\n{self._worst()}"

    def _repr_html_(self) -> str:
        from ._html import evaluation_view

        return evaluation_view(self)

    def _others(self) -> list[str]:
        """The errors that have a column of their own, in addition to the MMD and the equivalent draws."""
        return [name for name, error in self.errors.items() if name not in _WITHOUT_COLUMN and error is not None]

    def _header(self, draws: str) -> tuple[str, ...]:
        posterior = ["of the posterior"] * (self.draws is not None)
        return ("", "MMD", draws, *posterior, *(name.replace("_", " ") for name in self._others()))

    def _lines(self) -> list[tuple[str, ...]]:
        """What, its MMD, its equivalent draws and its other errors: this subset, random ones, an evenly spaced one."""

        def others(errors: Mapping[str, float | None]) -> tuple[str, ...]:
            found = (errors[name] for name in self._others())
            return tuple("" if error is None else significant(error) for error in found)

        def of_posterior(draws: float | None) -> tuple[str, ...]:
            if self.draws is None:
                return ()
            return ("" if draws is None else significant(self.draws.of_posterior(draws)),)

        mmd = significant(self.mmd) if self.mmd_error is None else with_error(self.mmd, self.mmd_error)
        own = self.equivalent_draws
        lines = [(f"this subset of {self.size:,}", mmd, self._shown(own), *of_posterior(own), *others(self.errors))]
        if self.random is not None and self.random_errors is not None and self.spaced_errors is not None:
            spread = with_spread(float(self.random.mean()), float(self.random.std(ddof=1)))
            random = others(self.random_errors)
            lines.append(
                (f"random {counted(self.size, 'row')}", spread, f"{self.size:,}", *of_posterior(self.size), *random)
            )
            spaced = self.spaced_errors
            mmd = significant(spaced["mmd"] or 0.0)
            evenly = spaced["equivalent_draws"]
            lines.append((self._spacing(), mmd, self._shown(evenly), *of_posterior(evenly), *others(spaced)))
        return lines

    def _shown(self, draws: float | None) -> str:
        if draws is None:
            return ""
        return "as good as all" if is_all(draws, self.n_rows) else significant(draws)

    def _spacing(self) -> str:
        steps, rest = divmod(self.n_rows, self.size)
        return "evenly spaced rows" if rest else f"every {ordinal(steps)} row"

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


@takes(JudgeScored)
def evaluate(x: Any, y: Any, *, subset_weight: Any = None, **options: Unpack[JudgeScored]) -> Evaluation:
    """Returns the errors of any subset `y` of the rows `x`, compared with random rows and every k-th row.

    `y` is a set of rows with weights `subset_weight` (divided by their sum), numbers of rows of `x` or a
    mask, or a `Result`, whose weights are used unchanged. Columns are matched, and kernel, bandwidth,
    scale and weights of the rows are found, as in `mmd`. `functions` are names of columns that both have,
    or, where `y` is a `Result` or row numbers, numbers with one row per row of `x`; distances do not use
    them. The errors of their means are in standard deviations of each function, or in one common unit
    (`functions_unit`). With `scores`, or for a `Result` chosen with scores, errors are relative to the
    corrected draws. The other keywords are those of `herd`.

    >>> import numpy as np, supersample as ss
    >>> x = np.random.default_rng(0).normal(size=(1000, 2))
    >>> found = ss.evaluate(x, ss.thin(x, 20))
    >>> bool(found.mmd < found.random.min()), found.mean_error.shape, found.quantile_error.shape
    (True, (2,), (2, 5))
    """
    given = read(JudgeScored, by_geometry(options, y))
    if given["target"] == "density":
        raise ValueError("the distance from a density is its KSD; supersample.stein.ksd gives it")
    refuse_without_functions(given)
    chains = None if isinstance(given["chains"], str) else given.pop("chains", None)
    functions, scores = options.get("functions"), given.pop("scores", None)
    numbers = None if names_of(functions) else given.pop("functions", None)
    table = _target(x, y, given, functions=numbers, chains=chains, scores=scores)
    _note_weights(y, table)
    of_subset = _functions_of(y, table, functions)
    points, weights = subset_of(y, subset_weight, table)
    given.doubt(table.values.shape[1])
    with judging(given, table, len(points)) as given:
        subset = Options(points=points, weights=weights, functions=of_subset)
        found = _native.evaluate(table.values, given, subset)
    if not isinstance(y, Result):
        tell(found.advice, table.names)
    return as_evaluation(found, len(points), table.names)


def as_evaluation(found: _native.Evaluation, size: int, names: tuple[str, ...] | None) -> Evaluation:
    """The evaluation of a subset of `size` rows, from what the native module returns."""
    same = "errors random_errors spaced_errors mmd_error random mean_error sd_error quantile_error"
    return Evaluation(
        **{name: getattr(found, name) for name in same.split()},
        landmarks=found.of.landmarks,
        draws=None if found.draws is None else diagnosed(found.draws),
        size=size,
        n_rows=found.of.n_rows,
        kernel=known_kernel(*found.of.kernel),
        names=names or tuple(f"x{j + 1}" for j in range(len(found.mean_error))),
    )


def _functions_of(y: Any, table: Table, functions: Any) -> NDArray[np.float64] | None:
    """The functions of the rows of `y`."""
    own, names = table.functions, names_of(functions)
    if own is None:
        return None
    rows = numbers_of(y, table)
    if isinstance(y, Result) and y.indices is not None and y.n_rows == table.rows:
        rows = kept_number(table.dropped, y.indices, "the result")
    if rows is not None:
        return np.ascontiguousarray(own.values[rows])
    if names is None or isinstance(y, Result):
        raise ValueError(
            "the functions of y are unknown; give y as a Result of these rows, or name columns that x and y both have"
        )
    of_subset = as_table(y, "y", Roles(functions=tuple(names))).functions
    assert of_subset is not None
    # In the order of those of all rows.
    return matched(of_subset, own.names, "y").values
