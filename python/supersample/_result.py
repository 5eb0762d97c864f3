"""The results of herd, thin and sample."""

from __future__ import annotations

import copy
import os
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import _native
from ._diagnose import Diagnosis, diagnosed
from ._frames import is_posterior, libraries
from ._inputs import has
from ._numbers import counted, equivalent_shown, significant, with_error
from ._tables import Table, given_number
from .kernels import Kernel, known_kernel

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame
    from typing_extensions import Self
else:
    # Type hints can be resolved without these packages.
    Axes = DataFrame = Self = Any

#: The errors that are shown first.
_FIRST = ("mmd", "equivalent_draws", "posterior_draws")


@dataclass(frozen=True)
class Refinement:
    """The gain of the swaps and the search of `thin`, as MMDs with equal weights, and their cost.

    Swaps and search reduce `objective`. Where it includes marginals, moments or functions, as by default, the MMD may
    rise.

    >>> import numpy as np, supersample as ss
    >>> x = np.random.default_rng(0).normal(size=(500, 2))
    >>> story = ss.thin(x, 20, marginals=0, moments=0).refinement
    >>> story.mmd_before > story.mmd_swapped >= story.mmd_searched
    True
    >>> stages = ss.thin(x, 20).refinement.objective
    >>> stages["before"] > stages["swapped"] >= stages["searched"]
    True
    >>> story.converged and story.swaps >= story.sweeps > 0
    True
    """

    mmd_before: float
    """The MMD of the rows before the swaps."""
    mmd_swapped: float
    """The MMD after the swaps."""
    mmd_searched: float | None
    """The MMD after the search; None without one."""
    objective: Mapping[str, float | None] | None
    """The objective `before` the swaps, `swapped` and `searched`, in units of one random draw; None where it is the
    MMD."""
    herded: bool
    """Whether the swaps started from herded rows. With `tol` or `equivalent_draws` they may start from a larger
    subset."""
    swaps: int
    """The number of swaps, without those of the search."""
    sweeps: int
    """The number of sweeps over the chosen rows."""
    kernel_rows: int
    """The cost: how many rows of the kernel matrix were computed."""
    converged: bool
    """Whether no single swap reduces the objective further."""

    def __str__(self) -> str:
        stages = [("herding" if self.herded else "start", self.mmd_before), ("swaps", self.mmd_swapped)]
        if self.mmd_searched is not None:
            stages.append(("search", self.mmd_searched))
        shown = " → ".join(f"{significant(mmd)} ({stage})" for stage, mmd in stages)
        if self.objective is not None:
            ends = (significant(end) for end in self.objective.values() if end is not None)
            shown += f"; objective {' → '.join(ends)}"
        return f"{shown}; {counted(self.swaps, 'swap')} in {counted(self.sweeps, 'sweep')}"


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """The chosen points, in the order of choice, with their weights and errors.

    >>> import numpy as np, supersample as ss
    >>> draws = np.random.default_rng(0).normal(size=(1000, 2))
    >>> result = ss.herd(draws, 20, chains=1000)  # independent draws
    >>> result
    Result: 20 of 1,000 rows
      MMD 0.0320, equivalent to 410 draws of these 1,000 rows and 291 of the posterior, cdf 0.0400
      all 1,000 draws are taken as independent (kernel ESS 1,000)
      gaussian kernel, bandwidth 1.67, columns scaled to unit sd
    >>> bool(np.all(result.points == draws[result.indices]))
    True
    >>> len(result), result.error.shape, round(float(result.weights.sum()), 9)
    (20, (20,), 1.0)
    """

    indices: NDArray[np.int64] | None
    """The numbers of the chosen rows, counted from 0; None for points of `sample`, which are not rows."""
    points: NDArray[np.float64]
    """The chosen points, before scaling."""
    weights: NDArray[np.float64]
    """The weight of each point: 1/T, or as `weights` asked."""
    error: NDArray[np.float64]
    """E_T, the MMD of the first T points with equal weights, for every T. It does not fall at every step."""
    errors: Mapping[str, float | None]
    """The errors of all points with their weights, by name: `mmd`, `equivalent_draws`, `cdf`, …; None where one was not
    computed. `evaluate` computes all."""
    kernel: Kernel
    """The kernel, its bandwidth in the units of the scaled points."""
    ended: str
    """Why the choice ended: 'number', 'exhausted', or the goal that was reached ('tolerance', 'equivalent_draws')."""
    n_rows: int
    """The number of rows to choose from; 0 for `sample`."""
    scale: str
    """How columns were scaled before distances were computed."""
    precision: str
    """The precision of the kernel values."""
    names: tuple[str, ...] | None = None
    """The names of the columns used for distances, if they have names."""
    unused: tuple[str, ...] = ()
    """The columns that were not used, because they are ids or weights."""
    weighted: bool = False
    """Whether the rows to choose from had weights."""
    refinement: Refinement | None = None
    """The gain of swaps and search; None for `herd` and `sample`."""
    mmd_error: float | None = None
    """The standard error of the MMD, where landmarks approximate the mean embedding; None where it is exact."""
    landmarks: int | None = None
    """The number of landmarks; None where all pairs of rows were compared."""
    pool_rows: int | None = None
    """The size of the random sample of rows to choose from; None where any row could be chosen."""
    objective: str = "joint MMD"
    """What was minimised: the MMD of the joint distribution, alone or with marginals, moments and functions."""
    draws: Diagnosis | None = None
    """The accuracy of the rows as draws in chains; None where it is not known: for `sample`, scores, a Gram matrix and
    rows in batches."""
    corrected: Mapping[str, Any] | None = None
    """How scores corrected the rows, where they were given: the kind of Stein `features` whose means are zero (None if
    none help), their `count`, the kind that was `tried`, the `effective_share` of the weights, and `variance_left`, the
    share of the variance of held-out rows that the features do not explain."""
    overlap: Mapping[str, Any] | None = None
    """With `match`, how much of the target the rows can reach: the number of its `rows`; the share that is `unreached`,
    with no row within `length` (the bandwidth); the columns in which a share of it is `outside` the range of the rows,
    with these shares; the `floor`, the MMD of the best weights on all rows, and `floor_draws`, the number of draws of
    the target with this MMD."""
    published: tuple[Mapping[str, Any], ...] = ()
    """With `match_summary`, each published number: its `column`, what `number` it is (mean, sd, quantile, share,
    correlation), the `level`, the `value` or the other column (`with`), `n`, what was `published` and `reached`, the
    `error` (in sds of the column for means, sds and quantiles), the error in `standard_errors` where n is known, and
    the number over `all_rows`."""
    dropped: int = 0
    """The number of rows that were left out because they have NaN (`nan="drop"`); `indices` count them."""
    preconditioner: str | float | None = None
    """The preconditioner of the Stein kernel; None for other kernels."""
    _data: NDArray[np.float64] | None = field(default=None)
    #: The weights of the rows that were not left out, by keyword; None where there are none or they are not held.
    _row_weights: Mapping[str, Any] | None = field(default=None)
    #: A sentence about the scores of the rows; empty where there is nothing to report.
    _of_scores: str = field(default="")
    #: Sentences about columns that few rows represent badly.
    _cautions: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        for array in (self.indices, self.points, self.weights, self.error):
            if array is not None:
                array.setflags(write=False)

    @property
    def mmd(self) -> float:
        """The MMD of all points with their weights; the KSD for results of `supersample.stein`.

        >>> import supersample as ss
        >>> ss.thin([[0.0], [1.0], [5.0]], 3).mmd < 1e-7
        True
        """
        found = self.errors["mmd"]
        assert found is not None
        return found

    @property
    def equivalent_draws(self) -> float | None:
        """The number of independent draws of these rows (or of the mixture) with the same expected squared MMD.

        It compares with the given rows, and does not include their own sampling error. None where all rows are
        identical. A lower bound where the MMD is only rounding error.

        >>> import numpy as np, supersample as ss
        >>> ss.thin(np.random.default_rng(0).normal(size=(500, 2)), 20).equivalent_draws > 100
        True
        """
        return self.errors["equivalent_draws"]

    @property
    def posterior_draws(self) -> float | None:
        """The equivalent number of independent draws of the distribution behind the rows.

        It is `equivalent_draws` with the error of the rows themselves (`draws`) included. None where that is not known.

        >>> import numpy as np, supersample as ss
        >>> result = ss.thin(np.random.default_rng(0).normal(size=(500, 2)), 20, chains=4)
        >>> 100 < result.posterior_draws < result.equivalent_draws
        True
        """
        return self.errors["posterior_draws"]

    @property
    def cdf(self) -> float | None:
        """The distance between the distribution functions of the chosen points and of all rows.

        It is the root mean square over the columns. Independent draws have 0.408/√T where no values tie, and less where
        they do. None for `sample`.

        >>> import numpy as np, supersample as ss
        >>> ss.thin(np.random.default_rng(0).normal(size=(500, 2)), 20).cdf < 0.408 / 20**0.5
        True
        """
        return self.errors["cdf"]

    @property
    def functions_error(self) -> float | None:
        """The error of the means of the given functions, root mean square, in their units; None without functions.

        >>> import numpy as np, supersample as ss
        >>> x = np.random.default_rng(0).normal(size=(500, 2))
        >>> ss.thin(x, 20, functions=x**2).functions_error < 0.1
        True
        """
        return self.errors["functions_error"]

    def __len__(self) -> int:
        return len(self.points)

    def __getstate__(self) -> dict[str, Any]:
        # Without the rows that were not chosen: a pickle of 100 points should be small.
        return {**self.__dict__, "_data": None, "_row_weights": None}

    def __copy__(self) -> Self:
        # Not by pickling, so that nothing is lost.
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        other = object.__new__(type(self))
        memo[id(self)] = other
        # The rows and their weights are never changed, so they are shared.
        shared = {"_data": self._data, "_row_weights": self._row_weights}
        other.__dict__.update({**copy.deepcopy(self.__getstate__(), memo), **shared})
        other.__post_init__()
        return other

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()

    def __getitem__(self, item: Any) -> Any:
        return self.points[item]

    def __iter__(self) -> Iterator[NDArray[np.float64]]:
        return iter(self.points)

    def __contains__(self, item: Any) -> bool:
        raise TypeError("a result holds points; for a row number ask whether it is in .indices")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False and dtype not in (None, self.points.dtype):
            raise ValueError(f"the points are of type {self.points.dtype} and cannot become {dtype} without a copy")
        return np.array(self.points, dtype=dtype) if copy or dtype is not None else self.points

    def take(self, x: Any) -> Any:
        """Returns the chosen rows of any object with the same rows: an array, a frame, a list, a dict of arrays.

        >>> import numpy as np, supersample as ss
        >>> x = np.random.default_rng(0).normal(size=(50, 2))
        >>> labels = np.arange(50) % 3
        >>> ss.thin(x, 4).take(labels).shape
        (4,)
        >>> {name: part.shape for name, part in ss.thin(x, 4).take({"mu": x[:, 0], "theta": x}).items()}
        {'mu': (4,), 'theta': (4, 2)}
        """
        if self.indices is None:
            raise ValueError("points of sample are not rows; use .points")
        taken = _rows_of(x, self.indices, self.n_rows)
        if self.weighted and has(taken, "isweighted", "set_weights") and taken.isweighted():
            # Chosen rows represent the weighted rows; with the old weights they would be weighted twice.
            taken = taken.set_weights(None if self._has_equal_weights() else self.weights)
        return taken

    def _as_table(self) -> Table:
        """The points as rows, with their weights unless equal."""
        return Table(self.points, self.names, weights=None if self._has_equal_weights() else self.weights)

    def to_frame(self) -> DataFrame:
        """Returns the points as a pandas frame, indexed by row number; unequal weights are the column `weight`.

        >>> import numpy as np, supersample as ss
        >>> frame = ss.thin([[0.0, 3.0], [1.0, 4.0], [5.0, 4.0]], 2).to_frame()
        >>> frame.shape, list(frame.columns), frame.index.name
        ((2, 2), ['x1', 'x2'], 'row')
        """
        try:
            import pandas as pd
        except ImportError:
            raise ImportError("to_frame needs pandas: pip install pandas") from None
        names = list(self.names or (f"x{j + 1}" for j in range(self.points.shape[1])))
        index = None if self.indices is None else pd.Index(self.indices, name="row")
        frame = pd.DataFrame(self.points.copy(), columns=names, index=index)
        if not self._has_equal_weights():
            frame["supersample_weight" if "weight" in names else "weight"] = self.weights
        return frame

    def __repr__(self) -> str:
        story = [] if self.refinement is None else [f"{self._error_name()} {self.refinement}"]
        unused = [f"not used: {', '.join(self.unused)}"] * bool(self.unused)
        objective = [f"objective: {self.objective}"] * (not self._is_of_joint_alone())
        of_scores = [self._of_scores] * bool(self._of_scores)
        draws = [] if self.draws is None else [str(self.draws)]
        if self.overlap is not None:
            draws.append(f"matched {counted(self.overlap['rows'], 'other row')}: {self.overlap['sentence']}")
        if self.published:
            worst = max(self.published, key=lambda one: abs(one["error"]))
            numbers = counted(len(self.published), "published number")
            draws.append(f"matched {numbers}; the largest error is {abs(worst['error']):.2g} ({_described(worst)})")
        cautions = [f"note: {caution}" for caution in self._cautions]
        lines = (self._how_good(), *draws, *objective, *story, self._how(), *unused, *of_scores, *cautions)
        return "\n  ".join(("Result: " + self._what(), *lines))

    def _repr_html_(self) -> str:
        from ._html import result_view

        return result_view(self)

    def _what(self) -> str:
        if self.indices is None:
            return f"{counted(len(self), 'point')} in {counted(self.points.shape[1], 'dimension')}"
        distinct = len(np.unique(self.indices))
        repeats = "" if distinct == len(self) else f" ({distinct:,} distinct)"
        of = "times among" if len(self) > self.n_rows else "of"
        dropped = f", {self.dropped:,} of them left out because of NaN" if self.dropped else ""
        is_sample = self.pool_rows is not None and self.pool_rows < self.n_rows - self.dropped
        pool = f", chosen from {self.pool_rows:,} random rows" if is_sample else ""
        return f"{len(self):,} {of} {counted(self.n_rows, 'row')}{repeats}{dropped}{pool}"

    def _has_equal_weights(self) -> bool:
        return bool(np.all(self.weights == self.weights[0]))

    def _rows_matched(self) -> int:
        """The number of rows that equivalent draws are of; 0 for a KSD, which is compared with draws of the density."""
        if self._is_stein():
            return 0
        return self.n_rows if self.overlap is None else int(self.overlap["rows"])

    def _how_good(self) -> str:
        rows = self._rows_matched()
        draws = self.equivalent_draws
        shown = "" if draws is None else f", {equivalent_shown(draws, rows)}"
        if self.posterior_draws is not None:
            shown += f" and {significant(self.posterior_draws)} of the posterior"
        others = "".join(f", {name} {significant(error)}" for name, error in self._others())
        weights = "" if self._has_equal_weights() else " with unequal weights"
        return f"{self._error_name()} {self._mmd_shown()}{weights}{shown}{others}"

    def _mmd_shown(self) -> str:
        mmd = significant(self.mmd) if self.mmd_error is None else with_error(self.mmd, self.mmd_error)
        return mmd + ("" if self.landmarks is None else f" ({counted(self.landmarks, 'landmark')})")

    def _others(self) -> list[tuple[str, float]]:
        """The errors that are known in addition to the MMD and the equivalent draws."""
        others = [(name, error) for name, error in self.errors.items() if name not in _FIRST and error is not None]
        return [(name.replace("_", " "), error) for name, error in others]

    def _is_of_joint_alone(self) -> bool:
        return self.objective in ("joint MMD", "KSD")

    def _is_stein(self) -> bool:
        return self.kernel.name.startswith("stein-")

    def _error_name(self) -> str:
        return "KSD" if self._is_stein() else "MMD"

    def _how(self) -> str:
        lengths = ", ".join(map(significant, self.kernel.bandwidths))
        bandwidth = f", bandwidth {lengths}" if lengths else ""
        given = self.preconditioner
        shown = significant(given) if isinstance(given, float) else given
        preconditioner = "" if given in (None, "identity") else f", preconditioner {shown}"
        scale = f", columns {_native.SCALES[self.scale]}" if self.n_rows else ""
        return f"{self.kernel.name} kernel{bandwidth}{preconditioner}{scale}"

    def plot_error(self, ax: Axes | None = None) -> Axes:
        """Plots the MMD of the first T points for every T, with the average for iid draws; returns the axes.

        >>> import numpy as np, supersample as ss
        >>> result = ss.herd(np.random.default_rng(0).normal(size=(200, 2)), 50)
        >>> result.plot_error().get_xlabel()
        'points T'
        """
        from ._plots import plot_error

        return plot_error(self, ax)

    def plot_marginals(
        self, data: Any = None, *, columns: Any = None, sample_weight: Any = None
    ) -> NDArray[np.object_]:
        """Plots the distribution function of each column, for all rows and the chosen points; returns the axes.

        `data` are all rows, with weights `sample_weight`; they are needed only after pickling. `columns` are names or
        numbers, by default the first 12.

        >>> import numpy as np, supersample as ss
        >>> result = ss.herd(np.random.default_rng(0).normal(size=(200, 2)), 50)
        >>> result.plot_marginals().shape
        (2,)
        """
        from ._plots import plot_marginals

        return plot_marginals(self, data, columns, sample_weight)

    def plot_pairs(self, data: Any = None, *, columns: Any = None, sample_weight: Any = None) -> NDArray[np.object_]:
        """Plots every pair of columns, with all rows behind the chosen points; returns a square of axes.

        `data`, `sample_weight` and `columns` as in `plot_marginals`, by default the first 4 columns.

        >>> import numpy as np, supersample as ss
        >>> result = ss.herd(np.random.default_rng(0).normal(size=(200, 3)), 50)
        >>> result.plot_pairs().shape
        (3, 3)
        """
        from ._plots import plot_pairs

        return plot_pairs(self, data, columns, sample_weight)


