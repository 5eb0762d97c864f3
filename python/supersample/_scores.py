"""Conversion and checks of scores."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ._inputs import as_vector, expect_same_order
from ._options import Options
from ._tables import Table, as_table, matched

#: Names of the package stein_thinning.
_ALIASES = {"id": "identity", "med": "median", "sclmed": "scaled-median", "smpcov": "covariance"}


class Scored(NamedTuple):
    """Rows and their scores."""

    rows: Table
    scores: Table

    def given(self, options: Options) -> Options:
        """The options with the scores and the regularisation."""
        log_density, weight, second = (options[name] for name in ("log_density", "regularise", "second_derivatives"))
        if log_density is None:
            for what, given in (("regularise", weight), ("second_derivatives", second)):
                if given is not None:
                    raise ValueError(f"{what} has no effect without log_density; give the log-density of each row")
        elif weight is None and options["n"] is None:
            raise ValueError("give the weight of the log-density with regularise; the default, 1/n, needs n")
        return with_preconditioner(options).also(
            target="density",
            scores=self.scores.values,
            log_density=None if log_density is None else as_vector(log_density, "log_density"),
            regularise=1 / options["n"] if weight is None and options["n"] else weight,
            second_derivatives=None if second is None else _like(self.rows, second, "second_derivatives").values,
        )


def with_preconditioner(options: Options) -> Options:
    """The options, with the preconditioner as a length or by the name of the native module."""
    given = options["preconditioner"]
    if given is None:
        return options
    if isinstance(given, str):
        return options.also(preconditioner=_ALIASES.get(given, given))
    if isinstance(given, bool) or not np.isscalar(given):
        raise TypeError(f"preconditioner is {given!r}; give a name such as 'median', or a length")
    return options.also(preconditioner=float(given))  # type: ignore[arg-type]


def as_scores(x: Any, rows: Table, scores: Any) -> Table:
    """Scores, after a check that their rows and columns agree with those of the rows."""
    if callable(scores) and not hasattr(scores, "__array__") and not hasattr(scores, "columns"):
        raise TypeError("scores is a function; give its values at the rows, an array of the shape of x")
    expect_same_order(x, scores, "scores")
    return _like(rows, scores, "scores")


def as_scored(x: Any, scores: Any) -> Scored:
    """Rows without weights and their scores."""
    rows = replace(as_table(x), may_drop=False)
    found = as_scores(x, rows, scores)
    if rows.weights is not None and np.ptp(rows.weights) > 0:
        raise ValueError(
            "x has weights, which cannot be used with scores: the density needs no weights; give the numbers alone, "
            "as an array"
        )
    return Scored(replace(rows, weights=None, scores=found.values), found)


def _like(rows: Table, given: Any, what: str) -> Table:
    """Numbers of the same shape as the rows; in the order of their columns where both have names."""
    found = matched(as_table(given, what), rows.names, what)
    shape, ours = found.values.shape, rows.values.shape
    if shape != ours:
        turned = "; is it transposed?" if shape == ours[::-1] else ""
        raise ValueError(f"{what} has shape {shape}, but x has {ours}; give one number for each number of x{turned}")
    return found
