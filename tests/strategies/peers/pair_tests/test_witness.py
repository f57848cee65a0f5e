"""Betting with an MMD witness: wealth against its definition."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kabc import Gaussian
from kabc.core.evidence.betting import log_threshold
from kabc.core.kernels import Kernel
from kabc.strategies.peers.pair_tests.by_test import prior_sums
from kabc.strategies.peers.pair_tests.witness import WitnessKABC, payoffs_of_round
from tests.strategies.peers.pair_tests.examples import KERNELS, Array, three_laws, told


def literal_log_wealth(g: Kernel, x: Array, y: Array, scale: float) -> list[float]:
    """Largest log wealth so far, after each pair of samples; straight from the definitions."""
    log_wealth, best, bet, curvature = 0.0, 0.0, 0.0, 1.0
    out = []
    for t in range(len(x)):
        payoff = 0.0
        if t:
            past_x, past_y, xt, yt = x[:t], y[:t], x[t : t + 1], y[t : t + 1]
            norm = math.sqrt(g(past_x, past_x).mean() - 2 * g(past_x, past_y).mean() + g(past_y, past_y).mean())
            at_x = g(past_x, xt).mean() - g(past_y, xt).mean()
            at_y = g(past_x, yt).mean() - g(past_y, yt).mean()
            payoff = (at_x - at_y) / (norm * scale)
        assert abs(payoff) <= 1
        log_wealth += math.log(1 + bet * payoff)
        best = max(best, log_wealth)
        z = -payoff / (1 + bet * payoff)
        curvature += z * z
        bet = min(0.5, max(-0.5, bet - 2 / (2 - math.log(3)) * z / curvature))
        out.append(best)
    return out


@pytest.mark.parametrize("kernel", ["exact", "features"])
def test_wealth_is_that_of_the_definition_whatever_the_rounds(kernel: str) -> None:
    g = KERNELS[kernel]
    strategy = WitnessKABC(3, 3, 0.001, g, growth=1.3)
    samples = told(strategy, 4, three_laws(0))
    seen = strategy.evidence()
    scale = math.sqrt(2 * (g.supremum - g.infimum))
    for i, j in itertools.combinations(range(3), 2):
        literal = literal_log_wealth(g, samples[i], samples[j], scale)[-1]
        assert seen.log_evidence[i, j] == pytest.approx(literal, abs=1e-4)
    assert seen.log_evidence.max() > 0.1
    assert seen.log_threshold == pytest.approx(math.log(3 / 0.001))
    assert np.array_equal(seen.told_apart, seen.log_evidence >= log_threshold(3, 0.001))


@given(seed=st.integers(0, 10_000), m=st.integers(1, 6))
@settings(max_examples=30, deadline=None)
def test_payoffs_change_sign_when_the_arms_change_samples(seed: int, m: int) -> None:
    """What makes wealth a martingale for equal arms: after a common past, X_t and Y_t change places."""
    rng = np.random.default_rng(seed)
    past, x, y = rng.normal(size=(2, 5, 1)), rng.normal(size=(1, 1)), rng.normal(size=(1, 1))

    def last_payoff(first: Array, second: Array) -> float:
        samples = (np.concatenate([past[0], first]), np.concatenate([past[1], second]))
        prior, level = prior_sums(Gaussian(0.1 * m), samples, np.ones((2, 6)), 0)
        return float(payoffs_of_round(np.zeros((2, 2)), prior, level, math.sqrt(2))[0][0, 1, -1])

    assert last_payoff(x, y) == pytest.approx(-last_payoff(y, x), abs=1e-12)
    assert abs(last_payoff(x, y)) <= 1
