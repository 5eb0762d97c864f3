"""Keywords are declared once: every signature, every docstring and every refusal is made of the same table."""

import inspect
import pydoc

import numpy as np
import pandas as pd
import pytest
import supersample as ss
import supersample.arviz
import supersample.dask
from supersample import _options

X = np.random.default_rng(0).normal(size=(300, 3)) * [1, 5, 0.2]

TAKING = {
    "herd": (ss.herd, _options.Herd),
    "thin": (ss.thin, _options.Thin),
    "dask.herd": (ss.dask.herd, _options.Herd),
    "dask.thin": (ss.dask.thin, _options.Thin),
    "dask.evaluate": (ss.dask.evaluate, _options.JudgeBatches),
    "arviz.herd": (ss.arviz.herd, _options.HerdDraws),
    "arviz.thin": (ss.arviz.thin, _options.ThinDraws),
    "arviz.evaluate": (ss.arviz.evaluate, _options.JudgeFunctions),
    "stein.herd": (ss.stein.herd, _options.SteinHerd),
    "stein.thin": (ss.stein.thin, _options.SteinThin),
    "stein.ksd": (ss.stein.ksd, _options.SteinJudge),
    "stein.sample": (ss.stein.sample, _options.SteinPlace),
    "mmd": (ss.mmd, _options.Judge),
    "resample": (ss.resample, _options.Resample),
    "thin_each": (ss.thin_each, _options.ThinEach),
    "evaluate": (ss.evaluate, _options.JudgeFunctions),
    "sample": (ss.sample, _options.Place),
    "Herder": (ss.Herder, _options.HerderKeywords),
    "Stream": (ss.Stream, _options.Streamed),
    "Landmarks": (ss.Landmarks, _options.Embed),
    "SuperSampler": (ss.SuperSampler, _options.Estimate),
}


@pytest.mark.parametrize("name", TAKING)
def test_signatures_show_every_keyword_with_its_default(name):
    function, kind = TAKING[name]
    parameters = inspect.signature(function).parameters
    for keyword, default in _options.defaults(kind).items():
        assert parameters[keyword].default == default and parameters[keyword].kind is inspect.Parameter.KEYWORD_ONLY
    assert not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())


@pytest.mark.parametrize("function", [ss.herd, ss.thin, ss.stein.herd, ss.sample])
def test_help_says_something_of_every_keyword(function):
    text = inspect.getdoc(function)
    assert "**options" not in text
    said = {name for heads, _ in _options._PARAGRAPH.findall(text) for name in heads.split(", ")}
    assert not set(inspect.signature(function).parameters) - said


