"""All endpoints in one table: what the server routes, what /openapi.json describes, and what docs/serve.md lists."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from kabc.server import looking, steering, working
from kabc.server.doors import login, logout
from kabc.server.models import actions, answers, people, studies, work
from kabc.server.models.base import LARGE_BODY, SMALL_BODY, Model, Query
from kabc.server.service import Call
from kabc.storage.contract import Scope

Handler = Callable[[Call], Awaitable[Any]]


@dataclass(frozen=True)
class Endpoint:
    """One endpoint.

    Attributes
    ----------
    method, path : what to call. `{study}` is the id of a study.
    scope : what a token must allow; None: no token is needed.
    does : what it does, in one line.
    handler : the function that does it.
    answer : the form of the answer; None: not JSON.
    body, query : the form of what is sent; None: nothing is.
    kind : type of an answer that is not JSON.
    most : bytes that a body may have.
    """

    method: str
    path: str
    scope: Scope | None
    does: str
    handler: Handler
    answer: type[Model] | None = None
    body: type[Model] | None = None
    query: type[Query] | None = None
    kind: str = "application/json"
    most: int = SMALL_BODY


_STUDY, _WORK = "/api/studies/{study}", "/api/work/{study}"

ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint("POST", "/api/login", None, "a cookie for a token", login, people.Visitor, people.Login),
    Endpoint("POST", "/api/logout", None, "the cookie is void from now on", logout, people.Done),
    Endpoint("GET", "/api/me", "read", "who the caller is taken for", looking.who, people.Visitor),
    Endpoint("GET", "/api/studies", "read", "all studies in figures", looking.studies, studies.Studies),
    Endpoint("GET", _STUDY, "read", "one study: figures, question, workers, leases", looking.study, studies.StudyView),
    Endpoint(
        "GET", f"{_STUDY}/snapshot", "read", "the answer so far: verdict, groups, spend", looking.snapshot,
        answers.Snapshot,
    ),
    Endpoint(
        "GET", f"{_STUDY}/pairs", "read", "pairs: verdict, evidence, margins", looking.pairs, answers.Pairs,
        query=answers.PairsQuery,
    ),
    Endpoint(
        "GET", f"{_STUDY}/arms", "read", "arms, the odd ones first", looking.arms, answers.ArmsView,
        query=answers.ArmsQuery,
    ),
    Endpoint(
        "GET", f"{_STUDY}/samples", "read", "two arms side by side: samples, evidence over time", looking.samples,
        answers.SamplesView, query=answers.SamplesQuery,
    ),
    Endpoint(
        "GET", f"{_STUDY}/part", "read", "a part of the report of the answer so far", looking.part,
        answers.ReportPart, query=answers.PartQuery,
    ),
    Endpoint(
        "GET", f"{_STUDY}/changes", "read", "what changed since the last run of the same name", looking.changes,
        answers.Changes,
    ),
    Endpoint(
        "GET", f"{_STUDY}/notes", "read", "what happened: late, failed, paused, ...", looking.notes, studies.Notes,
        query=studies.NotesQuery,
    ),
    Endpoint(
        "GET", f"{_STUDY}/events", "read", "changes as they come; goes on after Last-Event-ID", looking.events,
        studies.Event, kind="text/event-stream",
    ),
    Endpoint(
        "GET", "/api/events", "read", "changes of several studies, in one stream", looking.several,
        studies.StudyEvent, query=studies.EventsQuery, kind="text/event-stream",
    ),
    Endpoint(
        "GET", f"{_STUDY}/export", "read", "samples, the whole study, or the full result as a file", looking.export,
        query=answers.ExportQuery, kind="application/octet-stream",
    ),
    Endpoint(
        "POST", f"{_STUDY}/actions", "admin", "pause, resume, stop, raise-budget", steering.steer, studies.StudyView,
        actions.Steer,
    ),
    Endpoint(
        "DELETE", _STUDY, "admin", "delete it; the body has its name, typed again", steering.delete, people.Done,
        actions.Delete,
    ),
    Endpoint(
        "GET", "/api/work", "tell", "a study by name, as workers need it; can wait for a change", working.look,
        work.Look, query=work.WorkQuery,
    ),
    Endpoint("GET", f"{_WORK}/workers", "tell", "all workers of a study", working.crew, work.Crew),
    Endpoint(
        "POST", f"{_WORK}/join", "tell", "a worker is there, and can draw these arms", working.join, people.Done,
        work.Join, most=LARGE_BODY,
    ),
    Endpoint(
        "POST", f"{_WORK}/facts", "tell", "what is known of the arms; the first ones count", working.facts,
        work.ArmsFacts, work.ArmsFacts, most=LARGE_BODY,
    ),
    Endpoint(
        "POST", f"{_WORK}/exchange", "tell", "tell what was drawn, say what failed, lease more", working.exchange,
        work.Exchanged, work.Exchange, most=LARGE_BODY,
    ),
    Endpoint(
        "POST", f"{_WORK}/heartbeat", "tell", "a sign of life: leases last longer", working.heartbeat, work.Kept,
        work.Beat, most=LARGE_BODY,
    ),
    Endpoint(
        "POST", f"{_WORK}/leave", "tell", "a worker has ended: its leases lapse", working.leave, people.Done,
        work.Leave,
    ),
    Endpoint(
        "POST", f"{_WORK}/notes", "tell", "a lost draw is drawn again, or encoded", working.remark, people.Done,
        work.Remark,
    ),
)  # fmt: skip
