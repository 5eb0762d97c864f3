"""herded_gibbs: discrete variables with known conditional distributions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from . import _native
from ._inputs import as_array, as_count, as_seed, doubles


def herded_gibbs(
    conditional: Callable[[int, NDArray[np.int64]], Any],
    start: Any,
    n: SupportsIndex,
    *,
    neighbours: Sequence[Sequence[int]] | None = None,
    burn_in: SupportsIndex = 0,
    seed: int = 0,
) -> NDArray[np.int64]:
    """Returns `n` states of discrete variables, by Gibbs sampling whose values are herded, not drawn.

    Every configuration of a variable's neighbours has weights of its own, which make the visits to it
    share out the values as the conditional distribution does (Bornn et al., *Herded Gibbs Sampling*,
    2013). Errors fall as 1/n if every variable depends on all others. On sparse graphs means and pairs
    of variables gain, but the joint distribution converges no faster than with random draws.

    Parameters
    ----------
    conditional
        A function of the number of a variable and the state, an array with a value of each variable.
        It returns the probabilities of the values 0, 1, ... of that variable given the others; or, for
        two values, the probability of 1.
    start
        The first state: one value of each variable, counted from 0.
    n, burn_in
        Number of sweeps over the variables. Each gives one row of the result; those of the burn-in are
        left out.
    neighbours
        For each variable the numbers of those that its conditional depends on. Default: all others.
        Name them where there are few: the sampler then learns from every visit to the same values.
    seed
        The seed of the first weights.

    >>> import numpy as np, supersample as ss
    >>> def conditional(i, state):  # two spins that agree with probability 0.9
    ...     return 0.9 if state[1 - i] else 0.1
    >>> states = ss.herded_gibbs(conditional, [0, 0], 1000)
    >>> bool(abs((states[:, 0] == states[:, 1]).mean() - 0.9) < 0.01)
    True
    """
    if not callable(conditional):
        raise TypeError(f"conditional is of type {type(conditional).__name__}; give a function of (variable, state)")
    first = as_array(start, "start")
    if first.ndim != 1 or first.dtype.kind not in "iub" or (first.size and first.min() < 0):
        raise ValueError("start is not a list of values; give a whole number, from 0, for each variable")

    def probabilities(variable: int, state: NDArray[np.int64]) -> NDArray[np.float64]:
        found = as_array(conditional(variable, state), f"the conditional of variable {variable}")
        if found.dtype.kind not in "fiub" or found.ndim > 1:
            raise TypeError(
                f"the conditional of variable {variable} is of dtype {found.dtype} and shape {found.shape}; "
                "return the probabilities of its values"
            )
        return doubles(found) if found.ndim else np.array([1.0 - found, found], dtype=np.float64)

    return _native.herded_gibbs(
        probabilities,
        [int(value) for value in first],
        None if neighbours is None else [[as_count(j, "a neighbour", 0) for j in some] for some in neighbours],
        (as_count(n, "n"), as_count(burn_in, "burn_in", 0)),
        as_seed(seed, "seed"),
    )
