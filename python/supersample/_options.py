"""Keywords of the public functions. Each is declared here once, with its type, default, check and text.

The first line of a class that has texts is the heading under which `help` shows them (see `_HEADINGS`).
"""

# Annotations are read when the module is imported, so that signatures and help are made of them.

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from functools import cache, wraps
from typing import Annotated, Any, Literal, NamedTuple, TypedDict, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from ._inputs import as_count, as_device, as_memory, as_number, as_rule, as_seed, as_threads
from ._warnings import warn
from .kernels import Kernel, native_kernel

Bandwidth = float | Sequence[float] | NDArray[Any] | Literal["median"]
Embedding = Literal["auto", "exact", "landmarks"]
Precision = Literal["mixed", "double"]
Device = Literal["cpu", "gpu"]
FunctionsUnit = Literal["each", "common"]
Scale = Literal["none", "sd", "mad", "aad", "pca"]
Weights = Literal["equal", "simplex", "signed", "calibrated"]
Target = Literal["rows", "corrected", "density"]
Missing = Literal["refuse", "drop"]
SteinBase = Literal["imq", "gaussian"]
Preconditioner = float | Literal["identity", "median", "scaled-median", "covariance", "id", "med", "sclmed", "smpcov"]
#: A function of (phase, done, total).
Listener = Callable[[str, int, int], object]


def _as_given(value: Any, what: str) -> Any:
    return value


class Keyword(NamedTuple):
    """The default shown in signatures, and the function that checks a value. In use is the library's default."""

    default: Any = None
    read: Callable[[Any, str], Any] = _as_given


def _as_truth(value: Any, what: str) -> bool:
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    raise TypeError(f"{what} is {value!r}; give True or False")


def _at_least(least: int) -> Callable[[Any, str], int]:
    return lambda value, what: as_count(value, what, least)


class KernelKeywords(TypedDict, total=False):
    """Distance.

    kernel, bandwidth
        A kernel such as `Gaussian(1.5)`, or its name (see `supersample.kernels`; with `match`:
        matern32) and a length in units of scaled columns, or "median". Several: mean of Gaussians.
    """

    kernel: Annotated[str | Kernel, Keyword("gaussian")]
    bandwidth: Annotated[Bandwidth, Keyword("median")]


class ScaleKeywords(TypedDict, total=False):
    """Distance.

    scale
        Scaling of the columns: unit standard deviation (sd), also uncorrelated (pca), by the median
        absolute deviation (mad, robust to outliers) or mean absolute deviation (aad), or none.
    """

    scale: Annotated[Scale, Keyword("sd")]


class SteinKeywords(TypedDict, total=False):
    """Documented by the functions that take them."""

    kernel: Annotated[SteinBase, Keyword("imq")]
    scale: Annotated[Scale, Keyword("aad")]


class PreconditionerKeywords(TypedDict, total=False):
    """Documented by the functions that take them."""

    preconditioner: Annotated[Preconditioner, Keyword("identity")]


class DensityKeywords(TypedDict, total=False):
    """Stein thinning.

    log_density, regularise, second_derivatives
        Regularised Stein thinning. `log_density` is log p of each row, up to a constant. The
        squared KSD of T rows is reduced by `regularise`/T times the sum of their log densities
        (default of `regularise`: 1/n). With `second_derivatives` of log p by each column, rows
        where their sum is positive are avoided. This corrects two faults of the KSD: it does not
        see how much mass distant modes have, and it prefers points of low density where the score
        is zero.
    """

    log_density: Annotated[Any, Keyword()]
    regularise: Annotated[float | None, Keyword(None, as_number)]
    second_derivatives: Annotated[Any, Keyword()]


class RowKeywords(TypedDict, total=False):
    """Rows.

    sample_weight, log_weight
        Weights of the rows, or their logarithms, or a column's name. Weight zero is never chosen.
    """

    sample_weight: Annotated[Any, Keyword()]
    log_weight: Annotated[Any, Keyword()]


class TableKeywords(TypedDict, total=False):
    """Rows.

    columns, nan
        The columns of a table to use: names, vectors (`theta` for theta[0], …), patterns (`t*`), or
        all but `~name`. With nan="drop", rows with NaN in a used column are left out.
    """

    columns: Annotated[str | Sequence[str] | None, Keyword()]
    nan: Annotated[Missing, Keyword("refuse")]


class ScoreKeywords(TypedDict, total=False):
    """Objective.

    scores, target
        The gradient of the log-density at each row (see `supersample.scores`). The target is then
        the corrected draws (corrected), the draws (rows), or the density as in `supersample.stein`.
    """

    scores: Annotated[Any, Keyword()]
    target: Annotated[Target | None, Keyword()]


