"""The keywords of the Python functions, read from the source of `supersample/_options.py` without importing it.

The site is built without the native module, so the decorator `takes`, which puts the keywords into signatures and
docstrings, does not run. This module reads the same declarations; `python/tests/test_docs.py` compares the two.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

OPTIONS = Path(__file__).resolve().parents[2] / "python/supersample/_options.py"
#: One name or several, and the indented text about them.
PARAGRAPH = re.compile(r"^(\w[\w, ]*)\n((?:(?: {4}.*)?(?:\n|\Z))+)", re.MULTILINE)


@dataclass(frozen=True)
class Keyword:
    """One keyword of a function, as source text."""

    name: str
    annotation: str
    default: str


@cache
def aliases() -> dict[str, ast.expr]:
    """Names of types that are a choice of words, such as `Scale`: the reader wants to see the words."""
    tree = ast.parse(OPTIONS.read_text(encoding="utf-8"))
    named = [node for node in tree.body if isinstance(node, ast.Assign) and "Literal[" in ast.unparse(node.value)]
    return {node.targets[0].id: node.value for node in named if isinstance(node.targets[0], ast.Name)}


class Spelled(ast.NodeTransformer):
    """Replaces such names by the words."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return aliases().get(node.id, node)


@cache
def classes() -> dict[str, ast.ClassDef]:
    """The classes of the module by name, in the order of declaration."""
    tree = ast.parse(OPTIONS.read_text(encoding="utf-8"))
    return {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}


def keywords(kind: str) -> dict[str, Keyword]:
    """The keywords of a class: those of its bases first, then its own."""
    found: dict[str, Keyword] = {}
    node = classes()[kind]
    for base in node.bases:
        if isinstance(base, ast.Name) and base.id in classes():
            found |= keywords(base.id)
    for line in node.body:
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name):
            found[line.target.id] = declared(line.target.id, line.annotation)
    return found


def declared(name: str, annotation: ast.expr) -> Keyword:
    """`Annotated[hint, Keyword(default, …)]` as a keyword."""
    if not (isinstance(annotation, ast.Subscript) and isinstance(annotation.slice, ast.Tuple)):
        raise SystemExit(f"_options.py: {name} is not declared as Annotated[…, Keyword(…)]")
    hint, call = annotation.slice.elts[:2]
    if not isinstance(call, ast.Call):
        raise SystemExit(f"_options.py: {name} has no Keyword(…)")
    default = call.args[0] if call.args else ast.Constant(None)
    return Keyword(name, ast.unparse(Spelled().visit(hint)), ast.unparse(default))


@cache
def paragraphs() -> list[tuple[list[str], str]]:
    """The texts of the keywords, in the order of declaration."""
    texts = [ast.get_docstring(node) or "" for node in classes().values() if node.bases]
    return [(heads.split(", "), said.rstrip()) for text in texts for heads, said in PARAGRAPH.findall(text)]


def separate(text: str) -> str:
    """A docstring whose parameters `a, b` are two entries, so that each gets its own type and default."""
    return PARAGRAPH.sub(_separate, text)


def _separate(found: re.Match[str]) -> str:
    first, *others = found[1].split(", ")
    return f"{first}\n{found[2]}" + "".join(f"{name}\n    See `{first}`.\n" for name in others)


def documented(text: str, names: dict[str, Keyword]) -> str:
    """A docstring with the texts of these keywords in place of `**options`, but for those that it has itself."""
    own = {name for heads, _ in PARAGRAPH.findall(text) for name in heads.split(", ")}
    added = []
    for heads, said in paragraphs():
        known = [name for name in heads if name in names and name not in own]
        if known:
            added.append(f"{', '.join(known)}\n{said}")
    return text.replace("**options\n", "\n".join([*added, ""]))
