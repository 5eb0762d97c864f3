"""resample: weighted rows to rows of equal weight."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._choose import chosen_rows
from ._inputs import as_count, as_vector, expect_same_order
from ._options import Resample, read, takes
from ._result import PoolResult
from ._rows import all_rows
from ._tables import roles_of

if TYPE_CHECKING:
    from typing_extensions import Unpack


@takes(Resample)
def resample(x: Any, weights: Any = None, n: int | None = None, **options: Unpack[Resample]) -> PoolResult:
    """Returns `n` rows of `x`, of equal weight, that represent the weighted rows best. Rows may repeat.

    It replaces random (multinomial, systematic) resampling, as in particle filters and after nested or
    importance sampling. Those look at the weights alone; this also looks at where the rows are, so that
    the result has less noise. It is `thin` with `repeats=True`, without the search, unless `search` is
    given, and with `marginals=0.2`, for intervals. The result is deterministic, and estimates from it are not unbiased.

    Parameters
    ----------
    x
        One row per point: an array, a frame, a dict of arrays, or a path (see `herd`).
    weights, log_weight
        Weights of the rows (not negative, any sum), or their natural logarithms, or a column's name.
        Default: those of `x` where it has any (anesthetic, getdist), otherwise equal.
    n
        Number of rows to return. Default: as many as `x` has, without those left out by `nan`.
    **options

    >>> import numpy as np, supersample as ss
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(1000, 2))
    >>> weights = np.exp(x[:, 0])  # importance weights for a normal around (1, 0)
    >>> equal = ss.resample(x, weights, 100)
    >>> np.abs(equal.points.mean(axis=0) - np.average(x, axis=0, weights=weights)).max() < 0.02
    np.True_
    >>> len(ss.resample(x, weights))
    1000
    """
    given = read(Resample, options)
    if weights is not None:
        if given["log_weight"] is not None:
            raise ValueError("give weights or log_weight, not both")
        if not isinstance(weights, str) and not np.ndim(weights):
            raise TypeError(f"weights is {weights!r}; give one for each row, and the number of rows as n")
    given["sample_weight"] = weights
    n = None if n is None else as_count(n, "n")
    for name, values in {
        "weights": weights,
        "log_weight": given["log_weight"],
        "functions": given["functions"],
    }.items():
        expect_same_order(x, values, name)
    if weights is not None and not isinstance(weights, str):
        given["sample_weight"] = as_vector(weights, "weights")
    roles = roles_of(given)
    data = {name: given.pop(name, None) for name in ("sample_weight", "log_weight", "functions")}
    # From here on x is a table without the index of a frame.
    table = all_rows(x, roles, **data)
    if not len(table.values):
        raise ValueError("x has no rows; give at least one")
    given["repeats"] = True
    given["diagnosis"] = False
    given.setdefault("search", 0)
    # Rows without a search need more of it for the widths of intervals (bench/nested.py).
    given.setdefault("marginals", 0.2)
    return chosen_rows("thin", table, len(table.values) if n is None else n, given, "weights")
