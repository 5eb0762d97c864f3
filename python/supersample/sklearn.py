"""The estimator for scikit-learn: choose rows with fit or fit_resample."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

try:
    from sklearn.base import BaseEstimator
    from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data
except ImportError as error:  # pragma: no cover
    raise ImportError("SuperSampler needs scikit-learn: pip install 'supersample[sklearn]'") from error

from ._choose import herd, thin

if TYPE_CHECKING:
    from ._choose import Bandwidth, Precision, Scale, Weights
    from ._result import Result
    from .kernels import Kernel

__all__ = ["SuperSampler"]


class SuperSampler(BaseEstimator):  # type: ignore[misc]
    """Chooses the rows that stand in for all of them.

    scikit-learn's transformers must keep every row, so this is no transformer: `fit` chooses, `sample_indices_` are the
    rows, and `fit_resample(X, y)` returns them, as samplers of imbalanced-learn do (whose pipelines accept it as a
    step).

    Parameters
    ----------
    n_samples
        How many rows, or which part of them where it is a fraction below 1. Where there are fewer, all of them.
    method
        `"thin"` for the best set, `"herd"` for the paper's sequence of distinct rows.
    stratify
        Take rows of every class of `y` in proportion.
    search, seed
        Of the search that `thin` ends with.
    kernel, bandwidth, scale, weights, threads, precision
        As in `supersample.herd`.

    Attributes
    ----------
    sample_indices_
        The chosen rows.
    weights_
        Their weights.
    mmd_
        Their MMD.
    result_
        The whole `Result`.

    >>> from sklearn.datasets import load_iris
    >>> from supersample import SuperSampler
    >>> X, y = load_iris(return_X_y=True)
    >>> sampler = SuperSampler(n_samples=12, stratify=True)
    >>> X_few, y_few = sampler.fit_resample(X, y)
    >>> X_few.shape, sorted(y_few.tolist())
    ((12, 4), [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2])
    >>> sampler.sample_indices_.shape
    (12,)
    """

    sample_indices_: NDArray[np.int64]
    weights_: NDArray[np.float64]
    mmd_: float
    result_: Result

    def __init__(
        self,
        n_samples: float = 100,
        *,
        method: str = "thin",
        stratify: bool = False,
        kernel: str | Kernel = "gaussian",
        bandwidth: Bandwidth = "median",
        scale: Scale = "sd",
        weights: Weights = "equal",
        search: int | None = None,
        seed: int = 0,
        threads: int | None = None,
        precision: Precision = "mixed",
    ) -> None:
        self.n_samples = n_samples
        self.method = method
        self.stratify = stratify
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.scale = scale
        self.weights = weights
        self.search = search
        self.seed = seed
        self.threads = threads
        self.precision = precision

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> SuperSampler:
        """Chooses rows of `X`; `y` is used where `stratify` is set.

        >>> import numpy as np
        >>> from supersample import SuperSampler
        >>> X = np.random.default_rng(0).normal(size=(200, 2))
        >>> SuperSampler(n_samples=0.05).fit(X).sample_indices_.shape
        (10,)
        """
        values = validate_data(self, X, dtype=np.float64, order="C")
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, values, dtype=np.float64)
        size = self._size(len(values))
        options: dict[str, Any] = {
            name: getattr(self, name) for name in ("kernel", "bandwidth", "scale", "weights", "threads", "precision")
        }
        if self.method == "herd":
            if self.stratify:
                raise ValueError("stratify has no effect on method='herd'; use method='thin'")
            self.result_ = herd(values, size, sample_weight=sample_weight, unique=True, **options)
        elif self.method == "thin":
            groups = None
            if self.stratify:
                if y is None:
                    raise ValueError("stratify needs y, the class of each row; give it to fit")
                groups = np.asarray(y)
            self.result_ = thin(
                values,
                size,
                sample_weight=sample_weight,
                groups=groups,
                search=self.search,
                seed=self.seed,
                **options,
            )
        else:
            raise ValueError(f"method is {self.method!r}; choose 'thin' or 'herd'")
        assert self.result_.indices is not None
        self.sample_indices_ = self.result_.indices
        self.weights_ = self.result_.weights
        self.mmd_ = self.result_.mmd
        return self

    def resample(self, *arrays: Any) -> Any:
        """The chosen rows of one or several objects that have as many rows as `X` had.

        >>> import numpy as np
        >>> from supersample import SuperSampler
        >>> X = np.random.default_rng(0).normal(size=(200, 2))
        >>> sampler = SuperSampler(n_samples=10).fit(X)
        >>> sampler.resample(X).shape
        (10, 2)
        """
        check_is_fitted(self, "sample_indices_")
        chosen = [self.result_.take(array) for array in arrays]
        return chosen[0] if len(chosen) == 1 else tuple(chosen)

    def fit_resample(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Chooses rows and returns them: `X` alone, or `X` and `y` where `y` is given.

        >>> import numpy as np
        >>> from supersample import SuperSampler
        >>> X = np.random.default_rng(0).normal(size=(200, 2))
        >>> X_few, y_few = SuperSampler(n_samples=10).fit_resample(X, X[:, 0] > 0)
        >>> X_few.shape, y_few.shape
        ((10, 2), (10,))
        """
        self.fit(X, y, sample_weight)
        given: Sequence[Any] = (X,) if y is None else (X, y)
        rows = [np.asarray(part) if isinstance(part, (list, tuple)) else part for part in given]
        return self.resample(*rows)

    def _size(self, rows: int) -> int:
        size: Any = self.n_samples
        if isinstance(size, (int, np.integer)):
            if size < 1:
                raise ValueError(f"n_samples is {size}; give at least 1")
            return min(int(size), rows)
        if isinstance(size, (float, np.floating)) and 0 < size < 1:
            return max(round(float(size) * rows), 1)
        raise ValueError(f"n_samples is {size!r}; give a whole number, or a fraction between 0 and 1")
