"""Failed tries of the draws of a study, written down by those who draw, so that the counts are those of all workers.

Tries are counted where they are made. What failed in a draw goes into a note before its samples are handed in. A draw
that was made again counts once: as its latest lease says.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from kabc.core.secrets import hide_words
from kabc.core.words import shown
from kabc.storage.contract import Note, Storage, Ticket

if TYPE_CHECKING:  # a look at a study loads no arms
    from kabc.arms.tallies import Failures

KIND = "failures"  # of the notes


def write_failures(storage: Storage, study: int, drawn: Sequence[tuple[Ticket, Failures]]) -> None:
    """Write down what failed in some draws. Doing it twice is as good as once."""
    draws = [[one.round, one.arm, one.piece, one.lease, dict(failed.kinds)] for one, failed in drawn]
    last = {str(one.arm): hide_words(shown(failed.last)) for one, failed in drawn if failed.count}  # without keys
    if draws:
        storage.add_note(study, KIND, {"draws": draws, "last": last})


def failures_in(notes: Iterable[Note], before: int | None = None) -> dict[int, tuple[dict[str, int], str]]:
    """Of each arm how often it failed in which way, and its last message, in rounds before this one.

    A store may hold anything: what does not fit is left out.
    """
    latest: dict[tuple[int, int, int], tuple[int, dict[str, int]]] = {}
    last: dict[int, str] = {}
    for note in notes:
        read = note.body.get("draws") if note.kind == KIND else None
        for one in read if isinstance(read, list) else ():
            match one:
                case [int(number), int(arm), int(piece), int(lease), dict(kinds)] if before is None or number < before:
                    if lease >= latest.get((number, arm, piece), (0, {}))[0]:
                        latest[number, arm, piece] = lease, kinds
                        said = note.body.get("last")
                        last[arm] = str(said.get(str(arm), last.get(arm, ""))) if isinstance(said, dict) else ""
    found: dict[int, dict[str, int]] = {}
    for (_, arm, _), (_, kinds) in latest.items():
        counts = found.setdefault(arm, {})
        for kind, count in kinds.items():
            if isinstance(count, int) and count > 0:
                counts[kind] = counts.get(kind, 0) + count
    return {arm: (kinds, last[arm]) for arm, kinds in sorted(found.items()) if kinds}
