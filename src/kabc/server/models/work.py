"""What workers and the server say to each other."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from kabc.results.name_forms import Count
from kabc.server.models.base import Body, Id, Model, Name, Query
from kabc.server.models.studies import NoteView, TicketCounts
from kabc.storage.contract import Outcome, StudyState, TicketState

Seconds = Annotated[float, Field(gt=0, le=86_400)]

MOST_DRAWS = 5_000  # in one exchange
LONGEST_WAIT = 30.0  # seconds


class Look(Model):
    """What a worker needs to know of its study."""

    id: Id
    name: Name
    spec: dict[str, Any]
    state: StudyState
    created: float
    revision: Count
    facts: dict[str, Any] | None
    limits: dict[str, Any]
    now: float
    n_rounds: Count
    n_samples: Count
    n_paid: Count
    last_change: float
    tickets: TicketCounts
    latest: int = Field(description="number of the latest round, -1 before the first one")
    unfinished: dict[TicketState, dict[int, Count]] | None = Field(
        description="if asked for: open and leased -> number of an arm -> draws of the latest round"
    )
    deaths: dict[int, Count] = Field(description="number of an arm -> workers that died with draws of it")
    failed: NoteView | None = Field(description="the failed draw that holds the round up")
    block: NoteView | None = Field(description="the length of the blocks, where it was found")
    stuck: str = Field(description="why the server cannot go on with the study; empty: it can")


class WorkQuery(Query):
    """Which study; and whether to wait for a change of it."""

    study: str = Field(max_length=200, description="its name")
    revision: int | None = Field(default=None, ge=0, le=2**63 - 1, description="wait until it is above this one")
    seconds: float = Field(default=0.0, ge=0, le=LONGEST_WAIT, description="how long to wait at most")
    unfinished: bool = Field(default=False, description="whether to count what is left of the round, arm by arm")


class WorkerFacts(Model):
    """A worker as its study keeps it."""

    name: Name
    facts: dict[str, Any]
    first_seen: float
    last_seen: float


class Crew(Model):
    """All workers that were ever there."""

    workers: list[WorkerFacts]


class Join(Body):
    """A worker that is there from now on."""

    worker: Name
    facts: dict[str, Any] = Field(description="host, process, the arms that it can draw")


class ArmsFacts(Body):
    """What a worker knows of the arms; the first ones count."""

    facts: dict[str, Any]


class DrawIn(Body):
    """Samples for a ticket."""

    kind: Literal["draw"] = "draw"
    ticket: Id
    lease: Count = Field(description="the number of the lease; a result of an older one is superseded")
    rows: str = Field(
        description="as kabc.storage.rows.encode writes them, in base64: finite numbers or texts, as many rows as the "
        "ticket asks for, with the columns of the first draw of the study"
    )
    started: float = Field(description="seconds since 1970, at most 1e11")
    ended: float = Field(description="the same")
    n_paid: Count = Field(default=0, description="calls that were paid for; 0: as many as samples")


class FailureIn(Body):
    """A lease that ended without samples."""

    kind: Literal["failure"] = "failure"
    ticket: Id
    lease: Count
    message: str = Field(max_length=10_000)
    final: bool = Field(description="true: the draw failed; false: the ticket is given back")


class Exchange(Body):
    """Tell what was drawn or failed, and lease more: one call, which happens whole or not at all."""

    worker: Name = Field(description="the caller's own name: that of a worker of another token is refused (403)")
    finished: list[Annotated[DrawIn | FailureIn, Field(discriminator="kind")]] = Field(
        default=[], max_length=MOST_DRAWS
    )
    want: int = Field(default=0, ge=0, le=MOST_DRAWS, description="how many draws to lease")
    arms: list[Count] | None = Field(default=None, description="numbers of arms that it can draw; null: all")
    seconds: Seconds = Field(default=60.0, description="how long a lease lasts without a sign of life")
    held: list[Id] | None = Field(
        default=None,
        description="after an answer that was lost: all tickets that the worker knows to hold; others are given back",
    )


class Leased(Model):
    """A draw that the worker has now."""

    id: Id
    round: int
    place: Count
    arm: Count
    piece: Count
    start: Count
    count: Count
    lease: Count
    expires: float
    deaths: Count


class Exchanged(Model):
    """What became of what was handed in, in its order, and what was leased."""

    outcomes: list[Outcome] = Field(
        description="done: it counts; superseded: another lease or other rows count, and it is kept as late; failed: "
        "the samples cannot be used, and the draw has failed (GET /api/work says why, in `failed`)"
    )
    leased: list[Leased]


class Beat(Body):
    """A sign of life: the leases held last for so many seconds more."""

    worker: Name
    held: dict[int, Count] = Field(description="ticket -> number of its lease")
    seconds: Seconds = 60.0


class Kept(Model):
    """Tickets that are still the worker's."""

    kept: list[Id]


class Leave(Body):
    """A worker has ended: its leases lapse now."""

    worker: Name
    counted: bool = Field(description="true: it died; false: it was told to leave")


class Remark(Body):
    """A note that workers write: a lost draw is drawn again, or encoded as a failure; what codes of categories mean."""

    kind: Literal["redrawn", "encoded", "restarted", "categories"]
    body: dict[str, Any]
