"""Studies in a database. Each method is one transaction, and is tried again where a connection was lost."""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TypeVar

from sqlalchemy import Connection, select
from sqlalchemy.exc import DBAPIError

from kabc.storage.checks import as_json
from kabc.storage.contract import (
    Answered,
    Draw,
    Failure,
    Json,
    NewTicket,
    Note,
    Scope,
    StudyRecord,
    StudyState,
    Summary,
    Ticket,
    TicketState,
    TokenRecord,
    WorkerRecord,
)
from kabc.storage.sql import leases, rounds, studies, tokens
from kabc.storage.sql.clock import NOW
from kabc.storage.sql.home import Home
from kabc.storage.sql.schema import prepare, version_of

_PATIENCE = 60.0  # seconds in which a server may come back
_FIRST_NAP, _LONGEST_NAP = 0.05, 2.0
_LATE_AT_ONCE = 16

T = TypeVar("T")
Work = Callable[[Connection], T]


class SqlStorage:
    """Studies in SQLite or PostgreSQL.

    A call whose connection was lost is made again, for a minute. Nobody knows then whether the first one was committed;
    so each call is such that making it twice is as good as once. `say` is told while it waits.
    """

    def __init__(self, home: Home, patience: float = _PATIENCE) -> None:
        self._home = home
        self._patience = 0.0  # a server that is not there when a store is opened is no interruption
        self._workers: dict[tuple[int, str], int] = {}  # (study, name) -> id
        self.say: Callable[[str], object] = logging.getLogger("kabc.storage").warning
        home.check()
        try:
            prepare(home, lambda work, write: self._run(work, write=write))
        except BaseException:
            home.close()
            raise
        self._patience = patience

    @property
    def url(self) -> str:
        return self._home.url

    def versions(self) -> tuple[int, str]:
        """Of its tables, and of its server; empty where there is no server."""

        def work(connection: Connection) -> tuple[int, str]:
            return version_of(self._home, connection), self._home.server_version(connection)

        return self._read(work)

    def try_to_write(self) -> None:
        """Begin a transaction that writes, and change nothing. Raises if that cannot be."""
        self._write(lambda c: None)

    @property
    def home(self) -> Home:
        """Its database."""
        return self._home

    def _run(self, work: Work[T], *, write: bool) -> T:
        end, nap = time.monotonic() + self._patience, _FIRST_NAP
        while True:
            try:
                with self._home.transaction(write=write) as connection:
                    return work(connection)
            except DBAPIError as error:
                left = end - time.monotonic()
                if not self._home.passes(error) or left <= 0:
                    raise self._home.explained(error) from error
            if nap >= 1:
                self.say(f"{self._home.label} does not answer; trying again for {left:.0f} seconds")
            time.sleep(min(nap, left))
            nap = min(2 * nap, _LONGEST_NAP)

    def _read(self, work: Work[T]) -> T:
        return self._run(work, write=False)

    def _write(self, work: Work[T]) -> T:
        return self._run(work, write=True)

    # ------------------------------------------------------------ studies

    def create_study(self, name: str, spec: Json, limits: Json) -> StudyRecord:
        token = _token()
        return self._write(lambda c: studies.create(self._home, c, name, spec, limits, token))

    def load_study(self, name: str) -> StudyRecord:
        return self._read(lambda c: studies.load_by_name(self._home, c, name))

    def study_names(self) -> list[str]:
        return self._read(studies.names)

    def delete_study(self, study: int) -> None:
        self._write(lambda c: studies.remove(c, study))

    def set_facts(self, study: int, facts: Json) -> StudyRecord:
        return self._write(lambda c: studies.set_facts(self._home, c, study, facts))

    def set_limits(self, study: int, limits: Json, note: Json) -> StudyRecord:
        token = _token()
        return self._write(lambda c: studies.set_limits(self._home, c, study, limits, note, token))

    def set_state(self, study: int, state: StudyState, note: Json) -> StudyRecord:
        token = _token()
        return self._write(lambda c: studies.set_state(self._home, c, study, state, note, token))

    def end(self, study: int, last_round: int, answer: Json) -> StudyRecord:
        text = as_json("the answer", answer)
        return self._write(lambda c: rounds.end(self._home, c, study, last_round, text))

    def summary(self, study: int) -> Summary:
        return self._read(lambda c: studies.summary(self._home, c, study))

    def samples_per_arm(self, study: int) -> Mapping[int, int]:
        return self._read(lambda c: studies.samples_per_arm(self._home, c, study))

    # ------------------------------------------------------------ rounds and tickets

    def open_round(self, study: int, number: int, tickets: Sequence[NewTicket]) -> list[Ticket]:
        if self._read(lambda c: rounds.is_open(c, study, number)):
            return self.tickets(study, number)
        return self._write(lambda c: rounds.open_round(self._home, c, study, number, tickets))

    def tickets(self, study: int, number: int) -> list[Ticket]:
        return self._read(lambda c: rounds.read(c, study, number))

    def unfinished(self, study: int) -> Mapping[TicketState, Mapping[int, int]]:
        return self._read(lambda c: rounds.unfinished(c, study))

    def exchange(
        self,
        study: int,
        worker: str,
        finished: Sequence[Draw | Failure] = (),
        want: int = 0,
        arms: Collection[int] | None = None,
        seconds: float = 60.0,
    ) -> Answered:
        if not finished:
            available = self._read(lambda c: leases.available(self._home, c, study, arms))
            if want <= 0 or not available:
                return Answered((), ())
        from kabc.storage.rows import encode  # a look at a study does without numpy

        call = leases.Exchange(
            study,
            self._worker(study, worker),
            worker,
            finished,
            [encode(one.rows) for one in finished if isinstance(one, Draw)],
            {name: self._worker(study, name) for name in {one.worker for one in finished}},
            want,
            arms,
            seconds,
            _token(),
        )
        tries = iter([False])

        def work(connection: Connection) -> Answered:
            return leases.exchange(self._home, connection, call, again=next(tries, True))

        return self._write(work)

    def _worker(self, study: int, name: str) -> int:
        key = study, name
        if key not in self._workers:
            self._workers[key] = self._write(lambda c: studies.worker_id(self._home, c, study, name))
        return self._workers[key]

    def reopen(self, study: int, note: Json) -> int:
        token = _token()
        return self._write(lambda c: rounds.reopen(self._home, c, study, note, token))

    def discard(self, study: int, ticket: int, note: Json) -> Ticket:
        token = _token()
        return self._write(lambda c: leases.discard(self._home, c, study, ticket, note, token))

    def renew(self, study: int, worker: str, held: Mapping[int, int], seconds: float) -> set[int]:
        number = self._worker(study, worker)
        return self._write(lambda c: leases.renew(self._home, c, study, number, worker, held, seconds))

    def bury(self, study: int, worker: str, *, counted: bool) -> int:
        return self._write(lambda c: leases.bury(self._home, c, study, worker, counted=counted))

    def deaths(self, study: int) -> Mapping[int, int]:
        return self._read(lambda c: rounds.deaths(c, study))

    def draws(self, study: int, first: int, last: int) -> Iterator[tuple[Ticket, Draw]]:
        pages = rounds.Pages(study, first, last)
        while not pages.ended:
            yield from self._read(pages.next)

    def late_draws(self, study: int) -> Iterator[tuple[Ticket, Draw]]:
        after = 0
        while page := self._read(lambda c: rounds.late_draws(c, study, after, _LATE_AT_ONCE)):  # noqa: B023
            yield from (pair for _, *pair in page)  # type: ignore[misc]
            after = page[-1][0]

    # ------------------------------------------------------------ the step

    def take_step(self, study: int, worker: str, seconds: float) -> bool:
        return self._write(lambda c: studies.take_step(self._home, c, study, worker, seconds))

    def drop_step(self, study: int, worker: str) -> None:
        self._write(lambda c: studies.drop_step(c, study, worker))

    # ------------------------------------------------------------ notes, workers, snapshots

    def add_note(self, study: int, kind: str, body: Json) -> None:
        token = _token()
        self._write(lambda c: studies.noted(self._home, c, study, kind, body, token))

    def notes(self, study: int, after: int = 0) -> list[Note]:
        return self._read(lambda c: studies.read_notes(c, study, after))

    def register_worker(self, study: int, name: str, facts: Json) -> None:
        worker = self._worker(study, name)
        self._write(lambda c: studies.register(self._home, c, study, worker, facts))

    def workers(self, study: int) -> list[WorkerRecord]:
        return self._read(lambda c: studies.read_workers(c, study))

    def leases(self, study: int) -> list[Ticket]:
        return self._read(lambda c: rounds.leases(c, study))

    def save_snapshot(self, study: int, number: int, content: bytes) -> None:
        self._write(lambda c: studies.save_snapshot(self._home, c, study, number, content))

    def load_snapshot(self, study: int) -> tuple[int, bytes] | None:
        return self._read(lambda c: studies.load_snapshot(c, study))

    def drop_snapshot(self, study: int) -> None:
        self._write(lambda c: studies.drop_snapshot(c, study))

    # ------------------------------------------------------------ tokens

    def add_token(self, label: str, scope: Scope, digest: str, seconds: float | None) -> TokenRecord:
        return self._write(lambda c: tokens.add(self._home, c, label, scope, digest, seconds))

    def tokens(self) -> list[TokenRecord]:
        return self._read(tokens.read)

    def remove_token(self, token: int) -> bool:
        return self._write(lambda c: tokens.remove(c, token))

    # ------------------------------------------------------------ the store itself

    def now(self) -> float:
        return self._read(lambda c: float(c.execute(select(NOW)).scalar_one()))

    def wait(self, study: int, revision: int, seconds: float) -> int:
        def current() -> int:
            return self._read(lambda c: studies.revision(self._home, c, study))

        end = time.monotonic() + seconds
        while True:
            try:
                self._home.wait(study, end - time.monotonic(), lambda: current() > revision)
            except DBAPIError as error:
                if not self._home.passes(error):
                    raise self._home.explained(error) from error
                current()  # waits for the server
                if time.monotonic() < end:
                    continue
            return current()

    def close(self) -> None:
        self._home.close()


def _token() -> str:
    return secrets.token_hex(8)
