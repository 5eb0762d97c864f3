"""Hooks of the site: equations become MathML while it is built, so that no page needs a script to show them."""

import html
import re

from latex2mathml.converter import convert

# What pymdownx.arithmatex leaves of $…$ and $$…$$.
EQUATION = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)


def mathml(found: re.Match[str]) -> str:
    """One equation, in its line or on a line of its own."""
    display = "block" if found[2] == "[" else "inline"
    equation = convert(html.unescape(found[3]).strip(), display=display)
    return f'<{found[1]} class="equation">{equation}</{found[1]}>'


def on_page_content(written: str, **_: object) -> str:
    """Every equation of a page; one that cannot be read ends the build."""
    return EQUATION.sub(mathml, written)
