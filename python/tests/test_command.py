"""The command line and the package choose the same rows."""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import supersample as ss

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
    not COMMAND, reason="SUPERSAMPLE does not name the command; cargo build -p supersample-cli makes it"
)


@needs_the_command
def test_the_same_rows_and_errors_in_mixed_precision(tmp_path):
    # More rows than are compared in double precision.
    x = np.random.default_rng(0).normal(size=(17_000, 2))
    draws = tmp_path / "draws.csv"
    pd.DataFrame(x, columns=["a", "b"]).to_csv(draws, index=False)
    for verb, choose in (("herd", ss.herd), ("thin", ss.thin)):
        summary, rows, _ = command(verb, draws, "-n", 25, folder=tmp_path)
        result = choose(x, 25)
        assert result.precision == "mixed" and result.indices.tolist() == rows
        assert result.mmd == pytest.approx(summary["mmd"], rel=1e-9)


@needs_the_command
def test_the_same_rows_and_errors(tmp_path):
    frame = pd.read_csv(DRAWS)
    summary, rows, _ = command("herd", DRAWS, "-n", 60, folder=tmp_path)
    result = ss.herd(frame, 60)
    assert result.indices.tolist() == rows
    assert result.mmd == pytest.approx(summary["mmd"], rel=1e-9) and result.worth == pytest.approx(
        summary["worth"], rel=1e-9
    )
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
    for rule in ("simplex", "free"):
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
