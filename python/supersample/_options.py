"""Keywords of the functions that choose and judge: each is declared here once, with type, default, check and text."""

# Annotations are read when the module is imported, so that signatures and help are made of them.

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from functools import cache, wraps
from typing import Annotated, Any, Literal, NamedTuple, TypedDict, TypeVar, get_args, get_origin, get_type_hints

from numpy.typing import NDArray

from ._inputs import as_count, as_device, as_memory, as_number, as_rule, as_threads
from ._warnings import warn
from .kernels import Kernel, native_kernel

Bandwidth = float | Sequence[float] | NDArray[Any] | Literal["median"]
Embedding = Literal["auto", "exact", "landmarks"]
Precision = Literal["mixed", "double"]
Device = Literal["cpu", "gpu"]
FunctionsUnit = Literal["each", "common"]
Scale = Literal["none", "sd", "mad", "aad", "pca"]
Weights = Literal["equal", "simplex", "signed"]
Target = Literal["rows", "corrected", "density"]
SteinBase = Literal["imq", "gaussian"]
Preconditioner = float | Literal["identity", "median", "scaled-median", "covariance", "id", "med", "sclmed", "smpcov"]
#: A function of (phase, done, total).
Listener = Callable[[str, int, int], object]


def _as_given(value: Any, what: str) -> Any:
    return value


class Keyword(NamedTuple):
    """The default that a signature shows, and how what is given is read; the default in use is that of the library."""

    default: Any = None
    read: Callable[[Any, str], Any] = _as_given


def _as_truth(value: Any, what: str) -> bool:
    return bool(value)


def _at_least(least: int) -> Callable[[Any, str], int]:
    return lambda value, what: as_count(value, what, least)


class KernelKeywords(TypedDict, total=False):
    """
    kernel, bandwidth
        A name (gaussian, laplace, matern12, matern32, matern52, imq, linear, energy) with a length or the median
        distance, or a kernel such as `Gaussian(1.5)`. Lengths are in the units of the scaled points. Several lengths
        are a mean of Gaussians, not one length for each column.
    """

    kernel: Annotated[str | Kernel, Keyword("gaussian")]
    bandwidth: Annotated[Bandwidth, Keyword("median")]


class ScaleKeywords(TypedDict, total=False):
    """
    scale
        Every column to unit variance (sd), uncorrelated as well (pca), by median and median absolute deviation, which a
        few wild values do not move (mad), by mean and mean absolute deviation (aad), or as it is (none).
    """

    scale: Annotated[Scale, Keyword("sd")]


class SteinKeywords(TypedDict, total=False):
    """Documented where they are taken."""

    kernel: Annotated[SteinBase, Keyword("imq")]
    scale: Annotated[Scale, Keyword("aad")]


class PreconditionerKeywords(TypedDict, total=False):
    """Documented where they are taken."""

    preconditioner: Annotated[Preconditioner, Keyword("identity")]


class DensityKeywords(TypedDict, total=False):
    """
    log_density, regularise, second_derivatives
        Regularised Stein thinning, against two faults of the KSD: it does not see how much mass far modes have, and it
        likes points of low density where the score is zero. With the log-density of each row (up to a constant),
        regularise/T times its sum is taken from the squared KSD of T rows; by default `regularise` is 1/n. With the
        second derivatives of the log-density by each column too, rows where their sum is positive are avoided.
    """

    log_density: Annotated[Any, Keyword()]
    regularise: Annotated[float | None, Keyword(None, as_number)]
    second_derivatives: Annotated[Any, Keyword()]


class RowKeywords(TypedDict, total=False):
    """
    sample_weight, log_weight
        Weights of the rows of `x`, for samples that are weighted, or their natural logarithms, of which -inf is no
        weight. Rows without weight are never chosen. Weighted frames of anesthetic and chains of getdist have theirs.
    """

    sample_weight: Annotated[Any, Keyword()]
    log_weight: Annotated[Any, Keyword()]


