"""Open the store that a setting names."""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import Any, cast

from kabc.core.secrets import hide_url
from kabc.core.words import shown
from kabc.storage.contract import Storage
from kabc.storage.errors import StorageError
from kabc.storage.memory import MemoryStorage

_POSTGRES = ("postgresql", "postgres", "postgresql+psycopg")


def open_storage(given: str | os.PathLike[str] | Storage | None, *, create: bool = True) -> Storage:
    """The store of a setting.

    Parameters
    ----------
    given : str, path, Storage or None
        None is memory. A path is a file of SQLite ("kabc.db"). A URL is "sqlite:///kabc.db" or
        "postgresql://user@host/name". An object with the methods of `Storage` is used as it is.
    create : bool, default True
        Whether a file that is not there is made.

    Returns
    -------
    Storage
        Close it when it is no longer needed, unless it was given.

    Examples
    --------
    >>> from kabc.storage.opening import open_storage
    >>> store = open_storage(None)
    >>> store.create_study("nightly", spec={}, limits={}).state
    'running'
    """
    if given is None:
        return MemoryStorage()
    if isinstance(given, str | os.PathLike):
        return _opened(os.fspath(given), create)
    if callable(getattr(given, "exchange", None)) and callable(getattr(given, "open_round", None)):
        return given
    raise StorageError(f"storage must be None, a path, a URL or a store, got {shown(repr(given))[:100]}")


def _opened(text: str, create: bool) -> Storage:
    if "://" not in text:
        return _file(text, create)
    _needed("sqlalchemy", "storage")
    from sqlalchemy import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        url = make_url(text)
    except (ArgumentError, ValueError):  # their messages may hold the password
        raise StorageError(f"{hide_url(text)} is not a URL of a database; write postgresql://user@host/name") from None
    if url.drivername == "sqlite":
        return _file(url.database or "", create, url.query.get("timeout"))
    if url.drivername in _POSTGRES:
        _needed("psycopg", "postgres")
        from kabc.storage.sql.postgres import PostgresHome
        from kabc.storage.sql.store import SqlStorage

        return SqlStorage(PostgresHome(url))
    raise StorageError(f"a store is SQLite or PostgreSQL, not {url.drivername!r}; write sqlite:/// or postgresql://")


def _file(path: str, create: bool, timeout: Any = None) -> Storage:
    if not path or path == ":memory:":
        raise StorageError(f"{path!r} is not a file; a store in memory is storage=None")
    if not create and not os.path.exists(path):  # noqa: PTH110
        raise StorageError(f"there is no store {path!r}; check the path")
    _needed("sqlalchemy", "storage")
    _needed("alembic", "storage")
    from kabc.storage.sql.sqlite import SqliteHome
    from kabc.storage.sql.store import SqlStorage

    return SqlStorage(SqliteHome(path) if timeout is None else SqliteHome(path, _seconds(timeout)))


def _seconds(timeout: Any) -> float:
    try:
        seconds = float(cast("str", timeout))
    except (TypeError, ValueError):
        seconds = -1.0
    if not 0 <= seconds <= 86_400:
        raise StorageError(f"timeout must be seconds between 0 and 86400, got {shown(repr(timeout))[:100]}")
    return seconds


def _needed(module: str, extra: str) -> None:
    if find_spec(module) is None:
        raise StorageError(f"this store needs {module}; pip install 'kabc[{extra}]'")
