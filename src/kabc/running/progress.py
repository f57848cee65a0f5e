"""What a long run shows while it runs."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from uuid import uuid4

from kabc.core.words import shown

ShowLine = Callable[[str], None]  # shows one line of progress

_QUIET_SECONDS = 2.0


class Ticker:
    """Shows progress lines, at most two a second, once a run has taken longer than two seconds."""

    def __init__(self, progress: bool | ShowLine) -> None:
        self._show = progress if callable(progress) else ((_in_notebook() or _to_stderr) if progress else None)
        self._next = time.monotonic() + _QUIET_SECONDS
        self._shown = False

    def __call__(self, line: str) -> None:
        if time.monotonic() >= self._next:
            self.now(line)

    def now(self, line: str) -> None:
        """Show a line that cannot wait."""
        if self._show is not None:
            self._show(shown(line))
            self._shown = True
            self._next = time.monotonic() + 0.5

    def done(self) -> None:
        """Leave no line behind on a terminal."""
        if self._shown and self._show is _to_stderr and sys.stderr.isatty():
            with suppress(OSError):
                sys.stderr.write("\r\033[K")


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
        self._publish({"text/plain": line}, raw=True, display_id=self._place, update=self._shown)
        self._shown = True


def _in_notebook() -> NotebookLine | None:
    """A line below the cell, if this is the kernel of a notebook. A notebook would keep each line of standard error."""
    ipython: Any = sys.modules.get("IPython")  # a kernel has loaded it, so nothing is loaded here
    shell = None if ipython is None else ipython.get_ipython()
    if getattr(shell, "kernel", None) is None:  # IPython in a terminal has no kernel
        return None
    from IPython.display import display

    return NotebookLine(display)
