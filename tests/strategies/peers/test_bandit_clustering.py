"""BanditClustering: its course against a slow transcription, its error probability, cells read from vectors."""

from __future__ import annotations

import math
import pickle
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import binom, norm

from kabc import Partition, ProtocolError, SampleError, SettingsError
from kabc.strategies import Strategy
from kabc.strategies.peers import bandit_clustering
from kabc.strategies.peers.bandit_clustering import BanditClustering, Query, Search, deepest, threshold

Array = NDArray[np.float64]
LABELS = np.array([0, 1, 1, 0, 1, 0, 0])
TRUTH = Partition.of(LABELS.tolist())
MEANS = np.outer(LABELS, [0.0, 6.0, 0.0, 0.0, 6.0])


def cell_sums(query: Query, means: Array, rng: np.random.Generator) -> Array:
    return rng.normal(query.n * means[query.arms, query.features], math.sqrt(query.n))


def searched(means: Array, delta: float, seed: int, most: float = math.inf) -> Search:
    """A search that is told simulated sums until it ends or has spent too much."""
    search = Search(len(means), means.shape[1], delta, np.random.default_rng([seed, 0]))
    noise = np.random.default_rng([seed, 1])
    while search.labels is None and search.n_queries < most:
        search.tell(cell_sums(search.query, means, noise))
    return search


def grouped(search: Search) -> Partition | None:
    return None if search.labels is None else Partition.of(search.labels.tolist())


def vectors(means: Array, sigma: float = 1.0, seed: int = 0) -> Callable[[int, int], Array]:
    """Each arm has a stream of its own, so that it does not matter how a request is cut into rounds."""
    streams = [np.random.default_rng([seed, arm]) for arm in range(len(means))]
    return lambda arm, n: sigma * (means[arm] + streams[arm].normal(size=(n, means.shape[1])))


def run(strategy: BanditClustering, means: Array = MEANS, seed: int = 0) -> BanditClustering:
    draw = vectors(means, strategy.sigma, seed)
    while not strategy.stopped:
        strategy.tell({arm: draw(arm, n) for arm, n in strategy.ask().items()})
    return strategy


# ---------------------------------------------------------------- a slow transcription, one cell at a time


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


INSTANCES = {
    "seven arms": MEANS,
    "two arms": MEANS[:2],
    "one feature": MEANS[:, 1:2],
    "many features, one of them good": np.outer(LABELS, 4.0 * (np.arange(40) == 17)),
    "one odd arm": np.outer(np.arange(12) == 9, [0.0, -2.0, 1.0]),
}


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
@settings(max_examples=20)
def test_halving_keeps_the_half_that_differs_most_and_never_exceeds_its_budget(n: int, d: int, seed: int) -> None:
    search, rng = Search(n, d, 0.5, np.random.default_rng(seed)), np.random.default_rng([seed, 1])
    while search._k < 7:
        depth, budget, spent = search._depth, 2 ** (search._k + 1), search.n_queries
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


# ---------------------------------------------------------------- the error probability


@given(n=st.integers(2, 10**5), d=st.integers(1, 10**5), delta=st.floats(1e-9, 1.0))
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
        while search.found is None and search._k <= last:
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


# ---------------------------------------------------------------- cells, read from vectors


def read_slowly(query: Query, rows: dict[int, Array]) -> Array:
    """Each cell takes the first rows of its arm that no equal cell has taken."""
    taken: dict[tuple[int, int], int] = defaultdict(int)
    sums = np.zeros(query.arms.shape)
    for side in range(2):
        for c, (arm, feature) in enumerate(zip(query.arms[side].tolist(), query.features.tolist(), strict=True)):
            start = taken[arm, feature]
            taken[arm, feature] += query.n
            block = rows[arm][start : start + query.n, feature]
            assert len(block) == query.n
            sums[side, c] = block.sum()
    most: dict[int, int] = defaultdict(int)
    for (arm, _), n in taken.items():
        most[arm] = max(most[arm], n)
    assert most == {arm: len(block) for arm, block in rows.items()}
    return sums


