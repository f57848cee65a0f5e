"""Workers of a study. Here each is a thread; test_worker_processes.py has real processes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from kabc.core.errors import ArmError
from kabc.storage.contract import Draw, Storage, Ticket
from kabc.storage.errors import NoStudyError, StorageError, StoreAwayError
from kabc.storage.memory import MemoryStorage
from kabc.study.policies import OnWorkerLoss
from tests.running.crew import MEANS, arms, attend, log, new_study, one_worker


def pools() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {name: rng.normal(mean, 1.0, 500) for name, mean in MEANS.items()}


@pytest.mark.parametrize("given", [arms, pools])
def test_four_workers_give_the_asks_samples_and_answer_of_one(given: Callable[[], Mapping[str, Any]]) -> None:
    alone, shared = one_worker(given), new_study()
    with ThreadPoolExecutor(4) as pool:
        running = [pool.submit(attend, shared, given(), name=f"w{i}") for i in range(4)]
        workers = [one.result() for one in running]
    assert log(shared) == log(alone)
    assert shared.load_study("nightly").answer == alone.load_study("nightly").answer
    assert shared.load_study("nightly").answer["labels"] == [0, 0, 1, 1]  # type: ignore[index]
    assert sum(worker.n_draws for worker in workers) == len(log(alone))


def test_arms_may_be_split_between_workers() -> None:
    shared = new_study()
    with ThreadPoolExecutor(2) as pool:
        left = pool.submit(attend, shared, arms(), name="left", serves=["a", "b"])
        right = pool.submit(attend, shared, arms(), name="right", serves=["c", "d"])
        left.result(), right.result()
    assert log(shared) == log(one_worker())
    drew = {(ticket.arm, draw.worker) for ticket, draw in shared.draws(1, 0, 10_000)}
    assert drew == {(0, "left"), (1, "left"), (2, "right"), (3, "right")}


def test_an_arm_that_nobody_serves_is_named_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kabc.running.worker._QUIET_SECONDS", 0.0)
    monkeypatch.setattr("kabc.running.worker._WAIT_SECONDS", 0.05)
    monkeypatch.setattr("kabc.running.progress._QUIET_SECONDS", 0.0)
    shared, said = new_study(), list[str]()

    def show(line: str) -> None:
        said.append(line)
        if "wait for a worker that can serve them" in line:
            shared.set_state(1, "paused", {})

    attend(shared, arms(), name="left", serves=["a", "b"], show=show)
    assert any(line.startswith("arms c, d wait for a worker that can serve them") for line in said)


# ---------------------------------------------------------------- draws that go wrong


def test_a_draw_that_fails_ends_its_worker_and_the_others_with_the_error_of_the_arm() -> None:
    def broken(n: int, rng: np.random.Generator) -> Any:
        raise ConnectionError("refused by https://me:word@host/?api_key=abc")

    shared = new_study()
    with ThreadPoolExecutor(2) as pool:
        bad = pool.submit(attend, shared, {**arms(), "c": broken}, name="bad", serves=["c"])
        good = pool.submit(attend, shared, arms(), name="good", serves=["a", "b", "d"])
        for one in (bad, good):
            with pytest.raises(ArmError, match=r"^arm 'c': its draw failed: ConnectionError: refused"):
                one.result()
    (failed,) = [note for note in shared.notes(1) if note.kind == "failed"]
    assert "https://me:***@host/?api_key=***" in failed.body["message"]  # a store holds no keys
    assert "arm 'c'" not in failed.body["message"]  # said once: the note has the arm
    assert shared.load_study("nightly").state == "running"
    assert shared.reopen(1, {}) == 1
    attend(shared, arms(), name="later")
    assert log(shared) == log(one_worker())


class Deadly(MemoryStorage):
    """Somebody dies with the first tickets of arm a, so many times."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.left = times

    def exchange(self, *given: Any, **options: Any) -> Any:
        while self.left and super().exchange(1, f"dead{self.left}", want=1, arms=[0], seconds=0.0).leased:
            self.left -= 1
        return super().exchange(*given, **options)


def deadly(times: int, on_loss: OnWorkerLoss | None, given: Mapping[str, Any] | None = None) -> Deadly:
    storage = Deadly(times)
    storage.create_study("nightly", {}, {})
    attend(storage, arms() if given is None else given, name="w", on_loss=on_loss)
    return storage


def kinds(storage: Storage) -> list[str]:
    return [note.kind for note in storage.notes(1)]


def test_by_default_one_death_is_drawn_again_and_the_answer_is_the_same() -> None:
    storage = deadly(1, None)
    assert log(storage) == log(one_worker())
    assert kinds(storage) == ["lapsed", "redrawn"]


@pytest.mark.parametrize(("times", "on_loss"), [(2, None), (1, "raise")])
def test_a_pattern_of_deaths_ends_the_work(times: int, on_loss: Any) -> None:
    with pytest.raises(ArmError, match=r"arm 'a': .*died: killed, or out of memory"):
        deadly(times, on_loss)


def test_redraw_never_gives_up() -> None:
    storage = deadly(7, "redraw")
    assert log(storage) == log(one_worker())
    assert storage.deaths(1) == {0: 7}


