"""What workers do: hand in, lease, renew; and what becomes of those that died."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any

from sqlalchemy import Connection, Integer, Row, Select, bindparam, case, delete, insert, select, update

from kabc.storage.checks import First, about, check_discard, first_of, judged, no_such_id, no_ticket
from kabc.storage.contract import Answered, Draw, Failure, Json, Outcome, Ticket
from kabc.storage.sql.clock import NOW
from kabc.storage.sql.home import Home
from kabc.storage.sql.records import damaged, ticket_record
from kabc.storage.sql.rounds import select_leased, select_tickets, tickets_by_id
from kabc.storage.sql.studies import add_note, change, drop_step, lock, seen, tell, write_notes
from kabc.storage.sql.tables import (
    DONE,
    FAILED,
    LEASED,
    OPEN,
    UNFINISHED,
    draws,
    late,
    studies,
    tickets,
    workers,
)

_BURIED = 0.0  # expires: lapsed, and counted or not when its worker was buried


@dataclass(frozen=True)
class Exchange:
    """One call of a worker, ready to be written: also a second time, if the first one's fate is not known."""

    study: int
    worker: int
    name: str
    finished: Sequence[Draw | Failure]
    packed: Sequence[bytes]  # of the draws among them
    drawn_by: Mapping[str, int]  # ids of the workers named there
    want: int
    arms: Collection[int] | None
    seconds: float
    token: str


def exchange(home: Home, connection: Connection, call: Exchange, *, again: bool) -> Answered:
    """Hand in, then lease."""
    row = _study(home, connection, call.study)
    leased = _leased_before(connection, call) if again else []
    book = _Book(home, connection, call)
    outcomes = book.hand_in()
    if call.want > 0 and row.state == "running" and not leased:
        leased = _lease(home, connection, call, row.latest, row.now)
    if book.changed or leased:
        book.sign()
        if book.news or (outcomes and not leased and not _unfinished(connection, call.study, row.latest)):
            home.tell(connection, call.study)
    return Answered(tuple(outcomes), tuple(leased))


def available(home: Home, connection: Connection, study: int, arms: Collection[int] | None) -> bool:
    """Whether there is anything to lease: looking costs less than writing."""
    row = _study(home, connection, study)
    if row.state != "running":
        return False
    query, values = _free(study, row.latest, row.now, arms, 1)
    return connection.execute(query, values).first() is not None


def _study(home: Home, connection: Connection, study: int) -> Row[Any]:
    row = connection.execute(_STUDY, {"study": study}).one_or_none()
    if row is None:
        raise no_such_id(study, home.label)
    return row


_STUDY = select(studies.c.state, studies.c.latest, NOW.label("now")).where(studies.c.id == bindparam("study"))


# ---------------------------------------------------------------- leasing


_FREE = (
    select_tickets(
        tickets.c.study == bindparam("study"),
        tickets.c.round == bindparam("latest"),
        UNFINISHED,
        (tickets.c.state == OPEN) | (tickets.c.expires <= bindparam("now")),
    )
    .order_by(tickets.c.place)
    .limit(bindparam("most", type_=Integer))
)
_FREE = _FREE.with_for_update(of=tickets, skip_locked=True)  # tickets that others are at are left out: nobody waits
_FREE_OF_ARMS = _FREE.where(tickets.c.arm.in_(bindparam("arms", expanding=True)))


def _free(
    study: int, latest: int, now: float, arms: Collection[int] | None, most: int
) -> tuple[Select[Any], dict[str, Any]]:
    values = {"study": study, "latest": latest, "now": now, "most": most}
    return (_FREE, values) if arms is None else (_FREE_OF_ARMS, values | {"arms": sorted(arms)})


def _lease(home: Home, connection: Connection, call: Exchange, latest: int, now: float) -> list[Ticket]:
    query, values = _free(call.study, latest, now, call.arms, call.want)
    before = [ticket_record(row) for row in connection.execute(query, values)]
    if not before:
        return []
    until = now + call.seconds
    same = {"by": call.worker, "until": until, "call": call.token}
    connection.execute(_LEASE, [{"key": one.id, **same} for one in before])
    lapsed = [one for one in before if one.state == "leased" and one.expires != _BURIED]
    notes: list[tuple[str, Json]] = [("lapsed", about(one, one.lease, one.worker, counted=True)) for one in lapsed]
    write_notes(home, connection, call.study, notes)
    died = {one.id for one in lapsed}
    return [
        replace(
            one,
            state="leased",
            lease=one.lease + 1,
            worker=call.name,
            expires=until,
            deaths=one.deaths + (one.id in died),
        )
        for one in before
    ]


_died = case(((tickets.c.state == LEASED) & (tickets.c.expires != _BURIED), 1), else_=0)
_LEASE = (
    update(tickets)
    .where(tickets.c.id == bindparam("key"))
    .values(
        state=LEASED,
        lease=tickets.c.lease + 1,
        deaths=tickets.c.deaths + _died,
        worker=bindparam("by"),
        expires=bindparam("until"),
        token=bindparam("call"),
    )
)


