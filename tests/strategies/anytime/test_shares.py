"""Error shares: whatever happens, all statements together get at most delta."""

from __future__ import annotations

import math

import pytest

from kabc.strategies.anytime.shares import ErrorShares

DELTA = 0.08
STAGES = range(1, 60)


def test_all_arms_compared_pairs_and_claims_share_delta() -> None:
    shares = ErrorShares(DELTA, 10, 3)
    assert shares.pairs(10, 1) == pytest.approx(0.08 * DELTA)
    assert shares.claims(10) == pytest.approx(0.92 * DELTA)
    assert shares.outside(10) == 0
    assert shares.pairs(10, 1) + shares.claims(10) <= DELTA * (1 + 1e-12)


def test_a_core_that_grows_for_ever_leaves_half_of_delta_to_the_arms_outside() -> None:
    shares = ErrorShares(DELTA, 10**30, 2)
    pairs = sum(shares.pairs(24 * 2**stage, stage) for stage in STAGES)
    total = pairs + shares.claims(24) + shares.outside(24)
    assert shares.outside(24) == pytest.approx(DELTA / 2)
    assert total <= DELTA * (1 + 1e-12)
    assert total == pytest.approx(DELTA)


@pytest.mark.parametrize("last", [2, 3, 10])
def test_a_core_that_grows_until_it_has_all_arms_spends_no_more_than_delta(last: int) -> None:
    shares = ErrorShares(DELTA, 24 * 2**last, 2)
    sizes = [24 * 2**stage for stage in range(1, last + 1)]
    pairs = sum(shares.pairs(size, stage) for stage, size in enumerate(sizes, 1))
    assert sizes[-1] == shares.n_arms
    assert pairs + shares.claims(sizes[-1]) + shares.outside(sizes[-1]) <= DELTA


def test_without_k_pairs_get_all_of_delta_and_nothing_is_claimed() -> None:
    shares = ErrorShares(DELTA, 10, None)
    assert shares.pairs(10, 1) == DELTA
    assert shares.claims(10) == shares.outside(10) == 0


@pytest.mark.parametrize(("n_core", "stage"), [(100, 1), (24, 1), (48, 2), (100, 3)])
def test_the_limits_of_all_pairs_of_a_stage_spend_its_share(n_core: int, stage: int) -> None:
    shares = ErrorShares(DELTA, 100, 2)
    spent = math.comb(n_core, 2) * math.exp(-shares.pair_limit(n_core, stage))
    assert spent == pytest.approx(shares.pairs(n_core, stage))


def test_what_a_claim_has_not_lost_is_held_for_the_next_one() -> None:
    shares = ErrorShares(DELTA, 10, 3)
    assert shares.held_after(0.6, 0.0) == pytest.approx(0.2)
    assert shares.held_after(0.6, 0.5) == pytest.approx(0.4)
    assert shares.held_after(0.6, 1.0) == pytest.approx(0.6)
    assert shares.held_after(0.6, 7.0) == pytest.approx(0.6)  # nothing was bet on it if it is right


def test_the_limits_of_all_arms_outside_spend_their_share() -> None:
    shares = ErrorShares(DELTA, 100, 2)
    assert 76 * math.exp(-shares.outside_limit(24)) == pytest.approx(shares.outside(24))


def test_limits_are_those_of_the_theory() -> None:
    whole, part = ErrorShares(0.05, 6, 2), ErrorShares(0.05, 60, 2)
    assert math.exp(whole.pair_limit(6, 1)) == pytest.approx(6 * 5 / (2 * 0.08 * 0.05))  # (12.1)
    assert math.exp(part.pair_limit(48, 2)) == pytest.approx(math.comb(48, 2) * 2**3 / (0.08 * 0.05))  # (12.2)
    assert math.exp(part.outside_limit(24)) == pytest.approx(2 * 36 / 0.05)  # (12.3)
    assert math.exp(whole.claim_limit(1.0, 6)) == pytest.approx(1.5 / (0.92 * 0.05))  # (12.4)
    assert math.exp(whole.claim_limit(0.25, 6)) == pytest.approx(6 / (0.92 * 0.05))
    assert math.exp(part.claim_limit(0.25, 24)) == pytest.approx(6 / (0.92 * 0.05 / 2))
    assert whole.held_after(1.0, 0.0) == pytest.approx(1 / 3)  # (12.4a)
