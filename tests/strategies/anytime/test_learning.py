"""What experts know: reading a batch changes nothing, scores are fixed before the samples they are applied to."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import pytest
from numpy.typing import NDArray

from kabc.core.partitions import Partition
from kabc.core.scores.discriminant import RIDGES
from kabc.core.scores.maps import FeatureMap, Scaled
from kabc.strategies.anytime.batches import Batch
from kabc.strategies.anytime.far import FarArms
from kabc.strategies.anytime.learning import SCALES, Learning
from tests.strategies.anytime.books import lesson

Rows = dict[int, NDArray[Any]]
N_EXPERTS = len(RIDGES) * len(SCALES)  # of a map


@dataclass(frozen=True)
class Watched(FeatureMap):
    """A map that notes how many samples it was fitted on."""

    fits: list[int] = field(default_factory=list)

    def fitted(self, past: NDArray[Any]) -> Self:
        self.fits.append(len(past))
        return self

    def __call__(self, samples: NDArray[Any]) -> NDArray[Any]:
        return samples


def draw(seed: int, count: int = 2) -> Rows:
    rng = np.random.default_rng(seed)
    return {arm: rng.normal(9.0 * (arm % 2), 1.0, (count, 1)) for arm in range(4)}


def learn(learning: Learning, rows: Rows) -> None:
    learning.absorb(lesson(learning, rows))


def taught(*seeds: int) -> Learning:
    learning = Learning(4, [Scaled()])
    for seed in seeds:
        learn(learning, draw(seed))
    learning.rescore(np.arange(4), np.full(4, -1), 2)
    return learning


def guessed(
    learning: Learning, core: NDArray[np.intp], gains: NDArray[np.float64] | None = None
) -> tuple[NDArray[np.intp], float]:
    found = learning.guess(np.zeros(N_EXPERTS) if gains is None else gains, core, 2)
    assert found is not None
    return found


def test_a_batch_knows_whose_samples_it_holds() -> None:
    batch = Batch.of([3, 1], [np.zeros((2, 1)), np.ones((3, 1))])
    assert batch.owners.tolist() == [3, 3, 1, 1, 1]
    assert batch.base == 2


def test_reading_changes_nothing_and_absorbing_does() -> None:
    learning = taught(0)
    before = copy.deepcopy(learning)
    read = lesson(learning, draw(1))
    assert learning.n_samples == 8
    assert np.array_equal(learning.learners[0].counts, before.learners[0].counts)
    learning.absorb(read)
    assert learning.counts.tolist() == [4, 4, 4, 4]
    assert learning.n_samples == 16


def test_samples_are_kept_in_the_order_they_were_told() -> None:
    learning = taught(0, 1)
    samples, owners = learning.samples()
    told = [rows for seed in (0, 1) for rows in draw(seed).values()]
    assert np.array_equal(samples, np.concatenate(told))
    assert owners.tolist() == [0, 0, 1, 1, 2, 2, 3, 3] * 2
    assert learning.columns == 1
    assert Learning(4, None).columns is None


def test_maps_are_fitted_anew_whenever_the_samples_have_doubled() -> None:
    watched = Watched()
    learning = Learning(4, [watched])
    for seed in range(8):
        learn(learning, draw(seed))
    assert watched.fits == [8, 16, 32, 64]


def test_learners_know_every_sample_once() -> None:
    learning = taught(0, 1, 2, 3, 4)
    assert learning.learners[0].counts.tolist() == [10.0] * 4


def test_each_scorer_bets_at_half_strength_with_a_ceiling_and_at_full_strength_without() -> None:
    learning = taught(0)
    made = learning.block(lesson(learning, draw(1, 1)), learning.scoring(2))
    assert made.n_experts == len(learning.scorers) * len(SCALES) == len(RIDGES) * len(SCALES)
    assert made.scales == (0.5, 1.0)
    assert made.caps == pytest.approx((math.log1p(8 / 2), math.inf))


def test_scores_of_a_sample_do_not_depend_on_the_other_samples_of_its_round() -> None:
    learning = taught(0)
    rows, others = draw(1, 8), draw(2, 8)  # twice as many samples: maps are fitted anew, but not for this round
    one = learning.block(lesson(learning, rows), learning.scoring(2))
    two = learning.block(lesson(learning, {**others, 0: rows[0]}), learning.scoring(2))
    assert np.allclose(one.scores[:, :8], two.scores[:, :8], rtol=1e-12)
    assert not np.isclose(one.scores[:, 8:], two.scores[:, 8:]).all(axis=(1, 2)).any()


def test_clear_groups_are_guessed_whoever_has_won() -> None:
    learning = taught(0, 1)
    for expert in range(N_EXPERTS):
        guess, odds = guessed(learning, np.arange(4), 5.0 * (np.arange(N_EXPERTS) == expert))
        assert guess[0] == guess[2] != guess[1] == guess[3]
        assert odds < 1e-3
        assert np.array_equal(learning.groups_seen(expert), guess)


@dataclass(frozen=True)
class Column(FeatureMap):
    """One column of the samples."""

    number: int

    def fitted(self, past: NDArray[Any]) -> Self:
        return self

    def __call__(self, samples: NDArray[Any]) -> NDArray[Any]:
        return samples[:, [self.number]]


@pytest.mark.parametrize("known", [False, True])  # the groups that the scores rest on: found, or those of a claim
def test_a_guess_listens_to_the_experts_that_have_won(known: bool) -> None:
    rng, groups = np.random.default_rng(3), {0: [0, 0, 1, 1], 1: [0, 1, 0, 1]}
    places = 9.0 * np.array([groups[0], groups[1]]).T
    learning = Learning(4, [Column(0), Column(1)])
    learn(learning, {arm: rng.normal(places[arm], 1.0, (6, 2)) for arm in range(4)})
    learning.rescore(np.arange(4), np.array(groups[0]) if known else np.full(4, -1), 2)
    for number, labels in groups.items():
        guess, odds = guessed(learning, np.arange(4), 5.0 * (np.arange(2 * N_EXPERTS) // N_EXPERTS == number))
        assert Partition.of(guess.tolist()).matches(Partition.of(labels))
        assert odds < 1e-3


def test_scores_stay_until_there_are_enough_new_samples_or_other_groups_are_known() -> None:
    learning, everyone, groups = taught(*range(25)), np.arange(4), np.array([0, 1, 0, 1])  # 200 samples
    first = learning.scorers
    learn(learning, draw(30, 1))
    learning.rescore(everyone, np.full(4, -1), 2)
    assert learning.scorers is first
    learning.rescore(everyone, groups, 2)  # after 204
    second = learning.scorers
    assert second is not first
    learn(learning, draw(31, 2))
    learning.rescore(everyone, groups, 2)
    assert learning.scorers is second
    learning.rescore(everyone[:3], groups, 2)
    assert learning.scorers is not second
    second = learning.scorers
    learn(learning, draw(32, 3))  # 224 are 5 % more than 212
    assert learning.is_due
    learning.rescore(everyone[:3], groups, 2)
    assert learning.scorers is not second


def test_scores_of_maps_that_were_fitted_anew_are_made_anew() -> None:
    learning = taught(*range(31))  # 248 samples; maps were fitted on 128
    learn(learning, draw(40, 1))
    assert not learning.is_due
    learn(learning, draw(41, 1))  # 256
    assert learning.is_due


def test_arms_outside_the_core_have_no_group_in_a_guess() -> None:
    guess, _ = guessed(taught(0, 1), np.array([3, 0]))
    assert (guess < 0).tolist() == [False, True, True, False]


def test_rows_of_a_wider_core_keep_the_groups_that_their_arms_had() -> None:
    before, now = FarArms(6, np.array([3, 1]), 2), FarArms(6, np.array([3, 1, 0]), 2)
    assert now.carried(np.array([1, 0, -1, -1]), before).tolist() == [-1, 1, 0, -1, -1]  # arms 0, 1 and 3; two groups


def test_identical_samples_make_no_guess() -> None:
    learning = Learning(4, [Scaled()])
    learn(learning, {arm: np.zeros((3, 1)) for arm in range(4)})
    assert learning.guess(np.zeros(N_EXPERTS), np.arange(4), 2) is None
