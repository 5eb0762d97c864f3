from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "KERNELS",
    "MARGINALS",
    "SCALES",
    "STEIN_BASES",
    "VERSION",
    "Advice",
    "Chosen",
    "Evaluation",
    "Gatherer",
    "Herder",
    "LandmarkSums",
    "Mixture",
    "PassSums",
    "Picks",
    "Placed",
    "Refusal",
    "Samples",
    "SteinPlaced",
    "Unmeasured",
    "check_kernel",
    "choose_from_pool",
    "compared_with",
    "counted",
    "device_name",
    "evaluate",
    "evaluate_measured",
    "gathered",
    "herd",
    "instruction_set",
    "kernel_values",
    "ksd",
    "landmark_sums",
    "mmd",
    "ordinal",
    "pool_points",
    "pool_rows",
    "pool_rows_of_single",
    "project_on",
    "significant",
    "stein_place",
    "stein_samples",
    "thin",
    "with_error",
    "with_spread",
]

VERSION: str
MARGINALS: float
KERNELS: list[tuple[str, int, str]]
STEIN_BASES: list[str]
SCALES: dict[str, str]

_Listener = Callable[[str, int, int], object] | None

def instruction_set() -> str: ...
def check_kernel(name: str, bandwidths: list[float]) -> None: ...
def kernel_values(
    name: str, bandwidths: list[float], x: NDArray[np.float64], y: NDArray[np.float64]
) -> NDArray[np.float64]: ...
def device_name(name: str) -> str: ...
def significant(value: float) -> str: ...
def with_spread(mean: float, spread: float) -> str: ...
def with_error(value: float, error: float) -> str: ...
def ordinal(number: int) -> str: ...
def counted(number: int, noun: str) -> str: ...

@final
class Advice:
    @property
    def is_expected(self) -> bool: ...
    def sentence(self, columns: Sequence[str] | None = None) -> str: ...

@final
class Refusal:
    def sentence(
        self,
        of: str | None,
        columns: Sequence[str] | None,
        functions: Sequence[str] | None,
        groups: Sequence[str],
    ) -> str: ...
    def __reduce__(self) -> tuple[type[str], tuple[str]]: ...

@final
class Samples:
    def __new__(
        cls,
        x: NDArray[np.float64],
        *,
        kernel: str,
        bandwidths: list[float] | None,
        scale: str,
        sample_weight: NDArray[np.float64] | None,
        log_weight: NDArray[np.float64] | None,
        precision: str,
        marginals: float,
        functions: NDArray[np.float64] | None,
        functions_weight: float,
        functions_unit: str,
        embedding: str,
        landmarks: int | None,
        seed: int = 0,
        device: str = "cpu",
        known: NDArray[np.float64] | None = None,
    ) -> Samples: ...
    @property
    def kernel(self) -> tuple[str, list[float]]: ...
    @property
    def precision(self) -> str: ...
    @property
    def shares(self) -> NDArray[np.float64] | None: ...
    @property
    def advice(self) -> list[Advice]: ...
    def known(self) -> NDArray[np.float64] | None: ...

def stein_samples(
    x: NDArray[np.float64],
    scores: NDArray[np.float64],
    *,
    base: str,
    preconditioner: str,
    length: float | None,
    scale: str,
    log_density: NDArray[np.float64] | None,
    regularisation: float,
    second_derivatives: NDArray[np.float64] | None,
) -> Samples: ...
def ksd(
    samples: Samples,
    points: NDArray[np.float64],
    scores: NDArray[np.float64],
    weights: NDArray[np.float64] | None,
    threads: int | None = None,
) -> float: ...
def stein_place(
    score: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    log_density: Callable[[NDArray[np.float64]], float] | None,
    starts: NDArray[np.float64],
    start_scores: NDArray[np.float64],
    n: int,
    *,
    base: str,
    preconditioner: str,
    length: float | None,
    scale: str,
    tol: float | None,
    climbs: int,
    max_evaluations: int,
    weights: str,
    threads: int | None,
    progress: Callable[[str, int, int], object] | None,
) -> SteinPlaced: ...

@final
class SteinPlaced:
    @property
    def points(self) -> NDArray[np.float64]: ...
    @property
    def stuck(self) -> int: ...
    @property
    def evaluations(self) -> int: ...
    @property
    def chosen(self) -> Chosen: ...
    @property
    def advice(self) -> list[Advice]: ...