def test_encode_makes_a_lost_draw_a_value() -> None:
    class Valued:
        remaining = None

        def __init__(self, mean: float) -> None:
            self._mean = mean

        def draw(self, n: int, rng: np.random.Generator) -> Any:
            return rng.normal(self._mean, 1.0, n)

        def failed(self, n: int) -> Any:
            return np.full(n, -99.0)

    storage = deadly(1, "encode", {name: Valued(mean) for name, mean in MEANS.items()})
    first = next(rows for _, _, arm, _, _, rows in log(storage) if arm == 0)
    assert set(first) == {-99.0}
    assert kinds(storage) == ["lapsed", "encoded"]


# ---------------------------------------------------------------- late, paused, ended


def test_what_comes_too_late_is_kept_and_never_used_and_the_worker_goes_on() -> None:
    shared = new_study()
    stolen = list[Ticket]()

    def frozen(n: int, rng: np.random.Generator) -> Any:
        """While the worker is frozen, its lease lapses, and another one draws and hands in."""
        rows = rng.normal(0.0, 1.0, n)
        if not stolen:
            shared.bury(1, "frozen", counted=False)
            stolen.extend(shared.exchange(1, "thief", want=1, arms=[0]).leased)
            shared.exchange(1, "thief", [Draw(one.id, one.lease, "thief", rows, 0.0, 1.0) for one in stolen])
            return rows + 100.0
        return rows

    worker = attend(shared, {**arms(), "a": frozen}, name="frozen")
    assert worker.shift.n_superseded == 1
    assert log(shared) == log(one_worker())
    ((ticket, late),) = shared.late_draws(1)
    assert (ticket.arm, late.worker, late.late) == (0, "frozen", True)
    assert late.rows.min() > 50


def test_a_worker_leaves_a_study_that_is_paused_or_was_deleted() -> None:
    shared = new_study()
    shared.set_state(1, "paused", {})
    assert attend(shared, arms(), name="early").n_draws == 0

    def deleting(n: int, rng: np.random.Generator) -> Any:
        shared.delete_study(1)
        return rng.normal(0.0, 1.0, n)

    shared.set_state(1, "running", {})
    with pytest.raises(NoStudyError, match="it was deleted"):
        attend(shared, {**arms(), "a": deleting}, name="late")


def test_another_worker_takes_over_the_step_and_replays() -> None:
    shared, turns = new_study(), list[int]()

    class LeavesSoonError(Exception):
        """Of the first worker."""

    def leaving(n: int, rng: np.random.Generator) -> Any:
        turns.append(n)
        if len(turns) == 4:
            raise LeavesSoonError
        return rng.normal(0.0, 1.0, n)

    with pytest.raises(ArmError, match="LeavesSoonError"):
        attend(shared, {**arms(), "a": leaving}, name="first")
    shared.reopen(1, {})
    shared.bury(1, "first", counted=False)
    attend(shared, arms(), name="second")
    assert log(shared) == log(one_worker())
    assert {draw.worker for _, draw in shared.draws(1, 0, 10_000)} == {"first", "second"}


def test_a_store_that_is_away_for_a_while_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kabc.running.worker._NAP_SECONDS", 0.01)

    class Away(MemoryStorage):
        calls = 0

        def exchange(self, *given: Any, **options: Any) -> Any:
            self.calls += 1
            if 5 <= self.calls % 20 < 8:
                raise StoreAwayError("the server has gone away")
            return super().exchange(*given, **options)

    storage, said = Away(), list[str]()
    storage.create_study("nightly", {}, {})
    attend(storage, arms(), name="w", show=said.append)
    assert log(storage) == log(one_worker())
    assert any("the server has gone away" in line for line in said)


def test_an_error_of_the_store_that_will_not_pass_is_not_endured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kabc.running.worker._NAP_SECONDS", 0.01)

    class Refuses(MemoryStorage):
        calls = 0

        def exchange(self, *given: Any, **options: Any) -> Any:
            self.calls += 1
            if self.calls > 5:
                raise StorageError("the draw is too large")
            return super().exchange(*given, **options)

    storage, said = Refuses(), list[str]()
    storage.create_study("nightly", {}, {})
    with pytest.raises(StorageError, match="the draw is too large"):
        attend(storage, arms(), name="w", show=said.append)
    assert not any("trying again" in line for line in said)


def test_a_machine_that_slept_longer_than_a_lease_goes_on_as_if_nothing_had_happened(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shared, both, right = new_study(), threading.Barrier(2), time.time

    def sleeping(mean: float) -> Any:
        def draw(n: int, rng: np.random.Generator) -> Any:
            if shared.summary(1).n_rounds == 1:
                both.wait()  # two draws are under way
                monkeypatch.setattr(time, "time", lambda: right() + 1000.0)  # the store's clock, and ours
                both.wait()
            return rng.normal(mean, 1.0, n)

        return draw

    attend(shared, {name: sleeping(mean) for name, mean in MEANS.items()}, name="w", threads=2)
    assert log(shared) == log(one_worker())
    assert shared.deaths(1) == {}
    assert kinds(shared) == []