@pytest.mark.parametrize("most_values", [4_000_000, 150])
@pytest.mark.parametrize("name", ["seven arms", "one feature", "one odd arm"])
def test_vectors_are_read_as_the_search_asks_however_rounds_are_cut(
    name: str, most_values: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bandit_clustering, "_MOST_VALUES", most_values)
    means = 2 * INSTANCES[name]
    n_arms, d = means.shape
    draw = vectors(means)
    strategy = BanditClustering(n_arms, 2, 0.5, seed=4)
    strategy.tell({arm: draw(arm, n) for arm, n in strategy.ask().items()})
    slow = Search(n_arms, d, 0.5, np.random.default_rng(4))
    rows: dict[int, list[Array]] = defaultdict(list)
    while not strategy.stopped:
        told = {arm: draw(arm, n) for arm, n in strategy.ask().items()}
        assert sum(map(len, told.values())) <= most_values // d
        for arm, block in told.items():
            rows[arm].append(block)
        before = strategy.n_queries
        strategy.tell(told)
        if strategy.n_queries > before:
            slow.tell(read_slowly(slow.query, {arm: np.concatenate(blocks) for arm, blocks in rows.items()}))
            rows.clear()
            assert strategy.n_queries == slow.n_queries
    assert strategy.recommend() == grouped(slow) == Partition.of(map(tuple, means.tolist()))


def test_with_one_feature_a_vector_is_a_query() -> None:
    strategy = run(BanditClustering(7, 2, 0.5), MEANS[:, 1:2])
    assert strategy.n_samples == strategy.n_queries + 1


def test_with_many_features_one_vector_serves_many_queries() -> None:
    strategy = run(BanditClustering(7, 2, 0.1), np.outer(LABELS, np.full(200, 3.0)))
    assert strategy.n_samples < 0.7 * strategy.n_queries
    assert strategy.recommend() == TRUTH


def test_columns_of_a_vector_may_depend_on_each_other() -> None:
    """All noise of a vector is one number: the worst dependence there is."""
    truth, means = Partition.of([0, 1, 0, 1]), np.outer([0, 1, 0, 1], [0.0, 3.0, 0.0])
    wrong = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        strategy = BanditClustering(4, 2, 0.2, seed=seed)
        while not strategy.stopped and strategy.n_samples < 100_000:
            strategy.tell({arm: means[arm] + rng.normal(size=(n, 1)) for arm, n in strategy.ask().items()})
        wrong += strategy.recommend() != truth
    assert wrong <= binom.ppf(0.9999, 30, 0.2 * 0.247)


# ---------------------------------------------------------------- ask and tell, and what people see


def test_answers_are_certified_once_it_has_stopped_and_not_before() -> None:
    strategy: Strategy = BanditClustering(7, 2, 0.1)
    draw, guesses = vectors(MEANS), set()
    while not strategy.stopped:
        assert not strategy.recommend().certified
        assert not strategy.evidence().told_apart.any()
        assert (strategy.status, strategy.n_groups_at_least) == (None, 1)
        guesses.add(strategy.recommend().n_groups)
        strategy.tell({arm: draw(arm, n) for arm, n in strategy.ask().items()})
    assert guesses == {1, 2}
    assert strategy.recommend().certified
    assert strategy.recommend() == TRUTH
    assert (strategy.status, strategy.n_groups_at_least) == ("decided", 2)
    seen = strategy.evidence()
    assert (seen.told_in_round == len(strategy.rounds) * (LABELS[:, None] != LABELS)).all()
    assert seen.counts.sum() == strategy.n_samples == strategy.rounds[-1].n_samples
    assert np.isnan(seen.distances).all()
    assert np.isnan(seen.strength).all()


