"""Stores with one fault each in how they lease, which a test of the contract must catch."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from kabc.storage.contract import (
    Answered,
    Draw,
    Failure,
    Json,
    NewTicket,
    StudyRecord,
    StudyState,
    Ticket,
)
from kabc.storage.errors import StorageError
from kabc.storage.memory import MemoryStorage

_Some = Sequence[Draw | Failure]


class LendsToTwo(MemoryStorage):
    def exchange(self, study: int, worker: str, *args: Any, **more: Any) -> Answered:
        deck = self._get(study).deck
        for one in deck._held.values():
            deck._next.insert(0, (one.place, one.id))
        deck._held.clear()
        return super().exchange(study, worker, *args, **more)


class AlwaysLends(MemoryStorage):
    def exchange(
        self, study: int, worker: str, finished: _Some = (), want: int = 0, *args: Any, **more: Any
    ) -> Answered:
        return super().exchange(study, worker, finished, max(want, 1), *args, **more)


class LendsAnyArm(MemoryStorage):
    def exchange(
        self,
        study: int,
        worker: str,
        finished: _Some = (),
        want: int = 0,
        arms: Collection[int] | None = None,
        seconds: float = 60.0,
    ) -> Answered:
        return super().exchange(study, worker, finished, want, None, seconds)


class NeverPauses(MemoryStorage):
    def set_state(self, study: int, state: StudyState, note: Json) -> StudyRecord:
        said = super().set_state(study, state, note)
        with self._changed:
            self._change(self._get(study), state="running")
        return said


class LendsBeforeItTakes(MemoryStorage):
    def exchange(
        self, study: int, worker: str, finished: _Some = (), want: int = 0, *args: Any, **more: Any
    ) -> Answered:
        if finished:
            want = 0
        return super().exchange(study, worker, finished, want, *args, **more)


class RefusesRepeats(MemoryStorage):
    def _hand_in(self, kept: Any, one: Draw | Failure) -> Any:
        if kept.deck.tickets[one.ticket].state == "done":
            raise StorageError("it was handed in before")
        return super()._hand_in(kept, one)


class CountsRepeats(MemoryStorage):
    def _hand_in(self, kept: Any, one: Draw | Failure) -> Any:
        ticket = kept.deck.tickets[one.ticket]
        if ticket.state == "done" and ticket.lease == one.lease:
            kept.samples[ticket.arm] += ticket.count
        return super()._hand_in(kept, one)


class TakesForeignTickets(MemoryStorage):
    def exchange(self, study: int, worker: str, finished: _Some = (), *args: Any, **more: Any) -> Answered:
        mine = [one for one in finished if one.ticket in self._get(study).deck.tickets]
        return super().exchange(study, worker, mine, *args, **more)


class SortsOutcomes(MemoryStorage):
    def exchange(self, study: int, worker: str, *args: Any, **more: Any) -> Answered:
        answer = super().exchange(study, worker, *args, **more)
        return replace(answer, outcomes=tuple(sorted(answer.outcomes)))


class NeverLapses(MemoryStorage):
    def exchange(
        self,
        study: int,
        worker: str,
        finished: _Some = (),
        want: int = 0,
        arms: Collection[int] | None = None,
        seconds: float = 60.0,
    ) -> Answered:
        return super().exchange(study, worker, finished, want, arms, 60.0)


class FirstToComeCounts(MemoryStorage):
    def _hand_in(self, kept: Any, one: Draw | Failure) -> Any:
        ticket = kept.deck.tickets[one.ticket]
        taken = replace(one, lease=ticket.lease, worker=ticket.worker)
        return super()._hand_in(kept, taken if ticket.state == "leased" else one)


class LastToComeCounts(MemoryStorage):
    def _hand_in(self, kept: Any, one: Draw | Failure) -> Any:
        if isinstance(one, Draw) and one.ticket in kept.draws:
            kept.draws[one.ticket] = one
            return "done"
        return super()._hand_in(kept, one)


class LendsToAnybody(MemoryStorage):
    def _hand_in(self, kept: Any, one: Draw | Failure) -> Any:
        return super()._hand_in(kept, replace(one, worker=kept.deck.tickets[one.ticket].worker))


class TakesAnyColumns(MemoryStorage):
    def _hand_in(self, kept: Any, one: Draw | Failure) -> Any:
        kept.first = None
        return super()._hand_in(kept, one)


class KeepsAllThatIsLate(MemoryStorage):
    def _hand_in(self, kept: Any, one: Draw | Failure) -> Any:
        ticket, outcome = kept.deck.tickets[one.ticket], super()._hand_in(kept, one)
        if isinstance(one, Draw) and outcome == "superseded":
            self._keep_late(kept, ticket, one)
        return outcome


class NeverDiscards(MemoryStorage):
    def discard(self, study: int, ticket: int, note: Json) -> Ticket:
        return self._get(study).deck.tickets[ticket]


class SaysDoneToAll(MemoryStorage):
    def _hand_in(self, kept: Any, one: Draw | Failure) -> Any:
        super()._hand_in(kept, one)
        return "done"


class PunishesSlowness(MemoryStorage):
    def _hand_in(self, kept: Any, one: Draw | Failure) -> Any:
        ticket = kept.deck.tickets[one.ticket]
        if ticket.state == "leased" and ticket.expires <= time.time():
            return "superseded"
        return super()._hand_in(kept, one)


class NeverRenews(MemoryStorage):
    def renew(self, study: int, worker: str, held: Mapping[int, int], seconds: float) -> set[int]:
        super().renew(study, worker, {}, seconds)
        return set()


class RenewsForAnybody(MemoryStorage):
    def renew(self, study: int, worker: str, held: Mapping[int, int], seconds: float) -> set[int]:
        return set(held)


class RetriesFailures(MemoryStorage):
    def _hand_in(self, kept: Any, one: Draw | Failure) -> Any:
        return super()._hand_in(kept, replace(one, final=False) if isinstance(one, Failure) else one)


class KeepsWhatIsGivenBack(MemoryStorage):
    def _hand_in(self, kept: Any, one: Draw | Failure) -> Any:
        return "done" if isinstance(one, Failure) and not one.final else super()._hand_in(kept, one)


class AnyFailureCounts(MemoryStorage):
    def _hand_in(self, kept: Any, one: Draw | Failure) -> Any:
        ticket = kept.deck.tickets[one.ticket]
        taken = replace(one, lease=ticket.lease, worker=ticket.worker)
        return super()._hand_in(kept, taken if isinstance(one, Failure) else one)


class NeverReopens(MemoryStorage):
    def reopen(self, study: int, note: Json) -> int:
        return 0


class BuriesNobody(MemoryStorage):
    def bury(self, study: int, worker: str, *, counted: bool) -> int:
        return 0


class CountsEveryDeath(MemoryStorage):
    def bury(self, study: int, worker: str, *, counted: bool) -> int:
        return super().bury(study, worker, counted=True)


class NotesEveryBurial(MemoryStorage):
    def bury(self, study: int, worker: str, *, counted: bool) -> int:
        self.add_note(study, "lapsed", {})
        return super().bury(study, worker, counted=counted)


class EndsLeasesOfTheBuried(MemoryStorage):
    def bury(self, study: int, worker: str, *, counted: bool) -> int:
        held = [one for one in self.leases(study) if one.worker == worker]
        for one in held:
            self.exchange(study, worker, [Failure(one.id, one.lease, worker, "dead", final=False)])
        return len(held)


class CountsTicketsOfTheDead(MemoryStorage):
    def deaths(self, study: int) -> Mapping[int, int]:
        died = self._get(study).deck._died
        return {arm: sum(map(len, tickets.values())) for arm, tickets in died.items() if any(tickets.values())}


class NeverForgetsDeaths(MemoryStorage):
    def reopen(self, study: int, note: Json) -> int:
        died = self._get(study).deck._died
        before = {arm: dict(tickets) for arm, tickets in died.items()}
        number = super().reopen(study, note)
        died.update(before)
        return number


class ForgetsOldDeaths(MemoryStorage):
    def open_round(self, study: int, number: int, tickets: Sequence[NewTicket]) -> list[Ticket]:
        self._get(study).deck._died.clear()
        return super().open_round(study, number, tickets)


class LosesTheSlow(MemoryStorage):
    def exchange(self, study: int, worker: str, finished: _Some = (), *args: Any, **more: Any) -> Answered:
        answer = super().exchange(study, worker, (), *args, **more)
        leased = tuple(one for one in answer.leased if one.lease == 1)
        return Answered(tuple("superseded" for _ in finished), leased)
