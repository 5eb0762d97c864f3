"""Pictures of a result; matplotlib is imported here and nowhere else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ._inputs import as_array
from ._tables import as_table, matched, weighted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ._result import Result

_ALL = "#9aa5b1"
_CHOSEN = "#c2410c"
_CLOUD = 5000


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("plots need matplotlib: pip install 'supersample[plot]'") from None
    return plt


def plot_error(result: Result, ax: Axes | None) -> Axes:
    """E_T, and what iid draws have on average."""
    if ax is None:
        _, ax = _pyplot().subplots(figsize=(5.5, 3.6), layout="constrained")
    t = np.arange(1, len(result.error) + 1)
    known = result.error > 0
    ax.loglog(t[known], result.error[known], color=_CHOSEN, lw=1.8, label="these points")
    last = result.error[-1]
    if last > 0 and result.equivalent_draws is not None and result.mmd > 0:
        # equivalent_draws = single/mmd², so that the expected squared error of T iid draws is single/T.
        single = result.equivalent_draws * result.mmd**2
        ax.loglog(t, np.sqrt(single / t), color=_ALL, ls="--", lw=1.5, label="iid draws, on average")
    ax.set_xlabel("points T")
    ax.set_ylabel(result._error_name())
    ax.grid(True, which="major", alpha=0.3)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
    return ax


def plot_marginals(result: Result, data: Any, columns: Any, sample_weight: Any) -> NDArray[np.object_]:
    """One distribution function for each column, which unlike a histogram needs no bins: 20 points are enough."""
    rows, chosen, names = _columns(result, data, columns, sample_weight, 12)
    plt = _pyplot()
    across = min(len(names), 4)
    down = -(-len(names) // across)
    size = (2.6 * across, 2.1 * down + 0.4)
    _, grid = plt.subplots(down, across, figsize=size, squeeze=False, sharey=True, layout="constrained")
    axes: NDArray[np.object_] = grid.ravel()
    for spare in axes[len(names) :]:
        spare.set_visible(False)
    for j, (ax, name) in enumerate(zip(axes, names)):
        ax.step(*_distribution(rows[:, j], None), where="post", color=_ALL, lw=3, label=_whole(result))
        ax.step(*_distribution(chosen[:, j], result.weights), where="post", color=_CHOSEN, lw=1.2, label="chosen")
        ax.set_xlim(*_view(rows[:, j], chosen[:, j]))
        ax.set_title(name, fontsize=10)
        ax.set_yticks([0, 0.5, 1])
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].legend(frameon=False, fontsize=8)
    return axes[: len(names)]


def plot_pairs(result: Result, data: Any, columns: Any, sample_weight: Any) -> NDArray[np.object_]:
    """A square of scatter plots with histograms on its diagonal."""
    rows, chosen, names = _columns(result, data, columns, sample_weight, 4)
    plt = _pyplot()
    count = len(names)
    side = 2.0 * count + 0.6
    _, axes = plt.subplots(count, count, figsize=(side, side), squeeze=False, layout="constrained")
    cloud = rows[:: max(len(rows) // _CLOUD, 1)]
    sizes = 5 + 15 * np.abs(result.weights) / np.abs(result.weights).max()
    views = [_view(rows[:, j], chosen[:, j]) for j in range(count)]
    for i in range(count):
        for j in range(count):
            ax = axes[i, j]
            if j > i:
                ax.set_visible(False)
                continue
            if i == j:
                fine, coarse = (np.linspace(*views[j], _bins(len(x)) + 1) for x in (rows, chosen))
                ax.hist(rows[:, j], fine, density=True, color=_ALL, alpha=0.6)
                style = {"histtype": "step", "color": _CHOSEN, "lw": 1.4}
                ax.hist(chosen[:, j], coarse, weights=result.weights, density=True, **style)
                ax.set_yticks([])
            else:
                ax.scatter(cloud[:, j], cloud[:, i], s=3, color=_ALL, alpha=0.4, lw=0, rasterized=True)
                ax.scatter(chosen[:, j], chosen[:, i], s=sizes, color=_CHOSEN, lw=0)
                ax.set_ylim(*views[i])
            ax.set_xlim(*views[j])
            ax.spines[["top", "right"]].set_visible(False)
            ax.tick_params(labelsize=8, labelbottom=i == count - 1, labelleft=j == 0 and i > 0)
            if i == count - 1:
                ax.set_xlabel(names[j])
            if j == 0:
                ax.set_ylabel(names[i])
    return axes  # type: ignore[no-any-return]


def _whole(result: Result) -> str:
    return "all rows" if result.n_rows else "the starts" if result._is_stein() else "the mixture"


def _distribution(
    values: NDArray[np.float64], weights: NDArray[np.float64] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The values in order, and the share of the weight up to each."""
    order = np.argsort(values)
    share = np.full(len(values), 1 / len(values)) if weights is None else weights[order]
    return values[order], np.cumsum(share)


