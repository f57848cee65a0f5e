"""What people should know of how the samples of a study came together."""

from __future__ import annotations

from collections import Counter

from kabc.core.words import counted
from kabc.storage.contract import Storage, StudyRecord


def story(storage: Storage, study: StudyRecord, made_by: str, here: str) -> tuple[str, ...]:
    """Lines for the notes of an answer: how often it was resumed, what was lost, drawn again, or came late.

    `made_by` and `here` are versions of kabc.
    """
    notes = storage.notes(study.id)
    kinds = Counter(note.kind for note in notes)
    lines = []
    if made_by != here:
        lines.append(f"study {study.name!r} was made by kabc {made_by}, and its answer by kabc {here}")
    if kinds["resumed"]:
        lines.append(f"study {study.name!r}: resumed {counted(kinds['resumed'], 'time')}")
    if kinds["redrawn"]:
        lines.append(
            f"{counted(kinds['redrawn'], 'draw')} {_were(kinds['redrawn'])} lost with a worker and drawn again; values "
            "that kill a worker may be missing now"
        )
    if kinds["encoded"]:
        lines.append(
            f"{counted(kinds['encoded'], 'draw')} {_were(kinds['encoded'])} lost with a worker and encoded as failed "
            "samples"
        )
    late = kinds["superseded"]
    if late:
        lines.append(f"{counted(late, 'draw')} came after another worker had the ticket: kept as late, not used")
    thrown = kinds["discarded"]
    if thrown:
        lines.append(f"{counted(thrown, 'draw')} {_were(thrown)} discarded by people and drawn again: kept as late")
    for note in notes:
        if note.kind == "differs":
            lines.append(
                f"round {note.body.get('round')}: the log asked for other samples than the strategy does here, by "
                "rounding on another machine; the log was followed"
            )
    return tuple(lines)


def _were(count: int) -> str:
    return "was" if count == 1 else "were"
