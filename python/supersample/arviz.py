"""Posteriors with all their groups: ArviZ InferenceData, xarray DataTree and Dataset, thinned to chosen draws.

PyMC, NumPyro, CmdStanPy and nutpie results work because ArviZ converts them (`az.from_numpyro`, `az.from_cmdstanpy`,
…). What `az.extract` returns and dicts of arrays of shape (chain, draw, …) work too. Neither ArviZ nor xarray is
imported before one of their objects is handed over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from . import _choose, _evaluate, stein
from ._evaluate import Evaluation
from ._functions import functions_table, named
from ._inputs import Table, as_rule, is_posterior
from ._native import VERSION
from ._options import HerdDraws, JudgeFunctions, ThinDraws, takes
from ._posterior import PREFIX, Posterior
from ._result import PoolResult, Result
from ._warnings import warn
from .kernels import known_kernel
from .scores import Scored

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["evaluate", "herd", "matrix", "take", "thin"]

Data = TypeVar("Data")

#: More numbers than that are rarely all parameters.
_MANY = 100


@overload
def thin(
    data: Data,
    n: int | None = None,
    *,
    var_names: str | Sequence[str] | None = None,
    group: str = "posterior",
    scores: Any = None,
    return_result: Literal[False] = False,
    **options: Unpack[ThinDraws],
) -> Data: ...


@overload
def thin(
    data: Data,
    n: int | None = None,
    *,
    var_names: str | Sequence[str] | None = None,
    group: str = "posterior",
    scores: Any = None,
    return_result: Literal[True],
    **options: Unpack[ThinDraws],
) -> tuple[Data, PoolResult]: ...


@takes(ThinDraws)
def thin(
    data: Any,
    n: int | None = None,
    *,
    var_names: str | Sequence[str] | None = None,
    group: str = "posterior",
    scores: Any = None,
    return_result: bool = False,
    **options: Unpack[ThinDraws],
) -> Any:
    """The best `n` draws of a posterior as a set, with all groups cut to the same draws.

    `n` is how many draws are kept, NOT a step: `thin(data, 10)` keeps 10 draws, where xarray's `Dataset.thin` and
    samplers' `thinning=10` keep every tenth.

    Parameters
    ----------
    data
        An ArviZ InferenceData, an xarray DataTree as newer ArviZ has it or one of its groups, a Dataset or DataArray
        with the dimensions chain and draw, or sample as `az.extract` makes them, or a dict of arrays of shape (chain,
        draw, …). The result is of the same kind.
    n
        How many draws; with `tol` or `equivalent_draws` at most this number.
    var_names
        The variables by which draws are chosen, by default all of the group; `"~name"` leaves one out. Name the
        parameters: what is computed from them counts again otherwise. All variables are kept in the result.
    group
        The group by which draws are chosen.
    sample_weight, log_weight
        A weight for each draw, or its logarithm, of shape (chain, draw) or flat in that order.
    functions
        Variables whose means matter, predictions for one; distances do not use them. Names, which are looked for in the
        group, then in `posterior_predictive`, then in other groups of the same draws (`"log_likelihood/y"` says which),
        or an array of shape (chain, draw, …).
    scores
        The gradient of the log-density at each draw: what `supersample.scores.pymc` or `numpyro` returned, data like
        `data` with the same variables, or an array of shape (chain, draw, number of parameters). Draws and scores are
        both of the unconstrained parameters, or of parameters without constraints.
    target
        With scores, `"corrected"` by default, `"rows"` or `"density"`, as in `supersample.thin`. Options of the last are
        those of `supersample.stein.thin`, of which `log_density` may be of shape (chain, draw).
    groups
        The word "chain" to take draws of all chains in equal parts; or a label for each draw, as in `supersample.thin`.
    return_result
        Return the `PoolResult` too, whose rows are the draws chain after chain.

    All other keywords are those of `supersample.thin`, and of `supersample.stein.thin` with target="density".

    The result has one chain of `n` draws, in the order of choice, so that its first k draws are a good smaller set. The
    coordinates `source_chain` and `source_draw` say where each draw came from, also after a second thinning; with
    `weights="simplex"` or `"signed"` the coordinate `weight` has the weight of each. Groups of the same draws
    (`sample_stats`, `posterior_predictive`, `log_likelihood`, …) are cut; the prior, warm-up and data groups stay as
    they are. Attributes of the group (`supersample_mmd`, `supersample_equivalent_draws`, `supersample_kernel`, …) say
    how good the draws are.

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
    >>> small, result = supersample.arviz.thin(posterior, 50, var_names="mu", return_result=True)
    >>> small.attrs["supersample_mmd"] == result.mmd
    True
    >>> named = supersample.arviz.thin(posterior, 50, functions=["theta"])  # chosen by mu, the means of theta matched
    >>> named.attrs["supersample_objective"]
    'joint + 0.1 × marginals + 1 × functions'
    """
    return _chosen("thin", data, n, var_names, group, scores, return_result, dict(options))


@overload
def herd(
    data: Data,
    n: int | None = None,
    *,
    var_names: str | Sequence[str] | None = None,
    group: str = "posterior",
    scores: Any = None,
    unique: bool = True,
    return_result: Literal[False] = False,
    **options: Unpack[HerdDraws],
) -> Data: ...


@overload
def herd(
    data: Data,
    n: int | None = None,
    *,
    var_names: str | Sequence[str] | None = None,
    group: str = "posterior",
    scores: Any = None,
    unique: bool = True,
    return_result: Literal[True],
    **options: Unpack[HerdDraws],
) -> tuple[Data, PoolResult]: ...


@takes(HerdDraws)
def herd(
    data: Any,
    n: int | None = None,
    *,
    var_names: str | Sequence[str] | None = None,
    group: str = "posterior",
    scores: Any = None,
    unique: bool = True,
    return_result: bool = False,
    **options: Unpack[HerdDraws],
) -> Any:
    """As `thin`, but by herding alone: `n` draws one after the other, distinct ones unless `unique=False`.

    `supersample.herd`, which follows the paper, repeats rows by default; a posterior with the same draw twice is rarely
    wanted.

    >>> import numpy as np, xarray as xr
    >>> import supersample.arviz
    >>> draws = np.random.default_rng(0).normal(size=(2, 100))
    >>> posterior = xr.Dataset({"mu": (("chain", "draw"), draws)})
    >>> supersample.arviz.herd(posterior, 10)["mu"].shape
    (1, 10)
    """
    return _chosen("herd", data, n, var_names, group, scores, return_result, {"unique": unique, **options})


def matrix(
    data: Any, *, var_names: str | Sequence[str] | None = None, group: str = "posterior"
) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """The draws as a matrix, one row for each draw (chain after chain) and one column for each number, and their names.

    The names are those of `az.summary`, with the labels of the coordinates.

    >>> import numpy as np, xarray as xr
    >>> import supersample.arviz
    >>> draws = np.zeros((2, 100, 3))
    >>> posterior = xr.Dataset({"theta": (("chain", "draw", "school"), draws)}, coords={"school": ["A", "B", "C"]})
    >>> values, names = supersample.arviz.matrix(posterior)
    >>> values.shape, names
    ((200, 3), ('theta[A]', 'theta[B]', 'theta[C]'))
    """
    return Posterior(data, group).matrix(var_names)


def take(data: Data, indices: Any, *, group: str = "posterior") -> Data:
    """Some draws out of every group of the same draws: their numbers from 0 chain after chain, a mask, or a result.

    >>> import numpy as np, xarray as xr
    >>> import supersample.arviz
    >>> draws = np.arange(200.0).reshape(2, 100)
    >>> posterior = xr.Dataset({"mu": (("chain", "draw"), draws)})
    >>> small = supersample.arviz.take(posterior, [150, 3])
    >>> small["mu"].values, small["source_chain"].values, small["source_draw"].values
    (array([[150.,   3.]]), array([1, 0]), array([50,  3]))
    >>> supersample.arviz.take(posterior, draws > 190)["mu"].shape
    (1, 9)
    """
    posterior = Posterior(data, group)
    cut: Data = posterior.cut(posterior.rows(indices), None, {})
    return cut


@takes(JudgeFunctions)
def evaluate(
    data: Any,
    subset: Any,
    *,
    var_names: str | Sequence[str] | None = None,
    group: str = "posterior",
    subset_weight: Any = None,
    **options: Unpack[JudgeFunctions],
) -> Evaluation:
    """How good the draws of `subset` are, compared with random draws and every k-th draw of `data`.

    `subset` is what `thin`, `herd` or `take` returned, or any posterior with the same variables, or a `Result`. Where
    it says by which variables, kernel and scale it was chosen, and with which weights, these are used unless others
    are given. `functions` are names of variables, of which the subset has its own. The other keywords are those of
    `supersample.evaluate`.

    >>> import numpy as np, xarray as xr
    >>> import supersample.arviz
    >>> draws = np.random.default_rng(0).normal(size=(2, 100))
    >>> posterior = xr.Dataset({"mu": (("chain", "draw"), draws)})
    >>> small = supersample.arviz.thin(posterior, 10)
    >>> found = supersample.arviz.evaluate(posterior, small)
    >>> round(found.mmd / small.attrs["supersample_mmd"], 6)
    1.0
    """
    whole = Posterior(data, group)
    keywords: dict[str, Any] = {**options}
    functions = keywords.pop("functions", None)
    keywords |= _weights(whole, keywords)
    own = _functions_of(whole, functions)
    if isinstance(subset, Result):
        table = Table(*whole.matrix(subset.names and _variables_of(whole, subset, var_names)))
        return _evaluate.evaluate(table, subset, subset_weight=subset_weight, functions=own, **keywords)
    part = Posterior(subset, group)
    said = {name.removeprefix(PREFIX): value for name, value in part.dataset.attrs.items() if name.startswith(PREFIX)}
    if var_names is None and "var_names" in said:
        var_names = [str(name) for name in np.atleast_1d(said["var_names"])]
    if "kernel" in said and not {"kernel", "bandwidth"} & set(keywords):
        keywords["kernel"] = known_kernel(said["kernel"], [float(b) for b in np.atleast_1d(said.get("bandwidth", []))])
        keywords.setdefault("scale", said["scale"])
    if said.get("weighted") and keywords["sample_weight"] is None and keywords["log_weight"] is None:
        warn("the draws had weights when the subset was chosen, which it does not keep; give sample_weight")
    if subset_weight is None:
        subset_weight = part.weight()
    var_names = _parameters(whole, var_names, functions)
    table, points = Table(*whole.matrix(var_names)), Table(*part.matrix(var_names))
    if own is not None:
        # Side by side with the parameters, by names that no variable has.
        theirs = _functions_of(part, functions)
        assert theirs is not None
        extra = tuple(f"function {j}" for j in range(own.values.shape[1]))
        table, points = _beside(table, own, extra), _beside(points, theirs, extra)
        keywords["functions"] = list(extra)
    return _evaluate.evaluate(table, points, subset_weight=subset_weight, **keywords)


def _beside(table: Table, functions: Table, names: tuple[str, ...]) -> Table:
    values = np.concatenate([table.values, functions.values], axis=1)
    return Table(np.ascontiguousarray(values), (*(table.names or ()), *names))


def _variables_of(whole: Posterior, result: Result, var_names: Any) -> Any:
    """The variables whose numbers a result was chosen by."""
    if var_names is not None:
        return var_names
    used = {name.partition("[")[0] for name in result.names or ()}
    return [name for name in whole.variables(None) if str(name) in used] or None


def _weights(posterior: Posterior, options: Mapping[str, Any]) -> dict[str, Any]:
    """The weights of the draws in the order of the matrix; by default what an earlier choice has left."""
    given = {what: options.get(what) for what in ("sample_weight", "log_weight")}
    if all(value is None for value in given.values()):
        return {**given, "sample_weight": posterior.weight()}
    return {what: None if value is None else posterior.flat(value, what) for what, value in given.items()}


def _chosen(
    method: str,
    data: Any,
    n: int | None,
    var_names: Any,
    group: str,
    scores: Any,
    return_result: bool,
    options: dict[str, Any],
) -> Any:
    posterior = Posterior(data, group)
    functions = options.get("functions")
    if isinstance(scores, Scored):
        if var_names is not None:
            raise ValueError("var_names has no effect with scores of all parameters; leave it out")
        values, names = scores.draws, scores.names
        if len(values) != posterior.size:
            raise ValueError(f"scores has {len(values):,} draws, but the data have {posterior.size:,}")
    else:
        values, names = posterior.matrix(_parameters(posterior, var_names, functions))
    rule = as_rule(options.get("weights", "equal"))
    if rule != "equal" and posterior.is_dict and not return_result:
        raise ValueError("a dict has no place for the weights; ask for them with return_result=True")
    if isinstance(options.get("groups"), str):
        if options["groups"] != "chain":
            raise ValueError(f"groups is '{options['groups']}'; give the word 'chain' or a label for each draw")
        options["groups"] = posterior.chain_of_each()
    for what in ("groups", "include", "exclude", "log_density"):
        given = options.get(what)
        if given is not None and (np.ndim(given) > 1 or hasattr(given, "dims")):
            options[what] = posterior.flat(given, what)
    weights = _weights(posterior, options)
    if var_names is None and not isinstance(scores, Scored):
        _look_at(posterior, values, functions)
    if isinstance(scores, Scored):
        by_score: Table | None = Table(scores.scores, names)
    else:
        by_score = None if scores is None else _scores_of(posterior, scores, group, var_names)
    if by_score is not None and options.get("target") == "density":
        if options.get("second_derivatives") is not None:
            options["second_derivatives"] = _scores_of(posterior, options["second_derivatives"], group, var_names)
        result = _chosen_by_density(method, Table(values, names), by_score, n, options, weights)
    else:
        for what in ("log_density", "regularise", "second_derivatives", "preconditioner"):
            if options.pop(what, None) is not None:
                raise ValueError(f"{what} has no effect without scores and target='density'; leave it out")
        options |= {"functions": _functions_of(posterior, functions), **weights}
        result = getattr(_choose, method)(Table(values, names), n, scores=by_score, **options)
    is_elsewhere = isinstance(scores, Scored)
    said = {
        "mmd": result.mmd,
        "equivalent_draws": result.equivalent_draws,
        "n_rows": result.n_rows,
        # Distances between unconstrained parameters say nothing of those of the variables.
        "kernel": None if is_elsewhere else result.kernel.name,
        "bandwidth": None if is_elsewhere else list(result.kernel.bandwidths) or None,
        "scale": None if is_elsewhere else result.scale,
        "corrected_by": None if result.corrected is None else result.corrected["features"],
        "cdf": result.cdf,
        "functions_error": result.functions_error,
        "objective": result.objective,
        "var_names": [str(name) for name in posterior.variables(_parameters(posterior, var_names, functions))],
        "weights": None if rule == "equal" else rule,
        # Some formats have no booleans.
        "weighted": 1 if result.weighted else None,
        "version": VERSION,
    }
    attributes = {PREFIX + name: value for name, value in said.items() if value is not None}
    cut = posterior.cut(result.indices, None if rule == "equal" else result.weights, attributes)
    return (cut, result) if return_result else cut


def _chosen_by_density(
    method: str, rows: Table, scores: Table, n: int | None, options: dict[str, Any], weights: dict[str, Any]
) -> PoolResult:
    """Draws chosen by their scores alone."""
    for what, given in {"functions": options.get("functions"), **weights}.items():
        options.pop(what, None)
        if given is not None:
            raise ValueError(f"{what} and target='density' do not go together; leave it out")
    del options["target"]
    result: PoolResult = getattr(stein, method)(rows, scores, n, **options)
    return result


def _scores_of(posterior: Posterior, scores: Any, group: str, var_names: Any) -> Table:
    """The scores as numbers in the order of the draws and of the parameters."""
    is_array = hasattr(scores, "dims") and not hasattr(scores, "data_vars") and not hasattr(scores, "children")
    if isinstance(scores, Mapping) or (is_posterior(scores) and not is_array):
        values, names = Posterior(scores, group).matrix(var_names)
        return Table(values, names)
    return functions_table(posterior.rows_of(scores, "scores"))


def _functions_of(posterior: Posterior, functions: Any) -> Table | None:
    """The functions as numbers in the order of the draws."""
    if functions is None:
        return None
    names = named(functions)
    if names is not None:
        return functions_table(Table(*posterior.functions(names)))
    return functions_table(posterior.rows_of(functions, "functions"))


def _parameters(posterior: Posterior, var_names: Any, functions: Any) -> Any:
    """The variables by which draws are chosen: where none are named, all that are no functions."""
    used = set(named(functions) or ())
    if var_names is not None or not used:
        return var_names
    drawn = posterior.variables(None)
    rest = [name for name in drawn if str(name) not in used]
    if not rest:
        raise ValueError(f"every variable of the group '{posterior.group}' is a function; distances need at least one")
    return None if len(rest) == len(drawn) else rest


def _look_at(posterior: Posterior, values: NDArray[np.float64], functions: Any) -> None:
    """Warns of variables that are hardly meant where none were named: too many numbers, computed ones, whole ones."""
    doubts = []
    columns = values.shape[1]
    drawn = posterior.variables(_parameters(posterior, None, functions))
    if columns > _MANY:
        sizes = {str(name): int(posterior.dataset[name].size) // posterior.size for name in drawn}
        largest = max(sizes, key=lambda name: sizes[name])
        doubts.append(f"they have {columns:,} numbers ({sizes[largest]:,} of '{largest}')")
    else:
        some = values[:: -(-len(values) // 1000)]
        varying = some[:, some.std(axis=0) > 0]
        if 1 < varying.shape[1] < len(some) // 2 and np.all(np.isfinite(varying)):
            alike = (varying - varying.mean(axis=0)) / varying.std(axis=0) / np.sqrt(len(some))
            # Draws that were written with a few digits are still to count as the same.
            spare = varying.shape[1] - int(np.linalg.matrix_rank(alike, 1e-4))
            if spare:
                doubts.append(f"{spare} of their {columns} numbers follow from the others")
    whole = [str(name) for name in drawn if posterior.dataset[name].dtype.kind in "iub"]
    if whole:
        doubts.append(f"'{whole[0]}' is of whole numbers")
    if doubts:
        warn(
            f"draws are chosen by all {len(drawn)} variables, but {' and '.join(doubts)}; name the parameters with "
            "var_names=[…]"
        )
