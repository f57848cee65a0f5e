"""A study from one store to another, row by row: samples, times, workers and notes as they are.

Ids are given anew. What is leased in the source is open in the copy: its workers do not know of the copy. Snapshots are
a cache, and stay behind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from sqlalchemy import Connection, Row, Table, insert, select
from sqlalchemy.exc import DBAPIError

from kabc.storage.checks import as_json, check_name, name_taken, no_such_id
from kabc.storage.sql.records import mapping
from kabc.storage.sql.store import SqlStorage
from kabc.storage.sql.tables import DONE, LEASED, OPEN, draws, late, notes, rounds, studies, tickets, totals, workers

Progress = Callable[[int], None]  # is told how many samples are copied

_AT_ONCE = 2_000  # rows that are held in memory


def copy_study(
    source: SqlStorage, study: int, target: SqlStorage, name: str, progress: Progress = lambda n: None
) -> None:
    """Copy a study of one store into another, under a name that is free there. It is there whole or not at all."""
    check_name("study", name)
    try:
        with source.home.transaction(write=False) as read:
            source.home.as_of_now(read)
            try:
                with target.home.transaction(write=True) as write:
                    _Copy(source, read, target, write, study, name, progress).run()
            except DBAPIError as error:
                raise target.home.explained(error) from error
    except DBAPIError as error:
        raise source.home.explained(error) from error
    target.home.settle()


class _Copy:
    """One study on its way."""

    def __init__(
        self,
        source: SqlStorage,
        read: Connection,
        target: SqlStorage,
        write: Connection,
        study: int,
        name: str,
        progress: Progress,
    ) -> None:
        self._source, self._read, self._target, self._write = source, read, target, write
        self._study, self._name, self._progress = study, name, progress
        self._new = 0  # id of the study in the target
        self._workers: dict[int, int] = {}  # id in the source -> id in the target
        self._ids: dict[object, int] = {}  # the same of tickets that notes are about
        self._n_samples = 0

    def run(self) -> None:
        """Everything, in the order in which rows point to each other."""
        self._new = self._head()
        self._workers = self._copied_workers()
        for table in (rounds, totals):
            for rows in self._pages(table, *table.primary_key.columns):
                self._write.execute(insert(table), [_values(row) | {"study": self._new} for row in rows])
        self._ids = {_about(row): 0 for rows in self._pages(notes, notes.c.id) for row in rows}
        for rows in self._pages(tickets, tickets.c.id):
            self._copy_tickets(rows)
        for rows in self._pages(notes, notes.c.id):
            self._write.execute(insert(notes), [self._note(row) for row in rows])
        self._target.home.tell(self._write, self._new)

    def _head(self) -> int:
        row = self._read.execute(select(studies).where(studies.c.id == self._study)).one_or_none()
        if row is None:
            raise no_such_id(self._study, self._source.home.label)
        if self._write.execute(select(studies.c.id).where(studies.c.name == self._name)).first() is not None:
            raise name_taken(self._name, self._target.home.label)
        values = _values(row, "id") | {"name": self._name, "step_worker": "", "step_expires": 0.0, "token": ""}
        return int(self._write.execute(insert(studies).values(values).returning(studies.c.id)).scalar_one())

    def _copied_workers(self) -> dict[int, int]:
        found: dict[int, int] = {}
        for rows in self._pages(workers, workers.c.id):
            new = self._inserted(workers, [_values(row, "id") | {"study": self._new} for row in rows])
            found |= zip((row.id for row in rows), new, strict=True)
        return found

    def _copy_tickets(self, rows: list[Row[Any]]) -> None:
        new = self._inserted(tickets, [self._ticket(row) for row in rows])
        ids = dict(zip((row.id for row in rows), new, strict=True))
        self._ids |= {old: new for old, new in ids.items() if old in self._ids}
        done = {row.id for row in rows if row.state == DONE}
        among = tickets.c.study == self._study, tickets.c.id.between(rows[0].id, rows[-1].id)
        for table in (draws, late):
            query = select(table).join(tickets, tickets.c.id == table.c.ticket).where(*among)
            for part in self._read.execute(query.execution_options(yield_per=_AT_ONCE)).partitions():
                kept = [row for row in part if table is late or row.ticket in done]
                values = [self._drawn(row, ids) for row in kept]
                if values:
                    self._write.execute(insert(table), values)
        self._n_samples += sum(row._mapping["count"] for row in rows if row.state == DONE)
        self._progress(self._n_samples)

    def _ticket(self, row: Row[Any]) -> dict[str, Any]:
        values = _values(row, "id") | {"study": self._new, "token": None}
        if row.state == LEASED:
            return values | {"state": OPEN, "worker": None, "expires": 0.0}
        return values | {"worker": self._workers.get(row.worker)}

    def _note(self, row: Row[Any]) -> dict[str, Any]:
        """Notes name tickets by their ids, which are others here."""
        values = _values(row, "id") | {"study": self._new}
        if ticket := self._ids[_about(row)]:
            values["body"] = as_json("a note", mapping("a note", row.body) | {"ticket": ticket})
        return values

    def _drawn(self, row: Row[Any], ids: Mapping[int, int]) -> dict[str, Any]:
        return _values(row, "id") | {"ticket": ids[row.ticket], "worker": self._workers[row.worker]}

    def _inserted(self, table: Table, values: list[dict[str, Any]]) -> list[int]:
        """The ids of new rows, in their order."""
        new = insert(table).returning(table.c.id, sort_by_parameter_order=True)
        return list(self._write.execute(new, values).scalars())

    def _pages(self, table: Table, *order: Any) -> Iterator[list[Row[Any]]]:
        query = select(table).where(table.c.study == self._study).order_by(*order)
        for part in self._read.execute(query.execution_options(yield_per=_AT_ONCE)).partitions():
            yield list(part)


def _about(row: Row[Any]) -> int | None:
    """The id of the ticket that a note is about."""
    ticket = mapping("a note", row.body).get("ticket")
    return ticket if isinstance(ticket, int) else None


def _values(row: Row[Any], *without: str) -> dict[str, Any]:
    return {name: value for name, value in row._mapping.items() if name not in without}
