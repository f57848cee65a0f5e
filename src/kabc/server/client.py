"""A store at the other end of a URL, as far as workers need one: they need no password of a database.

It has the methods of `Storage` that the loop of a worker calls. The server does the step: `take_step` is always False
here. What cannot be done by URL is refused with the way that can.
"""

from __future__ import annotations

import base64
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, cast
from urllib.parse import urlencode

from kabc.server.connection import Connection
from kabc.server.models import work
from kabc.server.models.base import LARGE_BODY
from kabc.server.models.people import Done
from kabc.server.models.studies import NoteView
from kabc.storage.contract import (
    Answered,
    Draw,
    Failure,
    Json,
    Note,
    Storage,
    StudyRecord,
    Summary,
    Ticket,
    TicketState,
    WorkerRecord,
)
from kabc.storage.errors import StorageError, StoreAwayError
from kabc.storage.rows import encode

_ROOM = LARGE_BODY // 2  # bytes of rows in one request


def open_server(url: str, token: str) -> Storage:
    """The server at a URL, as a store for workers."""
    return cast("Storage", RemoteStorage(url, token))


class RemoteStorage:
    """One server. Its methods may be called from any thread."""

    def __init__(self, url: str, token: str) -> None:
        self._connection = Connection(url, token)
        self._names: dict[int, str] = {}  # of studies, by id
        self._held: dict[int, int] = {}  # ticket -> lease, as far as this worker knows
        self._unsure = False  # whether an answer was lost: then there may be leases that it does not know of

    @property
    def url(self) -> str:
        return self._connection.url

    def close(self) -> None:
        self._connection.close()

    # ------------------------------------------------------------ looking

    def _look(self, study: str, **more: Any) -> work.Look:
        found = self._connection.get(f"/api/work?{urlencode({'study': study, **more})}", work.Look)
        self._names[found.id] = found.name
        if found.stuck:
            raise StorageError(found.stuck)
        return found

    def _by_id(self, study: int, **more: Any) -> work.Look:
        if study not in self._names:
            raise StorageError(f"study number {study} is not known here; load it by its name first")
        return self._look(self._names[study], **more)

    def load_study(self, name: str) -> StudyRecord:
        return _record(self._look(name))

    def summary(self, study: int) -> Summary:
        found = self._by_id(study)
        states: tuple[TicketState, ...] = ("open", "leased", "done", "failed")
        tickets = {state: getattr(found.tickets, state) for state in states}
        figures = found.n_rounds, found.latest, found.n_samples, found.n_paid
        return Summary(_record(found), *figures, tickets, found.last_change)

    def unfinished(self, study: int) -> Mapping[TicketState, Mapping[int, int]]:
        return self._by_id(study, unfinished=True).unfinished or {}

    def deaths(self, study: int) -> Mapping[int, int]:
        return self._by_id(study).deaths

    def notes(self, study: int, after: int = 0) -> list[Note]:
        """Those that a worker goes by: a failed draw, and the length of blocks."""
        found = self._by_id(study)
        return [_note(one) for one in (found.block, found.failed) if one is not None and one.id > after]

    def now(self) -> float:
        if not self._names:
            raise StorageError("no study was loaded yet; load it by its name first")
        return self._by_id(next(iter(self._names))).now

    def workers(self, study: int) -> list[WorkerRecord]:
        found = self._connection.get(f"/api/work/{study}/workers", work.Crew)
        return [WorkerRecord(one.name, one.facts, one.first_seen, one.last_seen) for one in found.workers]

    def leases(self, study: int) -> list[Ticket]:
        """Nothing: which workers have died is seen from their last signs of life."""
        return []

    def wait(self, study: int, revision: int, seconds: float) -> int:
        if seconds <= 0:
            return self._by_id(study).revision
        return self._by_id(study, revision=revision, seconds=min(seconds, work.LONGEST_WAIT)).revision

    # ------------------------------------------------------------ a worker comes and goes

    def register_worker(self, study: int, name: str, facts: Json) -> None:
        self._connection.post(f"/api/work/{study}/join", work.Join(worker=name, facts=dict(facts)), Done)

    def set_facts(self, study: int, facts: Json) -> StudyRecord:
        self._connection.post(f"/api/work/{study}/facts", work.ArmsFacts(facts=dict(facts)), work.ArmsFacts)
        return _record(self._by_id(study))

    def bury(self, study: int, worker: str, *, counted: bool) -> int:
        self._connection.post(f"/api/work/{study}/leave", work.Leave(worker=worker, counted=counted), Done)
        return 0

    def add_note(self, study: int, kind: str, body: Json) -> None:
        self._connection.post(f"/api/work/{study}/notes", work.Remark(kind=cast(Any, kind), body=dict(body)), Done)

    # ------------------------------------------------------------ leases

    def exchange(
        self,
        study: int,
        worker: str,
        finished: Sequence[Draw | Failure] = (),
        want: int = 0,
        arms: Collection[int] | None = None,
        seconds: float = 60.0,
    ) -> Answered:
        """As `Storage.exchange`. Much that is finished goes in several requests: to repeat them changes nothing."""
        *parts, last = _parts(finished)
        served = None if arms is None else sorted(arms)
        outcomes = [one for part in parts for one in self._exchange(study, worker, part, 0, served, seconds).outcomes]
        answered = self._exchange(study, worker, last, want, served, seconds)
        leased = tuple(
            Ticket(
                one.id, one.round, one.place, one.arm, one.piece, one.start, one.count, "leased", one.lease, worker,
                one.expires, one.deaths,
            )
            for one in answered.leased
        )  # fmt: skip
        return Answered((*outcomes, *answered.outcomes), leased)

    def _exchange(
        self,
        study: int,
        worker: str,
        finished: list[work.DrawIn | work.FailureIn],
        want: int,
        arms: list[int] | None,
        seconds: float,
    ) -> work.Exchanged:
        held = sorted(self._held) if self._unsure else None
        asked = work.Exchange(
            worker=worker, finished=finished, want=min(want, work.MOST_DRAWS), arms=arms, seconds=seconds, held=held
        )
        try:
            answered = self._connection.post(f"/api/work/{study}/exchange", asked, work.Exchanged)
        except StoreAwayError:
            self._unsure = True
            raise
        self._unsure = False
        for one in finished:
            self._held.pop(one.ticket, None)
        self._held |= {one.id: one.lease for one in answered.leased}
        return answered

    def renew(self, study: int, worker: str, held: Mapping[int, int], seconds: float) -> set[int]:
        asked = work.Beat(worker=worker, held=dict(held), seconds=seconds)
        return set(self._connection.post(f"/api/work/{study}/heartbeat", asked, work.Kept).kept)

    # ------------------------------------------------------------ what the server does, or nobody can do by URL

    def take_step(self, study: int, worker: str, seconds: float) -> bool:
        """The server does the step."""
        return False

    def load_snapshot(self, study: int) -> None:
        """Snapshots are for those who do the step."""

    def open_round(self, study: int, number: int, tickets: object) -> list[Ticket]:
        raise _by_storage("rounds are opened by the server")

    def draws(self, study: int, first: int, last: int) -> Iterator[tuple[Ticket, Draw]]:
        raise _by_storage("the study reads samples of an earlier one, which workers by URL cannot")


