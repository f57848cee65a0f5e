"""The best proportions against a general solver, and the hardness of the paper's instances."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from benchmarks.boc import general_solver
from kabc.strategies.peers.boc import hardness, optimal_shares
from kabc.strategies.peers.boc.allocation import raised
from tests.strategies.peers.boc.examples import SIZES, Array, centres


def value(w: Array, points: Array, sizes: NDArray[np.int64]) -> float:
    """The objective of the lower bound, straight from its definition."""
    return max(
        float(2 * (sizes[a] / w[a] + 1 / w[b]) / ((points[a] - points[b]) ** 2).sum())
        for a, b in itertools.permutations(range(len(sizes)), 2)
        if sizes[a] > 1 or sizes[b] == 1
    )


def random_groups(seed: int) -> tuple[Array, NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    k, d = int(rng.integers(2, 11)), int(rng.integers(1, 6))
    sizes = rng.integers(1, 10 ** rng.integers(1, 4), size=k)
    sizes[0] = max(sizes[0], 2)
    return rng.normal(size=(k, d)) * 10 ** rng.uniform(-1, 1, (k, 1)), sizes


@pytest.mark.parametrize("seed", range(40))
def test_shares_are_those_of_a_general_solver(seed: int) -> None:
    points, sizes = random_groups(seed)
    ours, theirs = optimal_shares(points, sizes), general_solver(points, sizes)
    assert ours == pytest.approx(theirs, abs=1e-8)
    assert hardness(points, sizes) == pytest.approx(value(theirs, points, sizes), rel=1e-8)


@given(seed=st.integers(0, 2**32), scale=st.sampled_from([1e-3, 0.1]))
@settings(deadline=None)
def test_no_other_shares_are_better(seed: int, scale: float) -> None:
    points, sizes = random_groups(seed)
    best = optimal_shares(points, sizes)
    assert best.sum() == pytest.approx(1.0)
    other = best * np.exp(scale * np.random.default_rng(seed).normal(size=len(best)))
    assert value(best, points, sizes) <= value(other / other.sum(), points, sizes) * (1 + 1e-9)


def test_hardness_and_shares_of_the_papers_instances() -> None:
    assert [hardness(centres(v), SIZES) for v in (5.0, 1.0, 0.5)] == pytest.approx([0.6327, 12.14, 48.14], rel=1e-3)
    assert optimal_shares(centres(5.0), SIZES) == pytest.approx([0.379, 0.138, 0.103, 0.379], abs=1e-3)
    assert optimal_shares(centres(0.5), SIZES) == pytest.approx([0.4985, 0.0017, 0.0012, 0.4985], abs=1e-4)


@pytest.mark.parametrize(
    ("points", "sizes", "shares"),
    [
        ([[1.0], [1.0], [1.0]], [2, 1, 1], [0.5, 0.25, 0.25]),  # nothing known about the distances
        ([[0.0]], [5], [1.0]),  # one group
        ([[0.0], [1.0], [5.0]], [1, 1, 1], [1 / 3] * 3),  # no alternative
        ([[0.0], [1.0], [9.0]], [2, 0, 2], [0.5, 0.0, 0.5]),  # an empty group has no arm to draw from
    ],
)
def test_shares_where_the_problem_degenerates(points: Any, sizes: list[int], shares: list[float]) -> None:
    assert optimal_shares(points, sizes) == pytest.approx(shares)


def test_groups_that_nearly_coincide_take_nearly_all_samples() -> None:
    shares = optimal_shares([[0.0], [1e-30], [1.0]], [3, 3, 3])
    assert np.isfinite(shares).all()
    assert shares[0] == pytest.approx(0.5) and shares[1] == pytest.approx(0.5) and 0 < shares[2] < 1e-6


@given(
    weights=st.lists(st.floats(0, 1), min_size=2, max_size=8).filter(lambda w: sum(w) > 1e-3),
    share=st.floats(0.01, 0.5),
)
@settings(deadline=None)
def test_raised_proportions_are_the_nearest_above_the_floor(weights: list[float], share: float) -> None:
    proportions = np.array(weights) / sum(weights)
    floor = share / len(weights)
    found = raised(proportions, floor)
    assert found.sum() == pytest.approx(1.0)
    assert (found >= floor).all()
    above = found > floor + 1e-12  # nearest: all that is free moved by one amount, the rest wants to be lower
    lowered = (proportions - found)[above]
    if above.any():
        assert lowered == pytest.approx(np.full(len(lowered), lowered[0]), abs=1e-9)
        assert ((proportions - found)[~above] <= lowered[0] + 1e-9).all()
