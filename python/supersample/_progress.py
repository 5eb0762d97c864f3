"""A bar on stderr for long runs, or the user's own function."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Listener = Callable[[str, int, int], object]

_WIDTH = 30
_EVERY = 0.1


class Bar:
    """Draws one line, again and again."""

    def __init__(self) -> None:
        self.start = time.monotonic()
        self.drawn = 0.0
        self.length = 0

    def __call__(self, phase: str, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self.drawn < _EVERY and done < total:
            return
        self.drawn = now
        # Sweeps go on until one changes nothing, so that more may be done than one of them has.
        share = min(done / total, 1.0) if total else 0.0
        bar = "#" * round(share * _WIDTH)
        line = f"{phase:<9} |{bar:<{_WIDTH}}| {share:4.0%}  {now - self.start:.1f} s"
        sys.stderr.write("\r" + line.ljust(self.length))
        sys.stderr.flush()
        self.length = len(line)

    def close(self) -> None:
        """Leaves the line."""
        if self.length:
            sys.stderr.write("\n")
            sys.stderr.flush()


@contextmanager
def reporting(progress: bool | Listener | None) -> Iterator[Listener | None]:
    """The listener that `progress` asks for."""
    if callable(progress):
        yield progress
    elif progress is True:
        bar = Bar()
        try:
            yield bar
        finally:
            bar.close()
    elif progress is None or progress is False:
        yield None
    else:
        raise TypeError(f"progress is {progress!r}; give True, False or a function of (phase, done, total)")
