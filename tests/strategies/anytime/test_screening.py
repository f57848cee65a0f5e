"""Arms that fit into no group are found among many, no bet is made on the way, and the guarantee holds."""

from __future__ import annotations

import math
import os

import numpy as np
import pytest

import kabc
from kabc import AnytimeKABC
from kabc.core.scores.maps import Scaled
from kabc.strategies.anytime import screening
from kabc.strategies.anytime.core import Core
from kabc.strategies.anytime.learning import Batch, moments_of, teach

RUNS = 300 if os.environ.get("KABC_FUZZ") == "100" else 20


def samples(means: np.ndarray, request: dict[int, int], rng: np.random.Generator) -> dict[int, np.ndarray]:
    return {arm: rng.normal(means[arm], 1.0, (n, 1)) for arm, n in request.items()}


def played(means: np.ndarray, n_groups: int, seed: int, delta: float = 0.05) -> AnytimeKABC:
    strategy = AnytimeKABC(len(means), n_groups, delta, maps=[Scaled()], seed=seed)
    rng = np.random.default_rng([seed, 7])
    while not strategy.stopped and strategy.n_samples < 400 * len(means):
        strategy.tell(samples(means, strategy.ask(), rng))
    return strategy


def groups(means: np.ndarray) -> tuple[int, ...]:
    seen: dict[float, int] = {}
    return tuple(seen.setdefault(mean, len(seen)) for mean in means.tolist())


def test_the_oddest_arms_come_first_and_usual_arms_do_not_stand_out() -> None:
    rng, n_arms = np.random.default_rng(0), 400
    means = np.where(np.arange(n_arms) % 2, 5.0, 0.0)
    means[[37, 251]] = 20.0, -12.0
    batch = Batch.of(range(n_arms), [rng.normal(mean, 1.0, (6, 1)) for mean in means])
    learners = (moments_of(Scaled().fitted(batch.samples), n_arms, paired=False),)
    core = np.arange(24)
    teach(learners, [batch.part(core)])
    labels = np.full(n_arms, -1)
    labels[core] = core % 2
    found = screening.odd_arms(learners, [batch], labels, np.arange(24, n_arms), n_missing=2)
    assert found.tolist()[:2] == [37, 251]
    assert len(found) <= 3


def test_as_many_arms_join_as_cost_little_beside_the_next_look() -> None:
    assert screening.most_at_once(n_outside=1_000, held=4, core=105) == 15
    assert screening.most_at_once(n_outside=100_000, held=4, core=105) == 26  # a quarter of the core
    rng = np.random.default_rng(0)
    odd = rng.normal(size=(20_000, 3))
    odd[[5, 6], [0, 2]] = 4.2, 4.0  # stand out, but not from the oddest of so many
    chosen = screening._chosen(odd, few=8, most=26)
    assert {5, 6} <= set(chosen.tolist()) and 10 < len(chosen) <= 26
    assert not {5, 6} & set(screening._chosen(odd, few=8, most=8).tolist())
    odd[100:600, 1] = rng.normal(9.0, 1.0, 500)  # a group of its own: a few arms of it are enough
    assert len(screening._chosen(odd, few=8, most=26)) == 8


def test_a_map_under_which_usual_arms_are_far_does_not_hide_what_others_see() -> None:
    rng = np.random.default_rng(1)
    odd = np.stack([rng.standard_t(2, 5_000), rng.normal(size=5_000)], axis=1)
    odd[77, 1] = 6.0
    assert 77 in screening._chosen(odd, few=8, most=26)[:2]


def test_looks_come_at_four_samples_and_half_as_many_again_up_to_a_quarter_of_the_core() -> None:
    assert [screening.next_look(held, 64) for held in (0, 3, 4, 6, 9, 14)] == [4, 4, 6, 9, 14, None]


@pytest.mark.parametrize("odd", [[9.0], [9.0, -9.0, 18.0], [9.0, 9.0, 9.0]])
def test_odd_arms_among_many_are_found_at_little_cost(odd: list[float]) -> None:
    """One arm, three groups of one arm, and one group of three arms, among 400 in three groups."""
    usual = np.repeat([0.0, 4.5, -4.5], 134)[: 400 - len(odd)]
    plain = played(np.repeat([0.0, 4.5, -4.5], 134)[:400], 3, seed=1)
    means = np.random.default_rng(5).permutation(np.concatenate([usual, odd]))
    strategy = played(means, 3 + len(set(odd)), seed=1)
    assert strategy.status == plain.status == "decided"
    assert strategy.recommend().labels == groups(means)
    assert strategy.n_samples <= 2.5 * plain.n_samples  # with 400 arms the core is a large part of all


