"""Gaussian mixtures, and points that represent them."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _native
from ._advice import missed, tell
from ._inputs import as_count, as_seed, as_vector
from ._numbers import counted
from ._options import Options, Place, read, takes
from ._progress import reporting
from ._result import Result, placed_result
from ._tables import as_table
from ._warnings import warn
from .kernels import Gaussian

if TYPE_CHECKING:
    from typing_extensions import Unpack


#: Rows whose density is computed at once.
_BLOCK = 10_000


class GaussianMixture:
    """A mixture of Gaussians with weights (normalised to sum to one), means and full covariances.

    >>> import supersample as ss
    >>> mixture = ss.GaussianMixture([1, 3], [[-2.0, 0.0], [2.0, 1.0]], [[[1, 0.5], [0.5, 1]], [[0.3, 0], [0, 0.3]]])
    >>> mixture
    <GaussianMixture of 2 components in 2 dimensions>
    >>> mixture.weights
    array([0.25, 0.75])
    """

    __slots__ = ("_native",)

    def __init__(self, weights: ArrayLike, means: ArrayLike, covariances: ArrayLike) -> None:
        means_ = as_table(means, "means").values
        covariances_ = np.require(covariances, dtype=np.float64, requirements=("C", "A"))
        if covariances_.ndim != 3 or covariances_.shape[1] != covariances_.shape[2]:
            raise ValueError(f"covariances has shape {covariances_.shape}; give one square matrix for each component")
        self._native = _native.Mixture(as_vector(weights, "weights"), means_, covariances_)

    @classmethod
    def from_sklearn(cls, fitted: Any) -> GaussianMixture:
        """Returns the mixture of a fitted scikit-learn `GaussianMixture` or `BayesianGaussianMixture`.

        >>> import numpy as np, supersample as ss
        >>> from sklearn.mixture import GaussianMixture
        >>> x = np.random.default_rng(0).normal(size=(300, 2))
        >>> ss.GaussianMixture.from_sklearn(GaussianMixture(2, covariance_type="diag").fit(x))
        <GaussianMixture of 2 components in 2 dimensions>
        """
        if not hasattr(fitted, "means_"):
            raise ValueError(f"{type(fitted).__name__} has no means_; fit it first")
        means = np.asarray(fitted.means_, dtype=np.float64)
        count, dim = means.shape
        given = np.asarray(fitted.covariances_, dtype=np.float64)
        eye = np.eye(dim)
        kind = fitted.covariance_type
        if kind == "full":
            covariances = given
        elif kind == "tied":
            covariances = np.broadcast_to(given, (count, dim, dim))
        elif kind == "diag":
            covariances = given[:, :, None] * eye
        elif kind == "spherical":
            covariances = given[:, None, None] * eye
        else:
            raise ValueError(f"covariance_type is '{kind}'; it must be full, tied, diag or spherical")
        return cls(fitted.weights_, means, covariances)

    @classmethod
    def read(cls, path: str | PathLike[str]) -> GaussianMixture:
        """Returns the mixture in a TOML or JSON file, in the format of the command `supersample sample`.

        >>> import supersample as ss
        >>> ss.GaussianMixture.read("no such file.toml")
        Traceback (most recent call last):
        ...
        FileNotFoundError: [Errno 2] no such file.toml: the file cannot be read: No such file or directory (os error 2)
        """
        self = cls.__new__(cls)
        self._native = _native.Mixture.read(path)
        return self

    def write(self, path: str | PathLike[str]) -> None:
        """Writes the mixture to a file: JSON if its name ends in .json, otherwise TOML. Numbers are exact.

        >>> import os, supersample as ss, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "m.toml")
        ...     ss.GaussianMixture([1], [[0.0]], [[[2.0]]]).write(path)
        ...     ss.GaussianMixture.read(path).covariances
        array([[[2.]]])
        """
        text = self._native.text(path)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    @property
    def weights(self) -> NDArray[np.float64]:
        """The weights, which sum to one.

        >>> import supersample as ss
        >>> ss.GaussianMixture([2], [[0.0]], [[[1.0]]]).weights
        array([1.])
        """
        return self._native.weights

    @property
    def means(self) -> NDArray[np.float64]:
        """The means, one row for each component.

        >>> import supersample as ss
        >>> ss.GaussianMixture([2], [[0.5]], [[[1.0]]]).means
        array([[0.5]])
        """
        return self._native.means

    @property
    def covariances(self) -> NDArray[np.float64]:
        """The covariances, one square matrix for each component.

        >>> import supersample as ss
        >>> ss.GaussianMixture([2], [[0.5]], [[[1.0]]]).covariances.shape
        (1, 1, 1)
        """
        flat = self._native.covariances
        return flat.reshape(-1, flat.shape[1], flat.shape[1])

    def draw(self, n: int, seed: int = 0) -> NDArray[np.float64]:
        """Returns `n` independent draws, one per row; the same draws for the same seed.

        >>> import supersample as ss
        >>> ss.GaussianMixture([1], [[0.0, 0.0]], [[[1, 0], [0, 1]]]).draw(5, seed=1).shape
        (5, 2)
        """
        return self._native.draw(as_count(n, "n"), as_seed(seed, "seed"))

    def density(self, x: ArrayLike) -> NDArray[np.float64]:
        """Returns the density at each row of `x`.

        >>> import supersample as ss
        >>> ss.GaussianMixture([1], [[0.0]], [[[1.0]]]).density([[0.0]]).round(6)
        array([0.398942])
        """
        values = as_table(x).values
        # In blocks, between which Ctrl-C is heard.
        blocks = [self._native.density(values[start : start + _BLOCK]) for start in range(0, len(values), _BLOCK)]
        return np.concatenate(blocks) if blocks else self._native.density(values)

    def __repr__(self) -> str:
        count, dim = self.means.shape
        return f"<GaussianMixture of {counted(count, 'component')} in {counted(dim, 'dimension')}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GaussianMixture):
            return NotImplemented
        mine = (self.weights, self.means, self.covariances)
        theirs = (other.weights, other.means, other.covariances)
        return all(np.array_equal(a, b) for a, b in zip(mine, theirs))

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return (GaussianMixture, (self.weights, self.means, self.covariances))


def as_mixture(mixture: Any) -> GaussianMixture:
    """The mixture, converted if it is scikit-learn's."""
    if isinstance(mixture, GaussianMixture):
        return mixture
    if hasattr(mixture, "covariance_type"):
        return GaussianMixture.from_sklearn(mixture)
    raise TypeError(
        f"mixture is of type {type(mixture).__name__}; give a GaussianMixture of supersample or scikit-learn"
    )


