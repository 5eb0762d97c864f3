"""herd and thin: representative rows of an array."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from . import _native
from ._advice import missed, tell
from ._batches import Batches, as_batches, as_single, is_stream
from ._functions import objective_of, refuse_without_functions, with_functions
from ._inputs import Table, as_chains, as_count, as_rows, as_table, explained, weighted
from ._match import with_target
from ._options import Herd, Options, SteinHerd, SteinThin, Thin, defaults, read, takes
from ._progress import reporting
from ._result import PoolResult, result_of
from ._scores import as_scores

if TYPE_CHECKING:
    from typing_extensions import Unpack


@takes(Herd)
def herd(x: Any = None, n: int | None = None, **options: Unpack[Herd]) -> PoolResult:
    """Returns `n` rows of `x`, chosen one by one by kernel herding. Every prefix is a good subset.

    Rows may repeat, as in the paper, unless `unique` is set; `thin`, `supersample.arviz.herd` and
    `SuperSampler` choose distinct rows. Any of several identical rows may be chosen. With the linear
    kernel the score has the term -k(x, x)/2, which is constant for the kernels of the paper.

    Parameters
    ----------
    x
        One row per point. In memory: a NumPy array or anything that converts to one (`__array__`,
        DLPack), a frame (pandas, polars, dask, Arrow), or a dict of arrays with the draws along the
        first axis. Columns of a frame that are ids (chain, draw, iteration, row, names ending in
        `__`), and the column `weight`, are not used; weights of anesthetic frames and getdist chains
        are. Larger than memory: an Arrow dataset or RecordBatchReader, an iterator of batches
        (arrays or frames, or pairs of these and weights), a function that returns such an iterator,
        or a memory map with `pool_rows` or `max_memory`. An iterator that can be read only once is
        copied to a temporary file.
    n
        Number of rows to choose. It is not a step: `herd(x, 10)` chooses 10 rows, not every tenth.
        With `tol` or `equivalent_draws` it is the maximum, and by default the number of rows.
    **options

    >>> import numpy as np, supersample as ss
    >>> draws = np.random.default_rng(0).normal(size=(2000, 3))
    >>> result = ss.herd(draws, 50)
    >>> result.indices[:5]
    array([ 357, 1151,  135,  626, 1838])
    >>> few = ss.herd(draws, tol=0.05, unique=True)
    >>> few.ended, few.mmd <= 0.05
    ('tolerance', True)
    """
    if is_density(options):
        return of_density("herd", x, n, options)
    return chosen_rows("herd", x, n, read(Herd, options))


@takes(Thin)
def thin(x: Any = None, n: int | Literal["auto"] | None = None, **options: Unpack[Thin]) -> PoolResult:
    """Returns the `n` distinct rows of `x` that represent all rows best, as a set.

    The rows are chosen by herding, then swapped until no swap helps, then improved by a search.
    Their order is greedy: prefixes are good subsets too. `refinement` has the gain of each stage.

    Parameters
    ----------
    x
        One row per point: an array, a frame, a dict of arrays, or rows in batches (see `herd`).
    n
        Number of rows to keep, NOT a step as in other libraries: `thin(x, 10)` keeps 10 rows.
        `"auto"`: the fewest rows that are nearly as accurate as all draws (see `add`).
    **options

    >>> import numpy as np, supersample as ss
    >>> draws = np.random.default_rng(0).normal(size=(2000, 3))
    >>> ss.thin(draws, 50).mmd < ss.herd(draws, 50).mmd
    True
    >>> enough = ss.thin(draws, "auto", chains=4)
    >>> len(enough) < 400, enough.ended
    (True, 'enough')
    """
    if is_density(options):
        return of_density("thin", x, n, options)
    return chosen_rows("thin", x, n, read(Thin, options))


def chosen_rows(method: str, x: Any, n: Any, given: Options) -> PoolResult:
    """Rows chosen from an array in memory, or from a sample drawn in passes over batches."""
    gram, chains, scores = given.pop("gram", None), given.pop("chains", None), given.pop("scores", None)
    target, target_weight = given.pop("match", None), given.pop("match_weight", None)
    if target_weight is not None and target is None:
        raise ValueError("match_weight has no effect without match; leave it out")
    if target is not None:
        _refuse_with_match({"gram": gram, "scores": scores, "chains": chains}, x, n, given)
    given, labels = asked(method, n, given)
    if gram is not None:
        if chains is not None:
            raise ValueError("chains has no effect with gram; leave it out")
        if scores is not None:
            raise ValueError("scores cannot be used with gram: rows have no coordinates then; leave one out")
        return _chosen_by_values(gram, x, given, labels)
    data = {name: given.pop(name, None) for name in ("sample_weight", "log_weight", "functions")}
    rows: Table | Batches
    if target is not None:
        table = weighted(as_table(x), data["sample_weight"], data["log_weight"])
        rows, other = with_target(table, target, target_weight, data["functions"])
        return chosen_from(rows, given.also(**other), labels)
    if scores is not None:
        if is_stream(x) or given["pool_rows"] is not None:
            raise ValueError("scores cannot be used with rows in batches; give all rows in memory")
        table = weighted(as_table(x), data["sample_weight"], data["log_weight"])
        given = given.also(scores=as_scores(x, table, scores).values)
        rows = with_functions(table, data["functions"])
        if chains is not None:
            rows = replace(rows, chains=as_chains(chains, len(rows.values)))
        return chosen_from(rows, given, labels)
    in_batches = _in_batches(x, given, data)
    if in_batches is not None:
        if chains is not None:
            raise ValueError("chains needs all rows in memory, and they come in batches; leave it out")
        _native.check_in_batches(_numbered(given, None))
        rows = as_batches(in_batches, **data)
    else:
        table = weighted(as_table(x), data["sample_weight"], data["log_weight"])
        rows = with_functions(table, data["functions"])
        if chains is not None:
            rows = replace(rows, chains=as_chains(chains, len(rows.values)))
    return chosen_from(rows, given, labels)


def _refuse_with_match(others: Mapping[str, Any], x: Any, n: Any, given: Options) -> None:
    """Refuses what has no meaning where other rows are matched."""
    for name, value in others.items():
        if value is not None:
            raise ValueError(f"{name} cannot be used with match; leave one of them out")
    if is_stream(x) or given["pool_rows"] is not None or given["max_memory"] is not None:
        raise ValueError(
            "match needs the rows of x in memory; give an array or a frame, without pool_rows and max_memory"
        )
    if n == "auto":
        raise ValueError("n='auto' cannot be used with match: the rows may be no draws of the target; give a number")


def is_density(options: Mapping[str, Any]) -> bool:
    """Whether the density behind scores is to be matched itself."""
    return options.get("target") == "density" and options.get("scores") is not None


def of_density(method: str, x: Any, n: Any, options: Mapping[str, Any]) -> PoolResult:
    """Rows chosen by `supersample.stein`, which takes fewer keywords."""
    from . import stein

    takes_them = defaults(SteinHerd if method == "herd" else SteinThin)
    given = {name: value for name, value in options.items() if value is not None and name not in ("scores", "target")}
    for name in given:
        if name not in takes_them:
            raise ValueError(f"{name} cannot be used with target='density'; leave it out")
    result: PoolResult = getattr(stein, method)(x, options["scores"], n, **given)
    return result


def asked(method: str, n: Any, given: Options) -> tuple[Options, Sequence[Any]]:
    """The options of a choice of `n` rows, and the labels of the groups."""
    refuse_without_functions(given)
    _check_total(given)
    if given["gram"] is not None:
        raise ValueError("gram is a matrix in memory; use supersample.herd or supersample.thin")
    if given["chains"] is not None:
        raise ValueError("chains needs all rows in memory; leave it out")
    if given["match"] is not None:
        raise ValueError("match needs the rows to choose from in memory; use supersample.herd or supersample.thin")
    if given["scores"] is not None:
        raise ValueError("scores need all rows in memory; use supersample.herd or supersample.thin")
    groups, labels, quotas = _grouped(given.pop("groups", None), given.pop("quotas", None))
    if isinstance(n, str) and n == "auto":
        return given.also(method=method, n=None, auto=True, groups=groups, quotas=quotas), labels
    n = sum(quotas) if n is None and quotas is not None else n
    n = None if n is None else as_count(n, "n")
    return given.also(method=method, n=n, groups=groups, quotas=quotas), labels


def _chosen_by_values(gram: Any, x: Any, given: Options, labels: Sequence[Any]) -> PoolResult:
    """Rows chosen by the kernel values between them."""
    if x is not None:
        raise TypeError("x and gram were both given; gram replaces x, so leave one out")
    # A given bandwidth sets the kernel too.
    if given["max_memory"] is not None or given["kernel"] is not None:
        raise ValueError("kernel, bandwidth and max_memory have no effect with gram; leave them out")
    values = as_table(gram, "gram").values
    if values.shape[0] != values.shape[1]:
        raise ValueError(f"gram has shape {values.shape}; give one row and one column for each row to choose from")
    data = {name: given.pop(name, None) for name in ("sample_weight", "log_weight", "functions")}
    table = weighted(Table(values), data["sample_weight"], data["log_weight"])
    return chosen_from(with_functions(table, data["functions"]), given.also(gram=True), labels)


def _in_batches(x: Any, given: Options, data: Mapping[str, Any]) -> Any:
    """The rows, where they are read in batches; None where they are not."""
    if is_stream(x) or given["pool_rows"] is not None or given["max_memory"] is not None:
        return x
    # An array in single precision stays in it. Rows with weights, or functions, are chosen from all of them.
    single = as_single(x) if all(value is None for value in data.values()) else None
    if single is not None and _native.goes_in_batches(_numbered(given, len(single)), len(single)):
        return single
    return None


def _numbered(given: Options, rows: int | None) -> Options:
    """The options, with `include` and `exclude` as row numbers."""
    named = {what: as_rows(given[what], rows, what) for what in ("include", "exclude") if given[what] is not None}
    return given.also(**named)


def chosen_from(rows: Table | Batches, given: Options, labels: Sequence[Any] = ()) -> PoolResult:
    """The result of choosing from rows in memory or in batches."""
    given = _calibrated(rows, given)
    progress = given.pop("progress", None)
    count = len(rows.values) if isinstance(rows, Table) else rows.rows
    with reporting(progress, count) as listener, explained(rows, labels=labels):
        given = given.also(progress=listener)
        if isinstance(rows, Table):
            given.doubt(rows.values.shape[1])
            chosen = _native.choose(rows.values, _numbered(given, len(rows.values)).also(**rows.data()))
        else:
            rows.given = given
            chosen = _native.choose(rows, given)
    return reported(chosen, rows, given)


def _calibrated(rows: Any, given: Options) -> Options:
    """The options with the numbers of the columns and functions whose means are met."""
    wanted = given.pop("calibrate", None)
    if wanted is None:
        return given
    if given["weights"] != "calibrated":
        raise ValueError("calibrate has no effect without weights='calibrated'; leave it out")
    columns, functions = [], []
    for name in [wanted] if isinstance(wanted, (str, int)) else list(wanted):
        if not isinstance(name, str):
            columns.append(as_count(name, "a column of calibrate", 0))
        elif name in (rows.names or ()):
            columns.append(rows.names.index(name))
        elif name in (rows.function_names or ()):
            functions.append(rows.function_names.index(name))
        else:
            known = (
                ", ".join((*(rows.names or ()), *(rows.function_names or ()))) or "without names; give their numbers"
            )
            raise ValueError(f"calibrate: there is no column or function '{name}'; the columns are {known}")
    return given.also(calibrate=(columns, functions))


def _check_total(given: Options) -> None:
    """Refuses a sum of weights that has no effect, or is none."""
    total = given["total"]
    if total is None:
        return
    if given["weights"] in (None, "equal"):
        raise ValueError("total has no effect on equal weights; use weights='calibrated', 'simplex' or 'signed'")
    if not 0 < total < float("inf"):
        raise ValueError(f"total is {total}; give a positive number")


def reported(chosen: _native.Chosen, rows: Any, given: Options) -> PoolResult:
    """The result, after warnings about what makes it doubtful."""
    assert chosen.of is not None
    result = result_of(chosen, rows.names, rows.unused, objective_of(chosen.of.matched, given["functions_unit"]))
    if given["total"] is not None:
        result = replace(result, weights=result.weights * given["total"])
    tell(chosen.advice, rows.names)
    missed(chosen, len(result), given["n"], result.points.shape[1])
    return result


def _grouped(groups: Any, quotas: Any) -> tuple[Any, Sequence[Any], list[int] | None]:
    """The number of each row's group, the labels of the groups, and the quota of each."""
    if groups is None:
        if quotas is not None:
            raise ValueError("quotas have no effect without groups; give a label for each row")
        return None, (), None
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
        return numbers, known, None
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
    return numbers, known, [as_count(quota, "a quota", 0) for quota in each]
