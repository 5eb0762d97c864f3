"""Draws in xarray objects and dicts: their numbers, and the same object with some of the draws.

ArviZ and xarray are imported only when one of their objects, or a dict, is given.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._frames import element_names, is_posterior
from ._inputs import as_array, as_rows
from ._result import Result
from ._tables import OWN_WEIGHTS

#: The dimensions of draws: by chain, or stacked as `az.extract` does.
_CHAINS = ("chain", "draw")
_STACKED = ("sample",)
_PRIOR = ("prior", "prior_predictive", "sample_stats_prior")
#: The prefix of our attributes.
PREFIX = "supersample_"


class Posterior:
    """The group of `data` whose draws are compared."""

    def __init__(self, data: Any, group: str) -> None:
        self.data, self.group, self.is_dict = data, group, _is_dict(data)
        self.dataset = _dataset(data, group)
        self.dims = _dims(self.dataset, group)
        self.sizes = tuple(int(self.dataset.sizes[dim]) for dim in self.dims)
        self.size = math.prod(self.sizes)

    def variables(self, var_names: str | Sequence[str] | None) -> list[Any]:
        """The variables that have draws: all, those named, or all but those named with a tilde."""
        drawn = [name for name, variable in self.dataset.data_vars.items() if set(self.dims) <= set(variable.dims)]
        if var_names is None:
            return drawn
        asked = [var_names] if isinstance(var_names, str) else list(var_names)
        if not asked:
            raise ValueError("var_names is empty; name at least one variable, or leave it out")
        barred = [name.removeprefix("~") for name in asked if name.startswith("~") and name not in drawn]
        wanted = [name for name in asked if not name.startswith("~") or name in drawn]
        for name in [*barred, *wanted]:
            if name not in drawn:
                raise ValueError(f"there is no variable '{name}' with draws; there are {', '.join(map(str, drawn))}")
        return [name for name in wanted or drawn if name not in barred]

    def matrix(self, var_names: str | Sequence[str] | None) -> tuple[NDArray[np.float64], tuple[str, ...]]:
        """One row for each draw, one column for each number, and the names of the columns."""
        wanted = self.variables(var_names)
        if not wanted:
            raise ValueError(f"the group '{self.group}' has no variable to use")
        return self._columns([(self.dataset, name) for name in wanted], "leave it out with var_names=['~{name}']")

    def functions(self, names: Sequence[str]) -> tuple[NDArray[np.float64], tuple[str, ...]]:
        """The matrix of variables of any group that holds the same draws, each found by its name or as group/name."""
        return self._columns([self._found(name) for name in names], "name another function")

    def _found(self, wanted: str) -> tuple[Any, str]:
        own = [name for name in self.variables(None) if str(name) == wanted]
        if own:
            return self.dataset, own[0]
        group, _, name = wanted.rpartition("/")
        groups = self._groups_of_same_draws()
        # What is predicted comes first, since other groups call the same data by the same names.
        ordered = sorted(groups, key=lambda other: other != "posterior_predictive")
        for other in [group] if group else ordered:
            dataset = groups.get(other)
            if dataset is not None and name in dataset.data_vars and set(self.dims) <= set(dataset[name].dims):
                return dataset, name
        known = [str(name) for name in self.variables(None)]
        known += [f"{other}/{name}" for other in ordered for name in groups[other].data_vars]
        raise ValueError(f"there is no variable '{wanted}' with these draws; there are {', '.join(known)}")

    def _groups_of_same_draws(self) -> dict[str, Any]:
        """The other groups that hold the same draws."""
        data = self.data
        if self.is_dict or _is_dataset(data) or _is_array(data) or _is_node(data, self.group):
            return {}
        groups = ((name, dataset) for name, dataset in _groups(data) if name != self.group)
        return {
            name: dataset
            for name, dataset in groups
            if _family(name) == _family(self.group)
            and set(self.dims) <= set(dataset.dims)
            and tuple(dataset.sizes[dim] for dim in self.dims) == self.sizes
        }

    def _columns(self, wanted: Sequence[tuple[Any, Any]], advice: str) -> tuple[NDArray[np.float64], tuple[str, ...]]:
        columns: list[NDArray[np.float64]] = []
        names: list[str] = []
        for dataset, name in wanted:
            variable = dataset[name].transpose(*self.dims, ...)
            if variable.dtype.kind not in "fiub":
                raise TypeError(f"variable '{name}' holds {variable.dtype}, not numbers; {advice.format(name=name)}")
            columns.append(np.asarray(variable.values, dtype=np.float64).reshape(self.size, -1))
            labels = [_labels(dataset, dim) for dim in variable.dims[len(self.dims) :]]
            names.extend(element_names(str(name), labels))
        return np.ascontiguousarray(np.concatenate(columns, axis=1)), tuple(names)

    def rows_of(self, values: Any, what: str) -> NDArray[Any]:
        """Values in the order of the matrix, of shape (chain, draw, …) or with a row for each draw."""
        if hasattr(values, "dims"):
            if not set(self.dims) <= set(values.dims):
                raise ValueError(f"{what} has the dimensions {tuple(values.dims)}; give {' and '.join(self.dims)}")
            values = values.transpose(*self.dims, ...).values
        array = as_array(values, what)
        axes = len(self.dims)
        if array.shape[:axes] == self.sizes:
            return array.reshape(self.size, -1)
        if array.shape[:1] != (self.size,):
            raise ValueError(
                f"{what} has shape {array.shape}; give one row for each draw, of shape {self.sizes} and more "
                f"({', '.join(self.dims)}, …) or ({self.size}, …)"
            )
        return array.reshape(self.size, -1)

    def flat(self, values: Any, what: str) -> Any:
        """One value for each draw, in the order of the matrix."""
        if hasattr(values, "dims"):
            if set(values.dims) != set(self.dims):
                raise ValueError(f"{what} has the dimensions {tuple(values.dims)}; give {' and '.join(self.dims)}")
            values = values.transpose(*self.dims).values
        array = as_array(values, what)
        if array.shape not in (self.sizes, (self.size,)):
            raise ValueError(
                f"{what} has shape {array.shape}; give one for each draw, of shape {self.sizes} "
                f"({', '.join(self.dims)}) or ({self.size},)"
            )
        return array.reshape(-1)

    def rows(self, indices: Any) -> NDArray[np.int64]:
        """Draws by their numbers, by a mask, or by a result."""
        if isinstance(indices, Result):
            if indices.indices is None:
                raise ValueError("points of sample are not draws; use .points")
            if indices.n_rows != self.size:
                raise ValueError(f"the result was chosen from {indices.n_rows} draws, but there are {self.size}")
            indices = indices.indices
        given = as_array(indices, "the list of draws")
        if given.dtype.kind == "b" and given.size:
            given = self.flat(indices, "the mask")
        rows = np.asarray(as_rows(given, None, "the list of draws"), dtype=np.int64)
        if not len(rows):
            raise ValueError("give a list of at least one draw")
        beyond = rows[rows >= self.size]
        if len(beyond):
            raise ValueError(f"draw {beyond[0]} is not there; {self.size} draws are numbered from 0")
        return rows

    def knows_chains(self) -> bool:
        """Whether it is known which draws are of one chain. Draws that were chosen have no order of sampling."""
        if "source_draw" in self.dataset.coords:
            return False
        return self.dims == _CHAINS or "chain" in self.dataset.coords

    def chain_of_each(self) -> NDArray[Any]:
        """The chain of each draw."""
        if self.dims == _CHAINS:
            return np.repeat(np.arange(self.sizes[0]), self.sizes[1])
        if "chain" not in self.dataset.coords:
            raise ValueError(
                f"the group '{self.group}' does not name the chain of each draw; give a label for each draw"
            )
        return np.asarray(self.dataset["chain"].values)

    def weight(self) -> NDArray[np.float64] | None:
        """The weights that an earlier choice has left with the draws."""
        name = _weight_of(self.dataset)
        if name is None:
            return None
        weight = self.dataset[name]
        if self.dims == _CHAINS and weight.dims == ("draw",):
            return np.tile(np.asarray(weight.values, dtype=np.float64), self.sizes[0])
        return np.asarray(weight.values, dtype=np.float64).reshape(-1)

    def cut(self, rows: NDArray[np.int64], weight: NDArray[np.float64] | None, attributes: Mapping[str, Any]) -> Any:
        """An object of the same kind with these draws alone, in every group that holds the same draws."""
        data = self.data
        cut = self._cut(self.dataset, rows, weight)
        cut.attrs |= attributes
        if self.is_dict:
            return {name: cut[name].values for name in data}
        if _is_dataset(data):
            return cut
        if _is_array(data):
            array = cut[_name_of(data)].rename(data.name)
            array.attrs = cut.attrs
            return array
        if _is_node(data, self.group):
            import xarray as xr

            return xr.DataTree(cut, children=dict(data.children), name=data.name)
        groups = dict(_groups(data))
        for name, dataset in groups.items():
            if name == self.group:
                groups[name] = cut
            elif _family(name) == _family(self.group) and set(self.dims) <= set(dataset.dims):
                sizes = tuple(dataset.sizes[dim] for dim in self.dims)
                if sizes != self.sizes:
                    raise ValueError(
                        f"the group '{name}' has {dict(dataset.sizes)}, but '{self.group}' has "
                        f"{dict(zip(self.dims, self.sizes))}; remove it first"
                    )
                groups[name] = self._cut(dataset, rows, weight)
        return _rebuilt(data, groups)

    def _cut(self, dataset: Any, rows: NDArray[np.int64], weight: NDArray[np.float64] | None) -> Any:
        """These draws of one group, with the places they came from, and their weights where these are unequal."""
        attributes = {name: value for name, value in dataset.attrs.items() if not str(name).startswith(PREFIX)}
        stale = _weight_of(self.dataset)
        if stale is not None and stale in dataset.coords:
            dataset = dataset.drop_vars(stale)
        cut = _by_chain(dataset, rows) if self.dims == _CHAINS else dataset.isel(sample=rows)
        if weight is not None:
            cut = cut.assign_coords({OWN_WEIGHTS[OWN_WEIGHTS[0] in dataset.variables]: (self.dims[-1], weight)})
        cut.attrs = attributes
        return cut


def _labels(dataset: Any, dim: Any) -> Sequence[Any]:
    """The labels of a dimension as summaries show them, or numbers."""
    if dim in dataset.coords and dataset[dim].ndim == 1:
        return list(dataset[dim].values)
    return range(dataset.sizes[dim])


def _family(group: str) -> str:
    """Which groups hold the same draws."""
    if group in _PRIOR:
        return "prior"
    return "warmup" if group.startswith("warmup_") else "posterior"


def _is_dict(data: Any) -> bool:
    return isinstance(data, Mapping) and not is_posterior(data)


def _is_dataset(data: Any) -> bool:
    return hasattr(data, "data_vars") and not hasattr(data, "children")


def _is_array(data: Any) -> bool:
    return hasattr(data, "dims") and hasattr(data, "to_dataset") and not hasattr(data, "data_vars")


def _is_tree(data: Any) -> bool:
    return hasattr(data, "children") and hasattr(data, "to_dataset")


def _is_node(data: Any, group: str) -> bool:
    """Whether it is a group of a tree by itself, as `idata.posterior` is in newer ArviZ."""
    return _is_tree(data) and group not in data.children and bool(data.data_vars)


def _name_of(array: Any) -> Any:
    return "x" if array.name is None else array.name


def _groups(data: Any) -> Iterator[tuple[str, Any]]:
    """The datasets by group; of a tree those right below the root."""
    if _is_tree(data):
        return ((name, child.to_dataset()) for name, child in data.children.items())
    return ((name, data[name]) for name in data.groups())


def _dataset(data: Any, group: str) -> Any:
    if _is_dataset(data):
        return data
    if _is_dict(data):
        return _from_mapping(data)
    if _is_array(data):
        return data.to_dataset(name=_name_of(data)).assign_attrs(data.attrs)
    if _is_node(data, group):
        return data.to_dataset()
    if not (_is_tree(data) or hasattr(data, "groups")):
        raise TypeError(
            f"data is of type {type(data).__name__}; give InferenceData, a DataTree or a Dataset (ArviZ converts what "
            "samplers return), or a dict of arrays of shape (chain, draw, …)"
        )
    found = dict(_groups(data))
    if group not in found:
        raise ValueError(f"there is no group '{group}'; there are {', '.join(found) or 'none'}")
    return found[group]


def _dims(dataset: Any, group: str) -> tuple[str, ...]:
    if set(_CHAINS) <= set(dataset.dims):
        return _CHAINS
    if set(_STACKED) <= set(dataset.dims):
        return _STACKED
    missing = next(name for name in _CHAINS if name not in dataset.dims)
    raise ValueError(f"the group '{group}' has no dimension '{missing}'; it has {list(dataset.dims)}")


def _from_mapping(samples: Mapping[Any, Any]) -> Any:
    """Arrays by name of shape (chain, draw, …), as a dataset."""
    try:
        import xarray as xr
    except ImportError:
        raise TypeError("a dict of arrays by chain needs xarray: pip install 'supersample[arviz]'") from None
    arrays = {name: as_array(value, f"'{name}'") for name, value in samples.items()}
    leading = {array.shape[:2] for array in arrays.values()}
    sizes = next(iter(leading), ())
    if len(leading) != 1 or len(sizes) != 2 or sizes[0] > sizes[1]:
        shapes = {name: array.shape for name, array in arrays.items()}
        raise ValueError(
            f"the arrays of a dict must all be of shape (chain, draw, …), with no more chains than draws, but they are "
            f"{shapes}; for arrays of shape (draw, …) use supersample.thin and result.take"
        )
    dims = {name: (*_CHAINS, *(f"{name}_dim_{k}" for k in range(array.ndim - 2))) for name, array in arrays.items()}
    return xr.Dataset({name: (dims[name], array) for name, array in arrays.items()})


def _weight_of(dataset: Any) -> str | None:
    """The coordinate with the weights of an earlier choice."""
    if f"{PREFIX}weights" not in dataset.attrs:
        return None
    return next((name for name in reversed(OWN_WEIGHTS) if name in dataset.coords), None)


def _by_chain(dataset: Any, rows: NDArray[np.int64]) -> Any:
    """One chain of the chosen draws."""
    import xarray as xr

    places = np.unravel_index(rows, tuple(dataset.sizes[dim] for dim in _CHAINS))
    picked = dataset.isel({dim: xr.DataArray(at, dims="draw") for dim, at in zip(_CHAINS, places)})
    coordinates = {}
    # Draws that were chosen from chosen ones keep the place where they came from first.
    if not all(f"source_{dim}" in dataset.coords for dim in _CHAINS):
        for dim, at in zip(_CHAINS, places):
            labels = dataset[dim].values if dim in dataset.coords else np.arange(dataset.sizes[dim])
            coordinates[f"source_{dim}"] = ("draw", labels[at])
    picked = picked.drop_vars(_CHAINS, errors="ignore").assign_coords(draw=np.arange(len(rows)), **coordinates)
    drawn = [name for name, variable in dataset.data_vars.items() if set(_CHAINS) & set(variable.dims)]
    whole = [name for name in picked.data_vars if name not in drawn]
    cut = picked[drawn].expand_dims(chain=[0]).assign(picked[whole].data_vars)
    for name in drawn:
        cut[name] = cut[name].transpose(*dict.fromkeys([*_CHAINS, *dataset[name].dims]))
    return cut[list(dataset.data_vars)]


def _rebuilt(data: Any, groups: Mapping[str, Any]) -> Any:
    """The same kind of object with these groups."""
    if _is_tree(data):
        import xarray as xr

        # Coordinates of the root are inherited by all groups, which now have draws of their own.
        root = data.to_dataset(inherit=False)
        own = [name for name, coordinate in root.coords.items() if {*_CHAINS, *_STACKED} & set(coordinate.dims)]
        children = {
            name: xr.DataTree(dataset, children={below: child.copy() for below, child in data[name].children.items()})
            for name, dataset in groups.items()
        }
        return xr.DataTree(root.drop_vars(own), children=children, name=data.name)
    import warnings

    with warnings.catch_warnings():
        # Groups of the user's own were accepted when the object was made.
        warnings.simplefilter("ignore")
        return type(data)(attrs=data.attrs, **groups)
