"""Studies in figures: the list, and one of them. No sample is read."""

from __future__ import annotations

import time
from collections import Counter
from threading import Lock

from pydantic import ValidationError

from kabc.core.errors import KabcError
from kabc.running.identity import is_gone
from kabc.running.so_far import n_samples_of
from kabc.running.status import Figures
from kabc.server.models.studies import LeaseView, SoFar, Studies, StudyLine, StudyView, TicketCounts, WorkerView
from kabc.storage.contract import Json, Storage

_WORKERS = 200
_LEASES = 500
_PATIENCE = 1.0  # seconds in which studies are read that nobody has asked for before


class Lines:
    """The list of studies. What has not changed is not read again: answers of studies that have ended may be large."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._known: dict[str, StudyLine] = {}
        self._so_far: dict[int, Json] = {}

    def learn(self, study: int, so_far: Json | None) -> None:
        """What the server found out about a study that goes on, as it served it."""
        if so_far is not None:
            self._so_far[study] = so_far

    def studies(self, storage: Storage) -> Studies:
        """All of them, oldest first. With many that were never read, the latest ones, and how many are left."""
        with self._lock:
            names, until = storage.study_names(), time.monotonic() + _PATIENCE
            found, unread = {}, 0
            for name in reversed(names):
                if name not in self._known and time.monotonic() > until:
                    unread += 1
                elif (line := self._line(storage, name)) is not None:
                    found[name] = line
            self._known = lines = dict(reversed(found.items()))
            there = {line.id for line in lines.values() if line.state != "ended"}
            self._so_far = {study: known for study, known in self._so_far.items() if study in there}
            return Studies(storage=storage.url, now=storage.now(), studies=list(lines.values()), unread=unread)

    def _line(self, storage: Storage, name: str) -> StudyLine | None:
        known = self._known.get(name)
        try:
            if known is not None and known.state == "ended" and storage.wait(known.id, 0, 0.0) == known.revision:
                return known
        except KabcError:
            pass  # it was deleted, and there is another one of its name
        try:
            record = storage.load_study(name)
            seen = Figures(storage.summary(record.id), storage.workers(record.id), (), (), storage.now())
            return line_of(seen, self._so_far.get(record.id))
        except KabcError:
            return None  # deleted just now, or damaged


def line_of(seen: Figures, learnt: Json | None = None) -> StudyLine:
    """A study in the list. `learnt`: figures that the server knows, and the store may not."""
    study = seen.study
    known = [one for one in (seen.so_far, None if study.state == "ended" else learnt) if one is not None]
    return StudyLine(
        id=study.id,
        name=study.name,
        state=study.state,
        status=None if study.answer is None or study.state != "ended" else str(study.answer.get("status")),
        created=study.created,
        last_change=seen.summary.last_change,
        revision=study.revision,
        n_arms=len(seen.arms),
        n_rounds=seen.summary.n_rounds,
        n_samples=seen.summary.n_samples,
        max_samples=seen.max_samples,
        spent=seen.spent,
        n_workers=len(seen.at_work) if study.state == "running" else 0,
        so_far=_so_far(max(known, key=n_samples_of, default=None)),
    )


def _so_far(known: Json | None) -> SoFar | None:
    try:
        return None if known is None else SoFar.model_validate(known)
    except ValidationError:  # written by something else than kabc
        return None


def view_of(storage: Storage, study: int) -> StudyView:
    """One study. It reads the store."""
    # without the samples of single arms: to count them takes longer the longer a round is, and the answer has them
    summary, leases = storage.summary(study), storage.leases(study)
    seen = Figures(summary, storage.workers(study), leases, storage.notes(study), storage.now())
    held = Counter(one.worker for one in seen.leases)
    alive = {one.name for one in seen.at_work}
    return StudyView(
        **line_of(seen).model_dump(),
        now=seen.now,
        question={name: value for name, value in seen.spec.question().items() if name != "names"},
        arms=list(seen.arms),
        price=seen.price,
        n_paid=seen.summary.n_paid,
        tickets=TicketCounts(**dict(seen.summary.tickets)),
        workers=[
            WorkerView(
                name=one.name,
                host=str(one.facts.get("host", ""))[:200],
                alive=one.name in alive and not is_gone(one.facts),
                first_seen=one.first_seen,
                last_seen=one.last_seen,
                n_leases=held[one.name],
                n_arms=len(one.facts.get("arms", ())) if isinstance(one.facts.get("arms"), list) else 0,
            )
            for one in seen.workers[-_WORKERS:]
        ],
        leases=[
            LeaseView(
                ticket=one.id,
                arm=seen.arm(one.arm),
                count=one.count,
                worker=one.worker,
                expires=one.expires,
                lapsed=one.expires < seen.now,
                deaths=one.deaths,
            )
            for one in seen.leases[:_LEASES]
        ],
        notes=dict(Counter(one.kind for one in seen.notes)),
    )
