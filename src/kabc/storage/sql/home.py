"""Where a store lives: what SQLite and PostgreSQL do differently."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from sqlalchemy import Connection, Table
from sqlalchemy.exc import DBAPIError

from kabc.storage.errors import StorageError


class Home(ABC):
    """One database."""

    label: str  # for messages: a path, or a URL without its password
    url: str  # without its password

    @abstractmethod
    def check(self) -> None:
        """Refuse a place that is not a store, and touch nothing there."""

    @abstractmethod
    def transaction(self, *, write: bool) -> AbstractContextManager[Connection]:
        """All or nothing. Transactions that write see no change of others meanwhile."""

    def server_version(self, connection: Connection) -> str:
        """Of the server, if there is one."""
        return ""

    def settle(self) -> None:  # noqa: B027  (a server has nothing to do)
        """Bring what was written to its last place, where it may lie in a log beside it."""

    @abstractmethod
    def as_of_now(self, connection: Connection) -> None:
        """Until the transaction ends, it sees the database as it is now. To be called before anything is read."""

    @abstractmethod
    def alone(self, connection: Connection) -> None:
        """Until the transaction ends, no other process changes the tables."""

    @abstractmethod
    def insert(self, table: Table) -> Any:
        """An insert that knows `on_conflict_do_nothing` and `on_conflict_do_update`."""

    @abstractmethod
    def tell(self, connection: Connection, study: int) -> None:
        """Wake those who wait for a change of the study, when the transaction ends."""

    @abstractmethod
    def wait(self, study: int, seconds: float, changed: Callable[[], bool]) -> None:
        """Wait until the study has changed, at most so many seconds."""

    @abstractmethod
    def passes(self, error: DBAPIError) -> bool:
        """Whether the same call may succeed soon: the connection was lost, or two calls got in each other's way."""

    @abstractmethod
    def explained(self, error: DBAPIError) -> StorageError:
        """What went wrong, and the cure, in one line."""

    @abstractmethod
    def close(self) -> None:
        """End all connections."""
