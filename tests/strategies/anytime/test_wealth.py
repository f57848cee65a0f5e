"""Wealth: evidence that equal arms cannot make, limits that stay, and pairs that have one answer."""

from __future__ import annotations

import copy
import itertools

import numpy as np
import pytest

from kabc.core.evidence import betting
from kabc.core.evidence.blocks import Block
from kabc.core.scores.maps import Levels, Products, Ranks, Scaled
from kabc.strategies.anytime.learning import Learning
from kabc.strategies.anytime.wealth import Wealth, bet_outside, mixed
from tests.strategies.anytime.books import block, lesson, play_round

DICE = np.array([[0.0], [1.0], [5.0]])  # a law with three equally likely values


def books(n_arms: int, compared: list[int], limit: float = 3.0) -> Wealth:
    return Wealth.none(n_arms).widened(np.array(compared), limit)


# ---------------------------------------------------------------- evidence is a supermartingale: exactly


@pytest.mark.parametrize("history", ["equal arms", "different arms"])
@pytest.mark.parametrize("rounds", [1, 4, 8])
def test_over_all_outcomes_of_a_round_the_evidence_of_equal_arms_does_not_grow(history: str, rounds: int) -> None:
    """Whatever was seen before, and however it was bet: the mean over all samples of the next round is at most 1."""
    shift = 2.0 * (history == "different arms")
    learning, wealth = Learning(3, [Scaled(), Ranks(), Levels(), Products(Ranks())]), books(3, [2, 0, 1])
    rng = np.random.default_rng(rounds)
    for _ in range(rounds):
        rows = {arm: rng.choice(DICE[:, 0], (2, 1)) + shift * (arm == 2) for arm in range(3)}
        play_round(learning, wealth, rows, 2)
    total = np.zeros((3, 3))
    outcomes = list(itertools.product(DICE, repeat=3))
    for samples in outcomes:
        future = copy.deepcopy(wealth)
        read = lesson(learning, {arm: sample[None, :] for arm, sample in enumerate(samples)})
        made = learning.block(read, learning.scoring(2))
        future.bet(read.batch.arms, made, future.common_gains(made.n_experts))
        total += np.exp(future.log - wealth.log)
    assert (total / len(outcomes) <= 1 + 1e-9).all()
    assert np.ptp(total) > 0  # something was bet


def test_over_all_outcomes_one_sample_against_many_does_not_grow_the_evidence() -> None:
    learning, wealth = Learning(5, [Scaled(), Ranks()]), books(5, [3, 1, 0])
    rng, many = np.random.default_rng(0), 4
    for _ in range(5):
        play_round(learning, wealth, {arm: rng.normal(3.0 * (arm % 2), 1, (1, 1)) for arm in range(5)}, 2)
    outcomes, total = list(itertools.product([2.0, 5.0], repeat=many + 1)), 0.0
    for x, *ys in outcomes:
        future = copy.deepcopy(wealth)
        read = lesson(learning, {4: np.array([[x]]), 3: np.array(ys)[:, None]})
        made = learning.block(read, learning.scoring(2))
        future.bet(read.batch.arms, made, future.common_gains(made.n_experts))
        total += np.exp(future.log[4, 0] - wealth.log[4, 0])
    assert total / len(outcomes) <= 1 + 1e-9
    assert total / len(outcomes) > 0.2  # a bet, not a loss of everything


# ---------------------------------------------------------------- bets


def test_only_pairs_of_sampled_arms_are_bet_on_and_an_arm_never_against_itself() -> None:
    wealth = books(5, [4, 0, 2])
    wealth.bet(np.array([0, 1, 4]), block(np.array([0, 0, 1]), 2.0), np.zeros(1))
    moved = [[False, False, False]] * 5
    moved[0], moved[1] = [True, False, False], [True, False, False]  # arms 0 and 1 are in one group, 4 in the other
    moved[4] = [False, True, False]
    assert (np.abs(wealth.log) > 1e-12).tolist() == moved
    assert (wealth.log[[0, 1], 0] > 0).all()


