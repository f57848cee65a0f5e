"""Tokens: small rows, of which only hashes are kept."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Row, delete, select

from kabc.storage.checks import check_name
from kabc.storage.contract import Scope, TokenRecord
from kabc.storage.sql.clock import NOW
from kabc.storage.sql.home import Home
from kabc.storage.sql.records import damaged, number, whole, words
from kabc.storage.sql.tables import tokens

_SCOPES: dict[object, Scope] = {"read": "read", "tell": "tell", "admin": "admin"}


def add(
    home: Home, connection: Connection, label: str, scope: Scope, digest: str, seconds: float | None
) -> TokenRecord:
    """A token; the same call again finds the one that it made."""
    check_name("token", label)
    now = number("a time", connection.execute(select(NOW)).scalar_one())
    expires = None if seconds is None else now + seconds
    new = home.insert(tokens).values(label=label, scope=scope, digest=digest, created=now, expires=expires)
    connection.execute(new.on_conflict_do_nothing(index_elements=["digest"]))
    return _record(connection.execute(select(tokens).where(tokens.c.digest == digest)).one())


def read(connection: Connection) -> list[TokenRecord]:
    """All of them, oldest first."""
    return [_record(row) for row in connection.execute(select(tokens).order_by(tokens.c.id))]


def remove(connection: Connection, token: int) -> bool:
    """Whether it was there."""
    return connection.execute(delete(tokens).where(tokens.c.id == token)).rowcount == 1


def _record(row: Row[Any]) -> TokenRecord:
    if row.scope not in _SCOPES:
        raise damaged("the scope of a token", row.scope)
    return TokenRecord(
        whole("the id of a token", row.id),
        words("the label of a token", row.label),
        _SCOPES[row.scope],
        words("the digest of a token", row.digest),
        number("a time", row.created),
        None if row.expires is None else number("a time", row.expires),
    )
