"""Recorded samples are read first, all of them and in their order, and what follows from them is as sure as before."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

from kabc.arms.callables import CallableArm
from kabc.arms.recorded import RecordedArm
from kabc.core.errors import ArmError, SettingsError
from kabc.running.anchors import LOOK
from kabc.running.reuse import NOT_CHOSEN, Reuse
from kabc.testing.error_law import most_errors
from tests.running.reusing import Draw, normal, reuse_of, run

LONG = float(os.environ.get("KABC_FUZZ", "4")) >= 100  # make soak


class Heard:
    """A strategy's ears: what it is told of each arm, in order."""

    def __init__(self) -> None:
        self.rows: dict[int, list[float]] = {}

    def wrap(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from kabc.strategies.anytime.strategy import AnytimeKABC

        tell = AnytimeKABC.tell

        def listen(strategy: Any, samples: Any) -> None:
            for arm, rows in samples.items():
                self.rows.setdefault(arm, []).extend(np.ravel(rows).tolist())
            tell(strategy, samples)

        monkeypatch.setattr(AnytimeKABC, "tell", listen)


def counting(start: float) -> Draw:
    """Each sample is a new number: what was drawn when can be seen."""
    drawn = iter(np.arange(start, start + 100_000))
    return lambda n, rng: np.array([next(drawn) for _ in range(n)]) + rng.normal(0.0, 1e-3, n)


def test_the_record_is_read_first_then_the_anchors_then_new_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    heard, rng = Heard(), np.random.default_rng(0)
    heard.wrap(monkeypatch)
    record = {name: rng.normal(0.0, 1.0, 30) for name in "ab"}
    arms = {name: normal(0.0) for name in "abc"}
    reuse = reuse_of(record, arms)
    result, drawn = run(arms, reuse, n_clusters=None, max_samples=200)
    for arm, name in enumerate("ab"):
        told = heard.rows[arm]
        n_new = max(0, len(told) - 30)
        assert told[:30] == record[name][: len(told)].tolist()
        assert told[30:] == drawn[name].ravel()[:n_new].tolist()
    assert heard.rows[2] == drawn["c"].ravel()[: len(heard.rows[2])].tolist()
    assert result.n_recorded == 60
    assert result.n_samples == 60 + sum(map(len, drawn.values()))
    assert sum(map(len, drawn.values())) <= 200  # the budget is for new samples


def test_samples_of_a_round_that_the_record_has_need_no_draw() -> None:
    rng = np.random.default_rng(1)
    record = {"a": rng.normal(0.0, 1.0, 500), "b": rng.normal(0.0, 1.0, 500), "c": rng.normal(9.0, 1.0, 500)}
    arms = {name: normal(0.0) for name in "ab"} | {"c": normal(9.0)}
    result, drawn = run(arms, reuse_of(record, arms, anchors=10), n_clusters=2, delta=0.01)
    assert result.status == "decided"
    assert {name: len(rows) for name, rows in drawn.items()} == {"a": 10, "b": 10, "c": 10}
    assert result.n_unused == 30
    assert result.n_samples - result.n_recorded == 30


def test_the_certificate_says_what_reading_a_record_assumes() -> None:
    rng = np.random.default_rng(1)
    record = {"a": rng.normal(0.0, 1.0, 50), "b": rng.normal(9.0, 1.0, 50)}
    arms = {"a": normal(0.0), "b": normal(9.0), "c": normal(0.0)}
    result, _ = run(arms, reuse_of(record, arms), n_clusters=2, delta=0.05)
    said = " ".join(result.guarantee.assumptions)
    assert NOT_CHOSEN in said
    assert f"{result.n_recorded} recorded samples of study 'before' were read" in said
    assert "40 new samples of 2 arms with recorded ones gave no sign that the arms have changed" in said
    assert "a small change may not show" in said
    assert result.delta == pytest.approx(0.05 / (1 + LOOK))  # a restart is paid for


def test_a_record_that_does_not_fit_to_new_samples_is_dropped_and_nothing_of_it_or_of_the_anchors_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    heard, rng = Heard(), np.random.default_rng(2)
    heard.wrap(monkeypatch)
    record = {"a": rng.normal(0.0, 1.0, 100), "b": rng.normal(9.0, 1.0, 100)}
    arms = {"a": normal(3.0), "b": normal(12.0), "c": normal(3.0)}
    reuse = reuse_of(record, arms)
    result, drawn = run(arms, reuse, n_clusters=2)
    assert not reuse.open
    assert result.groups == (("a", "c"), ("b",))
    assert (result.status, result.n_recorded, result.n_unused) == ("decided", 0, 40)
    note = next(note for note in result.notes if "recorded samples are not used" in note)
    assert "new samples differ from recorded ones" in note
    assert "evidence" in note
    assert NOT_CHOSEN not in result.guarantee.assumptions
    assert heard.rows[0] == drawn["a"].ravel()[20:].tolist()


def test_a_run_ends_where_a_record_ends_that_cannot_go_on_and_never_goes_on_without_the_arm() -> None:
    rng = np.random.default_rng(3)
    record = {"old": rng.normal(0.0, 1.0, 12), "a": rng.normal(0.0, 1.0, 200)}
    arms = {"old": RecordedArm(12), "a": normal(0.0), "b": normal(0.3)}
    result, drawn = run(arms, reuse_of(record, arms), n_clusters=2)
    assert result.status == "exhausted"
    assert result.samples_per_arm["old"] <= 12
    assert "old" not in drawn
    assert not result.set_aside


def test_without_an_arm_that_can_be_drawn_again_nothing_is_checked_and_the_certificate_says_so() -> None:
    rng = np.random.default_rng(3)
    record = {"old": rng.normal(0.0, 1.0, 400), "older": rng.normal(9.0, 1.0, 400)}
    arms = {"old": RecordedArm(400), "older": RecordedArm(400), "new": normal(0.0)}
    result, drawn = run(arms, reuse_of(record, arms), n_clusters=2)
    assert result.groups == (("old", "new"), ("older",))
    assert result.delta == 0.05
    assert "was not checked" in " ".join(result.guarantee.assumptions)
    assert list(drawn) == ["new"]


def test_a_recorded_arm_cannot_be_drawn() -> None:
    arm = RecordedArm(3)
    assert arm.remaining == 3
    with pytest.raises(ArmError, match="cannot be drawn any more"):
        arm.draw(1, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"block": 4}, "blocks"),
        ({"max_samples": 30}, "anchors"),
        ({"options": {"paired": True}}, "paired"),
    ],
)
def test_what_cannot_be_done_is_refused_before_the_first_sample(settings: dict[str, Any], message: str) -> None:
    def never(n: int, rng: np.random.Generator) -> np.ndarray[Any, Any]:
        raise AssertionError("something was drawn")

    arms = {"a": CallableArm(never), "b": CallableArm(never)}
    reuse = Reuse("before", [np.zeros(30), np.ones(30)], [True, True], 20)
    with pytest.raises(SettingsError, match=message):
        run(arms, reuse, n_clusters=2, **settings)


