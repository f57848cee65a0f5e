"""Instances of two groups, and the algorithm played on them, in queries and in vectors."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from kabc import Partition
from kabc.strategies.peers.bandit_clustering import BanditClustering, Query, Search

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


INSTANCES = {
    "seven arms": MEANS,
    "two arms": MEANS[:2],
    "one feature": MEANS[:, 1:2],
    "many features, one of them good": np.outer(LABELS, 4.0 * (np.arange(40) == 17)),
    "one odd arm": np.outer(np.arange(12) == 9, [0.0, -2.0, 1.0]),
}
