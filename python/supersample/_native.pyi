from collections.abc import Callable
from os import PathLike
from typing import final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "VERSION",
    "Herder",
    "Mixture",
    "Samples",
    "check_kernel",
    "evaluate",
    "instruction_set",
    "kernel_values",
    "mmd",
    "optimal_weights",
    "thin",
]

VERSION: str

_Listener = Callable[[str, int, int], object] | None

def instruction_set() -> str: ...
def check_kernel(name: str, bandwidths: list[float]) -> None: ...
def kernel_values(
    name: str, bandwidths: list[float], x: NDArray[np.float64], y: NDArray[np.float64]
) -> NDArray[np.float64]: ...

@final
class Samples:
    def __new__(
        cls,
        x: NDArray[np.float64],
        kernel: str,
        bandwidths: list[float] | None,
        scale: str,
        sample_weight: NDArray[np.float64] | None,
        precision: str,
        known: NDArray[np.float64] | None = None,
    ) -> Samples: ...
    @property
    def kernel(self) -> tuple[str, list[float]]: ...
    @property
    def precision(self) -> str: ...
    @property
    def degenerate(self) -> tuple[list[int], int]: ...
    def known(self) -> NDArray[np.float64] | None: ...

@final
class Herder:
    def __new__(cls, samples: Samples, unique: bool) -> Herder: ...
    def __len__(self) -> int: ...
    def advance(
        self,
        n: int,
        tol: float | None = None,
        worth: float | None = None,
        threads: int | None = None,
        progress: _Listener = None,
    ) -> str: ...
    def replay(self, rows: list[int], threads: int | None = None) -> None: ...
    def restart(self) -> None: ...
    def indices(self) -> NDArray[np.int64]: ...
    def errors(self) -> NDArray[np.float64]: ...
    def picks(self, start: int) -> list[tuple[int, int, float, float | None, float | None, float | None]]: ...
    def scale_of_errors(self) -> tuple[float | None, float] | None: ...

def thin(
    samples: Samples,
    n: int,
    *,
    tol: float | None,
    worth: float | None,
    repeats: bool,
    search: int | None,
    seed: int,
    include: list[int],
    exclude: list[int],
    groups: list[int] | None,
    quotas: list[int] | None,
    threads: int | None,
    progress: _Listener,
) -> tuple[NDArray[np.int64], str]: ...
def optimal_weights(
    samples: Samples,
    rows: NDArray[np.int64],
    rule: str,
    threads: int | None = None,
    progress: _Listener = None,
) -> tuple[NDArray[np.float64], float]: ...
def mmd(
    samples: Samples,
    columns: int,
    points: NDArray[np.float64],
    weights: NDArray[np.float64],
    threads: int | None = None,
    progress: _Listener = None,
) -> float: ...
def evaluate(
    samples: Samples,
    data: NDArray[np.float64],
    points: NDArray[np.float64],
    weights: NDArray[np.float64],
    threads: int | None = None,
    progress: _Listener = None,
) -> tuple[
    float,
    float | None,
    float,
    tuple[NDArray[np.float64], float] | None,
    NDArray[np.float64],
    float | None,
]: ...

@final
class Mixture:
    def __new__(
        cls,
        weights: NDArray[np.float64],
        means: NDArray[np.float64],
        covariances: NDArray[np.float64],
    ) -> Mixture: ...
    @staticmethod
    def read(path: str | PathLike[str]) -> Mixture: ...
    def text(self, path: str | PathLike[str]) -> str: ...
    @property
    def weights(self) -> NDArray[np.float64]: ...
    @property
    def means(self) -> NDArray[np.float64]: ...
    @property
    def covariances(self) -> NDArray[np.float64]: ...
    def draw(self, n: int, seed: int) -> NDArray[np.float64]: ...
    def density(self, x: NDArray[np.float64]) -> NDArray[np.float64]: ...
    def median(self, starts: int, seed: int) -> float: ...
    def mmd(
        self,
        bandwidths: list[float],
        points: NDArray[np.float64],
        weights: NDArray[np.float64],
        threads: int | None = None,
    ) -> float: ...
    def place(
        self,
        n: int,
        *,
        tol: float | None,
        worth: float | None,
        bandwidths: list[float] | None,
        climbs: int,
        starts: int,
        seed: int,
        weights: str,
        threads: int | None,
        progress: _Listener,
    ) -> tuple[
        NDArray[np.float64],
        NDArray[np.float64],
        tuple[NDArray[np.float64], float | None] | None,
        list[float],
        float | None,
        float,
        int,
        str,
    ]: ...