class ScoreKeywords(TypedDict, total=False):
    """
    scores, target
        The scores of the rows, the gradient of the log-density that they are draws of at each row, in the shape of `x`
        (`supersample.scores` takes them from PyMC and NumPyro). With them the rows are matched to the draws as scores
        correct them (corrected), which is nearer to the density than the draws are; to the draws as they are (rows);
        or to the density alone (density), as `supersample.stein` does, for draws that are not of it.
    """

    scores: Annotated[Any, Keyword()]
    target: Annotated[Target | None, Keyword()]


class FunctionKeywords(TypedDict, total=False):
    """
    functions, functions_weight, functions_unit
        Functions of the rows whose means matter: predictions, generated quantities, costs. Numbers, one row for each
        row of `x`, or names of columns of `x`, which distances then do not use. And how much they count, by default as
        much as the joint distribution. What is not named is not matched: predictions at other inputs gain nothing.
        Errors of their means count in the standard deviations of each; `"common"` measures all in one unit, for
        functions of one kind, whose errors are compared as they are.
    """

    functions: Annotated[Any, Keyword()]


class UnitKeywords(TypedDict, total=False):
    """Documented with `functions`."""

    functions_unit: Annotated[FunctionsUnit, Keyword("each")]


class PartKeywords(TypedDict, total=False):
    """
    marginals
        How much each column's own distribution counts in addition to the joint one, so that intervals are matched too;
        0 is not at all. By default 0.1 for `thin`, and 0 for `herd`, as in the paper.
    """

    marginals: Annotated[float | None, Keyword(None, as_number)]
    functions_weight: Annotated[float | None, Keyword(None, as_number)]


class WeightKeywords(TypedDict, total=False):
    """
    weights
        Weights of the chosen rows: equal ones, or the best that are not negative and sum to one (simplex), or the
        best of either sign that sum to one (signed).
    """

    weights: Annotated[Weights, Keyword("equal", as_rule)]


class GoalKeywords(WeightKeywords, total=False):
    """
    tol, equivalent_draws
        Stop at the first MMD of at most `tol`, or when the points are as accurate as this number of independent draws
        of these rows; `thin` looks for the fewest rows that reach it.
    """

    tol: Annotated[float | None, Keyword(None, as_number)]
    equivalent_draws: Annotated[float | None, Keyword(None, as_number)]


class UniqueKeywords(TypedDict, total=False):
    """
    unique
        Choose no row twice. By default rows may repeat, as in the paper.
    """

    unique: Annotated[bool, Keyword(False, _as_truth)]


class SearchKeywords(TypedDict, total=False):
    """
    search
        Annealed sweeps that look beyond the nearest optimum. By default 3 to 400, fewer for more rows, and none among
        more than 100,000 where fewer than 10 would pay; 0 is none.
    """

    search: Annotated[int | None, Keyword(None, _at_least(0))]


class SetKeywords(SearchKeywords, total=False):
    """
    repeats
        Allow a row to be chosen more than once. By default rows are distinct.
    include, exclude
        Rows that must be among the chosen, even without weight, and rows that must not: numbers, or a mask.
    groups
        A label for each row (a chain, a class): each group gives rows in proportion to its mass.
    quotas
        How many rows each group is to give instead: one number for all, one for each label in sorted order, or a
        mapping from labels. `n` may then be left out.
    """

    repeats: Annotated[bool, Keyword(False, _as_truth)]
    include: Annotated[Any, Keyword()]
    exclude: Annotated[Any, Keyword()]
    groups: Annotated[Any, Keyword()]
    quotas: Annotated[int | Sequence[int] | Mapping[Any, int] | None, Keyword()]


class EmbeddingKeywords(TypedDict, total=False):
    """
    embedding, landmarks
        Compare all rows with each other (exact), or with landmarks, a few of them that approximate the mean embedding
        of all: time grows with the rows and not with their square, and the MMD has a standard error, `mmd_error`. By
        default (auto) exact up to 100,000 rows. How many landmarks: by default twice the rows that are herded, and
        four times those of `thin`.
    """

    embedding: Annotated[Embedding, Keyword("auto")]
    landmarks: Annotated[int | None, Keyword(None, _at_least(1))]