@dataclass(frozen=True, eq=False, repr=False)
class PoolResult(Result):
    """The result of `herd` and `thin`: the points are rows of the input.

    >>> import supersample as ss
    >>> result = ss.thin([[0.0], [1.0], [5.0]], 2)
    >>> isinstance(result, ss.PoolResult), result.indices.dtype
    (True, dtype('int64'))
    """

    indices: NDArray[np.int64]
    """The numbers of the chosen rows, counted from 0."""


def result_of(chosen: _native.Chosen, rows: Any, objective: str) -> PoolResult:
    """The result of the native module, with what is known of the rows: names, and rows that were left out."""
    of, refinement = chosen.of, chosen.refinement
    assert of is not None
    held = getattr(rows, "row_weights", None) if of.shares is None else {"sample_weight": of.shares}
    return PoolResult(
        indices=given_number(rows.dropped, chosen.rows),
        **_common(chosen),
        kernel=known_kernel(*of.kernel),
        n_rows=of.n_rows + len(rows.dropped),
        scale=of.scale,
        precision=of.precision,
        names=rows.names,
        unused=rows.unused,
        weighted=of.is_weighted,
        refinement=None if refinement is None else Refinement(**refinement),
        mmd_error=chosen.mmd_error,
        landmarks=of.landmarks,
        pool_rows=chosen.pool_rows,
        draws=None if chosen.draws is None else diagnosed(chosen.draws),
        objective=objective,
        corrected=of.corrected,
        overlap=_named_overlap(chosen.overlap, rows.names),
        published=tuple(_named_number(one, rows.names) for one in chosen.published),
        dropped=len(rows.dropped),
        _data=background(*of.background),
        _row_weights=held,
        _of_scores=_said_of_rows(chosen),
        _cautions=tuple(piece.sentence(rows.names) for piece in chosen.advice if piece.is_caution),
    )


