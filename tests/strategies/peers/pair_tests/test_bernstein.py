"""Empirical Bernstein balls: against the definition, and the step of their theorem."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kabc.core.kernels import Kernel
from kabc.strategies.peers.pair_tests.bernstein import BernsteinKABC
from tests.strategies.peers.pair_tests.examples import KERNELS, Array, three_laws, told


def literal_sequence(g: Kernel, x: Array, log_term: float) -> tuple[Array, float]:
    """Weights and radius of one arm, straight from the definitions."""
    bound = math.sqrt(g.supremum)
    weights, deviations = [], [0.0] * 0
    for t in range(1, len(x) + 1):
        past, here = x[: t - 1], x[t - 1 : t]
        v = (bound**2 / 4 + sum(deviations)) / t
        weights.append(min(0.8, math.sqrt(2 * (4 * bound) ** 2 * log_term / (v * t * math.log(1 + t)))))
        mean = (2 * g(past, here).mean() - g(past, past).mean()) if t > 1 else 0.0
        deviations.append(float(g(here, here)[0, 0] - mean))
    penalty = sum((-math.log(1 - w) - w) * d for w, d in zip(weights, deviations, strict=True))
    return np.array(weights), (penalty / (4 * bound) + 4 * bound * log_term) / sum(weights)


@pytest.mark.parametrize("kernel", ["exact", "features"])
def test_balls_are_those_of_the_definition_whatever_the_rounds(kernel: str) -> None:
    g = KERNELS[kernel]
    strategy = BernsteinKABC(3, 3, 0.001, g, growth=2.0)
    samples = told(strategy, 3, three_laws(1))
    seen = strategy.evidence()
    weights, radii = zip(*(literal_sequence(g, x, math.log(2 * 3 / 0.001)) for x in samples), strict=True)
    assert (np.array(weights) < 0.8).any()
    shares = [w / w.sum() for w in weights]
    for i, j in itertools.combinations(range(3), 2):
        x, y, u, v = samples[i], samples[j], shares[i], shares[j]
        squared = u @ g(x, x) @ u - 2 * u @ g(x, y) @ v + v @ g(y, y) @ v
        assert seen.distances[i, j] == pytest.approx(math.sqrt(squared), abs=1e-5)
        assert seen.thresholds[i, j] == pytest.approx(radii[i] + radii[j], rel=1e-5)
    assert np.array_equal(seen.told_apart, seen.distances > seen.thresholds)


@given(
    seed=st.integers(0, 100_000),
    weight=st.floats(0.01, 0.8),
    columns=st.integers(1, 4),
    spread=st.sampled_from([0.01, 0.1, 1.0]),
)
@settings(max_examples=200, deadline=None)
def test_one_step_does_not_raise_what_the_theorem_calls_a_supermartingale(
    seed: int, weight: float, columns: int, spread: float
) -> None:
    """E cosh(|f + l (X - mu)| / 2) exp(-psi(l) |X - m|^2 / 4) <= cosh(|f| / 2) for |X| <= 1/2."""
    rng = np.random.default_rng(seed)
    points, centre = rng.normal(size=(3, columns)), rng.normal(size=columns)
    points, centre = (0.5 * v / np.maximum(1, np.linalg.norm(v, axis=-1, keepdims=True)) for v in (points, centre))
    points = centre + spread * (points - centre)
    chances = rng.dirichlet([0.5] * 3)
    start = rng.normal(size=columns) * 10.0 ** rng.integers(-2, 2)
    psi = -math.log1p(-weight) - weight
    after = np.cosh(np.linalg.norm(start + weight * (points - chances @ points), axis=1) / 2)
    discount = np.exp(-psi / 4 * ((points - centre) ** 2).sum(axis=1))
    assert chances @ (after * discount) <= np.cosh(np.linalg.norm(start) / 2) * (1 + 1e-12)