def test_help_of_thin_fits_two_screens_under_plain_headings():
    lines = pydoc.plain(pydoc.render_doc(ss.thin)).rstrip().splitlines()
    assert sum(max(1, -(-len(line) // 100)) for line in lines) <= 100
    headings = [line.strip(" :") for line in lines if line.endswith(":") and line.startswith("    ") and line[4] != " "]
    assert headings == ["Size", "Rows", "Objective", "Distance", "Strata and constraints", "Compute"]


def test_every_text_is_under_a_heading():
    kinds = [
        kind for kind in vars(_options).values() if hasattr(kind, "__total__") and kind.__module__.startswith("super")
    ]
    for kind in kinds:
        text = inspect.cleandoc(kind.__doc__)
        if _options._PARAGRAPH.search(text):
            assert text.partition("\n")[0].removesuffix(".") in _options._HEADINGS, kind


def test_nothing_is_declared_twice():
    mixed = [kind for kind in vars(_options).values() if isinstance(kind, type) and kind.__name__.endswith("Keywords")]
    bases = [set(kind.__annotations__) for kind in mixed if kind.__name__ != "SteinKeywords"]
    # A class that adds to another has what that has.
    for keyword in set().union(*bases):
        smallest = min((names for names in bases if keyword in names), key=len)
        assert all(smallest <= names for names in bases if keyword in names), keyword


def test_the_defaults_that_are_shown_are_those_of_the_library():
    shown = {name: value for name, value in _options.defaults(_options.Thin).items() if value is not None}
    assert ss.thin(X, 20, **shown).indices.tolist() == ss.thin(X, 20).indices.tolist()
    shown = {name: value for name, value in _options.defaults(_options.Herd).items() if value is not None}
    assert ss.herd(X, 20, **shown).indices.tolist() == ss.herd(X, 20).indices.tolist()
    shown = {name: value for name, value in _options.defaults(_options.SteinThin).items() if value is not None}
    scores = -X / X.var(axis=0)
    assert ss.stein.thin(X, scores, 20, **shown).indices.tolist() == ss.stein.thin(X, scores, 20).indices.tolist()
    nothing = dict.fromkeys(_options.defaults(_options.Thin))
    assert ss.thin(X, 20, **nothing).indices.tolist() == ss.thin(X, 20).indices.tolist()


@pytest.mark.parametrize("name", TAKING)
def test_other_names_are_refused_with_the_one_that_was_meant(name):
    function, kind = TAKING[name]
    keyword = next(iter(_options.defaults(kind)))
    with pytest.raises(TypeError, match=rf"unexpected keyword argument '{keyword}x'; did you mean '{keyword}'\?"):
        function(**{keyword + "x": 1})


def test_names_of_other_libraries_lead_to_those_here():
    for name, meant in {"random_state": "seed", "n_jobs": "threads", "verbose": "progress", "num_samples": "n"}.items():
        with pytest.raises(TypeError, match=rf"'{name}'; did you mean '{meant}'\?"):
            ss.thin(X, 5, **{name: 1})


def test_words_of_the_wrong_type_are_refused_in_the_words_there_are():
    for keyword, words in {
        "scale": "none, sd, mad, aad or pca",
        "precision": "mixed or double",
        "embedding": "auto, exact or landmarks",
        "device": "cpu or gpu",
        "functions_unit": "each or common",
    }.items():
        with pytest.raises(TypeError, match=f"{keyword} is 3; choose {words}"):
            ss.thin(X, 5, **{keyword: 3})
    for keyword in ("landmarks", "search", "seed", "threads", "pool_rows"):
        with pytest.raises(TypeError, match=f"{keyword} is True; give a whole number"):
            ss.thin(X, 5, **{keyword: True})
    for value in ("no", 2):
        with pytest.raises(TypeError, match=f"repeats is {value!r}; give True or False"):
            ss.thin(X, 5, repeats=value)


def test_herd_has_a_seed_which_says_which_landmarks():
    # More rows than are all control rows (4,472).
    x = np.random.default_rng(1).normal(size=(6000, 2))
    one, other, again = (ss.herd(x, 10, landmarks=40, seed=seed) for seed in (1, 2, 1))
    assert one.mmd_error == again.mmd_error != other.mmd_error
    assert ss.herd(X, 10, seed=5).indices.tolist() == ss.herd(X, 10).indices.tolist()


def test_a_density_is_not_matched_on_a_gpu():
    with pytest.raises(RuntimeError, match=r"no GPU: |Stein kernels are not computed on a GPU"):
        ss.stein.thin(X, -X, 5, device="gpu")


def test_a_column_of_weights_is_no_coordinate():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    weighed = frame.assign(weight=np.arange(300.0), supersample_weight=1.0)
    plain, note = ss.thin(frame, 10), "column 'weight' is not used; use it as weights with sample_weight='weight'"
    with pytest.warns(ss.SupersampleWarning, match=note):
        passed_over = ss.thin(weighed, 10)
    assert passed_over.indices.tolist() == plain.indices.tolist()
    assert passed_over.names == ("a", "b", "c") and passed_over.unused == ("weight", "supersample_weight")
    batches = [weighed.iloc[:100], weighed.iloc[100:]]
    with pytest.warns(ss.SupersampleWarning, match=note):
        assert ss.thin(iter(batches), 10).indices.tolist() == plain.indices.tolist()
    # That of a subset is its weights, whatever the rows have.
    subset = weighed.iloc[:30].drop(columns="supersample_weight")
    with pytest.warns(ss.SupersampleWarning, match=note):
        by_name = ss.mmd(weighed, subset)
    assert by_name == ss.mmd(frame, frame.iloc[:30], subset_weight=np.arange(30.0)) != ss.mmd(frame, frame.iloc[:30])


def test_errors_are_by_name_and_the_same_in_results_and_evaluations():
    result = ss.thin(X, 20, functions=X**2)
    found = ss.evaluate(X, result, functions=X**2)
    assert set(result.errors) == set(found.errors) == set(found.random_errors) == set(found.spaced_errors)
    for name, error in result.errors.items():
        if error is not None:
            assert found.errors[name] == pytest.approx(error, rel=1e-6), name
    assert all(error is not None for error in found.errors.values())
    assert (result.mmd, result.equivalent_draws, result.cdf, result.functions_error) == tuple(
        result.errors[name] for name in ("mmd", "equivalent_draws", "cdf", "functions_error")
    )
