"""Stores with one fault each that a test of the contract must catch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from kabc.storage.contract import (
    Answered,
    Draw,
    Failure,
    Json,
    NewTicket,
    Note,
    Scope,
    StudyRecord,
    Summary,
    Ticket,
    TicketState,
    TokenRecord,
    WorkerRecord,
)
from kabc.storage.errors import StorageError
from kabc.storage.memory import MemoryStorage

_Some = Sequence[Draw | Failure]

# ---------------------------------------------------------------- studies


class LosesLimits(MemoryStorage):
    def create_study(self, name: str, spec: Json, limits: Json) -> StudyRecord:
        return super().create_study(name, spec, {})


class KeepsTheCallersSpec(MemoryStorage):
    def create_study(self, name: str, spec: Json, limits: Json) -> StudyRecord:
        kept = self._studies[super().create_study(name, spec, limits).id]
        kept._record = replace(kept.record, spec=spec)
        return kept.record


class SortsNames(MemoryStorage):
    def study_names(self) -> list[str]:
        return sorted(super().study_names())


class MakesTwins(MemoryStorage):
    def create_study(self, name: str, spec: Json, limits: Json) -> StudyRecord:
        kept = self._studies[super().create_study(f"{name} {len(self._studies)}", spec, limits).id]
        kept._record = replace(kept.record, name=name)
        return kept.record


class GivesNoHint(MemoryStorage):
    def load_study(self, name: str) -> StudyRecord:
        try:
            return super().load_study(name)
        except StorageError as error:
            raise type(error)("there is none") from None


class RenamesStudies(MemoryStorage):
    def create_study(self, name: str, spec: Json, limits: Json) -> StudyRecord:
        visible = "".join(one for one in name if one.isprintable()).strip()[:200] or "unnamed"
        return super().create_study(visible, spec, limits)


class WritesObjectsAsText(MemoryStorage):
    def create_study(self, name: str, spec: Json, limits: Json) -> StudyRecord:
        return super().create_study(
            name, {key: value if _plain(value) else str(value) for key, value in spec.items()}, limits
        )


def _plain(value: object) -> bool:
    return value is None or isinstance(value, str | int | float | list)


class OnlyHidesWhatIsDeleted(MemoryStorage):
    def delete_study(self, study: int) -> None:
        kept = self._studies[study]
        kept._record = replace(kept.record, name=f"deleted {study}")

    def study_names(self) -> list[str]:
        return [name for name in super().study_names() if not name.startswith("deleted")]


class LastFactsCount(MemoryStorage):
    def set_facts(self, study: int, facts: Json) -> StudyRecord:
        kept = self._get(study)
        kept._record = replace(kept.record, facts=None)
        return super().set_facts(study, facts)


class WritesNoNotes(MemoryStorage):
    def _note(self, kept: Any, kind: str, body: Json) -> None:
        pass


class StaysEnded(MemoryStorage):
    def set_limits(self, study: int, limits: Json, note: Json) -> StudyRecord:
        state = self._get(study).record.state
        super().set_limits(study, limits, note)
        with self._changed:
            self._change(self._get(study), state=state)
            return self._get(study).record


class WakesThePaused(MemoryStorage):
    def set_limits(self, study: int, limits: Json, note: Json) -> StudyRecord:
        super().set_limits(study, limits, note)
        with self._changed:
            self._change(self._get(study), state="running")
            return self._get(study).record


class CountsOpenTickets(MemoryStorage):
    def summary(self, study: int) -> Summary:
        found = super().summary(study)
        return replace(found, n_samples=found.n_samples + 4 * found.tickets.get("open", 0))


class CountsOneRoundMore(MemoryStorage):
    def summary(self, study: int) -> Summary:
        found = super().summary(study)
        return replace(found, n_rounds=found.n_rounds + 1)


class CountsFailedAsOpen(MemoryStorage):
    def summary(self, study: int) -> Summary:
        found = super().summary(study)
        states = dict(found.tickets)
        return replace(found, tickets={**states, "open": states.get("open", 0) + states.get("failed", 0)})


class ForgetsLapsedLeases(MemoryStorage):
    def unfinished(self, study: int) -> Mapping[TicketState, Mapping[int, int]]:
        here = Counter(one.arm for one in self.leases(study) if one.expires > self.now())
        return {**super().unfinished(study), "leased": here}


# ---------------------------------------------------------------- rounds


class SortsByArm(MemoryStorage):
    def open_round(self, study: int, number: int, tickets: Sequence[NewTicket]) -> list[Ticket]:
        return super().open_round(study, number, sorted(tickets, key=lambda one: (one.arm, one.piece)))


class OpensAgain(MemoryStorage):
    def open_round(self, study: int, number: int, tickets: Sequence[NewTicket]) -> list[Ticket]:
        kept = self._get(study)
        kept.rounds.pop(number, None)
        kept.latest = min(kept.latest, number - 1)
        return super().open_round(study, number, tickets)


class RefusesEmptyRounds(MemoryStorage):
    def open_round(self, study: int, number: int, tickets: Sequence[NewTicket]) -> list[Ticket]:
        if not tickets:
            raise StorageError("no tickets")
        return super().open_round(study, number, tickets)


class OpensAnything(MemoryStorage):
    def open_round(self, study: int, number: int, tickets: Sequence[NewTicket]) -> list[Ticket]:
        self._get(study).latest = -1
        distinct = {(one.arm, one.piece): one for one in tickets if one.count}
        return super().open_round(study, number, list(distinct.values()))


class ReadsAsTheyCame(MemoryStorage):
    def draws(self, study: int, first: int, last: int) -> Iterator[tuple[Ticket, Draw]]:
        kept = self._get(study)
        return ((kept.deck.tickets[one], draw) for one, draw in list(kept.draws.items()))


class ReadsAPage(MemoryStorage):
    def draws(self, study: int, first: int, last: int) -> Iterator[tuple[Ticket, Draw]]:
        return iter(list(super().draws(study, first, last))[:256])


class KeepsFloats(MemoryStorage):
    def exchange(self, study: int, worker: str, finished: _Some = (), *args: Any, **more: Any) -> Answered:
        finished = [
            replace(one, rows=one.rows.astype(float)) if isinstance(one, Draw) and one.rows.dtype.kind in "biu" else one
            for one in finished
        ]
        return super().exchange(study, worker, finished, *args, **more)


class HandsInOneByOne(MemoryStorage):
    def exchange(self, study: int, worker: str, finished: _Some = (), *args: Any, **more: Any) -> Answered:
        outcomes = [super(HandsInOneByOne, self).exchange(study, worker, [one]).outcomes[0] for one in finished]
        return replace(super().exchange(study, worker, (), *args, **more), outcomes=tuple(outcomes))


class LeavesToldRoundsOpen(MemoryStorage):
    def open_round(self, study: int, number: int, tickets: Sequence[NewTicket]) -> list[Ticket]:
        self._get(study).deck.close = lambda: None  # type: ignore[method-assign]
        return super().open_round(study, number, tickets)


# ---------------------------------------------------------------- others


class EverybodySteps(MemoryStorage):
    def take_step(self, study: int, worker: str, seconds: float) -> bool:
        return True


class FirstStepsForEver(MemoryStorage):
    def take_step(self, study: int, worker: str, seconds: float) -> bool:
        return super().take_step(study, worker, 60.0)


class NewestNotesFirst(MemoryStorage):
    def notes(self, study: int, after: int = 0) -> list[Note]:
        return super().notes(study, after)[::-1]


class SortsWorkers(MemoryStorage):
    def workers(self, study: int) -> list[WorkerRecord]:
        return sorted(super().workers(study), key=lambda one: one.name)


class SeesNobody(MemoryStorage):
    def _seen(self, kept: Any, worker: str, now: float) -> None:
        pass


class OnlyHidesTokens(MemoryStorage):
    def remove_token(self, token: int) -> bool:
        return any(one.id == token for one in self.tokens())


class TokensLastForEver(MemoryStorage):
    def add_token(self, label: str, scope: Scope, digest: str, seconds: float | None) -> TokenRecord:
        return super().add_token(label, scope, digest, None)


class KeepsTheFirstSnapshot(MemoryStorage):
    def save_snapshot(self, study: int, number: int, content: bytes) -> None:
        if self.load_snapshot(study) is None:
            super().save_snapshot(study, number, content)


class HasAFixedClock(MemoryStorage):
    def now(self) -> float:
        return 1e9


class WakesForSignsOfLife(MemoryStorage):
    def renew(self, study: int, worker: str, held: Mapping[int, int], seconds: float) -> set[int]:
        with self._changed:
            self._change(self._get(study))
        return super().renew(study, worker, held, seconds)


class NeverSeesAChange(MemoryStorage):
    def wait(self, study: int, revision: int, seconds: float) -> int:
        return min(super().wait(study, revision, 0.0), revision)


class LosesNotes(MemoryStorage):
    def add_note(self, study: int, kind: str, body: Json) -> None:
        if body.get("number") != 3:
            super().add_note(study, kind, body)


class DropsADraw(MemoryStorage):
    def draws(self, study: int, first: int, last: int) -> Iterator[tuple[Ticket, Draw]]:
        return iter(list(super().draws(study, first, last))[1:])


class LosesAnswers(MemoryStorage):
    def end(self, study: int, last_round: int, answer: Json) -> StudyRecord:
        return super().end(study, -1, {})
