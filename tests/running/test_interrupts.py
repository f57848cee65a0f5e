"""A run that ends early keeps the rounds before, and counts everything that was drawn."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import kabc
from kabc.arms.failures import SpendError
from kabc.running.interrupts import Interrupts, sigterm_interrupts
from kabc.running.progress import Ticker
from tests.running.live import KERNEL, Rows, normal, picklable_arms, run


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


def test_an_ignored_signal_stays_ignored_and_a_handler_of_the_program_stays_its_own() -> None:
    mine, before = (lambda number, frame: None), {n: signal.getsignal(n) for n in (signal.SIGHUP, signal.SIGTERM)}
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, mine)
    try:
        with sigterm_interrupts():
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
            assert signal.getsignal(signal.SIGTERM) is mine
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def test_a_signal_after_the_end_of_a_run_does_not_take_its_answer() -> None:
    lines: list[str] = []
    with Interrupts(Ticker(lines.append)) as interrupts:
        interrupts.over()
        os.kill(os.getpid(), signal.SIGINT)
        assert lines == ["interrupted: the answer is coming; interrupt again to leave without it"]
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_while_the_answer_is_put_together_does_not_cost_it(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = kabc.AnytimeKABC.guarantee

    def guarantee(self: kabc.AnytimeKABC) -> Any:
        os.kill(os.getpid(), signal.SIGINT)
        return usual(self)

    monkeypatch.setattr(kabc.AnytimeKABC, "guarantee", guarantee)
    arms = {"a": partial(normal, mean=0.0), "b": partial(normal, mean=9.0)}
    assert run(arms, n_clusters=2, strategy="anytime").status == "decided"


def test_ctrl_c_while_arms_are_closed_does_not_cost_the_answer() -> None:
    class Closing:
        remaining = None

        def draw(self, n: int, rng: np.random.Generator) -> Rows:
            return rng.normal(size=n)

        def close(self) -> None:
            os.kill(os.getpid(), signal.SIGINT)

    result = run({"a": Closing(), "b": partial(normal, mean=9.0)}, n_clusters=2, strategy="anytime")
    assert result.status == "decided"
