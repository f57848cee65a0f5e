"""The estimate against the pseudocode, the statistic against all partitions."""

from __future__ import annotations

import itertools
import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from kabc import Partition
from kabc.strategies.peers.boc.loops import compiled_loops
from tests.strategies.peers.boc.examples import Array, literal_k_means


@pytest.mark.parametrize("seed", range(20))
def test_the_estimate_is_that_of_the_pseudocode(seed: int) -> None:
    rng = np.random.default_rng(seed)
    means, counts = rng.normal(size=(30, 2)), rng.integers(1, 50, size=30)
    labels, u = compiled_loops().k_means(means, counts, 5)
    expected_labels, expected_centres = literal_k_means(means, counts, 5)
    assert labels.tolist() == expected_labels.tolist()
    assert u == pytest.approx(expected_centres)


@cache
def partitions(n_arms: int, k: int) -> NDArray[np.int64]:  # (P, N)
    """All partitions into k groups that are not empty, numbered by first appearance."""
    words = itertools.product(range(k), repeat=n_arms)
    return np.array([word for word in words if len(set(word)) == k and word == Partition.of(word).labels])


@st.composite
def estimates(draw: st.DrawFn) -> tuple[NDArray[np.int64], NDArray[np.int64], Array]:  # (N,), (N,), (K, d)
    """Counts of very different sizes, labels of which no group is empty, distinct centres."""
    n_arms = draw(st.integers(2, 6))
    k = draw(st.integers(1, n_arms))
    others = draw(st.lists(st.integers(0, k - 1), min_size=n_arms - k, max_size=n_arms - k))
    labels = draw(st.permutations([*range(k), *others]))
    count = st.sampled_from([1, 2, 10, 100, 1000]) | st.integers(1, 1000)
    counts = draw(st.lists(count, min_size=n_arms, max_size=n_arms))
    point = st.tuples(*[st.integers(-50, 50)] * draw(st.integers(1, 2)))
    points = draw(st.lists(point, min_size=k, max_size=k, unique=True))
    return np.array(counts), np.array(labels), np.array(points) / 10


@given(estimates())
@settings(deadline=None, max_examples=300)
def test_the_statistic_is_the_cost_of_the_nearest_of_all_other_partitions(
    estimate: tuple[NDArray[np.int64], NDArray[np.int64], Array],
) -> None:
    """Lemma 16.1; infinite where there is no other one: a single group, or every arm its own."""
    counts, labels, points = estimate
    means = points[labels]  # no misfit: Z is half of Z_2
    every = partitions(len(labels), len(points))
    others = every[(every != Partition.of(labels.tolist()).labels).any(axis=1)]  # (P, N)
    weights = (others[:, :, None] == others[:, None, :]) * counts  # (P, N, N)
    middles = weights @ means / weights.sum(axis=2, keepdims=True)  # (P, N, d), of the groups of the arms
    costs = ((means - middles) ** 2).sum(axis=2) @ counts
    assert compiled_loops().statistic(means, counts, labels, points) == pytest.approx(costs.min(initial=math.inf) / 2)
    assert (len(others) == 0) == (len(points) in (1, len(labels)))


def test_a_partition_with_an_empty_group_is_never_good_enough() -> None:
    means, counts = np.array([[0.0], [0.0], [9.0]]), np.array([50, 50, 50])
    assert compiled_loops().statistic(means, counts, np.array([0, 0, 1]), np.array([[0.0], [9.0], [20.0]])) == 0
