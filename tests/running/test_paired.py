"""Paired arms: all arms of a round get the same inputs, whatever the workers, and the right strategy compares them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import kabc
from kabc import SettingsError
from kabc.arms.callables import PairedArm
from kabc.core.arrays import Array
from kabc.running.watch import Watch

Inputs = dict[str, list[Array]]


def build(name: str, slower: float, log: Inputs) -> PairedArm:
    def draw(n: int, rng: np.random.Generator, shared: np.random.Generator) -> Array:
        sizes = 10.0 * shared.normal(size=n)
        log.setdefault(name, []).append(sizes)
        return sizes + slower + rng.normal(size=n)

    return PairedArm(draw)


def builds(log: Inputs) -> dict[str, PairedArm]:
    return {"a": build("a", 0.0, log), "b": build("b", 2.0, log), "c": build("c", 0.0, log)}


def found(log: Inputs, **options: Any) -> kabc.Result:
    return kabc.cluster(builds(log), 2, seed=1, progress=False, **options)


def test_all_arms_of_a_round_get_the_same_inputs_and_each_round_others() -> None:
    log: Inputs = {}
    result = found(log)
    assert (result.status, result.groups) == ("decided", (("a", "c"), ("b",)))
    first = [log[name][:3] for name in "abc"]
    for sizes in zip(*first, strict=True):
        assert np.array_equal(sizes[0], sizes[1])
        assert np.array_equal(sizes[0], sizes[2])
    inputs = np.concatenate(log["a"])
    assert len(np.unique(inputs)) == len(inputs)
    assert not np.array_equal(result.samples["a"], result.samples["c"])  # noise is of each arm


@pytest.mark.parametrize("workers", [1, 3])
def test_the_answer_does_not_depend_on_the_workers(workers: int) -> None:
    one, other = found({}), found({}, workers=workers)
    assert all(np.array_equal(one.samples[name], other.samples[name]) for name in one.names)
    assert np.array_equal(one.evidence.strength, other.evidence.strength)


def test_the_certificate_speaks_of_matches() -> None:
    assert "given what the samples of a match share" in found({}).certificate()


@pytest.mark.parametrize(
    "options",
    [
        {"n_clusters": 2, "kernel": kabc.Gaussian(1.0)},
        {"n_clusters": 2, "strategy": "kabc"},
        {"strategy": kabc.AnytimeKABC(3, 2, 0.05)},
        {"n_clusters": 2, "strategy_options": {"paired": False}},
    ],
)
def test_strategies_that_do_not_compare_within_matches_are_refused(options: dict[str, Any]) -> None:
    log: Inputs = {}
    with pytest.raises(SettingsError, match=r"arm 'a': its samples share their prompts or inputs.*use 'anytime'"):
        kabc.cluster(builds(log), seed=1, **options)
    assert not log  # nothing was drawn


def test_a_strategy_object_that_is_paired_may_be_passed() -> None:
    result = kabc.cluster(builds({}), seed=1, strategy=kabc.AnytimeKABC(3, 2, 0.05, paired=True), progress=False)
    assert result.groups == (("a", "c"), ("b",))


@pytest.mark.parametrize("block", [2, "auto"])
def test_blocks_of_paired_samples_are_refused_before_anything_is_drawn(block: Any) -> None:
    log: Inputs = {}
    with pytest.raises(SettingsError, match="paired samples do not form blocks"):
        found(log, block=block)
    assert not log


def joint(paired: bool) -> float:
    watch = Watch(8, 0, paired=paired)
    common = np.random.default_rng(0).normal(size=200).cumsum()
    for arm in range(8):
        watch.hear(arm, common)
    return watch._evidence()[1]


def test_arms_that_share_inputs_are_not_watched_as_if_they_were_independent() -> None:
    assert joint(paired=False) > 0
    assert joint(paired=True) == 0


def test_a_paired_arm_can_be_drawn_alone() -> None:
    draws: list[Callable[[], Any]] = [lambda: build("a", 0.0, {}).draw(4, np.random.default_rng(7)) for _ in range(2)]
    assert np.array_equal(draws[0](), draws[1]())
