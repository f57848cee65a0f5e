"""Single linkage and its nearest alternative against brute force."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import kabc
from kabc import Partition
from kabc.core.partitions import single_linkage
from kabc.strategies.peers.single_linkage.linkage import compiled_loops
from tests.strategies.peers.single_linkage.examples import PAPER_2, Array, distances


@given(seed=st.integers(0, 2**32), n_arms=st.integers(2, 9), k=st.integers(1, 9), d=st.integers(1, 3))
@settings(deadline=None)
def test_labels_are_those_of_single_linkage_and_the_tree_spans_each_group(
    seed: int, n_arms: int, k: int, d: int
) -> None:
    k = min(k, n_arms)
    apart = distances(np.random.default_rng(seed).normal(size=(n_arms, d)))
    labels, tree = compiled_loops().groups(apart, k)
    assert Partition.of(labels.tolist()).matches(single_linkage(apart, k))
    assert tree.shape == (n_arms - k, 2)
    assert (labels[tree[:, 0]] == labels[tree[:, 1]]).all()
    joined = np.zeros((n_arms, n_arms), dtype=bool)
    joined[tree[:, 0], tree[:, 1]] = True
    assert kabc.core.partitions.graphs.components(joined).matches(Partition.of(labels.tolist()))


@given(seed=st.integers(0, 2**32), d=st.integers(1, 3), scale=st.floats(0.05, 3.0))
@settings(deadline=None, max_examples=200)
def test_no_means_with_another_clustering_are_nearer_than_the_bound(seed: int, d: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    means, w = rng.normal(size=(6, d)), rng.uniform(0.2, 5.0, size=6)
    apart = distances(means)
    labels, tree = compiled_loops().groups(apart, 3)
    bound = compiled_loops().alternative(apart, labels, tree, w)
    for step in np.linspace(0.1, 1.0, 10):
        moved = means + step * scale * np.random.default_rng(seed).normal(size=means.shape)
        if not single_linkage(distances(moved), 3).matches(Partition.of(labels.tolist())):
            cost = 0.5 * float(w @ ((moved - means) ** 2).sum(axis=1))
            assert cost >= bound * (1 - 1e-9)


def test_in_one_dimension_the_bound_is_reached() -> None:
    """Means 0, 1, 3 into two groups: the middle one changes sides when it is as near to the right as to the left."""
    means, w = np.array([[0.0], [1.0], [3.0]]), np.array([1.0, 2.0, 4.0])
    labels, tree = compiled_loops().groups(distances(means), 2)
    bound = compiled_loops().alternative(distances(means), labels, tree, w)
    grid = np.linspace(-1.0, 4.0, 101)
    x, y, z = np.meshgrid(grid, grid, grid, indexing="ij")
    cost = 0.5 * (w[0] * x**2 + w[1] * (y - 1) ** 2 + w[2] * (z - 3) ** 2)
    other = np.abs(x - y) >= np.minimum(np.abs(y - z), np.abs(x - z))
    assert bound == pytest.approx(cost[other].min(), rel=0.02)
    assert bound <= cost[other].min()


def value(w: Array, apart: Array, labels: NDArray[np.int64], tree: NDArray[np.int64]) -> float:
    """inner(w, mu), straight from its formula."""
    costs: list[float] = []
    for a, b in tree.tolist():
        for i, j in itertools.combinations(range(len(w)), 2):
            if labels[i] != labels[j]:
                c = np.bincount([a, b, i, j], minlength=len(w))
                costs.append(float((apart[i, j] - apart[a, b]) ** 2 / (2 * (c**2 / w).sum())))
    return min(costs)


@pytest.mark.parametrize("seed", range(8))
def test_proportions_are_the_best_to_one_per_cent(seed: int) -> None:
    from scipy.optimize import minimize

    rng = np.random.default_rng(seed)
    means = rng.normal(size=(6, 2)) if seed else PAPER_2
    apart = distances(means)
    labels, tree = compiled_loops().groups(apart, 3)
    ours = compiled_loops().shares(apart, labels, tree)
    assert ours.sum() == pytest.approx(1.0)
    found: Any = value(ours, apart, labels, tree)
    assert found == pytest.approx(compiled_loops().alternative(apart, labels, tree, ours))
    rows = np.array(
        [
            np.bincount([a, b, i, j], minlength=6) ** 2 / (apart[i, j] - apart[a, b]) ** 2
            for a, b in tree.tolist()
            for i, j in itertools.combinations(range(6), 2)
            if labels[i] != labels[j]
        ]
    )
    scale = 1 / (4 * rows.max(axis=0))
    best: Any = minimize(  # type: ignore[call-overload]
        lambda u: (1 / (scale * u)).sum() * scale.mean(),
        np.ones(6),
        jac=lambda u: -scale.mean() / (scale * u**2),
        method="SLSQP",
        bounds=[(1e-6, None)] * 6,
        constraints={"type": "ineq", "fun": lambda u: 1 - rows @ (scale * u), "jac": lambda u: -rows * scale},
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    theirs = 1 / (scale * best.x)
    assert found >= 0.985 * value(theirs / theirs.sum(), apart, labels, tree)


def test_the_slope_is_that_of_the_bound() -> None:
    apart = distances(PAPER_2)
    labels, tree = compiled_loops().groups(apart, 3)
    w = np.array([0.2, 0.1, 0.3, 0.2, 0.1, 0.1])
    slope = compiled_loops().slope(apart, labels, tree, w)
    for arm in range(6):
        step = 1e-6 * np.eye(6)[arm]
        rise = math.log(value(w + step, apart, labels, tree)) - math.log(value(w - step, apart, labels, tree))
        assert slope[arm] == pytest.approx(rise / 2e-6, abs=1e-4)
