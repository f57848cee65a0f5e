"""A cluster of Dask, four worker processes: the same answer as without, whatever happens to them."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kabc
from kabc import ArmError, SettingsError
from kabc.running.engines.base import engine_of
from kabc.running.work import work
from tests.running.engines.deadly import (
    FEW,
    in_the_long_form,
    living,
    n_calls,
    n_calls_without_deaths,
    of_process,
    pid_arms,
    raises,
    with_a_deadly_one,
)
from tests.running.engines.workers import nobody_steals, pids
from tests.running.live import mixed_arms, picklable_arms, run, same

distributed = pytest.importorskip("distributed")


# ---------------------------------------------------------------- the same answer


@pytest.mark.parametrize("strategy", ["kabc", "anytime"])
def test_a_cluster_does_not_change_the_answer(client: Any, strategy: str) -> None:
    usual = run(mixed_arms(), strategy=strategy)
    assert same(run(mixed_arms(), strategy=strategy, executor=client), usual)
    assert same(run(mixed_arms(), strategy=strategy, executor=client, workers=1), usual)


def test_arms_are_drawn_on_the_workers_also_those_that_pickle_cannot_send(client: Any) -> None:
    arms = pid_arms | {"c": lambda n, rng: np.full(n, float(os.getpid()))}
    result = run(arms, **FEW, executor=client, max_samples=60)
    assert drawn_by(result) and set(drawn_by(result)) <= pids(client)


def drawn_by(result: kabc.Result) -> Counter[int]:
    return Counter(int(one) for rows in result.samples.values() for one in rows.ravel())


SLOW: dict[str, Any] = {str(arm): partial(of_process, offset=0.0, seconds=0.005) for arm in range(80)}
ALL_ARMS: dict[str, Any] = {"n_clusters": None, "strategy": "anytime", "max_samples": 400}  # are drawn in each round


def test_idle_workers_share_the_draws(client: Any) -> None:
    client.wait_for_workers(4, timeout=200)
    with nobody_steals(client):
        draws = drawn_by(run(SLOW, **ALL_ARMS, executor=client))
    assert min(draws[pid] for pid in pids(client)) >= draws.total() / 4 / 4, draws


def test_a_worker_that_comes_later_gets_draws(client: Any, cluster: Any) -> None:
    client.wait_for_workers(4, timeout=200)
    before = pids(client)

    def add(seen: Any) -> None:
        if seen.number == 1:
            cluster.scale(len(before) + 1)
            client.wait_for_workers(len(before) + 1, timeout=200)
            time.sleep(1.0)

    with nobody_steals(client):
        draws = drawn_by(run(SLOW, **ALL_ARMS, executor=client, on_round=add))
    new = pids(client) - before
    assert new and new <= set(draws), draws


def test_equal_arms_have_samples_of_their_own(client: Any) -> None:
    arms = dict.fromkeys("abcd", picklable_arms()["a"])
    result = run(arms, **FEW, executor=client, max_samples=100)
    everything = np.concatenate([result.samples[name].ravel() for name in arms])
    assert len(np.unique(everything)) == len(everything)


def test_the_client_stays_open_and_nothing_is_left_there(client: Any) -> None:
    run(picklable_arms(), executor=client)
    assert client.submit(int, "3").result() == 3
    for _ in range(100):
        if not client.futures:
            break
        time.sleep(0.05)
    assert not client.futures
    assert client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.extensions["events"]._events)) == 0


def test_a_study_that_is_kept_has_the_same_answer(client: Any, tmp_path: Path) -> None:
    settings = FEW | {"seed": 5, "storage": tmp_path / "kabc.db"}
    study = kabc.create_study("nightly", list(living()), **settings)
    assert same(study.run(living(), executor=client, progress=False), run(living(), **FEW))


# ---------------------------------------------------------------- what goes wrong


def test_an_error_on_a_worker_names_its_arm(client: Any) -> None:
    with pytest.raises(ArmError, match="arm 'c': its draw failed: ValueError: no sample today") as caught:
        run(picklable_arms() | {"c": raises}, executor=client)
    assert "in raises" in caught.value.__cause__.__notes__[0]  # type: ignore[union-attr]


def test_a_worker_killed_in_the_middle_and_one_added_change_nothing(client: Any, cluster: Any) -> None:
    before = len(client.nthreads())

    def disturb(seen: Any) -> None:
        if seen.number == 3:
            victim = min(pids(client))
            threading.Timer(0.03, os.kill, (victim, signal.SIGKILL)).start()
            cluster.scale(before + 1)

    result = run(living(0.02), **FEW, executor=client, on_round=disturb)
    assert same(result, run(living(), **FEW))
    client.wait_for_workers(before + 1, timeout=200)  # a busy machine starts them slowly


def test_a_draw_that_kills_its_worker_is_drawn_again(client: Any, tmp_path: Path) -> None:
    result = run(with_a_deadly_one(tmp_path, 1), **FEW, executor=client)
    assert same(result, run(living(), **FEW))
    assert any("lost with a worker and drawn again" in note for note in result.notes)
    assert result.n_lost > 0
    assert n_calls(tmp_path) == n_calls_without_deaths(tmp_path) + 1  # Dask itself did not draw it again


def test_or_its_samples_are_failures(client: Any, tmp_path: Path) -> None:
    arms = with_a_deadly_one(tmp_path, 2)  # together with others, and then alone
    result = run(arms, n_clusters=3, strategy="anytime", executor=client, on_worker_loss="encode", max_samples=200)
    assert (result.samples["a"] == -99.0).any()
    assert not any((result.samples[name] == -99.0).any() for name in "bcdef")


def test_or_the_run_ends_with_what_was_paid_for(client: Any, tmp_path: Path) -> None:
    with pytest.raises(ArmError, match=r"worker .*died.*on_worker_loss=") as caught:
        run(with_a_deadly_one(tmp_path, 1), **FEW, executor=client, on_worker_loss="raise")
    assert caught.value.result.n_samples > 0
    assert n_calls(tmp_path) == 4  # three rounds and the one that died: nobody drew it again


@in_the_long_form
def test_two_deaths_of_an_arm_end_the_run(client: Any, tmp_path: Path) -> None:
    with pytest.raises(ArmError, match=r"^arm 'a': 2 workers that drew from it died"):
        run(with_a_deadly_one(tmp_path, 2), **FEW, executor=client)


def test_draws_that_somebody_cancels_are_drawn_again(client: Any) -> None:
    def cancel() -> None:
        while sum(key.startswith("kabc-draw") for key in list(client.futures)) < 3:
            time.sleep(0.001)
        client.cancel([distributed.Future(key, client) for key in list(client.futures)], force=True)

    def disturb(seen: Any) -> None:
        if seen.number == 2:
            threading.Thread(target=cancel).start()

    result = run(living(0.05), **FEW, executor=client, on_round=disturb)
    assert same(result, run(living(), **FEW))
    assert any("lost with a worker and drawn again" in note for note in result.notes)


@contextmanager
def running(port: int) -> Iterator[list[subprocess.Popen[bytes]]]:
    """A scheduler and a worker, each a process of its own."""
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    scheduler = ["distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard"]
    worker = ["distributed.cli.dask_worker", f"tcp://127.0.0.1:{port}", "--nthreads", "2", "--no-nanny"]
    started = [
        subprocess.Popen([sys.executable, "-m", *words], **quiet) for words in (scheduler, [*worker, "--no-dashboard"])
    ]
    try:
        yield started
    finally:
        for process in started:
            process.kill()
            process.wait()


@in_the_long_form
def test_a_scheduler_that_is_killed_and_started_again_changes_nothing() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with ExitStack() as stack:
        first = stack.enter_context(running(port))
        own = stack.enter_context(distributed.Client(f"tcp://127.0.0.1:{port}", timeout=60, set_as_default=False))
        own.wait_for_workers(1, timeout=60)

        def restart() -> None:
            for process in first:
                process.kill()
            stack.enter_context(running(port))

        def disturb(seen: Any) -> None:
            if seen.number == 3:
                threading.Timer(0.1, restart).start()

        result = run(living(0.1), **FEW, executor=own, on_round=disturb)
    assert same(result, run(living(), **FEW))
    assert any("lost with a worker and drawn again" in note for note in result.notes)


def test_a_client_that_is_closed_or_asynchronous_is_refused(client: Any, cluster: Any) -> None:
    with distributed.Client(cluster, set_as_default=False) as other:
        executor = other.get_executor()
        with pytest.raises(SettingsError, match="pass the client itself"):
            engine_of(executor)
    with pytest.raises(ArmError, match=r"the client of Dask is closed; pass one that is open"):
        run(picklable_arms(), executor=other)


# ---------------------------------------------------------------- workers of a study


def test_tasks_of_a_cluster_are_workers_of_a_study_like_any_other(client: Any, tmp_path: Path) -> None:
    store = str(tmp_path / "kabc.db")
    study = kabc.create_study("nightly", list(living()), **FEW, seed=5, storage=store)
    tasks = [
        client.submit(work, store, "nightly", living(0.01), progress=False, pure=False, key=f"worker-{number}")
        for number in range(3)
    ]
    while study.storage.summary(study.record.id).n_samples < 20:
        time.sleep(0.02)
    at_work = [int(one.name.split("-")[-2]) for one in study.storage.workers(study.record.id)]
    os.kill(at_work[0], signal.SIGKILL)
    told = [task.result(timeout=120) for task in tasks]
    assert {one.state for one in told} == {"ended"}
    assert sum(one.n_samples > 0 for one in told) >= 1
    assert same(study.result(), run(living(), **FEW))