def _named_number(one: Mapping[str, Any], names: tuple[str, ...] | None) -> Mapping[str, Any]:
    if names is None:
        return one
    other = one["with"]
    return {**one, "column": names[one["column"]], "with": None if other is None else names[other]}


def _described(one: Mapping[str, Any]) -> str:
    of = next((f" {one[key]}" for key in ("level", "value", "with") if one[key] is not None), "")
    return f"{one['column']}, {one['number']}{of}"


def _named_overlap(overlap: Mapping[str, Any] | None, names: tuple[str, ...] | None) -> Mapping[str, Any] | None:
    if overlap is None:
        return None
    outside = {(column if names is None else names[column]): share for column, share in overlap["outside"]}
    return {**overlap, "outside": outside}


def placed_result(
    chosen: _native.Chosen,
    kernel: Kernel,
    data: NDArray[np.float64],
    scale: str = "none",
    names: tuple[str, ...] | None = None,
) -> Result:
    """The result for points that are not rows; `data` is the background of plots."""
    common = _common(chosen)
    return Result(None, **common, kernel=kernel, n_rows=0, scale=scale, precision="double", names=names, _data=data)


def _common(chosen: _native.Chosen) -> dict[str, Any]:
    points, weights = chosen.points, chosen.weights
    return {
        "points": points,
        "weights": np.full(len(points), 1 / len(points)) if weights is None else weights,
        "error": chosen.error,
        "errors": chosen.errors,
        "ended": chosen.ended,
    }


