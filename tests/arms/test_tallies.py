"""Tallies: how many tries of an arm failed, and how; an arm that only fails ends the run."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import kabc
from kabc.arms.commands import command_arms
from kabc.arms.failures import DrawError, Policy
from kabc.arms.tallies import ENCODED, FIRST_TRIES, Failures, Tally, failures_of, with_counts
from kabc.core.errors import ArmError


def test_tries_are_counted_by_kind_and_the_last_message_is_kept_short() -> None:
    tally = Tally()
    tally.succeeded()
    for kind, said in [("status 500", "a"), ("timeout", "b"), ("status 500", "x" * 1000)]:
        assert not tally.failed(kind, said)
    found = tally.failures
    assert (found.count, found.tries, found.kinds) == (3, 4, {"status 500": 2, "timeout": 1})
    assert found.share == 0.75
    assert len(found.last) == 300 and found.last.endswith("x...")
    assert Tally().failures == Failures() and Failures().share == 0


def test_what_came_after_an_earlier_count() -> None:
    before = Failures(2, {"timeout": 2}, "old", 10, 1)
    assert Failures(5, {"timeout": 3, "not JSON": 2}, "new", 30, 4).since(before) == Failures(
        3, {"timeout": 1, "not JSON": 2}, "new", 20, 3
    )
    assert Failures(2, {"timeout": 2}, "old", 30, 1).since(before) == Failures(0, {}, "", 20, 0)
    assert failures_of(object()) == Failures()


def test_no_try_is_lost_between_threads() -> None:
    tally = Tally()

    def work() -> None:
        for _ in range(500):
            tally.succeeded()
            tally.failed("timeout", "late")

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (tally.failures.count, tally.failures.tries) == (2000, 4000)


def attempt() -> list[float]:
    raise DrawError("no 'mesage' there; correct the path", "no value at the path")


@pytest.mark.parametrize("policy", [Policy("retry", retries=50), Policy("encode")])
def test_an_arm_whose_first_tries_all_fail_ends_the_run_whatever_the_policy(policy: Policy) -> None:
    tally = Tally()

    def samples() -> list[list[float]]:
        return [policy.sample(attempt, lambda _: None, tally) for _ in range(50)]

    with pytest.raises(ArmError, match=r"its first 5 tries all failed.* no 'mesage' there; correct the path") as caught:
        samples()
    assert not isinstance(caught.value, DrawError)
    assert tally.failures.tries == FIRST_TRIES == 5


def test_an_arm_that_succeeded_once_may_fail_for_ever() -> None:
    tally, policy = Tally(), Policy("encode")
    assert policy.sample(lambda: [3.0], tally=tally) == [3.0, 0.0]
    for _ in range(50):
        assert policy.sample(attempt, tally=tally) == [0.0, 1.0]
    assert (tally.failures.count, tally.failures.tries) == (50, 51)


def test_the_note_says_how_many_values_are_failures() -> None:
    failures: dict[Any, Failures] = {"fast": Failures(values=12), "slow": Failures(values=1), "none": Failures(count=3)}
    drawn: dict[Any, int] = {"fast": 240, "slow": 100, "none": 10}
    (note, other) = with_counts([ENCODED, "other"], failures, drawn)
    assert (note, other) == (f"{ENCODED}; 12 of 240 values of fast are failures, and 1 of 100 of 1 other arm", "other")
    assert with_counts([ENCODED], {"fast": failures["fast"]}, drawn)[0].endswith(
        "12 of 240 values of fast are failures"
    )
    assert with_counts([ENCODED], {"slow": failures["slow"]}, drawn)[0].endswith("1 of 100 values of slow is a failure")
    assert with_counts([ENCODED], {}, drawn)[0].endswith("; no value is a failure")


SOMETIMES = "test $(($KABC_SEED % 3)) -eq 0 && exit 7; echo $(($KABC_SEED % 5))"


def test_failed_runs_of_commands_are_in_the_answer() -> None:
    arms = command_arms({"a": SOMETIMES, "b": "echo 2"}, on_failure="encode", warmup=0)
    result = kabc.cluster(arms, n_clusters=2, max_samples=40, seed=2, progress=False)
    found = result.failures["a"]
    rows = result.samples["a"]
    assert found.count == found.values == rows[:, -1].sum() > 0
    assert (found.kinds, found.tries) == ({"exit code 7": found.count}, result.samples_per_arm["a"])
    assert "b" not in result.failures
    assert f"{found.count} of {found.tries} values of a" in str(result)
    assert f"failures: {found.count} of {found.tries} tries of a (exit code 7: {found.count}; last: " in str(result)


def test_failures_of_an_earlier_run_are_not_in_the_answer() -> None:
    arms = command_arms({"a": SOMETIMES, "b": "echo 2"}, on_failure="encode", warmup=0)
    arms["a"].draw(12, np.random.default_rng(0))
    before = failures_of(arms["a"]).count
    result = kabc.cluster(arms, n_clusters=2, max_samples=20, seed=2, progress=False)
    assert before and result.failures["a"].count == failures_of(arms["a"]).count - before


@pytest.mark.parametrize(
    ("command", "kind"),
    [("exit 3", "exit code 3"), ("echo x", "not a number"), ("true", "no output"), ("sleep 20", "timeout")],
)
def test_kinds_of_failures_of_commands(command: str, kind: str) -> None:
    arms = command_arms({"a": command}, timeout=0.2, warmup=0)
    with pytest.raises(DrawError) as caught:
        arms["a"].draw(1, np.random.default_rng(0))
    assert caught.value.kind == kind
    assert failures_of(arms["a"]).kinds == {kind: 1}
