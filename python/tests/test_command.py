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


@pytest.mark.skipif(
    not COMMAND, reason="SUPERSAMPLE does not name the command; cargo build -p supersample-cli makes it"
)
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
    for rule in ("simplex", "free"):
        summary, rows, chosen = command("herd", DRAWS, "-n", 25, "--unique", "--weights", rule, folder=tmp_path)
        best = ss.herd(frame, 25, unique=True, weights=rule)
        assert best.indices.tolist() == rows and best.mmd == pytest.approx(summary["mmd"], rel=1e-9)
        np.testing.assert_allclose(best.weights, chosen["weight"], rtol=1e-9, atol=1e-12)
    mixture = tmp_path / "m.toml"
    ss.GaussianMixture([1, 2], [[0.0, 1], [3, 3]], [np.eye(2), [[1, 0.5], [0.5, 2]]]).write(mixture)
    summary, _, points = command("sample", mixture, "-n", 20, folder=tmp_path)
    placed = ss.sample(ss.GaussianMixture.read(mixture), 20)
    np.testing.assert_allclose(placed.points, points.to_numpy(), rtol=1e-12)
    assert placed.mmd == pytest.approx(summary["mmd"], rel=1e-9)
