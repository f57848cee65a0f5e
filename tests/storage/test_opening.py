from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kabc.storage.errors import StorageError
from kabc.storage.memory import MemoryStorage
from kabc.storage.opening import open_storage


@pytest.mark.parametrize("form", ["{}", "sqlite:///{}", "path"])
def test_a_path_and_a_url_open_the_same_file(tmp_path: Path, form: str) -> None:
    path = tmp_path / "kabc.db"
    store = open_storage(path if form == "path" else form.format(path))
    store.create_study("nightly", {}, {})
    assert store.url == f"sqlite:///{path}"
    store.close()
    again = open_storage(path)
    assert again.study_names() == ["nightly"]
    again.close()


def test_a_relative_path_is_of_the_folder_one_is_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    store = open_storage("sqlite:///kabc.db")
    monkeypatch.chdir("/")  # it stays where it was opened
    store.create_study("nightly", {}, {})
    store.close()
    assert (tmp_path / "kabc.db").exists()
    assert store.url == "sqlite:///kabc.db"


def test_nothing_is_memory_and_a_store_is_itself() -> None:
    assert isinstance(open_storage(None), MemoryStorage)
    mine = MemoryStorage()
    assert open_storage(mine) is mine


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("", "is not a file"),
        ("sqlite://", "is not a file"),
        (":memory:", "is not a file; a store in memory is storage=None"),
        ("mysql://host/x", "SQLite or PostgreSQL, not 'mysql'"),
        ("sqlite+aiosqlite:///x.db", "SQLite or PostgreSQL"),
        ("postgresql://me:hidden-word@host:no/x", r"me:\*\*\*@host"),
        ("no-such-folder/kabc.db", "no-such-folder'; make it first"),
        ("sqlite:///kabc.db?timeout=soon", "timeout must be seconds"),
        (7, "must be None, a path, a URL or a store, got 7"),
        (".", "cannot read '.': Is a directory"),
    ],
)
def test_what_cannot_be_a_store_is_refused(given: str, said: str) -> None:
    with pytest.raises(StorageError, match=said) as error:
        open_storage(given)
    assert "hidden-word" not in str(error.value)
    assert "\n" not in str(error.value)


def test_a_file_that_is_not_there_is_not_made_where_that_is_not_wished(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="there is no store"):
        open_storage(tmp_path / "kabc.db", create=False)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("missing", "given", "extra"),
    [
        ("sqlalchemy", "kabc.db", "storage"),
        ("alembic", "kabc.db", "storage"),
        ("psycopg", "postgresql://host/x", "postgres"),
    ],
)
def test_a_missing_library_is_named_with_its_extra(tmp_path: Path, missing: str, given: str, extra: str) -> None:
    code = f"""
import sys
sys.modules[{missing!r}] = None
from kabc.storage.opening import open_storage
try:
    open_storage({given!r})
except Exception as error:
    print(type(error).__name__, error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.stdout == f"StorageError this store needs {missing}; pip install 'kabc[{extra}]'\n", done.stderr
    assert not os.listdir(tmp_path)  # noqa: PTH208
