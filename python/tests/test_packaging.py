"""What surrounds the package: the sentence for whoever has no Rust, the extras, and the picture of the first page."""

import importlib.util
import os
import re
import subprocess
import sys
import textwrap
from importlib.metadata import metadata, requires
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def backend():
    pytest.importorskip("maturin")
    spec = importlib.util.spec_from_file_location("supersample_build", ROOT / "packaging" / "supersample_build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def fake_rust(folder, says):
    if os.name == "nt":
        pytest.skip("the stand-in for rustc is a shell script")
    for name in ("rustc", "cargo"):
        program = folder / name
        program.write_text(f"#!/bin/sh\necho '{says}'\n", encoding="utf-8")
        program.chmod(0o755)
    return str(folder)


@pytest.mark.parametrize(
    ("says", "found"),
    [
        ("rustc 1.70.0 (90c541806 2023-05-31)", "but this is rustc 1.70.0 (90c541806 2023-05-31). `rustup update`"),
        ("rustc 0.99.0", "but this is rustc 0.99.0"),
        ("no toolchain", "says: no toolchain"),
        ("rustc 1.999.0 (nightly)", None),
        ("rustc 2.0.0", None),
    ],
)
def test_an_old_rust_is_told_from_a_new_one(backend, tmp_path, monkeypatch, says, found):
    monkeypatch.setenv("PATH", fake_rust(tmp_path, says) + os.pathsep + os.environ["PATH"])
    monkeypatch.delenv("RUSTC", raising=False)
    complaint = backend.complaint()
    if found is None:
        assert complaint is None
    else:
        oldest = ".".join(map(str, backend.required()))
        assert f"needs Rust {oldest} or newer" in complaint and found in complaint and "tools/install" in complaint


def test_a_missing_rust_is_an_end_before_anything_is_built(backend, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("RUSTC", raising=False)
    with pytest.raises(SystemExit) as end:
        backend.get_requires_for_build_wheel()
    assert end.value.code == 1
    assert "there is none on the PATH" in capsys.readouterr().err


def test_all_is_every_extra_but_those_for_tests():
    extras = set(metadata("supersample").get_all("Provides-Extra"))
    [everything] = [line for line in requires("supersample") if re.search(r"extra == ['\"]all['\"]", line)]
    listed = set(re.search(r"\[([^\]]*)\]", everything)[1].split(","))
    assert {name.strip() for name in listed} == extras - {"all", "test"}
    assert {"arviz", "sklearn", "pandas", "polars", "plot"} <= extras


def test_the_addresses_are_those_of_the_workspace():
    urls = dict(line.split(", ", 1) for line in metadata("supersample").get_all("Project-URL"))
    workspace = (ROOT / "Cargo.toml").read_text(encoding="utf-8")
    assert f'repository = "{urls["Repository"]}"' in workspace and f'homepage = "{urls["Homepage"]}"' in workspace


def test_the_python_of_the_first_page_runs():
    page = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    # It stands in a tab, and so further in than test_docs looks.
    [block] = re.findall(r"^    ```python\n(.*?)^    ```", page, re.MULTILINE | re.DOTALL)
    exec(textwrap.dedent(block), {"__name__": "page"})


def test_the_first_picture_can_be_made_again(tmp_path):
    script = ROOT / "docs" / "figures" / "one_picture.py"
    if not script.exists():
        pytest.skip("a source distribution has no pictures")
    out = tmp_path / "picture.svg"
    subprocess.run([sys.executable, str(script), str(out)], check=True, timeout=300)
    drawing = ElementTree.parse(out).getroot()
    circles = list(drawing.iter("{http://www.w3.org/2000/svg}circle"))
    assert len(circles) == 40
    texts = " ".join(text.text or "" for text in drawing.iter("{http://www.w3.org/2000/svg}text"))
    [at_random, chosen] = [float(value) for value in re.findall(r"MMD ([\d.]+\d)", texts)]
    assert chosen < 0.5 * at_random
