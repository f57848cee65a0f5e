"""How much is bet on sameness: the inequality behind it, and what the forecast depends on."""

from __future__ import annotations

import numpy as np
import pytest

from kabc.core.evidence.sameness import CAP, RATIOS, samples_needed
from kabc.core.evidence.sameness_tuning import psi, tuned

LAMBDAS = np.concatenate([np.geomspace(1e-6, 0.5, 40), np.linspace(0.5, CAP, 40)])


def test_the_inequality_of_the_proof_holds_from_minus_one_on_and_touches() -> None:
    e = np.concatenate([np.linspace(-1, 1, 401), np.geomspace(1, 100, 50)])
    left = np.exp(LAMBDAS[:, None] * e - psi(LAMBDAS)[:, None] * e**2)
    right = 1 + LAMBDAS[:, None] * e
    assert (left <= right * (1 + 1e-12)).all()
    np.testing.assert_allclose(left[:, 0], right[:, 0], rtol=1e-9)  # at e = -1: psi cannot be smaller


def test_a_smaller_bet_may_use_the_same_quadratic_form() -> None:
    assert RATIOS.max() == 1
    for r in RATIOS:
        assert (psi(r * LAMBDAS) <= r**2 * psi(LAMBDAS) * (1 + 1e-9)).all()


def test_samples_needed_follow_eps_level_and_covariance() -> None:
    S = np.diag([0.3, 0.1, 0.1, 0.05])
    base = samples_needed(S, 0.1, np.log(80), 2.0)
    assert samples_needed(S, 0.05, np.log(80), 2.0) == pytest.approx(4 * base, rel=0.2)
    assert samples_needed(S, 0.1, np.log(8000), 2.0) > base
    assert samples_needed(4 * S, 0.2, np.log(80), 4.0) == pytest.approx(base, rel=1e-9)  # units
    assert samples_needed(S, 0.1, np.log(80), 1.5) <= base
    # the formula for small eps: (sqrt(trace) + sqrt(2 largest L))^2 / eps^2 is an upper bound of the leading term
    tiny = 1e-3
    simple = (np.sqrt(np.trace(S)) + np.sqrt(2 * 0.3 * np.log(80))) ** 2 / tiny**2
    assert 0.7 * simple < samples_needed(S, tiny, np.log(80), 2.0) < 1.05 * simple


def test_no_variance_and_hopeless_margins_are_numbers() -> None:
    assert 0 < samples_needed(np.zeros((2, 2)), 0.5, 3.0, 2.0) < 20
    assert samples_needed(np.eye(2), 1e-9, 3.0, 2.0) > 1e9
    n, lam = tuned(np.full((5, 3), 0.1), np.full(5, 0.1), np.full(5, 3.0), np.full(5, 2.0))
    assert n.shape == lam.shape == (5,)
    assert (lam <= CAP).all()
