"""Landmarks: the mean embedding of rows in batches, or on several machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import _native
from ._inputs import as_count
from ._options import Embed, read, takes
from ._tables import Table, as_table, matched, weighted
from .kernels import Kernel, known_kernel

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Landmarks:
    """The mean embedding of any number of rows, projected on landmarks. Batches are added; no row is kept.

    Parameters
    ----------
    landmarks
        The landmarks, one per row, or the number to choose from the first batch, which should be
        typical of all rows. Twice the number of points to be chosen is enough.
    kernel, bandwidth
        As in `herd`. The median distance is that of the first batch. Rows are not scaled.
    controls
        Random rows at which the mean embedding is computed exactly, to estimate its norm. Default:
        1,000 rows of the first batch where landmarks are chosen from it, none where they are given.
    seed
        Random seed for the choice of landmarks and control rows.
    precision, threads
        As in `herd`.

    >>> import numpy as np, pickle, supersample as ss
    >>> rng = np.random.default_rng(0)
    >>> first, second = ss.Landmarks(200, bandwidth=1.5), None
    >>> first = first.partial_fit(rng.normal(size=(5000, 3)))
    >>> second = first.empty().partial_fit(rng.normal(size=(5000, 3)))  # on another machine
    >>> both = first.merge(pickle.loads(pickle.dumps(second)))
    >>> both.n_rows
    10000
    >>> exact = (1 + 2 / 1.5**2) ** (-3 / 2)  # of a normal distribution
    >>> bool(abs(both.squared_norm - exact) < 0.01), both.squared_norm_error < 1e-4
    (True, True)
    """

    @takes(Embed)
    def __init__(self, landmarks: Any, *, controls: Any = None, **options: Unpack[Embed]) -> None:
        self._options = read(Embed, options)
        self._count: int | None = None
        self._names: tuple[str, ...] | None = None
        self._sums: _native.LandmarkSums | None = None
        if np.ndim(landmarks) == 0 and not hasattr(landmarks, "columns"):
            self._count = as_count(landmarks, "landmarks")
            if controls is not None:
                raise ValueError(
                    "controls have no effect if landmarks is a number; give the landmarks themselves, or leave it out"
                )
            return
        table = as_table(landmarks, "landmarks")
        points, self._names = table.values, table.names
        if self._options["bandwidth"] is None:
            raise ValueError("bandwidth is 'median', which needs rows, but only landmarks were given; give a number")
        others = None if controls is None else self._read(controls, "controls").values
        self._sums = _native.LandmarkSums(points, others, self._options)

    def partial_fit(self, x: Any, y: Any = None, sample_weight: Any = None) -> Landmarks:
        """Adds a batch of rows, with weights if given, and returns itself.

        Columns are matched by name with those of the first batch, where both have names. Weights of anesthetic frames
        and getdist chains, and of a `Result`, are used.

        >>> import numpy as np, supersample as ss
        >>> x = np.random.default_rng(0).normal(size=(2000, 2))
        >>> mu = ss.Landmarks(50, bandwidth=1.5).partial_fit(x)
        >>> mu.partial_fit(x, sample_weight=np.ones(2000)).n_rows
        4000
        """
        table = weighted(self._read(x, "x"), sample_weight, None, x)
        self._names = self._names or table.names
        rows, weights = table.values, table.weights
        if self._sums is None:
            options = self._options.also(sample_weight=weights)
            self._sums = _native.LandmarkSums.chosen_from(rows, min(self._count or 1, len(rows)), options)
        self._sums.update(rows, weights, self._options["threads"])
        return self

    def merge(self, other: Landmarks) -> Landmarks:
        """Adds the rows of another object with the same landmarks (see `empty`), and returns itself.

        >>> import numpy as np, supersample as ss
        >>> x = np.random.default_rng(0).normal(size=(2000, 2))
        >>> mu = ss.Landmarks(50, bandwidth=1.5).partial_fit(x)
        >>> mu.merge(mu.empty().partial_fit(x)).n_rows
        4000
        """
        if not isinstance(other, Landmarks):
            raise TypeError(f"other is of type {type(other).__name__}; give Landmarks, as `empty` returns them")
        if self._names is not None and other._names not in (None, self._names):
            raise ValueError(f"the columns are {', '.join(self._names)}, and those of other {', '.join(other._names)}")
        self._known().merge(other._known())
        return self

    def empty(self) -> Landmarks:
        """Returns an object with the same landmarks and no rows, for another machine or another part of the rows.

        >>> import numpy as np, supersample as ss
        >>> x = np.random.default_rng(0).normal(size=(2000, 2))
        >>> mu = ss.Landmarks(50, bandwidth=1.5).partial_fit(x)
        >>> mu.empty().n_rows
        0
        """
        other = Landmarks.__new__(Landmarks)
        other.__dict__.update(self.__dict__)
        other._sums = self._known().emptied()
        return other

    def values(self, x: Any) -> NDArray[np.float64]:
        """Returns the mean embedding of all rows so far at these points, approximated by the landmarks.

        >>> import numpy as np, supersample as ss
        >>> x = np.random.default_rng(0).normal(size=(2000, 2))
        >>> mu = ss.Landmarks(50, bandwidth=1.5).partial_fit(x)
        >>> mu.values(x[:3]).shape
        (3,)
        """
        return self._known().values(self._read(x, "x").values, self._options["threads"])

    @property
    def n_rows(self) -> int:
        """The number of rows added so far.

        >>> import numpy as np, supersample as ss
        >>> x = np.random.default_rng(0).normal(size=(2000, 2))
        >>> mu = ss.Landmarks(50, bandwidth=1.5).partial_fit(x)
        >>> mu.n_rows
        2000
        """
        return 0 if self._sums is None else self._sums.rows

    @property
    def weight(self) -> float:
        """The sum of the weights of the rows.

        >>> import numpy as np, supersample as ss
        >>> x = np.random.default_rng(0).normal(size=(2000, 2))
        >>> mu = ss.Landmarks(50, bandwidth=1.5).partial_fit(x)
        >>> mu.weight
        2000.0
        """
        return 0.0 if self._sums is None else self._sums.weight

    @property
    def landmarks(self) -> NDArray[np.float64]:
        """The landmarks, one per row.

        >>> import numpy as np, supersample as ss
        >>> x = np.random.default_rng(0).normal(size=(2000, 2))
        >>> mu = ss.Landmarks(50, bandwidth=1.5).partial_fit(x)
        >>> mu.landmarks.shape
        (50, 2)
        """
        return self._known().landmarks

    @property
    def kernel(self) -> Kernel:
        """The kernel.

        >>> import numpy as np, supersample as ss
        >>> x = np.random.default_rng(0).normal(size=(2000, 2))
        >>> mu = ss.Landmarks(50, bandwidth=1.5).partial_fit(x)
        >>> mu.kernel.bandwidths
        (1.5,)
        """
        return known_kernel(*self._known().kernel)

    @property
    def squared_norm(self) -> float | None:
        """The squared norm of the mean embedding, estimated at the control rows; None without control rows.

        >>> import numpy as np, supersample as ss
        >>> x = np.random.default_rng(0).normal(size=(2000, 2))
        >>> mu = ss.Landmarks(50, bandwidth=1.5).partial_fit(x)
        >>> 0 < mu.squared_norm < 1
        True
        """
        return self._known().norm()[0]

    @property
    def squared_norm_error(self) -> float | None:
        """The standard error of `squared_norm`; None without control rows.

        >>> import numpy as np, supersample as ss
        >>> x = np.random.default_rng(0).normal(size=(2000, 2))
        >>> mu = ss.Landmarks(50, bandwidth=1.5).partial_fit(x)
        >>> mu.squared_norm_error < 1e-3
        True
        """
        return self._known().norm()[1]

    @property
    def residual(self) -> float | None:
        """The part of the mean embedding that the landmarks do not represent; None without control rows.

        >>> import numpy as np, supersample as ss
        >>> x = np.random.default_rng(0).normal(size=(2000, 2))
        >>> mu = ss.Landmarks(50, bandwidth=1.5).partial_fit(x)
        >>> mu.residual < 0.05
        True
        """
        return self._known().norm()[2]

    def _read(self, x: Any, what: str) -> Table:
        """Rows with the columns of the first batch."""
        return matched(as_table(x, what), self._names, what)

    def _known(self) -> _native.LandmarkSums:
        if self._sums is None:
            raise ValueError("there are no rows yet, and so no landmarks; call partial_fit first")
        return self._sums

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        state["_sums"] = None if self._sums is None else self._sums.to_bytes()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        sums = state["_sums"]
        self.__dict__.update(state)
        self._sums = None if sums is None else _native.LandmarkSums.from_bytes(sums)

    def __repr__(self) -> str:
        if self._sums is None:
            return f"Landmarks({self._count})"
        return f"Landmarks({len(self.landmarks)}, kernel={self.kernel!r}), {self.n_rows:,} rows"
