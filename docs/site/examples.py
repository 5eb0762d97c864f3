"""Extension of the Python reference: the examples of a docstring become a section of their own.

The docstrings end with their examples and no heading, as doctest and `help` like them; the reference would take them
for the text of the last parameter.
"""

from typing import Any

import griffe


def headed(text: str) -> str:
    """The text with a heading above its first example, at the depth of that example."""
    before, prompt, after = text.partition(">>> ")
    if not prompt:
        return text
    indent = before[before.rfind("\n") + 1 :]
    return f"{before.removesuffix(indent)}{indent}Examples\n{indent}--------\n{indent}{prompt}{after}"


class Examples(griffe.Extension):
    """Gives every docstring that shows an example the heading that the reference looks for."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """After an object has been read; older objects have been given theirs before."""
        if obj.docstring is not None and "\n--------\n>>> " not in obj.docstring.value:
            obj.docstring.value = headed(obj.docstring.value)