class MatchKeywords(TypedDict, total=False):
    """Objective.

    match, match_weight, match_summary
        Other rows to match, and their weights; or published numbers (a dict or a TOML file).
    """

    match: Annotated[Any, Keyword()]
    match_weight: Annotated[Any, Keyword()]
    match_summary: Annotated[Any, Keyword()]


class FunctionKeywords(TypedDict, total=False):
    """Objective.

    functions, functions_weight, functions_unit
        Functions of the rows whose means are matched (predictions, costs): numbers, one row per row
        of `x`, or names of columns, which distances then do not use. The weight is relative to the
        joint distribution (default 1). The unit is the sd of each function, or "common" for all.
    """

    functions: Annotated[Any, Keyword()]


class UnitKeywords(TypedDict, total=False):
    """Documented with `functions`."""

    functions_unit: Annotated[FunctionsUnit, Keyword("each")]


class PartKeywords(TypedDict, total=False):
    """Objective.

    marginals, moments
        Weights of the distributions of single columns, and of their means and variances, relative
        to the joint distribution. Default: 0.1 and 0.08 for `thin`; 0 for `herd`, as in the paper.
    """

    marginals: Annotated[float | None, Keyword(None, as_number)]
    moments: Annotated[float | None, Keyword(None, as_number)]
    functions_weight: Annotated[float | None, Keyword(None, as_number)]


class WeightKeywords(TypedDict, total=False):
    """Objective.

    weights, calibrate, total
        Of the chosen rows: equal; the best with sum one, non-negative (simplex) or not (signed); or
        calibrated, with exact means of the columns `calibrate` (default: all). `total`: the sum.
    """

    weights: Annotated[Weights, Keyword("equal", as_rule)]


class CalibrateKeywords(TypedDict, total=False):
    """Documented with `weights`."""

    calibrate: Annotated[str | int | Sequence[str | int] | None, Keyword()]
    total: Annotated[float | None, Keyword(None, as_number)]


class GoalKeywords(WeightKeywords, total=False):
    """Size.

    tol, equivalent_draws
        A goal, with `n` as the maximum: an MMD of at most `tol`, or the accuracy of this number of
        independent draws. `herd` stops there, `thin` looks for the smallest subset.
    """

    tol: Annotated[float | None, Keyword(None, as_number)]
    equivalent_draws: Annotated[float | None, Keyword(None, as_number)]


class AutoKeywords(TypedDict, total=False):
    """Size.

    add
        With n="auto": the part that choosing may add to each error of the draws. Default: 0.1.
    """

    add: Annotated[float | None, Keyword(None, as_number)]


class ChainKeywords(TypedDict, total=False):
    """Rows.

    chains
        Successive draws of one chain: the number of chains, their lengths, a label for each row, or
        a column. Default: the column `chain`, or one chain. It says how accurate the draws are.
    """

    chains: Annotated[Any, Keyword()]


class UniqueKeywords(TypedDict, total=False):
    """Strata and constraints.

    unique
        Choose each row at most once. By default rows may repeat, as in the paper.
    """

    unique: Annotated[bool, Keyword(False, _as_truth)]


class SearchKeywords(TypedDict, total=False):
    """Compute.

    search
        Sweeps of simulated annealing after the swaps (0 is off). Default: by size, at most 4,000.
    """

    search: Annotated[int | None, Keyword(None, _at_least(0))]


class SetKeywords(SearchKeywords, total=False):
    """Strata and constraints.

    groups, quotas
        A label for each row (chain, class), or a column. A group gets rows in proportion to its
        weight, or its quota: one number for all, one per sorted label, or a mapping (`n` optional).
    include, exclude, repeats
        Rows that must be chosen, rows that must not (numbers or a mask), whether rows may repeat.
    """

    repeats: Annotated[bool, Keyword(False, _as_truth)]
    include: Annotated[Any, Keyword()]
    exclude: Annotated[Any, Keyword()]
    groups: Annotated[Any, Keyword()]
    quotas: Annotated[int | Sequence[int] | Mapping[Any, int] | None, Keyword()]


class EmbeddingKeywords(TypedDict, total=False):
    """Compute.

    embedding, landmarks
        Compare all pairs of rows (exact), or rows with landmarks: linear time, a standard error
        `mmd_error`. auto: exact up to 100,000 rows. Landmarks: 2 a row for `herd`, 4 for `thin`.
    """

    embedding: Annotated[Embedding, Keyword("auto")]
    landmarks: Annotated[int | None, Keyword(None, _at_least(1))]


