"""Bets of one arm against a pool: what they pay, when they pay nothing, and what they find."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from kabc.core.arrays import Array
from kabc.core.evidence import betting
from kabc.core.scores.maps import Scaled
from kabc.strategies.anytime.batches import Batch
from kabc.strategies.anytime.learning import Learning
from kabc.strategies.tolerance.pools import PoolRound, PoolWealth
from kabc.strategies.tolerance.tails import N_EXPERTS, Tails

ALPHA = 0.05


class Stream:
    """Arms with laws of values 0, 1, 2, ...; rounds of bets of the first one against the others."""

    def __init__(self, laws: Array, seed: int) -> None:  # (N, V)
        self._cumulated = laws.cumsum(axis=1)
        self._rng = np.random.default_rng(seed)
        self.arms = np.arange(len(laws))
        self.learning = Learning(len(laws), [Scaled()])
        pilot = self.batch(20)
        self.tails = Tails(pilot.samples, len(laws))
        self._learn(pilot)
        self.wealth = PoolWealth(1)

    def batch(self, n: int) -> Batch:
        drawn = self._rng.random((len(self.arms), n))
        rows = [np.searchsorted(law, u)[:, None].astype(float) for law, u in zip(self._cumulated, drawn, strict=True)]
        return Batch.of(self.arms.tolist(), rows)

    def _learn(self, batch: Batch) -> None:
        self.learning.absorb(self.learning.read(batch))
        self.tails.absorb(self.arms, batch.samples.reshape(len(self.arms), -1, 1))

    def round(self, n: int) -> None:
        batch = self.batch(n)
        now = PoolRound(self.learning, self.tails, self.learning.read(batch))
        factors = now.against(np.array([0]), self.arms[1:])
        assert factors is not None
        self.wealth.bet(np.array([0]), factors)
        self._learn(batch)


MIXED = np.array([[0.5, 0.3, 0.2], [0.8, 0.1, 0.1], [0.2, 0.5, 0.3]])  # the first is the average of the others


def test_an_arm_that_is_the_average_of_its_pool_is_told_apart_as_rarely_as_promised() -> None:
    """The arms of the pool differ from each other and from the arm. Taken together they do not."""
    np.testing.assert_allclose(MIXED[0], MIXED[1:].mean(axis=0))
    runs = 60
    wrong = 0
    for seed in range(runs):
        stream = Stream(MIXED, seed)
        for _ in range(20):
            stream.round(6)
        wrong += stream.wealth.best[0] >= -math.log(ALPHA)
    assert wrong <= binom.ppf(0.999, runs, ALPHA)


@pytest.mark.parametrize("m", [1, 2, 9])
def test_the_mean_of_a_bet_is_at_most_one_for_any_score_if_the_arm_is_the_average(m: int) -> None:
    """Exact, over all outcomes: laws of three values, random scores. For the average of equal laws it can be 1."""
    rng = np.random.default_rng(m)
    for scale in (0.1, 1.0, 5.0):
        pool = rng.dirichlet(np.ones(3), m)
        scores = scale * rng.normal(size=3)
        a = pool.mean(axis=0) @ np.exp(betting.log_of_arm(scores, np.array(m)))
        b = pool @ np.exp(betting.log_of_pool(scores, np.array(m)))
        assert a * b.prod() <= 1 + 1e-12
    nothing = np.zeros(3)
    assert betting.log_of_arm(nothing, np.array(m)) == pytest.approx(0.0)
    assert betting.log_of_pool(nothing, np.array(m)) == pytest.approx(0.0)
    assert betting.log_of_arm(np.array(50.0), np.array(m)) == pytest.approx(math.log(m + 1))


def test_against_one_arm_it_is_the_product_bet() -> None:
    x, y = np.random.default_rng(0).normal(size=(2, 20))
    both = betting.log_of_arm(x, np.array(1)) + betting.log_of_pool(y, np.array(1))
    np.testing.assert_allclose(both, betting.log_product(x, y), atol=1e-12)


def test_an_arm_inside_the_pool_is_compared_with_the_others_only() -> None:
    stream = Stream(np.array([[0.6, 0.3, 0.1], [0.6, 0.3, 0.1], [0.1, 0.2, 0.7], [0.6, 0.3, 0.1]]), 1)
    now = PoolRound(stream.learning, stream.tails, stream.learning.read(stream.batch(7)))
    inside, outside = now.against(np.array([2]), np.arange(4)), now.against(np.array([2]), np.array([0, 1, 3]))
    assert inside is not None and outside is not None
    # the tail of the pool is that of the samples of all of its arms: a cut of the past, which may be any
    np.testing.assert_allclose(inside[:, N_EXPERTS:], outside[:, N_EXPERTS:], atol=1e-10)
    assert np.abs(inside[:, N_EXPERTS:]).max() > 0.1


def test_without_a_whole_pool_nothing_is_bet() -> None:
    stream = Stream(np.tile([0.6, 0.3, 0.1], (3, 1)), 2)
    lesson = stream.learning.read(stream.batch(4))
    some = Batch(lesson.batch.samples[:8], lesson.batch.arms[:2], lesson.batch.counts[:2])
    now = PoolRound(stream.learning, stream.tails, stream.learning.read(some))
    assert now.against(np.array([0]), np.array([1, 2])) is None
    assert now.against(np.array([0]), np.array([1])) is not None


def test_rare_values_far_outside_are_found_after_three_of_them() -> None:
    """Nine arms never stall. One does in 3 of 100 samples: each time is worth nearly ten times the stake."""
    rng = np.random.default_rng(3)
    tails, wealth, m = Tails(rng.normal(100, 4, (120, 1)), 10), PoolWealth(1), np.array([9])
    arms, pool, inside = np.array([0]), np.arange(1, 10), np.zeros(1, dtype=np.bool_)
    tails.absorb(np.arange(10), rng.normal(100, 4, (10, 20, 1)))
    for start in range(0, 100, 10):
        rows = rng.normal(100, 4, (10, 10, 1))
        rows[0, 0] *= 10.0 if start in (20, 50, 80) else 1.0
        far = tails.far(rows)
        made = [
            (betting.log_of_arm(x, m[:, None]).sum(axis=1) + betting.log_of_pool(y, m).sum(axis=0))
            for x, y in tails.scores(far[:1], far[1:].ravel(), arms, pool, inside)
        ]
        wealth.bet(arms, np.stack(made, axis=-1))
        tails.absorb(np.arange(10), rows)
    assert len(made) == N_EXPERTS
    assert wealth.log[0] > math.log(100)
    assert wealth.gains[0, :3].max() > 3 * math.log(8)


def test_equal_arms_lose_next_to_nothing_by_waiting_for_rare_values() -> None:
    rng = np.random.default_rng(4)
    tails = Tails(rng.normal(size=(100, 1)), 5)
    tails.absorb(np.arange(5), rng.normal(size=(5, 50, 1)))
    far = tails.far(rng.normal(size=(5, 200, 1)))
    inside, m = np.zeros(1, dtype=np.bool_), np.array([4])
    made = [
        float((betting.log_of_arm(x, m[:, None]).sum(axis=1) + betting.log_of_pool(y, m).sum(axis=0))[0])
        for x, y in tails.scores(far[:1], far[1:].ravel(), np.array([0]), np.arange(1, 5), inside)
    ]
    assert min(made[:2]) > -0.2  # 200 matches, at 1 % and 3 %, beyond the farthest cut


def test_what_is_forgotten_starts_afresh() -> None:
    wealth = PoolWealth(2)
    wealth.bet(np.array([0, 1]), np.ones((2, N_EXPERTS + 2)))
    assert (wealth.log > 0.9).all()
    wealth.forget(np.array([1]))
    assert wealth.log[1] == wealth.best[1] == 0.0 and wealth.log[0] > 0.9
