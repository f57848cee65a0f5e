"""Doubts about K: loud where a group holds two distributions, silent where each group is one."""

from __future__ import annotations

import numpy as np
import pytest

from kabc.core.arrays import Array, Index
from kabc.core.scores.discriminant import RIDGES, Moments
from kabc.core.scores.maps import Scaled
from kabc.strategies.anytime.doubts import log_doubt, looks_split
from kabc.strategies.anytime.learning import SCALES, Learning
from tests.strategies.anytime.books import lesson

TWO_GROUPS = np.array([0, 0, 0, 0, 1, 1, 1, 1])
WHOLE = np.array([0.0, 0, 0, 0, 5, 5, 5, 5])  # means of the arms
SPLIT = np.array([0.0, 0, 9, 9, 5, 5, 5, 5])
EVEN = np.full(len(RIDGES), -np.log(len(RIDGES)))


def drawn(means: Array, count: int, seed: int) -> tuple[Array, Index]:
    rng = np.random.default_rng(seed)
    owners = np.repeat(np.arange(len(means)), count)
    return rng.normal(means[owners], 1.0)[:, None], owners


def doubt(means: Array, count: int = 8, seed: int = 0, labels: Index = TWO_GROUPS) -> float:
    samples, owners = drawn(means, count, seed)
    return log_doubt([Moments(Scaled().fitted(samples), len(means))], EVEN, samples, owners, labels)


def test_a_group_of_two_distributions_is_doubted_and_whole_groups_are_not() -> None:
    assert doubt(SPLIT) > np.log(20)
    assert doubt(WHOLE) < np.log(20)


def test_doubt_grows_with_the_samples_of_a_split_group() -> None:
    assert doubt(SPLIT, 16) > 1.5 * doubt(SPLIT, 8) > 0


def test_if_groups_are_whole_the_evidence_has_mean_at_most_1() -> None:
    found = np.exp([doubt(WHOLE, 4, seed) for seed in range(600)])
    assert found.mean() <= 1 + 4 * found.std() / np.sqrt(len(found))
    assert found.std() > 0.1  # something is bet


def test_the_check_of_the_mean_can_fail() -> None:
    found = np.exp([doubt(SPLIT, 4, seed) for seed in range(50)])
    assert found.mean() > 1 + 4 * found.std() / np.sqrt(len(found))


def test_groups_of_one_arm_cannot_be_split() -> None:
    assert doubt(np.array([0.0, 9.0]), labels=np.array([0, 1])) == pytest.approx(0.0, abs=1e-12)


def test_arms_without_a_label_do_not_matter() -> None:
    labels = np.array([0, 0, -1, -1, 1, 1, 1, 1])
    assert doubt(SPLIT, labels=labels) < np.log(20)
    assert doubt(SPLIT) > np.log(20)


def test_samples_may_come_in_any_order_if_those_of_each_arm_stay_in_theirs() -> None:
    samples, owners = drawn(SPLIT, 8, 0)
    mixed = np.argsort(np.tile(np.arange(8), len(SPLIT)), kind="stable")  # first samples of all arms, then second ones
    learners = [Moments(Scaled().fitted(samples), len(SPLIT))]
    expected = log_doubt(learners, EVEN, samples, owners, TWO_GROUPS)
    assert log_doubt(learners, EVEN, samples[mixed], owners[mixed], TWO_GROUPS) == pytest.approx(expected)


@pytest.mark.parametrize(("means", "split"), [(SPLIT, True), (WHOLE, False)])
def test_a_group_looks_split_once_the_evidence_is_above_20(means: Array, split: bool) -> None:
    learning, (samples, owners) = Learning(len(means), [Scaled()]), drawn(means, 8, 0)
    learning.absorb(lesson(learning, {arm: samples[owners == arm] for arm in range(len(means))}))
    won = np.zeros(len(RIDGES) * len(SCALES))
    assert looks_split(learning, won, TWO_GROUPS) == split
