"""Processes of a study are killed with SIGKILL, and the same line is run again: the answer is the undisturbed one.

A few accidents of benchmarks/chaos.py; with KABC_FUZZ=100 (`make soak`) all of them.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from benchmarks.durable import accidents
from benchmarks.durable.kills import Bench, kills, whole
from benchmarks.durable.restarts import restarts
from benchmarks.durable.seen import Seen
from tests.postgres import new_database, running_server

SOAK = os.environ.get("KABC_FUZZ") == "100"
pytestmark = [pytest.mark.slow, pytest.mark.timeout(7_200 if SOAK else 300)]


def files(home: Path) -> Bench:
    home.chmod(0o755)
    return Bench(home, lambda name: str(home / f"{name}.db"))


def database(home: Path, url: str) -> Bench:
    place = new_database(url)
    return Bench(home, lambda name: place)


@pytest.mark.parametrize("workers", [1, 4] if SOAK else [2])
def test_killed_runs_in_sqlite_end_as_the_undisturbed_one(tmp_path: Path, workers: int) -> None:
    bench = files(tmp_path)
    expect_right(*kills(bench, whole(bench), "SQLite", workers, 50 if SOAK else 2, seed=0))


@pytest.mark.parametrize("workers", [1, 4] if SOAK else [2])
def test_killed_runs_in_postgresql_end_as_the_undisturbed_one(tmp_path: Path, postgres: str, workers: int) -> None:
    bench = database(tmp_path, postgres)
    expect_right(*kills(bench, whole(bench), "PostgreSQL", workers, 50 if SOAK else 2, seed=0))


def test_a_run_whose_write_ahead_log_is_torn_ends_as_the_undisturbed_one(tmp_path: Path) -> None:
    bench = files(tmp_path)
    expect_right(accidents.torn_logs(bench, whole(bench), 20 if SOAK else 1, seed=0))


LONG: dict[str, Callable[[Bench], Seen]] = {
    "read-only": lambda bench: accidents.read_only(bench, whole(bench)),
    "frozen": lambda bench: accidents.frozen(bench, whole(bench), "SQLite", 2),
    "clocks": lambda bench: accidents.two_clocks(bench, whole(bench), "SQLite"),
    "writers": lambda bench: accidents.many_writers(bench, whole(bench), "SQLite", 32),
}


@pytest.mark.skipif(not SOAK, reason="the long form: KABC_FUZZ=100; the tests of stores and workers have a short one")
@pytest.mark.parametrize("accident", LONG)
def test_other_accidents_change_nothing(accident: str) -> None:
    if accident == "clocks" and shutil.which("faketime") is None:
        pytest.skip("faketime is not installed")
    with TemporaryDirectory() as folder:  # another user may look into it, and not into one of pytest
        expect_right(LONG[accident](files(Path(folder))))


@pytest.mark.skipif(not SOAK, reason="the long form: KABC_FUZZ=100; the tests of stores and workers have a short one")
def test_a_server_that_is_stopped_ten_times_changes_nothing(tmp_path: Path) -> None:
    with running_server(durable=True) as server:
        bench = database(tmp_path, server.url)
        expect_right(restarts(accidents.slower(bench), whole(bench), server, 2, 10, seed=0))


def expect_right(*rows: Seen) -> None:
    for row in rows:
        assert row.tried, row
        assert row.right == row.tried, row
