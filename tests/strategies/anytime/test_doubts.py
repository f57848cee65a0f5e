"""Doubts about K: loud where a group holds two distributions, silent where each group is one."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
from scipy import stats

from kabc.core.arrays import Array, Index
from kabc.core.scores.discriminant import Moments
from kabc.core.scores.maps import FeatureMap, Ranks, Scaled
from kabc.strategies.anytime import splits
from kabc.strategies.anytime.batches import Batch
from kabc.strategies.anytime.doubts import LIMIT, Doubt, log_factor
from kabc.strategies.anytime.learning import Learning
from kabc.study.freeze import freeze, thaw

TWO_GROUPS = np.array([0, 0, 0, 0, 1, 1, 1, 1])
WHOLE = np.array([0.0, 0, 0, 0, 5, 5, 5, 5])  # means of the arms
SPLIT = np.array([0.0, 0, 9, 9, 5, 5, 5, 5])
ODD = np.array([0.0, 0, 0, 9, 5, 5, 5, 5])


def rounds(means: Array, count: int, seed: int) -> list[Batch]:
    """Two samples of each arm, then one in each round."""
    rng, arms = np.random.default_rng(seed), list(range(len(means)))
    sizes = [2] + [1] * (count - 2)
    return [Batch.of(arms, [rng.normal(mean, 1.0, (n, 1)) for mean in means]) for n in sizes]


def doubt(means: Array, count: int = 10, seed: int = 0, labels: Index = TWO_GROUPS) -> float:
    found = Doubt(labels, [Scaled()])
    found.follow(rounds(means, count, seed))
    return found.log_evidence


@pytest.mark.parametrize("means", [SPLIT, ODD])
def test_a_group_of_two_distributions_is_doubted(means: Array) -> None:
    assert doubt(means) > np.log(LIMIT)


def test_whole_groups_are_not_doubted() -> None:
    assert doubt(WHOLE) < np.log(LIMIT)


def test_the_limit_is_that_of_the_theory() -> None:
    assert LIMIT == 20  # 1 / 5 %: Ville's inequality, for all looks together


def test_doubt_grows_with_the_samples_of_a_split_group() -> None:
    assert doubt(SPLIT, 20) > 1.5 * doubt(SPLIT, 10) > 0


def test_a_right_partition_is_ever_doubted_in_at_most_one_of_twenty_runs_however_often_one_looks() -> None:
    runs, alarms = 100, 0
    for seed in range(runs):
        found, batches = Doubt(TWO_GROUPS, [Scaled()]), rounds(WHOLE, 12, seed)
        highest = 0.0
        for number in range(len(batches)):
            found.follow(batches[: number + 1])
            highest = max(highest, found.log_evidence)
        alarms += highest >= np.log(LIMIT)
    assert alarms <= stats.binom.ppf(1 - 1e-4, runs, 1 / 20)


def ways(values: Sequence[float], n: int) -> Array:
    return np.array(list(itertools.product(values, repeat=n)))


@pytest.mark.parametrize(("a", "b"), [(1, 1), (1, 4), (3, 2), (5, 1), (0, 3)])
def test_over_all_outcomes_the_factor_of_equal_arms_has_mean_at_most_1(a: int, b: int) -> None:
    """Equation (17.1), for any scores and any number of samples of the two parts."""
    sides = np.repeat([1, -1], [a, b])[:, None]
    for scores in ([-2.0, 0.3, 1.5], [4.0, -0.1, 0.0], [0.5, 0.5, 3.0]):
        outcomes = ways(scores, a + b)
        factors = [np.exp(log_factor(x[:, None], sides, np.zeros(a + b, dtype=np.intp), 99.0))[0] for x in outcomes]
        assert np.mean(factors) <= 1 + 1e-12


def test_a_factor_gains_where_scores_are_right() -> None:
    sides, groups = np.array([[1], [-1], [-1]]), np.zeros(3, dtype=np.intp)
    assert log_factor(np.array([[3.0], [-3.0], [-3.0]]), sides, groups, 99.0)[0] > 1
    assert log_factor(np.array([[-3.0], [3.0], [3.0]]), sides, groups, 99.0)[0] < -1


def test_samples_are_bet_on_before_they_are_learnt_from() -> None:
    """Whatever was seen before, the evidence does not grow on average over all outcomes of the next round."""
    labels, values = np.array([0, 0, 0]), [0.0, 1.0, 5.0]
    rng = np.random.default_rng(3)
    past = [Batch.of([0, 1, 2], [rng.choice(values, (2, 1)) + 2.0 * (arm == 2) for arm in range(3)]) for _ in range(4)]
    before = Doubt(labels, [Scaled(), Ranks()])
    before.follow(past)
    found = []
    for samples in ways(values, 3):
        after = Doubt(labels, [Scaled(), Ranks()])
        after.follow([*past, Batch.of([0, 1, 2], [np.array([[x]]) for x in samples])])
        found.append(np.exp(after.log_evidence - before.log_evidence))
    assert np.mean(found) <= 1 + 1e-9
    assert np.ptp(found) > 0.01  # something was bet


def test_groups_of_one_arm_cannot_be_split() -> None:
    assert doubt(np.array([0.0, 9.0]), labels=np.array([0, 1])) == pytest.approx(0.0, abs=1e-12)


def test_arms_without_a_label_do_not_matter() -> None:
    assert doubt(SPLIT, labels=np.array([0, 0, -1, -1, 1, 1, 1, 1])) < np.log(LIMIT)


def test_the_odd_arm_is_the_suspect() -> None:
    found = Doubt(TWO_GROUPS, [Scaled()])
    found.follow(rounds(ODD, 10, 0))
    few, many = found.suspects()
    assert (few.tolist(), many.tolist()) == ([3], [0, 1, 2])


def test_looking_in_between_changes_nothing() -> None:
    batches, one, other = rounds(SPLIT, 12, 1), Doubt(TWO_GROUPS, [Scaled()]), Doubt(TWO_GROUPS, [Scaled()])
    for number in range(len(batches)):
        one.follow(batches[: number + 1])
    other.follow(batches)
    assert one.log_evidence == pytest.approx(other.log_evidence, rel=1e-12)  # rounds are added up in another order


@pytest.mark.parametrize("maps", [None, [Scaled(), Ranks()]])
def test_what_the_learners_of_the_run_knew_is_what_doubts_learn_by_themselves(
    maps: Sequence[FeatureMap] | None,
) -> None:
    batches = rounds(ODD, 30, 2)
    learning = Learning(len(ODD), maps, keeps=True)
    for batch in batches:
        learning.absorb(learning.read(batch))
        learning.rescore(np.arange(len(ODD)), np.full(len(ODD), -1), 2)
    kept, own = Doubt(TWO_GROUPS, maps), Doubt(TWO_GROUPS, maps)
    kept.follow(batches, learning.kept)
    own.follow(batches)
    assert len(learning.kept) > 5
    assert not kept._own
    assert own._own
    assert kept.log_evidence == pytest.approx(own.log_evidence, rel=1e-9)
    assert [part.tolist() for part in kept.suspects()] == [part.tolist() for part in own.suspects()]


def test_what_is_kept_is_not_frozen_and_doubts_go_on_without_it() -> None:
    batches = rounds(SPLIT, 20, 3)
    learning, found = Learning(len(SPLIT), [Scaled()], keeps=True), Doubt(TWO_GROUPS, [Scaled()])
    for number, batch in enumerate(batches):
        learning.absorb(learning.read(batch))
        learning.rescore(np.arange(len(SPLIT)), np.full(len(SPLIT), -1), 2)
        if number == 9:
            found.follow(learning.batches, learning.kept)
            learning, found = thaw(freeze([learning, found], "here"), "here")
            assert not learning.kept
    found.follow(learning.batches, learning.kept)
    whole = Doubt(TWO_GROUPS, [Scaled()])
    whole.follow(batches)
    assert found.log_evidence == pytest.approx(whole.log_evidence, rel=1e-9)


def test_many_arms_are_split_as_few_are_without_a_product_of_all_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    points = [rng.normal(size=(40, d)) for d in (3, 60)]
    weights, noise = rng.integers(1, 9, (1, 40)).astype(float), np.array([3.0, 60.0])
    some = rng.random((2, splits.KINDS, 1, 40)) < 0.3
    found = []
    for most in (300, 10):
        monkeypatch.setattr(splits, "_MOST_LINKED", most)
        near = splits._Products.of([one - one.mean(axis=0) for one in points])
        assert (near.pairs is None) == (most == 10)
        odd = splits._oddest(near, weights)
        found.append([odd, *splits._bets_on(near, splits._Products.of(points), weights, some, noise)])
    for few, many in zip(*found, strict=True):
        np.testing.assert_allclose(many, few, rtol=1e-10, atol=1e-12)


def test_groups_are_split_together_as_each_is_by_itself() -> None:
    """Groups of two, three and one arm, an arm without samples, and one in no group."""
    rng, labels = np.random.default_rng(5), np.array([0, 1, 0, 2, 1, 3, 2, 2, 3, 3, -1, 4, 3])
    learner = Moments(Scaled(), len(labels))
    arms = rng.permutation(np.repeat(np.arange(len(labels) - 1), 9))  # the last one has none
    learner.absorb(rng.normal(size=(len(arms), 3)) + 0.2 * arms[:, None], arms)
    spaces, n_groups = learner.spaces(), 5
    (all_of_them,) = splits.guessed([spaces], learner.counts, labels)
    for group in range(n_groups):
        (alone,) = splits.guessed([spaces], learner.counts, np.where(labels == group, 0, -1))
        inside = labels == group
        assert (alone.sides[:, inside] == all_of_them.sides[:, inside]).all()
        for whole, one in zip(_numbers(all_of_them), _numbers(alone), strict=True):
            np.testing.assert_allclose(whole[..., group], one[..., 0], rtol=1e-10, atol=1e-12)
    assert not all_of_them.sides[:, 10:].any()
    assert all_of_them.sides[:, :10].all()


def _numbers(some: splits.Splits) -> tuple[Array, Array, Array]:
    return some.directions, some.offsets, some.strength


def test_experts_are_in_the_order_of_the_maps() -> None:
    """So that the best one is known by its number: each map has as many, and they win what they win alone."""
    won = []
    for maps in ([Scaled()], [Ranks()], [Scaled(), Ranks()]):
        found = Doubt(TWO_GROUPS, maps)
        rng = np.random.default_rng(0)
        found.follow([Batch.of(range(6), list(rng.normal(size=(6, 4, 1)))) for _ in range(2)])
        won.append(found._since)
    assert won[2].any()
    np.testing.assert_allclose(won[2], [*won[0][:-1], *won[1]], rtol=1e-12)