def gaussian_lengths(given: Options) -> list[float] | None:
    """The bandwidths of a Gaussian kernel, the only kernel with a closed form for a mixture."""
    name = given["kernel"]
    if name not in (None, Gaussian.name):
        raise ValueError(f"a mixture has no closed form with the {name} kernel; use gaussian")
    lengths: list[float] | None = given["bandwidth"]
    return lengths


@takes(Place)
def sample(mixture: Any, n: SupportsIndex, *, climbs: int = 1, starts: int = 1000, **options: Unpack[Place]) -> Result:
    """Returns `n` points that represent a Gaussian mixture, placed anywhere in space by gradient ascent.

    The points are a quadrature rule for the mixture.

    Parameters
    ----------
    mixture
        A `GaussianMixture`, or a fitted one of scikit-learn.
    n
        Number of points; with `tol` or `equivalent_draws`, the maximum.
    kernel, bandwidth
        The Gaussian kernel, with a length or the median distance between draws of the mixture. The
        mixture is not scaled.
    climbs
        Number of starting points, the best ones, from which gradient ascent runs for each point.
    starts, seed
        Number of draws of the mixture that are tried as starting points, and their random seed.
    **options

    >>> import supersample as ss
    >>> normal = ss.GaussianMixture([1], [[0.0]], [[[1.0]]])
    >>> result = ss.sample(normal, 20, bandwidth=1.0)
    >>> result
    Result: 20 points in 1 dimension
      MMD 0.0320, equivalent to 413 iid draws
      gaussian kernel, bandwidth 1.00
    >>> result.indices is None
    True
    """
    target, given = as_mixture(mixture), read(Place, options)
    lengths = gaussian_lengths(given)
    with reporting(given["progress"]) as listener:
        given = given.also(method="herd", n=as_count(n, "n"), bandwidth=lengths, progress=listener)
        placed = target._native.place(given, as_count(climbs, "climbs"), as_count(starts, "starts"))
    chosen = placed.chosen
    result = placed_result(chosen, Gaussian(tuple(placed.bandwidths)), target.draw(2000))
    if placed.stuck:
        warn(f"{placed.stuck} of the gradient ascents did not reach a maximum; try more starts")
    tell(chosen.advice)
    missed(chosen, result)
    return result
