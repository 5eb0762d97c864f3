"""The command line and the package choose the same rows."""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import supersample as ss
from required import REQUIRED

DRAWS = Path(__file__).resolve().parents[2] / "examples" / "eight_schools.csv"
COMMAND = os.environ.get("SUPERSAMPLE", "")


def command(*words, folder):
    summary, rows = folder / "summary.json", folder / "rows"
    outputs = [
        "--json",
        summary,
        *(["--indices", rows] if words[0] != "sample" else []),
        "-o",
        folder / "out.csv",
        "-q",
    ]
    subprocess.run([COMMAND, *map(str, words), *map(str, outputs)], check=True)
    indices = np.loadtxt(rows, dtype=int).tolist() if words[0] != "sample" else None
    return json.loads(summary.read_text())["result"], indices, pd.read_csv(folder / "out.csv")


needs_the_command = pytest.mark.skipif(
    not COMMAND and "command" not in REQUIRED,
    reason="SUPERSAMPLE does not name the command; cargo build -p supersample-cli makes it",
)


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """More rows than are compared in double precision, with weights of which some are none, and their logarithms."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(20_000, 2)) @ [[1, 0.4], [0, 3]], columns=["a", "b"])
    frame["y"], frame["z"] = np.exp(0.5 * frame["a"]), np.cos(frame["b"]) * frame["a"]
    frame["w"] = np.where(frame["a"].abs() < 0.5, 0.0, rng.gamma(2.0, size=len(frame)))
    # The logarithms are of any size: no double holds these weights.
    with np.errstate(divide="ignore"):
        frame["logw"] = np.log(frame["w"]) - 5000
    path = tmp_path_factory.mktemp("large") / "draws.csv"
    frame.to_csv(path, index=False)
    # Other ways of reading are off by a unit in the last place, by which values tie.
    return path, pd.read_csv(path, float_precision="round_trip")


WAYS = {
    "herd": ("herd", ["-n", 40], {"n": 40}),
    "herd, unique": ("herd", ["-n", 40, "--unique"], {"n": 40, "unique": True}),
    "herd to equivalent draws": ("herd", ["--equivalent-draws", 500], {"equivalent_draws": 500}),
    "thin": ("thin", ["-n", 25], {"n": 25}),
    "thin to an error": ("thin", ["--tol", 0.03], {"tol": 0.03}),
    "thin without a search": ("thin", ["-n", 25, "--search", 0], {"n": 25, "search": 0}),
    "thin, the joint distribution alone": (
        "thin",
        ["-n", 25, "--marginals", 0, "--moments", 0],
        {"n": 25, "marginals": 0, "moments": 0},
    ),
    "thin, with stronger moments": ("thin", ["-n", 25, "--moments", 0.8], {"n": 25, "moments": 0.8}),
    "herd, with marginals": ("herd", ["-n", 40, "--marginals", 0.7], {"n": 40, "marginals": 0.7}),
    "thin, with functions": ("thin", ["-n", 25, "--functions", "y,z"], {"n": 25, "functions": ["y", "z"]}),
    "herd, with functions that count twice": (
        "herd",
        ["-n", 40, "--functions", "z", "--functions-weight", 2],
        {"n": 40, "functions": ["z"], "functions_weight": 2},
    ),
    "herd, with functions in a common unit": (
        "herd",
        ["-n", 40, "--functions", "y,z", "--functions-unit", "common"],
        {"n": 40, "functions": ["y", "z"], "functions_unit": "common"},
    ),
    "simplex, with functions": (
        "thin",
        ["-n", 25, "--weights", "simplex", "--functions", "y"],
        {"n": 25, "weights": "simplex", "functions": "y"},
    ),
    "thin, as few as are enough": ("thin", ["-n", "auto", "--search", 0], {"n": "auto", "search": 0}),
    "simplex": ("thin", ["-n", 25, "--weights", "simplex"], {"n": 25, "weights": "simplex"}),
    "signed": ("herd", ["-n", 25, "--unique", "--weights", "signed"], {"n": 25, "unique": True, "weights": "signed"}),
}


@needs_the_command
@pytest.mark.parametrize("weighting", ["equal", "weights", "logarithms"])
@pytest.mark.parametrize("way", WAYS)
def test_the_same_in_mixed_precision(way, weighting, large, tmp_path):
    path, frame = large
    verb, words, options = WAYS[way]
    if verb == "thin" and weighting != "equal" and "search" not in options:
        # The search as long as it is by default is held against the command's where rows weigh the same.
        words, options = [*words, "--search", 20], {**options, "search": 20}
    if weighting == "weights":
        words, options = [*words, "--weight-column", "w"], {**options, "sample_weight": frame["w"]}
    elif weighting == "logarithms":
        words, options = [*words, "--log-weight-column", "logw"], {**options, "log_weight": frame["logw"]}
    summary, rows, written = command(verb, path, "--columns", "a,b", *words, folder=tmp_path)
    functions = np.atleast_1d(options.get("functions", [])).tolist()
    x = frame[["a", "b", *functions]]
    result = {"herd": ss.herd, "thin": ss.thin}[verb](x, **options)
    assert result.precision == "mixed" and result.indices.tolist() == rows
    assert result.ended == summary["ended_by"]
    assert result.mmd == pytest.approx(summary["mmd"], rel=1e-9)
    assert result.equivalent_draws == pytest.approx(summary["equivalent_draws"], rel=1e-9)
    assert result.posterior_draws == pytest.approx(summary["posterior_draws"], rel=1e-9)
    assert result.cdf == pytest.approx(summary["errors"]["cdf"], rel=1e-9)
    assert (result.functions_error is None) == (not functions)
    if functions:
        assert result.functions_error == pytest.approx(summary["errors"]["functions_error"], rel=1e-9)
    if summary["weights"] is not None:
        np.testing.assert_allclose(result.weights, summary["weights"]["values"], rtol=1e-9, atol=1e-12)
    if summary["refinement"] is not None:
        assert_same(vars(result.refinement), summary["refinement"])
    # What either has written, evaluated by both.
    subset = tmp_path / "subset.csv"
    chosen = [name for name in ("a", "b", *functions, "weight") if name in written]
    written[chosen].to_csv(subset, index=False)
    evaluation = tmp_path / "eval.json"
    evaluated = [COMMAND, "eval", path, subset, "--columns", "a,b", "--json", evaluation, "-q"]
    evaluated += ["--functions", ",".join(functions)] if functions else []
    weights = {key: options[key] for key in ("sample_weight", "log_weight") if key in options}
    if weights:
        evaluated += ["--weight-column", "w"] if weighting == "weights" else ["--log-weight-column", "logw"]
    subprocess.run(list(map(str, evaluated)), check=True)
    told, found = (
        json.loads(evaluation.read_text()),
        ss.evaluate(x, pd.read_csv(subset), functions=functions or None, **weights),
    )
    # Python divides weights by their sum, and large ones of either sign keep fewer digits.
    assert found.mmd == pytest.approx(told["result"]["mmd"], rel=1e-6 if way == "signed" else 1e-9)
    assert found.mmd == pytest.approx(result.mmd, rel=1e-3)
    assert_same(typical(found.errors), told["result"]["errors"])
    assert found.random.mean() == pytest.approx(told["random"]["mmd_mean"], rel=1e-9)
    assert_same(typical(found.random_errors), told["random"]["errors"])
    assert_same(typical(found.spaced_errors), told["spaced"]["errors"])
    assert found.spaced_errors["mmd"] == pytest.approx(told["spaced"]["mmd"], rel=1e-9)
    assert found.spaced_errors["equivalent_draws"] == pytest.approx(told["spaced"]["equivalent_draws"], rel=1e-9)
    for j, column in enumerate(told["parameters"]):
        assert found.mean_error[j] == pytest.approx(column["mean"], rel=1e-9, abs=1e-12)
        np.testing.assert_allclose(found.quantile_error[j], as_floats(column["quantiles"]), rtol=1e-9, atol=1e-12)


def typical(errors):
    """The errors that JSON has in a group of their own."""
    return {name: error for name, error in errors.items() if name not in ("mmd", "equivalent_draws", "posterior_draws")}


def assert_same(found, told):
    """The keys are those of an object in JSON, where what is not known is null."""
    assert found.keys() == told.keys()
    for name, value in found.items():
        if isinstance(value, dict):
            assert value.keys() == told[name].keys()
            for key, one in value.items():
                assert one is told[name][key] is None or one == pytest.approx(told[name][key], rel=1e-9), (name, key)
        else:
            assert value is told[name] is None or value == pytest.approx(told[name], rel=1e-9, abs=1e-12), name


def as_floats(errors):
    """Errors of columns that have none are null in JSON and NaN in Python."""
    return [np.nan if error is None else error for error in (errors or [None] * 5)]


@needs_the_command
def test_the_same_rows_and_errors(tmp_path):
    frame = pd.read_csv(DRAWS)
    summary, rows, _ = command("herd", DRAWS, "-n", 60, folder=tmp_path)
    result = ss.herd(frame, 60)
    assert result.indices.tolist() == rows
    assert result.mmd == pytest.approx(summary["mmd"], rel=1e-9) and result.equivalent_draws == pytest.approx(
        summary["equivalent_draws"], rel=1e-9
    )
    told = json.loads((tmp_path / "summary.json").read_text())["draws"]
    assert (told["chains"], told["chains_assumed"]) == (result.draws.chains, result.draws.chains_assumed) == (4, False)
    assert told["kernel_ess"] == pytest.approx(result.draws.kernel_ess, rel=1e-9)
    assert told["disagreement"] == pytest.approx(result.draws.disagreement, rel=1e-9)
    assert ss.diagnose(frame).kernel_ess == pytest.approx(told["kernel_ess"], rel=1e-6)
    summary, rows, _ = command("thin", DRAWS, "-n", "auto", "--add", 0.3, folder=tmp_path)
    enough = ss.thin(frame, "auto", add=0.3)
    assert enough.indices.tolist() == rows and enough.ended == summary["ended_by"] == "enough"
    _, rows, _ = command("thin", DRAWS, "-n", 30, "--kernel", "imq", "--scale", "pca", folder=tmp_path)
    assert ss.thin(frame, 30, kernel="imq", scale="pca").indices.tolist() == rows
    _, rows, _ = command("thin", DRAWS, "--tol", 0.03, folder=tmp_path)
    assert ss.thin(frame, tol=0.03).indices.tolist() == rows
    _, rows, _ = command("herd", DRAWS, "-n", 25, "--weight-column", "tau", "--unique", folder=tmp_path)
    weighted = ss.herd(frame.drop(columns="tau"), 25, sample_weight=frame["tau"], unique=True)
    assert weighted.indices.tolist() == rows
    # The logarithms are of any size: no double holds these weights.
    nested = tmp_path / "nested.csv"
    frame.assign(logwt=-50 * frame["tau"] - 1000).drop(columns="tau").to_csv(nested, index=False)
    _, rows, _ = command("thin", nested, "-n", 25, "--log-weight-column", "logwt", folder=tmp_path)
    table = pd.read_csv(nested)
    nested_rows = ss.thin(table.drop(columns="logwt"), 25, log_weight=table["logwt"]).indices.tolist()
    assert nested_rows == rows
    for rule in ("simplex", "signed"):
        summary, rows, chosen = command("herd", DRAWS, "-n", 25, "--unique", "--weights", rule, folder=tmp_path)
        best = ss.herd(frame, 25, unique=True, weights=rule)
        assert best.indices.tolist() == rows and best.mmd == pytest.approx(summary["mmd"], rel=1e-9)
        np.testing.assert_allclose(best.weights, chosen["weight"], rtol=1e-9, atol=1e-12)
        # Columns are matched by name, and the column of weights is read, by both.
        turned = tmp_path / "turned.csv"
        chosen[chosen.columns[::-1]].to_csv(turned, index=False)
        subprocess.run([COMMAND, "eval", DRAWS, turned, "--json", tmp_path / "eval.json", "-q"], check=True)
        evaluated = json.loads((tmp_path / "eval.json").read_text())["result"]
        assert ss.evaluate(frame, pd.read_csv(turned)).mmd == pytest.approx(evaluated["mmd"], rel=1e-9)
    mixture = tmp_path / "m.toml"
    ss.GaussianMixture([1, 2], [[0.0, 1], [3, 3]], [np.eye(2), [[1, 0.5], [0.5, 2]]]).write(mixture)
    summary, _, points = command("sample", mixture, "-n", 20, folder=tmp_path)
    placed = ss.sample(ss.GaussianMixture.read(mixture), 20)
    np.testing.assert_allclose(placed.points, points.to_numpy(), rtol=1e-12)
    assert placed.mmd == pytest.approx(summary["mmd"], rel=1e-9)
