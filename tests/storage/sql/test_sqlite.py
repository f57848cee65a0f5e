from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from kabc.storage.contract import Draw, NewTicket, Storage
from kabc.storage.errors import StorageError, StoreAwayError
from kabc.storage.opening import open_storage


def drawn(store: Storage, study: int, number: int, rows: int = 4) -> None:
    """One more round with one draw."""
    store.open_round(study, number, [NewTicket(0, 0, number * rows, rows)])
    (ticket,) = store.exchange(study, "ann", want=1).leased
    samples = np.random.default_rng(number).normal(size=(rows, 10))
    store.exchange(study, "ann", [Draw(ticket.id, ticket.lease, "ann", samples, 0.0, 1.0)])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "kabc.db"


def test_what_was_handed_in_survives_a_process_that_is_killed(path: Path) -> None:
    code = f"""
import os, signal
from tests.storage.sql.test_sqlite import drawn
from kabc.storage.opening import open_storage
store = open_storage({str(path)!r})
study = store.create_study("nightly", {{}}, {{}}).id
for number in range(5):
    drawn(store, study, number)
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert done.returncode == -9, done.stderr
    store = open_storage(path)
    assert store.summary(1).n_samples == 20
    store.close()


@pytest.mark.parametrize("broken", [False, True])
def test_the_settings_that_durability_needs_are_on_also_after_an_interruption(path: Path, broken: bool) -> None:
    store = open_storage(path)
    with (
        suppress(KeyboardInterrupt),
        store._home.transaction(write=True) as connection,  # type: ignore[attr-defined]
    ):
        if broken:
            connection.invalidate()  # as when Ctrl-C comes in the middle of a statement
        raise KeyboardInterrupt
    with store._home.transaction(write=False) as connection:  # type: ignore[attr-defined]
        found = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys", "trusted_schema", "busy_timeout")
        }
    store.close()
    assert found == {
        "journal_mode": "wal",
        "synchronous": 2,
        "foreign_keys": 1,
        "trusted_schema": 0,
        "busy_timeout": 60_000,
    }


# ---------------------------------------------------------------- what is not ours


@pytest.mark.parametrize("content", [b"some text\n" * 20, b"SQLite format 3\x00 too short", b"PK\x03\x04" + bytes(200)])
def test_a_file_that_is_no_database_is_refused_and_not_touched(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(StorageError, match="is not a SQLite database; choose another path"):
        open_storage(path)
    assert path.read_bytes() == content
    assert list(path.parent.iterdir()) == [path]


def test_a_database_of_another_program_is_refused_and_not_touched(path: Path) -> None:
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE accounts (id INTEGER)")
    other.close()
    before = path.read_bytes()
    with pytest.raises(StorageError, match="is a database, but not a store of kabc"):
        open_storage(path)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_an_empty_file_becomes_a_store(path: Path) -> None:
    path.touch()
    store = open_storage(path)
    assert store.study_names() == []
    store.close()


# ---------------------------------------------------------------- trouble


def test_a_lock_that_is_never_given_back_is_said_in_one_line(path: Path) -> None:
    store = open_storage(f"sqlite:///{path}?timeout=0.2")
    study = store.create_study("nightly", {}, {}).id
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreAwayError, match=r"another process has held the lock for 0\.2 seconds; end it") as error:
        store.add_note(study, "seen", {})
    assert "\n" not in str(error.value)
    assert store.load_study("nightly").state == "running"  # reading goes on
    other.execute("COMMIT")
    other.close()
    store.add_note(study, "seen", {})
    store.close()


def test_a_full_disk_is_said_and_what_was_there_stays(path: Path) -> None:
    store = open_storage(path)
    study = store.create_study("nightly", {}, {}).id
    drawn(store, study, 0)
    with store._home.transaction(write=False) as connection:  # type: ignore[attr-defined]
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages + 2}")
    with pytest.raises(StoreAwayError, match="the disk is full; make room, and run the same line again"):
        drawn(store, study, 1, rows=10_000)
    assert store.summary(study).n_samples == 4
    with store._home.transaction(write=False) as connection:  # type: ignore[attr-defined]
        connection.exec_driver_sql("PRAGMA max_page_count = 1000000")
    held = store.leases(study)
    assert len(held) == 1  # it was leased before the disk was full
    samples = np.zeros((10_000, 10))
    assert store.exchange(study, "ann", [Draw(held[0].id, held[0].lease, "ann", samples, 0.0, 1.0)]).outcomes == (
        "done",
    )
    store.close()


def test_a_read_only_file_is_said_in_one_line(path: Path) -> None:
    store = open_storage(path)
    study = store.create_study("nightly", {}, {}).id
    with store._home.transaction(write=False) as connection:  # type: ignore[attr-defined]
        connection.exec_driver_sql("PRAGMA query_only = ON")  # the same error as of a file without the right to write
    with pytest.raises(StorageError, match="the file or its folder is read-only; give write permission") as error:
        store.add_note(study, "seen", {})
    assert not isinstance(error.value, StoreAwayError)
    store.close()


def test_damaged_pages_are_said_in_one_line(path: Path) -> None:
    store = open_storage(path)
    study = store.create_study("nightly", {}, {}).id
    for number in range(5):
        drawn(store, study, number, rows=200)
    store.close()
    content = bytearray(path.read_bytes())
    content[4096:] = bytes(len(content) - 4096)
    path.write_bytes(content)
    with pytest.raises(StorageError) as error:
        open_storage(path)
    assert "\n" not in str(error.value)


def test_a_torn_log_opens_at_the_last_whole_commit(path: Path, tmp_path: Path) -> None:
    store = open_storage(path)
    study = store.create_study("nightly", {}, {}).id
    for number in range(4):
        drawn(store, study, number)
    log = Path(f"{path}-wal").read_bytes()
    found = set()
    for keep in range(len(log), 0, -len(log) // 12):
        copy = tmp_path / f"torn-{keep}.db"
        copy.write_bytes(path.read_bytes())
        Path(f"{copy}-wal").write_bytes(log[:keep] + b"\xff" * 100)
        torn = open_storage(copy)
        if torn.study_names():
            draws = list(torn.draws(study, 0, 9))
            assert torn.summary(study).n_samples == 4 * len(draws)
            found.add(len(draws))
        torn.close()
    store.close()
    assert 4 in found and len(found) > 2


# ---------------------------------------------------------------- threads and processes


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_forked_process_and_its_parent_both_go_on(path: Path) -> None:
    store = open_storage(path)
    study = store.create_study("nightly", {}, {}).id
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            store.add_note(study, "thread", {})

    writer = threading.Thread(target=write)
    writer.start()
    for _ in range(5):
        child = os.fork()
        if child == 0:
            store.add_note(study, "child", {})
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        store.add_note(study, "parent", {})
    stop.set()
    writer.join()
    kinds = [note.kind for note in store.notes(study)]
    assert (kinds.count("child"), kinds.count("parent")) == (5, 5)
    store.close()


def test_the_log_does_not_grow_without_end_while_others_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kabc.storage.sql.sqlite._LARGE_LOG", 2**18)
    monkeypatch.setattr("kabc.storage.sql.sqlite._LOOK_EVERY", 5)
    store = open_storage(path)
    study = store.create_study("nightly", {}, {}).id
    stop = threading.Event()

    def read(after: float) -> None:
        """Short transactions: of three such readers, there is always one that reads."""
        stop.wait(after)
        reader = sqlite3.connect(path, isolation_level=None)
        while not stop.is_set():
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM kabc_notes").fetchone()
            stop.wait(0.03)
            reader.execute("COMMIT")
        reader.close()

    readers = [threading.Thread(target=read, args=(at / 100,)) for at in range(3)]
    for reader in readers:
        reader.start()
    written, largest = 0, 0
    for number in range(40):
        drawn(store, study, number, rows=500)
        written += 500 * 10 * 8
        largest = max(largest, Path(f"{path}-wal").stat().st_size)
    stop.set()
    for reader in readers:
        reader.join()
    store.close()
    assert largest < written  # without it, the log holds all that was written, and more
