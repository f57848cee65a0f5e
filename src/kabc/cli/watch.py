"""`kabc study watch`: a study while it goes on. A live panel on a terminal, lines elsewhere."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext, suppress
from time import monotonic, sleep
from typing import Any

from kabc.cli.status import Status
from kabc.core.words import shown, two_digits
from kabc.storage.contract import Note, Storage, StudyRecord
from kabc.study.categories import is_event

_LOOK_SECONDS = 1.0  # between two looks, also if nothing changes: leases lapse by themselves
_PACE_SECONDS = 5.0  # of watching until a pace is told
_NOTES = 3  # of one kind that are told one by one
_LINE_SECONDS = 2.0  # between two lines of progress


class Watching:
    """Looks at a study until it ends."""

    def __init__(self, storage: Storage, study: StudyRecord, *, as_json: bool) -> None:
        self._storage = storage
        self._to = sys.stderr if as_json else sys.stdout  # with --json, standard output has one document
        self._first = self.seen = Status.of(storage, study)
        self._told_notes = self.seen.notes[-1].id if self.seen.notes else 0
        self._told_line, self._next_line = "", 0.0

    def to_the_end(self) -> Status:
        """Show the study until it ends, or until Ctrl-C. Returns the last look."""
        on_terminal = self._to.isatty()
        panel = self._live() if on_terminal else nullcontext()
        with suppress(KeyboardInterrupt), panel:
            if not on_terminal:
                self._print(self.seen.lines())
            while self.seen.study.state != "ended":
                self._look()
                if not on_terminal:
                    self._tell()
        if on_terminal:
            self._print(self.seen.lines())
        return self.seen

    def _look(self) -> None:
        study = self.seen.study
        began = monotonic()
        self._storage.wait(study.id, study.revision, _LOOK_SECONDS)
        # a study that changes a thousand times a second is looked at a few times a second
        self._rest(_LOOK_SECONDS / 4 - (monotonic() - began))
        self.seen = Status.of(self._storage, study, self.seen)

    def pace(self) -> str:
        """Samples a minute since watching began, once that can be told."""
        seconds, samples = self.seen.now - self._first.now, self.seen.summary.n_samples - self._first.summary.n_samples
        if seconds < _PACE_SECONDS or not samples:
            return ""
        return f"{two_digits(round(60 * samples / seconds)):,} samples a minute "

    def _rest(self, seconds: float) -> None:
        if seconds > 0:
            sleep(seconds)

    def _live(self) -> AbstractContextManager[Any]:
        from rich.console import Console
        from rich.live import Live
        from rich.text import Text

        def text() -> Text:  # called by rich's own thread: only reads
            return Text("\n".join([*self.seen.lines(), f"{self.pace()}(Ctrl-C ends watching, not the study)"]))

        console = Console(file=self._to)
        return Live(console=console, get_renderable=text, refresh_per_second=4, transient=True)

    def _tell(self) -> None:
        """A line for what is new: each note, the state, and how far it is."""
        fresh = [one for one in self.seen.notes if one.id > self._told_notes and is_event(one)]
        for kind in dict.fromkeys(note.kind for note in fresh):
            self._print([f"note: {line}" for line in self._notes([note for note in fresh if note.kind == kind])])
        self._told_notes = fresh[-1].id if fresh else self._told_notes
        line = f"{self.seen.how}: {self.seen.progress()}; {self.seen.worker_lines()[0]}"
        ended = self.seen.study.state == "ended"
        if line != self._told_line and (ended or monotonic() >= self._next_line):
            self._told_line, self._next_line = line, monotonic() + _LINE_SECONDS
            self._print([line])

    def _notes(self, alike: list[Note]) -> list[str]:
        """Notes of one kind. With a worker a dozen draws may be lost at once."""
        if len(alike) <= _NOTES:
            return [self.seen.note_line(note) for note in alike]
        kind, _, last = self.seen.note_line(alike[-1]).partition(": ")
        return [f"{kind}: {len(alike):,} times, the last one of {last}"]

    def _print(self, lines: list[str]) -> None:
        for line in lines:
            print(shown(line), file=self._to, flush=True)
