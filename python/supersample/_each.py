"""thin_each: a separate subset for every group of rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import _native
from ._advice import tell
from ._choose import calibrated, check_total
from ._files import is_file
from ._functions import refuse_without_functions
from ._inputs import as_array, as_count, expect_same_order
from ._numbers import aligned, counted, significant
from ._options import ThinEach, read, takes
from ._progress import reporting
from ._rows import all_rows, finished, without_dropped
from ._tables import explained, given_number, has_names, missing_labels, note_columns, roles_of

if TYPE_CHECKING:
    from pandas import DataFrame
    from typing_extensions import Unpack
else:
    # Type hints can be resolved without these packages.
    DataFrame = Any

#: Groups that the text shows.
_SHOWN = 10


@dataclass(frozen=True, eq=False, repr=False)
class EachResult(Mapping[Any, NDArray[np.int64]]):
    """The rows chosen from each group: a mapping from its label to their numbers among all rows.

    >>> import numpy as np, supersample as ss
    >>> x = np.random.default_rng(0).normal(size=(600, 2))
    >>> event = np.repeat(["a", "b", "c"], 200)
    >>> result = ss.thin_each(x, 10, each=event)
    >>> result
    EachResult: 30 of 600 rows, for 3 groups
      group    rows   chosen   MMD      equivalent draws   cdf
      a        200    10       0.0195   1,110              0.0375
      b        200    10       0.0181   1,280              0.0407
      c        200    10       0.0197   1,090              0.0440
      median                   0.0195   1,110              0.0407
    >>> bool(np.all(event[result["b"]] == "b"))
    True
    """

    labels: tuple[Any, ...]
    """The labels of the groups, in sorted order."""
    indices: NDArray[np.int64]
    """The numbers of the chosen rows, one group after the other."""
    sizes: NDArray[np.int64]
    """How many rows were chosen from each group."""
    group_rows: NDArray[np.int64]
    """How many rows each group has."""
    weights: NDArray[np.float64]
    """The weights of the chosen rows, which sum to one, or to `total`, in each group."""
    mmd: NDArray[np.float64]
    """The MMD of each subset from its group."""
    equivalent_draws: NDArray[np.float64]
    """The number of independent draws of the group with the same expected squared MMD."""
    cdf: NDArray[np.float64]
    """The distance of the distribution functions of each subset from those of its group."""

    def __getitem__(self, label: Any) -> NDArray[np.int64]:
        at = self._places.get(label)
        if at is None:
            raise KeyError(label)
        ends = np.cumsum(self.sizes)
        return self.indices[ends[at] - self.sizes[at] : ends[at]]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.labels)

    def __len__(self) -> int:
        return len(self.labels)

    def _as_table(self) -> Any:
        # Otherwise the numbers of the rows would be read as coordinates.
        raise TypeError("an EachResult has numbers of rows, not points; give .indices of it, or the rows themselves")

    @property
    def _places(self) -> dict[Any, int]:
        return {label: at for at, label in enumerate(self.labels)}

    def to_frame(self) -> DataFrame:
        """Returns a pandas frame with a row for each group: its rows, the number chosen, and the errors.

        >>> import numpy as np, supersample as ss
        >>> x = np.random.default_rng(0).normal(size=(40, 2))
        >>> list(ss.thin_each(x, 4, each=np.arange(40) % 2).to_frame().columns)
        ['rows', 'chosen', 'mmd', 'equivalent_draws', 'cdf']
        """
        try:
            import pandas as pd
        except ImportError:
            raise ImportError("to_frame needs pandas: pip install pandas") from None
        columns = {"rows": self.group_rows, "chosen": self.sizes, "mmd": self.mmd}
        more = {"equivalent_draws": self.equivalent_draws, "cdf": self.cdf}
        return pd.DataFrame(columns | more, index=pd.Index(self.labels, name="group"))

    def __repr__(self) -> str:
        def cells(values: tuple[float, ...]) -> tuple[str, ...]:
            return tuple("-" if np.isnan(value) else significant(value) for value in values)

        table: list[tuple[str, ...]] = [("group", "rows", "chosen", "MMD", "equivalent draws", "cdf")]
        errors = list(zip(self.mmd.tolist(), self.equivalent_draws.tolist(), self.cdf.tolist()))
        for label, rows, size, row in list(zip(self.labels, self.group_rows, self.sizes, errors))[:_SHOWN]:
            table.append((str(label), f"{rows:,}", f"{size:,}", *cells(row)))
        known = [[value for value in column if value == value] for column in zip(*errors)]
        middle = tuple(float(np.median(column)) if column else np.nan for column in known)
        table.append(("median", "", "", *cells(middle)))
        chosen = f"{len(self.indices):,} of {counted(int(self.group_rows.sum()), 'row')}"
        head = f"EachResult: {chosen}, for {counted(len(self), 'group')}"
        left = len(self) - _SHOWN
        more = f"\n  and {counted(left, 'group')} more" if left > 0 else ""
        return head + "\n  " + aligned(table).replace("\n", "\n  ") + more


@takes(ThinEach)
def thin_each(x: Any, n: int, each: Any, **options: Unpack[ThinEach]) -> EachResult:
    """Returns `n` distinct rows of every group of `x`, each the best subset of its group, in one call.

    The groups are independent: each has its own scale, bandwidth and errors, and gets the rows that
    `thin` would choose from it alone. They are computed in parallel.

    Parameters
    ----------
    x
        One row per point: an array, a frame, a dict of arrays, or a path, in memory.
    n
        Number of rows to keep of each group; of a smaller group all are kept.
    each
        A label for each row (event, patient, sample), or the name of a column of `x`, which distances
        then do not use.
    **options

    >>> import numpy as np, supersample as ss
    >>> x = np.random.default_rng(0).normal(size=(300, 2))
    >>> patient = np.arange(300) % 3
    >>> chosen = ss.thin_each(x, 5, each=patient)
    >>> np.array_equal(np.flatnonzero(patient == 1)[ss.thin(x[patient == 1], 5).indices], chosen[1])
    True
    """
    given = read(ThinEach, options)
    refuse_without_functions(given)
    check_total(given)
    roles = roles_of(given)
    data = {name: given.pop(name, None) for name in ("sample_weight", "log_weight", "functions")}
    if isinstance(each, str):
        if not has_names(x) and not is_file(x):
            raise ValueError(f"x has no column '{each}'; give a label for each row, or the name of a column of a frame")
        rows = all_rows(x, replace(roles, groups=each), **data)
    else:
        rows = all_rows(x, roles if is_file(x) else replace(roles, drop=False), **data)
        given_labels = without_dropped(rows, _labels_of(x, each), "each") if len(rows.dropped) else _labels_of(x, each)
        if len(given_labels) != len(rows.values):
            had, wanted = counted(len(given_labels), "label"), counted(len(rows.values), "row")
            raise ValueError(f"each has {had}, but x has {wanted}; give one for each row")
        rows = finished(replace(rows, groups=given_labels), roles.drop)
    labels = rows.groups
    assert labels is not None
    missing = missing_labels(labels)
    if len(missing):
        raise ValueError(f"each has no label for row {missing[0]}; give every row one, or leave such rows out")
    if not len(labels):
        raise ValueError("x has no rows; give at least one")
    note_columns(rows, roles)
    try:
        known, numbers = np.unique(labels, return_inverse=True)
    except TypeError:
        raise TypeError("each has labels of several types; give labels of one type") from None
    given = calibrated(rows, given)
    progress, total = given.pop("progress", None), given.pop("total", None)
    names = known.tolist()
    with reporting(progress, len(known)) as listener, explained(rows, labels=names):
        given = given.also(progress=listener, method="thin", n=as_count(n, "n"))
        given = given.also(**{**rows.data(), "chains": None})
        found = _native.choose_each(rows.values, numbers.astype(np.int64), given)
    tell(found.advice, rows.names)
    weights = np.repeat(1 / found.sizes, found.sizes) if found.weights is None else found.weights
    if total is not None:
        weights = weights * total
    return EachResult(
        tuple(names),
        given_number(rows.dropped, found.rows),
        found.sizes,
        found.group_rows,
        weights,
        found.mmd,
        found.equivalent_draws,
        found.cdf,
    )


def _labels_of(x: Any, each: Any) -> NDArray[Any]:
    """The label of each row."""
    expect_same_order(x, each, "each")
    labels = as_array(each, "each")
    if labels.ndim != 1:
        raise ValueError(f"each has shape {labels.shape}; give one label for each row")
    return labels
