"""herd and thin: representative rows of an array."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex

import numpy as np

from . import _native
from ._advice import missed, spare_columns, tell
from ._batches import Batches, as_batches, as_single, is_stream
from ._functions import objective_of, refuse_without_functions
from ._inputs import as_array, as_count, as_rows, expect_same_order
from ._match import of_summary, summary_of, target_later, with_target
from ._options import Herd, Options, SteinHerd, SteinThin, Thin, defaults, read, takes
from ._progress import reporting
from ._result import PoolResult, result_of
from ._rows import all_rows
from ._tables import Roles, Table, as_table, explained, kept_number, missing_labels, note_columns, roles_of
from ._warnings import warn

if TYPE_CHECKING:
    from typing_extensions import Unpack


@takes(Herd)
def herd(x: Any = None, n: SupportsIndex | None = None, **options: Unpack[Herd]) -> PoolResult:
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
        copied to a temporary file. A path, or a list of paths of one chain each: any file that the
        command reads (CSV, CmdStan, .npy, .npz, Parquet, Arrow, NetCDF, Zarr), read into memory.
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
def thin(x: Any = None, n: SupportsIndex | Literal["auto"] | None = None, **options: Unpack[Thin]) -> PoolResult:
    """Returns the `n` distinct rows of `x` that represent all rows best, as a set.

    Herding, swaps until none helps, then a search. The first rows of the result are good sets too.

    Parameters
    ----------
    x
        One row per point: an array, a frame, a dict of arrays, a path, or batches (see `herd`).
    n
        Number of rows to keep, NOT a step as in other libraries: `thin(x, 10)` keeps 10 rows.
        `"auto"`: the fewest rows that are nearly as accurate as all draws (see `add`).
    **options

    >>> import numpy as np, supersample as ss
    >>> draws = np.random.default_rng(0).normal(size=(2000, 3))
    >>> ss.thin(draws, 50).mmd < ss.herd(draws, 50).mmd
    True
    >>> len(ss.thin(draws, "auto", chains=4)) < 400
    True
    """
    if is_density(options):
        return of_density("thin", x, n, options)
    return chosen_rows("thin", x, n, read(Thin, options))


def chosen_rows(method: str, x: Any, n: Any, given: Options, keyword: str = "sample_weight") -> PoolResult:
    """Rows chosen from an array in memory, or from a sample drawn in passes over batches. `keyword` takes weights."""
    gram, scores = given.pop("gram", None), given.pop("scores", None)
    chains = None if isinstance(given["chains"], str) else given.pop("chains", None)
    target, target_weight, summary = popped_target(given)
    if target is not None or summary is not None:
        others = {"gram": gram, "scores": scores, "chains": chains}
        _refuse_with_target("match" if summary is None else "match_summary", others, n)
    if summary is not None:
        _refuse_in_batches(x, given)
    given = asked(method, n, given)
    roles = roles_of(given)
    groups, quotas = given.pop("groups", None), given.pop("quotas", None)
    data = {name: given.pop(name, None) for name in ("sample_weight", "log_weight", "functions")}
    if gram is not None:
        for name, value in {"chains": chains, "scores": scores, roles.names_any(): roles.names_any()}.items():
            if value is not None:
                raise ValueError(f"{name} has no effect with gram: rows have no columns then; leave one out")
        given, labels = grouped(given, groups, quotas)
        table = _of_values(gram, x, given, data)
        return chosen_from(table, numbered(given, None, table).also(gram=True), labels)
    is_batches = is_stream(x) or given["pool_rows"] is not None
    if target is not None and not is_batches and given["max_memory"] is None:
        functions = data.pop("functions")
        table, other = with_target(
            x, all_rows(x, roles, groups=groups, **data), target, target_weight, functions, roles
        )
        note_columns(table, roles)
        given, labels = grouped(given, table.groups, quotas)
        return chosen_from(table, numbered(given, x, table).also(**other), labels)
    if scores is not None and is_batches:
        raise ValueError("scores cannot be used with rows in batches; give all rows in memory")
    # With scores all rows are in memory, and the limit is that of what is kept of the kernel.
    is_batches = is_batches or (given["max_memory"] is not None and scores is None)
    if scores is None and summary is None and not is_batches and roles.names_any() is None:
        x, is_batches = _in_single(x, given.also(groups=groups, quotas=quotas), roles, data)
    if is_batches:
        in_memory = {"chains": chains if roles.chains is None else roles.chains, "groups": roles.groups}
        for name, value in in_memory.items():
            if value is not None:
                raise ValueError(f"{name} needs all rows in memory, and they come in batches; leave it out")
        given, _ = grouped(given, groups, quotas)
        # The columns whose means are met are known with the first batch.
        _native.check_in_batches(numbered(given, x, None).also(calibrate=None))
        if target is not None:
            given = given.also(**target_later(target, target_weight, data["functions"], roles, lambda: batches.names))
        batches = as_batches(x, roles, **data)
        note_columns(batches.like, roles)
        return chosen_from(batches, given)
    table = all_rows(x, roles, chains=chains, groups=groups, scores=scores, **data)
    note_columns(table, roles, keyword)
    if isinstance(x, Mapping) and roles.columns is None:
        # Samplers return computed quantities with the parameters.
        spare = spare_columns(table.values)
        if spare:
            warn(
                f"distances use all {table.values.shape[1]} columns, but {spare} are linear combinations of the "
                "others; name the parameters with columns=[…]"
            )
    given, labels = grouped(given, table.groups, quotas)
    if summary is not None:
        given = given.also(match_summary=summary_of(summary, table))
    with of_summary(summary):
        return chosen_from(table, numbered(given, x, table), labels)


def popped_target(given: Options) -> tuple[Any, Any, Any]:
    """The rows that are matched, their weights, and the published numbers, taken out of the options."""
    target, weight, summary = (given.pop(name, None) for name in ("match", "match_weight", "match_summary"))
    if weight is not None and target is None:
        raise ValueError("match_weight has no effect without match; leave it out")
    if target is not None and summary is not None:
        raise ValueError("match and match_summary were both given; leave one out")
    return target, weight, summary


def _refuse_with_target(what: str, others: Mapping[str, Any], n: Any) -> None:
    """Refuses what has no meaning where something else than the rows is matched."""
    for name, value in others.items():
        if value is not None:
            raise ValueError(f"{name} cannot be used with {what}; leave one of them out")
    if n == "auto":
        raise ValueError(f"n='auto' cannot be used with {what}: the rows may be no draws of the target; give a number")


def _refuse_in_batches(x: Any, given: Options) -> None:
    if is_stream(x) or given["pool_rows"] is not None or given["max_memory"] is not None:
        raise ValueError(
            "match_summary needs the rows of x in memory; give an array or a frame, without pool_rows and max_memory"
        )


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


def asked(method: str, n: Any, given: Options) -> Options:
    """The options of a choice of `n` rows by this method."""
    refuse_without_functions(given)
    check_total(given)
    if isinstance(n, str) and n == "auto":
        return given.also(method=method, n=None, auto=True)
    return given.also(method=method, n=None if n is None else as_count(n, "n"))


def refuse_in_memory(given: Options) -> None:
    """Refuses what needs all rows in memory."""
    if given["gram"] is not None:
        raise ValueError("gram is a matrix in memory; use supersample.herd or supersample.thin")
    for name in ("chains", "include", "exclude", "calibrate"):
        if given[name] is not None:
            raise ValueError(f"{name} needs all rows in memory; leave it out")
    if given["match_summary"] is not None:
        raise ValueError("match_summary needs all rows in memory; use supersample.herd or supersample.thin")
    if given["scores"] is not None:
        raise ValueError("scores need all rows in memory; use supersample.herd or supersample.thin")


def _of_values(gram: Any, x: Any, given: Options, data: Mapping[str, Any]) -> Table:
    """The kernel values between rows, with weights and functions of these."""
    if x is not None:
        raise TypeError("x and gram were both given; gram replaces x, so leave one out")
    # A given bandwidth sets the kernel too.
    if any(given[name] is not None for name in ("max_memory", "kernel", "bandwidth")):
        raise ValueError("kernel, bandwidth and max_memory have no effect with gram; leave them out")
    values = as_table(gram, "gram").values
    if values.shape[0] != values.shape[1]:
        raise ValueError(f"gram has shape {values.shape}; give one row and one column for each row to choose from")
    return all_rows(Table(values, may_drop=False), Roles(), **data)


def _in_single(x: Any, given: Options, roles: Roles, data: Mapping[str, Any]) -> tuple[Any, bool]:
    """The rows, read once if they are in single precision, and whether they stay in it and are read in batches."""
    # Rows with weights or functions are chosen from all of them.
    single = as_single(x) if all(value is None for value in data.values()) else None
    if single is None:
        return x, False
    given, _ = grouped(given, given.pop("groups", None), given.pop("quotas", None))
    return single, _native.goes_in_batches(numbered(given, x, len(single)), len(single))


def numbered(given: Options, x: Any, rows: Table | int | None) -> Options:
    """The options, with `include` and `exclude` as numbers of the rows that were not left out."""
    count = rows.rows if isinstance(rows, Table) else rows
    numbers = {}
    for what in ("include", "exclude"):
        if given[what] is not None:
            expect_same_order(x, given[what] if as_array(given[what], what).dtype.kind == "b" else None, what)
            numbers[what] = as_rows(given[what], count, what)
            if isinstance(rows, Table) and len(rows.dropped):
                must = what if what == "include" else None
                numbers[what] = kept_number(rows.dropped, numbers[what], must)
    return given.also(**numbers)


def chosen_from(rows: Table | Batches, given: Options, labels: Sequence[Any] = ()) -> PoolResult:
    """The result of choosing from rows in memory or in batches."""
    given = calibrated(rows, given)
    progress = given.pop("progress", None)
    count = len(rows.values) if isinstance(rows, Table) else None
    with reporting(progress, count) as listener, explained(rows, labels=labels):
        given = given.also(progress=listener)
        if isinstance(rows, Table):
            given.doubt(rows.values.shape[1])
            chosen = _native.choose(rows.values, given.also(**rows.data()))
        else:
            rows.given = given
            chosen = _native.choose(rows, given)
    return reported(chosen, rows, given)


def calibrated(rows: Any, given: Options) -> Options:
    """The options with the numbers of the columns and functions whose means are met."""
    wanted = given.pop("calibrate", None)
    if wanted is None:
        return given
    if given["weights"] != "calibrated":
        raise ValueError("calibrate has no effect without weights='calibrated'; leave it out")
    columns, functions = [], []
    named = [wanted] if isinstance(wanted, (str, int)) else list(wanted)
    if not named:
        raise ValueError("calibrate is empty; name at least one column, or leave it out for all")
    for name in named:
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


def check_total(given: Options) -> None:
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
    result = result_of(chosen, rows, objective_of(chosen.of.matched, given["functions_unit"]))
    if given["total"] is not None:
        result = replace(result, weights=result.weights * given["total"])
    tell(chosen.advice, rows.names)
    missed(chosen, result, given["n"])
    return result


def grouped(given: Options, groups: Any, quotas: Any) -> tuple[Options, Sequence[Any]]:
    """The options with the number of each row's group and the quota of each group, and the labels of the groups."""
    numbers, labels, each = _grouped(groups, quotas)
    n = sum(each) if given["n"] is None and each is not None else given["n"]
    return given.also(n=n, groups=numbers, quotas=each), labels


def _grouped(groups: Any, quotas: Any) -> tuple[Any, Sequence[Any], list[int] | None]:
    """The number of each row's group, the labels of the groups, and the quota of each."""
    if groups is None:
        if quotas is not None:
            raise ValueError("quotas have no effect without groups; give a label for each row")
        return None, (), None
    given = as_array(groups, "groups")
    if given.ndim != 1:
        raise ValueError(f"groups has shape {given.shape}; give one label for each row")
    missing = missing_labels(given)
    if missing.size:
        raise ValueError(f"groups has no label in row {missing[0]}; give every row its group, or exclude the row")
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
