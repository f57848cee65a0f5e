"""What a long run shows while it runs, and how it is interrupted."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

ShowLine = Callable[[str], None]  # shows one line of progress

_QUIET_SECONDS = 2.0


class Ticker:
    """Shows progress lines, at most two a second, once a run has taken longer than two seconds."""

    def __init__(self, progress: bool | ShowLine) -> None:
        self._show = progress if callable(progress) else (_to_stderr if progress else None)
        self._next = time.monotonic() + _QUIET_SECONDS
        self._shown = False

    def __call__(self, line: str) -> None:
        if time.monotonic() >= self._next:
            self.now(line)

    def now(self, line: str) -> None:
        """Show a line that cannot wait."""
        if self._show is not None:
            self._show(line)
            self._shown = True
            self._next = time.monotonic() + 0.5

    def done(self) -> None:
        """Leave no line behind on a terminal."""
        if self._shown and self._show is _to_stderr and sys.stderr.isatty():
            sys.stderr.write("\r\033[K")


def _to_stderr(line: str) -> None:
    sys.stderr.write(f"\r\033[K{line}" if sys.stderr.isatty() else f"{line}\n")
    sys.stderr.flush()


@contextmanager
def uninterrupted(show: Ticker) -> Iterator[None]:
    """Ctrl-C takes effect after the block; a second one at once. So does SIGTERM, if the program handles it.

    A strategy that is interrupted while it is told a round would know a part of it only.
    """
    if threading.current_thread() is not threading.main_thread():  # signals go elsewhere
        yield
        return
    usual = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    handlers = {number: handler for number, handler in usual.items() if callable(handler)}
    caught: list[signal.Signals] = []

    def later(number: int, frame: FrameType | None) -> None:
        if caught:
            handlers[signal.Signals(number)](number, frame)
        else:
            caught.append(signal.Signals(number))
            show.now("interrupted: this round is finished first; interrupt again to leave without an answer")

    for number in handlers:
        signal.signal(number, later)
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    if caught:
        handlers[caught[0]](caught[0], None)


@contextmanager
def sigterm_interrupts() -> Iterator[None]:
    """A polite kill ends a run as Ctrl-C does: with the answer so far."""
    if threading.current_thread() is not threading.main_thread():  # only there may signals be handled
        yield
        return

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
