"""Supersample chooses a small subset of rows that represents a whole sample, by kernel herding.

>>> import numpy as np
>>> import supersample as ss
>>> draws = np.random.default_rng(0).normal(size=(2000, 5))
>>> result = ss.herd(draws, 100)  # the paper's sequence: every prefix is a good subset
>>> best = ss.thin(draws, 100)  # the best 100 distinct rows as a set
>>> best.mmd < result.mmd < ss.mmd(draws, draws[::20])
True

`thin` and `herd` choose rows, `evaluate` and `mmd` measure the error of any subset, `diagnose` estimates how accurate
the draws themselves are, `resample` turns weighted rows into rows of equal weight,
`thin_each` chooses a subset of every group, `Stream` takes rows that are seen once, `Herder` chooses one row at a time,
`sample` places points for a `GaussianMixture`, and `herded_gibbs` samples discrete variables.
`supersample.arviz` thins posteriors with all their groups, `supersample.stein` chooses by the score of a density,
`supersample.dask` works on a cluster, and `SuperSampler` is an estimator for scikit-learn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import kernels as kernels
from . import scores as scores
from . import stein as stein
from ._choose import herd, thin
from ._diagnose import Diagnosis, diagnose
from ._each import EachResult, thin_each
from ._evaluate import Evaluation, evaluate, mmd
from ._gibbs import herded_gibbs
from ._herder import Herder, Pick
from ._landmarks import Landmarks
from ._mixture import GaussianMixture, sample
from ._native import VERSION as __version__
from ._native import instruction_set
from ._resample import resample
from ._result import PoolResult, Refinement, Result
from ._stream import Stream
from ._warnings import SupersampleWarning
from .kernels import IMQ, Energy, Gaussian, Kernel, Laplace, Linear, Matern12, Matern32, Matern52

if TYPE_CHECKING:
    from . import arviz as arviz
    from . import dask as dask
    from .sklearn import SuperSampler

__all__ = [
    "IMQ",
    "Diagnosis",
    "EachResult",
    "Energy",
    "Evaluation",
    "Gaussian",
    "GaussianMixture",
    "Herder",
    "Kernel",
    "Landmarks",
    "Laplace",
    "Linear",
    "Matern12",
    "Matern32",
    "Matern52",
    "Pick",
    "PoolResult",
    "Refinement",
    "Result",
    "Stream",
    "SuperSampler",
    "SupersampleWarning",
    "__version__",
    "diagnose",
    "evaluate",
    "herd",
    "herded_gibbs",
    "instruction_set",
    "mmd",
    "resample",
    "sample",
    "scores",
    "stein",
    "thin",
    "thin_each",
]


def __getattr__(name: str) -> Any:
    # Modules that need other packages are imported on first use, so that `import supersample` stays fast.
    if name == "SuperSampler":
        from .sklearn import SuperSampler

        return SuperSampler
    if name in ("arviz", "dask"):
        from importlib import import_module

        return import_module(f".{name}", __name__)
    if name in kernels.__all__:
        return getattr(kernels, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    modules = {"__doc__", "__file__", "__name__", "__path__", "arviz", "dask", "kernels"}
    return sorted({*__all__, *modules})
