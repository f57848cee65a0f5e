"""Betting: factors are their formulas, weights of experts are weights, thresholds split delta over the pairs.

That bets are valid is tested in test_betting_validity.py.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from kabc.core.errors import SettingsError
from kabc.core.evidence.betting import (
    fixed_share,
    log_one_vs_many,
    log_product,
    log_threshold,
    mixed_factor,
    mixture,
    told_apart,
)

Array = NDArray[np.float64]

INF, NAN = math.inf, math.nan


def one_vs_one(x: Array, y: Array) -> Array:  # (...,), (...,) -> (...,)
    return log_one_vs_many(x, y[..., None])


# ---------------------------------------------------------------- formulas

moderate = st.floats(-8, 8)


@settings(deadline=None)
@given(x=moderate, ys=st.lists(moderate, min_size=1, max_size=5))
def test_factors_are_their_naive_formulas_where_those_are_safe(x: float, ys: list[float]) -> None:
    y = ys[0]
    score, others = np.array(x), np.array(ys)
    naive = (1 + math.tanh(x / 2)) * (1 - math.tanh(y / 2))
    assert math.exp(log_product(score, others[0])) == pytest.approx(naive, rel=1e-9)
    assert math.exp(one_vs_one(score, others[0])) == pytest.approx(2 / (1 + math.exp(y - x)), rel=1e-9)
    share = math.exp(x) / (math.exp(x) + sum(map(math.exp, ys)))
    assert math.exp(log_one_vs_many(score, others)) == pytest.approx((len(ys) + 1) * share, rel=1e-9)


@settings(deadline=None)
@given(x=moderate, y=moderate, constant=st.floats(-100, 100))
def test_one_vs_one_is_blind_to_a_constant(x: float, y: float, constant: float) -> None:
    shifted = one_vs_one(np.array(x + constant), np.array(y + constant))
    assert shifted == pytest.approx(float(one_vs_one(np.array(x), np.array(y))), abs=1e-12)


def test_the_product_pays_for_a_constant() -> None:
    assert log_product(np.array(5.0), np.array(5.0)) < math.log(0.03)


def test_far_out_scores_lose_exactly_what_they_staked() -> None:
    low, high = np.array(-1e6), np.array(1e6)
    assert log_product(low, high) == pytest.approx(math.log(4) - 2e6, rel=1e-15)
    assert one_vs_one(low, high) == pytest.approx(math.log(2) - 2e6, rel=1e-15)
    assert log_one_vs_many(low, np.array([1e6, 1e6])) == pytest.approx(math.log(3 / 2) - 2e6, rel=1e-15)
    assert log_product(high, low) == math.log(4)
    assert one_vs_one(high, low) == math.log(2)
    assert log_one_vs_many(high, np.array([-1e6, 0.0])) == math.log(3)


def test_infinite_scores_are_limits_and_ties_are_no_bet() -> None:
    low, high, none = np.array(-INF), np.array(INF), np.array(NAN)
    for bet in (log_product, one_vs_one):
        assert bet(none, none) == bet(np.array(0.0), none) == 0
    assert one_vs_one(high, high) == one_vs_one(low, low) == 0
    assert log_one_vs_many(high, np.array([INF, 1e99])) == pytest.approx(math.log(3 / 2))
    assert log_one_vs_many(low, np.array([-INF, -INF])) == 0
    assert log_one_vs_many(high, np.array([])) == 0  # nobody to bet against


def test_a_bet_of_everything_that_is_lost_is_lost_for_good_and_stays_a_number() -> None:
    low, high = np.array(-INF), np.array(INF)
    lost = [log_product(low, high), log_product(high, high), log_product(low, low), one_vs_one(low, high)]
    lost.append(log_one_vs_many(np.array(1e99), np.array([INF, 0.0])))
    for log_factor in lost:
        assert math.exp(log_factor + 1e9) == 0  # whatever is won later
        assert math.isfinite(1e12 * log_factor)  # whatever is lost later


def test_factors_work_over_leading_axes_and_broadcast() -> None:
    rng = np.random.default_rng(0)
    x, ys = rng.normal(size=(2, 1, 4)), rng.normal(size=(3, 4, 5))
    many = log_one_vs_many(x, ys)
    assert many.shape == log_product(x, ys[..., 0]).shape == (2, 3, 4)
    assert many[1, 2, 3] == pytest.approx(float(log_one_vs_many(x[1, 0, 3], ys[2, 3])))
    assert mixture(ys, np.log(np.full(3, 1 / 3)), axis=0).shape == (4, 5)
    assert fixed_share(ys, 0.1).shape == ys.shape


# ---------------------------------------------------------------- experts


def test_a_mixture_is_the_weighted_average_of_wealths_however_large() -> None:
    weights, wealths = np.array([0.2, 0.3, 0.5]), np.array([3.0, 0.0, 0.7])
    with np.errstate(divide="ignore"):
        log_wealths = np.log(wealths)
    assert mixture(log_wealths, np.log(weights)) == pytest.approx(math.log(weights @ wealths))
    assert mixture(log_wealths + 5000, np.log(weights)) == pytest.approx(5000 + math.log(weights @ wealths))
    assert math.exp(mixture(np.full(3, -INF), np.log(weights))) == 0


@pytest.mark.parametrize("weights", [[0.5, 0.51], [0.5, NAN], [1e9, 0.0], [1.0], 1.0])
def test_weights_above_one_or_of_another_number_are_refused(weights: list[float] | float) -> None:
    with np.errstate(divide="ignore"):
        log_weights = np.log(np.array(weights))
    for mix in (mixture, mixed_factor):
        with pytest.raises(SettingsError, match="weights"):
            mix(np.zeros((4, 2)), log_weights)


def test_unnormalised_log_wealths_are_no_weights() -> None:
    with pytest.raises(SettingsError, match="inf"):
        mixed_factor(np.zeros(2), np.array([900.0, 0.0]))


def test_weights_may_leave_something_aside() -> None:
    assert mixture(np.zeros(2), np.log([0.3, 0.3])) == pytest.approx(math.log(0.6))


FACTORS = np.random.default_rng(3).normal(scale=20, size=(60, 4))  # spreads wealths beyond what exp can hold


def evidence_of_shares(share: float) -> float:
    wealth, evidence = np.zeros(4), 0.0
    for gained in FACTORS:
        evidence += float(mixed_factor(gained, fixed_share(wealth, share)))
        wealth = wealth + gained
    return evidence


def test_without_a_share_the_mixed_factors_multiply_to_the_average_wealth() -> None:
    assert evidence_of_shares(0.0) == pytest.approx(float(mixture(FACTORS.sum(axis=0), np.log(np.full(4, 0.25)))))


def test_a_share_costs_at_most_its_part_of_each_round() -> None:
    assert evidence_of_shares(0.1) >= evidence_of_shares(0.0) + 60 * math.log(0.9)


def test_fading_weights_follow_the_expert_that_is_good_now() -> None:
    gained = np.log(np.where(np.arange(200)[:, None] < 100, [1.5, 0.5], [0.5, 1.5]))
    log_weights = np.log([0.5, 0.5])
    evidence = 0.0
    for now in gained:
        evidence += float(mixed_factor(now, log_weights))
        log_weights = fixed_share(log_weights + now, 0.02)
    assert evidence > 60 > 0 > float(mixture(gained.sum(axis=0), np.log([0.5, 0.5])))


@settings(deadline=None)
@given(wealth=st.lists(st.floats(-1e4, 1e4) | st.just(-INF), min_size=1, max_size=6), share=st.floats(0, 1))
def test_shared_weights_sum_to_one_and_leave_nobody_out(wealth: list[float], share: float) -> None:
    weights = np.exp(fixed_share(np.array(wealth), share))
    assert weights.sum() == pytest.approx(1, abs=1e-12)
    assert weights.min() >= share / len(wealth) * (1 - 1e-12)


def test_bankrupt_experts_start_even_again() -> None:
    lost = float(one_vs_one(np.array(-INF), np.array(INF)))
    for log_wealth in (-INF, lost, 3 * lost):
        assert np.exp(fixed_share(np.full(4, log_wealth), 0.0)) == pytest.approx(np.full(4, 0.25))


@pytest.mark.parametrize("share", [-0.1, 1.1, NAN])
def test_a_share_outside_zero_to_one_is_refused(share: float) -> None:
    with pytest.raises(SettingsError, match="share"):
        fixed_share(np.zeros(2), share)


# ---------------------------------------------------------------- decision


def test_the_threshold_splits_delta_over_the_pairs() -> None:
    assert log_threshold(12, 0.05) == pytest.approx(math.log(66 / 0.05))
    assert log_threshold(2, 0.1) == pytest.approx(math.log(10))


def test_a_pair_is_told_apart_from_the_threshold_on() -> None:
    at = log_threshold(5, 0.05)
    assert told_apart(np.array([[-INF, at - 1e-9], [at, at + 1]]), 5, 0.05).tolist() == [[False, False], [True, True]]
