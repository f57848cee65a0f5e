"""Which process a worker is, and whether it is still there. With real processes."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from kabc.running import identity
from kabc.running.identity import bury_dead, is_gone, worker_facts, worker_name
from kabc.storage.contract import NewTicket
from kabc.storage.memory import MemoryStorage
from tests.processes import running

FACTS = (
    "import json; from kabc.running.identity import worker_facts;"
    "print(json.dumps(worker_facts('{role}', ['a'], '1')), flush=True); input()"
)


def process(role: str = "worker") -> Any:
    return running([sys.executable, "-c", FACTS.format(role=role)], stdin=-1, stdout=-1)


def facts_of(one: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(one.stdout.readline())
    return found


def test_names_say_where_a_worker_runs_and_differ() -> None:
    names = {worker_name() for _ in range(20)}
    assert len(names) == 20
    assert all(re.fullmatch(rf".+-{os.getpid()}-[0-9a-f]{{8}}", name) for name in names)


def test_this_process_is_there() -> None:
    assert not is_gone(worker_facts("worker", ["a"], "1"))


def test_a_process_is_there_while_it_runs_or_is_frozen_and_gone_once_it_was_killed() -> None:
    with process() as one:
        facts = facts_of(one)
        assert not is_gone(facts)
        one.send_signal(signal.SIGSTOP)
        assert not is_gone(facts)
        one.kill()
        os.waitid(os.P_PID, one.pid, os.WEXITED | os.WNOWAIT)
        assert is_gone(facts)  # though nobody asked how it ended
        one.wait()
        assert is_gone(facts)


def test_a_number_that_another_process_has_now_is_not_the_worker() -> None:
    facts = worker_facts("worker", ["a"], "1")
    assert is_gone(facts | {"started": "17"})


@pytest.mark.parametrize("other", [{"host": "elsewhere"}, {"boot": "yesterday"}, {"pid": None}, {"pid": -1}])
def test_nothing_is_said_of_processes_that_cannot_be_seen_from_here(other: dict[str, Any]) -> None:
    assert not is_gone(worker_facts("worker", ["a"], "1") | {"started": "17"} | other)


def test_without_proc_only_a_number_that_nobody_has_is_gone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with process() as one:
        pid = facts_of(one)["pid"]
        monkeypatch.setattr(identity, "_PROC", tmp_path)
        mine = worker_facts("worker", ["a"], "1")
        assert (mine["boot"], mine["started"]) == ("", "")
        assert not is_gone(mine)
        assert not is_gone(mine | {"pid": pid})
        assert not is_gone(mine | {"pid": 1})  # of somebody else
        one.kill()
        one.wait()
        assert is_gone(mine | {"pid": pid})


def test_the_leases_of_the_dead_are_open_at_once_and_the_living_keep_theirs() -> None:
    store = MemoryStorage()
    study = store.create_study("nightly", {}, {}).id
    store.open_round(study, 1, [NewTicket(arm, 0, 0, 1) for arm in range(3)])
    with process() as dead, process() as alive:
        for name, one in (("dead", dead), ("alive", alive)):
            store.register_worker(study, name, facts_of(one))
            store.exchange(study, name, want=1, seconds=3600.0)
        assert store.take_step(study, "dead", 3600.0)
        assert bury_dead(store, study, "worker") == []
        dead.kill()
        dead.wait()
        assert bury_dead(store, study, "worker") == ["dead"]
        assert store.deaths(study) == {0: 1}
        assert [ticket.arm for ticket in store.exchange(study, "new", want=3).leased] == [0, 2]
        assert store.take_step(study, "new", 60.0)
        bury_dead(store, study, "worker")
        assert store.deaths(study) == {0: 1}  # it dies once


def test_a_run_that_is_started_again_does_not_count_as_a_death() -> None:
    store = MemoryStorage()
    study = store.create_study("nightly", {}, {}).id
    store.open_round(study, 1, [NewTicket(arm, 0, 0, 1) for arm in range(2)])
    with process("run") as run, process("worker") as worker:
        for name, one in (("run", run), ("worker", worker)):
            store.register_worker(study, name, facts_of(one))
            store.exchange(study, name, want=1, seconds=3600.0)
            one.kill()
            one.wait()
    assert bury_dead(store, study, "run") == ["run", "worker"]
    assert store.deaths(study) == {1: 1}
    assert [(note.kind, note.body.get("worker")) for note in store.notes(study)] == [
        ("lapsed", "run"),
        ("restarted", "run"),
        ("lapsed", "worker"),
    ]
