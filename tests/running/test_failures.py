"""An error in the middle of a run hands over what was paid for: which arm, which round, and the answer so far."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kabc
from kabc import AnytimeKABC, ArmError, KabcError, KernelBoundsError, SampleError, SettingsError, StrategyError
from kabc.arms.commands import command_arms
from tests.running.live import Rows, normal, run
from tests.running.test_interrupts import stops_after

TWO: dict[str, Any] = {"n_clusters": 2, "strategy": "anytime"}


def lasting(draw: Callable[[int, np.random.Generator], Any]) -> dict[str, Any]:
    """Three arms that cannot be decided soon, one of which fails in its own way."""
    return {"a": partial(normal, mean=0.0), "b": draw, "c": partial(normal, mean=9.0)}


@pytest.mark.parametrize("workers", [1, 3])
def test_a_foreign_error_of_an_arm_carries_arm_round_and_answer(workers: int) -> None:
    arms = lasting(stops_after(10, ConnectionError("refused")))
    with pytest.raises(ArmError) as caught:
        run(arms, **TWO | {"n_clusters": 3}, workers=workers)
    error, found = caught.value, caught.value.result
    assert isinstance(error.__cause__, ConnectionError)
    assert (error.arm, error.round) == ("b", 11)
    assert found.status == "failed" and not found.certified
    assert found.failure == "arm 'b': its draw failed: ConnectionError: refused (in round 11)"
    assert str(error) == f"{found.failure}; {found.n_samples} samples drawn so far are in error.result"
    assert len(found.rounds) == 10
    assert found.n_samples == found.rounds[-1].n_samples + found.n_unused
    assert found.evidence.told_apart[0, 2] and found.n_groups_at_least >= 2  # the rounds before are not lost


def test_the_evidence_is_that_of_a_run_that_ended_before() -> None:
    with pytest.raises(ArmError) as caught:
        run(lasting(stops_after(12, ValueError("no"))), **TWO | {"n_clusters": 3})
    found = caught.value.result
    whole = run(lasting(partial(normal, mean=0.0)), **TWO | {"n_clusters": 3}, max_samples=found.rounds[-1].n_samples)
    assert found.evidence == whole.evidence and found.labels == whole.labels


def test_errors_that_an_arm_names_itself_keep_their_kind() -> None:
    with pytest.raises(SettingsError, match=r"^arm 'b': no key \(in round 3\)") as caught:
        run(lasting(stops_after(2, SettingsError("no key"))), **TWO)
    assert caught.value.result.status == "failed"


def test_a_sample_that_is_no_number_loses_nothing() -> None:
    drawn: list[int] = []

    def draw(n: int, rng: np.random.Generator) -> Rows:
        drawn.append(n)
        return np.where(sum(drawn) > 100, np.nan, rng.normal(size=n))

    with pytest.raises(SampleError, match=r"arm 'b': .*nan") as caught:
        run(lasting(draw), **TWO | {"n_clusters": 3})
    found = caught.value.result
    assert found.samples_per_arm["b"] == sum(drawn)
    assert found.evidence.told_apart[0, 2]


def test_a_command_that_fails_loses_nothing(tmp_path: Path) -> None:
    count = f"n=$(($(cat {tmp_path}/n 2>/dev/null || echo 0) + 1)); echo $n > {tmp_path}/n; "
    fails = count + "[ $n -lt 12 ] || exit 3; echo $((KABC_SEED % 7))"
    arms = command_arms({"good": "echo $((KABC_SEED % 7))", "bad": fails}, warmup=1)
    with pytest.raises(ArmError, match=r"arm 'bad': .*exit code 3.*\(in round \d+\)") as caught:
        run(arms, **TWO)
    found = caught.value.result
    assert found.samples_per_arm["bad"] == 10  # the first of 12 runs was the warm-up, the last one failed
    assert found.n_lost == 3  # two warm-ups and the failure


def test_rows_that_do_not_fit_together_name_their_arm() -> None:
    class Widening:
        remaining, one_at_a_time, n = None, True, 0

        def draw(self, n: int, rng: np.random.Generator) -> Rows:
            self.n += 1
            return rng.normal(size=(n, 1 if self.n < 2 else 2))

    with pytest.raises(SampleError, match="arm 'b': its samples do not fit together") as caught:
        run({"b": Widening(), "c": partial(normal, mean=9.0)}, **TWO)
    assert caught.value.result.samples_per_arm["b"] == 2


@pytest.mark.parametrize("workers", [1, 2])
def test_before_the_first_sample_there_is_no_result(workers: int) -> None:
    arms = {name: stops_after(0, ConnectionError("refused")) for name in "ab"}
    with pytest.raises(ArmError, match=r"refused$") as caught:
        run(arms, **TWO, workers=workers)
    assert caught.value.result is None


def test_a_failed_pilot_has_a_result_too() -> None:
    with pytest.raises(ArmError, match=r"\(in the pilot\); 20 samples drawn so far are in error.result") as caught:
        run({"a": stops_after(0, OSError("gone")), "b": partial(normal, mean=9.0)}, n_clusters=2, seed=0)
    found = caught.value.result
    assert (found.status, found.n_samples, found.n_unused, found.n_groups_at_least) == ("failed", 20, 20, 1)


class Breaking(AnytimeKABC):
    """Fails while it is told a round, after it has told a pair apart."""

    error: Exception = ZeroDivisionError("a fault")

    def tell(self, samples: Any) -> None:
        super().tell(samples)
        if self.evidence().n_told_apart:
            raise self.error


@pytest.mark.parametrize("error", [ZeroDivisionError("a fault"), MemoryError(), KernelBoundsError("too large")])
def test_what_a_strategy_knows_after_a_fault_is_not_certified(error: Exception) -> None:
    strategy = Breaking(3, 3, 0.05)
    strategy.error = error
    arms = lasting(partial(normal, mean=0.1))
    with pytest.raises(KabcError) as caught:
        run(arms, strategy=strategy, n_clusters=None)
    assert isinstance(caught.value, StrategyError | KernelBoundsError)
    assert error in (caught.value, caught.value.__cause__)
    found = caught.value.result
    assert (found.status, found.n_groups_at_least, found.evidence.n_told_apart) == ("failed", 1, 0)
    assert found.n_samples == found.n_unused > 0
    last = len(strategy.rounds)
    assert f"round {last} was not told to its end: nothing that was found is certain" in found.notes


def test_an_error_of_a_listener_keeps_its_type_and_has_the_result() -> None:
    class LeaveError(Exception):
        result: Any

    seen: list[Any] = []

    def listener(one: Any) -> None:
        seen.append(one)
        if len(seen) == 4:
            raise LeaveError("enough")

    with pytest.raises(LeaveError) as caught:
        run(lasting(partial(normal, mean=0.1)), **TWO | {"n_clusters": 3}, on_round=listener)
    found = caught.value.result
    assert (found.status, found.failure, len(found.rounds)) == ("failed", "LeaveError: enough", 4)
    assert "kabc" in caught.value.__notes__[0]


def test_an_answer_that_is_found_stands_when_a_listener_fails() -> None:
    def listener(one: Any) -> None:
        if one.strategy.stopped:
            raise OSError("the screen is gone")

    with pytest.raises(OSError, match="screen") as caught:
        run({"a": partial(normal, mean=0.0), "b": partial(normal, mean=9.0)}, **TWO, on_round=listener)
    assert caught.value.result.status == "decided"  # type: ignore[attr-defined]


def test_such_an_error_can_be_sent_and_its_result_saved(tmp_path: Path) -> None:
    with pytest.raises(ArmError) as caught:
        run(lasting(stops_after(5, ConnectionError("refused"))), **TWO)
    sent = pickle.loads(pickle.dumps(caught.value))
    assert str(sent) == str(caught.value)
    sent.result.save(tmp_path / "r.json")
    loaded = kabc.load_result(tmp_path / "r.json")
    assert loaded == sent.result and loaded.failure == sent.what


@pytest.mark.parametrize("workers", [1, 2])
def test_an_arm_that_cannot_be_closed_is_a_note(workers: int) -> None:
    class Stuck:
        remaining = None
        closed = 0

        def draw(self, n: int, rng: np.random.Generator) -> Rows:
            return rng.normal(size=n)

        def close(self) -> None:
            self.closed += 1
            raise RuntimeError("it is stuck")

    arms: dict[str, Any] = {"a": Stuck(), "b": partial(normal, mean=9.0), "c": Stuck()}
    result = run(arms, **TWO, workers=workers)
    assert result.status == "decided"
    assert result.notes[-2:] == tuple(f"arm {name!r} could not be closed: RuntimeError: it is stuck" for name in "ac")
    assert arms["a"].closed == arms["c"].closed == 1
