"""A study in memory: its tickets, who has which one and which come next, and all else that is kept of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from heapq import heappop, heappush
from typing import Any

from kabc.storage.checks import First
from kabc.storage.contract import Draw, Note, StudyRecord, Ticket, TicketState, WorkerRecord

_BURIED = 0.0  # expires: the lease lapsed, and was counted or not when its worker was buried


class Deck:
    """Tickets by their id. Only those of the latest round are dealt.

    `_held` are leased and not known to have lapsed. `_next` is a heap of the others by place. It may also name tickets
    that have been renewed or finished since: these are skipped when their turn comes.
    """

    def __init__(self) -> None:
        self.tickets: dict[int, Ticket] = {}
        self._died: dict[int, dict[int, set[str]]] = {}  # arm -> ticket -> workers that died with it
        self.changes = 0
        self.states: Counter[TicketState] = Counter()  # of the tickets that are dealt
        self.leased: dict[int, Ticket] = {}  # by id
        self._held: dict[int, Ticket] = {}
        self._next: list[tuple[int, int]] = []  # (place, id)

    def add(self, tickets: Iterable[Ticket]) -> None:
        """The tickets of a new round."""
        self.states.clear()
        for ticket in tickets:
            self.tickets[ticket.id] = ticket
            self.states[ticket.state] += 1
            self._next.append((ticket.place, ticket.id))  # places rise: a sorted list is a heap

    def close(self) -> None:
        """No ticket that is left can be finished any more."""
        for one in {*self._held, *(one for _, one in self._next)}:
            ticket = self.tickets.get(one)
            if ticket is not None and ticket.state in ("open", "leased"):
                self._change(ticket, "failed", lease=ticket.lease + 1)
        self._held.clear()
        self._next.clear()

    def _change(
        self, was: Ticket, state: TicketState, *, lease: int, worker: str = "", expires: float = 0.0, deaths: int = 0
    ) -> Ticket:
        now = Ticket(
            was.id, was.round, was.place, was.arm, was.piece, was.start, was.count, state, lease, worker, expires,
            was.deaths + deaths,
        )  # fmt: skip
        self.tickets[was.id] = now
        self.states[was.state] -= 1
        self.states[state] += 1
        if state == "leased":
            self.leased[was.id] = now
        else:
            self.leased.pop(was.id, None)
        if deaths:
            self._died.setdefault(was.arm, {}).setdefault(was.id, set()).add(was.worker)
        self.changes += 1
        return now

    def deal(
        self, worker: str, want: int, arms: Collection[int] | None, now: float, expires: float
    ) -> tuple[list[Ticket], list[Ticket]]:
        """Up to `want` tickets that are leased now; and those of them whose lease lapsed, as they were before."""
        for one in [ticket for ticket in self._held.values() if ticket.expires <= now]:
            del self._held[one.id]
            heappush(self._next, (one.place, one.id))
        leased: list[Ticket] = []
        lapsed: list[Ticket] = []
        left: list[tuple[int, int]] = []  # for other workers
        while self._next and len(leased) < want:
            place = heappop(self._next)
            ticket = self.tickets[place[1]]
            if ticket.id in self._held or ticket.state not in ("open", "leased"):
                continue
            if arms is not None and ticket.arm not in arms:
                left.append(place)
                continue
            died = ticket.state == "leased" and ticket.expires != _BURIED
            if died:
                lapsed.append(ticket)
            new = self._change(
                ticket, "leased", lease=ticket.lease + 1, worker=worker, expires=expires, deaths=int(died)
            )
            self._held[new.id] = new
            leased.append(new)
        for place in left:
            heappush(self._next, place)
        return leased, lapsed

    def finish(self, ticket: Ticket, lease: int) -> bool:
        """Whether the lease is still the latest one: then the ticket is done."""
        if ticket.state != "leased" or ticket.lease != lease:
            return False
        self._change(ticket, "done", lease=lease, worker=ticket.worker)
        self._held.pop(ticket.id, None)
        return True

    def give_back(self, ticket: Ticket, lease: int, *, failed: bool) -> bool:
        """Whether the lease is still the latest one: then it is over."""
        if ticket.state != "leased" or ticket.lease != lease:
            return False
        self._change(ticket, "failed" if failed else "open", lease=lease)
        self._held.pop(ticket.id, None)
        heappush(self._next, (ticket.place, ticket.id))
        return True

    def reopen(self, tickets: Iterable[Ticket]) -> int:
        """Failed ones are open again, and their deaths are forgotten. Returns how many."""
        failed = [ticket for ticket in tickets if ticket.state == "failed"]
        for ticket in failed:
            self.open_again(replace(ticket, deaths=0))
            self._died.get(ticket.arm, {}).pop(ticket.id, None)
        return len(failed)

    def open_again(self, ticket: Ticket) -> None:
        """What it brought does not count: it is dealt again."""
        self._change(ticket, "open", lease=ticket.lease)
        heappush(self._next, (ticket.place, ticket.id))

    def deaths(self) -> dict[int, int]:
        """Arm -> workers that died with tickets of it."""
        died = {arm: set[str]().union(*tickets.values()) for arm, tickets in self._died.items()}
        return {arm: len(workers) for arm, workers in died.items() if workers}

    def unfinished(self) -> dict[TicketState, dict[int, int]]:
        """What is left of the round: state -> arm -> tickets."""
        left = [self.tickets[one] for one in {one for _, one in self._next}]
        return {
            "open": Counter(ticket.arm for ticket in left if ticket.state == "open"),
            "leased": Counter(ticket.arm for ticket in self.leased.values()),
        }

    def renew(self, one: int, lease: int, worker: str, expires: float) -> bool:
        """Whether the ticket is still the worker's: then it has it for longer."""
        ticket = self.tickets.get(one)
        if ticket is None or ticket.state != "leased" or (ticket.lease, ticket.worker) != (lease, worker):
            return False
        self._held[one] = self._change(ticket, "leased", lease=lease, worker=worker, expires=expires)
        return True

    def bury(self, worker: str, *, counted: bool) -> list[Ticket]:
        """The worker's leases lapse now. Returns their tickets as they were."""
        theirs = [
            ticket
            for ticket in sorted(self.leased.values(), key=lambda one: one.place)
            if ticket.worker == worker and ticket.expires != _BURIED
        ]
        for ticket in theirs:
            self._change(
                ticket, "leased", lease=ticket.lease, worker=worker, expires=_BURIED, deaths=1 if counted else 0
            )
            self._held.pop(ticket.id, None)
            heappush(self._next, (ticket.place, ticket.id))
        return theirs


