"""SuperSampler: an estimator for scikit-learn that chooses rows."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

try:
    from sklearn.base import BaseEstimator, OneToOneFeatureMixin
    from sklearn.utils import check_random_state
    from sklearn.utils.validation import _num_samples, check_is_fitted, validate_data
except ImportError as error:  # pragma: no cover
    raise ImportError("SuperSampler needs scikit-learn: pip install 'supersample[sklearn]'") from error

from ._choose import herd, thin
from ._evaluate import mmd
from ._files import is_file
from ._inputs import as_count, has, refuse_masked
from ._options import Estimate, defaults, takes
from ._result import PoolResult

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["SuperSampler"]


class SuperSampler(OneToOneFeatureMixin, BaseEstimator):  # type: ignore[misc]
    """An estimator that chooses representative rows of `X`.

    `fit` chooses rows, `sample_indices_` holds their numbers, and `fit_resample(X, y)` returns the rows.
    It is not a transformer, because scikit-learn's transformers must keep every row. It works as a step
    of a pipeline of imbalanced-learn, and as the last step of a pipeline of scikit-learn. `score` lets a
    grid search compare sizes and kernels.

    Parameters
    ----------
    n_samples
        Number of rows, or a fraction of them (a float up to 1.0). At most all rows are chosen, with a
        warning if there are fewer. It has no effect with `quotas`.
    method
        `"thin"` for the best set, `"herd"` for the paper's sequence. Rows are distinct with both.
    stratify
        Choose rows of each class of `y` in proportion to its size.
    quotas
        Number of rows for each class of `y` instead: one number for all, or a mapping from classes.
    random_state
        The random seed, by default 0, so that results are reproducible. None draws a seed.
    columns, nan, kernel, bandwidth, scale, weights, marginals, moments, functions_weight, functions_unit, target,
    search, precision, device
        As in `supersample.thin`; functions and scores are given to `fit`.
    n_jobs
        Number of threads: -1 for all cores, -2 for all but one, None as in `supersample.herd`. The
        result does not depend on it.
    verbose
        Show a progress bar.

    Attributes
    ----------
    sample_indices_
        The numbers of the chosen rows.
    weights_
        The weights of the chosen rows.
    mmd_
        The MMD of the chosen rows.
    result_
        The `PoolResult`.

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
    result_: PoolResult

    @takes(Estimate)
    def __init__(
        self,
        n_samples: float = 100,
        *,
        method: str = "thin",
        stratify: bool = False,
        quotas: int | Mapping[Any, int] | None = None,
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: bool | int = False,
        **options: Unpack[Estimate],
    ) -> None:
        self.n_samples = n_samples
        self.method = method
        self.stratify = stratify
        self.quotas = quotas
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        for name, default in defaults(Estimate).items():
            setattr(self, name, options.get(name, default))

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        log_weight: Any = None,
        functions: Any = None,
        scores: Any = None,
        include: Any = None,
        exclude: Any = None,
    ) -> SuperSampler:
        """Chooses rows of `X`, and returns the estimator.

        `y` is used if `stratify` or `quotas` is set. Columns of a frame that are ids or weights are not used, and the
        other keywords are those of `supersample.thin`: weights and functions may be names of columns.

        >>> import numpy as np
        >>> from supersample import SuperSampler
        >>> X = np.random.default_rng(0).normal(size=(200, 2))
        >>> SuperSampler(n_samples=0.05).fit(X).sample_indices_.shape
        (10,)
        >>> 7 in SuperSampler(n_samples=5).fit(X, include=[7]).sample_indices_
        True
        >>> SuperSampler(n_samples=5, marginals=0, moments=0).fit(X, functions=np.exp(X)).result_.objective
        'joint MMD + 1 × functions'
        """
        rows = self._checked(X, reset=True)
        count = _count(rows)
        options: dict[str, Any] = {name: getattr(self, name) for name in defaults(Estimate)}
        if functions is None:
            # An estimator may have a weight and a unit for functions that only some calls of `fit` are given.
            options |= {"functions_weight": None, "functions_unit": None}
        options |= {"sample_weight": _weights(sample_weight, count), "log_weight": log_weight, "functions": functions}
        options["scores"] = scores
        if scores is None:
            # As with functions.
            options["target"] = None
        options |= {"threads": _threads(self.n_jobs), "progress": bool(self.verbose), "seed": self._seed()}
        size = self._size(count)
        if self.method == "herd":
            of_sets = {"stratify": self.stratify or None, "quotas": self.quotas, "include": include, "exclude": exclude}
            for name, value in of_sets.items():
                if value is not None:
                    raise ValueError(f"{name} has no effect on method='herd'; use method='thin'")
            del options["search"]
            self.result_ = herd(rows, size, unique=True, **options)
        elif self.method == "thin":
            groups = None
            if self.stratify or self.quotas is not None:
                if y is None:
                    what = "stratify" if self.stratify else "quotas"
                    raise ValueError(f"{what} needs y, the class of each row; give it to fit")
                groups = y
            self.result_ = thin(
                rows,
                None if self.quotas is not None else size,
                groups=groups,
                quotas=self.quotas,
                include=include,
                exclude=exclude,
                **options,
            )
        else:
            raise ValueError(f"method is {self.method!r}; choose 'thin' or 'herd'")
        self.sample_indices_ = self.result_.indices
        self.weights_ = self.result_.weights
        self.mmd_ = self.result_.mmd
        return self

    def resample(self, *arrays: Any) -> Any:
        """Returns the chosen rows of one or several objects with the same rows as `X`.

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

    def fit_resample(self, X: Any, y: Any = None, sample_weight: Any = None, **options: Any) -> Any:
        """Chooses rows and returns those of `X`, or of `X` and `y` if `y` is given.

        >>> import numpy as np
        >>> from supersample import SuperSampler
        >>> X = np.random.default_rng(0).normal(size=(200, 2))
        >>> X_few, y_few = SuperSampler(n_samples=10).fit_resample(X, X[:, 0] > 0)
        >>> X_few.shape, y_few.shape
        ((10, 2), (10,))
        """
        self.fit(X, y, sample_weight, **options)
        given: Sequence[Any] = (X,) if y is None else (X, y)
        rows = [np.asarray(part) if isinstance(part, (list, tuple)) else part for part in given]
        return self.resample(*rows)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Returns minus the MMD between the rows of `X`, held out or not, and the chosen rows: larger is better.

        The kernel is always gaussian with the median distance of `X`, and columns are scaled to unit standard
        deviation, so that a grid search compares errors in the same units. `y` is not used.

        >>> import numpy as np
        >>> from sklearn.model_selection import GridSearchCV
        >>> from supersample import SuperSampler
        >>> X = np.random.default_rng(0).normal(size=(200, 2))
        >>> search = GridSearchCV(SuperSampler(), {"n_samples": [2, 40]}, cv=3).fit(X)
        >>> search.best_params_
        {'n_samples': 40}
        """
        check_is_fitted(self, "sample_indices_")
        rows, names = self._checked(X, reset=False), self.result_.names
        points: Any = self.result_.points
        options: Any = {"nan": self.nan, "threads": _threads(self.n_jobs)}
        if names is not None and isinstance(rows, np.ndarray):
            # By their places in the frame that was fitted.
            rows = np.ascontiguousarray(rows[:, [self.feature_names_in_.tolist().index(name) for name in names]])
        elif names is not None:
            points = dict(zip(names, points.T))
            options["columns"] = list(names)
        own = None if self.weights == "equal" else self.weights_
        weights = _weights(sample_weight, _count(rows))
        return -mmd(rows, points, subset_weight=own, sample_weight=weights, **options)

    def _checked(self, X: Any, reset: bool) -> Any:
        """The rows: a frame as it is, so that its columns have names, and everything else as an array."""
        if has(X, "_as_table"):
            raise TypeError("X is a result; give X.points, or X.to_frame() and sample_weight='weight'")
        if (isinstance(X, Mapping) and not has(X, "toarray")) or is_file(X):
            raise TypeError(
                f"X is of type {type(X).__name__}; give an array or a frame, such as pandas reads and makes"
            )
        if has(X, "__dask_graph__", "compute") and not has(X, "columns"):
            # Its mask would be lost.
            X = X.compute()
        refuse_masked(X, "X")
        if has(X, "columns") or has(X, "getParamNames"):
            validate_data(self, X, reset=reset, skip_check_array=True)
            return X
        return validate_data(
            self,
            X,
            dtype=np.float64,
            order="C",
            reset=reset,
            ensure_all_finite="allow-nan" if self.nan == "drop" else True,
        )

    def _seed(self) -> int:
        if isinstance(self.random_state, (int, np.integer)):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _size(self, rows: int) -> int:
        size: Any = self.n_samples
        if isinstance(size, (int, np.integer)) and not isinstance(size, bool):
            if size < 1:
                raise ValueError(f"n_samples is {size}; give at least 1")
            return int(size)
        if isinstance(size, (float, np.floating)) and 0 < size <= 1:
            return max(round(float(size) * rows), 1)
        raise ValueError(f"n_samples is {size!r}; give a whole number, or a fraction up to 1.0")


def _count(rows: Any) -> int:
    """The number of rows; chains of getdist have no length."""
    return len(rows.samples) if has(rows, "getParamNames") else int(_num_samples(rows))


def _weights(sample_weight: Any, rows: int) -> Any:
    """The weights of the rows; a single number is the weight of every row."""
    is_number = np.isscalar(sample_weight) and not isinstance(sample_weight, str)
    return np.full(rows, sample_weight, dtype=np.float64) if is_number else sample_weight


def _threads(n_jobs: Any) -> int | None:
    """The number of threads for `n_jobs` of scikit-learn: -1 is all cores, -2 all but one."""
    if n_jobs is None:
        return None
    number = as_count(n_jobs, "n_jobs", -math.inf)
    if number == 0:
        raise ValueError("n_jobs is 0; give a number, -1 for all cores, or None")
    return number if number > 0 else max((os.cpu_count() or 1) + 1 + number, 1)
