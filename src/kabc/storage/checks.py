"""What all stores refuse in the same words, and how they keep JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from kabc.core.errors import SampleError
from kabc.core.words import counted, did_you_mean, in_short, shown
from kabc.storage.contract import Draw, Json, NewTicket, Outcome, Ticket
from kabc.storage.errors import NoStudyError, StorageError, StudyExistsError

LONGEST_NAME = 200  # characters
MOST_BYTES = 2**28  # of one draw, compressed or not
LATEST = 1e11  # seconds since 1970: a date with four digits


def check_name(what: str, name: str) -> str:
    """A name that every store can keep and every terminal can show."""
    if not isinstance(name, str) or not name.strip() or len(name) > LONGEST_NAME or not name.isprintable():
        raise StorageError(
            f"the name of a {what} must have 1 to {LONGEST_NAME} visible characters on one line, got "
            f"{shown(repr(name))[:300]}"
        )
    return name


def as_json(what: str, body: Json) -> str:
    """The text that is kept of a mapping."""
    try:
        return json.dumps(body, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise StorageError(f"{what} cannot be kept as JSON: {error}") from error


def copied(what: str, body: Json) -> dict[str, Any]:
    """The mapping as it would come back from a file: a copy, with lists for tuples."""
    found: dict[str, Any] = json.loads(as_json(what, body))
    return found


def no_study(name: str, names: Sequence[str], url: str) -> NoStudyError:
    """The error for a name that is not there; it says which are."""
    there = f"studies there: {in_short(names)}" if names else "it holds no study"
    return NoStudyError(f"there is no study {name!r} in {url}; {did_you_mean(name, names)}{there}")


def no_such_id(study: int, url: str) -> NoStudyError:
    """The error for a study that was deleted meanwhile."""
    return NoStudyError(f"study number {study} is not in {url}: it was deleted")


def name_taken(name: str, url: str) -> StudyExistsError:
    """The error for a second study of the same name."""
    return StudyExistsError(
        f"there is already a study {name!r} in {url}; load it, resume it (if_exists='resume'), or choose another name"
    )


def no_ticket(ticket: int, study: int) -> StorageError:
    """The error for a ticket that is not of this study."""
    return StorageError(f"ticket {ticket} is not one of study number {study}; hand it in where it was leased")


def round_passed(number: int, latest: int) -> StorageError:
    """The error for a round that would come before one that is there."""
    return StorageError(f"round {number} cannot be opened: round {latest} was opened before it")


def check_tickets(tickets: Iterable[NewTicket]) -> None:
    """Refuse tickets of which a round cannot consist."""
    seen = set()
    for ticket in tickets:
        if min(ticket.arm, ticket.piece, ticket.start) < 0 or ticket.count < 1:
            raise StorageError(f"a ticket must ask for at least one sample of a known arm, got {ticket}")
        if (ticket.arm, ticket.piece) in seen:
            raise StorageError(f"piece {ticket.piece} of arm {ticket.arm} is twice in one round")
        seen.add((ticket.arm, ticket.piece))


class First(NamedTuple):
    """What a draw of a study that counts looks like: all others must be like it."""

    ticket: int
    kinds: str  # as `kabc.core.samples.kinds_of` says them
    text: str


def first_of(draw: Draw) -> First | None:
    """What others are compared with; None: the draw of an earlier version is none."""
    from kabc.core.samples import describe, kinds_of

    try:
        return First(draw.ticket, kinds_of(draw.rows), describe(draw.rows))
    except SampleError:
        return None


class Judged(NamedTuple):
    """What becomes of a draw; what is wrong with it, if anything; and whether there is something to write."""

    outcome: Outcome
    fault: str
    new: bool


def judged(ticket: Ticket, draw: Draw, first: First | None, same: Callable[[], bool]) -> Judged:
    """The outcome of a draw that is handed in, in all stores.

    `first`: of the draws of the study that count, if there is one. `same`: whether a ticket that is done has these
    rows.
    """
    held = (ticket.lease, ticket.worker) == (draw.lease, draw.worker)
    if held and ticket.state == "done" and same():
        return Judged("done", "", new=False)
    fault = fault_of(ticket, draw, first)
    if held and ticket.state == "leased":
        return Judged("failed" if fault else "done", fault, new=True)
    if fault and ticket.state == "failed" and ticket.lease == draw.lease:  # handed in again
        return Judged("failed", fault, new=False)
    return Judged("superseded", fault, new=not fault)


def fault_of(ticket: Ticket, draw: Draw, first: First | None) -> str:
    """Why a draw cannot count, in words without keys; empty: it can."""
    from kabc.core.secrets import hide_words

    try:
        _check(ticket, draw, first)
    except SampleError as error:
        return hide_words(str(error))
    return ""


def _check(ticket: Ticket, draw: Draw, first: First | None) -> None:
    from kabc.core.samples import expect_alike, kinds_of  # a look at a study does without numpy

    rows = draw.rows
    if rows.ndim not in (1, 2) or len(rows) != ticket.count:
        raise SampleError(
            f"asked for {counted(ticket.count, 'sample')}, got an array of shape {rows.shape}; one row is one sample"
        )
    if not (0 <= draw.started <= LATEST and 0 <= draw.ended <= LATEST):
        raise SampleError(
            f"drawn from {draw.started:g} to {draw.ended:g}, which are no seconds since 1970; set the worker's clock"
        )
    kinds = kinds_of(rows)
    if first is not None:
        try:
            expect_alike(rows, kinds, first.kinds)
        except SampleError as error:
            raise SampleError(f"{error}; the first ones are of ticket {first.ticket}: {first.text}") from None


def check_discard(ticket: Ticket | None, number: int, study: int, latest: int) -> Ticket:
    """Refuse to discard what was not drawn, or what later rounds were decided on."""
    if ticket is None:
        raise no_ticket(number, study)
    if ticket.round != latest or ticket.state != "done":
        raise StorageError(
            f"ticket {number} is {ticket.state}, of round {ticket.round}; only a done one of the latest "
            f"round, {latest}, can be discarded"
        )
    return ticket


def about(ticket: Ticket, lease: int, worker: str, **more: Any) -> dict[str, Any]:
    """The body of a note on a lease."""
    return {
        "round": ticket.round,
        "arm": ticket.arm,
        "piece": ticket.piece,
        "ticket": ticket.id,
        "lease": lease,
        "worker": worker,
        **more,
    }