def _view(rows: NDArray[np.float64], chosen: NDArray[np.float64]) -> tuple[float, float]:
    """The range of all but the farthest 2 in 1000 rows, and of every chosen point, with a margin."""
    low, high = np.quantile(rows, [0.001, 0.999])
    low, high = min(low, chosen.min()), max(high, chosen.max())
    margin = 0.04 * (high - low) or 0.5
    return float(low - margin), float(high + margin)


def _bins(count: int) -> int:
    """More bins for more points, by the cube root as the mean squared error wants it."""
    return int(np.clip(round(2.5 * count ** (1 / 3)), 5, 60))


def _columns(
    result: Result, data: Any, columns: Any, sample_weight: Any, most: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], list[str]]:
    """All rows and the chosen ones by the wanted columns."""
    rows = result._data if data is None else _given(result, data, sample_weight)
    if data is None and sample_weight is not None:
        raise ValueError("sample_weight has no effect without data; leave it out")
    if rows is None:
        raise ValueError("the rows that were not chosen are not pickled; give them as data")
    if rows.shape[1] != result.points.shape[1]:
        raise ValueError(f"data has {rows.shape[1]} columns, but the points have {result.points.shape[1]}")
    names = list(result.names or (f"x{j + 1}" for j in range(rows.shape[1])))
    wanted = _places(names, columns, most)
    return rows[:, wanted], result.points[:, wanted], [names[j] for j in wanted]


def _given(result: Result, data: Any, sample_weight: Any) -> NDArray[np.float64]:
    """The rows by the columns of the result, each as often as its weight wants."""
    from ._evaluate import held_weights
    from ._result import background

    table = weighted(as_table(data, "data"), sample_weight, None, data)
    table = matched(table.complete() if result.dropped else table, result.names, "data")
    missing = np.flatnonzero(np.isnan(table.values).any(axis=1))
    if len(missing):
        raise ValueError(f"data has NaN in row {missing[0]}; leave such rows out")
    weights = table.weights
    if weights is None:
        held = held_weights(result, table)
        logs = held.get("log_weight")
        weights = held.get("sample_weight") if logs is None else np.exp(logs - logs.max())
    return background(table.values, weights)


def _places(names: Sequence[str], columns: Any, most: int) -> list[int]:
    if columns is None:
        return list(range(min(len(names), most)))
    asked = [columns] if isinstance(columns, str) or np.ndim(columns) == 0 else list(columns)
    if not asked:
        raise ValueError("columns is empty; name at least one, or leave it out")
    if as_array(asked, "columns").dtype.kind == "b":
        if len(asked) != len(names):
            raise ValueError(f"columns is a mask of {len(asked)} for {len(names)} columns")
        asked = np.flatnonzero(asked).tolist()
    places = []
    for column in asked:
        if isinstance(column, str):
            if column not in names:
                raise ValueError(f"there is no column '{column}'; there are {', '.join(names)}")
            places.append(names.index(column))
        else:
            if not 0 <= column < len(names):
                raise ValueError(f"there is no column {column}; {len(names)} are numbered from 0")
            places.append(int(column))
    return places
