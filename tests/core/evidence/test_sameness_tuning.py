"""How much is bet on sameness: the inequality behind it, and what the forecast depends on."""

from __future__ import annotations

import numpy as np
import pytest

from kabc.core.evidence.sameness import CAP, RATIOS, samples_needed
from kabc.core.evidence.sameness_tuning import likely_length, psi, steepness, tuned

LAMBDAS = np.concatenate([np.geomspace(1e-6, 0.5, 40), np.linspace(0.5, CAP, 40)])


def test_the_inequality_of_the_proof_holds_from_minus_x_on_and_touches() -> None:
    for x in LAMBDAS:
        u = np.concatenate([np.linspace(-x, x, 401), np.geomspace(x, 100, 50)])
        left, right = u - steepness(x) * u**2, np.log1p(u)
        assert (left <= right + 1e-15).all()
        assert left[0] == pytest.approx(right[0], rel=1e-9)  # at u = -x: no smaller factor of the square would do


def test_the_steepness_has_no_jump_and_grows_from_one_half() -> None:
    x = np.concatenate([[0.0], np.geomspace(1e-12, CAP, 2000)])
    found = steepness(x)
    assert found[0] == 0.5
    assert (np.diff(found) >= -1e-11).all()
    around = steepness(np.array([1 - 1e-9, 1 + 1e-9]) * 1e-4)  # where the series ends
    assert around[0] == pytest.approx(around[1], rel=1e-11)


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


def test_the_bound_of_the_length_matters_little_where_differences_are_short() -> None:
    S = np.diag([0.3, 0.1, 0.1])  # a typical length of 0.71
    assert samples_needed(S, 0.2, np.log(80), 2.0) < 1.12 * samples_needed(S, 0.2, np.log(80), 0.75)


def test_long_differences_are_bet_on_with_care() -> None:
    lengths = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 9.0])
    n, lam = tuned(np.full((6, 3), 0.1), np.full(6, 0.2), np.full(6, 4.0), np.full(6, 2.0), lengths)
    assert (np.diff(n[:5]) > 0).all()
    assert (np.diff(lam[:5]) <= 0).all()
    assert lam[4] < 0.8 * lam[0]
    assert (n[5], lam[5]) == (n[4], lam[4])  # nothing is longer than the bound


def test_a_likely_length_lies_between_the_typical_and_the_longest() -> None:
    spectra, sup = np.array([[0.09, 0.16], [0.0, 0.0], [9.0, 0.0]]), np.array([2.0, 2.0, 2.0])
    np.testing.assert_allclose(likely_length(spectra, sup), [1.0, 0.0, 2.0])


def test_no_variance_and_hopeless_margins_are_numbers() -> None:
    assert 0 < samples_needed(np.zeros((2, 2)), 0.5, 3.0, 2.0) < 20
    assert samples_needed(np.eye(2), 1e-9, 3.0, 2.0) > 1e9
    n, lam = tuned(np.full((5, 3), 0.1), np.full(5, 0.1), np.full(5, 3.0), np.full(5, 2.0), np.full(5, 1.0))
    assert n.shape == lam.shape == (5,)
    assert (lam <= CAP).all()
