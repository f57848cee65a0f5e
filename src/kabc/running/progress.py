"""What a long run shows while it runs."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from kabc.core.words import shown

ShowLine = Callable[[str], None]  # shows one line of progress
Progress = bool | ShowLine | None  # None: where somebody looks on, on a terminal or in a notebook

_QUIET_SECONDS = 2.0
_LINE_SECONDS = 0.5  # between two lines
_SILENCE = nullcontext()
_AGAIN_SECONDS = 5.0  # until the line of a step that still goes on is shown again


class Ticker:
    """Shows progress lines, at most two a second, once a run has taken longer than two seconds."""

    def __init__(self, progress: Progress) -> None:
        self._show = progress if callable(progress) else _shown_here(progress)
        self._first = self._next = time.monotonic() + _QUIET_SECONDS
        self._shown = False
        self._lock = threading.RLock()  # a signal may come while its thread has the lock
        self._step: _Step | None = None  # that is under way
        self.doubt = ""  # what the samples speak against so far: a part of every line
        # a function of the user's own is called in the user's thread alone
        self._beat = None if self._show is None or callable(progress) else Beat(self._still_at_it)

    @classmethod
    def of(cls, progress: Progress) -> Ticker:
        """What shows progress; one that exists already is taken as it is."""
        return progress if isinstance(progress, Ticker) else cls(progress)

    def __call__(self, line: str | Callable[[], str]) -> None:
        """Show a line if it is time for one. A function makes the line once it is shown."""
        if self._show is None:
            return
        with self._lock:
            if time.monotonic() >= self._next:
                self.now((line() if callable(line) else line) + self.doubt)

    @property
    def shows(self) -> bool:
        """Whether lines are shown by now."""
        return self._show is not None and time.monotonic() >= self._first

    @property
    def forecasts(self) -> bool:
        """Whether lines should say what is left: once lines are shown at all."""
        return self.shows

    def now(self, line: str) -> None:
        """Show a line that cannot wait."""
        with self._lock:
            if self._show is not None:
                self._show(shown(line))
                self._shown = True
                self._next = time.monotonic() + _LINE_SECONDS

    def during(self, line: str | Callable[[], str]) -> AbstractContextManager[None]:
        """A step that may take long: its line is shown while it lasts, not only before and after.

        A function makes the line once it is shown.
        """
        return _SILENCE if self._show is None else self._during(line)

    @contextmanager
    def _during(self, line: str | Callable[[], str]) -> Iterator[None]:
        self._step = _Step(line, time.monotonic())
        self._still_at_it()
        if self._beat is not None:
            self._beat.start()
        try:
            yield
        finally:
            self._step = None

    def _still_at_it(self) -> None:
        """Show what takes so long, and from time to time for how long. Also called by another thread."""
        step = self._step
        if step is None or not self._lock.acquire(blocking=False):
            return
        try:
            now = time.monotonic()
            if now >= self._next and now >= step.again:
                step.again = now + _AGAIN_SECONDS
                lasts = now - step.began
                self.now(step.line + self.doubt + (f" ({lasts:.0f} s)" if lasts >= _AGAIN_SECONDS else ""))
        finally:
            self._lock.release()

    def done(self) -> None:
        """Leave no line behind on a terminal or below a cell, and no thread."""
        if self._beat is not None:
            self._beat.stop()
        if self._shown and isinstance(self._show, NotebookLine):
            self._show("")
        elif self._shown and self._show is _to_stderr and sys.stderr.isatty():
            with suppress(OSError):
                sys.stderr.write("\r\033[K")


@dataclass
class _Step:
    """What is under way, since when, and when to say so again."""

    says: str | Callable[[], str]
    began: float
    again: float = 0.0

    @property
    def line(self) -> str:
        """What is under way."""
        return self.says() if callable(self.says) else self.says


class Beat:
    """Calls a function twice a second from a thread of its own, from `start` to `stop`."""

    def __init__(self, call: Callable[[], None]) -> None:
        self._call = call
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin; nothing happens if it has begun."""
        if self._thread is None:
            self._over.clear()
            self._thread = threading.Thread(target=self._run, name="kabc progress", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """End; it can begin again."""
        self._over.set()
        if self._thread is not None:
            self._thread.join(1.0)  # it may be writing to somebody who does not read
            self._thread = None

    def _run(self) -> None:
        while not self._over.wait(_LINE_SECONDS):
            self._call()


def _shown_here(progress: bool | None) -> ShowLine | None:
    """Where lines are shown: below the cell of a notebook, or on standard error; None: nowhere."""
    if progress is False:
        return None
    watched = progress or (sys.stderr is not None and sys.stderr.isatty())
    return _in_notebook() or (_to_stderr if watched else None)


def _to_stderr(line: str) -> None:
    with suppress(OSError):  # the terminal was closed: a run goes on without it
        sys.stderr.write(f"\r\033[K{line}" if sys.stderr.isatty() else f"{line}\n")
        sys.stderr.flush()


class NotebookLine:
    """One line below the cell of a notebook. Each new text replaces the one before."""

    def __init__(self, publish: Callable[..., Any]) -> None:
        self._publish = publish  # IPython.display.display
        self._place = f"kabc-{uuid4().hex}"
        self._shown = False

    def __call__(self, line: str) -> None:
        # raw: the text as it is, without what objects say of themselves; update: False makes a new output
        empty = {} if line else {"text/html": ""}  # an empty text would take a line
        self._publish({"text/plain": line, **empty}, raw=True, display_id=self._place, update=self._shown)
        self._shown = True


def _in_notebook() -> NotebookLine | None:
    """A line below the cell, if this is the kernel of a notebook. A notebook would keep each line of standard error."""
    ipython: Any = sys.modules.get("IPython")  # a kernel has loaded it, so nothing is loaded here
    shell = None if ipython is None else ipython.get_ipython()
    if getattr(shell, "kernel", None) is None:  # IPython in a terminal has no kernel
        return None
    from IPython.display import display

    return NotebookLine(display)