@final
class Gatherer:
    def __new__(cls, columns: int, pool_rows: int, seed: int) -> Gatherer: ...
    @staticmethod
    def of_part(columns: int, pool_rows: int, share: float, seed: int, part: int) -> Gatherer: ...
    @staticmethod
    def from_bytes(bytes: bytes) -> Gatherer: ...
    def to_bytes(self) -> bytes: ...
    def merge(self, other: Gatherer) -> None: ...
    def update(
        self,
        x: NDArray[np.float64],
        sample_weight: NDArray[np.float64] | None,
        log_weight: NDArray[np.float64] | None,
        threads: int | None = None,
    ) -> None: ...
    @property
    def rows(self) -> int: ...
    @property
    def drawn(self) -> int: ...
    @property
    def columns(self) -> int: ...
    def samples(
        self,
        *,
        kernel: str,
        bandwidths: list[float] | None,
        scale: str,
        precision: str,
        marginals: float,
        landmarks: int | None,
        seed: int,
        functions: int = 0,
        functions_weight: float = 1.0,
        functions_unit: str = "each",
        device: str = "cpu",
    ) -> Samples: ...

@final
class PassSums:
    @staticmethod
    def from_bytes(bytes: bytes) -> PassSums: ...
    def to_bytes(self) -> bytes: ...
    def numbers(self) -> NDArray[np.float64]: ...
    def add_numbers(self, numbers: NDArray[np.float64]) -> None: ...
    def at(self, samples: Samples, points: NDArray[np.float64]) -> PassSums: ...
    def update(
        self,
        x: NDArray[np.float64],
        sample_weight: NDArray[np.float64] | None,
        log_weight: NDArray[np.float64] | None,
        threads: int | None,
    ) -> None: ...
    @property
    def landmarks(self) -> int: ...
    @property
    def points(self) -> int: ...

@final
class Unmeasured:
    def sums(self, samples: Samples) -> PassSums: ...
    def measured(self, samples: Samples, sums: PassSums | None, threads: int | None) -> Chosen: ...

@final
class LandmarkSums:
    def __new__(
        cls,
        landmarks: NDArray[np.float64],
        controls: NDArray[np.float64] | None,
        *,
        kernel: str,
        bandwidths: list[float],
        precision: str,
    ) -> LandmarkSums: ...
    @staticmethod
    def chosen_from(
        x: NDArray[np.float64],
        count: int,
        *,
        kernel: str,
        bandwidths: list[float] | None,
        sample_weight: NDArray[np.float64] | None,
        precision: str,
        seed: int,
        threads: int | None,
    ) -> LandmarkSums: ...
    @staticmethod
    def from_bytes(bytes: bytes) -> LandmarkSums: ...
    def to_bytes(self) -> bytes: ...
    def update(
        self, x: NDArray[np.float64], sample_weight: NDArray[np.float64] | None, threads: int | None
    ) -> None: ...
    def merge(self, other: LandmarkSums) -> None: ...
    def emptied(self) -> LandmarkSums: ...
    @property
    def rows(self) -> int: ...
    @property
    def weight(self) -> float: ...
    @property
    def kernel(self) -> tuple[str, list[float]]: ...
    @property
    def landmarks(self) -> NDArray[np.float64]: ...
    def values(self, x: NDArray[np.float64], threads: int | None) -> NDArray[np.float64]: ...
    def norm(self) -> tuple[float | None, float | None, float | None]: ...

def pool_rows(limit: int, columns: int, n: int | None, *, thinning: bool) -> int: ...
def pool_rows_of_single(rows: int, n: int | None, embedding: str, landmarks: int | None, device: str) -> int | None: ...
def compared_with(rows: int, n: int | None, landmarks: int | None, *, thinning: bool) -> int: ...
def gathered(samples: Samples) -> tuple[int, NDArray[np.int64]] | None: ...
def pool_points(samples: Samples, rows: NDArray[np.int64]) -> NDArray[np.float64]: ...
def landmark_sums(samples: Samples, n: int | None, threads: int | None, *, thinning: bool) -> PassSums: ...
def project_on(samples: Samples, sums: PassSums, threads: int | None) -> None: ...
def choose_from_pool(
    samples: Samples,
    n: int | None,
    *,
    tol: float | None,
    worth: float | None,
    thinning: bool,
    distinct: bool,
    search: int | None,
    seed: int,
    threads: int | None,
    progress: _Listener,
    kept: int | None = None,
) -> Unmeasured: ...
def evaluate_measured(
    samples: Samples,
    points: NDArray[np.float64],
    weights: NDArray[np.float64] | None,
    sums: PassSums,
    threads: int | None,
    progress: _Listener,
) -> Evaluation: ...

