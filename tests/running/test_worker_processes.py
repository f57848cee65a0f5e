"""Workers that are processes: killed, frozen, told to leave, with another clock, without their database."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import kabc
from kabc.running.watch import NO_LOOK
from tests.postgres import running_server
from tests.processes import running
from tests.running.crew import MEANS, log, one_worker, pools

pytestmark = pytest.mark.slow

HOUR = 3600.0
LONG = 1000.0  # seconds of a lease that does not lapse in a test


@pytest.fixture(scope="module")
def alone() -> list[Any]:
    """The log of one worker."""
    return log(one_worker())


class Crew:
    """A store with the study, and its workers."""

    def __init__(self, place: str, folder: Path, **settings: Any) -> None:
        self.place, self.marks = place, folder
        asked = {"n_clusters": 2, "seed": 1, "check_k": False} | settings
        self.made = made = kabc.create_study("nightly", arms=list(MEANS), storage=place, **asked)
        self.storage, self.study = made.storage, made.record.id
        self._stack = ExitStack()

    def worker(self, *options: object, **popen: Any) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "tests.running.crew", self.place, *options]
        return self._stack.enter_context(running(command, stdout=subprocess.PIPE, **popen))

    def waiting_worker(self, *options: object) -> subprocess.Popen[str]:
        """A worker whose first draw of arm a has begun, and waits."""
        one = self.worker("--waits", self.marks, *options)
        until((self.marks / "begun").exists, one)
        return one

    def go(self) -> None:
        """Let the draw that waits end."""
        (self.marks / "go").touch()

    def notes(self) -> list[str]:
        return [note.kind for note in self.storage.notes(self.study)]

    def drew(self, arm: int) -> list[str]:
        """The workers that drew an arm, draw by draw."""
        return [draw.worker for ticket, draw in self.storage.draws(self.study, 0, 10_000) if ticket.arm == arm]

    def close(self) -> None:
        self._stack.close()
        self.storage.close()


def until(true: Callable[[], object], *alive: subprocess.Popen[str]) -> None:
    """Wait for something that will be; the time limit of the test ends what never comes."""
    while not true():
        assert all(one.poll() is None for one in alive), "a worker has ended"
        time.sleep(0.02)


def done(one: subprocess.Popen[str]) -> dict[str, Any]:
    """What a worker says of its work."""
    output, _ = one.communicate()
    assert one.returncode == 0
    found: dict[str, Any] = json.loads(output)
    return found


@pytest.fixture
def crew(tmp_path: Path) -> Iterator[Crew]:
    made = Crew(str(tmp_path / "kabc.db"), tmp_path)
    yield made
    made.close()


def test_a_draw_whose_worker_was_killed_is_drawn_by_the_next_one_of_this_host_at_once(crew: Crew, alone: Any) -> None:
    dead = crew.waiting_worker("--lease", LONG)
    dead.kill()
    dead.wait()
    assert done(crew.worker())["state"] == "ended"
    assert log(crew.storage) == alone
    notes, deaths = crew.notes(), crew.storage.deaths(crew.study)
    assert notes[0] == "lapsed" and notes.count("redrawn") == notes.count("lapsed") == len(deaths)
    assert deaths[0] == 1 and set(deaths.values()) == {1}  # it may have held other draws of a batch too


def test_the_draw_of_a_killed_worker_goes_to_one_of_this_host_long_before_its_lease_ends(
    crew: Crew, alone: Any
) -> None:
    others = crew.worker("--serves", "b,c,d")  # so that the one that dies holds a single draw
    dead = crew.waiting_worker("--serves", "a", "--lease", LONG)
    other = crew.worker()
    until(lambda: all(crew.drew(arm) for arm in (1, 2, 3)), other)
    until(lambda: len(crew.storage.workers(crew.study)) == 3, other)
    dead.kill()
    assert done(other)["state"] == done(others)["state"] == "ended"
    assert log(crew.storage) == alone
    assert sum(kind == "redrawn" for kind in crew.notes()) == 1


def test_a_worker_that_was_frozen_beyond_its_lease_is_superseded_and_goes_on(crew: Crew, alone: Any) -> None:
    frozen = crew.waiting_worker()
    frozen.send_signal(signal.SIGSTOP)
    other = crew.worker("--serves", "a")
    until(lambda: crew.drew(0), other)
    crew.go()
    frozen.send_signal(signal.SIGCONT)
    late, quick = done(frozen), done(other)
    assert (late["n_superseded"], quick["n_superseded"]) == (1, 0)
    assert log(crew.storage) == alone
    ((ticket, draw),) = crew.storage.late_draws(crew.study)
    assert (ticket.arm, draw.worker) == (0, late["worker"])
    assert set(crew.drew(1)) == {late["worker"]}  # it went on


def test_a_worker_that_is_told_to_leave_finishes_its_draw_and_gives_back_the_rest(crew: Crew, alone: Any) -> None:
    leaving = crew.waiting_worker("--lease", LONG)
    leaving.send_signal(signal.SIGTERM)
    time.sleep(0.2)
    assert leaving.poll() is None
    crew.go()
    left = done(leaving)
    assert left["state"] == "left"
    assert crew.drew(0) == [left["worker"]]
    assert crew.storage.leases(crew.study) == []
    assert done(crew.worker("--lease", LONG))["state"] == "ended"
    assert log(crew.storage) == alone
    assert crew.storage.deaths(crew.study) == {}


def test_told_twice_it_gives_back_its_draw_too(crew: Crew, alone: Any) -> None:
    leaving = crew.waiting_worker("--lease", LONG)
    leaving.send_signal(signal.SIGINT)
    time.sleep(0.2)
    leaving.send_signal(signal.SIGTERM)
    assert done(leaving)["state"] == "left"
    assert "returned" in crew.notes()
    crew.go()
    assert done(crew.worker("--lease", LONG))["state"] == "ended"
    assert log(crew.storage) == alone
    assert crew.storage.deaths(crew.study) == {}


def test_workers_that_share_the_arms_and_one_whose_clock_is_an_hour_ahead_give_what_one_gives(
    crew: Crew, alone: Any
) -> None:
    options = [("--serves", "a,b"), ("--serves", "c,d", "--clock", HOUR), ("--clock", -HOUR), ()]
    workers = [crew.worker(*given) for given in options]
    assert all(done(one)["n_superseded"] == 0 for one in workers)
    assert log(crew.storage) == alone
    assert "lapsed" not in crew.notes()


def test_workers_with_parts_of_a_table_finish_the_study_and_its_certificate_says_what_was_not_watched(
    crew: Crew,
) -> None:
    workers = [crew.worker("--pools", "--serves", part) for part in ("a,b", "c,d")]
    assert all(done(one)["state"] == "ended" for one in workers)
    found, expected = crew.made.result(), kabc.cluster(pools(), 2, seed=1, check_k=False, progress=False)
    assert (found.groups, found.samples_per_arm) == (expected.groups, expected.samples_per_arm)
    (said,) = (line for line in found.guarantee.assumptions if line.startswith(NO_LOOK))
    assert said.startswith((f"{NO_LOOK} a, b, which", f"{NO_LOOK} c, d, which"))
    assert NO_LOOK not in expected.certificate()


def test_where_no_worker_can_find_the_length_of_blocks_all_end_and_name_the_arms(tmp_path: Path) -> None:
    crew = Crew(str(tmp_path / "kabc.db"), tmp_path, block="auto")
    workers = [crew.worker("--pools", "--serves", part, stderr=subprocess.PIPE) for part in ("a,b", "c,d")]
    for one in workers:
        _, said = one.communicate()
        assert one.returncode == 1
        assert "one worker must have all of these arms: a, b, c, d; start such a worker first" in said
    assert done(crew.worker("--pools"))["state"] == "ended"
    assert NO_LOOK not in crew.made.result().certificate()
    crew.close()


def test_four_workers_of_a_server_that_vanishes_and_comes_back_give_what_one_gives(tmp_path: Path, alone: Any) -> None:
    with running_server() as server:
        crew = Crew(server.url, tmp_path)
        workers = [crew.waiting_worker("--lease", LONG)]
        workers += [crew.worker("--lease", LONG, "--clock", HOUR * number) for number in range(1, 4)]
        until(lambda: len(crew.storage.workers(crew.study)) == 4, *workers)
        server.stop()
        crew.go()
        time.sleep(1.0)
        server.start()
        assert all(done(one)["state"] == "ended" for one in workers)
        assert log(crew.storage) == alone
        assert crew.storage.deaths(crew.study) == {}
        crew.close()
