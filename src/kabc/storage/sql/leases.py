"""What workers do: hand in, lease, renew; and what becomes of those that died."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sqlalchemy import Connection, Integer, Row, Select, bindparam, case, insert, select, update

from kabc.storage.checks import about, check_rows, no_such_id, no_ticket
from kabc.storage.contract import Answered, Draw, Failure, Json, Outcome, Ticket
from kabc.storage.sql.clock import NOW
from kabc.storage.sql.home import Home
from kabc.storage.sql.records import ticket_record
from kabc.storage.sql.rounds import select_leased, select_tickets, tickets_by_id
from kabc.storage.sql.studies import change, drop_step, seen, tell, write_notes
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

    def hand_in(self) -> list[Outcome]:
        call = self.call
        if not call.finished:
            return []
        found = tickets_by_id(self.connection, call.study, {one.ticket for one in call.finished})
        for one in call.finished:
            if one.ticket not in found:
                raise no_ticket(one.ticket, call.study)
            if isinstance(one, Draw):
                check_rows(found[one.ticket], one)
        packed = iter(call.packed)
        outcomes = [
            self._draw(found, one, next(packed)) if isinstance(one, Draw) else self._failure(found, one)
            for one in call.finished
        ]
        self._write()
        return outcomes

    def _draw(self, found: dict[int, Ticket], one: Draw, packed: bytes) -> Outcome:
        ticket = found[one.ticket]
        held = ticket.lease == one.lease
        drawn = {
            "ticket": one.ticket,
            "worker": self.call.drawn_by[one.worker],
            "rows": packed,
            "started": one.started,
            "ended": one.ended,
        }
        if held and ticket.state == "leased":
            self._draws.append(drawn)
            self._states.append({"key": one.ticket, "to": DONE, "paid": one.n_paid, "by": None})
            found[one.ticket] = replace(ticket, state="done")
            self._round = ticket.round
            self._tally += Counter(more_n_done=1, more_n_samples=ticket.count, more_n_paid=one.n_paid or ticket.count)
            return "done"
        if held and ticket.state == "done":
            return "done"  # handed in again
        kept = self.home.insert(late).values(**drawn, lease=one.lease, n_paid=one.n_paid)
        kept = kept.on_conflict_do_nothing(index_elements=["ticket", "lease"]).returning(late.c.id)
        if self.connection.execute(kept).first() is not None:
            self._notes.append(("superseded", about(ticket, one.lease, one.worker)))
        return "superseded"

    def _failure(self, found: dict[int, Ticket], one: Failure) -> Outcome:
        ticket = found[one.ticket]
        if ticket.lease != one.lease:
            return "superseded"
        if ticket.state == "leased":
            self._states.append({"key": one.ticket, "to": FAILED if one.final else OPEN, "paid": 0, "by": None})
            found[one.ticket] = replace(ticket, state="failed" if one.final else "open")
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
