"""The kernels, as small frozen values.

A bandwidth is always a length, in the units of the points as they are after scaling. With r the Euclidean distance of
two points and |x-y| the sum of the absolute differences of their coordinates:

==========  =======================================
Gaussian    exp(-r^2/(2 l^2)), or a mean of several
Laplace     exp(-\\|x-y\\|/l)
Matern12    exp(-r/l)
Matern32    (1 + sqrt(3) r/l) exp(-sqrt(3) r/l)
Matern52    (1 + sqrt(5) r/l + 5r^2/(3 l^2)) exp(-sqrt(5) r/l)
IMQ         (1 + r^2/l^2)^(-1/2)
Linear      x . y, which matches means only
Energy      -r, which has no length and sees far tails
==========  =======================================
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _native

#: Kernel values that are computed between two looks for Ctrl-C.
_BLOCK = 2_000_000

__all__ = [
    "IMQ",
    "Energy",
    "Gaussian",
    "Kernel",
    "Laplace",
    "Linear",
    "Matern12",
    "Matern32",
    "Matern52",
    "SteinGaussian",
    "SteinIMQ",
]


def _lengths(bandwidth: Any) -> list[float]:
    """One or several lengths as numbers."""
    if bandwidth is None or isinstance(bandwidth, (str, bytes, bool, np.bool_)):
        raise TypeError(f"bandwidth is {bandwidth!r}; give a number")
    try:
        lengths = np.atleast_1d(np.asarray(bandwidth, dtype=np.float64))
    except (TypeError, ValueError):
        raise TypeError(f"bandwidth is {bandwidth!r}; give a number") from None
    if lengths.ndim != 1 or not len(lengths):
        raise ValueError(f"bandwidth has shape {np.shape(bandwidth)}; give a number, or several in a list")
    return [float(length) for length in lengths]


class Kernel:
    """What all kernels have in common: a name, bandwidths, and values between points.

    >>> from supersample.kernels import Kernel, Laplace
    >>> isinstance(Laplace(2.0), Kernel)
    True
    >>> Laplace(2.0).name, Laplace(2.0).bandwidths
    ('laplace', (2.0,))
    """

    name: ClassVar[str]

    @property
    def bandwidths(self) -> tuple[float, ...]:
        """The bandwidths: one for most kernels, several for a sum of Gaussians, none for the linear one.

        >>> from supersample.kernels import Gaussian
        >>> Gaussian((0.5, 1, 2)).bandwidths
        (0.5, 1.0, 2.0)
        """
        bandwidth: float | tuple[float, ...] = getattr(self, "bandwidth", ())
        return bandwidth if isinstance(bandwidth, tuple) else (bandwidth,)

    def __call__(self, x: ArrayLike, y: ArrayLike) -> NDArray[np.float64]:
        """The matrix of k(x, y), one row for each row of `x` and one column for each row of `y`; on all cores if large.

        >>> from supersample.kernels import IMQ
        >>> IMQ(1.0)([[0.0], [1.0]], [[0.0]])
        array([[1.        ],
               [0.70710678]])
        """
        from ._inputs import as_table, as_threads

        first, second = as_table(x, "x").values, as_table(y, "y").values
        step = max(_BLOCK // max(len(second), 1), 1)
        if len(first) <= step:
            return _native.kernel_values(self.name, list(self.bandwidths), first, second)
        values = np.empty((len(first), len(second)))

        def fill(start: int) -> None:
            rows = first[start : start + step]
            values[start : start + step] = _native.kernel_values(self.name, list(self.bandwidths), rows, second)

        from concurrent.futures import ThreadPoolExecutor

        # Each block lets go of Python's lock while it is computed.
        pool = ThreadPoolExecutor(as_threads(None) or os.cpu_count())
        try:
            for _ in pool.map(fill, range(0, len(first), step)):
                pass
        finally:
            pool.shutdown(cancel_futures=True)
        return values


class _OneLength(Kernel):
    """A kernel of one bandwidth, which is checked when it is made."""

    bandwidth: float

    def __post_init__(self) -> None:
        lengths = _lengths(self.bandwidth)
        if len(lengths) != 1:
            raise ValueError(f"{self.name} takes one bandwidth, not {len(lengths)}; only gaussian takes several")
        object.__setattr__(self, "bandwidth", lengths[0])
        _native.check_kernel(self.name, list(self.bandwidths))


@dataclass(frozen=True)
class Gaussian(Kernel):
    """exp(-r^2/(2 l^2)), the paper's kernel; with several bandwidths the mean of as many Gaussians.

    >>> from supersample.kernels import Gaussian
    >>> Gaussian(0.73)
    Gaussian(bandwidth=0.73)
    >>> Gaussian(0)
    Traceback (most recent call last):
    ...
    ValueError: bandwidth 0 is not a positive finite number; a bandwidth is a length, in the units of the points
    """

    bandwidth: float | tuple[float, ...]
    name: ClassVar[str] = "gaussian"

    def __post_init__(self) -> None:
        several = tuple(_lengths(self.bandwidth))
        object.__setattr__(self, "bandwidth", several[0] if len(several) == 1 else several)
        _native.check_kernel(self.name, list(several))


@dataclass(frozen=True)
class Laplace(_OneLength):
    """exp(-|x-y|/l), with the sum of absolute differences.

    >>> from supersample.kernels import Laplace
    >>> Laplace(1.0)([[0.0, 0.0]], [[0.0, 0.0]])
    array([[1.]])
    """

    bandwidth: float
    name: ClassVar[str] = "laplace"


@dataclass(frozen=True)
class Matern12(_OneLength):
    """exp(-r/l), the roughest of the Matern kernels.

    >>> from supersample.kernels import Matern12
    >>> round(float(Matern12(1.0)([[0.0]], [[1.0]])[0, 0]), 4)
    0.3679
    """

    bandwidth: float
    name: ClassVar[str] = "matern12"


@dataclass(frozen=True)
class Matern32(_OneLength):
    """(1 + sqrt(3) r/l) exp(-sqrt(3) r/l).

    >>> from supersample.kernels import Matern32
    >>> round(float(Matern32(1.0)([[0.0]], [[1.0]])[0, 0]), 4)
    0.4834
    """

    bandwidth: float
    name: ClassVar[str] = "matern32"


@dataclass(frozen=True)
class Matern52(_OneLength):
    """(1 + sqrt(5) r/l + 5r^2/(3 l^2)) exp(-sqrt(5) r/l).

    >>> from supersample.kernels import Matern52
    >>> round(float(Matern52(1.0)([[0.0]], [[1.0]])[0, 0]), 4)
    0.524
    """

    bandwidth: float
    name: ClassVar[str] = "matern52"


@dataclass(frozen=True)
class IMQ(_OneLength):
    """(1 + r^2/l^2)^(-1/2), the inverse multiquadric, whose tails are heavy.

    >>> from supersample.kernels import IMQ
    >>> round(float(IMQ(1.0)([[0.0]], [[1.0]])[0, 0]), 4)
    0.7071
    """

    bandwidth: float
    name: ClassVar[str] = "imq"


@dataclass(frozen=True)
class Linear(Kernel):
    """x . y: only means are matched.

    >>> from supersample.kernels import Linear
    >>> Linear()([[1.0, 2.0]], [[4.0, 6.0]])
    array([[16.]])
    """

    name: ClassVar[str] = "linear"


@dataclass(frozen=True)
class Energy(Kernel):
    """-r: the energy distance, whose best points are the support points of Mak and Joseph. Masses must be equal.

    >>> from supersample.kernels import Energy
    >>> Energy()([[0.0, 0.0]], [[3.0, 4.0]])
    array([[-5.]])
    """

    name: ClassVar[str] = "energy"


#: What is said where a Stein kernel would compare points without scores.
_NEEDS_SCORES = "a Stein kernel is one of points and scores; use supersample.stein.ksd"


class _Stein(Kernel):
    """A kernel of points and their scores, which only `supersample.stein` makes."""

    def __call__(self, x: ArrayLike, y: ArrayLike) -> NDArray[np.float64]:
        raise TypeError(_NEEDS_SCORES)


@dataclass(frozen=True)
class SteinIMQ(_Stein):
    """The Stein kernel that is made of (1 + u)^(-1/2); results of `supersample.stein` have it.

    >>> from supersample.kernels import SteinIMQ
    >>> SteinIMQ().name, SteinIMQ().bandwidths
    ('stein-imq', ())
    """

    name: ClassVar[str] = "stein-imq"


@dataclass(frozen=True)
class SteinGaussian(_Stein):
    """The Stein kernel that is made of exp(-u/2); results of `supersample.stein` have it.

    >>> from supersample.kernels import SteinGaussian
    >>> SteinGaussian().name
    'stein-gaussian'
    """

    name: ClassVar[str] = "stein-gaussian"


BY_NAME: dict[str, type[Kernel]] = {
    kind.name: kind for kind in (Gaussian, Laplace, Matern12, Matern32, Matern52, IMQ, Linear, Energy)
}
#: Those that have no bandwidth.
_WITHOUT_LENGTH = (Linear.name, Energy.name)
#: Those that cannot be asked for, only met.
_STEIN: dict[str, type[Kernel]] = {kind.name: kind for kind in (SteinIMQ, SteinGaussian)}


def known_kernel(name: str, bandwidths: Sequence[float]) -> Kernel:
    """The kernel of this name with these bandwidths, as the native module reports them."""
    if name in _STEIN:
        return _STEIN[name]()
    if name in _WITHOUT_LENGTH:
        return BY_NAME[name]()
    if name == Gaussian.name:
        return Gaussian(tuple(bandwidths))
    kind = BY_NAME[name]
    return kind(bandwidths[0])  # type: ignore[call-arg]


def native_kernel(kernel: str | Kernel, bandwidth: object) -> tuple[str, list[float] | None]:
    """Name and bandwidths as the native module takes them; None is the median distance."""
    is_median = isinstance(bandwidth, str) and bandwidth == "median"
    if isinstance(kernel, _Stein) or (isinstance(kernel, str) and kernel in _STEIN):
        raise ValueError(f"{_NEEDS_SCORES}, or name another kernel")
    if isinstance(kernel, Kernel):
        if not is_median:
            raise ValueError(f"bandwidth has no effect on {kernel!r}, which has its own; leave it out")
        return kernel.name, list(kernel.bandwidths)
    if not isinstance(kernel, str):
        raise TypeError(f"kernel is {kernel!r}; give a name such as 'gaussian' or a kernel such as Gaussian(1.5)")
    if kernel not in BY_NAME:
        raise ValueError(f"kernel is '{kernel}'; choose one of {', '.join(BY_NAME)}")
    if kernel in _WITHOUT_LENGTH:
        if not is_median:
            raise ValueError(f"bandwidth has no effect on the {kernel} kernel; leave it out")
        return kernel, []
    if is_median:
        return kernel, None
    if isinstance(bandwidth, str):
        raise ValueError(f"bandwidth is '{bandwidth}'; give a number or the word 'median'")
    several = _lengths(bandwidth)
    if len(several) > 1 and kernel != Gaussian.name:
        raise ValueError(f"{kernel} takes one bandwidth, not {len(several)}; only gaussian takes several")
    _native.check_kernel(kernel, several)
    return kernel, several
