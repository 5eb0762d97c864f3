"""What the documentation shows, runs; and everything public has an example."""

import inspect
import re
from pathlib import Path

import matplotlib
import pytest
import supersample as ss
import supersample.arviz
import supersample.kernels
import supersample.sklearn

matplotlib.use("Agg")

ROOT = Path(__file__).resolve().parents[2]
PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", ["docs/python.md", "README.md"])
def test_every_block_of_python_runs(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks = list(PYTHON.finditer(text))
    assert blocks, f"{page} shows no Python"
    names = {"__name__": "page"}
    for block in blocks:
        line = text[: block.start()].count("\n") + 1
        # As many blank lines as there are above it, so that a traceback names the line of the page.
        exec(compile("\n" * line + block.group(1), str(ROOT / page), "exec"), names)


def public():
    for module in (ss, supersample.arviz, supersample.kernels, supersample.sklearn):
        for name in module.__all__:
            item = getattr(module, name)
            yield f"{module.__name__}.{name}", item
            if inspect.isclass(item):
                for member, value in vars(item).items():
                    if not member.startswith("_") and (callable(value) or isinstance(value, (property, classmethod))):
                        yield f"{module.__name__}.{name}.{member}", value


@pytest.mark.parametrize(("name", "item"), list(public()), ids=lambda value: value if isinstance(value, str) else "")
def test_everything_public_is_documented_with_an_example(name, item):
    # What the native module gives carries its example in Rust's documentation.
    if name == "supersample.__version__":
        assert re.fullmatch(r"\d+\.\d+\.\d+", item)
        assert f'version = "{item}"' in (ROOT / "Cargo.toml").read_text(encoding="utf-8")
        return
    if name == "supersample.instruction_set":
        assert item() in ("avx512", "avx2", "sse4.2", "sse2", "neon", "scalar")
        return
    text = inspect.getdoc(item.__func__ if isinstance(item, classmethod) else item) or ""
    assert ">>> " in text, f"{name} has no example"


def test_the_functions_have_the_defaults_of_the_command_line():
    herd, thin = inspect.signature(ss.herd).parameters, inspect.signature(ss.thin).parameters
    for name, default in {
        "kernel": "gaussian",
        "bandwidth": "median",
        "scale": "sd",
        "weights": "equal",
        "sample_weight": None,
        "tol": None,
        "worth": None,
        "threads": None,
        "precision": "mixed",
        "progress": None,
    }.items():
        assert herd[name].default == thin[name].default == default
    assert herd["unique"].default is False and thin["repeats"].default is False
    assert thin["search"].default is None and thin["seed"].default == 0
    assert all(p.kind is p.KEYWORD_ONLY for name, p in [*herd.items(), *thin.items()] if name not in ("x", "n"))
