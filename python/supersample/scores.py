"""Scores of draws: the gradients of a model's log-density, taken from the programs that sampled them.

Samplers work on unconstrained parameters (the logarithm of a scale, for one), and so do scores: what comes back has the
draws in that space, with the Jacobian in the scores. Rows are matched there, and the chosen draws are taken from
whatever has the constrained ones.

    small = ss.arviz.thin(idata, 100, scores=ss.scores.pymc(model, idata))

>>> import numpy as np, supersample as ss
>>> x = np.random.default_rng(0).normal(size=(1000, 2))
>>> plain, corrected = ss.thin(x, 50), ss.thin(x, 50, scores=-x)  # -x is the score of N(0, 1)
>>> bool(np.abs(corrected.points.mean(0)).max() < np.abs(plain.points.mean(0)).max())
True

Neither PyMC nor NumPyro is imported before one of their models is handed over.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._posterior import Posterior

__all__ = ["Scored", "numpyro", "pymc"]


@dataclass(frozen=True, eq=False)
class Scored:
    """Draws of unconstrained parameters with their scores, chain after chain.

    >>> import numpy as np, supersample as ss
    >>> x = np.random.default_rng(0).normal(size=(400, 2))
    >>> scored = ss.scores.Scored(x, -x, ("a", "b"))
    >>> ss.thin(scored.draws, 10, scores=scored.scores).corrected["tried"]
    'products'
    """

    draws: NDArray[np.float64]
    """One row for each draw."""
    scores: NDArray[np.float64]
    """The gradient of the log-density at each draw, in the same shape."""
    names: tuple[str, ...]
    """The names of the columns."""


def pymc(model: Any, idata: Any, *, group: str = "posterior") -> Scored:
    """The unconstrained draws of a PyMC model and their scores, from what `pm.sample` returned.

    All free variables must be continuous. Where the group has the transformed variables they are used; otherwise they
    are computed from the constrained ones.
    """
    pytensor: Any = import_module("pytensor")
    discrete = [variable.name for variable in model.discrete_value_vars]
    if discrete:
        raise ValueError(f"{discrete[0]} is discrete, so it has no score; scores need continuous variables alone")
    posterior = Posterior(idata, group)
    values = model.continuous_value_vars
    held = {str(name) for name in posterior.variables(None)}
    if not all(value.name in held for value in values):
        values_of = {model.values_to_rvs[value]: value for value in values}
        forward = []
        for variable in values_of:
            transform = model.rvs_to_transforms[variable]
            forward.append(variable if transform is None else transform.forward(variable, *variable.owner.inputs))
        variables = list(values_of)
        unconstrain = pytensor.function(variables, forward, on_unused_input="ignore")
        constrained = [_draws_of(posterior, variable.name, variable.type.dtype) for variable in variables]
        points = [unconstrain(*draw) for draw in zip(*constrained)]
    else:
        points = list(zip(*(_draws_of(posterior, value.name, value.type.dtype) for value in values)))
    gradient = model.compile_dlogp()
    names = [value.name for value in values]
    draws = np.array([np.concatenate([np.ravel(part) for part in point]) for point in points])
    scores = np.array([gradient(dict(zip(names, point))) for point in points])
    shapes = [np.shape(part) for part in points[0]]
    return Scored(draws.astype(float), scores.astype(float), _numbered(names, shapes))


def numpyro(model: Any, mcmc: Any) -> Scored:
    """The unconstrained draws of a NumPyro model and their scores, from the `MCMC` that has run it.

    The arguments of the model are those of that run.
    """
    jax: Any = import_module("jax")
    util: Any = import_module("numpyro.infer.util")

    given, keywords = mcmc._args, mcmc._kwargs
    latent = getattr(mcmc.last_state, mcmc.sampler.sample_field)
    drawn = {name: value for name, value in mcmc.get_samples().items() if name in latent}
    names = sorted(drawn)
    points = jax.vmap(lambda draw: util.unconstrain_fn(model, given, keywords, draw))(drawn)
    slopes = jax.vmap(jax.grad(lambda point: util.potential_energy(model, given, keywords, point)))(points)
    count = len(next(iter(drawn.values())))

    def flat(parts: Any) -> NDArray[np.float64]:
        return np.hstack([np.asarray(parts[name], dtype=float).reshape(count, -1) for name in names])

    shapes = [np.shape(points[name])[1:] for name in names]
    return Scored(flat(points), -flat(slopes), _numbered(names, shapes))


def _draws_of(posterior: Posterior, name: str, dtype: Any) -> NDArray[Any]:
    """The values of a variable, a draw after the other, chain after chain."""
    if name not in posterior.dataset:
        raise ValueError(f"the group '{posterior.group}' has no variable '{name}' of the model")
    values = posterior.dataset[name]
    rest = [one for one in values.dims if one not in ("chain", "draw")]
    return (
        np.asarray(values.transpose("chain", "draw", *rest))
        .reshape(-1, *(values.sizes[one] for one in rest))
        .astype(dtype)
    )


def _numbered(names: list[str], shapes: list[tuple[int, ...]]) -> tuple[str, ...]:
    """The names of all numbers, as in theta[0,1]."""
    found: list[str] = []
    for name, shape in zip(names, shapes):
        places = list(np.ndindex(*shape)) if shape else [()]
        found.extend(f"{name}[{','.join(map(str, place))}]" if place else name for place in places)
    return tuple(found)
