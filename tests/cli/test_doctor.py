"""`kabc doctor`: what is wrong is found, and comes with a cure."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kabc.cli import checkup, doctor
from kabc.running.identity import worker_facts
from kabc.storage.contract import Failure, NewTicket, Storage
from kabc.storage.memory import MemoryStorage
from kabc.storage.sql.schema import VERSION
from tests.cli import kept
from tests.cli.conftest import Answer, Call
from tests.postgres import new_database


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Storage]:
    monkeypatch.chdir(tmp_path)
    opened = kept.store(tmp_path)
    yield opened
    opened.close()


def found(answer: Answer) -> dict[str, tuple[str, str]]:
    """What was looked at -> its level, and what was found with the cure."""
    return {one["what"]: (one["level"], f"{one['found']}; {one['cure']}") for one in answer.json()["findings"]}


def test_versions_are_told_without_a_store(kabc: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KABC_STORAGE", raising=False)
    answer = kabc("doctor")
    assert answer.code == 0
    assert f"ok       python     {sys.version.split()[0]} on " in answer.out
    assert answer.out.splitlines()[-1].startswith("0 problems, ")
    seen = found(kabc("doctor", "--json"))
    assert seen["kabc"][0] == seen["sqlalchemy"][0] == "ok"
    assert "store" not in seen


@pytest.mark.parametrize(("version", "level"), [((3, 51, 2), "warning"), ((3, 51, 3), "ok"), ((3, 60, 0), "ok")])
def test_the_fault_of_old_sqlite_is_a_warning(
    version: tuple[int, int, int], level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", version)
    monkeypatch.setattr(sqlite3, "sqlite_version", ".".join(map(str, version)))
    (one,) = [one for one in doctor.versions() if one.what == "sqlite"]
    assert one.level == level
    assert ("3.51.3 or later, or PostgreSQL" in one.cure) == (level == "warning")


def test_without_the_extra_of_stores_it_says_what_to_install() -> None:
    code = (
        "import sys, importlib.metadata as m; real = m.version\n"
        "def version(name):\n"
        "    if name in ('sqlalchemy', 'alembic', 'psycopg'): raise m.PackageNotFoundError(name)\n"
        "    return real(name)\n"
        "m.version = version\n"
        "from kabc.cli import main; sys.exit(main(['doctor']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "warning  sqlalchemy not installed; studies need it: pip install 'kabc[storage]'" in done.stdout


def test_a_healthy_store_has_no_problem(store: Storage, kabc: Call) -> None:
    kept.made(store)
    answer = kabc("doctor", "--storage", "kabc.db", "--json")
    assert answer.code == 0
    seen = found(answer)
    assert seen["store"] == ("ok", f"sqlite:///kabc.db, schema {VERSION}; ")
    assert seen["writing"][0] == seen["clock"][0] == seen["log"][0] == "ok"
    assert seen["study nightly"] == ("ok", "running, 18 samples, 1 worker at work; ")


def test_what_is_no_store_is_a_problem_with_exit_code_3(store: Storage, kabc: Call, tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("x" * 200)
    for name, told in (("none.db", "there is no file none.db"), ("text.db", "'text.db' is not a SQLite database")):
        answer = kabc("doctor", "--storage", name, "--json")
        assert answer.code == 3
        level, said = found(answer)["store"]
        assert level == "problem"
        assert told in said
    assert not (tmp_path / "none.db").exists()
    refused = kabc("doctor", "--storage", "postgresql://me:hidden-word@127.0.0.1:9/x")
    assert refused.code == 3
    assert "start the server, or check host and port" in refused.out
    assert "hidden-word" not in refused.out + refused.err


def test_a_lock_that_somebody_holds_is_a_problem(store: Storage, kabc: Call) -> None:
    other = sqlite3.connect("kabc.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    answer = kabc("doctor", "--storage", "sqlite:///kabc.db?timeout=0.1", "--json")
    other.close()
    assert answer.code == 3
    level, said = found(answer)["writing"]
    assert level == "problem"
    assert "another process has held the lock" in said


def test_draws_that_a_dead_worker_holds_are_told_with_its_name(store: Storage, kabc: Call) -> None:
    study = kept.made(store)
    dead = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)
    facts = worker_facts("worker", ["a"], "0") | {"pid": int(dead.stdout), "started": "1"}
    store.register_worker(study.id, "w-dead", facts)
    store.open_round(study.id, 3, [NewTicket(0, 0, 6, 3)])
    store.exchange(study.id, "w-dead", want=1)
    level, said = found(kabc("doctor", "--storage", "kabc.db", "--json"))["study nightly"]
    assert level == "warning"
    assert "1 worker at work; 1 lease of w-dead, which is gone; another worker draws it again" in said


def test_a_study_without_workers_and_one_with_failed_draws_say_what_to_do() -> None:
    store = MemoryStorage()
    study = store.create_study("idle", kept.asked("ab"), {})
    idle = checkup.of_study(store, "idle")
    assert (idle.level, idle.cure) == ("warning", "start kabc run or kabc worker to go on")
    store.open_round(study.id, 1, [NewTicket(0, 0, 0, 1)])
    (one,) = store.exchange(study.id, "w", want=1).leased
    store.exchange(study.id, "w", [Failure(one.id, one.lease, "w", "no")])
    failed = checkup.of_study(store, "idle")
    assert failed.level == "problem"
    assert "1 draw failed" in failed.found
    store.end(study.id, 1, {"status": "failed"})
    assert checkup.of_study(store, "idle").level == "ok"


def test_clocks_that_differ_are_told_with_their_direction(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStorage()
    monkeypatch.setattr(store, "now", lambda: time.time() + 3600)
    assert checkup.of_clock(store).found == "the store's is 3,600 s ahead of ours"
    monkeypatch.setattr(store, "now", lambda: time.time() - 3600)
    assert checkup.of_clock(store).level == "warning"
    assert "3,600 s behind ours" in checkup.of_clock(store).found


def test_a_network_file_system_is_a_problem_and_the_nearest_mount_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "far away").mkdir()
    (tmp_path / "far away" / "kabc.db").touch()
    (tmp_path / "kabc.db").touch()
    mounts = tmp_path / "mounts"
    escaped = str(tmp_path / "far away").replace(" ", "\\040")
    mounts.write_text(f"disk / ext4 rw 0 0\nserver:/x {escaped} nfs4 rw 0 0\nother /else tmpfs rw 0 0\n")
    monkeypatch.setattr(checkup, "_MOUNTS", mounts)
    near, *_ = checkup.of_file(tmp_path / "kabc.db")
    far, *_ = checkup.of_file(tmp_path / "far away" / "kabc.db")
    assert (near.level, near.found) == ("ok", "ext4")
    assert far.level == "problem"
    assert far.cure == "move the store to a local disk, or use PostgreSQL"
    monkeypatch.setattr(checkup, "_MOUNTS", tmp_path / "nothing")
    unknown, *_ = checkup.of_file(tmp_path / "kabc.db")
    assert unknown.level == "ok"


def test_a_log_that_cannot_be_emptied_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "kabc.db").write_bytes(b"x")
    (tmp_path / "kabc.db-wal").write_bytes(b"x" * 50)
    assert [one.level for one in checkup.of_file(tmp_path / "kabc.db")] == ["ok", "ok"]
    monkeypatch.setattr(checkup, "_MOST_LOG", 49)
    _, log = checkup.of_file(tmp_path / "kabc.db")
    assert log.level == "warning"
    assert log.found == "50 bytes of changes beside 1 of the store"


def test_a_server_tells_its_version(postgres: str, kabc: Call) -> None:
    answer = kabc("doctor", "--storage", new_database(postgres), "--json")
    assert answer.code == 0
    level, said = found(answer)["store"]
    assert level == "ok"
    assert f"schema {VERSION}, PostgreSQL 1" in said
    assert "hidden-word" not in answer.out
    assert "file system" not in found(answer)
