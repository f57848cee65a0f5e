"""Review: what is claimed was guessed before, has won lately, and differs from what was claimed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kabc.strategies.anytime.batches import Batch
from kabc.strategies.anytime.review import Review
from kabc.strategies.anytime.shares import ErrorShares
from tests.strategies.anytime.books import block

ARMS = np.arange(4)
TRUE = np.array([0, 0, 1, 1])
OTHER = np.array([0, 1, 0, 1])
SHARES = ErrorShares(0.05, 4, 2)


def bet(review: Review, labels: np.ndarray = TRUE, strength: float = 2.0) -> None:
    """One sample of each arm that speaks for these groups."""
    made = block(labels, strength)
    batch = Batch.of([0, 1, 2, 3], [np.zeros((1, 1))] * 4)
    review.bet(made, batch, np.full(4, 3), np.zeros(1), made.pairs(ARMS)[..., 0])


def claimed(n_samples: int = 20) -> Review:
    review = Review(SHARES)
    review.revise(TRUE, ARMS, 10)
    bet(review)
    review.revise(TRUE, ARMS, n_samples)
    return review


def test_a_guess_is_claimed_only_after_bets_on_it_have_won() -> None:
    review = Review(SHARES)
    review.revise(TRUE, ARMS, 10)
    assert review.claim is None
    bet(review, strength=-2.0)
    review.revise(TRUE, ARMS, 14)
    assert review.claim is None
    for _ in range(4):
        bet(review)
    review.revise(TRUE, ARMS, 18)
    assert review.claim is not None
    assert review.claim.labels.tolist() == TRUE.tolist()
    assert review.claim.limit == SHARES.claim_limit(1.0, 4)
    assert review.claim.n_samples == 18


def test_a_guess_that_others_are_nearly_as_likely_as_is_not_claimed() -> None:
    review = Review(SHARES)
    review.revise(TRUE, ARMS, 10, odds=0.7)
    bet(review)
    review.revise(TRUE, ARMS, 14, odds=0.7)
    assert review.claim is None
    review.revise(TRUE, ARMS, 14, odds=0.5)
    assert review.claim is not None


@pytest.mark.parametrize(("n_lost", "is_claimed"), [(0, True), (1, True), (2, False)])
def test_a_guess_is_claimed_if_it_has_won_nearly_all_bets(n_lost: int, is_claimed: bool) -> None:
    arms, truth = np.arange(20), np.arange(20) % 2
    review = Review(ErrorShares(0.05, 20, 2))
    review.revise(truth, arms, 40)
    seen = truth.copy()
    seen[:n_lost] = 1 - truth[:n_lost]
    made = block(truth, 0.1)
    made = replace(made, scores=block(seen, 0.1).scores)  # some samples speak for the other group
    batch = Batch.of(arms.tolist(), [np.zeros((1, 1))] * 20)
    review.bet(made, batch, np.full(20, 3), np.zeros(1), made.pairs(arms)[..., 0])
    review.revise(truth, arms, 60)
    assert (review.claim is not None) == is_claimed


def test_a_guess_that_only_dry_arms_could_prove_is_not_claimed_and_costs_no_share() -> None:
    review = Review(SHARES)
    review.revise(TRUE, ARMS, 10)
    bet(review)
    review.revise(TRUE, ARMS, 20, provable=False)
    assert review.claim is None
    assert review.n_claims == 0


def test_samples_from_before_a_claim_do_not_count_for_it() -> None:
    review = claimed()
    assert review.claim is not None
    nothing = np.zeros((4, 4), dtype=np.bool_)
    assert review.claim.open_joins(nothing).sum() == 4
    assert not review.claim.proven(nothing)
    for _ in range(10):
        bet(review)
    assert review.claim.proven(nothing)


def test_without_a_guess_nothing_is_bet() -> None:
    review = Review(SHARES)
    bet(review)
    review.revise(TRUE, ARMS, 10)
    assert review.claim is None  # the bet before the guess does not count


def test_a_guess_with_other_numbers_for_the_same_groups_is_the_same_guess() -> None:
    review = claimed()
    review.revise(1 - TRUE, ARMS, 1000)
    assert review.stands
    assert review.n_claims == 1


def test_a_claim_is_replaced_once_there_are_a_quarter_more_samples() -> None:
    review = claimed(20)
    assert review.claim is not None
    first = review.claim
    bet(review, strength=-0.5)
    for n_samples, number in [(24, 1), (25, 2)]:
        review.revise(OTHER, ARMS, n_samples)
        assert not review.stands or number == 2
        for _ in range(3):
            bet(review, OTHER)
        review.revise(OTHER, ARMS, n_samples)
        assert review.n_claims == number
    assert 0.01 < first.worth < 0.9  # the second claim pays for what the first one lost, and no more
    assert review.claim.limit == SHARES.claim_limit(SHARES.held_after(1.0, first.worth), 4)
    assert review.stands


def test_a_claim_that_is_no_longer_the_guess_still_collects_evidence() -> None:
    review = claimed()
    review.revise(OTHER, ARMS, 21)
    for _ in range(10):
        bet(review, TRUE)
    assert review.claim is not None
    assert not review.stands
    assert review.claim.proven(np.zeros((4, 4), dtype=np.bool_))


def test_an_arm_that_moves_to_another_group_starts_from_nothing() -> None:
    review = Review(SHARES)
    review.revise(TRUE, ARMS, 10)
    bet(review)
    review.revise(np.array([0, 0, 0, 1]), ARMS, 14)
    assert review.claim is None


def test_after_the_core_was_widened_claims_go_on_counting() -> None:
    review = claimed()
    bet(review, strength=-1.0)
    first = review.claim
    assert first is not None
    assert 0.01 < first.worth < 0.9
    review.restart(ARMS)
    assert review.guess is None
    assert review.claim is None
    review.revise(TRUE, ARMS, 21)
    bet(review)
    review.revise(TRUE, ARMS, 22)
    assert review.claim is not None
    assert review.claim.limit == SHARES.claim_limit(SHARES.held_after(1.0, first.worth), 4)


def test_a_claim_in_a_core_with_arms_outside_has_half_the_error_share() -> None:
    shares = ErrorShares(0.05, 60, 2)
    review = Review(shares, ARMS)
    guess = np.full(60, -1)
    guess[:4] = TRUE
    review.revise(guess, ARMS, 10)
    bet(review)
    review.revise(guess, ARMS, 14)
    assert review.claim is not None
    assert np.exp(review.claim.limit) == pytest.approx(1.5 / (0.05 * 0.92 / 2))


def test_a_claim_is_trusted_while_it_stands_and_is_not_doubted() -> None:
    review = claimed()
    assert review.trusted is review.claim
    review.doubted = True
    assert review.trusted is None
    review.doubted = False
    review.revise(OTHER, ARMS, 21)
    assert review.trusted is None
