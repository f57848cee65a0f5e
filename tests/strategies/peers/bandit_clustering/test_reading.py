"""Cells read from vectors."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from scipy.stats import binom

from kabc import Partition
from kabc.strategies.peers.bandit_clustering import BanditClustering, Query, Search
from kabc.strategies.peers.bandit_clustering import strategy as strategy_file
from tests.strategies.peers.bandit_clustering.examples import (
    INSTANCES,
    LABELS,
    MEANS,
    TRUTH,
    Array,
    grouped,
    run,
    vectors,
)


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
    monkeypatch.setattr(strategy_file, "_MOST_VALUES", most_values)
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
