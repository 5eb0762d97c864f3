"""How accurate draws are themselves, and whether their chains agree."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from . import _native
from ._advice import tell
from ._options import DiagnoseRows, read, takes
from ._progress import reporting
from ._rows import all_rows
from ._tables import explained, roles_of

if TYPE_CHECKING:
    from typing_extensions import Unpack


@dataclass(frozen=True, repr=False)
class Diagnosis:
    """The accuracy of draws as a sample of their distribution: what `diagnose` returns.

    >>> import numpy as np, supersample as ss
    >>> ss.diagnose(np.random.default_rng(0).normal(size=(2000, 2)), chains=4)
    all 2,000 draws are as accurate as 1,950 independent ones (kernel ESS); the 4 chains agree
    """

    draws: int
    """The number of draws."""
    chains: int
    """The number of chains."""
    chains_assumed: bool
    """Whether the chains were unknown, so that the rows were taken as one chain in their order."""
    kernel_ess: float
    """The kernel effective sample size: the number of independent draws with the same expected squared MMD."""
    disagreement: float | None
    """How much the chains differ (the two halves, where there is one), over what is expected of chains that have mixed:
    about 1, and rarely more than 2, or 4 for two chains or halves. None where they have too few draws."""
    _sentence: str = field(default="", compare=False)

    def __repr__(self) -> str:
        return self._sentence

    def of_posterior(self, equivalent_draws: float) -> float:
        """Returns the number of independent draws of the posterior that are as accurate as a subset with this number
        of equivalent draws. The squared errors of the subset and of the draws add up.

        >>> import numpy as np, supersample as ss
        >>> found = ss.diagnose(np.random.default_rng(0).normal(size=(2000, 2)), chains=4)
        >>> round(found.of_posterior(found.kernel_ess) / found.kernel_ess, 6)
        0.5
        """
        return 1 / (1 / equivalent_draws + 1 / self.kernel_ess)


@takes(DiagnoseRows)
def diagnose(x: Any, **options: Unpack[DiagnoseRows]) -> Diagnosis:
    """Returns the kernel effective sample size of draws in chains, and whether the chains agree.

    The kernel effective sample size is the number of independent draws with the same expected squared MMD to what the
    draws are of: one number for means, spreads and dependence alike. The disagreement of chains sees chains that
    differ in anything the kernel sees, in their correlations alone too.

    Parameters
    ----------
    x
        One row for each draw, as in `herd`; all in memory.
    **options

    >>> import numpy as np, supersample as ss
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(4, 500, 2))
    >>> for t in range(1, 500):
    ...     x[:, t] = 0.9 * x[:, t - 1] + 0.19**0.5 * x[:, t]
    >>> found = ss.diagnose(x.reshape(-1, 2), chains=4)
    >>> found.kernel_ess < 200, found.disagreement < 2
    (True, True)
    """
    given = read(DiagnoseRows, options)
    chains = None if isinstance(given["chains"], str) else given.pop("chains", None)
    roles = roles_of(given)
    weights = {name: given.pop(name, None) for name in ("sample_weight", "log_weight")}
    table = all_rows(x, roles, chains=chains, **weights)
    given.doubt(table.values.shape[1])
    with reporting(given.pop("progress", None), len(table.values)) as listener, explained(table):
        found = _native.diagnose(table.values, given.also(progress=listener, **table.data()))
    tell(found.advice)
    return diagnosed(found)


def diagnosed(found: _native.Diagnosis) -> Diagnosis:
    """What the native module has found."""
    return Diagnosis(
        found.draws, found.chains, found.chains_assumed, found.kernel_ess, found.disagreement, found.sentence
    )
