"""Scores as they are handed over: in the order of the rows' columns, and refused by name where they are not theirs."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from . import _native
from ._inputs import Table, as_goal, as_table, as_vector, explained, matched

#: The words of the package stein_thinning for the same things.
_ALIASES = {"id": "identity", "med": "median", "sclmed": "scaled-median", "smpcov": "covariance"}


class Scored(NamedTuple):
    """Rows and their scores."""

    rows: Table
    scores: Table


class SteinKernel(NamedTuple):
    """The kernel of points and scores as its keywords describe it."""

    base: Any
    preconditioner: Any
    scale: Any

    def words(self) -> dict[str, Any]:
        """What the native module is told of it."""
        base, given, scale = self
        if not isinstance(base, str):
            raise TypeError(f"kernel is {base!r}; a Stein kernel is made of 'imq' or 'gaussian'")
        if not isinstance(scale, str):
            raise TypeError(f"scale is {scale!r}; choose {', '.join(_native.SCALES)}")
        length, name = None, given
        if isinstance(given, str):
            name = _ALIASES.get(given, given)
        elif isinstance(given, bool) or not np.isscalar(given):
            raise TypeError(f"preconditioner is {given!r}; give a name such as 'median', or a length")
        else:
            length, name = float(given), "identity"  # type: ignore[arg-type]
        return {"base": base, "preconditioner": name, "length": length, "scale": scale}


class Regularised(NamedTuple):
    """What a choice is regularised by."""

    log_density: Any = None
    regularise: Any = None
    second_derivatives: Any = None

    def words(self, limit: int | None, rows: Table) -> dict[str, Any]:
        """What the native module is told of it, for so many rows at most."""
        log_density, weight, second = self
        if log_density is None:
            for what, given in (("regularise", weight), ("second_derivatives", second)):
                if given is not None:
                    raise ValueError(f"{what} has no effect without log_density; give the log-density of each row")
            return {"log_density": None, "regularisation": 0.0, "second_derivatives": None}
        if weight is None and limit is None:
            raise ValueError("say how much the log-density counts with regularise; 1/n is the default where n is given")
        return {
            "log_density": as_vector(log_density, "log_density"),
            "regularisation": 1 / limit if weight is None and limit else as_goal(weight, "regularise"),
            "second_derivatives": None if second is None else _beside(rows, second, "second_derivatives").values,
        }


def as_scored(x: Any, scores: Any) -> Scored:
    """Rows and their scores, which go together row by row and column by column."""
    if callable(scores) and not hasattr(scores, "__array__") and not hasattr(scores, "columns"):
        raise TypeError("scores is a function; give what it returns for the rows, an array of the shape of x")
    _expect_same_order(x, scores)
    rows = as_table(x)
    if rows.weights is not None and np.ptp(rows.weights) > 0:
        raise ValueError(
            "x has weights of its own, which do not go together with scores: the density weighs for itself; give the "
            "numbers alone, as an array"
        )
    return Scored(rows, _beside(rows, scores, "scores"))


def scored_samples(given: Scored, kernel: SteinKernel, regularised: Regularised, limit: int | None) -> _native.Samples:
    """Rows and scores made ready by the native module, for a choice of so many rows at most."""
    words = {**kernel.words(), **regularised.words(limit, given.rows)}
    with explained(given.rows.names):
        return _native.stein_samples(given.rows.values, given.scores.values, **words)


def said_of_rows(chosen: _native.Chosen) -> str:
    """What scores say of the rows in a sentence. It is no warning: burn-in is a reason to choose by scores."""
    return next((piece.sentence() for piece in chosen.advice if piece.is_expected), "")


def _beside(rows: Table, given: Any, what: str) -> Table:
    """Numbers beside those of the rows; in the order of their columns where both have names."""
    found = matched(as_table(given, what), rows.names, what)
    shape, ours = found.values.shape, rows.values.shape
    if shape != ours:
        turned = "; is it transposed?" if shape == ours[::-1] else ""
        raise ValueError(f"{what} has shape {shape}, but x has {ours}; give one for each number of x{turned}")
    return found


def _expect_same_order(x: Any, scores: Any) -> None:
    """Refuses frames of pandas whose indexes say that scores are in another order than the rows."""
    ours: Any = getattr(x, "index", None)
    theirs: Any = getattr(scores, "index", None)
    if not (hasattr(ours, "sort_values") and hasattr(theirs, "sort_values")) or ours.equals(theirs):
        return
    if ours.sort_values().equals(theirs.sort_values()):
        raise ValueError("scores has the rows of x in another order, as their indexes say; give scores.loc[x.index]")
