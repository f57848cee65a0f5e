"""Looks at shuffled samples: loud where a group holds two distributions, rarely loud where each group is one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from kabc.core.arrays import Array, Index
from kabc.core.scores.maps import Ranks, Scaled
from kabc.strategies.anytime import shuffles
from kabc.strategies.anytime.batches import Batch
from kabc.strategies.anytime.shuffles import LEVELS, LOOKS, Shuffles, graded

GROUPS = np.array([0, 0, 0, 1, 1, 1])
WHOLE = np.array([0.0, 0, 0, 5, 5, 5])  # means of the arms
SPLIT = np.array([0.0, 0, 3, 5, 5, 5])


def rounds(means: Array, counts: list[int], seed: int = 0) -> list[Batch]:
    rng, arms = np.random.default_rng(seed), list(range(len(means)))
    return [Batch.of(arms, [rng.normal(mean, 1.0, (n, 1)) for mean in means]) for n in counts]


def looked(batches: list[Batch], groups: Index = GROUPS) -> Shuffles:
    found = Shuffles(np.arange(len(groups)), groups, [Scaled()])
    found.follow(batches)
    return found


def test_a_group_of_two_distributions_has_a_small_p_and_a_whole_one_has_not() -> None:
    assert looked(rounds(SPLIT, [8])).p_values[-1] < 0.01
    assert looked(rounds(WHOLE, [8])).p_values[-1] > 0.01


def test_evidence_grows_look_by_look() -> None:
    found = looked(rounds(SPLIT, [LOOKS[1]]))
    assert len(found.p_values) == 2
    assert found.evidence == sum(graded(p) for p in found.p_values) / len(LOOKS) > 20


def test_no_more_looks_are_made_when_they_could_change_nothing() -> None:
    found = looked(rounds(SPLIT, [LOOKS[-1]]))
    assert found.evidence >= shuffles.ENOUGH
    assert len(found.p_values) < len(LOOKS)


def test_over_all_ranks_the_grade_of_p_has_mean_1() -> None:
    """1,023 shuffles and the samples: each rank is equally likely if the groups are whole."""
    assert np.mean([graded(rank / 1024) for rank in range(1, 1025)]) == pytest.approx(1.0)
    assert [graded(level) > graded(1.01 * level) for level in LEVELS] == [True] * 3


def test_a_small_p_is_as_rare_as_it_says_when_groups_are_whole() -> None:
    """Few samples, so that maps fitted on them matter; at every look of its own."""
    runs, level, maps = 300, 1 / 16, [Scaled(), Ranks()]
    small = np.zeros(2)
    for seed in range(runs):
        found = Shuffles(np.arange(6), GROUPS, maps)
        found.follow(rounds(WHOLE, [LOOKS[1]], seed))
        small += np.array(found.p_values) <= level
    assert (small <= stats.binom.ppf(1 - 1e-4, runs, level)).all()
    assert (small >= stats.binom.ppf(1e-4, runs, level)).all()  # and a p, not a bound far from it


def test_the_samples_themselves_count_as_a_shuffle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shuffles, "_STAGES", ((15, 1 / 4), (31, 0.0)))
    assert looked(rounds(SPLIT, [8])).p_values[-1] == 1 / 32


@pytest.mark.parametrize(
    ("p", "many"), [(0.5, [15]), (0.3, [15, 63]), (0.05, [15, 63, 255]), (0.01, [15, 63, 255, 1023])]
)
def test_more_shuffles_are_made_only_while_p_is_small(
    monkeypatch: pytest.MonkeyPatch, p: float, many: list[int]
) -> None:
    made: list[int] = []

    def rank(spreads: object, shuffled: int, rng: object) -> float:
        made.append(shuffled)
        return p

    monkeypatch.setattr(shuffles, "_rank", rank)
    assert looked(rounds(WHOLE, [LOOKS[0]])).p_values == [p]
    assert made == many


def test_a_look_that_ends_early_would_count_as_nothing() -> None:
    """A stage ends a look only if its p is above all levels that count (Lemma 17.2)."""
    *early, last = shuffles._STAGES
    assert all(small >= max(LEVELS) for _, small in early)
    assert last == (1 / min(LEVELS) - 1, 0.0)


def test_only_the_first_samples_of_each_arm_matter() -> None:
    batches = rounds(WHOLE, [2, 3, 1, 2])
    more = [*batches, Batch.of([2], [np.full((40, 1), 99.0)])]
    assert looked(batches).p_values == looked(more).p_values
    assert len(looked(batches).p_values) == 2


def test_a_look_waits_until_all_arms_have_enough_samples() -> None:
    batches = [*rounds(WHOLE, [LOOKS[0] - 1]), Batch.of([0, 1, 2, 3, 4], [np.ones((3, 1))] * 5)]
    assert looked(batches).p_values == []
    assert looked(batches).next_look == LOOKS[0]


def test_an_arm_alone_in_its_group_is_not_looked_at_and_need_not_be_drawn() -> None:
    """It has one sample, and it is far away: looks are those at the other arms alone."""
    others = rounds(SPLIT, [LOOKS[1]])
    found = looked([*others, Batch.of([6], [np.full((1, 1), 99.0)])], np.append(GROUPS, 2))
    assert found.arms.tolist() == [0, 1, 2, 3, 4, 5]
    assert found.p_values == looked(others).p_values


def test_looking_in_between_changes_nothing() -> None:
    batches, one = rounds(WHOLE, [2] * 8), Shuffles(np.arange(6), GROUPS, [Scaled()])
    for number in range(len(batches)):
        one.follow(batches[: number + 1])
    assert one.p_values == looked(batches).p_values


def test_what_maps_are_fitted_on_does_not_depend_on_the_shuffle() -> None:
    rng = np.random.default_rng(0)
    samples = rng.integers(0, 3, (30, 2)).astype(float)
    assert (shuffles._sorted(samples) == shuffles._sorted(rng.permutation(samples))).all()


@pytest.mark.parametrize("groups", [np.array([0, 0, 0, 1, 1, -1]), np.arange(6)])
def test_there_is_no_look_at_arms_without_a_group_or_at_groups_of_one_arm(groups: Index) -> None:
    found = looked(rounds(WHOLE, [10]), groups)
    assert (found.p_values, found.next_look, found.evidence) == ([], None, 0)


def test_samples_of_one_value_show_nothing() -> None:
    assert looked([Batch.of(list(range(6)), [np.zeros((6, 1))] * 6)]).p_values == [1.0]
