"""A study that reads the samples of another one may be drawn by several processes, like any other."""

from __future__ import annotations

import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import kabc
from tests.postgres import new_database
from tests.processes import running
from tests.running.crew import arms, log

pytestmark = pytest.mark.slow


@pytest.fixture(params=["SQLite", "PostgreSQL"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where the studies are kept."""
    return str(tmp_path / "kabc.db") if request.param == "SQLite" else new_database(request.getfixturevalue("postgres"))


def drawn_by(place: str, study: str, *parts: str) -> None:
    """One process for each part of the arms, at the same time."""
    with ExitStack() as stack:
        base = [sys.executable, "-m", "tests.running.crew", place, "--study", study, "--serves"]
        workers = [stack.enter_context(running([*base, part], stdout=subprocess.PIPE)) for part in parts]
        for worker in workers:
            worker.communicate()
            assert worker.returncode == 0


def told(result: kabc.Result) -> dict[str, Any]:
    document = result.to_dict(full=True)
    return {name: value for name, value in document.items() if name not in ("seconds", "origin")}


def test_two_processes_with_a_part_of_the_arms_draw_what_one_process_draws(place: str) -> None:
    given = arms()
    before = {name: given[name] for name in "abc"}
    first = kabc.create_study("nightly", list(before), 2, storage=place, seed=1, check_k=False, max_samples=120)
    first.run(before, progress=False)
    one, two = (first.grow(name, arms=["d"], gone=["b"], seed=2) for name in ("one", "two"))
    drawn_by(place, "one", "a,c,d")
    drawn_by(place, "two", "a,c", "d")
    assert len(two.storage.workers(two.record.id)) == 2
    assert log(two.storage, "two") == log(one.storage, "one")
    result = two.result()
    assert (result.groups, two.status) == ((("a", "b"), ("c", "d")), "ended")
    assert result.n_recorded > 0
    assert told(result) == told(one.result())
    two.storage.close()
