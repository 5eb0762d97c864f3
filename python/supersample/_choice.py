"""What is asked of herd and thin, wherever the rows are: read from the keywords once, then passed on whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _native
from ._advice import missed, tell
from ._inputs import as_count, as_goal, as_rows, as_rule, as_threads
from ._types import Listener
from .kernels import Kernel


class Given(NamedTuple):
    """Rows as they were handed over, and their weights or the logarithms of these."""

    x: Any
    sample_weight: Any
    log_weight: Any


class Distances(NamedTuple):
    """How distances between rows are taken."""

    kernel: str | Kernel
    bandwidth: object
    scale: str
    precision: str
    device: str = "cpu"


class Beside(NamedTuple):
    """What is matched beside the joint distribution."""

    marginals: float
    functions: Any
    functions_weight: float | None
    functions_unit: str


class Groups(NamedTuple):
    """The labels of groups, the number of each row's, and the quota of each."""

    labels: Sequence[Any] = ()
    of_rows: NDArray[np.int64] | None = None
    quotas: list[int] | None = None


#: Rows that are not grouped.
_NO_GROUPS = Groups()


@dataclass(frozen=True)
class Choice:
    """How many rows are chosen, by which method, and what is asked of them, in the words of the native module."""

    n: int | None
    tol: float | None
    worth: float | None
    #: The rule for the weights that chosen rows get.
    weights: str
    thinning: bool
    distinct: bool
    search: int | None
    seed: int
    threads: int | None
    include: Any = None
    exclude: Any = None
    groups: Groups = _NO_GROUPS

    def among(self, samples: _native.Samples, rows: int, listener: Listener | None) -> _native.Chosen:
        """What is chosen from so many rows in memory."""
        if not self.thinning:
            return _native.herd(
                samples,
                self.n,
                tol=self.tol,
                worth=self.worth,
                unique=self.distinct,
                weights=self.weights,
                threads=self.threads,
                progress=listener,
            )
        return _native.thin(
            samples,
            self.n,
            tol=self.tol,
            worth=self.worth,
            repeats=not self.distinct,
            search=self.search,
            seed=self.seed,
            include=as_rows(self.include, rows, "include"),
            exclude=as_rows(self.exclude, rows, "exclude"),
            groups=self.groups.of_rows,
            quotas=self.groups.quotas,
            weights=self.weights,
            threads=self.threads,
            progress=listener,
        )

    def from_pool(
        self, samples: _native.Samples, listener: Listener | None, kept: int | None = None
    ) -> _native.Unmeasured:
        """What is chosen from a pool whose error is measured in another pass; `kept` are bytes of kernel rows."""
        return _native.choose_from_pool(
            samples,
            self.n,
            tol=self.tol,
            worth=self.worth,
            thinning=self.thinning,
            distinct=self.distinct,
            search=self.search,
            seed=self.seed,
            threads=self.threads,
            progress=listener,
            kept=kept,
        )

    def tell(self, chosen: _native.Chosen, names: Sequence[str] | None, columns: int = 0, error: str = "MMD") -> None:
        """Warns of what makes the choice doubtful, and where it is not what was asked for."""
        tell(chosen.advice, names)
        missed(chosen, len(chosen.rows), self.n, self.tol, self.worth, columns, error)


def herding(n: Any, tol: Any, worth: Any, weights: Any, unique: Any, threads: Any, seed: Any = 0) -> Choice:
    """What the keywords of `herd` ask for."""
    tol, worth, rule = as_goal(tol, "tol"), as_goal(worth, "worth"), as_rule(weights)
    limit, seed = limit_of(n, tol, worth), as_count(seed, "seed", 0)
    return Choice(limit, tol, worth, rule, False, bool(unique), 0, seed, as_threads(threads))


def thinning(
    n: Any,
    tol: Any,
    worth: Any,
    weights: Any,
    repeats: Any,
    threads: Any,
    search: Any,
    seed: Any,
    include: Any = None,
    exclude: Any = None,
    groups: Any = None,
    quotas: Any = None,
) -> Choice:
    """What the keywords of `thin` ask for."""
    tol, worth, rule = as_goal(tol, "tol"), as_goal(worth, "worth"), as_rule(weights)
    search = None if search is None else as_count(search, "search", 0)
    seed, threads = as_count(seed, "seed", 0), as_threads(threads)
    grouped = _grouped(groups, quotas)
    if n is None and grouped.quotas is not None:
        n = sum(grouped.quotas)
    limit = limit_of(n, tol, worth)
    return Choice(limit, tol, worth, rule, True, not repeats, search, seed, threads, include, exclude, grouped)


def limit_of(n: int | None, tol: float | None, worth: float | None) -> int | None:
    """How many rows at most, where a number was given; an error where nothing would end the choosing."""
    if n is None:
        if tol is None and worth is None:
            raise ValueError("say how many: a number n, an error tol, or a number of independent draws worth")
        return None
    return as_count(n, "n")


def _grouped(groups: Any, quotas: Any) -> Groups:
    if groups is None:
        if quotas is not None:
            raise ValueError("quotas have no effect without groups; give the group of each row")
        return _NO_GROUPS
    given = np.asarray(groups)
    if given.ndim != 1:
        raise ValueError(f"groups has shape {given.shape}; give one label for each row")
    try:
        labels, places = np.unique(given, return_inverse=True)
    except TypeError:
        kinds = ", ".join(sorted({type(label).__name__ for label in given}))
        raise TypeError(
            f"groups has labels that cannot be sorted ({kinds}); give each row a label of one type"
        ) from None
    known, numbers = labels.tolist(), places.astype(np.int64)
    if quotas is None:
        return Groups(known, numbers)
    if isinstance(quotas, Mapping):
        strange = [label for label in quotas if label not in known]
        if strange:
            raise ValueError(f"there is no group {strange[0]!r}; the groups are {known}")
        each = [quotas.get(label, 0) for label in known]
    elif np.ndim(quotas) == 0:
        each = [quotas] * len(known)
    else:
        each = list(quotas)
        if len(each) != len(known):
            raise ValueError(
                f"{len(each)} quotas were given for {len(known)} groups; give one for each of {known}, or a "
                "mapping from labels"
            )
    return Groups(known, numbers, [as_count(quota, "a quota", 0) for quota in each])
