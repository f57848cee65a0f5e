"""Memory, SQLite and PostgreSQL do the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kabc.storage.contract import Storage
from kabc.storage.memory import MemoryStorage
from kabc.storage.opening import open_storage
from kabc.testing import StorageConformance
from tests.postgres import new_database


class TestMemory(StorageConformance):
    def make_storage(self) -> Storage:
        return MemoryStorage()


class _InDatabase(StorageConformance):
    _opened: list[Storage]
    _places: dict[str, str]

    @pytest.fixture(autouse=True)
    def _closed_at_the_end(self) -> Iterator[None]:
        self._opened, self._places = [], {}
        yield
        for store in self._opened:
            store.close()

    def open_place(self, place: str) -> Storage:
        store = open_storage(place)
        self._opened.append(store)
        self._places[store.url] = place
        return store

    def again(self, store: Storage) -> Storage:
        return self.open_place(self._places[store.url])


class TestSqlite(_InDatabase):
    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path

    def make_storage(self) -> Storage:
        return self.open_place(str(self.folder / "kabc.db"))


class TestPostgres(_InDatabase):
    @pytest.fixture(autouse=True)
    def _server(self, postgres: str) -> None:
        self.server = postgres

    def make_storage(self) -> Storage:
        return self.open_place(new_database(self.server))
