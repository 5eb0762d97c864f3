"""The herder: an iterator of picks that can be stopped, extended, resumed and pickled."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _native
from ._advice import tell
from ._choice import Beside
from ._choose import as_result
from ._functions import Matched, matching
from ._inputs import Table, as_count, as_device, as_rows, as_rule, as_table, as_threads, prepared, weighted
from ._progress import reporting
from ._result import PoolResult
from ._types import Bandwidth, Device, Embedding, FunctionsUnit, Listener, Precision, Scale, Weights
from .kernels import Kernel, known_kernel


@dataclass(frozen=True, slots=True, eq=False)
class Pick:
    """One super-sample, and what the theory says of it.

    >>> import supersample as ss
    >>> pick = next(ss.Herder([[0.0], [1.0], [5.0]]))
    >>> pick.t, pick.index, pick.point
    (1, 1, array([1.]))
    """

    t: int
    """T, the number of picks so far, this one included."""
    index: int
    """The row."""
    point: NDArray[np.float64]
    """The row's numbers, before scaling."""
    score: float
    """The score by which it won (eq. 7 of the paper)."""
    error: float | None
    """E_T, the MMD of the picks up to here (eq. 9)."""
    weight_norm: float | None
    """The norm of w_T, which stays bounded where the rate O(1/T) holds (eq. 14)."""
    margin: float | None
    """The margin of eq. 15."""


def _owned(table: Table) -> Table:
    """The rows in memory that nobody else writes to: later picks are to be those of the rows as they were given."""
    weights, logs = (None if given is None else given.copy() for given in (table.weights, table.log_weights))
    is_safe = table.is_copy or not table.values.flags.writeable
    values = table.values if is_safe else table.values.copy()
    return replace(table, values=values, weights=weights, log_weights=logs)


