"""The kernels: small immutable objects with a name and a bandwidth, which can be called on points.

A bandwidth is a length, in units of the scaled columns. In the formulas r is the Euclidean distance between two points,
|x-y| the sum of the absolute differences of their coordinates, and l the bandwidth.

>>> from supersample.kernels import Gaussian
>>> Gaussian(1.0)([[0.0]], [[0.0], [1.0]]).round(4)
array([[1.    , 0.6065]])
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import make_dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _native
from ._inputs import refuse_masked

#: Kernel values computed between two checks for Ctrl-C.
_BLOCK = 2_000_000

_Given = float | Sequence[float] | NDArray[Any]


def _lengths(bandwidth: Any) -> list[float]:
    """One or several lengths as numbers."""
    if bandwidth is None or isinstance(bandwidth, (str, bytes, bool, np.bool_)):
        raise TypeError(f"bandwidth is {bandwidth!r}; give a number")
    try:
        refuse_masked(bandwidth, "bandwidth")
        lengths = np.atleast_1d(np.asarray(bandwidth, dtype=np.float64))
    except (TypeError, ValueError) as error:
        if "masked" in str(error):
            raise
        raise TypeError(f"bandwidth is {bandwidth!r}; give a number") from None
    if lengths.ndim != 1 or not len(lengths):
        raise ValueError(f"bandwidth has shape {np.shape(bandwidth)}; give a number, or several in a list")
    return [float(length) for length in lengths]


class Kernel:
    """The base class of all kernels: a name, bandwidths, and values between points.

    >>> from supersample.kernels import Kernel, Laplace
    >>> isinstance(Laplace(2.0), Kernel)
    True
    >>> Laplace(2.0).name, Laplace(2.0).bandwidths
    ('laplace', (2.0,))
    """

    name: ClassVar[str]
    #: The number of lengths allowed: 0, 1, or 2 for any number.
    _most: ClassVar[int]

    if TYPE_CHECKING:

        def __init__(self, bandwidth: _Given = ...) -> None: ...

    def __post_init__(self) -> None:
        if self._most:
            lengths = _lengths(self.bandwidth)  # type: ignore[attr-defined]
            object.__setattr__(self, "bandwidth", lengths[0] if len(lengths) == 1 else tuple(lengths))
        _native.check_kernel(self.name, list(self.bandwidths))

    @property
    def bandwidths(self) -> tuple[float, ...]:
        """The bandwidths: one for most kernels, several for a mean of Gaussians, none for the linear kernel.

        >>> from supersample.kernels import Gaussian
        >>> Gaussian((0.5, 1, 2)).bandwidths
        (0.5, 1.0, 2.0)
        """
        bandwidth: float | tuple[float, ...] = getattr(self, "bandwidth", ())
        return bandwidth if isinstance(bandwidth, tuple) else (bandwidth,)

    def __call__(self, x: ArrayLike, y: ArrayLike) -> NDArray[np.float64]:
        """Returns the kernel matrix, with one row for each row of `x` and one column for each row of `y`.

        >>> from supersample.kernels import IMQ
        >>> IMQ(1.0)([[0.0], [1.0]], [[0.0]])
        array([[1.        ],
               [0.70710678]])
        """
        from ._inputs import as_threads
        from ._tables import as_table

        first, second = as_table(x, "x").values, as_table(y, "y").values
        step = max(_BLOCK // max(len(second), 1), 1)
        if len(first) <= step:
            return _native.kernel_values(self.name, list(self.bandwidths), first, second)
        values = np.empty((len(first), len(second)))

        def fill(start: int) -> None:
            rows = first[start : start + step]
            values[start : start + step] = _native.kernel_values(self.name, list(self.bandwidths), rows, second)

        from concurrent.futures import ThreadPoolExecutor

        # Each block is computed without Python's lock.
        pool = ThreadPoolExecutor(as_threads(None) or os.cpu_count())
        try:
            for _ in pool.map(fill, range(0, len(first), step)):
                pass
        finally:
            pool.shutdown(cancel_futures=True)
        return values


#: The error for a Stein kernel without scores.
_NEEDS_SCORES = "a Stein kernel needs the scores of the points; use supersample.stein.ksd"


class _Stein(Kernel):
    """A kernel of points and their scores, which only `supersample.stein` makes."""

    def __post_init__(self) -> None:
        """There is no length to check."""

    def __call__(self, x: ArrayLike, y: ArrayLike) -> NDArray[np.float64]:
        raise TypeError(_NEEDS_SCORES)


class _Matrix(Kernel):
    """Given kernel values, known only between the rows to choose from."""

    def __post_init__(self) -> None:
        """There is no length to check."""

    def __call__(self, x: ArrayLike, y: ArrayLike) -> NDArray[np.float64]:
        raise TypeError("the kernel was given as a matrix of values, so it is unknown at other points")


def _made(name: str, most: int, about: str, base: type[Kernel]) -> type[Kernel]:
    """The class of a kernel: IMQ for imq, SteinGaussian for stein-gaussian."""
    title = "".join(word.upper() if len(word) < 4 else word.capitalize() for word in name.split("-"))
    given, shown = ("1.0", "bandwidth=1.0") if most else ("", "")
    example = f">>> from supersample.kernels import {title}\n>>> {title}({given})\n{title}({shown})\n"
    namespace = {"name": name, "_most": most, "__doc__": f"{about}.\n\n{example}", "__module__": __name__}
    fields = [("bandwidth", float | tuple[float, ...])] if most else []
    return make_dataclass(title, fields, bases=(base,), namespace=namespace, frozen=True)


BY_NAME = {name: _made(name, most, formula, Kernel) for name, most, formula in _native.KERNELS}
#: Kernels of results, which users do not create.
_STEIN = {
    f"stein-{base}": _made(
        f"stein-{base}", 0, f"The Stein kernel of {base}, the kernel of results of `supersample.stein`", _Stein
    )
    for base in _native.STEIN_BASES
}
#: The kernel of results of `gram=`.
_PRECOMPUTED = _made("precomputed", 0, "Kernel values given as a matrix (`gram=`)", _Matrix)
_CLASSES = {kind.__name__: kind for kind in (*BY_NAME.values(), *_STEIN.values(), _PRECOMPUTED)}
globals().update(_CLASSES)
__all__ = ["Kernel", *_CLASSES]

if TYPE_CHECKING:
    # Names and signatures for checkers and editors. A kernel that is not here is a `type[Kernel]` to them.
    class _OneLength(Kernel):
        bandwidth: float

        def __init__(self, bandwidth: float) -> None: ...

    class _NoLength(Kernel):
        def __init__(self) -> None: ...

    class Gaussian(Kernel):
        bandwidth: float | tuple[float, ...]

        def __init__(self, bandwidth: _Given) -> None: ...

    class Laplace(_OneLength): ...

    class Matern12(_OneLength): ...

    class Matern32(_OneLength): ...

    class Matern52(_OneLength): ...

    class IMQ(_OneLength): ...

    class Linear(_NoLength): ...

    class Energy(_NoLength): ...

    class SteinIMQ(_NoLength): ...

    class SteinGaussian(_NoLength): ...

    def __getattr__(name: str) -> type[Kernel]: ...


def known_kernel(name: str, bandwidths: Sequence[float]) -> Kernel:
    """The kernel of this name with these bandwidths, as the native module reports them."""
    kind = _PRECOMPUTED if name == "precomputed" else _STEIN.get(name) or BY_NAME[name]
    return kind(tuple(bandwidths)) if kind._most else kind()


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
    if isinstance(bandwidth, str) and not is_median:
        raise ValueError(f"bandwidth is '{bandwidth}'; give a number or the word 'median'")
    has_length = kernel not in BY_NAME or BY_NAME[kernel]._most > 0
    lengths = _lengths(bandwidth) if not is_median else [1.0] if has_length else []
    _native.check_kernel(kernel, lengths)
    return kernel, None if is_median and has_length else lengths
