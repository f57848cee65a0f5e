"""Rounds and their tickets, as they are asked for and as they are read."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    and_,
    bindparam,
    case,
    func,
    insert,
    literal,
    select,
    tuple_,
    update,
)

from kabc.storage.checks import MOST_BYTES, check_tickets, round_passed
from kabc.storage.contract import Draw, Json, NewTicket, StudyRecord, Ticket, TicketState
from kabc.storage.sql.clock import NOW
from kabc.storage.sql.home import Home
from kabc.storage.sql.records import TICKET_NUMBERS, draw_record, ticket_record, whole
from kabc.storage.sql.studies import add_note, change, done_per_arm, load, lock, read_notes
from kabc.storage.sql.tables import (
    APART,
    DEADLY,
    DONE,
    FAILED,
    LEASED,
    OPEN,
    UNFINISHED,
    draws,
    late,
    rounds,
    studies,
    totals,
    workers,
)
from kabc.storage.sql.tables import tickets as table

_IDS_AT_ONCE = 5_000  # of one query: databases have a limit
_FIRST_PAGE, _LARGEST_PAGE = 4, 4_096  # draws that are read at once
_PAGE_BYTES = 2**23

_by = workers.alias("drawn_by")
_joined = table.outerjoin(workers, workers.c.id == table.c.worker)
# in the order in which `ticket_record` takes them
_ticket: tuple[ColumnElement[Any], ...] = (
    *[table.c[name] for name in TICKET_NUMBERS],
    table.c.state,
    table.c.expires,
    workers.c.name.label("worker_name"),
)


def select_tickets(*conditions: ColumnElement[bool]) -> Select[Any]:
    """Tickets with the names of their workers."""
    return select(*_ticket).select_from(_joined).where(*conditions)


_BY_ID = (
    select_tickets(table.c.study == bindparam("study"), table.c.id.in_(bindparam("some", expanding=True)))
    .order_by(table.c.id)
    .with_for_update(of=table)
)


def tickets_by_id(connection: Connection, study: int, ids: Collection[int]) -> dict[int, Ticket]:
    """Tickets that nobody else changes until the transaction ends. In order of their ids: so none waits in a circle."""
    found: dict[int, Ticket] = {}
    ordered = sorted(ids)
    for at in range(0, len(ordered), _IDS_AT_ONCE):
        some = ordered[at : at + _IDS_AT_ONCE]
        for row in connection.execute(_BY_ID, {"study": study, "some": some}):
            found[row.id] = ticket_record(row)
    return found


# ---------------------------------------------------------------- opening and ending


def is_open(connection: Connection, study: int, number: int) -> bool:
    """Whether the round was opened."""
    query = select(rounds.c.number).where(rounds.c.study == study, rounds.c.number == number)
    return connection.execute(query).first() is not None


def read(connection: Connection, study: int, number: int) -> list[Ticket]:
    """The tickets of a round in their order."""
    return [ticket_record(row) for row in connection.execute(_OF_ROUND, {"study": study, "number": number})]


_OF_ROUND = select_tickets(table.c.study == bindparam("study"), table.c.round == bindparam("number"))
_OF_ROUND = _OF_ROUND.order_by(table.c.place)


def open_round(
    home: Home, connection: Connection, study: int, number: int, tickets: Sequence[NewTicket]
) -> list[Ticket]:
    """Write a round, if it is not there."""
    row = lock(home, connection, study)  # of two processes at once, one comes here second
    if not is_open(connection, study, number):
        latest, counted = whole("a round", row.latest), whole("a round", row.counted)
        if number <= latest:
            raise round_passed(number, latest)
        check_tickets(tickets)
        _close(connection, study, number)
        _count(home, connection, study, counted, number)
        connection.execute(insert(rounds).values(study=study, number=number, opened=NOW))
        values = [
            {"place": place, "arm": one.arm, "piece": one.piece, "start": one.start, "count": one.count}
            for place, one in enumerate(tickets)
        ]
        if values:
            connection.execute(insert(table).values(study=study, round=number, **_NEW), values)
        change(home, connection, study, latest=number, counted=number - 1, n_rounds=studies.c.n_rounds + 1)
    return read(connection, study, number)


_NEW = {"state": OPEN, "lease": 0, "expires": 0.0, "deaths": 0, "n_paid": 0}


def _close(connection: Connection, study: int, number: int) -> None:
    """Tickets of earlier rounds that are not done never will be: a new lease number keeps everybody out."""
    left = and_(table.c.study == study, table.c.round < number, UNFINISHED)
    connection.execute(
        update(table).where(left).values(state=FAILED, lease=table.c.lease + 1, worker=None, expires=0.0)
    )


def _count(home: Home, connection: Connection, study: int, after: int, before: int) -> None:
    """Add what the rounds between brought to the totals."""
    done = done_per_arm(study, after, before).subquery()
    new = home.insert(totals).from_select(
        ["study", "arm", "n_samples", "n_paid"],
        select(literal(study), done.c.arm, done.c.n_samples, done.c.n_paid).where(literal(True)),
    )
    both = {name: totals.c[name] + new.excluded[name] for name in ("n_samples", "n_paid")}
    connection.execute(new.on_conflict_do_update(index_elements=["study", "arm"], set_=both))


def end(home: Home, connection: Connection, study: int, last_round: int, answer: str) -> StudyRecord:
    """The rounds are told, and there is an answer."""
    lock(home, connection, study)
    _close(connection, study, last_round + 1)
    change(home, connection, study, state="ended", answer=answer)
    return load(home, connection, study)


def reopen(home: Home, connection: Connection, study: int, note: Json, token: str) -> int:
    """Failed tickets of the latest round are open again."""
    latest = lock(home, connection, study).latest
    failed = and_(table.c.study == study, table.c.round == latest, table.c.state == FAILED)
    again = update(table).where(failed).values(state=OPEN, worker=None, expires=0.0, deaths=0)
    number = connection.execute(again).rowcount
    if number:
        add_note(home, connection, study, "reopened", note, token)
        change(home, connection, study)
    return number


# ---------------------------------------------------------------- who has what


def deaths(connection: Connection, study: int) -> dict[int, int]:
    """Arm -> workers that died with tickets of it. Notes have their names: as many for a ticket as it has deaths."""
    query = select(table.c.id, table.c.deaths).where(table.c.study == study, DEADLY)
    left = {whole("a ticket", row.id): whole("its deaths", row.deaths) for row in connection.execute(query)}
    died: dict[int, set[str]] = {}
    for note in reversed(read_notes(connection, study, 0, "lapsed")) if left else ():
        arm, ticket = note.body.get("arm"), note.body.get("ticket")
        if note.body.get("counted") and isinstance(arm, int) and isinstance(ticket, int) and left.get(ticket, 0):
            left[ticket] -= 1
            died.setdefault(arm, set()).add(str(note.body.get("worker")))
    return {arm: len(workers) for arm, workers in died.items()}


def unfinished(connection: Connection, study: int) -> dict[TicketState, dict[int, int]]:
    """What is left of the latest round: state -> arm -> tickets."""
    query = select(table.c.state, table.c.arm, func.count()).where(table.c.study == study, _latest(study))
    found: dict[TicketState, dict[int, int]] = {"open": {}, "leased": {}}
    for state, arm, n in connection.execute(query.where(UNFINISHED).group_by(table.c.state, table.c.arm)):
        found["open" if state == OPEN else "leased"][whole("an arm", arm)] = n
    return found


def leases(connection: Connection, study: int) -> list[Ticket]:
    """Tickets that are leased, lapsed ones too."""
    return [ticket_record(row) for row in connection.execute(select_leased(study).order_by(table.c.place))]


def select_leased(study: int, *conditions: ColumnElement[bool]) -> Select[Any]:
    """Tickets that are leased: all of the latest round."""
    return select_tickets(table.c.study == study, APART, table.c.state == LEASED, _latest(study), *conditions)


def _latest(study: int) -> ColumnElement[bool]:
    return table.c.round == select(studies.c.latest).where(studies.c.id == study).scalar_subquery()


# ---------------------------------------------------------------- reading draws, page by page


class Pages:
    """Where a reader is, and how much it reads at once: pages of some megabytes, whatever the size of a draw.

    Each page is a transaction of its own. A long one would keep SQLite's log from being emptied.
    """

    def __init__(self, study: int, first: int, last: int) -> None:
        self._study, self._last = study, last
        self._after = (first, -1)  # round and place of the ticket before
        self._size = _FIRST_PAGE
        self.ended = False

    def next(self, connection: Connection) -> list[tuple[Ticket, Draw]]:
        """The next page."""
        source = _joined.join(draws, draws.c.ticket == table.c.id).outerjoin(_by, _by.c.id == draws.c.worker)
        more = (table.c.lease.label("draw_lease"), table.c.n_paid.label("draw_paid"))
        query = (
            select(*_ticket, *_drawn(draws), *more)
            .select_from(source)
            .where(table.c.study == self._study, table.c.state == DONE, table.c.round <= self._last)
            .where(tuple_(table.c.round, table.c.place) > tuple_(*self._after))
            .order_by(table.c.round, table.c.place)
            .limit(self._size)
        )
        rows = connection.execute(query).all()
        self.ended = len(rows) < self._size
        found = list(_records(rows, late_ones=False))
        if rows:
            self._after = (rows[-1].round, rows[-1].place)
            each = sum(draw.rows.nbytes for _, draw in found) / len(found)
            self._size = max(1, min(4 * self._size, _LARGEST_PAGE, int(_PAGE_BYTES / max(each, 1))))
        return found


def late_draws(connection: Connection, study: int, after: int, most: int) -> list[tuple[int, Ticket, Draw]]:
    """Draws that do not count, with their number."""
    source = _joined.join(late, late.c.ticket == table.c.id).outerjoin(_by, _by.c.id == late.c.worker)
    more = (late.c.id.label("number"), late.c.lease.label("draw_lease"), late.c.n_paid.label("draw_paid"))
    query = select(*_ticket, *_drawn(late), *more).select_from(source)
    query = query.where(table.c.study == study, late.c.id > after).order_by(late.c.id).limit(most)
    rows = connection.execute(query).all()
    return [(row.number, *pair) for row, pair in zip(rows, _records(rows, late_ones=True), strict=True)]


def _drawn(source: Any) -> tuple[ColumnElement[Any], ...]:
    """What is read of a draw. Samples that are too large to be ours are not read."""
    small = case((func.length(source.c.rows) <= MOST_BYTES, source.c.rows), else_=None)
    return small.label("rows"), source.c.started, source.c.ended, _by.c.name.label("drawn_by")


def _records(rows: Sequence[Any], *, late_ones: bool) -> Iterator[tuple[Ticket, Draw]]:
    for row in rows:
        ticket = ticket_record(row)
        yield ticket, draw_record(ticket, row, late=late_ones)
