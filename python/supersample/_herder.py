"""Herder: an iterator of picks that can be stopped, resumed and pickled."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import _native
from ._advice import tell
from ._functions import objective_of, refuse_without_functions
from ._inputs import as_count, as_rows, as_rule, as_threads
from ._numbers import counted
from ._options import HerderKeywords, Listener, Options, Weights, read, takes
from ._progress import reporting
from ._result import PoolResult, result_of
from ._rows import all_rows
from ._tables import Table, explained, given_number, kept_number, note_columns, roles_of
from .kernels import Kernel, known_kernel, native_kernel

if TYPE_CHECKING:
    from typing_extensions import Unpack


@dataclass(frozen=True, slots=True, eq=False)
class Pick:
    """One chosen row, with its score and the error so far: what iterating over a `Herder` gives.

    >>> import supersample as ss
    >>> pick = next(ss.Herder([[0.0], [1.0], [5.0]]))
    >>> pick.t, pick.index, pick.point
    (1, 1, array([1.]))
    """

    t: int
    """T, the number of picks so far, including this one."""
    index: int
    """The row number."""
    point: NDArray[np.float64]
    """The row, before scaling."""
    score: float
    """The score of the row, the highest of all rows (eq. 7 of the paper)."""
    error: float | None
    """E_T, the MMD of the picks up to here (eq. 9)."""
    weight_norm: float | None
    """The norm of w_T, which stays bounded if the rate O(1/T) holds (eq. 14)."""
    margin: float | None
    """The margin of eq. 15."""


def _owned(table: Table) -> Table:
    """A copy of the rows, unless they are read-only: a later change to the array must not change later picks."""
    weights, logs = (None if given is None else given.copy() for given in (table.weights, table.log_weights))
    is_safe = table.is_copy or not table.values.flags.writeable
    values = table.values if is_safe else table.values.copy()
    functions = None if table.functions is None else _owned(table.functions)
    return replace(table, values=values, weights=weights, log_weights=logs, functions=functions)


class Herder:
    """An iterator that chooses rows of `x` one at a time by kernel herding. The keywords are those of `herd`.

    It ends only where `unique` is set and all rows were picked. It can be stopped and resumed: the first
    k of T picks are those of a run of k. After Ctrl-C it keeps the picks made so far. It keeps a copy of
    the rows, unless they are a read-only array. A pickle holds the rows, the picks and the mean
    embedding, so nothing is computed again. A pickle made on a GPU can be opened only where there is one.

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

    @takes(HerderKeywords)
    def __init__(self, x: Any, **options: Unpack[HerderKeywords]) -> None:
        given = read(HerderKeywords, options)
        refuse_without_functions(given)
        roles = roles_of(given)
        data = {name: given.pop(name, None) for name in ("sample_weight", "log_weight", "functions")}
        self._table = _owned(all_rows(x, roles, **data))
        note_columns(self._table, roles)
        self._threads = options.get("threads")
        self._looked = False
        given.doubt(self._table.values.shape[1])
        self._begin(given, None)

    def _begin(self, given: Options, known: NDArray[np.float64] | None) -> None:
        self._options = given
        with explained(self._table):
            self._native = _native.Herder(self._table.values, given.also(**self._table.data()), known)

    def __iter__(self) -> Herder:
        return self

    def __next__(self) -> Pick:
        picks = self._as_picks(self._native.advance(1, as_threads(self._threads)))
        if not picks:
            raise StopIteration
        return picks[0]

    def __len__(self) -> int:
        return len(self._native)

    def run(self, n: int, *, progress: bool | Listener | None = None) -> list[Pick]:
        """Returns the next `n` picks; fewer if `unique` is set and all rows were picked.

        >>> import supersample as ss
        >>> herder = ss.Herder([[0.0], [1.0], [5.0]], unique=True)
        >>> [pick.index for pick in herder.run(2)], [pick.index for pick in herder.run(2)]
        ([1, 2], [0])
        """
        with reporting(progress) as listener:
            picks = self._native.advance(as_count(n, "n", 0), as_threads(self._threads), listener)
        return self._as_picks(picks)

    def replay(self, rows: Any) -> list[Pick]:
        """Makes these rows the next picks, regardless of their scores, and returns them as picks.

        Use it for rows that must be included, or to repeat an earlier run.

        >>> import supersample as ss
        >>> herder = ss.Herder([[0.0], [1.0], [5.0]])
        >>> [pick.index for pick in herder.replay([2, 2])], next(herder).t
        ([2, 2], 3)
        """
        given = kept_number(self._table.dropped, as_rows(rows, self._table.rows, "rows"), "rows")
        return self._as_picks(self._native.replay(given, as_threads(self._threads)))

    def restart(self) -> None:
        """Removes all picks and keeps the mean embedding, so that the next run starts at once.

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
        """The row numbers picked so far, in order.

        >>> import supersample as ss
        >>> ss.Herder([[0.0], [1.0]]).indices
        array([], dtype=int64)
        """
        return given_number(self._table.dropped, self._native.indices())

    @property
    def error(self) -> NDArray[np.float64]:
        """E_T, the MMD of the first T picks, for every T so far.

        >>> import supersample as ss
        >>> herder = ss.Herder([[0.0], [1.0]])
        >>> _ = herder.run(2)
        >>> herder.error.round(6)
        array([0.443548, 0.      ])
        """
        return self._native.errors()

    @property
    def kernel(self) -> Kernel:
        """The kernel, with its bandwidth.

        >>> import supersample as ss
        >>> ss.Herder([[0.0], [2.0]], scale="none").kernel
        Gaussian(bandwidth=2.0)
        """
        return known_kernel(*self._native.kernel)

    def result(self, *, weights: Weights = "equal", progress: bool | Listener | None = None) -> PoolResult:
        """Returns all picks so far as a `PoolResult`.

        >>> import supersample as ss
        >>> herder = ss.Herder([[0.0], [1.0], [5.0]])
        >>> _ = herder.run(3)
        >>> herder.result().indices
        array([1, 2, 0])
        """
        if not len(self):
            raise ValueError("there are no picks yet; call run(n) first")
        with reporting(progress) as listener:
            asked = Options(weights=as_rule(weights), threads=as_threads(self._threads), progress=listener)
            chosen = self._native.chosen(asked)
        tell(chosen.advice[len(self._native.advice) :], self._table.names)
        assert chosen.of is not None
        what = objective_of(chosen.of.matched, self._options["functions_unit"])
        return result_of(chosen, self._table, what)

    def __repr__(self) -> str:
        lengths = ", ".join(f"{bandwidth:.4g}" for bandwidth in self.kernel.bandwidths)
        kernel = self.kernel.name + (f"({lengths})" if lengths else "")
        return f"<Herder of {counted(len(self._table.values), 'row')}, {kernel} kernel, {len(self):,} picks>"

    def _as_picks(self, picks: _native.Picks) -> list[Pick]:
        """The picks as objects. The first pick of all may bring warnings."""
        if not self._looked and picks.rows:
            self._looked = True
            tell(self._native.advice, self._table.names)
        points = self._table.values[picks.rows]
        rows = given_number(self._table.dropped, np.asarray(picks.rows, dtype=np.int64)).tolist()
        columns = (picks.t, rows, points, picks.score, picks.error, picks.weight_norm, picks.margin)
        return [Pick(*pick) for pick in zip(*columns)]

    def __getstate__(self) -> dict[str, Any]:
        name, lengths = native_kernel(self.kernel, "median")
        return {
            "table": self._table,
            "options": self._options.also(kernel=name, bandwidth=lengths),
            "threads": self._threads,
            "looked": self._looked,
            "known": self._native.known(),
            "indices": self._native.indices(),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._table, self._threads, self._looked = state["table"], state["threads"], state["looked"]
        self._begin(state["options"], state["known"])
        if len(state["indices"]):
            self._native.replay(state["indices"], as_threads(self._threads))
