"""Warnings that point to the line of the user's code that called the package."""

from __future__ import annotations

import sys
import warnings

_PACKAGE = __name__.partition(".")[0]


class SupersampleWarning(UserWarning):
    """A reason to doubt a result, for example a goal that was not reached or a bandwidth that is too small.

    >>> import supersample as ss, warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     result = ss.herd([[0.0], [1.0], [2.0]], 2, tol=1e-9)
    >>> print(caught[0].message)
    an MMD of 1e-9 was not reached with 2 points; allow more with n, or relax the goal
    """


def warn(message: str) -> None:
    """Warns at the line that called the package."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == _PACKAGE:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, SupersampleWarning, stacklevel=level)
