"""thin, herd and evaluate for posteriors with all their groups: ArviZ InferenceData, xarray DataTree and Dataset.

Results of PyMC, NumPyro, CmdStanPy and nutpie work after conversion by ArviZ (`az.from_numpyro`, `az.from_cmdstanpy`,
…). Results of `az.extract` and dicts of arrays of shape (chain, draw, …) work too. ArviZ and xarray are imported only
when one of their objects is given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from . import _choose, _diagnose, _evaluate, stein
from ._advice import spare_columns
from ._diagnose import Diagnosis
from ._evaluate import Evaluation
from ._frames import is_posterior
from ._functions import functions_table
from ._inputs import as_rule
from ._native import VERSION
from ._options import Diagnose, HerdDraws, JudgeFunctions, ThinDraws, takes
from ._posterior import PREFIX, Posterior
from ._result import PoolResult, Result
from ._tables import Table, names_of
from ._warnings import warn
from .kernels import known_kernel
from .scores import Scored

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["diagnose", "evaluate", "herd", "matrix", "take", "thin"]

Data = TypeVar("Data")

#: More numbers than this are rarely all parameters.
_MANY = 100


@overload
def thin(
    data: Data,
    n: SupportsIndex | Literal["auto"] | None = None,
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
    n: SupportsIndex | Literal["auto"] | None = None,
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
    n: SupportsIndex | Literal["auto"] | None = None,
    *,
    var_names: str | Sequence[str] | None = None,
    group: str = "posterior",
    scores: Any = None,
    return_result: bool = False,
    **options: Unpack[ThinDraws],
) -> Any:
    """Returns the posterior reduced to its best `n` draws, in all groups.

    `n` is the number of draws kept, NOT a step: `thin(data, 10)` keeps 10 draws, while xarray's
    `Dataset.thin` and samplers' `thinning=10` keep every tenth.

    Parameters
    ----------
    data
        An ArviZ InferenceData; an xarray DataTree (newer ArviZ) or one of its groups; a Dataset or
        DataArray with the dimensions chain and draw, or sample, as from `az.extract`; or a dict of
        arrays of shape (chain, draw, …). The result is of the same kind.
    n
        Number of draws; with `tol` or `equivalent_draws`, the maximum. `"auto"`: as few as are nearly as
        accurate as all draws.
    var_names
        The variables that distances use, by default all of the group; `"~name"` leaves one out. Name
        the parameters, because quantities computed from them would count twice. The result keeps all
        variables.
    group
        The group whose draws are compared.
    sample_weight, log_weight
        A weight for each draw, or its logarithm, of shape (chain, draw) or flat in that order.
    functions
        Variables whose means are matched, for example predictions; distances do not use them. Names,
        which are looked up in the group, then in `posterior_predictive`, then in other groups with the
        same draws (`"log_likelihood/y"` names the group), or an array of shape (chain, draw, …).
    scores
        The gradient of the log-density at each draw: the result of `supersample.scores.pymc` or
        `numpyro`, data like `data` with the same variables, or an array of shape (chain, draw, number
        of parameters). Draws and scores must both be those of the unconstrained parameters, or of
        parameters without constraints.
    target
        With scores, `"corrected"` (the default), `"rows"` or `"density"`, as in `supersample.thin`. The
        options of the last are those of `supersample.stein.thin`; `log_density` may have the shape
        (chain, draw).
    groups
        "chain" for the same number of draws from each chain, or a label for each draw as in
        `supersample.thin`.
    return_result
        Also return the `PoolResult`, whose rows are the draws, chain after chain.

    All other keywords are those of `supersample.thin`, or of `supersample.stein.thin` with target="density".

    The result has one chain of `n` draws in the order of choice, so its first k draws are a good smaller
    subset. The coordinates `source_chain` and `source_draw` tell the origin of each draw, also after a
    second thinning. With `weights="simplex"` or `"signed"` the coordinate `weight` holds the weights.
    Groups with the same draws (`sample_stats`, `posterior_predictive`, `log_likelihood`, …) are reduced
    too; the prior, warm-up and data groups are unchanged. Attributes of the group hold the errors
    (`supersample_mmd`, `supersample_equivalent_draws`, `supersample_kernel`, …).

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
    >>> named = supersample.arviz.thin(posterior, 50, functions=["theta"])  # distances use mu
    >>> named.attrs["supersample_objective"]
    'joint MMD + 0.1 × marginals + 0.08 × moments + 1 × functions'
    """
    return _chosen("thin", data, n, var_names, group, scores, return_result, dict(options))


@overload
def herd(
    data: Data,
    n: SupportsIndex | None = None,
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
    n: SupportsIndex | None = None,
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
    n: SupportsIndex | None = None,
    *,
    var_names: str | Sequence[str] | None = None,
    group: str = "posterior",
    scores: Any = None,
    unique: bool = True,
    return_result: bool = False,
    **options: Unpack[HerdDraws],
) -> Any:
    """Returns the posterior reduced to `n` draws, chosen one by one by kernel herding, in all groups.

    The keywords are those of `thin`. Draws are distinct unless `unique=False`; `supersample.herd`, which
    follows the paper, repeats rows by default.

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
    """Returns the draws as a matrix, one row per draw (chain after chain), and the names of its columns.

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
    """Returns the posterior reduced to these draws, in all groups.

    `indices` are the numbers of the draws (from 0, chain after chain), a mask, or a result.

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
    """Returns the errors of the draws of `subset`, compared with random draws and every k-th draw of `data`.

    `subset` is a result of `thin`, `herd` or `take`, any posterior with the same variables, or a
    `Result`. Its attributes give the defaults for the variables, kernel, scale and weights. `functions`
    are names of variables that both have. The other keywords are those of `supersample.evaluate`.

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
    keywords["chains"] = _chains(whole, keywords)
    own = _functions_of(whole, functions)
    if isinstance(subset, Result):
        table = Table(*whole.matrix(subset.names and _variables_of(whole, subset, var_names)), may_drop=False)
        return _evaluate.evaluate(table, subset, subset_weight=subset_weight, functions=own, **keywords)
    part = Posterior(subset, group)
    said = {name.removeprefix(PREFIX): value for name, value in part.dataset.attrs.items() if name.startswith(PREFIX)}
    chosen_by = [str(name) for name in np.atleast_1d(said["var_names"])] if "var_names" in said else None
    var_names = chosen_by if var_names is None else var_names
    # The bandwidth is a distance between the variables that the subset was chosen by.
    is_same = chosen_by is None or set(whole.variables(var_names)) == set(whole.variables(chosen_by))
    if "kernel" in said and is_same and not {"kernel", "bandwidth"} & set(keywords):
        keywords["kernel"] = known_kernel(said["kernel"], [float(b) for b in np.atleast_1d(said.get("bandwidth", []))])
        keywords.setdefault("scale", said["scale"])
    if said.get("weighted") and keywords["sample_weight"] is None and keywords["log_weight"] is None:
        warn("the draws had weights when the subset was chosen, and the subset does not keep them; give sample_weight")
    if subset_weight is None:
        subset_weight = part.weight()
    var_names = _parameters(whole, var_names, functions)
    table, points = Table(*whole.matrix(var_names), may_drop=False), Table(*part.matrix(var_names))
    if own is not None:
        # In the same table as the parameters, by names that no variable has.
        theirs = _functions_of(part, functions)
        assert theirs is not None
        extra = tuple(f"function {j}" for j in range(own.values.shape[1]))
        table, points = _joined(table, own, extra), _joined(points, theirs, extra)
        keywords["functions"] = list(extra)
    return _evaluate.evaluate(table, points, subset_weight=subset_weight, **keywords)


@takes(Diagnose)
def diagnose(
    data: Any,
    *,
    var_names: str | Sequence[str] | None = None,
    group: str = "posterior",
    **options: Unpack[Diagnose],
) -> Diagnosis:
    """How accurate the draws of a posterior are, and whether its chains agree; see `supersample.diagnose`.

    `chains` are those of the dimensions chain and draw; the other keywords are those of `supersample.diagnose`.

    >>> import numpy as np, xarray as xr
    >>> import supersample.arviz
    >>> draws = np.random.default_rng(0).normal(size=(4, 500))
    >>> supersample.arviz.diagnose(xr.Dataset({"mu": (("chain", "draw"), draws)}))
    all 2,000 draws are as accurate as 1,930 independent ones (kernel ESS); the 4 chains agree
    """
    posterior = Posterior(data, group)
    keywords: dict[str, Any] = {**options}
    keywords |= {"chains": _chains(posterior, keywords), **_weights(posterior, keywords)}
    return _diagnose.diagnose(Table(*posterior.matrix(var_names), may_drop=False), **keywords)


def _chains(posterior: Posterior, options: Mapping[str, Any]) -> Any:
    """The chain of each draw in the order of the matrix; None where the draws do not say it."""
    given = options.get("chains")
    if given is not None:
        return posterior.flat(given, "chains") if np.ndim(given) > 1 or hasattr(given, "dims") else given
    return posterior.chain_of_each() if posterior.knows_chains() else None


def _joined(table: Table, functions: Table, names: tuple[str, ...]) -> Table:
    values = np.concatenate([table.values, functions.values], axis=1)
    return Table(np.ascontiguousarray(values), (*(table.names or ()), *names))


def _variables_of(whole: Posterior, result: Result, var_names: Any) -> Any:
    """The variables by which a result was chosen."""
    if var_names is not None:
        return var_names
    used = {name.partition("[")[0] for name in result.names or ()}
    return [name for name in whole.variables(None) if str(name) in used] or None


def _weights(posterior: Posterior, options: Mapping[str, Any]) -> dict[str, Any]:
    """The weights of the draws in the order of the matrix; by default those that an earlier choice stored."""
    given = {what: options.get(what) for what in ("sample_weight", "log_weight")}
    if all(value is None for value in given.values()):
        return {**given, "sample_weight": posterior.weight()}
    return {what: None if value is None else posterior.flat(value, what) for what, value in given.items()}


def _chosen(
    method: str,
    data: Any,
    n: SupportsIndex | Literal["auto"] | None,
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
        raise ValueError("a dict cannot store the weights; ask for them with return_result=True")
    if isinstance(options.get("groups"), str):
        if options["groups"] != "chain":
            raise ValueError(f"groups is '{options['groups']}'; give 'chain' or a label for each draw")
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
        result = _chosen_by_density(method, Table(values, names, may_drop=False), by_score, n, options, weights)
    else:
        for what in ("log_density", "regularise", "second_derivatives", "preconditioner"):
            if options.pop(what, None) is not None:
                raise ValueError(f"{what} has no effect without scores and target='density'; leave it out")
        options |= {"functions": _functions_of(posterior, functions), "chains": _chains(posterior, options), **weights}
        result = getattr(_choose, method)(Table(values, names, may_drop=False), n, scores=by_score, **options)
    is_elsewhere = isinstance(scores, Scored)
    said = {
        "mmd": result.mmd,
        "equivalent_draws": result.equivalent_draws,
        "posterior_draws": result.posterior_draws,
        "kernel_ess": None if result.draws is None else result.draws.kernel_ess,
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
    method: str, rows: Table, scores: Table, n: Any, options: dict[str, Any], weights: dict[str, Any]
) -> PoolResult:
    """Draws chosen by their scores alone."""
    for what, given in {"functions": options.get("functions"), "chains": options.get("chains"), **weights}.items():
        options.pop(what, None)
        if given is not None:
            raise ValueError(f"{what} cannot be used with target='density'; leave it out")
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
    names = names_of(functions)
    if names is not None:
        return functions_table(Table(*posterior.functions(names)))
    return functions_table(posterior.rows_of(functions, "functions"))


def _parameters(posterior: Posterior, var_names: Any, functions: Any) -> Any:
    """The variables that distances use: by default all that are not functions."""
    used = set(names_of(functions) or ())
    if var_names is not None or not used:
        return var_names
    drawn = posterior.variables(None)
    rest = [name for name in drawn if str(name) not in used]
    if not rest:
        raise ValueError(f"every variable of the group '{posterior.group}' is a function; distances need at least one")
    return None if len(rest) == len(drawn) else rest


def _look_at(posterior: Posterior, values: NDArray[np.float64], functions: Any) -> None:
    """Warns of variables that are probably not parameters: too many, computed or integer ones."""
    doubts = []
    columns = values.shape[1]
    drawn = posterior.variables(_parameters(posterior, None, functions))
    if columns > _MANY:
        sizes = {str(name): int(posterior.dataset[name].size) // posterior.size for name in drawn}
        largest = max(sizes, key=lambda name: sizes[name])
        doubts.append(f"they have {columns:,} numbers ({sizes[largest]:,} of '{largest}')")
    else:
        spare = spare_columns(values)
        if spare:
            doubts.append(f"{spare} of their {columns} numbers are linear combinations of the others")
    whole = [str(name) for name in drawn if posterior.dataset[name].dtype.kind in "iub"]
    if whole:
        doubts.append(f"'{whole[0]}' holds integers")
    if doubts:
        warn(
            f"distances use all {len(drawn)} variables, but {' and '.join(doubts)}; name the parameters with "
            "var_names=[…]"
        )