def _leased_before(connection: Connection, call: Exchange) -> list[Ticket]:
    """What this call leased: also if its answer was lost."""
    mine = select_leased(call.study, tickets.c.worker == call.worker, tickets.c.token == call.token)
    return [ticket_record(row) for row in connection.execute(mine.order_by(tickets.c.place))]


def _unfinished(connection: Connection, study: int, latest: int) -> bool:
    return connection.execute(_UNFINISHED, {"study": study, "latest": latest}).first() is not None


_UNFINISHED = (
    select(tickets.c.id)
    .where(tickets.c.study == bindparam("study"), tickets.c.round == bindparam("latest"), UNFINISHED)
    .limit(1)
)


# ---------------------------------------------------------------- handing in


@dataclass
class _Book:
    """What handing in changes: first found out ticket by ticket, then written at once."""

    home: Home
    connection: Connection
    call: Exchange
    changed: bool = False
    news: bool = False  # others may have something to do
    _round: int = -1  # of what is done: tickets of one round alone can be
    _tally: Counter[str] = field(default_factory=Counter)
    _states: list[dict[str, Any]] = field(default_factory=list)
    _draws: list[dict[str, Any]] = field(default_factory=list)
    _notes: list[tuple[str, Json]] = field(default_factory=list)
    _packed: dict[int, bytes] = field(default_factory=dict)  # rows of tickets that are done by this call
    _first: First | None = None  # of the draws of the study that count

    def hand_in(self) -> list[Outcome]:
        call = self.call
        if not call.finished:
            return []
        found = tickets_by_id(self.connection, call.study, {one.ticket for one in call.finished})
        for one in call.finished:
            if one.ticket not in found:
                raise no_ticket(one.ticket, call.study)
        packed = iter(call.packed)
        if call.packed:
            self._first = _first(self.home, self.connection, call.study)
        outcomes = [
            self._draw(found, one, next(packed)) if isinstance(one, Draw) else self._failure(found, one)
            for one in call.finished
        ]
        self._write()
        return outcomes

    def _draw(self, found: dict[int, Ticket], one: Draw, packed: bytes) -> Outcome:
        ticket = found[one.ticket]
        outcome, fault, new = judged(ticket, one, self._first, lambda: self._has(ticket, packed))
        drawn = {
            "ticket": one.ticket,
            "worker": self.call.drawn_by[one.worker],
            "rows": packed,
            "started": one.started,
            "ended": one.ended,
        }
        if outcome == "failed" and new:
            self._failure(found, Failure(one.ticket, one.lease, one.worker, fault))
        elif outcome == "done" and new:
            self._draws.append(drawn)
            self._packed[one.ticket] = packed
            self._first = self._first or first_of(one)
            self._states.append({"key": one.ticket, "to": DONE, "paid": one.n_paid, "by": None})
            found[one.ticket] = replace(ticket, state="done")
            self._round = ticket.round
            self._tally += Counter(more_n_done=1, more_n_samples=ticket.count, more_n_paid=one.n_paid or ticket.count)
        elif new and _keep_late(self.home, self.connection, drawn, one.lease, one.n_paid):
            self._notes.append(("superseded", about(ticket, one.lease, one.worker)))
        return outcome

    def _has(self, ticket: Ticket, packed: bytes) -> bool:
        """Whether a ticket that is done has these rows."""
        if ticket.id in self._packed:
            return self._packed[ticket.id] == packed
        same = select(draws.c.ticket).where(draws.c.ticket == ticket.id, draws.c.rows == packed)
        return self.connection.execute(same).first() is not None

    def _failure(self, found: dict[int, Ticket], one: Failure) -> Outcome:
        ticket = found[one.ticket]
        if ticket.lease != one.lease or (ticket.state == "leased" and ticket.worker != one.worker):
            return "superseded"
        if ticket.state == "leased":
            self._states.append({"key": one.ticket, "to": FAILED if one.final else OPEN, "paid": 0, "by": None})
            found[one.ticket] = replace(ticket, state="failed" if one.final else "open", worker="")
            kind = "failed" if one.final else "returned"
            self._notes.append((kind, about(ticket, one.lease, one.worker, message=one.message)))
            self.news = True
        return "done"

    def _write(self) -> None:
        if self._draws:
            self.connection.execute(_DRAWS, self._draws)
        if self._states:
            self.connection.execute(_FINISH, self._states)
        write_notes(self.home, self.connection, self.call.study, self._notes)
        self.changed = bool(self._states or self._notes)

    def sign(self) -> None:
        """The worker was here, and what it handed in is counted in its own row: so none waits."""
        if self._tally:
            tell(self.home, self.connection, self.call.worker, self.call.study, self._round, self._tally)
        else:
            seen(self.home, self.connection, self.call.worker, study=self.call.study, changed=True)


