"""A bar for long runs, tqdm's where it is installed, or the user's own function."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from ._options import Listener
from ._warnings import warn

_WIDTH = 30
_EVERY = 0.1
#: The last phase that is told, when all is done.
DONE = "done"
#: What will take longer than this many seconds is told of beforehand, unless there is a bar.
LONG = 20.0
#: So many rows are done before anyone could be surprised.
_FEW = 100_000
#: Seconds of a phase by which the rest of it is foreseen.
_SEEN = 0.5


class _Drawn(Protocol):
    def __call__(self, phase: str, done: int, total: int) -> None: ...

    def close(self) -> None: ...


class Bar:
    """Draws one line, again and again: the phase, a bar, its share, the time it took and what it will still take."""

    def __init__(self) -> None:
        self.phase = ""
        self.begun = self.start = time.monotonic()
        self.drawn = 0.0
        self.length = 0

    def __call__(self, phase: str, done: int, total: int) -> None:
        now = time.monotonic()
        if phase != self.phase:
            self.phase, self.start, self.drawn = phase, self.begun if phase == DONE else now, 0.0
        if now - self.drawn < _EVERY and done < total:
            return
        self.drawn = now
        share = min(done / total, 1.0) if total else 0.0
        passed = now - self.start
        left = f" < {_clock(passed * (1 - share) / share)}" if 0 < share < 1 else ""
        bar = "#" * int(share * _WIDTH)
        line = f"{phase:<9} {share:6.1%} |{bar:<{_WIDTH}}| {done:,}/{total:,} [{_clock(passed)}{left}]"
        sys.stderr.write("\r" + line.ljust(self.length))
        sys.stderr.flush()
        self.length = len(line)

    def close(self) -> None:
        """Leaves the line."""
        if self.length:
            sys.stderr.write("\n")
            sys.stderr.flush()


class TqdmBar:
    """One bar of tqdm that begins anew with each phase: text in a terminal, a widget in a notebook."""

    def __init__(self, tqdm: Any) -> None:
        self.tqdm = tqdm
        self.bar: Any = None
        self.phase = ""
        self.begun = 0.0

    def __call__(self, phase: str, done: int, total: int) -> None:
        if self.bar is None:
            self.bar = self.tqdm(total=total, desc=phase, miniters=1)
            self.begun = self.bar.start_t
        elif phase != self.phase:
            self.bar.set_description(phase, refresh=False)
            self.bar.reset(total=total)
            if phase == DONE:
                self.bar.start_t = self.begun
        self.phase = phase
        self.bar.total = total
        self.bar.update(done - self.bar.n)

    def close(self) -> None:
        """Draws the last state and leaves it."""
        if self.bar is not None:
            self.bar.refresh()
            self.bar.close()


def _bar() -> _Drawn:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return Bar()
    return TqdmBar(tqdm)


def _clock(seconds: float) -> str:
    """05:07, and 1:05:07 from an hour on."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes:02d}:{rest:02d}"


def duration(seconds: float) -> str:
    """About how long: 90 s, 12 min, 5 h."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"


class Foresight:
    """Listens where nobody else does, and warns once of a phase that will take long, from its first half second."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self.phase = ""
        self.start = 0.0
        self.is_told = False

    def __call__(self, phase: str, done: int, total: int) -> None:
        now = self.clock()
        if phase != self.phase:
            self.phase, self.start = phase, now
        passed = now - self.start
        if self.is_told or passed < _SEEN or not 0 < done < total:
            return
        left = passed * (total - done) / done
        if left > LONG:
            self.is_told = True
            warn(f"{phase} will take about {duration(left)} more; progress=True shows how far it is")


@contextmanager
def reporting(progress: bool | Listener | None, rows: int | None = 0) -> Iterator[Listener | None]:
    """The listener that `progress` asks for, which is told the end as ("done", total, total). Where nobody asks, and
    there are many rows, or nobody knows how many, one that warns of what will take long."""
    if progress is None or progress is False:
        yield Foresight() if rows is None or rows > _FEW else None
        return
    bar = _bar() if progress is True else None
    listener = bar or progress
    if not callable(listener):
        raise TypeError(f"progress is {progress!r}; give True, False or a function of (phase, done, total)")
    last = 1

    def told(phase: str, done: int, total: int) -> None:
        nonlocal last
        last = total or last
        listener(phase, done, total)

    try:
        yield told
        listener(DONE, last, last)
    finally:
        if bar is not None:
            bar.close()
