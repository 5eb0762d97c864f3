"""The words that keywords take, as types that `typing.get_type_hints` finds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

from numpy.typing import NDArray

Bandwidth = float | Sequence[float] | NDArray[Any] | Literal["median"]
Embedding = Literal["auto", "exact", "landmarks"]
Precision = Literal["mixed", "double"]
Device = Literal["cpu", "gpu"]
FunctionsUnit = Literal["each", "common"]
Scale = Literal["none", "sd", "mad", "aad", "pca"]
Weights = Literal["equal", "simplex", "free"]
#: A function of (phase, done, total).
Listener = Callable[[str, int, int], object]
