"""Each method against a literal few lines."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from kabc import Gaussian, Partition
from kabc.core.partitions import components
from kabc.strategies.peers.batch.methods import farthest_first, k_means, linkage, spectral
from tests.strategies.peers.batch.examples import Array

Labels = tuple[int, ...]


def random_squares(seed: int, n: int = 6) -> Array:
    """Squared distances of mean embeddings of a few samples of arms that differ by chance."""
    rng = np.random.default_rng(seed)
    arms = [rng.normal(rng.normal(0, 1.5), 1.0, (8, 2)) for _ in range(n)]
    g = Gaussian(1.0)
    inner = np.array([[g(x, y).mean() for y in arms] for x in arms])
    own = inner.diagonal()
    return np.asarray(np.maximum(own[:, None] + own - 2 * inner, 0.0))


def partitions_of(n: int, n_groups: int) -> Iterator[Labels]:
    """All partitions of n arms into exactly n_groups groups."""
    for labels in itertools.product(range(n_groups), repeat=n):
        if Partition(labels).labels == labels and len(set(labels)) == n_groups:
            yield labels


def within(squared: Array, labels: Labels) -> float:
    """Sum over arms of the squared distance to the mean of their group: of all pairs, over twice the group's size."""
    groups = [np.flatnonzero(np.array(labels) == k) for k in range(max(labels) + 1)]
    return sum(float(squared[np.ix_(group, group)].sum()) / (2 * len(group)) for group in groups)


def squares_of(points: Array) -> Array:
    return np.asarray(((points[:, None] - points[None]) ** 2).sum(axis=2))


@pytest.mark.parametrize("start", ["random", "k-means++"])
@pytest.mark.parametrize("seed", range(8))
def test_k_means_finds_the_smallest_sum_of_squares_of_all_partitions(seed: int, start: Any) -> None:
    squared = random_squares(seed)
    for n_groups in (1, 2, 3):
        best = min(within(squared, labels) for labels in partitions_of(6, n_groups))
        found = Partition.of(k_means(squared, n_groups, 0, start=start).tolist()).labels
        assert within(squared, found) == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_spectral_clustering_is_that_of_ng_jordan_and_weiss(seed: int) -> None:
    squared = random_squares(seed)
    s = np.median([math.sqrt(squared[i, j]) for i, j in itertools.combinations(range(6), 2)])
    affinity = [[0.0 if i == j else math.exp(-squared[i, j] / (2 * s**2)) for j in range(6)] for i in range(6)]
    degrees = np.diag([sum(row) ** -0.5 for row in affinity])
    values, vectors = np.linalg.eigh(degrees @ np.array(affinity) @ degrees)
    for n_groups in (2, 3):
        top = vectors[:, np.argsort(values)[::-1][:n_groups]]
        rows = squares_of(top / np.sqrt((top**2).sum(axis=1))[:, None])
        best = min(within(rows, labels) for labels in partitions_of(6, n_groups))
        found = Partition.of(spectral(squared, n_groups, 0).tolist()).labels
        assert within(rows, found) == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_linkage_is_the_threshold_graph_with_k_components(seed: int) -> None:
    squared = random_squares(seed)
    for n_groups in (1, 2, 4, 6):
        graphs = (components(squared <= threshold) for threshold in sorted({0.0, *squared.ravel().tolist()}))
        literal = next(graph for graph in graphs if graph.n_groups == n_groups)
        assert Partition.of(linkage(squared, n_groups, 0).tolist()).matches(literal)


@pytest.mark.parametrize("seed", range(8))
def test_farthest_first_is_the_traversal(seed: int) -> None:
    squared = random_squares(seed)
    for n_groups in (1, 2, 4, 6):
        centres = [0]
        for _ in range(n_groups - 1):
            rest = [arm for arm in range(6) if arm not in centres]
            centres.append(max(rest, key=lambda arm: min(squared[arm, c] for c in centres)))
        literal = [min(centres, key=lambda c: squared[arm, c]) for arm in range(6)]
        assert Partition.of(farthest_first(squared, n_groups, 0).tolist()).matches(Partition.of(literal))


def test_an_arm_beyond_all_affinity_is_a_group_of_its_own() -> None:
    squared = squares_of(np.array([[0.0], [0.1], [0.2], [0.3], [1e6]]))
    assert Partition.of(spectral(squared, 2, 0).tolist()).labels == (0, 0, 0, 0, 1)
