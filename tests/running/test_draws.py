"""Drawing a round: parallel = serial, in random order, and nothing drawn is lost."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from multiprocessing import get_context
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import kabc
from kabc import ArmError, Result, SettingsError
from kabc.arms.failures import SpendError

Rows = NDArray[np.float64]
KERNEL = kabc.Gaussian(bandwidth=1.0)


def normal(n: int, rng: np.random.Generator, mean: float) -> Rows:
    return rng.normal(mean, 1.0, n)


def picklable_arms() -> dict[str, Any]:
    return {name: partial(normal, mean=mean) for name, mean in zip("abcde", (0, 9, 0, 18, 9), strict=True)}


def mixed_arms() -> dict[str, Any]:
    """Functions that can be sent, one that cannot, a pool."""
    pool = np.random.default_rng(0).normal(9, 1, 3000)
    return picklable_arms() | {"b": lambda n, rng: rng.normal(9, 1, n), "e": pool}


class Slow:
    """A live arm: drawn one sample at a time, by one task at a time."""

    one_at_a_time = True
    remaining = None

    def __init__(self, mean: float, log: list[Any], name: str = "") -> None:
        self.mean, self.log, self.name = mean, log, name
        self.busy = threading.Lock()
        self.closed = 0

    def draw(self, n: int, rng: np.random.Generator) -> Rows:
        assert self.busy.acquire(blocking=False), "drawn by two tasks at a time"
        self.log.append((self.name, n))
        time.sleep(0.0005)
        self.busy.release()
        return rng.normal(self.mean, 1.0, (n, 1))

    def close(self) -> None:
        self.closed += 1


class Reversed(Executor):
    """Runs what it is given when asked for the last of it, newest first."""

    def __init__(self) -> None:
        self.tasks: list[tuple[Future[Any], Callable[..., Any], tuple[Any, ...]]] = []
        self.n_tasks = 0
        threading.Thread(target=self._work, daemon=True).start()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.tasks.append((future, fn, args))
        self.n_tasks += 1
        return future

    def _work(self) -> None:
        while True:
            time.sleep(0.01)
            while self.tasks:
                future, fn, args = self.tasks.pop()
                if future.set_running_or_notify_cancel():
                    future.set_result(fn(*args))


@pytest.fixture(scope="module")
def processes() -> Iterator[Executor]:
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        yield pool


def same(one: Result, other: Result) -> bool:
    return (
        one.labels == other.labels
        and one.samples_per_arm == other.samples_per_arm
        and np.array_equal(one.evidence.strength, other.evidence.strength, equal_nan=True)
        and all(np.array_equal(one.samples[name], other.samples[name]) for name in one.names)
    )


def run(arms: Any, **settings: Any) -> Result:
    usual: dict[str, Any] = {"n_clusters": 3, "seed": 5, "strategy": "kabc", "progress": False}
    return kabc.cluster(arms, **(usual | settings))


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
    run(picklable_arms(), workers=3)
    for thread in threading.enumerate():
        if thread.name.startswith("kabc"):
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
    assert np.array_equal(alone.samples["a"], busy.samples["a"])
    assert np.array_equal(alone.samples["b"], busy.samples["b"])


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


# ---------------------------------------------------------------- interrupted


def stops_after(n_calls: int, error: BaseException, mean: float = 0.0) -> Callable[[int, np.random.Generator], Rows]:
    calls = 0

    def draw(n: int, rng: np.random.Generator) -> Rows:
        nonlocal calls
        calls += 1
        if calls > n_calls:
            raise error
        return rng.normal(mean, 1, n)

    return draw


@pytest.mark.parametrize("workers", [1, 4])
@pytest.mark.parametrize(
    ("error", "status"), [(KeyboardInterrupt(), "interrupted"), (SpendError("max_spend=3 is spent"), "budget")]
)
def test_what_ends_a_round_early_leaves_the_rounds_before_it(error: BaseException, status: str, workers: int) -> None:
    """Ten rounds, and a piece of the eleventh: its samples are counted as drawn, and as not tested."""
    drawn: list[int] = []

    def counted(n: int, rng: np.random.Generator) -> Rows:
        drawn.append(n)
        return rng.normal(9, 1, n)

    arms = {"a": stops_after(10, error), "b": counted, "c": counted, "d": partial(normal, mean=0.0)}
    result = run(arms, n_clusters=3, strategy="anytime", workers=workers)
    assert result.status == status
    assert not result.certified
    assert len(result.rounds) == 10
    assert result.samples_per_arm["b"] + result.samples_per_arm["c"] == sum(drawn)
    assert result.n_samples == result.rounds[-1].n_samples + result.n_unused
    assert result.evidence.counts.sum() + result.n_unused == result.n_samples


def test_the_evidence_of_an_interrupted_run_is_that_of_its_whole_rounds() -> None:
    arms = {"a": partial(normal, mean=0.0), "b": partial(normal, mean=2.0)}
    broken = run(arms | {"a": stops_after(12, KeyboardInterrupt())}, n_clusters=2, strategy="anytime")
    strategy = kabc.AnytimeKABC(2, 2, 0.05)
    until = run(arms, n_clusters=2, strategy=strategy, max_samples=broken.rounds[-1].n_samples)
    assert np.array_equal(broken.evidence.log_evidence, until.evidence.log_evidence)
    assert broken.labels == until.labels


def test_an_interrupted_pilot_has_an_answer_too() -> None:
    result = run({"a": stops_after(0, KeyboardInterrupt()), "b": partial(normal, mean=9.0)}, n_clusters=2)
    assert result.status == "interrupted"
    assert result.n_unused == result.n_samples
    assert result.n_groups_at_least == 1
    assert result.evidence.n_told_apart == 0
    assert any("pilot" in note for note in result.notes)


class Interrupting(kabc.AnytimeKABC):
    """Ctrl-C comes while round 3 is compared."""

    n_signals = 1

    def tell(self, samples: Any) -> None:
        if len(self.rounds) == 2:
            for _ in range(self.n_signals):
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(0.01)
        super().tell(samples)


def test_a_comparison_is_finished_before_ctrl_c_takes_effect() -> None:
    lines: list[str] = []
    before = signal.getsignal(signal.SIGINT)
    strategy = Interrupting(5, 3, 0.05)
    result = run(picklable_arms(), strategy=strategy, progress=lines.append)
    assert result.status == "interrupted"
    assert len(result.rounds) == 3
    assert result.n_unused == 0
    assert any("interrupt again" in line for line in lines)
    assert signal.getsignal(signal.SIGINT) is before


def test_an_answer_that_is_found_in_the_interrupted_round_is_the_answer() -> None:
    class AtTheEnd(kabc.KABC):
        def tell(self, samples: Any) -> None:
            super().tell(samples)
            if self.stopped:
                os.kill(os.getpid(), signal.SIGINT)

    assert run(picklable_arms(), strategy=AtTheEnd(5, 3, 0.05, KERNEL)).status == "decided"


def test_ctrl_c_twice_leaves_a_comparison_without_an_answer() -> None:
    class Twice(Interrupting):
        n_signals = 2

    with pytest.raises(KeyboardInterrupt):
        run(picklable_arms(), strategy=Twice(5, 3, 0.05))
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_while_drawing_ends_the_run_and_counts_what_was_under_way(workers: int) -> None:
    main = threading.get_ident()
    sent: list[bool] = []
    drawn: list[int] = []

    def slow(n: int, rng: np.random.Generator) -> Rows:
        if len(drawn) >= 7 and not sent:
            sent.append(True)
            signal.pthread_kill(main, signal.SIGINT)
        time.sleep(0.05 if workers > 1 else 0.01)
        drawn.append(n)
        return rng.normal(size=n)

    result = run([slow, slow, slow], workers=workers, n_clusters=2, strategy="anytime")
    assert result.status == "interrupted"
    assert result.n_samples == sum(drawn)


def test_progress_is_shown_while_workers_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kabc.running.progress._QUIET_SECONDS", 0.0)
    lines: list[str] = []
    run(picklable_arms(), workers=2, progress=lines.append)
    assert any("drawing" in line for line in lines)


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
