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
    """Draws one line, again and again: the phase, a bar, its share, the time it took and what it will still take."""

    def __init__(self) -> None:
        self.phase = ""
        self.start = self.drawn = 0.0
        self.length = 0

    def __call__(self, phase: str, done: int, total: int) -> None:
        now = time.monotonic()
        if phase != self.phase:
            self.phase, self.start, self.drawn = phase, now, 0.0
        if now - self.drawn < _EVERY and done < total:
            return
        self.drawn = now
        share = min(done / total, 1.0) if total else 0.0
        passed = now - self.start
        left = f" < {_clock(passed * (1 - share) / share)}" if 0 < share < 1 else ""
        bar = "#" * int(share * _WIDTH)
        line = f"{phase:<9} {share:4.0%} |{bar:<{_WIDTH}}| {done:,}/{total:,} [{_clock(passed)}{left}]"
        sys.stderr.write("\r" + line.ljust(self.length))
        sys.stderr.flush()
        self.length = len(line)

    def close(self) -> None:
        """Leaves the line."""
        if self.length:
            sys.stderr.write("\n")
            sys.stderr.flush()


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes:02d}:{rest:02d}"


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