class KeptStudy:
    """All that a store keeps of a study."""

    def __init__(self, record: StudyRecord) -> None:
        self._record, self.revision = record, record.revision
        self.changed = record.created
        self.rounds: dict[int, list[int]] = {}  # number -> ids of tickets, in their order
        self.latest = -1  # number of the latest round
        self.n_rounds = 0
        self.deck = Deck()
        self.draws: dict[int, Draw] = {}  # ticket -> the draw that counts
        self.first: First | None = None  # of the draws that count
        self.late: dict[tuple[int, int, str, bytes], tuple[Ticket, Draw]] = {}  # (ticket, lease, worker, rows)
        self.samples: Counter[int] = Counter()  # arm -> samples that count
        self.n_paid = 0
        self.notes: list[Note] = []
        self.workers: dict[str, WorkerRecord] = {}
        self.step: tuple[str, float] = ("", 0.0)  # who does it, until when
        self.snapshot: tuple[int, bytes] | None = None

    @property
    def record(self) -> StudyRecord:
        """The study as of now. Most changes only count up the revision, many times in a second."""
        if self._record.revision != self.revision:
            self._record = replace(self._record, revision=self.revision)
        return self._record

    @property
    def running(self) -> bool:
        """Whether tickets may be leased."""
        return self._record.state == "running"

    def change(self, fields: Mapping[str, Any]) -> None:
        """A new revision."""
        self.revision += 1
        if fields:
            self._record = replace(self._record, revision=self.revision, **fields)
