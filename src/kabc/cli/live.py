"""Progress on standard error while a run draws: a live panel on a terminal; elsewhere plain lines, if asked for."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from time import monotonic
from types import TracebackType
from typing import Any, Self

from kabc.cli.options import progress_of
from kabc.cli.times import clock
from kabc.core.words import counted, shown, two_digits
from kabc.running.progress import Ticker
from kabc.running.snapshots import Snapshot

_QUIET_SECONDS = 2.0  # shorter runs show no progress
_PLAIN_SECONDS = 5.0  # seconds between two plain lines
_LOOK_SECONDS = 0.5  # seconds between two looks at the evidence


class LivePanel(Ticker):
    """Shows the progress of a run. `quiet`: never, or always; None: on a terminal."""

    def __init__(self, *, quiet: bool | None) -> None:
        super().__init__(progress_of(quiet))
        self.shown = self._show is not None
        self._start = monotonic()
        self._next_look = self._start + 1
        self._next_line = self._start + _QUIET_SECONDS
        self._doing = ""
        self._last: Snapshot | None = None
        self._evidence: list[str] = []  # lines of the latest look at the evidence
        self._quiet = quiet
        self._console: Any = None  # of the panel
        self._panel: AbstractContextManager[Any] = nullcontext()
        if self.shown and sys.stderr.isatty():
            self._panel = self._live()
        self._plain = self.shown and isinstance(self._panel, nullcontext)

    def _live(self) -> AbstractContextManager[Any]:
        from rich.console import Console
        from rich.live import Live
        from rich.text import Text

        def text() -> Text:  # called by rich's own thread: only reads
            return Text(self.summary() if self._elapsed() > _QUIET_SECONDS else "")

        self._console = Console(stderr=True)
        return Live(console=self._console, get_renderable=text, refresh_per_second=4, transient=True)

    def __enter__(self) -> Self:
        self._panel.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.done()
        with suppress(OSError):  # the terminal was closed: the answer does not need it
            self._panel.__exit__(kind, error, trace)

    def __call__(self, line: str | Callable[[], str]) -> None:
        """Called within a round, with what the run does now."""
        self._doing = shown(line() if callable(line) else line)
        self._maybe_print()

    def now(self, line: str) -> None:
        """A line that stays; the panel goes on below it."""
        if self._quiet:
            return
        with suppress(OSError):
            if self._console is None:
                print(shown(line), file=sys.stderr, flush=True)
            else:
                self._console.print(shown(line), markup=False, highlight=False, emoji=False)

    @property
    def forecasts(self) -> bool:
        """The panel looks at rounds itself, in `after`."""
        return False

    def _still_at_it(self) -> None:
        if self._step is not None:
            self(self._step.line)

    def after(self, seen: Snapshot) -> None:
        """Called at the end of a round."""
        self._last, self._doing = seen, ""
        now = monotonic()
        if self.shown and now >= self._next_look:
            self._evidence = self._look(seen)
            # with many arms a look takes long; limit it to a tenth of the time
            self._next_look = monotonic() + max(_LOOK_SECONDS, 9 * (monotonic() - now))
        self._maybe_print()

    def _look(self, seen: Snapshot) -> list[str]:
        told = f"{seen.n_told_apart:,} of {counted(seen.n_pairs, 'pair')} told apart"
        if seen.n_open is not None:
            told += f", {seen.n_arms - seen.n_open:,} of {counted(seen.n_arms, 'arm')} decided"
        if seen.forecast is not None:
            return [told, self._left(seen.forecast, seen.n_samples)]
        # without a number of groups there is no end to forecast
        return [told] if seen.n_open is None else [told, "how many samples are left cannot be told yet"]

    def _elapsed(self) -> float:
        return monotonic() - self._start

    def _maybe_print(self) -> None:
        if not self._plain or not self._lock.acquire(blocking=False):
            return
        try:
            if monotonic() >= self._next_line:
                self._next_line = monotonic() + _PLAIN_SECONDS
                with suppress(OSError):
                    print(self.summary().replace("\n", "; "), file=sys.stderr, flush=True)
        finally:
            self._lock.release()

    def summary(self) -> str:
        """All known figures in a few short lines."""
        seen = self._last
        if seen is None:
            return f"{clock(self._elapsed())}: {self._doing or 'starting'}{self.doubt}"
        spend = f", spent {seen.spent:,.4g}" if seen.spent else ""
        found = f"{counted(seen.round.n_groups, 'group')} found"
        samples = counted(seen.n_samples, "sample")
        lines = [f"{clock(self._elapsed())}: round {seen.round.number}, {samples}{spend}, {found}", *self._evidence]
        return "\n".join(filter(None, [*lines, self._doing, self.doubt.removeprefix("; ")]))

    def _left(self, more: int, samples: int) -> str:
        seconds = more * self._elapsed() / samples
        left = f"about {counted(two_digits(more), 'sample')} and {clock(seconds)} left"
        return f"{left} (an estimate)"