@settings(max_examples=10)
@given(seed=st.integers(0, 1000))
def test_asking_and_looking_change_nothing_and_a_pickled_run_goes_on_as_before(seed: int) -> None:
    watched, draw = BanditClustering(7, 2, 0.1, seed=seed), vectors(MEANS)
    while not watched.stopped:
        assert watched.ask() == watched.ask()
        watched.tell({arm: draw(arm, n) for arm, n in watched.ask().items()})
        watched.evidence(), watched.guarantee(), watched.recommend()
        watched = pickle.loads(pickle.dumps(watched))
    again = run(BanditClustering(7, 2, 0.1, seed=seed))
    assert (watched.rounds, watched.n_queries) == (again.rounds, again.n_queries)
    assert watched.ask() == {}
    with pytest.raises(ProtocolError, match="stopped"):
        watched.tell({})


def test_another_seed_looks_at_other_cells() -> None:
    assert len({run(BanditClustering(7, 2, 0.1, seed=seed)).n_samples for seed in range(5)}) > 1


def test_two_arms_are_two_groups_whatever_they_are() -> None:
    strategy = run(BanditClustering(2, 2, 0.1), np.zeros((2, 3)))
    assert (strategy.n_samples, strategy.n_queries) == (1, 0)
    assert strategy.recommend().labels == (0, 1)
    assert strategy.recommend().certified


def test_only_the_ratio_to_sigma_matters() -> None:
    plain, scaled = (run(BanditClustering(7, 2, 0.1, sigma=sigma)) for sigma in (1.0, 8.0))
    assert scaled.rounds == plain.rounds


def test_what_is_claimed_is_said() -> None:
    said = BanditClustering(7, 2, 0.1, sigma=3.0, seed=5).guarantee()
    assert "0.9" in said.claim
    assert "it stops" in said.claim
    assert "sigma = 3" in said.assumptions[0]
    assert "exactly 2 groups" in said.assumptions[1]
    assert "seed 5" in said.rule[0]


@pytest.mark.parametrize(
    ("spoil", "error", "message"),
    [
        (lambda s: {}, ProtocolError, "arm 0 are missing"),
        (lambda s: {arm: np.full((n, 5), np.nan) for arm, n in s.items()}, SampleError, "arm 0: .*nan"),
        (lambda s: {arm: np.zeros((n, 2)) for arm, n in s.items()}, SampleError, "2 column"),
        (lambda s: {arm: np.zeros((n + 1, 5)) for arm, n in s.items()}, SampleError, "arm 0: asked for"),
        (lambda s: {arm: np.full((n, 5), -1e120) for arm, n in s.items()}, SampleError, "5e[+]119 standard deviations"),
    ],
)
def test_a_wrong_tell_is_refused_and_changes_nothing(spoil: Any, error: type[Exception], message: str) -> None:
    strategy = BanditClustering(7, 2, 0.1, sigma=2.0)
    strategy.tell({arm: MEANS[arm][None] for arm in strategy.ask()})
    request = strategy.ask()
    before = pickle.dumps(strategy)
    with pytest.raises(error, match=message):
        strategy.tell(spoil(request))
    assert pickle.dumps(strategy) == before


def test_a_sigma_too_small_for_the_samples_is_named() -> None:
    strategy = BanditClustering(3, 2, 0.1, sigma=1e-300)
    strategy.ask()
    with pytest.raises(SampleError, match=r"inf standard deviations.*check sigma"):
        strategy.tell({0: [[1e200]]})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: BanditClustering(7, 3, 0.1), "n_clusters must be 2 for BanditClustering, got 3; use 'acb-dagger'"),
        (lambda: BanditClustering(7, 1, 0.1), "n_clusters must be 2"),
        (lambda: BanditClustering(1, 2, 0.1), "n_arms must be a whole number at least 2"),
        (lambda: BanditClustering(7, 2, 0.0), "delta must lie in"),
        (lambda: BanditClustering(7, 2, 0.1, sigma=0.0), "sigma must be a finite number greater than 0"),
        (lambda: BanditClustering(7, 2, 0.1, seed=-1), "seed must be a whole number"),
    ],
)
def test_settings_that_mean_nothing_are_refused(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        make()
