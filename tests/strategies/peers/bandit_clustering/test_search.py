"""The search in queries: its course against a slow transcription, its error probability."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, norm

from kabc import Partition
from kabc.strategies.peers.bandit_clustering import Search
from kabc.strategies.peers.bandit_clustering.search import deepest, threshold
from tests.strategies.peers.bandit_clustering.examples import INSTANCES, Array, cell_sums, grouped, searched


class Literal:
    """The algorithm as its authors describe it, on means of samples, in plain loops."""

    def __init__(self, means: Array, pairs: np.random.Generator, noise: np.random.Generator) -> None:
        self.n, self.d = means.shape
        self.means, self.pairs, self.noise = means, pairs, noise
        self.cost = 0

    def differences(self, reference: int, cells: list[tuple[int, int]], m: int) -> list[float]:
        self.cost += 2 * m * len(cells)
        near = [self.means[reference, j] + self.noise.normal() / math.sqrt(m) for _, j in cells]
        far = [self.means[i, j] + self.noise.normal() / math.sqrt(m) for i, j in cells]
        return [abs(x - y) for x, y in zip(near, far, strict=True)]

    def admissible(self, depth: int, budget: int, delta: float) -> bool:
        limit = math.floor(math.log2(16 * self.n * self.d * math.log(16 * math.log(8 * self.n * self.d) / delta))) + 1
        return depth < limit and depth * 2 ** (depth + 1) <= budget

    def cesh(self, items: list[int], depth: int, budget: int) -> tuple[int, int]:
        picked = self.pairs.integers(len(items), size=2**depth).tolist()
        cells = [
            (items[p], j) for p, j in zip(picked, self.pairs.integers(self.d, size=2**depth).tolist(), strict=True)
        ]
        before = self.cost
        for level in range(depth):
            assert len(cells) == 2 ** (depth - level)
            m = math.floor(budget / (2 ** (depth - level + 1) * depth))
            gaps = self.differences(0, cells, m)
            best = sorted(range(len(cells)), key=lambda c: -gaps[c])
            cells = [cells[c] for c in best[: len(cells) // 2]]
        assert self.cost - before <= budget
        return cells[0]

    def cr(self, delta: float) -> int:
        k = 0
        while True:
            k, depth = k + 1, 1
            while self.admissible(depth, 2 ** (k + 1), delta):
                i, j = self.cesh(list(range(self.n)), depth, 2 ** (k + 1))
                (gap,) = self.differences(0, [(i, j)], 2**k)
                if gap > 2 ** ((2 - k) / 2) * math.sqrt(math.log(k**3 / (0.15 * delta))):
                    return i
                depth += 1

    def cbc(self, i: int, delta: float) -> list[int]:
        k = math.ceil(math.log2(self.n)) - 1
        while True:
            k, depth = k + 1, 1
            q = math.floor(2**k / self.n)
            limit = math.sqrt(4 * q * math.log(self.n * k**3 / (0.15 * delta)))
            while self.admissible(depth, 2 ** (k + 1), delta):
                _, j = self.cesh([i], depth, 2 ** (k + 1))
                (gap,) = self.differences(0, [(i, j)], q)
                if q * gap > 3 * limit:
                    others = [item for item in range(1, self.n) if item != i]
                    gaps = self.differences(i, [(item, j) for item in others], q)
                    same = [i, *(item for item, x in zip(others, gaps, strict=True) if q * x <= limit)]
                    return [int(item in same) for item in range(self.n)]
                depth += 1

    def clusters(self, delta: float) -> list[int]:
        return self.cbc(self.cr(delta / 2), delta / 2)


@pytest.mark.parametrize("name", INSTANCES)
@pytest.mark.parametrize("delta", [0.8, 0.01])
@pytest.mark.parametrize("seed", range(3))
def test_queries_and_answers_are_those_of_the_slow_transcription(name: str, delta: float, seed: int) -> None:
    means = INSTANCES[name]
    slow = Literal(means, np.random.default_rng([seed, 0]), np.random.default_rng([seed, 1]))
    labels = slow.clusters(delta)
    fast = searched(means, delta, seed)
    assert fast.labels is not None
    assert (fast.n_queries, fast.labels.tolist()) == (slow.cost, labels)


@given(n=st.integers(2, 50), d=st.integers(1, 50), seed=st.integers(0, 100))
@settings(max_examples=20, deadline=None)
def test_halving_keeps_the_half_that_differs_most_and_never_exceeds_its_budget(n: int, d: int, seed: int) -> None:
    search, rng = Search(n, d, 0.5, np.random.default_rng(seed)), np.random.default_rng([seed, 1])
    while search.k < 7:
        depth, budget, spent = search.depth, 2 ** (search.k + 1), search.n_queries
        for level in range(depth):
            query, gaps = search.query, rng.permutation(2 ** (depth - level)) / 1e9  # far below any threshold
            assert query.arms.shape == (2, len(gaps))
            assert (query.arms[0] == 0).all()
            search.tell(np.stack([gaps, np.zeros(len(gaps))]))
            best = np.argsort(-gaps)[: len(gaps) // 2]
            assert (search.query.arms[1] == query.arms[1, best]).all()
            assert (search.query.features == query.features[best]).all()
        assert budget / 2 < search.n_queries - spent <= budget
        assert (search.query.features.size, search.query.n) == (1, budget // 2)
        search.tell(np.zeros((2, 1)))


@given(n=st.integers(2, 10**5), d=st.integers(1, 10**5), delta=st.floats(1e-9, 1.0))
@settings(deadline=None)
def test_all_tails_of_sub_gaussian_noise_together_stay_below_half_of_delta(n: int, d: int, delta: float) -> None:
    """P(|noise| >= t) <= 2 exp(-t^2 / (2 variance)), the variance of a difference of two sums being 2 q."""
    total = 0.0
    for k in range(1, 61):
        depths, q = deepest(n, d, delta / 2, k), 2**k
        assert 1 <= depths <= k
        total += depths * 2 * math.exp(-(threshold(q, k, delta / 2) ** 2) / (4 * q))  # CR
        total += depths * n * 2 * math.exp(-(threshold(q, k, delta / 2, n) ** 2) / (4 * q))  # CBC
    assert 0.3 * delta < total + 2 * 0.3 * delta / 60 < 0.5 * delta  # the rest of the sum is below 0.3 delta / 60


def test_equal_arms_are_taken_for_different_as_often_as_the_tail_of_the_test_says() -> None:
    """Only true because samples of a test are fresh: those that CESH chose by are far too large."""
    delta, last, runs = 1.0, 5, 1000
    most = 2 * sum(deepest(5, 3, delta / 2, k) * 2 ** (k + 1) for k in range(1, last + 1))
    false = 0
    for seed in range(runs):
        search = Search(5, 3, delta, np.random.default_rng([seed, 0]))
        noise = np.random.default_rng([seed, 1])
        while search.found is None and search.k <= last:
            search.tell(cell_sums(search.query, np.zeros((5, 3)), noise))
        assert search.n_queries <= most
        false += search.found is not None
    missed = 1.0
    for k in range(1, last + 1):
        missed *= (1 - 2 * norm.sf(threshold(2**k, k, delta / 2) / math.sqrt(2 * 2**k))) ** deepest(5, 3, delta / 2, k)
    low, high = binom.interval(0.9999, runs, 1 - missed)
    assert low <= false <= high
    assert 1 - missed < 0.247 * delta / 2


def test_answers_are_wrong_less_often_than_the_proof_says_at_the_largest_delta() -> None:
    runs = 120
    means = np.outer([0, 1, 0, 1], [0.0, 1.5])
    truth = Partition.of([0, 1, 0, 1])
    wrong = sum(grouped(searched(means, 1.0, seed, most=100_000)) != truth for seed in range(runs))
    assert wrong <= binom.ppf(0.9999, runs, 0.247)


@pytest.mark.parametrize("name", INSTANCES)
def test_answers_are_right(name: str) -> None:
    means = INSTANCES[name]
    truth = Partition.of(map(tuple, means.tolist()))
    assert all(grouped(searched(means, 0.01, seed)) == truth for seed in range(10, 15))


def test_a_feature_that_shows_the_groups_clearly_is_taken_even_when_it_is_one_of_a_thousand() -> None:
    means = np.outer(np.arange(20) % 2, 30.0 * (np.arange(1000) == 500))
    search = searched(means, 0.1, 0)
    assert grouped(search) == Partition.of((np.arange(20) % 2).tolist())
    assert search.query.features.tolist() == [500] * 18
