"""Extension of the Python reference: functions that take keywords through `@takes(Kind)` show all of them.

In the signature they replace `**options`, in the docstring their texts do, as in `help`.
"""

import sys
from pathlib import Path
from typing import Any

import griffe

sys.path.insert(0, str(Path(__file__).parent))

from declared import documented, keywords, separate


def kind_of(function: griffe.Function) -> str | None:
    """The class named by the decorator `takes`."""
    for decorator in function.decorators:
        source = str(decorator.value)
        if source.startswith("takes(") and source.endswith(")"):
            return source.removeprefix("takes(").removesuffix(")")
    return None


class Keywords(griffe.Extension):
    """Puts the keywords into signatures and docstrings."""

    def on_function(self, *, func: griffe.Function, **_: Any) -> None:
        """After a function has been read."""
        kind = kind_of(func)
        if kind is None:
            return
        names = keywords(kind)
        module = griffe.visit("declared", filepath=Path("declared.py"), code=stub(names))
        parameters = [one for one in func.parameters if one.kind is not griffe.ParameterKind.var_keyword]
        for one in module["stub"].parameters:
            one.annotation = resolved(one.annotation, func)
            parameters.append(one)
        func.parameters = griffe.Parameters(*parameters)
        owner = func.parent if func.name == "__init__" and func.docstring is None else func
        if owner is not None and owner.docstring is not None:
            owner.docstring.value = separate(documented(owner.docstring.value, names))


def stub(names: dict[str, Any]) -> str:
    """A function with these keywords, for the parser."""
    listed = ", ".join(f"{one.name}: {one.annotation} = {one.default}" for one in names.values())
    # With the import, the words of a Literal are words and not names.
    return f"from typing import Literal\n\ndef stub(*, {listed}): ..."


def resolved(annotation: Any, func: griffe.Function) -> Any:
    """The annotation; its names are looked up where the function is."""
    if isinstance(annotation, griffe.Expr):
        for name in annotation.iterate(flat=True):
            if isinstance(name, griffe.ExprName):
                name.parent = func.parent
    return annotation
