"""Posteriors with all their groups: ArviZ InferenceData, xarray DataTree and Dataset, thinned to chosen draws.

PyMC, NumPyro, CmdStanPy and nutpie results work because ArviZ converts them (`az.from_numpyro`, `az.from_cmdstanpy`,
…). Neither ArviZ nor xarray is imported before one of their objects is handed over.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from . import _choose
from ._inputs import Table
from ._result import Result

__all__ = ["herd", "matrix", "take", "thin"]

Data = TypeVar("Data")

_SAMPLE = ("chain", "draw")
_PRIOR = ("prior", "prior_predictive", "sample_stats_prior")


def thin(
    data: Data,
    n: int | None = None,
    *,
    var_names: str | Sequence[str] | None = None,
    group: str = "posterior",
    sample_weight: Any = None,
    groups: Any = None,
    **options: Any,
) -> Data:
    """The best `n` draws of a posterior as a set, with all groups cut to the same draws.

    Parameters
    ----------
    data
        An ArviZ InferenceData, an xarray DataTree as newer ArviZ has it, or a Dataset with the dimensions chain and
        draw. The result is of the same kind.
    n
        How many draws; with `tol` or `worth` at most so many.
    var_names
        The variables by which draws are chosen, by default all of the group; `"~name"` leaves one out. All variables
        are kept in the result.
    group
        The group by which draws are chosen.
    sample_weight
        A weight for each draw, of shape (chain, draw) or flat in that order.
    groups
        The word "chain" to take draws of all chains in equal parts; or a label for each draw, as in `supersample.thin`.
    **options
        All other keywords of `supersample.thin`.

    The result has one chain of `n` draws, in the order of choice, so that its first k draws are a good smaller set. The
    coordinates `source_chain` and `source_draw` say where each draw came from. Groups of the same draws
    (`sample_stats`, `posterior_predictive`, `log_likelihood`, …) are cut; the prior, warm-up and data groups stay as
    they are.

    >>> import numpy as np, xarray as xr
    >>> import supersample.arviz
    >>> rng = np.random.default_rng(0)
    >>> posterior = xr.Dataset(
    ...     {"mu": (("chain", "draw"), rng.normal(size=(4, 500))),
    ...      "theta": (("chain", "draw", "school"), rng.normal(size=(4, 500, 8)))},
    ...     coords={"chain": range(4), "draw": range(500)})
    >>> small = supersample.arviz.thin(posterior, 50, var_names=["mu", "theta"])
    >>> dict(small.sizes)
    {'chain': 1, 'draw': 50, 'school': 8}
    >>> bool((small["source_chain"] < 4).all())
    True
    """
    if isinstance(groups, str) and groups == "chain":
        sizes = _sizes(_dataset(data, group), group)
        groups = np.repeat(np.arange(sizes[0]), sizes[1])
    options["groups"] = groups
    return cast("Data", _chosen(_choose.thin, data, n, var_names, group, sample_weight, options))


def herd(
    data: Data,
    n: int | None = None,
    *,
    var_names: str | Sequence[str] | None = None,
    group: str = "posterior",
    sample_weight: Any = None,
    unique: bool = True,
    **options: Any,
) -> Data:
    """As `thin`, by herding alone: `n` draws one after the other, by default distinct ones.

    >>> import numpy as np, xarray as xr
    >>> import supersample.arviz
    >>> draws = np.random.default_rng(0).normal(size=(2, 100))
    >>> posterior = xr.Dataset({"mu": (("chain", "draw"), draws)})
    >>> supersample.arviz.herd(posterior, 10)["mu"].shape
    (1, 10)
    """
    options["unique"] = unique
    return cast("Data", _chosen(_choose.herd, data, n, var_names, group, sample_weight, options))


def matrix(
    data: Any, *, var_names: str | Sequence[str] | None = None, group: str = "posterior"
) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """The draws as a matrix, one row for each draw (chain after chain) and one column for each number, and their names.

    >>> import numpy as np, xarray as xr
    >>> import supersample.arviz
    >>> draws = np.zeros((2, 100, 3))
    >>> posterior = xr.Dataset({"theta": (("chain", "draw", "school"), draws)})
    >>> values, names = supersample.arviz.matrix(posterior)
    >>> values.shape, names
    ((200, 3), ('theta[0]', 'theta[1]', 'theta[2]'))
    """
    dataset = _dataset(data, group)
    chains, draws = _sizes(dataset, group)
    columns: list[NDArray[np.float64]] = []
    names: list[str] = []
    for name in _variables(dataset, var_names):
        variable = dataset[name].transpose(*_SAMPLE, ...)
        if variable.dtype.kind not in "fiub":
            raise TypeError(
                f"variable '{name}' holds {variable.dtype}, not numbers; leave it out with var_names=['~{name}']"
            )
        columns.append(np.asarray(variable.values, dtype=np.float64).reshape(chains * draws, -1))
        names.extend(_element_names(str(name), variable.shape[2:]))
    if not columns:
        raise ValueError(f"the group '{group}' has no variable to choose by")
    return np.ascontiguousarray(np.concatenate(columns, axis=1)), tuple(names)


def take(data: Data, indices: Any, *, group: str = "posterior") -> Data:
    """The draws with these numbers, counted from 0 chain after chain, out of every group of the same draws.

    >>> import numpy as np, xarray as xr
    >>> import supersample.arviz
    >>> draws = np.arange(200.0).reshape(2, 100)
    >>> posterior = xr.Dataset({"mu": (("chain", "draw"), draws)})
    >>> small = supersample.arviz.take(posterior, [150, 3])
    >>> small["mu"].values, small["source_chain"].values, small["source_draw"].values
    (array([[150.,   3.]]), array([1, 0]), array([50,  3]))
    """
    rows = np.asarray(indices, dtype=np.int64)
    sizes = _sizes(_dataset(data, group), group)
    if rows.ndim != 1 or not len(rows):
        raise ValueError("give a list of at least one draw")
    if rows.min() < 0 or rows.max() >= math.prod(sizes):
        raise ValueError(f"draw {rows.max()} is not there; {math.prod(sizes)} draws are numbered from 0")
    if _is_dataset(data):
        return cast("Data", _cut(data, rows, group))
    cut = {}
    for name, dataset in _groups(data).items():
        if _family(name) == _family(group) and set(_SAMPLE) <= set(dataset.dims):
            if _sizes(dataset, name) != sizes:
                raise ValueError(
                    f"the group '{name}' has {dict(dataset.sizes)}, but '{group}' has {sizes[0]} chains of "
                    f"{sizes[1]} draws; remove it first"
                )
            dataset = _cut(dataset, rows, name)
        cut[name] = dataset
    return cast("Data", _rebuilt(data, cut))


def _chosen(
    choose: Callable[..., Result],
    data: Any,
    n: int | None,
    var_names: Any,
    group: str,
    sample_weight: Any,
    options: dict[str, Any],
) -> Any:
    values, names = matrix(data, var_names=var_names, group=group)
    if sample_weight is not None:
        sample_weight = np.asarray(sample_weight).reshape(-1)
    result = choose(Table(values, names), n, sample_weight=sample_weight, **options)
    return take(data, result.indices, group=group)


def _family(group: str) -> str:
    """Which groups hold the same draws."""
    if group in _PRIOR:
        return "prior"
    return "warmup" if group.startswith("warmup_") else "posterior"


def _is_dataset(data: Any) -> bool:
    return hasattr(data, "data_vars") and not hasattr(data, "children")


def _is_tree(data: Any) -> bool:
    return hasattr(data, "children") and hasattr(data, "to_dataset")


def _groups(data: Any) -> dict[str, Any]:
    """The datasets by group; of a tree those right below the root."""
    if _is_tree(data):
        return {name: child.to_dataset() for name, child in data.children.items()}
    return {name: data[name] for name in data.groups()}


def _dataset(data: Any, group: str) -> Any:
    if _is_dataset(data):
        return data
    if not (_is_tree(data) or hasattr(data, "groups")):
        raise TypeError(
            f"data is of type {type(data).__name__}; give InferenceData, a DataTree or a Dataset "
            "(ArviZ converts what samplers return)"
        )
    found = _groups(data)
    if group not in found:
        raise ValueError(f"there is no group '{group}'; there are {', '.join(found) or 'none'}")
    return found[group]


def _sizes(dataset: Any, group: str) -> tuple[int, int]:
    missing = [name for name in _SAMPLE if name not in dataset.dims]
    if missing:
        raise ValueError(f"the group '{group}' has no dimension '{missing[0]}'; it has {list(dataset.dims)}")
    return dataset.sizes["chain"], dataset.sizes["draw"]


def _variables(dataset: Any, var_names: str | Sequence[str] | None) -> list[Any]:
    """The variables that have draws: all, those named, or all but those named with a tilde."""
    drawn = [name for name, variable in dataset.data_vars.items() if set(_SAMPLE) <= set(variable.dims)]
    if var_names is None:
        return drawn
    asked = [var_names] if isinstance(var_names, str) else list(var_names)
    barred = [name.removeprefix("~") for name in asked if name.startswith("~") and name not in drawn]
    wanted = [name for name in asked if not name.startswith("~") or name in drawn]
    for name in [*barred, *wanted]:
        if name not in drawn:
            raise ValueError(f"there is no variable '{name}' with draws; there are {', '.join(map(str, drawn))}")
    return [name for name in wanted or drawn if name not in barred]


def _element_names(name: str, shape: tuple[int, ...]) -> Iterable[str]:
    if not shape:
        return [name]
    return [f"{name}[{', '.join(map(str, place))}]" for place in np.ndindex(*shape)]


def _cut(dataset: Any, rows: NDArray[np.int64], group: str) -> Any:
    """One chain of the chosen draws, with the places they came from."""
    import xarray as xr

    chains, draws = _sizes(dataset, group)
    places = np.unravel_index(rows, (chains, draws))
    picked = dataset.isel({dim: xr.DataArray(at, dims="draw") for dim, at in zip(_SAMPLE, places)})
    coordinates = {}
    for dim, at in zip(_SAMPLE, places):
        labels = dataset[dim].values if dim in dataset.coords else np.arange(dataset.sizes[dim])
        coordinates[f"source_{dim}"] = ("draw", labels[at])
    picked = picked.drop_vars(_SAMPLE, errors="ignore").assign_coords(draw=np.arange(len(rows)), **coordinates)
    drawn = [name for name, variable in dataset.data_vars.items() if set(_SAMPLE) & set(variable.dims)]
    whole = [name for name in picked.data_vars if name not in drawn]
    cut = picked[drawn].expand_dims(chain=[0]).assign(picked[whole].data_vars)
    order = {name: [dim for dim in dataset[name].dims] for name in drawn}
    for name, dims in order.items():
        cut[name] = cut[name].transpose(*dict.fromkeys([*_SAMPLE, *dims]))
    return cut[list(dataset.data_vars)].assign_attrs(dataset.attrs)


def _rebuilt(data: Any, groups: dict[str, Any]) -> Any:
    """The same kind of object with these groups."""
    if _is_tree(data):
        import xarray as xr

        rebuilt = data.copy()
        for name, dataset in groups.items():
            below = rebuilt[name].children
            rebuilt[name] = xr.DataTree(dataset, children=dict(below))
        return rebuilt
    import warnings

    with warnings.catch_warnings():
        # Groups of the user's own were accepted when the object was made.
        warnings.simplefilter("ignore")
        return type(data)(attrs=data.attrs, **groups)
