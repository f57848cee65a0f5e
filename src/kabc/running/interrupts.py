"""Ctrl-C, SIGTERM and SIGHUP: they end a run with the answer so far, and never take an answer away."""

from __future__ import annotations

import atexit
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, Self

from kabc.running.progress import Ticker

Handler = Callable[[int, FrameType | None], Any]

_POLITE = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


class Interrupts:
    """How one run answers to signals, from its first moment to the last.

    Until `over` is called, a signal raises KeyboardInterrupt: the run ends with what it knows. After that, the first
    one is only noted, because the answer is about to come. A second one raises.

    Parameters
    ----------
    show : Ticker
        Shows why nothing seems to happen.
    all_signals : bool
        Whether SIGTERM and SIGHUP end a run too, as a command wants it. Signals that the program handles in its own
        way, or ignores (nohup), are left as they are.
    """

    def __init__(self, show: Ticker, *, all_signals: bool = False) -> None:
        self._show, self._all = show, all_signals
        self._usual: dict[signal.Signals, Any] = {}
        self._over = self._noted = False
        self.given_up = False  # a second signal came: leave without the answer

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():  # only there may signals be handled
            for number in _POLITE:
                usual = signal.getsignal(number)
                if usual is signal.default_int_handler or (self._all and usual is signal.SIG_DFL):
                    self._usual[number] = usual
                    signal.signal(number, self._caught)
        return self

    def __exit__(self, *_: object) -> None:
        for number, usual in self._usual.items():
            signal.signal(number, usual)
        self._usual = {}

    def over(self) -> None:
        """The run has ended: from now on its answer matters more than a signal."""
        self._over = True

    def ignore(self) -> None:
        """Let no signal change the exit code of an answer any more: Python itself would restore the deadly default."""
        if self._over:
            for number in self._usual:
                signal.signal(number, signal.SIG_IGN)

    def _caught(self, number: int, frame: FrameType | None) -> None:
        if self._over and not self._noted:
            self._noted = True
            _say(self._show, "interrupted: the answer is coming; interrupt again to leave without it")
        else:
            self.given_up = self._noted
            raise KeyboardInterrupt


_offered: list[Interrupts] = []  # by a command, to the run that it starts


@contextmanager
def command_interrupts(show: Ticker, *, to_the_end: bool = False) -> Iterator[Interrupts]:
    """For a command: signals from before its run until its answer is delivered, without a gap between the two.

    `to_the_end`: until the process ends, which it does after this command. A signal on the way out must not change the
    exit code.
    """
    interrupts = Interrupts(show, all_signals=True)
    _offered.append(interrupts.__enter__())
    try:
        yield interrupts
    finally:
        _offered.clear()
        if to_the_end:
            atexit.register(interrupts.ignore)  # once threads have ended: until then a second signal may be needed
        else:
            interrupts.__exit__()


def sigterm_interrupts() -> Interrupts:
    """A polite kill raises KeyboardInterrupt, as Ctrl-C does."""
    return Interrupts(Ticker(False), all_signals=True)


@contextmanager
def run_interrupts(show: Ticker, *, all_signals: bool = False) -> Iterator[Interrupts]:
    """For a run: what its command has set up, else its own. A run within a run has its own."""
    if _offered and threading.current_thread() is threading.main_thread():
        yield _offered.pop()
    else:
        with Interrupts(show, all_signals=all_signals) as interrupts:
            yield interrupts


_ROUND_FIRST = "interrupted: this round is finished first; interrupt again to leave without an answer"
DRAW_FIRST = "interrupted: the draw under way is finished first; interrupt again to give it back"


@contextmanager
def uninterrupted(show: Ticker, line: str = _ROUND_FIRST) -> Iterator[None]:
    """Ctrl-C takes effect after the block; a second one at once. So do other signals that the program handles.

    A strategy that is interrupted while it is told a round would know a part of it only.
    """
    if threading.current_thread() is not threading.main_thread():  # signals go elsewhere
        yield
        return
    handlers = {number: usual for number in _POLITE if callable(usual := signal.getsignal(number))}
    caught: list[signal.Signals] = []

    def later(number: int, frame: FrameType | None) -> None:
        if caught:
            handlers[signal.Signals(number)](number, frame)
        else:
            caught.append(signal.Signals(number))
            _say(show, line)

    _set(dict.fromkeys(handlers, later))
    try:
        yield
    finally:
        _set(handlers)
    if caught:
        handlers[caught[0]](caught[0], None)


def _set(handlers: Mapping[signal.Signals, Handler]) -> None:
    for number, handler in handlers.items():
        signal.signal(number, handler)


def _say(show: Ticker, line: str) -> None:
    with suppress(RuntimeError, OSError):  # the signal came while a line was being written, or nobody reads any more
        show.now(line)
