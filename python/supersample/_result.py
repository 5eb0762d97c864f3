"""What herd, thin and sample return."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ._numbers import counted, significant
from .kernels import Kernel

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SCALES = {"none": "not scaled", "sd": "scaled to unit sd", "pca": "whitened"}


class SupersampleWarning(UserWarning):
    """Something to know before believing a result: a goal that was missed, a kernel that sees nothing.

    >>> import supersample as ss, warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     result = ss.herd([[0.0], [1.0], [2.0]], 2, tol=1e-9)
    >>> print(caught[0].message)
    an MMD of 1e-09 was not reached with 2 points; allow more with n, or ask for less
    """


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """Super-samples, in the order of choice, and how good they are.

    >>> import numpy as np, supersample as ss
    >>> draws = np.random.default_rng(0).normal(size=(1000, 2))
    >>> result = ss.herd(draws, 20)
    >>> result
    Result: 20 of 1,000 rows
      MMD 0.0320, worth 410 iid draws
      gaussian kernel, bandwidth 1.67, columns scaled to unit sd
    >>> bool(np.all(result.points == draws[result.indices]))
    True
    >>> len(result), result.error.shape, round(float(result.weights.sum()), 9)
    (20, (20,), 1.0)
    """

    indices: NDArray[np.int64] | None
    """The chosen rows, counted from 0; None for points of `sample`, which are no rows."""
    points: NDArray[np.float64]
    """The chosen points as they were given, before scaling."""
    weights: NDArray[np.float64]
    """One weight for each point: 1/T, or the optimal ones that were asked for."""
    error: NDArray[np.float64]
    """E_T, the MMD of the first T points with equal weights, for every T. It does not fall at every step."""
    mmd: float
    """The MMD of all points with their weights."""
    worth: float | None
    """How many iid draws have the same expected squared MMD; None where all rows are the same."""
    kernel: Kernel
    """The kernel, its bandwidth in the units of the scaled points."""
    ended: str
    """What ended the choosing: 'number', 'tolerance', 'worth' or 'exhausted'."""
    rows: int
    """How many rows there were to choose from; 0 for `sample`."""
    scale: str
    """How columns were scaled before distances were taken."""
    precision: str
    """The precision of the kernel values that was used."""
    names: tuple[str, ...] | None = None
    """The columns by which was chosen, where they have names."""
    _data: NDArray[np.float64] | None = field(default=None)

    def __post_init__(self) -> None:
        for array in (self.indices, self.points, self.weights, self.error):
            if array is not None:
                array.setflags(write=False)

    def __len__(self) -> int:
        return len(self.points)

    def __getstate__(self) -> dict[str, Any]:
        # The rows that were not chosen stay behind: a pickle of 100 points should be small.
        return {**self.__dict__, "_data": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()

    def take(self, x: Any) -> Any:
        """The chosen rows of any object that has the same rows: an array, a pandas or polars frame, an Arrow table.

        >>> import numpy as np, supersample as ss
        >>> x = np.random.default_rng(0).normal(size=(50, 2))
        >>> labels = np.arange(50) % 3
        >>> ss.thin(x, 4).take(labels).shape
        (4,)
        """
        if self.indices is None:
            raise ValueError("points of sample are not rows of anything; use .points")
        if hasattr(x, "iloc"):
            return x.iloc[self.indices]
        if hasattr(x, "take") and not isinstance(x, np.ndarray):
            return x.take(self.indices)
        return x[self.indices]

    def __repr__(self) -> str:
        return "\n  ".join(("Result: " + self._what(), self._how_good(), self._how()))

    def _repr_html_(self) -> str:
        from ._html import result_view

        return result_view(self)

    def _what(self) -> str:
        if self.indices is None:
            return f"{counted(len(self), 'point')} in {counted(self.points.shape[1], 'dimension')}"
        distinct = len(np.unique(self.indices))
        repeats = "" if distinct == len(self) else f" ({distinct:,} distinct)"
        of = "times among" if len(self) > self.rows else "of"
        return f"{len(self):,} {of} {counted(self.rows, 'row')}{repeats}"

    def _how_good(self) -> str:
        worth = "" if self.worth is None else f", worth {significant(self.worth)} iid draws"
        equal = bool(np.all(self.weights == self.weights[0]))
        return f"MMD {significant(self.mmd)}{'' if equal else ' with unequal weights'}{worth}"

    def _how(self) -> str:
        lengths = ", ".join(map(significant, self.kernel.bandwidths))
        bandwidth = f", bandwidth {lengths}" if lengths else ""
        scale = f", columns {_SCALES[self.scale]}" if self.rows else ""
        return f"{self.kernel.name} kernel{bandwidth}{scale}"

    def plot_error(self, ax: Axes | None = None) -> Axes:
        """E_T for every T on two logarithmic axes, beside what iid draws of that number have on average.

        >>> import numpy as np, supersample as ss
        >>> result = ss.herd(np.random.default_rng(0).normal(size=(200, 2)), 50)
        >>> result.plot_error().get_xlabel()
        'points T'
        """
        from ._plots import plot_error

        return plot_error(self, ax)

    def plot_marginals(self, data: Any = None, *, columns: Any = None) -> NDArray[np.object_]:
        """The distribution function of each column, of all rows and of the chosen points; one axes each.

        `data` are all the rows; they are remembered unless the result was pickled. `columns` are names or numbers,
        by default the first 12.

        >>> import numpy as np, supersample as ss
        >>> result = ss.herd(np.random.default_rng(0).normal(size=(200, 2)), 50)
        >>> result.plot_marginals().shape
        (2,)
        """
        from ._plots import plot_marginals

        return plot_marginals(self, data, columns)

    def plot_pairs(self, data: Any = None, *, columns: Any = None) -> NDArray[np.object_]:
        """Every pair of columns: all rows as a cloud, the chosen points on top; a square of axes.

        `data` and `columns` as in `plot_marginals`, by default the first 4 columns.

        >>> import numpy as np, supersample as ss
        >>> result = ss.herd(np.random.default_rng(0).normal(size=(200, 3)), 50)
        >>> result.plot_pairs().shape
        (3, 3)
        """
        from ._plots import plot_pairs

        return plot_pairs(self, data, columns)
