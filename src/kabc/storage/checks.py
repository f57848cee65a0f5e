"""What all stores refuse in the same words, and how they keep JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from kabc.core.words import did_you_mean, in_short, shown
from kabc.storage.contract import Draw, Json, NewTicket, Ticket
from kabc.storage.errors import NoStudyError, StorageError, StudyExistsError

LONGEST_NAME = 200  # characters
MOST_BYTES = 2**28  # of one draw, compressed or not


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


def check_rows(ticket: Ticket, draw: Draw) -> None:
    """Refuse a draw with more or fewer samples than its ticket asks for."""
    if draw.rows.ndim not in (1, 2) or len(draw.rows) != ticket.count:
        raise StorageError(
            f"ticket {ticket.id} asks for {ticket.count} samples of arm {ticket.arm}, got an array of shape "
            f"{draw.rows.shape}; hand in one row for each sample"
        )


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