class BatchKeywords(TypedDict, total=False):
    """Compute.

    pool_rows, max_memory
        Read rows in batches and choose from a random sample of this size, or as large as fits into
        this memory (bytes, or a text such as 500M). All rows are matched, through landmarks.
        Default for any larger `x` without weights or constraints: 200,000, or 20 per chosen row.
    """

    pool_rows: Annotated[int | None, Keyword(None, _at_least(1))]
    max_memory: Annotated[int | str | None, Keyword(None, as_memory)]


class PrecisionKeywords(TypedDict, total=False):
    """Compute.

    precision
        Kernel values in single precision where that is safe (mixed), or always in double (double).
    """

    precision: Annotated[Precision, Keyword("mixed")]


class ThreadKeywords(TypedDict, total=False):
    """Compute.

    threads
        Default: RAYON_NUM_THREADS or OMP_NUM_THREADS, or all cores. Results do not depend on it.
    """

    threads: Annotated[int | None, Keyword()]


class SeedKeywords(TypedDict, total=False):
    """Compute.

    seed
        Random seed of the search, the landmarks and the sample of rows, or a NumPy generator.
    """

    seed: Annotated[int | Generator, Keyword(0, as_seed)]


class DeviceKeywords(TypedDict, total=False):
    """Compute.

    device
        cpu, or gpu: the first NVIDIA GPU, or an error at once if there is none.
    """

    device: Annotated[Device, Keyword("cpu", as_device)]


class ProgressKeywords(TypedDict, total=False):
    """Compute.

    progress
        True for a bar, or a function of (phase, done, total); the last phase is "done".
    """

    progress: Annotated[bool | Listener | None, Keyword()]


class GramKeywords(TypedDict, total=False):
    """Rows.

    gram
        A symmetric matrix of kernel values between the rows, in place of `x`, `kernel` and `scale`.
    """

    gram: Annotated[Any, Keyword()]


class RunKeywords(SeedKeywords, DeviceKeywords, ThreadKeywords, ProgressKeywords, total=False):
    """Of every function that may run for long."""


class TargetKeywords(KernelKeywords, ScaleKeywords, RowKeywords, EmbeddingKeywords, PrecisionKeywords, total=False):
    """The target."""


class ObjectiveKeywords(TargetKeywords, FunctionKeywords, UnitKeywords, PartKeywords, total=False):
    """The target, and the weight of each part of the objective."""


class ChoiceKeywords(ObjectiveKeywords, GoalKeywords, BatchKeywords, RunKeywords, total=False):
    """Of every function that chooses rows to match other rows."""


class Herd(
    ChoiceKeywords,
    TableKeywords,
    MatchKeywords,
    CalibrateKeywords,
    ScoreKeywords,
    UniqueKeywords,
    GramKeywords,
    ChainKeywords,
    total=False,
):
    """Of `herd`."""


class Thin(
    ChoiceKeywords,
    TableKeywords,
    MatchKeywords,
    CalibrateKeywords,
    ScoreKeywords,
    SetKeywords,
    GramKeywords,
    ChainKeywords,
    AutoKeywords,
    total=False,
):
    """Of `thin`."""


class ResampleKeywords(TypedDict, total=False):
    """Documented by the function that takes them."""

    log_weight: Annotated[Any, Keyword()]


class Resample(
    TableKeywords,
    KernelKeywords,
    ScaleKeywords,
    ResampleKeywords,
    FunctionKeywords,
    UnitKeywords,
    PartKeywords,
    SearchKeywords,
    PrecisionKeywords,
    RunKeywords,
    total=False,
):
    """Of `resample`."""


class Streamed(
    KernelKeywords,
    ScaleKeywords,
    SearchKeywords,
    BatchKeywords,
    PrecisionKeywords,
    SeedKeywords,
    DeviceKeywords,
    ThreadKeywords,
    total=False,
):
    """Of `Stream`."""

    columns: Annotated[str | Sequence[str] | None, Keyword()]
    marginals: Annotated[float | None, Keyword(None, as_number)]
    moments: Annotated[float | None, Keyword(None, as_number)]
    landmarks: Annotated[int | None, Keyword(None, _at_least(1))]


class ThinEach(
    ObjectiveKeywords, TableKeywords, WeightKeywords, CalibrateKeywords, SearchKeywords, RunKeywords, total=False
):
    """Of `thin_each`."""