class Herder:
    """Kernel herding over the rows of `x`, one pick after the other; the keywords are those of `herd`.

    It keeps a copy of the rows, unless they are an array that cannot be written to.
    It ends only where `unique` has exhausted the rows. The first k of T picks are the picks of a run of k, so it can be
    stopped and continued. Ctrl-C leaves it with the picks made so far, ready to go on. A pickle keeps the rows, the
    picks and the mean embedding, which took the time; that of a herder on a GPU is opened where there is one.

    >>> import itertools, numpy as np, supersample as ss
    >>> draws = np.random.default_rng(0).normal(size=(1000, 2))
    >>> herder = ss.Herder(draws, unique=True)
    >>> [pick.index for pick in itertools.islice(herder, 3)]
    [760, 501, 298]
    >>> more = herder.run(7)  # resumes: picks 4 to 10
    >>> more[-1].t, len(herder)
    (10, 10)
    >>> bool(np.all(herder.indices == ss.herd(draws, 10, unique=True).indices))
    True
    """

    def __init__(
        self,
        x: Any,
        *,
        kernel: str | Kernel = "gaussian",
        bandwidth: Bandwidth = "median",
        scale: Scale = "sd",
        sample_weight: Any = None,
        log_weight: Any = None,
        marginals: float = 0.0,
        functions: Any = None,
        functions_weight: float | None = None,
        functions_unit: FunctionsUnit = "each",
        unique: bool = False,
        threads: int | None = None,
        precision: Precision = "mixed",
        embedding: Embedding = "auto",
        landmarks: int | None = None,
        device: Device = "cpu",
    ) -> None:
        self._device = as_device(device)
        table, matched = matching(
            weighted(as_table(x), sample_weight, log_weight),
            Beside(marginals, functions, functions_weight, functions_unit),
        )
        self._table = _owned(table)
        own = None if matched.functions is None else _owned(matched.functions)
        self._matched = replace(matched, functions=own)
        self._scale: str = scale
        self._asked_precision: str = precision
        self._unique = bool(unique)
        as_threads(threads)
        self._threads = threads
        self._looked = False
        self._embedding, self._landmarks = embedding, landmarks
        self._samples = prepared(
            self._table,
            kernel,
            bandwidth,
            scale,
            precision,
            matched=self._matched,
            embedding=embedding,
            landmarks=landmarks,
            device=self._device,
        )
        self._native = _native.Herder(self._samples, self._unique)

    def __iter__(self) -> Herder:
        return self

    def __next__(self) -> Pick:
        picks = self._told(self._native.advance(1, as_threads(self._threads)))
        if not picks:
            raise StopIteration
        return picks[0]

    def __len__(self) -> int:
        return len(self._native)

    def run(self, n: int, *, progress: bool | Listener | None = None) -> list[Pick]:
        """The next `n` picks; fewer once `unique` has exhausted the rows.

        >>> import supersample as ss
        >>> herder = ss.Herder([[0.0], [1.0], [5.0]], unique=True)
        >>> [pick.index for pick in herder.run(2)], [pick.index for pick in herder.run(2)]
        ([1, 2], [0])
        """
        with reporting(progress) as listener:
            picks = self._native.advance(as_count(n, "n", 0), as_threads(self._threads), listener)
        return self._told(picks)

    def replay(self, rows: Any) -> list[Pick]:
        """Takes these rows as the next picks, whatever their scores: rows that must be included, or an earlier run.

        >>> import supersample as ss
        >>> herder = ss.Herder([[0.0], [1.0], [5.0]])
        >>> [pick.index for pick in herder.replay([2, 2])], next(herder).t
        ([2, 2], 3)
        """
        given = as_rows(rows, len(self._table.values), "rows")
        return self._told(self._native.replay(given, as_threads(self._threads)))

    def restart(self) -> None:
        """Forgets the picks and keeps the mean embedding, so that the next run starts at once.

        >>> import supersample as ss
        >>> herder = ss.Herder([[0.0], [1.0], [5.0]])
        >>> first = herder.run(2)
        >>> herder.restart()
        >>> len(herder), next(herder).index == first[0].index
        (0, True)
        """
        self._native.restart()

    @property
    def indices(self) -> NDArray[np.int64]:
        """The rows picked so far, in order.

        >>> import supersample as ss
        >>> ss.Herder([[0.0], [1.0]]).indices
        array([], dtype=int64)
        """
        return self._native.indices()

    @property
    def error(self) -> NDArray[np.float64]:
        """E_T after each pick so far.

        >>> import supersample as ss
        >>> herder = ss.Herder([[0.0], [1.0]])
        >>> _ = herder.run(2)
        >>> herder.error.round(6)
        array([0.443548, 0.      ])
        """
        return self._native.errors()

    @property
    def kernel(self) -> Kernel:
        """The kernel, with the bandwidth that was found.

        >>> import supersample as ss
        >>> ss.Herder([[0.0], [2.0]], scale="none").kernel
        Gaussian(bandwidth=2.0)
        """
        return known_kernel(*self._samples.kernel)

    def result(self, *, weights: Weights = "equal", progress: bool | Listener | None = None) -> PoolResult:
        """All picks so far as a result.

        >>> import supersample as ss
        >>> herder = ss.Herder([[0.0], [1.0], [5.0]])
        >>> _ = herder.run(3)
        >>> herder.result().indices
        array([1, 2, 0])
        """
        if not len(self):
            raise ValueError("there are no picks yet; run(n) first")
        with reporting(progress) as listener:
            chosen = self._native.chosen(as_rule(weights), as_threads(self._threads), listener)
        tell(chosen.advice[len(self._samples.advice) :], self._table.names)
        return as_result(self._table, self._samples, chosen, self._scale, self._matched)

    def __repr__(self) -> str:
        lengths = ", ".join(f"{bandwidth:.4g}" for bandwidth in self.kernel.bandwidths)
        kernel = self.kernel.name + (f"({lengths})" if lengths else "")
        return f"<Herder of {len(self._table.values):,} rows, {kernel} kernel, {len(self):,} picks>"

    def _told(self, picks: _native.Picks) -> list[Pick]:
        """The picks as objects; with the first of all a warning of what makes them doubtful."""
        if not self._looked and picks.rows:
            self._looked = True
            tell(self._samples.advice, self._table.names)
        points = self._table.values[picks.rows]
        columns = (picks.t, picks.rows, points, picks.score, picks.error, picks.weight_norm, picks.margin)
        return [Pick(*pick) for pick in zip(*columns)]

    def __getstate__(self) -> dict[str, Any]:
        name, bandwidths = self._samples.kernel
        return {
            "values": self._table.values,
            "names": self._table.names,
            "unused": self._table.unused,
            "kernel": (name, bandwidths),
            "scale": self._scale,
            "sample_weight": self._table.weights,
            "log_weight": self._table.log_weights,
            "precision": self._asked_precision,
            "unique": self._unique,
            "threads": self._threads,
            "looked": self._looked,
            "embedding": self._samples.known(),
            "landmarks": (self._embedding, self._landmarks),
            "device": self._device,
            "matched": self._matched,
            "indices": self.indices,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        values = np.ascontiguousarray(state["values"])
        self._table = Table(values, state["names"], state["unused"], state["sample_weight"], state["log_weight"])
        self._scale, self._asked_precision, self._unique = state["scale"], state["precision"], state["unique"]
        self._threads, self._looked = state["threads"], state["looked"]
        self._matched = state.get("matched", Matched())
        self._embedding, self._landmarks = state.get("landmarks", ("auto", None))
        self._device = state.get("device", "cpu")
        self._samples = prepared(
            self._table,
            known_kernel(*state["kernel"]),
            "median",
            self._scale,
            self._asked_precision,
            state["embedding"],
            self._matched,
            self._embedding,
            self._landmarks,
            device=self._device,
        )
        self._native = _native.Herder(self._samples, self._unique)
        if len(state["indices"]):
            self._native.replay(state["indices"], as_threads(self._threads))
