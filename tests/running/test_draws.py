"""Drawing a round: parallel = serial, in random order, and nothing drawn is lost."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from multiprocessing import get_context
from typing import Any

import numpy as np
import pytest

import kabc
from kabc import ArmError, SettingsError
from tests.running.live import KERNEL, Reversed, Rows, Slow, mixed_arms, normal, picklable_arms, run, same


@pytest.fixture(scope="module")
def processes() -> Iterator[Executor]:
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        yield pool


# ---------------------------------------------------------------- parallel = serial


@pytest.mark.parametrize("workers", [2, 8])
@pytest.mark.parametrize("strategy", ["kabc", "anytime"])
def test_threads_do_not_change_the_answer(workers: int, strategy: str) -> None:
    assert same(run(mixed_arms(), strategy=strategy), run(mixed_arms(), strategy=strategy, workers=workers))


def test_processes_do_not_change_the_answer(processes: Executor) -> None:
    assert same(run(mixed_arms()), run(mixed_arms(), executor=processes))


def test_any_executor_will_do() -> None:
    executor = Reversed()
    assert same(run(picklable_arms()), run(picklable_arms(), executor=executor))
    assert executor.n_tasks > 5


def test_only_arms_that_keep_nothing_and_can_be_sent_leave_the_process() -> None:
    executor = Reversed()
    result = run(mixed_arms(), executor=executor, kernel=KERNEL)
    assert executor.n_tasks == 3 * len(result.rounds)


def test_an_executor_of_the_user_stays_open() -> None:
    with ThreadPoolExecutor(2) as pool:
        run(picklable_arms(), executor=pool)
        assert pool.submit(int, "3").result() == 3


def test_threads_of_our_own_end_with_the_run() -> None:
    before = threading.enumerate()
    run(picklable_arms(), workers=3)
    for thread in threading.enumerate():
        if thread.name.startswith("kabc") and thread not in before:
            thread.join(timeout=10)
            assert not thread.is_alive()


def test_as_many_arms_are_drawn_at_a_time_as_there_are_workers() -> None:
    under_way, most, lock = 0, 0, threading.Lock()

    def draw(n: int, rng: np.random.Generator) -> Rows:
        nonlocal under_way, most
        with lock:
            under_way += 1
            most = max(most, under_way)
        time.sleep(0.02)
        with lock:
            under_way -= 1
        return rng.normal(size=n)

    run([draw] * 6, workers=3, n_clusters=2, kernel=KERNEL, max_samples=200)
    assert most == 3


def test_an_error_on_a_worker_names_its_arm_and_ends_the_run() -> None:
    arms = mixed_arms() | {"c": lambda n, rng: rng.normal(size=n + 1)}
    with pytest.raises(ArmError, match="arm 'c': returned"):
        run(arms, workers=2)


def test_an_arm_error_without_a_name_gets_it() -> None:
    def fails(n: int, rng: np.random.Generator) -> Rows:
        raise ArmError("out of order")

    for workers in (1, 2):
        with pytest.raises(ArmError, match=r"^arm 'a': out of order"):
            run({"a": fails, "b": partial(normal, mean=0.0)}, n_clusters=2, workers=workers)


@pytest.mark.parametrize(
    ("change", "message"), [({"workers": 0}, "workers.*0"), ({"executor": "threads"}, "executor.*'threads'")]
)
def test_bad_workers_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        run(picklable_arms(), **change)


# ---------------------------------------------------------------- order


@pytest.mark.parametrize("workers", [1, 3])
def test_live_arms_are_drawn_one_sample_at_a_time_in_turn(workers: int) -> None:
    log: list[Any] = []
    arms = {name: Slow(mean, log, name) for name, mean in (("a", 0.0), ("b", 9.0), ("c", 9.0))}
    result = run(arms, n_clusters=2, strategy="anytime", workers=workers)
    assert result.status == "decided"
    assert all(n == 1 for _, n in log)
    assert len(log) == result.n_samples
    names = [name for name, _ in log]
    first, later = names[:6], names[-60:]
    assert sorted(first) == list("aabbcc")  # a round is drawn whole
    assert sum(x != y for x, y in pairwise(later)) > len(later) / 3  # arms take turns
    assert all(arm.closed == 1 for arm in arms.values())


def test_taking_turns_does_not_change_the_samples_of_an_arm() -> None:
    log: list[Any] = []
    alone = run({"a": Slow(0.0, log), "b": partial(normal, mean=9.0)}, n_clusters=2, strategy="anytime")
    busy = run({"a": Slow(0.0, log), "b": Slow(9.0, log)}, n_clusters=2, strategy="anytime", workers=2)
    n = min(len(alone.samples["a"]), len(busy.samples["a"]))
    assert n > 3 and np.array_equal(alone.samples["a"][:n], busy.samples["a"][:n])


def test_every_round_has_a_random_order_of_its_own() -> None:
    orders: list[str] = []

    def noted(name: str, mean: float) -> Callable[[int, np.random.Generator], Rows]:
        def draw(n: int, rng: np.random.Generator) -> Rows:
            orders.append(name)
            return rng.normal(mean, 1, n)

        return draw

    run({name: noted(name, 0.01 * i) for i, name in enumerate("abcdefgh")}, kernel=KERNEL, max_samples=4000)
    rounds = ["".join(orders[i : i + 8]) for i in range(0, len(orders), 8)]
    assert all(sorted(one) == list("abcdefgh") for one in rounds)
    assert len(set(rounds)) == len(rounds) > 1
    assert rounds[0] != "abcdefgh"


# --- what an arm returns is ours


def in_buffer(mean: float, buffer: Any) -> Callable[[int, np.random.Generator], Any]:
    """An arm that writes into a buffer and returns a view of it, or the buffer itself where it is a list."""

    def draw(n: int, rng: np.random.Generator) -> Any:
        if isinstance(buffer, list):
            buffer[:] = rng.normal(mean, 1.0, n).tolist()
            return buffer
        buffer[:n] = rng.normal(mean, 1.0, n)
        return buffer[:n]

    return draw


MEANS = {"a": 0.0, "b": 9.0, "c": 0.0, "d": 9.0}


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("kind", ["array", "list"])
def test_arms_may_share_the_buffer_that_they_return(seed: int, kind: str) -> None:
    buffer: Any = np.zeros(10_000) if kind == "array" else []
    shared = {name: in_buffer(mean, buffer) for name, mean in MEANS.items()}
    own = {name: partial(normal, mean=mean) for name, mean in MEANS.items()}
    result = kabc.cluster(shared, 2, seed=seed, max_samples=2_000)
    assert result.groups == (("a", "c"), ("b", "d"))
    assert np.array_equal(result.evidence.log_evidence, kabc.cluster(own, 2, seed=seed).evidence.log_evidence)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("workers", [1, 4])
def test_an_arm_may_use_its_own_buffer_again(seed: int, workers: int) -> None:
    class Again(Slow):  # drawn sample by sample: the buffer is used many times in a round
        def __init__(self, mean: float) -> None:
            super().__init__(mean, [])
            self.draw_it = in_buffer(mean, np.zeros(1))

        def draw(self, n: int, rng: np.random.Generator) -> Rows:
            return np.asarray(self.draw_it(n, rng))

    result = kabc.cluster(
        {name: Again(mean) for name, mean in MEANS.items()}, 2, seed=seed, workers=workers, max_samples=2_000
    )
    fresh = {name: Slow(mean, []) for name, mean in MEANS.items()}
    assert result.groups == (("a", "c"), ("b", "d"))
    again = kabc.cluster(fresh, 2, seed=seed)
    assert np.array_equal(result.evidence.log_evidence, again.evidence.log_evidence)
