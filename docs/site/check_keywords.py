"""Checks the built reference: every function with `@takes(Kind)` shows all keywords of that kind.

Usage: python docs/site/check_keywords.py target/site/reference/index.html
"""

import ast
import html
import re
import sys
from pathlib import Path

from declared import OPTIONS, keywords

HEADING = re.compile(r'<h\d id="(supersample[\w.]*)" class="doc doc-heading">')
#: Where public names of a module with an underscore are found.
PACKAGE = OPTIONS.parent


def functions() -> dict[str, tuple[str, bool]]:
    """By public name: the class of the keywords, and whether the docstring leaves their texts to `**options`."""
    found = {}
    for path in sorted(PACKAGE.glob("*.py")):
        module = "supersample" if path.stem.startswith("_") else f"supersample.{path.stem}"
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            inner = node.body if isinstance(node, ast.ClassDef) else [node]
            for function in inner:
                if isinstance(function, ast.FunctionDef):
                    for decorator in function.decorator_list:
                        words = ast.unparse(decorator)
                        if words.startswith("takes("):
                            text = ast.get_docstring(function) or ast.get_docstring(node) or ""
                            found[f"{module}.{node.name}"] = (words[6:-1], "\n**options\n" in text)
    return found


def sections(page: str) -> dict[str, str]:
    """The text of each entry of the reference, by name."""
    starts = [(found[1], found.start()) for found in HEADING.finditer(page)]
    ends = [start for _, start in starts[1:]] + [len(page)]
    return {name: page[start:end] for (name, start), end in zip(starts, ends, strict=True)}


def missing(page: str) -> list[str]:
    """One sentence for each keyword that is not shown."""
    shown, wrong = sections(page), []
    wanted = functions()
    if len(wanted) < 10:
        wrong.append(f"only {len(wanted)} functions with keywords were found in the source")
    for name, (kind, listed) in wanted.items():
        if name not in shown:
            wrong.append(f"{name} is not in the reference")
            continue
        signature = html.unescape(re.sub(r"<[^>]+>", "", shown[name].split('class="doc doc-contents', 1)[0]))
        for keyword in keywords(kind):
            if not re.search(rf"\b{keyword}:", signature):
                wrong.append(f"{name}: the signature does not show {keyword}")
            if listed and f"<code>{keyword}</code>" not in shown[name]:
                wrong.append(f"{name}: the table of parameters does not have {keyword}")
    return wrong


if __name__ == "__main__":
    wrong = missing(Path(sys.argv[1]).read_text(encoding="utf-8"))
    for sentence in wrong:
        print(sentence, file=sys.stderr)
    sys.exit(1 if wrong else 0)
