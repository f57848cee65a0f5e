"""Studies in figures: what is known without reading a sample."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from kabc.results.name_forms import Count
from kabc.server.models.base import Id, Model, Name, Query
from kabc.storage.contract import StudyState

MOST_NOTES = 1_000


class SoFar(Model):
    """The answer so far in figures."""

    n_samples: Count = Field(description="behind these figures; the study may have more by now")
    n_groups: Count = Field(description="in the answer, or in the best guess")
    n_groups_at_least: Count = Field(description="certified")
    certified: bool = Field(description="whether the groups are certified; otherwise they are a guess")
    forecast: Count | None = Field(description="about how many more samples it takes: an estimate; null: not known")


class StudyLine(Model):
    """A study in the list."""

    id: Id
    name: Name
    state: StudyState
    status: str | None = Field(description="how it ended: decided, budget, ...; null: it has not")
    created: float
    last_change: float
    revision: Count = Field(description="grows with every change: the id of its events")
    n_arms: Count
    n_rounds: Count
    n_samples: Count = Field(description="of draws that count")
    max_samples: Count | None = Field(description="the budget; null: none")
    spent: float = Field(description="price of what was paid for")
    n_workers: Count = Field(description="that gave a sign of life in the last minute")
    so_far: SoFar | None = Field(description="null: nothing is known without reading the study")


class Studies(Model):
    """All studies, oldest first."""

    storage: str = Field(description="where they are kept, without a password")
    now: float
    studies: list[StudyLine]
    unread: Count = Field(description="older ones that are not in the list yet: ask again soon")


class TicketCounts(Model):
    """Draws of the latest round."""

    open: Count = 0
    leased: Count = 0
    done: Count = 0
    failed: Count = 0


class WorkerView(Model):
    """A process that draws."""

    name: Name
    host: str
    alive: bool = Field(description="it gave a sign of life in the last minute, and is not known to have ended")
    first_seen: float
    last_seen: float
    n_leases: Count = Field(description="draws that it has under way")
    n_arms: Count = Field(description="arms that it can draw")


class LeaseView(Model):
    """A draw that is under way."""

    ticket: Id
    arm: str
    count: Count
    worker: str
    expires: float = Field(description="when it lapses, unless the worker renews it")
    lapsed: bool
    deaths: Count = Field(description="workers that died with it")


class StudyView(StudyLine):
    """One study: everything that is known without reading a sample."""

    now: float
    question: dict[str, Any] = Field(description="strategy, settings, seed")
    arms: list[str] = Field(description="names, in the order of the study")
    price: float = Field(description="of one sample")
    n_paid: Count = Field(description="calls that were paid for")
    tickets: TicketCounts
    workers: list[WorkerView] = Field(description="the latest 200")
    leases: list[LeaseView] = Field(description="the first 500")
    notes: dict[str, Count] = Field(description="kind -> how many; see /notes")


class NoteView(Model):
    """Something that happened to a study."""

    id: Id
    kind: str = Field(description="late, superseded, failed, lapsed, limits, paused, running, stopped, ...")
    body: dict[str, Any] = Field(description="what, by whom; numbers of arms count from 0")
    written: float


class Notes(Model):
    """Notes, the oldest first."""

    notes: list[NoteView]
    more: bool = Field(description="there are later ones: ask again, after the last id")


class NotesQuery(Query):
    """Which notes."""

    after: int = Field(default=0, ge=0, le=2**63 - 1, description="id of the last note that is known")
    limit: int = Field(default=200, ge=1, le=MOST_NOTES)


class Event(Model):
    """The data of a server-sent event. Its id is the revision."""

    revision: Count
    state: StudyState | Literal["deleted"]
    status: str | None = None
    n_rounds: Count = 0
    n_samples: Count = 0
    n_paid: Count = 0
    spent: float = 0.0
    tickets: TicketCounts = TicketCounts()
    last_change: float = 0.0


class StudyEvent(Event):
    """An event in a stream of several studies."""

    study: Id


class EventsQuery(Query):
    """Which studies, in one stream."""

    studies: str = Field(pattern=r"^[1-9][0-9]{0,17}(,[1-9][0-9]{0,17}){0,49}$", description="ids, as in 1,7")
