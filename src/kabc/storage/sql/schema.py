"""The version of a store's tables, and how an older store is brought up to date.

Versions are the numbers of the files in `migrations/versions`. A store is changed in one transaction, while no other
process changes it: it has the old tables or the new ones, never something between.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from sqlalchemy import Connection, inspect, text

from kabc.core.words import shown
from kabc.storage.errors import StorageError
from kabc.storage.sql.home import Home

VERSION = 3
VERSION_TABLE = "kabc_version"
MIGRATIONS = Path(__file__).parent / "migrations"

T = TypeVar("T")
Run = Callable[[Callable[[Connection], T], bool], T]  # a transaction, and whether it writes


def prepare(home: Home, run: Run[int]) -> None:
    """Make the tables, or bring them up to date. Refuse those of a later version."""
    if run(lambda connection: _checked(home, connection), False) < VERSION:
        run(lambda connection: _upgraded(home, connection), True)


def _checked(home: Home, connection: Connection) -> int:
    found = version_of(home, connection)
    if found > VERSION:
        raise StorageError(
            f"{home.label} was written by a later version of kabc (schema {found}, this one knows {VERSION}); "
            "upgrade kabc"
        )
    return found


def version_of(home: Home, connection: Connection) -> int:
    """The version of the tables; 0 if there are none."""
    names = inspect(connection).get_table_names()
    if VERSION_TABLE not in names:
        if "kabc_studies" in names:
            raise StorageError(f"{home.label} has tables of kabc without a version; restore it from a copy")
        return 0
    found = connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalars().all()
    if len(found) != 1 or not str(found[0]).isdecimal():
        raise StorageError(f"{home.label} has no readable version: {shown(found)[:100]}; restore it from a copy")
    return int(found[0])


def _upgraded(home: Home, connection: Connection) -> int:
    home.alone(connection)
    if _checked(home, connection) < VERSION:  # another process may have been quicker
        from alembic import command
        from alembic.config import Config

        settings = Config(attributes={"connection": connection})
        settings.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
        settings.set_main_option("path_separator", "os")
        command.upgrade(settings, f"{VERSION:04d}")
    return VERSION
