"""Arms that fit into no group are found among many, no bet is made on the way, and the guarantee holds."""

from __future__ import annotations

import math
import os

import numpy as np
import pytest

import kabc
from kabc import AnytimeKABC
from kabc.core.scores.discriminant import Moments
from kabc.core.scores.maps import Scaled
from kabc.strategies.anytime import screening
from kabc.strategies.anytime.batches import Batch
from kabc.strategies.anytime.core import Core
from kabc.strategies.anytime.teaching import moments_of, teach

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


def looked_at(
    means: np.ndarray, rounds: list[tuple[np.ndarray, int]], seed: int = 0, freedom: float = math.inf
) -> tuple[tuple[Moments, ...], list[Batch], np.ndarray]:
    """Learners that know 24 arms in two groups by turns, the samples of all rounds, and the groups of these 24."""
    rng, core = np.random.default_rng(seed), np.arange(24)
    noise = rng.standard_normal if freedom == math.inf else lambda size: rng.standard_t(freedom, size)
    batches = [Batch.of(arms.tolist(), [means[arm] + noise((n, 1)) for arm in arms]) for arms, n in rounds]
    learners = (moments_of(Scaled().fitted(batches[0].samples), len(means), paired=False),)
    teach(learners, [batches[0].part(core)])
    return learners, batches, np.where(np.arange(len(means)) < 24, np.arange(len(means)) % 2, -1)


def test_a_look_goes_on_with_the_oddest_arms_until_few_are_left() -> None:
    means = np.where(np.arange(400) % 2, 5.0, 0.0)
    means[[37, 251]] = 9.0, -4.5  # stand out a little
    everyone, outside = np.arange(400), np.arange(24, 400)
    learners, batches, known = looked_at(means, [(everyone, 6)])
    odd, closer = screening.looked(screening.Look(outside, 6, 376), learners, batches, known, n_missing=2)
    assert not len(odd) and closer is not None
    assert (len(closer.arms), closer.samples, closer.among) == (376 // 16, 12, 376)
    assert {37, 251} == set(closer.arms[:2].tolist())
    learners, batches, known = looked_at(means, [(everyone, 6), (closer.arms, 6)])
    odd, last = screening.looked(closer, learners, batches, known, n_missing=2)
    assert last is not None and not len(odd) and len(last.arms) == 16 and last.samples == 24
    learners, batches, known = looked_at(means, [(everyone, 6), (closer.arms, 6), (last.arms, 12)])
    odd, more = screening.looked(last, learners, batches, known, n_missing=2)
    assert more is None
    assert {37, 251} == set(odd[:2].tolist()) and len(odd) <= 8


def test_many_arms_that_stand_out_are_a_group_and_a_few_of_them_join_at_once() -> None:
    means = np.where(np.arange(400) % 2, 5.0, 0.0)
    means[100:200] = 20.0
    learners, batches, known = looked_at(means, [(np.arange(400), 4)])
    odd, closer = screening.looked(screening.Look(np.arange(24, 400), 4, 376), learners, batches, known, n_missing=2)
    assert closer is None
    assert len(odd) == 8 and set(odd.tolist()) <= set(range(100, 200))


def test_arms_that_stand_out_because_tails_are_heavy_are_looked_at_closely_and_do_not_join() -> None:
    means = np.where(np.arange(4_000) % 2, 9.0, 0.0)
    means[37] = 4.5
    outside = np.arange(24, 4_000)
    learners, batches, known = looked_at(means, [(np.arange(4_000), 4)], freedom=3.0)
    look: screening.Look | None = screening.Look(outside, 4, len(outside))
    odd, shrinking = outside[:0], []
    while look is not None:
        shrinking.append(len(look.arms))
        odd, look = screening.looked(look, learners, batches, known, n_missing=1)
        if look is not None:
            more, n = look.arms, look.samples // 2
            noise = np.random.default_rng(n).standard_t(3.0, (len(more), n, 1))
            batches.append(Batch.of(more.tolist(), list(means[more][:, None, None] + noise)))
    assert shrinking == [3_976, 248, 16]
    assert odd[0] == 37


def test_of_a_few_arms_outside_all_join() -> None:
    learners, batches, known = looked_at(np.zeros(30), [(np.arange(30), 4)])
    odd, closer = screening.looked(screening.Look(np.arange(24, 30), 4, 6), learners, batches, known, n_missing=1)
    assert closer is None and odd.tolist() == list(range(24, 30))


def test_half_of_the_oddest_arms_are_those_of_the_map_that_wins_and_every_map_has_its_say() -> None:
    rng = np.random.default_rng(1)
    odd = rng.normal(size=(5_000, 5))
    odd[:, 4] = 0.0  # under this map all arms look the same
    by_map = [set(np.argsort(-odd[:, one])[:10].tolist()) for one in range(5)]
    first = set(screening._ranked(odd, trusted=2)[:40].tolist())
    assert by_map[2] <= first and len(set(np.argsort(-odd[:, 2])[:20].tolist()) & first) >= 18
    assert all(len(by_map[one] & first) >= 4 for one in (0, 1, 3))
    assert set(screening._ranked(odd, trusted=4)[:3].tolist()) <= by_map[0] | by_map[1] | by_map[2] | by_map[3]


def test_looks_come_at_four_samples_and_half_as_many_again_up_to_a_quarter_of_the_core() -> None:
    looks = [screening.next_look(np.arange(50), held, 64) for held in (0, 3, 4, 6, 9, 14)]
    assert [look and look.samples for look in looks] == [4, 4, 6, 9, 14, None]
    assert screening.next_look(np.arange(0), 0, 64) is None


def test_arms_that_stood_out_get_their_chance_whatever_they_had_before() -> None:
    before = np.array([40, 40, 32, 32])
    search = screening.Search(np.array([0, 1, -1, -1]), (0, 1), np.array([2, 3]), 4, before)
    apart = np.zeros((4, 4), dtype=bool)
    assert not search.is_over(apart, before + 31, patience=64)
    assert search.is_over(apart, before + 32, patience=64)
    assert search.is_over(apart, before + 10, patience=10)


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
    search = screening.Search(labels, (10, 11, 12), np.array([30, 40, 50]), 4, np.zeros(60, dtype=np.int64))
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