@final
class Chosen:
    @property
    def rows(self) -> NDArray[np.int64]: ...
    @property
    def error(self) -> NDArray[np.float64]: ...
    @property
    def weights(self) -> NDArray[np.float64] | None: ...
    @property
    def mmd(self) -> float: ...
    @property
    def mmd_error(self) -> float | None: ...
    @property
    def landmarks(self) -> int | None: ...
    @property
    def pool_rows(self) -> int | None: ...
    @property
    def worth(self) -> float | None: ...
    @property
    def cdf(self) -> float | None: ...
    @property
    def functions(self) -> float | None: ...
    @property
    def ended(self) -> str: ...
    @property
    def missed(self) -> bool: ...
    @property
    def refinement(self) -> dict[str, Any] | None: ...
    @property
    def advice(self) -> list[Advice]: ...

@final
class Picks:
    @property
    def t(self) -> list[int]: ...
    @property
    def rows(self) -> list[int]: ...
    @property
    def score(self) -> list[float]: ...
    @property
    def error(self) -> list[float | None]: ...
    @property
    def weight_norm(self) -> list[float | None]: ...
    @property
    def margin(self) -> list[float | None]: ...

@final
class Herder:
    def __new__(cls, samples: Samples, unique: bool) -> Herder: ...
    def __len__(self) -> int: ...
    def advance(self, n: int, threads: int | None = None, progress: _Listener = None) -> Picks: ...
    def replay(self, rows: NDArray[np.int64], threads: int | None = None) -> Picks: ...
    def restart(self) -> None: ...
    def indices(self) -> NDArray[np.int64]: ...
    def errors(self) -> NDArray[np.float64]: ...
    def chosen(self, weights: str, threads: int | None = None, progress: _Listener = None) -> Chosen: ...

def herd(
    samples: Samples,
    n: int | None,
    *,
    tol: float | None,
    worth: float | None,
    unique: bool,
    weights: str,
    threads: int | None,
    progress: _Listener,
) -> Chosen: ...
def thin(
    samples: Samples,
    n: int | None,
    *,
    tol: float | None,
    worth: float | None,
    repeats: bool,
    search: int | None,
    seed: int,
    include: NDArray[np.int64],
    exclude: NDArray[np.int64],
    groups: NDArray[np.int64] | None,
    quotas: list[int] | None,
    weights: str,
    threads: int | None,
    progress: _Listener,
) -> Chosen: ...

@final
class Evaluation:
    @property
    def mmd(self) -> float: ...
    @property
    def mmd_error(self) -> float | None: ...
    @property
    def landmarks(self) -> int | None: ...
    @property
    def worth(self) -> float | None: ...
    @property
    def random(self) -> NDArray[np.float64] | None: ...
    @property
    def spaced(self) -> float | None: ...
    @property
    def spaced_worth(self) -> float | None: ...
    @property
    def mean_error(self) -> NDArray[np.float64]: ...
    @property
    def sd_error(self) -> NDArray[np.float64]: ...
    @property
    def quantile_error(self) -> NDArray[np.float64]: ...
    @property
    def correlation_rms(self) -> float | None: ...
    @property
    def typical(self) -> dict[str, float | None]: ...
    @property
    def random_typical(self) -> dict[str, float | None] | None: ...
    @property
    def spaced_typical(self) -> dict[str, float | None] | None: ...

def mmd(
    samples: Samples,
    points: NDArray[np.float64],
    weights: NDArray[np.float64] | None,
    threads: int | None = None,
    progress: _Listener = None,
) -> float: ...
def evaluate(
    samples: Samples,
    points: NDArray[np.float64],
    weights: NDArray[np.float64] | None,
    functions: NDArray[np.float64] | None,
    threads: int | None = None,
    progress: _Listener = None,
) -> Evaluation: ...

@final
class Placed:
    @property
    def points(self) -> NDArray[np.float64]: ...
    @property
    def bandwidths(self) -> list[float]: ...
    @property
    def stuck(self) -> int: ...
    @property
    def chosen(self) -> Chosen: ...

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
        weights: NDArray[np.float64] | None,
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
    ) -> Placed: ...
