"""Several doors to one file at the same time: store objects of one process, processes beside it, plain copies."""

from __future__ import annotations

import gc
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

import kabc
from tests.blackbox.shell import shell
from tests.processes import running

ROUNDS = 100

BESIDE = """
import gc
import sys
import kabc

for line in sys.stdin:
    study = kabc.load_study("nightly", storage="kabc.db")
    study.pause()
    study.resume()
    del study
    gc.collect()  # it has left: nobody here has the file open
    print("left", flush=True)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, where this process is."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def made(name: str) -> kabc.Study:
    """A study of two arms in the store of the folder."""
    return kabc.create_study(name, arms=["a", "b"], n_clusters=2, seed=0, storage="kabc.db")


def test_a_second_look_in_one_process_leaves_the_locks_of_the_first(folder: Path) -> None:
    """A process opens, writes and leaves again and again, beside one that has the file open and looks in twice."""
    first = made("nightly")
    with running([sys.executable, "-c", BESIDE], stdin=-1, stdout=-1, cwd=folder) as beside:
        assert beside.stdin is not None
        assert beside.stdout is not None
        for number in range(ROUNDS):
            second = kabc.load_study("nightly", storage="kabc.db")
            beside.stdin.write("nightly\n")
            beside.stdin.flush()
            assert beside.stdout.readline() == "left\n", f"after {number} visits"
            assert first.status == second.status == "running", f"after {number} visits"
        first.raise_budget(1000)
    with closing(sqlite3.connect("file:kabc.db?mode=ro", uri=True)) as file:
        assert file.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    notes = shell("study", "status", "nightly", "--storage", "kabc.db", "--json", folder=folder).json["notes"]
    assert notes["paused"] == ROUNDS  # all that was written is there


def test_a_plain_copy_of_a_file_in_use_holds_the_study(folder: Path) -> None:
    study = made("nightly")
    subprocess.run(["cp", "kabc.db", "copy.db"], check=True)  # without the log beside it
    assert kabc.load_study("nightly", storage="copy.db").names == ("a", "b")
    assert study.status == "running"


@pytest.mark.parametrize("what", ["text", "database", "log"])
def test_a_file_of_somebody_else_is_refused_and_left_as_it_is(folder: Path, what: str) -> None:
    file = folder / "kabc.db"
    if what == "text":
        file.write_text("a text, longer than the header of a database\n" * 5, encoding="utf-8")
    else:
        with closing(sqlite3.connect(file)) as other:
            other.execute(f"PRAGMA journal_mode = {'WAL' if what == 'log' else 'DELETE'}")
            other.execute("CREATE TABLE theirs (x)")
            other.commit()
    before = {one.name: one.read_bytes() for one in folder.iterdir()}
    with pytest.raises(kabc.KabcError, match=r"not a SQLite database|not a store of kabc"):
        made("nightly")
    assert {one.name: one.read_bytes() for one in folder.iterdir()} == before


def test_a_store_whose_tables_have_damaged_names_is_an_error_in_one_line(folder: Path) -> None:
    """What SQLite says of them is no text: it cannot even be read."""
    made("nightly")
    gc.collect()  # it is closed: all is in the file
    whole = (folder / "kabc.db").read_bytes()
    place = whole.index(b"CREATE TABLE kabc_studies")
    for at in range(place, place + 12):
        damaged = bytearray(whole)
        damaged[at] ^= 0x80
        (folder / f"{at}.db").write_bytes(damaged)
        with pytest.raises(kabc.KabcError, match="damaged"):
            kabc.load_study("nightly", storage=f"{at}.db")