_DRAWS = insert(draws)
_FINISH = (
    update(tickets)
    .where(tickets.c.id == bindparam("key"))
    .values(
        state=bindparam("to"),
        n_paid=bindparam("paid"),
        worker=case((bindparam("to") == DONE, tickets.c.worker), else_=None),
        expires=0.0,
        token=None,
    )
)


def _first(home: Home, connection: Connection, study: int) -> First | None:
    """The first draw that counts. As long as there is none, one call at a time looks: its draw may be the first."""
    row = connection.execute(_FIRST, {"study": study}).one_or_none()
    if row is None:
        lock(home, connection, study)
        row = connection.execute(_FIRST, {"study": study}).one_or_none()
    if row is None:
        return None
    from kabc.storage.rows import decode

    if not isinstance(row.rows, bytes):
        raise damaged("the samples of a draw", row.rows)
    return first_of(Draw(row.ticket, 0, "", decode(row.rows), 0.0, 0.0))


_FIRST = (
    select(draws.c.ticket, draws.c.rows)
    .join(tickets, tickets.c.id == draws.c.ticket)
    .where(tickets.c.study == bindparam("study"), tickets.c.state == DONE)
    .order_by(tickets.c.round, tickets.c.place)
    .limit(1)
)


def _keep_late(home: Home, connection: Connection, drawn: Mapping[str, Any], lease: int, n_paid: int) -> bool:
    """Whether a draw was not kept already.

    The first one of a lease has its number. Further ones, of another worker or with other rows, have numbers below 0
    that are made of what they hold: so each of them is kept once.
    """
    key = f"{drawn['worker']} {lease} ".encode() + drawn["rows"]
    other = -1 - int.from_bytes(blake2b(key, digest_size=7).digest())
    kept = home.insert(late).values(**drawn, n_paid=n_paid)
    kept = kept.on_conflict_do_nothing(index_elements=["ticket", "lease"]).returning(late.c.id)
    if connection.execute(kept, {"lease": lease}).first() is not None:
        return True
    mine = [late.c[name] == drawn[name] for name in ("ticket", "worker", "rows")]
    if connection.execute(select(late.c.id).where(late.c.lease == lease, *mine)).first() is not None:
        return False
    return connection.execute(kept, {"lease": other}).first() is not None


def discard(home: Home, connection: Connection, study: int, number: int, note: Json, token: str) -> Ticket:
    """A done ticket is open again, and its rows are late."""
    latest = lock(home, connection, study).latest
    found = tickets_by_id(connection, study, [number]).get(number)
    if found is not None and not add_note(
        home, connection, study, "discarded", {**about(found, found.lease, found.worker), **note}, token
    ):
        return found  # this call was made before
    ticket = check_discard(found, number, study, latest)
    row = connection.execute(select(draws).where(draws.c.ticket == number)).one()
    n_paid = connection.execute(select(tickets.c.n_paid).where(tickets.c.id == number)).scalar_one()
    _keep_late(home, connection, dict(row._mapping), ticket.lease, n_paid)
    connection.execute(delete(draws).where(draws.c.ticket == number))
    again = update(tickets).where(tickets.c.id == number)
    connection.execute(again.values(state=OPEN, worker=None, expires=0.0, n_paid=0))
    less = {"n_done": 1, "n_samples": ticket.count, "n_paid": n_paid or ticket.count}
    connection.execute(
        update(workers)
        .where(workers.c.id == row.worker, workers.c.round == ticket.round)
        .values({name: workers.c[name] - n for name, n in less.items()})
    )
    change(home, connection, study)
    return ticket


# ---------------------------------------------------------------- signs of life, and death


def renew(
    home: Home, connection: Connection, study: int, worker: int, name: str, held: Mapping[int, int], seconds: float
) -> set[int]:
    """The ids of tickets that are still the worker's."""
    seen(home, connection, worker, study=study, changed=False)
    found = tickets_by_id(connection, study, held)
    mine = {
        one.id for one in found.values() if one.state == "leased" and one.lease == held[one.id] and one.worker == name
    }
    if mine:
        renewed = update(tickets).where(tickets.c.id == bindparam("key")).values(expires=NOW + seconds)
        connection.execute(renewed, [{"key": one} for one in sorted(mine)])
    return mine


def bury(home: Home, connection: Connection, study: int, name: str, *, counted: bool) -> int:
    """The leases of a dead worker lapse."""
    drop_step(connection, study, name)
    query = select_leased(study, tickets.c.expires != _BURIED, workers.c.name == name)
    rows = connection.execute(query.order_by(tickets.c.id).with_for_update(of=tickets))
    found = [ticket_record(row) for row in rows]
    if found:
        lapse = update(tickets).where(tickets.c.id == bindparam("key"))
        lapse = lapse.values(expires=_BURIED, deaths=tickets.c.deaths + int(counted))
        connection.execute(lapse, [{"key": one.id} for one in found])
        notes: list[tuple[str, Json]] = [("lapsed", about(one, one.lease, name, counted=counted)) for one in found]
        write_notes(home, connection, study, notes)
        change(home, connection, study)
    return len(found)