# ---------------------------------------------------------------- how often it is wrong


@pytest.mark.slow
@pytest.mark.timeout(1200 if LONG else 300)
def test_equal_arms_are_told_apart_in_no_more_runs_than_delta_allows() -> None:
    """The run before stops when it tells two of its equal arms apart, or at its budget: the worst of records."""
    runs, delta, wrong = 400 if LONG else 40, 0.2, 0
    for seed in range(runs):
        first = {name: normal(0.0) for name in "ab"}
        _, record = run(first, seed=seed, n_clusters=None, delta=0.5, max_samples=80)
        arms = {"a": normal(0.0), "b": RecordedArm(len(record["b"])), "c": normal(0.0)}
        result, _ = run(
            arms, reuse_of(record, arms, anchors=8), seed=10_000 + seed, n_clusters=None, delta=delta, max_samples=100
        )
        wrong += result.n_groups_at_least > 1
    assert wrong <= most_errors(runs, delta)


@pytest.mark.slow
@pytest.mark.timeout(1200 if LONG else 300)
def test_a_machine_that_became_slower_is_seen_and_no_wrong_answer_is_certified() -> None:
    """All new samples are 5 % slower, one standard deviation: a new build would look different from the old ones."""
    runs, seen, wrong = 200 if LONG else 20, 0, 0
    for seed in range(runs):
        rng = np.random.default_rng([7, seed])
        record = {name: rng.normal(1.0, 0.05, 100) for name in "abcd"} | {"e": rng.normal(1.3, 0.05, 100)}
        slow = {name: normal(1.05, 0.05) for name in "abcd"} | {"e": normal(1.365, 0.05), "new": normal(1.05, 0.05)}
        reuse = reuse_of(record, slow)
        result, _ = run(slow, reuse, seed=seed, n_clusters=2)
        seen += not reuse.open
        wrong += result.status == "decided" and result.groups != (("a", "b", "c", "d", "new"), ("e",))
    print(f"a drift of one standard deviation was seen in {seen} of {runs} runs, {wrong} wrong answers were certified")
    assert seen >= 0.9 * runs
    assert wrong <= most_errors(runs, 0.05)


@pytest.mark.slow
def test_a_drift_too_small_for_the_anchors_is_seen_in_the_end_where_it_tells_arms_apart() -> None:
    """0.4 standard deviations: without the second look, the new arm is said to differ from equal ones."""
    runs, wrong, doubted = 40 if LONG else 6, 0, 0
    for seed in range(runs):
        rng = np.random.default_rng([8, seed])
        record = {name: rng.normal(0.0, 1.0, 1000) for name in "abc"}
        drifted = {name: normal(0.4) for name in ("a", "b", "c", "new")}
        result, _ = run(drifted, reuse_of(record, drifted), seed=seed, n_clusters=2, check_k=False)
        wrong += result.status == "decided"
        doubted += result.status == "doubtful"
    print(f"small drift: {doubted} of {runs} doubtful, {wrong} certified wrong")
    assert wrong <= max(1, runs // 10)