def test_no_arm_outside_has_evidence_while_it_is_looked_at() -> None:
    """The proof takes for granted that all evidence about an arm starts at 1 when it joins the core."""
    means = np.zeros(300)
    means[250] = 8.0
    strategy, rng, looked = AnytimeKABC(300, 2, 0.05, maps=[Scaled()], seed=3), np.random.default_rng(3), 0
    found = strategy._found
    while found.search is None:
        looked += found.look is not None
        strategy.tell(samples(means, strategy.ask(), rng))
        outside = np.setdiff1d(np.arange(300), found.core.arms)
        assert not found.wealth.log[outside].any()
        assert not found.wealth.best[outside].any()
    assert looked > 0
    joined = found.core.arms[-found.core.sought :]
    assert 250 in joined
    assert not found.wealth.log[joined].any()
    limit = math.log(math.comb(found.core.size, 2) / found.shares.pairs(found.core.size, found.core.stage))
    assert (found.wealth.limits[joined] == limit).all()


class Game:
    """Many arms of four columns in groups at distance 4 from 0, and odd arms."""

    def __init__(self, n_arms: int, n_groups: int, odd_at: list[float], seed: int) -> None:
        self._rng = np.random.default_rng([seed, 7])
        centres = self._rng.normal(size=(n_groups + len(odd_at), 4))
        centres *= np.array([*[4.0] * n_groups, *odd_at])[:, None] / np.linalg.norm(centres, axis=1, keepdims=True)
        self.groups = np.arange(n_arms) % n_groups
        self.groups[7 : 7 + len(odd_at)] = n_groups + np.arange(len(odd_at))
        self._centres = centres
        self.strategy = AnytimeKABC(n_arms, len(centres), 0.05, maps=[Scaled()], seed=seed)

    def round(self) -> None:
        request = self.strategy.ask().items()
        drawn = {arm: self._centres[self.groups[arm]] + self._rng.normal(size=(n, 4)) for arm, n in request}
        self.strategy.tell(drawn)


def test_arms_that_stand_out_are_compared_with_arms_that_are_told_apart() -> None:
    searches = 0
    for seed in range(6):
        game = Game(400, 15, [16.0], seed)
        found = game.strategy._found
        while found.search is None and found.assignment is None:
            game.round()
        if found.search is not None:
            apart = found.wealth.apart_among(np.array(found.search.met))
            assert np.count_nonzero(apart) == len(apart) * (len(apart) - 1)
            searches += 1
    assert searches > 2


def test_a_search_numbers_the_groups_as_before_and_new_ones_after_them() -> None:
    apart = np.ones((6, 6), dtype=bool) & ~np.eye(6, dtype=bool)
    apart[1, 3] = apart[3, 1] = False  # arm 30 is one of the group of arm 11
    apart[4, 5] = apart[5, 4] = False  # arms 40 and 50 are of one new group
    labels = np.full(60, -1)
    labels[[10, 11, 12, 13]] = 0, 1, 2, 2
    search = screening.Search(labels, (10, 11, 12), np.array([30, 40, 50]), held=4)
    seen, standing = search.found(apart)
    assert standing == (10, 11, 12, 40)
    assert seen[[10, 11, 12, 13, 30, 40, 50]].tolist() == [0, 1, 2, 2, 1, 3, 3]


def test_the_core_is_not_widened_once_it_has_all_groups() -> None:
    game = Game(500, 10, [4.0, 4.0], seed=0)
    found, complete = game.strategy._found, 0  # arms of the core when all groups were first found in it
    while not game.strategy.stopped:
        game.round()
        if not complete and len(found._forced().representatives) == 12:
            complete = found.core.size
    assert game.strategy.recommend().labels == kabc.Partition.of(game.groups.tolist()).labels
    assert found.core.size == complete < 100


def test_arms_that_join_come_behind_those_before_and_the_rest_keeps_its_order() -> None:
    core = Core.first(np.arange(100)[::-1], 2)
    wider = core.joined(np.array([5, 50]))
    assert wider.arms.tolist() == [*range(99, 75, -1), 5, 50]
    assert (wider.stage, wider.sizes, wider.sought) == (2, (24, 26), 2)
    assert sorted(wider.order.tolist()) == list(range(100))
    assert wider.widened().size == 52


@pytest.mark.slow
def test_equal_arms_are_rarely_told_apart_although_the_oddest_are_chosen() -> None:
    """All arms are the same but one, so every arm that joins beside it was chosen because chance made it odd.

    With K = 2 the partition is wrong with probability at most delta; the number of wrong runs is at most what a
    binomial with this probability exceeds in one of 1,000 cases.
    """
    from scipy.stats import binom

    delta, means = 0.2, np.zeros(120)
    means[7] = 3.0
    wrong = 0
    for seed in range(RUNS):
        strategy = played(means, 2, seed, delta)
        apart = strategy.evidence().told_apart.copy()
        apart[7] = apart[:, 7] = False
        wrong += bool(apart.any()) or (strategy.status == "decided" and strategy.recommend().labels != groups(means))
    assert wrong <= binom.ppf(0.999, RUNS, delta)