def test_factors_are_returned_in_the_order_of_the_sampled_arms() -> None:
    wealth = books(3, [2, 0, 1])
    factors = wealth.bet(np.arange(3), block(np.array([0, 0, 1]), 2.0), np.zeros(1))
    assert np.array_equal(factors, wealth.log[:, [1, 2, 0]])


def test_the_largest_evidence_is_kept_when_a_later_bet_loses() -> None:
    wealth, labels = books(2, [0, 1]), np.array([0, 1])
    wealth.bet(np.arange(2), block(labels, 2.0), np.zeros(1))
    high = wealth.best.copy()
    wealth.bet(np.arange(2), block(labels, -2.0), np.zeros(1))
    assert wealth.best[0, 1] == high[0, 1] > 0
    assert wealth.log[0, 1] < high[0, 1]


def test_the_best_expert_is_the_one_that_wins_on_pairs_that_look_different() -> None:
    wealth, labels = books(2, [0, 1]), np.array([0, 1])
    assert wealth.best_expert == wealth.n_experts == 0
    for _ in range(3):
        wealth.bet(np.arange(2), block(labels, -1.0, 0.0, 2.0), np.zeros(3))
    assert wealth.best_expert == 2
    assert wealth.common_gains(3).argmax() == 2


def test_experts_that_have_won_nothing_are_trusted_alike() -> None:
    wealth = books(2, [0, 1])
    assert wealth.common_gains(4).tolist() == [0.0] * 4
    wealth.bet(np.arange(2), block(np.array([0, 1]), -1.0, -1.0), np.zeros(2))
    assert wealth.common_gains(2).tolist() == [0.0] * 2


# ---------------------------------------------------------------- limits and answers


def test_new_arms_get_the_new_limit_and_earlier_pairs_keep_theirs() -> None:
    wealth = books(5, [3, 1], 2.0)
    wealth.best[3, 1] = wealth.best[1, 0] = 1.5
    wide = wealth.widened(np.array([3, 1, 4]), 7.0)
    assert wide.limits[[3, 1]].tolist() == [[2.0, 2.0, 7.0]] * 2
    assert wide.limits[4].tolist() == [7.0] * 3
    assert wide.best[[3, 1, 4]].tolist() == [[0, 1.5, 0], [1.5, 0, 0], [0, 0, 0]]
    assert wealth.best.shape == (5, 2)  # the books before are as they were


def test_a_pair_is_told_apart_at_its_limit_and_keeps_the_number_of_that_round() -> None:
    wealth = books(3, [0, 1, 2], 3.0)
    wealth.best[0, 1] = wealth.best[1, 0] = 3.0
    wealth.best[0, 2] = wealth.best[2, 0] = np.nextafter(3.0, 0)
    wealth.tell_apart(4)
    wealth.tell_apart(5)
    assert wealth.told.tolist() == [[0, 4, 0], [4, 0, 0], [0, 0, 0]]


def test_a_pair_has_one_answer_when_its_two_entries_are_rounded_differently() -> None:
    wealth = books(3, [2, 0], 3.0)
    wealth.best[2, 1], wealth.best[0, 0] = 3.0, np.nextafter(3.0, 0)
    wealth.tell_apart(1)
    assert wealth.apart_in_core.tolist() == [[False, True], [True, False]]
    assert np.array_equal(wealth.all_apart(), wealth.all_apart().T)


def test_an_arm_is_not_told_apart_from_itself_even_at_the_limit_of_1() -> None:
    wealth = books(2, [1, 0], 0.0)
    wealth.tell_apart(1)
    assert wealth.all_apart().tolist() == [[False, True], [True, False]]


def test_a_proven_claim_tells_its_groups_apart_at_its_own_limit() -> None:
    wealth = books(5, [0, 1, 2, 3], 9.0)
    wealth.best[0, 2] = wealth.best[2, 0] = 9.5
    wealth.tell_apart(3)
    wealth.accept(np.array([0, 0, 1, 1, -1]), 5.0, 8)
    assert wealth.told.tolist() == [[0, 0, 3, 8], [0, 0, 8, 8], [3, 8, 0, 0], [8, 8, 0, 0], [0, 0, 0, 0]]
    assert wealth.limits[0].tolist() == [9.0, 9.0, 9.0, 5.0]
    assert wealth.best[0].tolist() == [0.0, 0.0, 9.5, 5.0]