class HerderKeywords(
    ObjectiveKeywords, TableKeywords, UniqueKeywords, SeedKeywords, DeviceKeywords, ThreadKeywords, total=False
):
    """Of `Herder`."""


class Judge(TargetKeywords, RunKeywords, total=False):
    """Of every function that measures a subset."""


class JudgeRows(Judge, TableKeywords, total=False):
    """Of `mmd`."""


class JudgeBatches(JudgeRows, BatchKeywords, total=False):
    """Of `dask.evaluate`."""


class JudgeFunctions(Judge, FunctionKeywords, UnitKeywords, ChainKeywords, total=False):
    """Of `arviz.evaluate`."""


class JudgeScored(JudgeFunctions, TableKeywords, ScoreKeywords, total=False):
    """Of `evaluate`."""


class Diagnose(
    KernelKeywords,
    ScaleKeywords,
    RowKeywords,
    PrecisionKeywords,
    ChainKeywords,
    ThreadKeywords,
    ProgressKeywords,
    total=False,
):
    """Of `arviz.diagnose`."""


class DiagnoseRows(Diagnose, TableKeywords, total=False):
    """Of `diagnose`."""


class SteinHerd(
    SteinKeywords, PreconditionerKeywords, DensityKeywords, GoalKeywords, UniqueKeywords, RunKeywords, total=False
):
    """Of `stein.herd`."""


class SteinThin(
    SteinKeywords, PreconditionerKeywords, DensityKeywords, GoalKeywords, SetKeywords, RunKeywords, total=False
):
    """Of `stein.thin`."""


class SteinJudge(SteinKeywords, PreconditionerKeywords, ThreadKeywords, total=False):
    """Of `stein.ksd`."""


class SteinPlace(SteinKeywords, PreconditionerKeywords, GoalKeywords, ThreadKeywords, ProgressKeywords, total=False):
    """Of `stein.sample`."""


class Place(KernelKeywords, GoalKeywords, SeedKeywords, ThreadKeywords, ProgressKeywords, total=False):
    """Of `sample`."""


class Embed(KernelKeywords, PrecisionKeywords, SeedKeywords, ThreadKeywords, total=False):
    """Of `Landmarks`."""


class TargetKeyword(TypedDict, total=False):
    """Documented with `scores`."""

    target: Annotated[Target | None, Keyword()]


class HerdDraws(ChoiceKeywords, ChainKeywords, TargetKeyword, PreconditionerKeywords, DensityKeywords, total=False):
    """Of `arviz.herd`."""


class ThinDraws(
    ChoiceKeywords,
    ChainKeywords,
    AutoKeywords,
    TargetKeyword,
    SetKeywords,
    PreconditionerKeywords,
    DensityKeywords,
    total=False,
):
    """Of `arviz.thin`."""


class Estimate(
    TableKeywords,
    KernelKeywords,
    ScaleKeywords,
    WeightKeywords,
    UnitKeywords,
    PartKeywords,
    TargetKeyword,
    SearchKeywords,
    PrecisionKeywords,
    DeviceKeywords,
    total=False,
):
    """Of `SuperSampler`."""


class Options(dict[str, Any]):
    """The given options, as the native module reads them. A missing one is None: the library's default."""

    #: The number of lengths given as a bandwidth.
    lengths = 0

    def __missing__(self, key: str) -> None:
        return None

    def also(self, **more: Any) -> "Options":
        """A copy with more options."""
        other = Options(self, **more)
        other.lengths = self.lengths
        return other

    def doubt(self, columns: int) -> None:
        """Warns if the lengths were perhaps meant to be one per column."""
        if self.lengths == columns > 1:
            warn(
                f"bandwidth has {columns} lengths and there are {columns} columns, but a length does not belong to a "
                f"column: the kernel is the mean of {columns} Gaussians. For one length per column, divide each column "
                "by its length and use scale='none', bandwidth=1. If the mean is intended, use "
                f"kernel=Gaussian({self['bandwidth']})"
            )


@cache
def _declared(kind: Any) -> dict[str, tuple[Any, Keyword]]:
    """The type and the keyword of each name."""
    hints = get_type_hints(kind, include_extras=True)
    return {name: (get_args(hint)[0], hint.__metadata__[0]) for name, hint in hints.items()}


def defaults(kind: Any) -> dict[str, Any]:
    """The default that a signature shows for each keyword."""
    return {name: keyword.default for name, (_, keyword) in _declared(kind).items()}


