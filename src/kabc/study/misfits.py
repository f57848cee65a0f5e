"""Draws that no strategy can be told, in stores of earlier versions: these took in whatever was handed in.

They are in the latest round: the strategy refused it, so no later one was opened. Until they are discarded, an answer
is made without them, and says so.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

from kabc.core.errors import SampleError
from kabc.storage.checks import First, fault_of, first_of
from kabc.storage.contract import Draw, Storage, StudyRecord, Ticket


@dataclass(frozen=True)
class Misfit:
    """One such draw: its ticket, the name of its arm, what is wrong, and the command that helps."""

    ticket: Ticket
    arm: Hashable
    why: str
    cure: str

    @property
    def line(self) -> str:
        """For an answer without it."""
        return f"ticket {self.ticket.id} of arm {self.arm!r} is left out: {self.why}; {self.cure} opens it again"

    def error(self) -> SampleError:
        """For those who cannot go on."""
        said = f"ticket {self.ticket.id} cannot be used: {self.why}; {self.cure} opens it again"
        return SampleError(said).of_arm(self.arm)


def misfits(storage: Storage, study: StudyRecord, names: Sequence[Hashable]) -> list[Misfit]:
    """Those of the latest round, as they are unlike the draws of earlier rounds, or unlike most of their own."""
    latest = storage.summary(study.id).latest
    first = next(map(_first, storage.draws(study.id, 0, latest - 1)), None) or _usual(storage, study.id, latest)
    found = []
    for ticket, draw in storage.draws(study.id, latest, latest):
        if why := fault_of(ticket, replace(draw, started=0.0, ended=0.0), first):  # whatever its times: it can be told
            cure = f"kabc study discard {shlex.quote(study.name)} {ticket.id}"
            found.append(Misfit(ticket, names[ticket.arm], why, cure))
    return found


def _first(pair: tuple[Ticket, Draw]) -> First | None:
    return first_of(pair[1])


def _usual(storage: Storage, study: int, number: int) -> First | None:
    """What most draws of a round look like; of as many, the first ones."""
    found = [first for pair in storage.draws(study, number, number) if (first := _first(pair)) is not None]
    kinds = Counter(first.kinds for first in found)
    return max(found, key=lambda first: kinds[first.kinds], default=None)
