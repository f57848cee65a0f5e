"""A store in a PostgreSQL database."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakSet, finalize

from sqlalchemy import URL, Connection, Engine, Table, create_engine, event, text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.exc import DBAPIError

from kabc.core.secrets import hide, hide_url, url_secrets
from kabc.core.words import shown
from kabc.storage.errors import StorageError, StoreAwayError
from kabc.storage.sql.home import Home

_LOCK = 0x6B616263  # "kabc": of the schema
_LOOK_EVERY = 1.0  # seconds after which who waits looks by itself: a message may be lost with its connection
_COLLISIONS = ("40001", "40P01")  # two transactions in each other's way
_RESTARTS = ("57P01", "57P02", "57P03", "08", "53300", "25P03")  # it stops, starts, is full, or the connection broke
_IDLE_SECONDS = 30  # that a transaction may stand still: a process that is frozen in one holds up all others
_NO_ROOM = ("53100", "53200")  # on its disk, in its memory


class PostgresHome(Home):
    """A database on a server."""

    def __init__(self, url: URL) -> None:
        given = url.render_as_string(hide_password=False)
        self.label = self.url = hide_url(given.replace("+psycopg", "", 1))
        self._secrets = url_secrets(given)
        self._engine: Engine = create_engine(
            url.set(drivername="postgresql+psycopg"),
            isolation_level="READ COMMITTED",
            pool_size=4,
            max_overflow=60,
            connect_args={"connect_timeout": 10, "application_name": "kabc"},
        )
        event.listen(self._engine, "connect", _durable)
        _HOMES.add(self)
        finalize(self, self._engine.dispose)  # also a store that nobody closes leaves no connection open

    def check(self) -> None:
        """A database may hold other tables beside ours."""

    # ------------------------------------------------------------ transactions

    @contextmanager
    def transaction(self, *, write: bool) -> Iterator[Connection]:
        with self._engine.begin() as connection:
            yield connection

    def server_version(self, connection: Connection) -> str:
        return str(connection.execute(text("SHOW server_version")).scalar_one())

    def as_of_now(self, connection: Connection) -> None:
        connection.execute(text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"))

    def alone(self, connection: Connection) -> None:
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})

    def insert(self, table: Table) -> Any:
        return insert(table)

    # ------------------------------------------------------------ waiting

    def tell(self, connection: Connection, study: int) -> None:
        connection.execute(text("SELECT pg_notify(:channel, '')"), {"channel": _channel(study)})

    def wait(self, study: int, seconds: float, changed: Callable[[], bool]) -> None:
        end = time.monotonic() + seconds
        with self._engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text(f"LISTEN {_channel(study)}"))
            raw: Any = connection.connection.driver_connection
            while not changed() and (left := end - time.monotonic()) > 0:
                for _ in raw.notifies(timeout=min(left, _LOOK_EVERY), stop_after=1):
                    pass
            connection.execute(text("UNLISTEN *"))

    # ------------------------------------------------------------ errors

    def passes(self, error: DBAPIError) -> bool:
        code = _state(error)
        return error.connection_invalidated or code in _COLLISIONS or (not code and _lost(error)) or _restarts(code)

    def explained(self, error: DBAPIError) -> StorageError:
        lines = [line.strip() for line in str(error.orig).splitlines() if line.strip()]
        why = hide(lines[0] if lines else type(error.orig).__name__, self._secrets)
        kind = StoreAwayError if self.passes(error) or _state(error) in _NO_ROOM else StorageError
        for words, cure in _CURES.items():
            if words in str(error.orig):
                return kind(f"cannot use {self.label}: {cure} ({shown(why)[:300]})")
        return kind(f"cannot use {self.label}: {shown(why)[:300]}; check the server and its log")

    def close(self) -> None:
        self._engine.dispose()

    def after_fork(self) -> None:
        """The connections belong to the parent."""
        self._engine.dispose(close=False)


def _durable(connection: Any, _: object) -> None:
    """What was acknowledged survives a crash, also where the server is set up otherwise. A frozen process lets go."""
    connection.execute(f"SET idle_in_transaction_session_timeout = '{_IDLE_SECONDS}s'")
    connection.execute(
        "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"
    )
    connection.commit()


_CURES = {
    "password": "check the user and the password",
    "no pg_hba.conf entry": "the server does not let this user in from here; ask who runs it",
    "does not exist": "make the database and the user first (createdb, createuser), or check their names",
    "Connection refused": "start the server, or check host and port",
    "resolve": "check the name of the host",
    "not known": "check the name of the host",
    "timeout": "it does not answer; check host and port",
    "permission denied": "the user needs the right to make and change tables there",
    "read-only": "it is read-only; use the primary server",
    "No space left": "its disk is full; make room, and run the same line again: all that was handed in is there",
}


def _channel(study: int) -> str:
    return f"kabc_{int(study)}"


def _state(error: DBAPIError) -> str:
    return getattr(error.orig, "sqlstate", None) or ""


def _restarts(code: str) -> bool:
    return code.startswith(_RESTARTS)


def _lost(error: DBAPIError) -> bool:
    import psycopg

    return isinstance(error.orig, psycopg.OperationalError | psycopg.InterfaceError)


_HOMES: WeakSet[PostgresHome] = WeakSet()


def _after_fork() -> None:
    for home in list(_HOMES):
        home.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
