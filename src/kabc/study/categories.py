"""Which category a number of a sample stands for, written down by those who draw, so that anybody can read it later.

Arms of tables and endpoints give a category as a number, its code. Its text is known where it was drawn. It goes into a
note before the samples that have it: of a new category once, by each worker that meets it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kabc.storage.contract import Note, Storage
from kabc.study.failures import KIND as FAILURES

KIND = "categories"  # of the notes

Levels = Mapping[str, Mapping[float, str]]  # column -> code -> category


class Categories:
    """The categories that one worker has written down."""

    def __init__(self, storage: Storage, study: int) -> None:
        self._storage, self._study = storage, study
        self._known: dict[str, set[float]] = {}

    def write(self, levels: Levels) -> None:
        """Write down those that are new."""
        new: dict[str, list[tuple[float, str]]] = {}
        for column, found in levels.items():
            known = self._known.get(column, set())
            if len(found) > len(known):  # a draw in another thread may add to it meanwhile
                new[column] = [(code, text) for code, text in list(found.items()) if code not in known]
        if new:
            self._storage.add_note(self._study, KIND, {column: list(map(list, pairs)) for column, pairs in new.items()})
            for column, pairs in new.items():
                self._known.setdefault(column, set()).update(code for code, _ in pairs)


def categories_of(storage: Storage, study: int) -> dict[str, dict[float, str]]:
    """All that were written down. A store may hold anything: what does not fit is left out."""
    found: dict[str, dict[float, str]] = {}
    for note in storage.notes(study):
        for column, pairs in note.body.items() if note.kind == KIND else ():
            found.setdefault(column, {}).update(_pairs(pairs))
    return found


def _pairs(read: Any) -> dict[float, str]:
    pairs = [one for one in read if isinstance(one, list) and len(one) == 2] if isinstance(read, list) else []
    return {
        float(code): text
        for code, text in pairs
        if isinstance(code, int | float) and not isinstance(code, bool) and isinstance(text, str)
    }


def is_event(note: Note) -> bool:
    """Whether a note says that something happened, and not what a code means or what else is counted from notes."""
    return note.kind not in (KIND, FAILURES)
