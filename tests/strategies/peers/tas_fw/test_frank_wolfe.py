"""Proportions against an optimiser."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kabc import Partition
from kabc.strategies.peers.tas_fw import Task
from kabc.strategies.peers.tas_fw.classes import distinct_groups, partitions_of
from kabc.strategies.peers.tas_fw.frank_wolfe import NEAREST, Game, frank_wolfe_step
from tests.strategies.peers.tas_fw.examples import Array


def game_of(task: Task, labels: list[int], centres: Array) -> Game:  # (K, m)
    """All other partitions of the class, for arms whose pmfs are those of their groups."""
    n_clusters = max(labels) + 1
    partitions = partitions_of(task, len(labels), n_clusters)
    sets, groups = distinct_groups(partitions, n_clusters)
    others = (partitions != np.array(Partition.of(labels).labels)).any(axis=1)
    return Game(sets, groups[others], centres[labels])


def literal_cost(w: Array, pmfs: Array, labels: list[int]) -> float:
    total = 0.0
    for group in Partition.of(labels).groups:
        arms = list(group)
        mean = w[arms] @ pmfs[arms] / w[arms].sum()
        total += sum(float(w[i] * (pmfs[i] * np.log(pmfs[i] / mean)).sum()) for i in arms)
    return total


@given(seed=st.integers(0, 2**32))
@settings(deadline=None, max_examples=30)
def test_costs_are_jensen_shannon_and_slopes_are_theirs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    labels = [0, 1, 0, 1, 2]
    game, w = game_of("clustering", labels, rng.dirichlet(np.ones(3), 3) * 0.97 + 0.01), rng.dirichlet(np.ones(5))
    w = 0.9 * w + 0.02
    partitions = partitions_of("clustering", 5, 3)
    others = partitions[(partitions != labels).any(axis=1)].tolist()
    assert game.costs(w) == pytest.approx([literal_cost(w, game.pmfs, other) for other in others], abs=1e-12)
    slopes = game.slopes(w, np.arange(len(others)))
    assert slopes @ w == pytest.approx(game.costs(w))  # Euler: costs are homogeneous
    for arm in range(5):
        step = 1e-6 * np.eye(5)[arm]
        assert slopes[:, arm] == pytest.approx((game.costs(w + step) - game.costs(w - step)) / 2e-6, abs=1e-6)


@pytest.mark.parametrize(
    ("task", "labels"),
    [
        ("clustering", [0, 0, 1, 1, 2, 0]),
        ("clustering", [0, 1, 2, 2, 2]),
        ("odd-arm", [0, 1, 0, 0]),
        ("matching-pairs", [0, 0, 1, 1, 2, 3]),
        ("matching-pairs", [0, 1, 0, 2, 2, 1]),
    ],
)
@given(seed=st.integers(0, 2**32))
@settings(deadline=None, max_examples=20)
def test_no_alternative_is_cheaper_than_those_of_a_large_class(task: Task, labels: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    whole = game_of(task, labels, rng.dirichlet(np.ones(3), max(labels) + 1))
    index, w = np.array(labels), rng.dirichlet(np.ones(len(labels)))
    near = NEAREST[task](index)
    assert Game(*near, whole.pmfs).costs(w).min() == pytest.approx(whole.costs(w).min(), abs=1e-12)


@pytest.mark.parametrize(
    ("task", "labels"),
    [("odd-arm", [0, 0, 1]), ("clustering", [0, 0, 1, 1, 2]), ("matching-pairs", [0, 1, 0, 2])],
)
def test_frank_wolfe_comes_within_three_per_cent_of_the_best_proportions(task: Task, labels: list[int]) -> None:
    from scipy.optimize import minimize

    game = game_of(task, labels, np.array([[0.6, 0.3, 0.1], [0.2, 0.3, 0.5], [0.3, 0.6, 0.1]]))
    n_arms = len(labels)
    every = np.arange(len(game.alternatives))
    best: Any = minimize(  # type: ignore[call-overload]
        lambda v: -v[-1],
        np.append(np.full(n_arms, 1 / n_arms), 0.0),
        jac=lambda v: -np.eye(n_arms + 1)[-1],
        method="SLSQP",
        bounds=[(1e-6, 1.0)] * n_arms + [(0.0, None)],
        constraints=[
            {"type": "eq", "fun": lambda v: v[:-1].sum() - 1, "jac": lambda v: np.append(np.ones(n_arms), 0.0)},
            {
                "type": "ineq",
                "fun": lambda v: game.costs(v[:-1]) - v[-1],
                "jac": lambda v: np.column_stack([game.slopes(v[:-1], every), -np.ones(len(every))]),
            },
        ],
        options={"ftol": 1e-13, "maxiter": 500},
    )
    optimum = game.costs(best.x[:-1]).min()
    shares = np.full(n_arms, 1 / n_arms)
    for t in range(n_arms + 1, 1500):
        shares = frank_wolfe_step(game, shares, t)
    assert shares.sum() == pytest.approx(1.0)
    assert 0.97 * optimum <= game.costs(shares).min() <= optimum * (1 + 1e-6)
