"""Progress of long runs: a bar (tqdm's if installed), or the user's own function."""

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
#: The last phase, reported at the end.
DONE = "done"
#: Without a bar, a run that has taken more seconds than this causes a warning.
LONG = 20.0
#: This number of rows never takes long.
_FEW = 2_000


class _Drawn(Protocol):
    def __call__(self, phase: str, done: int, total: int) -> None: ...

    def close(self) -> None: ...


class Bar:
    """Draws one line repeatedly: the phase, a bar, the fraction done, and the time so far."""

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
        bar = "#" * int(share * _WIDTH)
        line = f"{phase:<9} {share:6.1%} |{bar:<{_WIDTH}}| {done:,}/{total:,} [{_clock(passed)}]"
        sys.stderr.write("\r" + line.ljust(self.length))
        sys.stderr.flush()
        self.length = len(line)

    def close(self) -> None:
        """Leaves the line."""
        if self.length:
            sys.stderr.write("\n")
            sys.stderr.flush()


class TqdmBar:
    """A tqdm bar that restarts with each phase: text in a terminal, a widget in a notebook."""

    def __init__(self, tqdm: Any) -> None:
        self.tqdm = tqdm
        self.bar: Any = None
        self.phase = ""
        self.begun = 0.0

    def __call__(self, phase: str, done: int, total: int) -> None:
        if self.bar is None:
            # Without the time left: phases do not advance evenly.
            form = "{l_bar}{bar}| {n_fmt}/{total_fmt} [{elapsed}]"
            self.bar = self.tqdm(total=total, desc=phase, miniters=1, bar_format=form)
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


class Patience:
    """The default listener: says once, after a while, how to see the progress of a long run. It foretells nothing,
    because phases do not advance evenly."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock, self.start, self.has_warned = clock, clock(), False

    def __call__(self, phase: str, done: int, total: int) -> None:
        passed = self.clock() - self.start
        if passed > LONG and not self.has_warned:
            self.has_warned = True
            warn(f"{phase}, after {passed:.0f} s; progress=True shows a progress bar, progress=False nothing")


@contextmanager
def reporting(progress: bool | Listener | None, rows: int | None = 0) -> Iterator[Listener | None]:
    """The listener for `progress`, called with ("done", total, total) at the end. By default, with many rows or an
    unknown number, it is one that speaks up after a while."""
    if progress is None or progress is False:
        yield Patience() if progress is None and (rows is None or rows > _FEW) else None
        return
    bar = _bar() if progress is True else None
    listener = bar or progress
    if not callable(listener):
        raise TypeError(f"progress is {progress!r}; give True, False or a function of (phase, done, total)")
    last = 1

    def report(phase: str, done: int, total: int) -> None:
        nonlocal last
        last = total or last
        listener(phase, done, total)

    try:
        yield report
        listener(DONE, last, last)
    finally:
        if bar is not None:
            bar.close()