def _said_of_rows(chosen: _native.Chosen) -> str:
    """A sentence about the scores of the rows. It is not a warning: burn-in is a reason to choose by scores."""
    return next((piece.sentence() for piece in chosen.advice if piece.is_of_scores), "")


def background(values: NDArray[np.float64], weights: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """A sample of the rows, as the background of plots."""
    if weights is None:
        return values
    # At equal steps of the summed weight.
    steps = (np.arange(len(values)) + 0.5) / len(values)
    reached = np.cumsum(weights / weights.sum())
    chosen: NDArray[np.float64] = values[np.searchsorted(reached, steps).clip(max=len(values) - 1)]
    return chosen


def _rows_of(x: Any, indices: NDArray[np.int64], rows: int, what: str = "x") -> Any:
    """The rows with these numbers of an object that has `rows` of them."""
    if isinstance(x, (str, bytes, os.PathLike)):
        raise TypeError(f"{what} is a text or a path; read the file and give what it holds, or use result.indices")
    if is_posterior(x):
        if has(x, "dims") and not has(x, "children") and not {"chain", "draw", "sample"} & set(x.dims):
            raise TypeError(f"{what} has no chains and draws; use {what}.isel({next(iter(x.dims))}=result.indices)")
        raise TypeError(f"{what} holds chains and draws; use supersample.arviz.take({what}, result)")
    if isinstance(x, Mapping):
        return {name: _rows_of(part, indices, rows, f"'{name}' of {what}") for name, part in x.items()}
    kinds = libraries(x)
    if "polars" in kinds and has(x, "collect"):
        x = x.collect()
    if has(x, "columns", "compute"):
        x = x.compute()
    if has(x, "getParamNames", "samples"):
        raise TypeError(f"{what} is of type {type(x).__name__}; take the rows of its arrays, such as {what}.samples")
    if has(x, "tocsr"):
        # Not every sparse matrix has rows.
        x = x.tocsr()
    found = _count(x, what)
    if isinstance(x, tuple) and hasattr(x, "_fields") and found != rows:
        return type(x)(*(_rows_of(part, indices, rows, f"{name} of {what}") for name, part in zip(x._fields, x)))
    if found != rows:
        raise ValueError(f"{what} has {counted(found, 'row')}, but the result was chosen from {counted(rows, 'row')}")
    # Read-only arrays make other libraries warn.
    indices = indices.copy()
    if has(x, "iloc", "reindex"):
        return x.iloc[indices]
    if "pyarrow" in kinds:
        return x.take(indices)
    if has(x, "typecode") or isinstance(x, memoryview):
        return np.asarray(x)[indices]
    if not has(x, "__array__") and isinstance(x, (Sequence, deque)):
        listed = [x[row] for row in indices.tolist()]
        return listed if isinstance(x, range) or hasattr(x, "_fields") else type(x)(listed)  # type: ignore[call-arg]
    if "h5py" in kinds:
        # h5py reads rows only in ascending order, without repeats.
        ascending, places = np.unique(indices, return_inverse=True)
        return x[ascending][places]
    if not has(x, "__getitem__"):
        raise TypeError(f"{what} is of type {type(x).__name__}, whose rows cannot be taken; use result.indices")
    return x[indices]


def _count(x: Any, what: str) -> int:
    """The number of rows."""
    try:
        shape = getattr(x, "shape", None)
        return int(len(x) if shape is None else shape[0])
    except (IndexError, TypeError):
        raise TypeError(
            f"{what} is of type {type(x).__name__}, which has no rows; use result.indices instead"
        ) from None
