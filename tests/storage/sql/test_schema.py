from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from kabc.storage.contract import Storage
from kabc.storage.errors import StorageError
from kabc.storage.opening import open_storage
from kabc.storage.sql.schema import MIGRATIONS, VERSION, VERSION_TABLE
from kabc.storage.sql.tables import metadata
from tests.postgres import new_database


def differences(store: Storage) -> list[object]:
    with store._home.transaction(write=False) as connection:  # type: ignore[attr-defined]
        context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE, "compare_type": True})
        return list(compare_metadata(context, metadata))


def test_migrations_make_the_tables_that_the_code_uses_in_sqlite(tmp_path: Path) -> None:
    store = open_storage(tmp_path / "kabc.db")
    assert differences(store) == []
    store.close()


def test_migrations_make_the_tables_that_the_code_uses_in_postgres(postgres: str) -> None:
    store = open_storage(new_database(postgres))
    assert differences(store) == []
    store.close()


def test_there_is_one_migration_for_each_version() -> None:
    names = sorted(path.name[:4] for path in (MIGRATIONS / "versions").glob("*.py"))
    assert names == [f"{number:04d}" for number in range(1, VERSION + 1)]


def test_a_store_of_a_later_version_is_refused_by_name_and_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "kabc.db"
    open_storage(path).close()
    with sqlite3.connect(path) as later:
        later.execute(f"UPDATE {VERSION_TABLE} SET version_num = '0007'")
    later.close()
    before = path.read_bytes()
    said = rf"{path} was written by a later version of kabc \(schema 7, this one knows {VERSION}\); upgrade kabc"
    with pytest.raises(StorageError, match=said):
        open_storage(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("version", ["", "x", "'; DROP TABLE kabc_studies; --"])
def test_a_version_that_is_no_number_is_refused(tmp_path: Path, version: str) -> None:
    path = tmp_path / "kabc.db"
    open_storage(path).close()
    with sqlite3.connect(path) as broken:
        broken.execute(f"UPDATE {VERSION_TABLE} SET version_num = ?", (version,))
    broken.close()
    with pytest.raises(StorageError, match="has no readable version"):
        open_storage(path)


def test_tables_of_ours_without_a_version_are_refused(postgres: str) -> None:
    import psycopg

    url = new_database(postgres)
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE kabc_studies (id bigint)")
    with pytest.raises(StorageError, match="tables of kabc without a version"):
        open_storage(url)


def test_a_database_may_hold_other_tables(postgres: str) -> None:
    import psycopg

    url = new_database(postgres)
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE accounts (id bigint)")
    store = open_storage(url)
    assert store.study_names() == []
    store.close()


@pytest.mark.parametrize("home", ["sqlite", "postgres"])
def test_many_may_open_a_new_store_at_once(tmp_path: Path, postgres: str, home: str) -> None:
    place = str(tmp_path / "kabc.db") if home == "sqlite" else new_database(postgres)
    with ThreadPoolExecutor(8) as pool:
        stores = list(pool.map(lambda _: open_storage(place), range(8)))
    assert [store.study_names() for store in stores] == [[]] * 8
    for store in stores:
        store.close()


def test_a_migration_that_fails_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sqlalchemy
    from alembic import op

    def fails(*_: object, **__: object) -> None:
        raise sqlalchemy.exc.OperationalError("CREATE INDEX", {}, sqlite3.OperationalError("disk I/O error"))

    path = tmp_path / "kabc.db"
    monkeypatch.setattr(op, "create_index", fails)
    with pytest.raises(StorageError):
        open_storage(path)
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == []
    connection.close()
    monkeypatch.undo()
    open_storage(path).close()
