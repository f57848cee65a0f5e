"""Studies, their notes, workers, snapshots and the step: small rows, written seldom."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, Connection, Row, bindparam, case, delete, func, insert, select, update

from kabc.storage.checks import as_json, check_name, name_taken, no_study, no_such_id
from kabc.storage.contract import Json, Note, StudyRecord, StudyState, Summary, WorkerRecord
from kabc.storage.sql.clock import NOW
from kabc.storage.sql.home import Home
from kabc.storage.sql.records import damaged, note_record, number, study_record, total, whole, words, worker_record
from kabc.storage.sql.tables import APART, DONE, FAILED, LEASED, notes, snapshots, studies, tickets, totals, workers

_MORE = (
    select(func.coalesce(func.sum(workers.c.changes), 0))
    .where(workers.c.study == studies.c.id)
    .scalar_subquery()
    .label("more")
)

_REVISION = select(studies.c.revision, _MORE).where(studies.c.id == bindparam("study"))


# ---------------------------------------------------------------- reading


def load(home: Home, connection: Connection, study: int) -> StudyRecord:
    """The study of an id."""
    row = connection.execute(select(studies, _MORE).where(studies.c.id == study)).one_or_none()
    if row is None:
        raise no_such_id(study, home.label)
    return study_record(row)


def load_by_name(home: Home, connection: Connection, name: str) -> StudyRecord:
    """The study of a name."""
    known = name.isprintable()  # others cannot even be asked for
    row = connection.execute(select(studies, _MORE).where(studies.c.name == name)).one_or_none() if known else None
    if row is None:
        raise no_study(name, names(connection), home.label)
    return study_record(row)


def names(connection: Connection) -> list[str]:
    """All names, oldest first."""
    found = connection.execute(select(studies.c.name).order_by(studies.c.id)).scalars()
    return [words("the name of a study", name) for name in found]


def revision(home: Home, connection: Connection, study: int) -> int:
    """Its revision alone: this is asked often."""
    row = connection.execute(_REVISION, {"study": study}).one_or_none()
    if row is None:
        raise no_such_id(study, home.label)
    return whole("the revision of a study", row.revision) + total("the changes of workers", row.more)


def summary(home: Home, connection: Connection, study: int) -> Summary:
    """Figures: totals of the rounds that were told, and what workers handed in for the latest one."""
    row = connection.execute(_SUMMARY, {"study": study}).one_or_none()
    if row is None:
        raise no_such_id(study, home.label)
    figures = {name: total(f"the figure {name}", row._mapping[name]) for name in _FIGURES}
    done, leased, failed = figures["done"], figures["leased"], figures["failed"]
    left = figures["in_round"] - done - leased - failed
    if left < 0:
        raise damaged("the number of open tickets", left)
    return Summary(
        study_record(row),
        whole("the number of rounds", row.n_rounds),
        whole("a round", row.latest),
        figures["told"] + figures["n_samples"],
        figures["told_paid"] + figures["n_paid"],
        {"open": left, "leased": leased, "done": done, "failed": failed},
        max(number("a time", row.changed), number("a time", row.by_worker or 0.0)),
    )


_FIGURES = ("told", "told_paid", "done", "n_samples", "n_paid", "in_round", "leased", "failed")


def _figure(name: str, value: Any, *conditions: Any) -> ColumnElement[Any]:
    return select(func.coalesce(value, 0)).where(*conditions).scalar_subquery().label(name)


def _apart(state: int) -> tuple[Any, ...]:
    return APART, tickets.c.study == studies.c.id, tickets.c.state == state, tickets.c.round == studies.c.latest


_latest = workers.c.study == studies.c.id, workers.c.round == studies.c.latest
_last = select(tickets.c.place + 1).where(tickets.c.study == studies.c.id, tickets.c.round == studies.c.latest)
_last = _last.order_by(tickets.c.place.desc()).limit(1)
# one query: in a database that others change, a second one would see another moment
_SUMMARY = select(
    studies,
    _MORE,
    select(func.max(workers.c.changed)).where(workers.c.study == studies.c.id).scalar_subquery().label("by_worker"),
    _figure("told", func.sum(totals.c.n_samples), totals.c.study == studies.c.id),
    _figure("told_paid", func.sum(totals.c.n_paid), totals.c.study == studies.c.id),
    _figure("done", func.sum(workers.c.n_done), *_latest),
    _figure("n_samples", func.sum(workers.c.n_samples), *_latest),
    _figure("n_paid", func.sum(workers.c.n_paid), *_latest),
    func.coalesce(_last.scalar_subquery(), 0).label("in_round"),
    _figure("leased", func.count(), *_apart(LEASED)),
    _figure("failed", func.count(), *_apart(FAILED)),
).where(studies.c.id == bindparam("study"))


def samples_per_arm(home: Home, connection: Connection, study: int) -> dict[int, int]:
    """Totals of the rounds that were told, and the tickets of those that were not."""
    counted = select(studies.c.counted).where(studies.c.id == study).scalar_subquery()
    told = select(totals.c.arm, totals.c.n_samples).where(totals.c.study == study)
    done = done_per_arm(study, counted).subquery()
    both = told.union_all(select(done.c.arm, done.c.n_samples)).subquery()
    found = connection.execute(select(both.c.arm, func.sum(both.c.n_samples)).group_by(both.c.arm).order_by(both.c.arm))
    samples = {whole("an arm", arm): total("the samples of an arm", n_samples) for arm, n_samples in found}
    if not samples:
        load(home, connection, study)  # deleted?
    return samples


def done_per_arm(study: int, after: Any, before: int | None = None) -> Any:
    """Arm, samples and their cost in the rounds between two numbers."""
    paid = case((tickets.c.n_paid == 0, tickets.c.count), else_=tickets.c.n_paid)
    query = select(tickets.c.arm, func.sum(tickets.c.count).label("n_samples"), func.sum(paid).label("n_paid")).where(
        tickets.c.study == study, tickets.c.round > after, tickets.c.state == DONE
    )
    if before is not None:
        query = query.where(tickets.c.round < before)
    return query.group_by(tickets.c.arm)


# ---------------------------------------------------------------- writing


def create(home: Home, connection: Connection, name: str, spec: Json, limits: Json, token: str) -> StudyRecord:
    """A new study; the same call again finds the one that it made."""
    check_name("study", name)
    there = connection.execute(select(studies.c.id, studies.c.token).where(studies.c.name == name)).one_or_none()
    if there is None:
        values = {
            "name": name,
            "spec": as_json("the spec", spec),
            "limits": as_json("the limits", limits),
            "token": token,
            "created": NOW,
            "changed": NOW,
        }
        made = home.insert(studies).values(_NEW | values).on_conflict_do_nothing(index_elements=["name"])
        connection.execute(made)  # another process may be writing the same name: then it waits here, and loses
        there = connection.execute(select(studies.c.id, studies.c.token).where(studies.c.name == name)).one()
    if there.token != token:
        raise name_taken(name, home.label)
    return load(home, connection, there.id)


_NEW: dict[str, Any] = {
    "state": "running",
    "revision": 1,
    "n_rounds": 0,
    "latest": -1,
    "counted": -1,
    "step_worker": "",
    "step_expires": 0.0,
}


def change(home: Home, connection: Connection, study: int, **values: Any) -> None:
    """A new revision of the study."""
    found = connection.execute(
        update(studies).where(studies.c.id == study).values(revision=studies.c.revision + 1, changed=NOW, **values)
    )
    if found.rowcount != 1:
        raise no_such_id(study, home.label)
    home.tell(connection, study)


def lock(home: Home, connection: Connection, study: int) -> Row[Any]:
    """The row of a study, which nobody else changes until the transaction ends."""
    row = connection.execute(select(studies).where(studies.c.id == study).with_for_update()).one_or_none()
    if row is None:
        raise no_such_id(study, home.label)
    return row


def remove(connection: Connection, study: int) -> None:
    """The study with all that belongs to it."""
    connection.execute(delete(studies).where(studies.c.id == study))


def set_facts(home: Home, connection: Connection, study: int, facts: Json) -> StudyRecord:
    """The first facts count."""
    if lock(home, connection, study).facts is None:
        change(home, connection, study, facts=as_json("the facts of the arms", facts))
    return load(home, connection, study)


def set_limits(home: Home, connection: Connection, study: int, limits: Json, note: Json, token: str) -> StudyRecord:
    """New limits, with a note."""
    row = lock(home, connection, study)
    if add_note(home, connection, study, "limits", note, token):
        state = "running" if row.state == "ended" else row.state
        change(home, connection, study, limits=as_json("the limits", limits), state=state)
    return load(home, connection, study)


def set_state(home: Home, connection: Connection, study: int, state: StudyState, note: Json, token: str) -> StudyRecord:
    """A new state, with a note."""
    lock(home, connection, study)
    if add_note(home, connection, study, state, note, token):
        change(home, connection, study, state=state)
    return load(home, connection, study)


# ---------------------------------------------------------------- notes


def add_note(home: Home, connection: Connection, study: int, kind: str, body: Json, token: str) -> bool:
    """Write a note, unless this call wrote it already."""
    mine = select(notes.c.id).where(notes.c.study == study, notes.c.token == token)
    if token and connection.execute(mine.limit(1)).first() is not None:
        return False
    write_notes(home, connection, study, [(kind, body)], token)
    return True


def noted(home: Home, connection: Connection, study: int, kind: str, body: Json, token: str) -> None:
    """Write a note by itself."""
    lock(home, connection, study)
    if add_note(home, connection, study, kind, body, token):
        change(home, connection, study)


def write_notes(home: Home, connection: Connection, study: int, some: list[tuple[str, Json]], token: str = "") -> None:
    """Write notes in their order."""
    rows = [{"kind": kind, "body": as_json("a note", body)} for kind, body in some]
    if rows:
        connection.execute(insert(notes).values(study=study, written=NOW, token=token), rows)


def read_notes(connection: Connection, study: int, after: int, kind: str | None = None) -> list[Note]:
    """Notes with a higher id, of one kind or all."""
    query = select(notes).where(notes.c.study == study, notes.c.id > after).order_by(notes.c.id)
    query = query if kind is None else query.where(notes.c.kind == kind)
    return [note_record(row) for row in connection.execute(query)]


# ---------------------------------------------------------------- workers


def worker_id(home: Home, connection: Connection, study: int, name: str) -> int:
    """The row of a worker; it is made if there is none."""
    check_name("worker", name)
    mine = select(workers.c.id).where(workers.c.study == study, workers.c.name == name)
    found = connection.execute(mine).scalar()
    if found is None:
        load(home, connection, study)
        row = home.insert(workers).values(study=study, name=name, **_NEW_WORKER)
        connection.execute(row.on_conflict_do_nothing(index_elements=["study", "name"]))
        found = connection.execute(mine).scalar_one()
    return whole("the id of a worker", found)


_NEW_WORKER: dict[str, Any] = {"first_seen": NOW, "last_seen": NOW, "changes": 0, "changed": 0.0}
_NEW_WORKER |= {"round": -1, "n_done": 0, "n_samples": 0, "n_paid": 0}


def register(home: Home, connection: Connection, study: int, worker: int, facts: Json) -> None:
    """A worker with its facts."""
    text = as_json("the facts of a worker", facts)
    seen(home, connection, worker, changed=True, study=study, facts=text)


def seen(home: Home, connection: Connection, worker: int, *, study: int, changed: bool, **values: Any) -> None:
    """The worker is alive; and whether it changed the study."""
    statement = _CHANGED if changed else _SEEN
    found = connection.execute(statement.values(**values) if values else statement, {"worker_id": worker})
    if found.rowcount != 1:
        raise no_such_id(study, home.label)


_SEEN = update(workers).where(workers.c.id == bindparam("worker_id")).values(last_seen=NOW)
_CHANGED = _SEEN.values(changes=workers.c.changes + 1, changed=NOW)


def tell(home: Home, connection: Connection, worker: int, study: int, round_: int, tally: Mapping[str, int]) -> None:
    """The worker handed in so many tickets, samples and calls of a round, and changed the study."""
    found = connection.execute(_TOLD, {"worker_id": worker, "for_round": round_, **tally})
    if found.rowcount != 1:
        raise no_such_id(study, home.label)


def _added(name: str) -> ColumnElement[Any]:
    """What a worker handed in for the latest round that it knows; an earlier one is told, and counted in the totals."""
    new: ColumnElement[Any] = bindparam(f"more_{name}", type_=BigInteger)
    this = bindparam("for_round", type_=BigInteger)
    return case((workers.c.round < this, new), (workers.c.round == this, workers.c[name] + new), else_=workers.c[name])


_TOLD = _CHANGED.values(
    round=case(
        (workers.c.round < bindparam("for_round"), bindparam("for_round", type_=BigInteger)), else_=workers.c.round
    ),
    **{name: _added(name) for name in ("n_done", "n_samples", "n_paid")},
)


def read_workers(connection: Connection, study: int) -> list[WorkerRecord]:
    """Those that registered, in order of their first time."""
    query = select(workers).where(workers.c.study == study, workers.c.facts.is_not(None)).order_by(workers.c.id)
    return [worker_record(row) for row in connection.execute(query)]


# ---------------------------------------------------------------- the step


def take_step(home: Home, connection: Connection, study: int, worker: str, seconds: float) -> bool:
    """Whether the worker has the step now."""
    free: ColumnElement[bool] = studies.c.step_worker.in_(["", worker]) | (studies.c.step_expires <= NOW)
    found = connection.execute(
        update(studies).where(studies.c.id == study, free).values(step_worker=worker, step_expires=NOW + seconds)
    )
    if found.rowcount != 1:
        load(home, connection, study)  # deleted?
    return found.rowcount == 1


def drop_step(connection: Connection, study: int, worker: str) -> None:
    """The step is free, if the worker had it."""
    mine = (studies.c.id == study) & (studies.c.step_worker == worker)
    connection.execute(update(studies).where(mine).values(step_worker="", step_expires=0.0))


# ---------------------------------------------------------------- snapshots


def save_snapshot(home: Home, connection: Connection, study: int, number_: int, content: bytes) -> None:
    """Replace the state that is kept."""
    load(home, connection, study)
    new = home.insert(snapshots).values(study=study, number=number_, content=content)
    same = {"number": new.excluded.number, "content": new.excluded.content}
    connection.execute(new.on_conflict_do_update(index_elements=["study"], set_=same))


def load_snapshot(connection: Connection, study: int) -> tuple[int, bytes] | None:
    """The state that is kept."""
    row = connection.execute(select(snapshots).where(snapshots.c.study == study)).one_or_none()
    if row is None:
        return None
    if not isinstance(row.content, bytes):
        raise damaged("a snapshot", row.content)
    return whole("the round of a snapshot", row.number), row.content


def drop_snapshot(connection: Connection, study: int) -> None:
    """Forget the state."""
    connection.execute(delete(snapshots).where(snapshots.c.study == study))