def read(kind: Any, options: Mapping[str, Any]) -> Options:
    """The given options, each checked by its keyword; None counts as not given."""
    declared, given = _declared(kind), Options()
    for name, value in options.items():
        if value is not None:
            words, keyword = declared[name]
            if len(get_args(words)) == 2 and type(None) in get_args(words):
                words = next(one for one in get_args(words) if one is not type(None))
            if get_origin(words) is Literal and not isinstance(value, str) and keyword.read is _as_given:
                raise TypeError(f"{name} is {value!r}; choose {listed(get_args(words))}")
            given[name] = keyword.read(value, name)
    if "bandwidth" in declared and not given.keys().isdisjoint(("kernel", "bandwidth")):
        own, named = isinstance(given["kernel"], Kernel), given["kernel"] is not None
        name, lengths = native_kernel(given["kernel"] or "gaussian", given.get("bandwidth", "median"))
        # Without a name it is the library's default.
        given["kernel"] = name if named else None
        given["bandwidth"], given.lengths = lengths, 0 if own or lengths is None else len(lengths)
    if "threads" in declared:
        given["threads"] = as_threads(given["threads"])
    return given


def listed(words: Sequence[str]) -> str:
    """None, sd or pca."""
    return f"{', '.join(words[:-1])} or {words[-1]}"


Function = TypeVar("Function", bound=Callable[..., Any])

#: One or several names at the left margin, and the indented text about them.
_PARAGRAPH = re.compile(r"^(\w[\w, ]*)\n((?:(?: {4}.*)?(?:\n|\Z))+)", re.MULTILINE)


def takes(kind: Any) -> Callable[[Function], Function]:
    """Gives a function these keywords: the signature lists them, their texts replace `**options` in the docstring, and
    other names are refused."""

    def decorated(function: Function) -> Function:
        declared, own = _declared(kind), inspect.signature(function)
        named = [one for one in own.parameters.values() if one.kind is not one.VAR_KEYWORD]
        more = [
            # Without its type, which would fill the first screen of `help`; `__annotations__` has it.
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=keyword.default)
            for name, (_, keyword) in declared.items()
        ]
        known = {one.name for one in [*named, *more]}

        @wraps(function)
        def checked(*given: Any, **options: Any) -> Any:
            for name in options:
                if name not in known:
                    close = get_close_matches(_ELSEWHERE.get(name, name), known, 1)
                    hint = f"; did you mean '{close[0]}'?" if close else ""
                    raise TypeError(f"{function.__name__}() got an unexpected keyword argument '{name}'{hint}")
            return function(*given, **options)

        checked.__signature__ = own.replace(parameters=[*named, *more])  # type: ignore[attr-defined]
        hints = {name: hint for name, hint in function.__annotations__.items() if name != "options"}
        checked.__annotations__ = hints | {name: hint for name, (hint, _) in declared.items()}
        checked.__doc__ = _documented(inspect.cleandoc(function.__doc__ or ""), declared)
        return checked  # type: ignore[return-value]

    return decorated


#: Names of keywords in other libraries.
_ELSEWHERE = {
    "num_samples": "n",
    "n_samples": "n",
    "size": "n",
    "random_state": "seed",
    "n_jobs": "threads",
    "verbose": "progress",
    "weights": "subset_weight",
    "data": "x",
}


#: The headings of the texts, in the order in which `help` shows them.
_HEADINGS = ("Size", "Rows", "Objective", "Distance", "Strata and constraints", "Stein thinning", "Compute")


def _documented(text: str, declared: Mapping[str, Any]) -> str:
    """The docstring with the texts of the keywords that it does not describe itself, by heading."""
    own = {name for heads, _ in _PARAGRAPH.findall(text) for name in heads.split(", ")}
    sections = []
    for heading in _HEADINGS:
        paragraphs = []
        for heads, said in _paragraphs(heading):
            names = [name for name in heads if name in declared and name not in own]
            if names:
                paragraphs.append(f"{', '.join(names)}\n{said}")
        if paragraphs:
            sections.append("\n".join([f"\n{heading}:", *paragraphs]))
    return text.replace("**options\n", "\n".join([*sections, ""]))


@cache
def _paragraphs(heading: str) -> list[tuple[list[str], str]]:
    """The texts about keywords under this heading, in the order of their declaration."""
    kinds = [kind for kind in globals().values() if isinstance(kind, type) and hasattr(kind, "__total__")]
    texts = [inspect.cleandoc(kind.__doc__ or "") for kind in kinds]
    texts = [text for text in texts if text.partition("\n")[0] == f"{heading}."]
    return [(heads.split(", "), said.rstrip()) for text in texts for heads, said in _PARAGRAPH.findall(text)]
