"""What the documentation shows, runs; and everything public has an example."""

import importlib
import inspect
import re
import subprocess
import sys
import textwrap
import typing
from pathlib import Path

import matplotlib
import numpy as np
import pytest
import supersample as ss
import supersample.arviz
import supersample.dask
import supersample.kernels
import supersample.sklearn
import supersample.stein
from supersample import _native

matplotlib.use("Agg")

ROOT = Path(__file__).resolve().parents[2]
#: Blocks of Python, after the package that one needs beyond those that are installed for the tests.
PYTHON = re.compile(r"^(?:<!-- needs (\w+) -->\n)? *```python\n(.*?)^ *```", re.MULTILINE | re.DOTALL)


#: Every page that shows Python; the gallery has tests of its own.
PAGES = sorted(
    str(path.relative_to(ROOT))
    for path in [ROOT / "README.md", ROOT / "python/README.md", *(ROOT / "docs").rglob("*.md")]
    if path.parent.name != "gallery" and PYTHON.search(path.read_text(encoding="utf-8"))
)


def test_the_pages_with_python_are_found():
    assert len(PAGES) >= 14 and {"README.md", "python/README.md", "docs/python.md", "docs/guide/weights.md"} <= {*PAGES}


@pytest.mark.parametrize("page", PAGES)
def test_every_block_of_python_runs(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks = list(PYTHON.finditer(text))
    names = {"__name__": "page"}
    for block in blocks:
        if block.group(1) is None:
            run(page, block, names)


def run(page, block, names):
    # As many blank lines as there are above it, so that a traceback names the line of the page.
    line = block.string[: block.start(2)].count("\n")
    exec(compile("\n" * line + textwrap.dedent(block.group(2)), str(ROOT / page), "exec"), names)


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("package", ["pymc", "numpyro"])
def test_recipes_run_where_their_package_is_installed(package):
    pytest.importorskip(package, reason=f"{package} is not installed")
    for page in ("docs/stein.md", "docs/truth.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        recipes = [block for block in PYTHON.finditer(text) if block.group(1) == package]
        assert recipes, f"{page} has no recipe for {package}"
        for block in recipes:
            run(page, block, {"__name__": "page", "np": np, "ss": ss})


def public():
    modules = (ss, supersample.arviz, supersample.dask, supersample.kernels, supersample.sklearn, supersample.stein)
    for module in modules:
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
        assert item() in ("avx512", "avx2", "sse2", "neon", "portable")
        return
    text = inspect.getdoc(item.__func__ if isinstance(item, classmethod) else item) or ""
    assert ">>> " in text, f"{name} has no example"


def test_the_reference_has_every_kernel():
    page = (ROOT / "docs/reference.md").read_text(encoding="utf-8").replace("\\|", "|")
    for name, _, formula in _native.KERNELS:
        assert f"| `{supersample.kernels.BY_NAME[name].__name__}` | {name} | {formula} |" in page


def test_the_site_reads_the_keywords_that_the_functions_have(monkeypatch):
    source = ROOT / "docs/site/declared.py"
    if not source.exists():
        pytest.skip("docs/site is not here")
    monkeypatch.syspath_prepend(str(source.parent))
    declared = importlib.import_module("declared")
    for function, kind in ((ss.thin, "Thin"), (ss.herd, "Herd"), (ss.mmd, "JudgeRows"), (ss.stein.thin, "SteinThin")):
        shown = inspect.signature(function).parameters
        for name, keyword in declared.keywords(kind).items():
            assert repr(shown[name].default) == keyword.default
        own = {"x", "y", "n", "scores", "subset_weight"}
        assert set(shown) - own == set(declared.keywords(kind)) - own
    text = declared.documented("Parameters\n**options\n", declared.keywords("Thin"))
    for paragraph in text.split("\n\n")[0].splitlines():
        assert paragraph in inspect.getdoc(ss.thin) or paragraph == "Parameters"


def test_the_functions_have_the_defaults_of_the_command_line():
    herd, thin = inspect.signature(ss.herd).parameters, inspect.signature(ss.thin).parameters
    for name, default in {
        "kernel": "gaussian",
        "bandwidth": "median",
        "scale": "sd",
        "weights": "equal",
        "sample_weight": None,
        "tol": None,
        "equivalent_draws": None,
        "threads": None,
        "precision": "mixed",
        "progress": None,
    }.items():
        assert herd[name].default == thin[name].default == default
    assert herd["unique"].default is False and thin["repeats"].default is False
    assert thin["search"].default is None and thin["seed"].default == 0
    assert all(p.kind is p.KEYWORD_ONLY for name, p in [*herd.items(), *thin.items()] if name not in ("x", "n"))


def test_type_hints_can_be_resolved():
    seen = 0
    for name, item in public():
        item = getattr(item, "fget", None) or getattr(item, "__func__", item)
        if callable(item) and not name.endswith("instruction_set"):
            typing.get_type_hints(item)
            seen += 1
    assert seen > 50
    assert typing.get_type_hints(ss.thin)["return"] is ss.PoolResult
    for kind in (ss.Result, ss.PoolResult, ss.Evaluation, ss.Pick):
        assert typing.get_type_hints(kind)


TYPED = """
import numpy as np
import supersample as ss

x = np.zeros((9, 2))
first: int = int(ss.thin(x, 3).indices[0]) + int(ss.Herder(x).result().indices[0])
placed = ss.sample(ss.GaussianMixture([1], [[0.0]], [[[1.0]]]), 3)
assert placed.indices is None
narrow: ss.Gaussian = ss.Gaussian(0.5)
rough: float = ss.kernels.Laplace(1.0).bandwidth
other: type[ss.Kernel] = ss.kernels.NotYetDeclared
data, result = ss.arviz.thin({"mu": x}, 3, return_result=True)
again: dict[str, object] = dict(ss.arviz.thin({"mu": x}, 3))
ss.thin(x, 3, kernel="imq", scale="units")
ss.thin(x, 3, weights="best")
print(result.indices[:5], data)
"""


def test_a_checker_of_types_agrees(tmp_path):
    pytest.importorskip("mypy")
    program = tmp_path / "program.py"
    block = PYTHON.search((ROOT / "README.md").read_text(encoding="utf-8"))
    program.write_text(block.group(2) + TYPED, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), str(program)]
    found = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path).stdout
    lines = [line for line in found.splitlines() if ": error:" in line]
    # The two words that do not exist, and nothing else.
    assert len(lines) == 2 and all('has incompatible type "Literal' in line for line in lines), found


def test_the_module_shows_what_is_public():
    assert {"thin", "arviz", "kernels", "SuperSampler"} <= set(dir(ss))
    assert not {"Any", "TYPE_CHECKING", "annotations"} & set(dir(ss))