class BatchKeywords(TypedDict, total=False):
    """
    pool_rows, max_memory
        Go through the rows in batches and choose from this number of them, drawn at random, or from as many as fit into
        this much memory (bytes, or a text such as 500M or 2G); by default, where rows come in batches, from 200,000, or
        twenty for each that is chosen. All rows are matched and the MMD is that to all of them, with landmarks for the
        mean embedding. What can be gone through only once is copied to a temporary file. An array in float32 of more
        rows than are chosen from goes this way unasked, so that it never becomes float64 whole.
    """

    pool_rows: Annotated[int | None, Keyword(None, _at_least(1))]
    max_memory: Annotated[int | str | None, Keyword(None, as_memory)]


class PrecisionKeywords(TypedDict, total=False):
    """
    precision
        Kernel values in single precision where that is safe (mixed), or in double throughout (double).
    """

    precision: Annotated[Precision, Keyword("mixed")]


class ThreadKeywords(TypedDict, total=False):
    """
    threads
        By default RAYON_NUM_THREADS or OMP_NUM_THREADS, where they are set, or else all cores; the result does not
        depend on it.
    """

    threads: Annotated[int | None, Keyword()]


class SeedKeywords(TypedDict, total=False):
    """
    seed
        Of everything that is drawn at random: the search, landmarks, the rows that are chosen from.
    """

    seed: Annotated[int, Keyword(0, _at_least(0))]


class DeviceKeywords(TypedDict, total=False):
    """
    device
        Where long sums run: cpu, or gpu, the first NVIDIA GPU of the machine. Without one, or without its driver, a
        RuntimeError says so before anything is done.
    """

    device: Annotated[Device, Keyword("cpu", as_device)]


class ProgressKeywords(TypedDict, total=False):
    """
    progress
        True for a bar, or a function of (phase, done, total), which gets ("done", total, total) at the end.
    """

    progress: Annotated[bool | Listener | None, Keyword()]


class GramKeywords(TypedDict, total=False):
    """
    gram
        Kernel values between the rows, in place of `x`: a square, symmetric matrix of a kernel of your own, of texts,
        graphs or molecules. What needs coordinates (marginals, a scale, landmarks, batches, a GPU) is refused.
    """

    gram: Annotated[Any, Keyword()]


class RunKeywords(SeedKeywords, DeviceKeywords, ThreadKeywords, ProgressKeywords, total=False):
    """Of every function that computes long."""


class TargetKeywords(KernelKeywords, ScaleKeywords, RowKeywords, EmbeddingKeywords, PrecisionKeywords, total=False):
    """What is to be matched."""


class ObjectiveKeywords(TargetKeywords, FunctionKeywords, UnitKeywords, PartKeywords, total=False):
    """What is to be matched, and how much each part of it counts."""


class ChoiceKeywords(ObjectiveKeywords, GoalKeywords, BatchKeywords, RunKeywords, total=False):
    """Of every function that chooses rows to match rows."""


class Herd(ChoiceKeywords, ScoreKeywords, UniqueKeywords, GramKeywords, total=False):
    """Of `herd`."""


class Thin(ChoiceKeywords, ScoreKeywords, SetKeywords, GramKeywords, total=False):
    """Of `thin`."""


class HerderKeywords(ObjectiveKeywords, UniqueKeywords, SeedKeywords, DeviceKeywords, ThreadKeywords, total=False):
    """Of `Herder`."""


class Judge(TargetKeywords, RunKeywords, total=False):
    """Of `mmd`."""


class JudgeBatches(Judge, BatchKeywords, total=False):
    """Of `dask.evaluate`."""


class JudgeFunctions(Judge, FunctionKeywords, UnitKeywords, total=False):
    """Of `arviz.evaluate`."""


class JudgeScored(JudgeFunctions, ScoreKeywords, total=False):
    """Of `evaluate`."""


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


class HerdDraws(ChoiceKeywords, TargetKeyword, PreconditionerKeywords, DensityKeywords, total=False):
    """Of `arviz.herd`."""


