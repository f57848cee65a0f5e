"""A store in memory: for runs that nobody needs to resume, and for tests. Rows are kept as the arrays that they are."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from threading import Condition
from typing import Any

from kabc.storage.checks import (
    about,
    check_discard,
    check_name,
    check_tickets,
    copied,
    first_of,
    judged,
    name_taken,
    no_study,
    no_such_id,
    no_ticket,
    round_passed,
)
from kabc.storage.contract import (
    Answered,
    Draw,
    Failure,
    Json,
    NewTicket,
    Note,
    Outcome,
    StudyRecord,
    StudyState,
    Summary,
    Ticket,
    TicketState,
    WorkerRecord,
)
from kabc.storage.deck import KeptStudy
from kabc.storage.tokens import MemoryTokens


def _packed(draw: Draw) -> bytes:
    """The rows, as they would be in a file: what is equal there is the same."""
    from kabc.storage.rows import encode  # a look at a study does without numpy

    return encode(draw.rows)


class MemoryStorage(MemoryTokens):
    """Studies in this process."""

    url = "memory"

    def __init__(self) -> None:
        super().__init__()
        self._changed = Condition()
        self._studies: dict[int, KeptStudy] = {}
        self._study_ids, self._ticket_ids, self._note_ids = count(1), count(1), count(1)

    def _get(self, study: int) -> KeptStudy:
        try:
            return self._studies[study]
        except KeyError:
            raise no_such_id(study, self.url) from None

    def _change(self, kept: KeptStudy, **fields: Any) -> None:
        """A new revision; whoever waits for it is woken."""
        kept.change(fields)
        kept.changed = time.time()
        self._changed.notify_all()

    def _note(self, kept: KeptStudy, kind: str, body: Json) -> None:
        kept.notes.append(Note(next(self._note_ids), kind, copied("a note", body), time.time()))

    # ------------------------------------------------------------ studies

    def create_study(self, name: str, spec: Json, limits: Json) -> StudyRecord:
        check_name("study", name)
        with self._changed:
            if name in self.study_names():
                raise name_taken(name, self.url)
            number = next(self._study_ids)
            spec, limits = copied("the spec", spec), copied("the limits", limits)
            record = StudyRecord(number, name, spec, "running", time.time(), 1, None, limits)
            self._studies[number] = KeptStudy(record)
            return record

    def load_study(self, name: str) -> StudyRecord:
        with self._changed:
            for kept in self._studies.values():
                if kept.record.name == name:
                    return kept.record
            raise no_study(name, self.study_names(), self.url)

    def study_names(self) -> list[str]:
        with self._changed:
            return [kept.record.name for kept in self._studies.values()]

    def delete_study(self, study: int) -> None:
        with self._changed:
            self._studies.pop(study, None)
            self._changed.notify_all()

    def set_facts(self, study: int, facts: Json) -> StudyRecord:
        with self._changed:
            kept = self._get(study)
            if kept.record.facts is not None:
                return kept.record
            self._change(kept, facts=copied("the facts of the arms", facts))
            return kept.record

    def set_limits(self, study: int, limits: Json, note: Json) -> StudyRecord:
        with self._changed:
            kept = self._get(study)
            limits = copied("the limits", limits)
            self._note(kept, "limits", note)
            state = "running" if kept.record.state == "ended" else kept.record.state
            self._change(kept, limits=limits, state=state)
            return kept.record

    def set_state(self, study: int, state: StudyState, note: Json) -> StudyRecord:
        with self._changed:
            kept = self._get(study)
            self._note(kept, state, note)
            self._change(kept, state=state)
            return kept.record

    def end(self, study: int, last_round: int, answer: Json) -> StudyRecord:
        with self._changed:
            kept = self._get(study)
            answer = copied("the answer", answer)
            if last_round >= kept.latest:
                kept.deck.close()
            self._change(kept, state="ended", answer=answer)
            return kept.record

    def summary(self, study: int) -> Summary:
        with self._changed:
            kept = self._get(study)
            figures = kept.n_rounds, kept.latest, kept.samples.total(), kept.n_paid, dict(kept.deck.states)
            return Summary(kept.record, *figures, kept.changed)

    def samples_per_arm(self, study: int) -> Mapping[int, int]:
        with self._changed:
            return dict(sorted(self._get(study).samples.items()))

    # ------------------------------------------------------------ rounds and tickets

    def open_round(self, study: int, number: int, tickets: Sequence[NewTicket]) -> list[Ticket]:
        with self._changed:
            kept = self._get(study)
            if number in kept.rounds:
                return self.tickets(study, number)
            if number <= kept.latest:
                raise round_passed(number, kept.latest)
            check_tickets(tickets)
            kept.deck.close()
            new = [
                Ticket(next(self._ticket_ids), number, place, one.arm, one.piece, one.start, one.count)
                for place, one in enumerate(tickets)
            ]
            kept.rounds[number] = [ticket.id for ticket in new]
            kept.deck.add(new)
            kept.latest = number
            kept.n_rounds += 1
            self._change(kept)
            return new

    def tickets(self, study: int, number: int) -> list[Ticket]:
        with self._changed:
            kept = self._get(study)
            known = kept.deck.tickets
            return [known[ticket] for ticket in kept.rounds.get(number, ())]

    def unfinished(self, study: int) -> Mapping[TicketState, Mapping[int, int]]:
        with self._changed:
            return self._get(study).deck.unfinished()

    def exchange(
        self,
        study: int,
        worker: str,
        finished: Sequence[Draw | Failure] = (),
        want: int = 0,
        arms: Collection[int] | None = None,
        seconds: float = 60.0,
    ) -> Answered:
        with self._changed:
            kept, now = self._get(study), time.time()
            for one in finished:  # everything is looked at before anything changes
                ticket = kept.deck.tickets.get(one.ticket)
                if ticket is None:
                    raise no_ticket(one.ticket, study)
            before = kept.deck.changes
            outcomes = tuple([self._hand_in(kept, one) for one in finished])
            leased: list[Ticket] = []
            if want > 0 and kept.running:
                leased, lapsed = kept.deck.deal(worker, want, arms, now, now + seconds)
                for ticket in lapsed:
                    self._note(kept, "lapsed", about(ticket, ticket.lease, ticket.worker, counted=True))
            if kept.deck.changes > before:
                self._seen(kept, worker, now)
                self._change(kept)
            return Answered(outcomes, tuple(leased))

    def _hand_in(self, kept: KeptStudy, one: Draw | Failure) -> Outcome:
        ticket = kept.deck.tickets[one.ticket]
        if isinstance(one, Failure):
            return self._hand_in_failure(kept, ticket, one)
        outcome, fault, new = judged(ticket, one, kept.first, lambda: _packed(kept.draws[ticket.id]) == _packed(one))
        if outcome == "failed" and new:
            self._hand_in_failure(kept, ticket, Failure(ticket.id, one.lease, one.worker, fault))
        elif outcome == "done" and new:
            kept.deck.finish(ticket, one.lease)
            kept.draws[ticket.id] = one
            kept.first = kept.first or first_of(one)
            kept.samples[ticket.arm] += ticket.count
            kept.n_paid += one.n_paid or ticket.count
        elif new and self._keep_late(kept, ticket, one):
            self._note(kept, "superseded", about(ticket, one.lease, one.worker))
            kept.deck.changes += 1
        return outcome

    def _keep_late(self, kept: KeptStudy, ticket: Ticket, draw: Draw) -> bool:
        """Whether it was not kept already."""
        key = ticket.id, draw.lease, draw.worker, _packed(draw)
        known = key in kept.late
        kept.late.setdefault(key, (ticket, replace(draw, late=True)))
        return not known

    def _hand_in_failure(self, kept: KeptStudy, ticket: Ticket, one: Failure) -> Outcome:
        mine = ticket.worker == one.worker or ticket.state != "leased"
        if mine and kept.deck.give_back(ticket, one.lease, failed=one.final):
            kind = "failed" if one.final else "returned"
            self._note(kept, kind, about(ticket, one.lease, one.worker, message=one.message))
            return "done"
        return "done" if mine and ticket.lease == one.lease else "superseded"

    def discard(self, study: int, ticket: int, note: Json) -> Ticket:
        with self._changed:
            kept = self._get(study)
            found = check_discard(kept.deck.tickets.get(ticket), ticket, study, kept.latest)
            draw = kept.draws.pop(ticket)
            kept.first = next(map(first_of, kept.draws.values()), None)
            kept.samples = kept.samples - Counter({found.arm: found.count})  # arms without any are left out
            kept.n_paid -= draw.n_paid or found.count
            self._keep_late(kept, found, draw)
            kept.deck.open_again(found)
            self._note(kept, "discarded", {**about(found, found.lease, found.worker), **note})
            self._change(kept)
            return found

    def reopen(self, study: int, note: Json) -> int:
        with self._changed:
            kept = self._get(study)
            number = kept.deck.reopen(self.tickets(study, kept.latest))
            if number:
                self._note(kept, "reopened", note)
                self._change(kept)
            return number

    def renew(self, study: int, worker: str, held: Mapping[int, int], seconds: float) -> set[int]:
        with self._changed:
            kept, now = self._get(study), time.time()
            self._seen(kept, worker, now)
            deck = kept.deck
            return {one for one, lease in held.items() if deck.renew(one, lease, worker, now + seconds)}

    def bury(self, study: int, worker: str, *, counted: bool) -> int:
        with self._changed:
            kept = self._get(study)
            buried = kept.deck.bury(worker, counted=counted)
            for ticket in buried:
                self._note(kept, "lapsed", about(ticket, ticket.lease, worker, counted=counted))
            if buried:
                self._change(kept)
            if kept.step[0] == worker:
                kept.step = ("", 0.0)
            return len(buried)

    def deaths(self, study: int) -> Mapping[int, int]:
        with self._changed:
            return self._get(study).deck.deaths()

    def draws(self, study: int, first: int, last: int) -> Iterator[tuple[Ticket, Draw]]:
        with self._changed:
            kept = self._get(study)
            numbers = [first] if first == last else sorted(one for one in kept.rounds if first <= one <= last)
            found = [
                (ticket, kept.draws[ticket.id])
                for number in numbers
                for ticket in self.tickets(study, number)
                if ticket.state == "done"
            ]
        return iter(found)

    def late_draws(self, study: int) -> Iterator[tuple[Ticket, Draw]]:
        with self._changed:
            kept = self._get(study)
            return iter([(kept.deck.tickets.get(ticket.id, ticket), draw) for ticket, draw in kept.late.values()])

    # ------------------------------------------------------------ the step

    def take_step(self, study: int, worker: str, seconds: float) -> bool:
        with self._changed:
            kept, now = self._get(study), time.time()
            holder, expires = kept.step
            if holder not in ("", worker) and now < expires:
                return False
            kept.step = (worker, now + seconds)
            return True

    def drop_step(self, study: int, worker: str) -> None:
        with self._changed:
            kept = self._get(study)
            if kept.step[0] == worker:
                kept.step = ("", 0.0)

    # ------------------------------------------------------------ notes, workers, snapshots

    def add_note(self, study: int, kind: str, body: Json) -> None:
        with self._changed:
            kept = self._get(study)
            self._note(kept, kind, body)
            self._change(kept)

    def notes(self, study: int, after: int = 0) -> list[Note]:
        with self._changed:
            return [note for note in self._get(study).notes if note.id > after]

    def register_worker(self, study: int, name: str, facts: Json) -> None:
        check_name("worker", name)
        with self._changed:
            kept, now = self._get(study), time.time()
            first = kept.workers[name].first_seen if name in kept.workers else now
            kept.workers[name] = WorkerRecord(name, copied("the facts of a worker", facts), first, now)
            self._change(kept)

    def _seen(self, kept: KeptStudy, worker: str, now: float) -> None:
        known = kept.workers.get(worker)
        if known is not None:
            kept.workers[worker] = replace(known, last_seen=now)

    def workers(self, study: int) -> list[WorkerRecord]:
        with self._changed:
            return list(self._get(study).workers.values())

    def leases(self, study: int) -> list[Ticket]:
        with self._changed:
            return sorted(self._get(study).deck.leased.values(), key=lambda one: one.place)

    def save_snapshot(self, study: int, number: int, content: bytes) -> None:
        with self._changed:
            self._get(study).snapshot = (number, bytes(content))

    def load_snapshot(self, study: int) -> tuple[int, bytes] | None:
        with self._changed:
            return self._get(study).snapshot

    def drop_snapshot(self, study: int) -> None:
        with self._changed:
            self._get(study).snapshot = None

    # ------------------------------------------------------------ the store itself

    def now(self) -> float:
        return time.time()

    def wait(self, study: int, revision: int, seconds: float) -> int:
        with self._changed:
            self._changed.wait_for(lambda: self._get(study).record.revision > revision, seconds)
            return self._get(study).record.revision

    def close(self) -> None:
        """Nothing is held open."""
