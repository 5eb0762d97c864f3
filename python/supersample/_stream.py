"""Streams: rows that come once, and at any moment the rows that stand for all so far."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np

from . import _native
from ._choose import asked, reported
from ._inputs import as_count
from ._options import Listener, Streamed, read, takes
from ._progress import reporting
from ._result import PoolResult
from ._tables import Table, as_table, explained, matched, note_columns, roles_of, weighted
from .kernels import Kernel, known_kernel

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Stream:
    """Rows that come in batches, each seen once, and at any moment the `n` rows that stand for all so far.

    The memory does not grow with the rows. The first 200,000 rows (`pool_rows`) are kept, and `thin`
    then returns what `supersample.thin` returns. Scale and bandwidth settle by them and stay. Later
    rows are summed at landmarks, and a random sample of all rows is chosen from. `mmd` then is an
    estimate, with the standard error `mmd_error`. A stream can be pickled, and streams of parts of
    the rows can be merged.

    Parameters
    ----------
    n
        Number of rows that stand for all.
    **options

    >>> import numpy as np, pickle, supersample as ss
    >>> rng = np.random.default_rng(0)
    >>> stream = ss.Stream(50, pool_rows=2000)
    >>> for _ in range(10):
    ...     stream = stream.update(rng.normal(size=(1000, 3)))
    >>> result = stream.thin()
    >>> len(result), result.n_rows, result.mmd < 0.05
    (50, 10000, True)
    >>> other = pickle.loads(pickle.dumps(stream.like(1)))  # in another process
    >>> stream.merge(other.update(rng.normal(size=(1000, 3)))).rows
    11000
    """

    @takes(Streamed)
    def __init__(self, n: SupportsIndex, **options: Unpack[Streamed]) -> None:
        given = read(Streamed, options)
        self._roles = roles_of(given)
        self._options = asked("thin", as_count(n, "n"), given)
        self._like: Table | None = None
        self._native = _native.Stream(self._options)

    def update(self, x: Any, *, sample_weight: Any = None, log_weight: Any = None) -> Stream:
        """Adds a batch of rows, an array or a frame, with weights if given, and returns the stream.

        Columns are matched by name with those of the first batch, where both have names. All batches have
        weights, or none: numbers, or the name of a column. After an error or Ctrl-C the batch was not added.

        >>> import supersample as ss
        >>> ss.Stream(2).update([[0.0], [1.0], [5.0]], sample_weight=[1, 2, 1]).rows
        3
        """
        given = {"sample_weight": sample_weight, "log_weight": log_weight}
        if sample_weight is not None and log_weight is not None:
            raise ValueError("give sample_weight or log_weight, not both")
        named = {name: given.pop(name) for name in list(given) if isinstance(given[name], str)}
        roles = replace(self._roles, **named)
        table = weighted(as_table(x, "a batch", roles), given.get("sample_weight"), given.get("log_weight"), x)
        if self._like is None:
            note_columns(table, roles)
            self._options.doubt(table.values.shape[1])
        else:
            table = matched(table, self._like.names, "a batch")
        like = self._like or replace(table, values=table.values[:0], weights=None, log_weights=None, chains=None)
        # Rows are numbered from the first of the stream.
        with explained(like, "the stream"):
            self._native.update(table.values, table.weights, table.log_weights, self._options["threads"])
        self._like = like
        return self

    def thin(self, *, progress: bool | Listener | None = None) -> PoolResult:
        """Returns the `n` rows that stand for all so far. The stream can go on.

        The `indices` of the result are the numbers of the rows in the stream, from 0; `points` are the rows.

        >>> import supersample as ss
        >>> stream = ss.Stream(2).update([[0.0], [1.0], [5.0]])
        >>> sorted(stream.thin().indices.tolist())
        [0, 2]
        """
        like = self._like or Table(np.empty((0, 1)))
        with reporting(progress) as listener, explained(like, "the stream"):
            chosen = self._native.choose(self._options.also(progress=listener))
        return reported(chosen, like, self._options)

    def merge(self, other: Stream) -> Stream:
        """Adds the rows of another stream, which come after these, and returns the stream.

        Streams made by `like` from one that has settled are merged exactly, and rows of a stream that has not
        settled are added as they are. Otherwise the sums of the other are carried over with the help of its
        sample; where it has settled on another scale or bandwidth, its sample stands for its rows.

        >>> import supersample as ss
        >>> ss.Stream(2).update([[0.0], [1.0]]).merge(ss.Stream(2).update([[5.0]])).rows
        3
        """
        if not isinstance(other, Stream) or other is self:
            raise TypeError("other must be another Stream")
        names, others = (None if one._like is None else one._like.names for one in (self, other))
        if names is not None and others not in (None, names):
            raise ValueError(f"the columns are {', '.join(names)}, and those of other {', '.join(others or ())}")
        with explained(self._like or Table(np.empty((0, 1))), "other"):
            self._native.merge(other._native, self._options["threads"])
        self._like = self._like or other._like
        return self

    def like(self, part: SupportsIndex) -> Stream:
        """Returns a stream without rows that has settled as this one, for another part of the rows.

        Give each part its own number: its sample is drawn with a seed of its own.

        >>> import supersample as ss
        >>> ss.Stream(2).update([[0.0], [1.0]]).like(1).rows
        0
        """
        other = Stream.__new__(Stream)
        other.__dict__.update(self.__dict__)
        other._native = self._native.like(as_count(part, "part", 0))
        return other

    @property
    def rows(self) -> int:
        """The number of rows so far.

        >>> import supersample as ss
        >>> ss.Stream(2).update([[0.0], [1.0]]).rows
        2
        """
        return self._native.rows

    @property
    def kernel(self) -> Kernel | None:
        """The kernel, with its bandwidth in units of the scaled columns; None before it has settled.

        >>> import numpy as np, supersample as ss
        >>> ss.Stream(2, pool_rows=10, bandwidth=0.5).update(np.arange(30.0)[:, None]).kernel
        Gaussian(bandwidth=0.5)
        """
        known = self._native.kernel
        return None if known is None else known_kernel(*known)

    @property
    def bandwidth(self) -> float | None:
        """The bandwidth in units of the scaled columns, the first of several; None before it has settled.

        >>> import numpy as np, supersample as ss
        >>> ss.Stream(2, pool_rows=10, bandwidth=0.5).update(np.arange(30.0)[:, None]).bandwidth
        0.5
        """
        known = self._native.kernel
        return None if known is None or not known[1] else known[1][0]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_native": self._native.to_bytes()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._native = _native.Stream.from_bytes(state["_native"], self._options)

    def __repr__(self) -> str:
        return f"Stream: {self._options['n']:,} of {self.rows:,} rows so far"
