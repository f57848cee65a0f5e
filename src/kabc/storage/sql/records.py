"""Rows of tables as records. A store may come from anywhere: what does not fit is refused in one line."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from typing import Any

from sqlalchemy import Row

from kabc.core.words import shown
from kabc.storage.contract import Draw, Note, StudyRecord, Ticket, WorkerRecord
from kabc.storage.errors import StorageError
from kabc.storage.sql.tables import STATES

_STUDY_STATES = ("running", "paused", "ended")


def damaged(what: str, value: object) -> StorageError:
    """The error for a value that no store of ours holds."""
    return StorageError(f"the store is damaged: {what} is {shown(repr(value)[:100])}; restore it from a copy")


def whole(what: str, value: object) -> int:
    """A whole number."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise damaged(what, value)
    return value


def total(what: str, value: object) -> int:
    """A sum of whole numbers: PostgreSQL gives a decimal."""
    return whole(what, int(value) if isinstance(value, Decimal) and value.is_finite() else value)


def number(what: str, value: object) -> float:
    """A finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise damaged(what, value)
    return float(value)


def words(what: str, value: object) -> str:
    """A text."""
    if not isinstance(value, str):
        raise damaged(what, value)
    return value


def mapping(what: str, value: object) -> dict[str, Any]:
    """A mapping, kept as JSON."""
    try:
        found = json.loads(words(what, value))
    except (ValueError, RecursionError):
        raise damaged(what, value) from None
    if not isinstance(found, dict):
        raise damaged(what, value)
    return found


def study_record(row: Row[Any]) -> StudyRecord:
    """A study; `row.more` are the changes that its workers made."""
    if row.state not in _STUDY_STATES:
        raise damaged("the state of a study", row.state)
    return StudyRecord(
        whole("the id of a study", row.id),
        words("the name of a study", row.name),
        mapping("the spec of a study", row.spec),
        row.state,
        number("the time of a study", row.created),
        whole("the revision of a study", row.revision) + total("the changes of workers", row.more),
        None if row.facts is None else mapping("the facts of a study", row.facts),
        mapping("the limits of a study", row.limits),
        None if row.answer is None else mapping("the answer of a study", row.answer),
    )


TICKET_NUMBERS = ("id", "round", "place", "arm", "piece", "start", "count", "lease", "deaths")


def ticket_record(row: Row[Any]) -> Ticket:
    """A ticket: its numbers, its state, the end of its lease, the name of its worker. There are many of them."""
    *numbers, state, expires, worker = row[: len(TICKET_NUMBERS) + 3]
    for name, value in zip(TICKET_NUMBERS, numbers, strict=True):
        if type(value) is not int:
            raise damaged(f"the {name} of a ticket", value)
    if type(state) is not int or not 0 <= state < len(STATES):
        raise damaged("the state of a ticket", state)
    if type(expires) is not float or not (worker is None or type(worker) is str):
        raise damaged("the lease of a ticket", (expires, worker))
    one, number_, place, arm, piece, start, count, lease, deaths = numbers
    return Ticket(one, number_, place, arm, piece, start, count, STATES[state], lease, worker or "", expires, deaths)


def draw_record(ticket: Ticket, row: Row[Any], *, late: bool) -> Draw:
    """What a lease brought."""
    if not isinstance(row.rows, bytes):
        raise damaged(f"the samples of ticket {ticket.id}", row.rows)
    from kabc.storage.rows import decode  # a look at a study does without numpy

    rows = decode(row.rows)
    if len(rows) != ticket.count:
        raise damaged(f"the number of samples of ticket {ticket.id}", len(rows))
    return Draw(
        ticket.id,
        whole("the lease of a draw", row.draw_lease),
        "" if row.drawn_by is None else words("a worker", row.drawn_by),
        rows,
        number("the time of a draw", row.started),
        number("the time of a draw", row.ended),
        whole("the cost of a draw", row.draw_paid),
        late,
    )


def note_record(row: Row[Any]) -> Note:
    """A note."""
    body = mapping("a note", row.body)
    return Note(
        whole("the id of a note", row.id), words("the kind of a note", row.kind), body, number("a time", row.written)
    )


def worker_record(row: Row[Any]) -> WorkerRecord:
    """A worker."""
    seen = number("a time", row.first_seen), number("a time", row.last_seen)
    return WorkerRecord(words("a worker", row.name), mapping("the facts of a worker", row.facts), *seen)