def _by_storage(what: str) -> StorageError:
    return StorageError(f"{what}; start the worker with --storage")


def _record(found: work.Look) -> StudyRecord:
    return StudyRecord(
        found.id, found.name, found.spec, found.state, found.created, found.revision, found.facts, found.limits
    )


def _note(one: NoteView) -> Note:
    return Note(one.id, one.kind, one.body, one.written)


def _parts(finished: Sequence[Draw | Failure]) -> list[list[work.DrawIn | work.FailureIn]]:
    """What is finished, in parts that fit into one request; at least one part."""
    parts: list[list[work.DrawIn | work.FailureIn]] = [[]]
    size = 0
    for one in finished:
        sent = _sent(one)
        size += len(sent.rows) if isinstance(sent, work.DrawIn) else len(sent.message)
        if parts[-1] and (size > _ROOM or len(parts[-1]) == work.MOST_DRAWS):
            parts.append([])
            size = len(sent.rows) if isinstance(sent, work.DrawIn) else len(sent.message)
        parts[-1].append(sent)
    return parts


def _sent(one: Draw | Failure) -> work.DrawIn | work.FailureIn:
    if isinstance(one, Failure):
        return work.FailureIn(ticket=one.ticket, lease=one.lease, message=one.message[:10_000], final=one.final)
    rows = base64.b64encode(encode(one.rows)).decode()
    return work.DrawIn(
        ticket=one.ticket, lease=one.lease, rows=rows, started=one.started, ended=one.ended, n_paid=one.n_paid
    )
