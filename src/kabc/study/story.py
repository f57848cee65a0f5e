"""What people should know of how the samples of a study came together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from kabc.core.words import counted
from kabc.storage.contract import Note


def losses(notes: Sequence[Note]) -> list[str]:
    """What became of draws that died with their worker."""
    kinds = Counter(note.kind for note in notes)
    said = {
        "redrawn": "drawn again; values that kill a worker may be missing now",
        "encoded": "encoded as failed samples",
    }
    return [
        f"{counted(kinds[kind], 'draw')} {_were(kinds[kind])} lost with a worker and {fate}"
        for kind, fate in said.items()
        if kinds[kind]
    ]


def assumed(notes: Sequence[Note]) -> list[str]:
    """What a proof takes for granted where draws were repeated."""
    again = sum(note.kind == "redrawn" for note in notes)
    what_killed = "what killed it has nothing to do with the values that were being drawn"
    made = f"{counted(again, 'draw')} {_were(again)} made again after a worker was lost"
    return [f"{made}; the proof assumes that {what_killed}"] if again else []


def story(notes: Sequence[Note], name: str, made_by: str, here: str) -> list[str]:
    """Lines for the notes of an answer: how often it was resumed, what was lost, drawn again, or came late.

    `made_by` and `here` are versions of kabc.
    """
    kinds = Counter(note.kind for note in notes)
    lines = []
    if made_by != here:
        lines.append(f"study {name!r} was made by kabc {made_by}, and its answer by kabc {here}")
    if kinds["resumed"]:
        lines.append(f"study {name!r}: resumed {counted(kinds['resumed'], 'time')}")
    lines += losses(notes)
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
    return lines


def _were(count: int) -> str:
    return "was" if count == 1 else "were"
