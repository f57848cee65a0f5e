"""A store in one SQLite file.

One connection for each process, used by one thread at a time: SQLite writes one after the other anyway. It is closed
before a process forks, because locks of SQLite do not survive that.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any
from weakref import WeakSet, finalize

from sqlalchemy import URL, Connection, Table, create_engine
from sqlalchemy.dialects.sqlite import insert
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import StaticPool

from kabc.core.words import shown
from kabc.storage.checks import MOST_BYTES
from kabc.storage.errors import StorageError, StoreAwayError
from kabc.storage.sql.home import Home

APPLICATION = 0x6B616263  # "kabc", in the header of the file
_PATIENCE = 60.0  # seconds in which another process may hold the lock
_LARGE_LOG = 2**25  # bytes of the write-ahead log from which it is emptied, even if readers have to wait
_WAIT_FOR_READERS = 1.0  # seconds, when it is emptied
_LOOK_EVERY = 50  # writes between two looks at its size
_FIRST_NAP, _LONGEST_NAP = 0.002, 0.1  # seconds between two looks for a change


class SqliteHome(Home):
    """A file."""

    def __init__(self, path: str, patience: float = _PATIENCE) -> None:
        self.label = path
        self.url = f"sqlite:///{path}"
        self._path = Path(path).absolute()  # it is opened again after a fork, perhaps from another folder
        self._patience = patience
        self._lock = threading.RLock()
        self._connection: Connection | None = None
        self._writes = 0
        _HOMES.add(self)

    # ------------------------------------------------------------ opening

    def check(self) -> None:
        try:
            if not self._path.stat().st_size:
                return
            with closing(self._header()) as header:
                application = header.execute("PRAGMA application_id").fetchone()[0]
        except FileNotFoundError:
            if not self._path.parent.is_dir():
                raise StorageError(f"there is no folder {str(self._path.parent)!r}; make it first") from None
            return
        except (OSError, sqlite3.OperationalError) as error:
            why = "Is a directory" if self._path.is_dir() else getattr(error, "strerror", error)
            raise StorageError(f"cannot read {self.label!r}: {why}; check the path and its rights") from error
        except sqlite3.DatabaseError:
            raise StorageError(f"{self.label!r} is not a SQLite database; choose another path") from None
        if application != APPLICATION:
            raise StorageError(f"{self.label!r} is a database, but not a store of kabc; choose another path")

    def _header(self) -> sqlite3.Connection:
        """A look at the first page of the file as it is: nothing is locked, written or made beside it.

        A plain open and close would drop the locks of all other connections that this process has to the file.
        """
        header = sqlite3.connect(f"{self._path.as_uri()}?mode=ro&immutable=1", uri=True)
        header.execute("PRAGMA writable_schema = ON")  # a file that grows just now is not taken for a damaged one
        return header

    def _connected(self) -> Connection:
        if self._connection is None:
            url = URL.create("sqlite", database=str(self._path))
            options = {"timeout": self._patience, "check_same_thread": False, "isolation_level": None}
            engine = create_engine(url, poolclass=StaticPool, connect_args=options)
            connection = engine.connect()
            try:
                self._set_up(connection)
            except BaseException:
                engine.dispose()
                raise
            self._connection = connection
            finalize(self, engine.dispose)  # a store that nobody closes leaves no connection open
        return self._connection

    def _set_up(self, connection: Connection) -> None:
        raw: Any = connection.connection.driver_connection
        raw.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_BYTES + 2**16)  # a blob beyond it is refused before it is read

        def pragma(text: str) -> Any:
            found = connection.exec_driver_sql(f"PRAGMA {text}")
            return found.scalar() if found.returns_rows else None

        if pragma("application_id") != APPLICATION:  # empty: `check` refuses all others
            pragma(f"application_id = {APPLICATION}")
        if pragma("journal_mode") != "wal" and pragma("journal_mode = WAL") != "wal":
            raise StorageError(f"{self.label!r} cannot have a write-ahead log; move it to a local disk")
        pragma("synchronous = FULL")
        pragma("foreign_keys = ON")
        pragma("trusted_schema = OFF")  # a file from elsewhere runs nothing
        pragma(f"journal_size_limit = {_LARGE_LOG}")
        connection.commit()

    # ------------------------------------------------------------ transactions

    @contextmanager
    def transaction(self, *, write: bool) -> Iterator[Connection]:
        with self._lock:
            connection = self._connected()
            try:
                connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")
                yield connection
                connection.commit()
            except BaseException:
                self._undo(connection)
                raise
            if write:
                self._writes += 1
                if self._writes % _LOOK_EVERY == 0:
                    self._empty_log(connection)

    def _undo(self, connection: Connection) -> None:
        """Back to where it was. A connection that broke is not used again: a new one has our settings."""
        with suppress(DBAPIError):
            connection.rollback()
        if connection.invalidated:
            self.close()

    def _empty_log(self, connection: Connection) -> None:
        """SQLite empties its log only while nobody reads. With many readers that never comes: here they wait."""
        try:
            large = self._path.with_name(f"{self._path.name}-wal").stat().st_size > _LARGE_LOG
        except OSError:
            return
        if large:
            with suppress(DBAPIError):  # somebody reads for longer: the next one tries again
                connection.exec_driver_sql(f"PRAGMA busy_timeout = {int(1000 * _WAIT_FOR_READERS)}")
                connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
            connection.exec_driver_sql(f"PRAGMA busy_timeout = {int(1000 * self._patience)}")
            connection.commit()

    def settle(self) -> None:
        """A plain copy of the file has what was written so far, unless somebody reads an older state just now."""
        with self._lock, suppress(DBAPIError):
            self._connected().exec_driver_sql("PRAGMA wal_checkpoint(PASSIVE)")

    def as_of_now(self, connection: Connection) -> None:
        """A transaction never sees the changes of others."""

    def alone(self, connection: Connection) -> None:
        """A transaction that writes is alone."""

    def insert(self, table: Table) -> Any:
        return insert(table)

    # ------------------------------------------------------------ waiting

    def tell(self, connection: Connection, study: int) -> None:
        """Those who wait look by themselves."""

    def wait(self, study: int, seconds: float, changed: Callable[[], bool]) -> None:
        end, nap = time.monotonic() + seconds, _FIRST_NAP
        while not changed() and (left := end - time.monotonic()) > 0:
            time.sleep(min(nap, left))
            nap = min(1.5 * nap, _LONGEST_NAP)

    # ------------------------------------------------------------ errors

    def passes(self, error: DBAPIError) -> bool:
        return _code(error) == "SQLITE_PROTOCOL"  # many opened the log at the same instant

    def explained(self, error: DBAPIError) -> StorageError:
        why = str(error.orig).splitlines()[0] if str(error.orig) else type(error.orig).__name__
        code = _code(error)
        kind = StoreAwayError if code.startswith(_AWAY) else StorageError
        for start, cure in _CURES.items():
            if code.startswith(start):
                return kind(f"{self.label!r}: {cure.format(seconds=self._patience)} ({shown(why)})")
        return kind(f"{self.label!r} cannot be used: {shown(why)[:300]}; check the file and its folder")

    # ------------------------------------------------------------ closing

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                engine = self._connection.engine
                self._connection.close()
                engine.dispose()
                self._connection = None

    def before_fork(self) -> None:
        """Wait for the transaction of another thread, and leave nothing open."""
        self._lock.acquire()
        with suppress(DBAPIError):
            self.close()

    def after_fork(self) -> None:
        """Both processes go on."""
        self._lock.release()


_AWAY = ("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_PROTOCOL", "SQLITE_FULL", "SQLITE_IOERR")  # these may pass
_CURES = {
    "SQLITE_BUSY": "another process has held the lock for {seconds:g} seconds; end it, or wait for it",
    "SQLITE_FULL": "the disk is full; make room, and run the same line again: all that was handed in is there",
    "SQLITE_READONLY": "the file or its folder is read-only; give write permission to both, or copy it elsewhere",
    "SQLITE_CANTOPEN": "it cannot be opened; check that the folder is there and may be written, or copy it elsewhere",
    "SQLITE_PERM": "access is denied; check the rights of the file and its folder",
    "SQLITE_NOTADB": "the file is not a SQLite database; choose another path",
    "SQLITE_CORRUPT": "the file is damaged; restore it from a copy",
    "SQLITE_TOOBIG": "it holds a value that is too large to be ours; restore it from a copy",
    "SQLITE_IOERR": "the disk cannot be read or written; check the disk, and that it is a local one",
}


def _code(error: DBAPIError) -> str:
    return getattr(error.orig, "sqlite_errorname", None) or ""


_HOMES: WeakSet[SqliteHome] = WeakSet()


def _before_fork() -> None:
    _FORKING[:] = list(_HOMES)
    for home in _FORKING:
        home.before_fork()


def _after_fork() -> None:
    while _FORKING:
        _FORKING.pop().after_fork()


_FORKING: list[SqliteHome] = []
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
