"""What listeners learn after a round."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import kabc
from kabc import ProtocolError
from kabc.arms.base import NamedArms
from kabc.arms.callables import CallableArm
from kabc.core.evidence.pairs import Evidence
from kabc.running.snapshots import Snapshot, decided_arms

KERNEL = kabc.Gaussian(bandwidth=1.0)


def normal(mean: float) -> Callable[[int, np.random.Generator], Any]:
    return lambda n, rng: rng.normal(mean, 1.0, n)


def arms() -> dict[str, Any]:
    return {"a": normal(0), "b": normal(2), "c": normal(0)}


def looked_at(**settings: Any) -> tuple[list[dict[str, Any]], kabc.Result]:
    """What each snapshot of a run says."""
    seen: list[dict[str, Any]] = []

    def look(one: Snapshot) -> None:
        names = ("round", "number", "n_samples", "spent", "seconds", "n_pairs", "n_groups_at_least", "labels")
        seen.append({name: getattr(one, name) for name in (*names, "n_told_apart", "n_open", "forecast")})

    usual: dict[str, Any] = {"arms": arms(), "n_clusters": 2, "seed": 0, "on_round": look}
    return seen, kabc.cluster(**(usual | settings))


@pytest.mark.parametrize("strategy", ["anytime", "kabc"])
def test_there_is_one_after_each_round_and_the_last_agrees_with_the_result(strategy: str) -> None:
    seen, result = looked_at(strategy=strategy)
    assert tuple(one["round"] for one in seen) == result.rounds
    assert [one["number"] for one in seen] == list(range(1, len(seen) + 1))
    last = seen[-1]
    assert last["n_samples"] == result.n_samples == result.n_pilot + last["round"].n_samples
    assert last["labels"] == result.labels
    assert last["n_groups_at_least"] == result.n_groups_at_least
    assert (last["n_told_apart"], last["n_pairs"]) == (result.evidence.n_told_apart, 3)
    assert last["forecast"] is None  # nothing is left
    assert all(one["forecast"] is None or one["forecast"] > 0 for one in seen)
    assert sorted(one["seconds"] for one in seen) == [one["seconds"] for one in seen]


def test_without_a_number_of_groups_nothing_is_said_to_be_open() -> None:
    seen, _ = looked_at(n_clusters=None, max_samples=60)
    assert {one["n_open"] for one in seen} == {None}


def test_arms_that_cost_something_say_what_was_spent() -> None:
    priced = NamedArms({name: CallableArm(draw) for name, draw in arms().items()}, [], [], price=0.25)
    seen, result = looked_at(arms=priced, strategy="kabc")
    assert seen[-1]["spent"] == result.spent == result.n_samples / 4


def test_a_listener_sees_the_evidence_grow() -> None:
    apart: list[tuple[int, int]] = []
    kabc.cluster(arms(), 2, seed=0, on_round=lambda one: apart.append((one.round.number, one.evidence.n_told_apart)))
    assert [number for number, _ in apart] == list(range(1, len(apart) + 1))
    assert [told for _, told in apart] == sorted(told for _, told in apart)
    assert apart[-1][1] > 0


def test_nothing_is_computed_that_nobody_asks_for() -> None:
    class Counting(kabc.AnytimeKABC):
        looks = 0

        def evidence(self) -> Evidence:
            Counting.looks += 1
            return super().evidence()

    many = [normal(9.0 * (arm % 2)) for arm in range(41)]  # too many for a trace
    kabc.cluster(many, strategy=Counting(41, 2, 0.05), seed=0, on_round=lambda one: None, max_samples=400)
    assert Counting.looks <= 2  # for the answer alone


def test_a_look_is_kept_and_a_first_look_too_late_is_refused() -> None:
    kept: list[Snapshot] = []

    def listen(one: Snapshot) -> None:
        kept.append(one)
        if one.number == 1:
            assert one.labels

    result = kabc.cluster(arms(), 2, seed=0, on_round=listen)
    assert kept[0].labels  # was asked for in time
    with pytest.raises(ProtocolError, match=r"snapshot of round 2 is out of date.*look at a snapshot in the call"):
        _ = kept[1].labels
    assert kept[-1].labels == result.labels  # nothing was told since


def test_an_arm_is_decided_when_it_is_told_apart_from_every_other_group() -> None:
    told = np.zeros((4, 4), dtype=np.int64)
    for i, j in ((0, 2), (0, 3), (1, 2)):
        told[i, j] = told[j, i] = 1
    evidence = Evidence.of_bets(told, np.ones(4, np.int64), np.zeros((4, 4)), np.ones((4, 4)))
    assert decided_arms(evidence, (0, 0, 1, 2)) == 1  # only arm 0 is told apart from both others
    assert decided_arms(evidence, (0, 0, 1, 1)) == 4
    assert decided_arms(evidence, (0, 0, 0, 0)) == 0
