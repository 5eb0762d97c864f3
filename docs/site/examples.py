"""Extension of the Python reference: what follows the parameters of a docstring becomes a section of its own.

The docstrings end with remarks and examples and no headings, as doctest and `help` like them; the reference would take
them for the text of the last parameter.
"""

import re
from typing import Any

import griffe

#: A paragraph behind the parameters: their names begin small, and what is said of them is indented.
REMARK = re.compile(r"(\nParameters\n-+\n(?:.*\n)*?\n)(?=[A-Z`])")
EXAMPLE = re.compile(r"^(?=>>> )", re.MULTILINE)


def headed(text: str) -> str:
    """The text with a heading above its remarks and one above its first example."""
    text = REMARK.sub(r"\1Notes\n-----\n", text, count=1)
    return EXAMPLE.sub("Examples\n--------\n", text, count=1)


class Examples(griffe.Extension):
    """Gives every docstring the headings that the reference looks for, once."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """After an object has been read."""
        if obj.docstring is not None and "\nExamples\n---" not in f"\n{obj.docstring.value}":
            obj.docstring.value = headed(obj.docstring.value)