class ThinDraws(ChoiceKeywords, TargetKeyword, SetKeywords, PreconditionerKeywords, DensityKeywords, total=False):
    """Of `arviz.thin`."""


class Estimate(
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
    """What was given, as the native module reads it: what is not there is None, the default of the library."""

    #: How many lengths were given as a bandwidth.
    lengths = 0

    def __missing__(self, key: str) -> None:
        return None

    def also(self, **more: Any) -> "Options":
        """The same with more."""
        other = Options(self, **more)
        other.lengths = self.lengths
        return other

    def doubt(self, columns: int) -> None:
        """Warns of lengths that were perhaps meant to be one for each column."""
        if self.lengths == columns > 1:
            warn(
                f"bandwidth has {columns} lengths, as many as there are columns, but it is not one for each column: "
                f"the kernel is the mean of {columns} Gaussians. For a length for each column divide the columns by "
                "them and give scale='none', bandwidth=1; where the mean is meant give "
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
    """What was given, each keyword checked in its own words; None is not given."""
    declared, given = _declared(kind), Options()
    for name, value in options.items():
        if value is not None:
            words, keyword = declared[name]
            if get_origin(words) is Literal and not isinstance(value, str) and keyword.read is _as_given:
                raise TypeError(f"{name} is {value!r}; choose {listed(get_args(words))}")
            given[name] = keyword.read(value, name)
    if "bandwidth" in declared and not given.keys().isdisjoint(("kernel", "bandwidth")):
        own = isinstance(given["kernel"], Kernel)
        given["kernel"], lengths = native_kernel(given["kernel"] or "gaussian", given.get("bandwidth", "median"))
        given["bandwidth"], given.lengths = lengths, 0 if own or lengths is None else len(lengths)
    if "threads" in declared:
        given["threads"] = as_threads(given["threads"])
    return given


def listed(words: Sequence[str]) -> str:
    """None, sd or pca."""
    return f"{', '.join(words[:-1])} or {words[-1]}"


Function = TypeVar("Function", bound=Callable[..., Any])

#: A name or several at the left, and what is said of them, further in.
_PARAGRAPH = re.compile(r"^(\w[\w, ]*)\n((?:(?: {4}.*)?(?:\n|\Z))+)", re.MULTILINE)


def takes(kind: Any) -> Callable[[Function], Function]:
    """A function with these keywords: its signature shows them all, its docstring has their texts in place of
    `**options`, and other names are refused."""

    def decorated(function: Function) -> Function:
        declared, own = _declared(kind), inspect.signature(function)
        named = [one for one in own.parameters.values() if one.kind is not one.VAR_KEYWORD]
        more = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=keyword.default, annotation=hint)
            for name, (hint, keyword) in declared.items()
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


#: What other libraries call a keyword.
_ELSEWHERE = {
    "num_samples": "n",
    "n_samples": "n",
    "size": "n",
    "random_state": "seed",
    "n_jobs": "threads",
    "weights": "subset_weight",
    "data": "x",
}


def _documented(text: str, declared: Mapping[str, Any]) -> str:
    """The docstring with the paragraphs of the keywords that it does not have itself."""
    own = {name for heads, _ in _PARAGRAPH.findall(text) for name in heads.split(", ")}
    paragraphs = []
    for heads, said in _paragraphs():
        names = [name for name in heads if name in declared and name not in own]
        if names:
            paragraphs.append(f"{', '.join(names)}\n{said}")
    return text.replace("**options\n", "\n".join([*paragraphs, ""]))


@cache
def _paragraphs() -> list[tuple[list[str], str]]:
    """What is said of the keywords, in the order of their declaration."""
    kinds = [kind for kind in globals().values() if isinstance(kind, type) and hasattr(kind, "__total__")]
    texts = (inspect.cleandoc(kind.__doc__ or "") for kind in kinds)
    return [(heads.split(", "), said.rstrip()) for text in texts for heads, said in _PARAGRAPH.findall(text)]