def test_a_proven_claim_says_nothing_of_arms_of_the_core_that_it_leaves_out() -> None:
    wealth = books(4, [0, 1, 2, 3], 9.0)
    wealth.accept(np.array([0, 1, 1, -1]), 5.0, 8)
    assert wealth.told.tolist() == [[0, 8, 8, 0], [8, 0, 0, 0], [8, 0, 0, 0], [0, 0, 0, 0]]


def test_arms_outside_are_held_to_their_limit_with_representatives_and_to_none_with_others() -> None:
    wealth = books(5, [0, 1, 2], 9.0)
    wealth.limit_outside((0, 2), 6.0)
    assert wealth.limits[3:].tolist() == [[6.0, np.inf, 6.0]] * 2
    assert wealth.limits[:3].tolist() == [[9.0] * 3] * 3


def test_what_others_write_into_the_evidence_does_not_reach_the_books() -> None:
    wealth, counts = books(3, [0, 1]), np.ones(3, dtype=np.int64)
    seen = wealth.evidence(counts)
    for array in (seen.told, seen.values, seen.limits, seen.counts, seen.compared):
        array[:] = 7
    assert wealth.told.max() == wealth.best.max() == 0
    assert wealth.limits.max() == 3.0
    assert wealth.compared.tolist() == [0, 1]
    assert counts.tolist() == [1, 1, 1]


# ---------------------------------------------------------------- arms outside


def test_experts_are_mixed_by_fixed_shares_of_what_they_have_won() -> None:
    rng = np.random.default_rng(0)
    factors, gains = rng.normal(0, 3, (5, 4, 6)), rng.normal(0, 400, (5, 4, 6))
    factors[0, 0] = -1e90  # all have lost everything
    plain = betting.mixed_factor(factors, betting.fixed_share(gains, 0.05))
    assert mixed(factors, gains) == pytest.approx(plain, rel=1e-10)


def test_arms_outside_bet_the_same_in_parts_as_all_at_once() -> None:
    """Each part has some of the arms, and all those that they are compared with."""
    rng, starts = np.random.default_rng(0), np.cumsum([0, 3, 3, 3, 1, 1, 1, 1])
    made = Block(rng.normal(0, 2, (2, starts[-1], 3)), rng.integers(0, 3, (2, 7)), starts, 1)
    at_once, in_parts = books(7, [0, 1, 2]), books(7, [0, 1, 2])
    at_once.bet(np.arange(7), made, np.zeros(2))
    in_parts.begin(made.n_experts)
    for others in ([3, 4], [5], [6]):
        some = np.array([0, 1, 2, *others])
        where = in_parts.outside(some)
        in_parts.note(where, *bet_outside(made.of(some), where, in_parts.far_gains(where), np.zeros(2)))
    assert np.array_equal(in_parts.log, at_once.log)
    assert in_parts.log[3:].any()


def test_whom_to_trust_is_the_mean_over_all_pairs_that_look_different_of_all_rounds() -> None:
    """Rounds with some of the arms, and with some of those that they are compared with, change a part of the books."""
    rng, wealth = np.random.default_rng(3), books(40, [0, 1, 2])
    for arms in (range(40), [0, 1, 2, 5, 6, 7], [1, 5, 39], [0, 1], [2, 30]):
        made = Block(
            rng.normal(0, 2, (3, len(arms), 3)), rng.integers(0, 3, (3, len(arms))), np.arange(len(arms) + 1), 1
        )
        wealth.bet(np.array(arms), made, wealth.common_gains(3))
    for books_now in (wealth, wealth.represented_by(39, 1)):
        assert books_now.far is not None
        gains = np.concatenate([books_now.gains.reshape(-1, 3), books_now.far.reshape(-1, 3)])
        different = gains.max(axis=1) > 0.5 * np.log(3)
        assert 20 < np.count_nonzero(different) < len(different) - 20
        assert books_now.common_gains(3) == pytest.approx(gains[different].mean(axis=0), rel=1e-12)
