"""How many more samples bets take: rates are pooled by groups, partners are counted too."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import kabc
from kabc.core.arrays import Array
from kabc.results.forecast import more_samples
from kabc.strategies.anytime import forecast
from kabc.strategies.anytime.assignment import Assignment
from kabc.strategies.anytime.claims import Claim

APART: NDArray[np.bool_] = np.zeros((4, 4), dtype=np.bool_)
SINCE = np.full(4, 10)


def claim(joined: list[float], paired: float) -> Claim:
    """Arms 0, 1 | 2, 3 with limit 10; evidence of each arm against the other group, and of each pair across."""
    made = Claim(np.array([0, 0, 1, 1]), 10.0, 8)
    joins = np.zeros((4, 2))
    joins[[0, 1, 2, 3], [1, 1, 0, 0]] = joined
    pairs = np.zeros((4, 4))
    pairs[:2, 2:] = pairs[2:, :2] = paired
    made.bet(np.arange(4), joins, pairs)
    return made


def test_evidence_grows_on_as_it_did() -> None:
    found = forecast.of_claim(claim([5.0] * 4, 5.0), SINCE, APART)
    assert found is not None
    assert found.tolist() == [10.0] * 4  # 5 in 10 samples: 5 more take 10 more; pairs have reached 10 / 2


def test_arms_of_one_group_share_their_rate() -> None:
    """Arm 0 has lost its bets, arm 1 has won: together they gain 0.4 a sample, so arm 0 takes 30 more samples."""
    found = forecast.of_claim(claim([-2.0, 10.0, 12.0, 12.0], 5.0), SINCE, APART)
    assert found is not None
    assert found.tolist() == [30.0, 0.0, 30.0, 0.0]  # one arm of the other group is its partner


def test_pairs_take_samples_of_both_arms() -> None:
    found = forecast.of_claim(claim([12.0] * 4, 2.5), SINCE, APART)
    assert found is not None
    assert found.tolist() == [10.0] * 4  # 2.5 in 10 samples of 5


def test_questions_that_have_not_moved_cannot_be_forecast() -> None:
    assert forecast.of_claim(claim([0.0] * 4, 5.0), SINCE, APART) is None
    assert forecast.of_claim(claim([5.0] * 4, -1.0), SINCE, APART) is None
    assert forecast.of_claim(claim([0.0] * 4, 0.0), np.zeros(4, dtype=np.int64), APART) is None  # no sample yet


def test_arms_outside_a_claim_take_nothing() -> None:
    made = Claim(np.array([0, -1, 1]), 10.0, 8)
    made.bet(np.array([0, 2]), np.array([[0.0, 5.0], [5.0, 0.0]]), np.zeros((2, 2)))
    found = forecast.of_claim(made, np.array([10, 0, 10]), np.zeros((2, 2), dtype=np.bool_))
    assert found is not None
    assert found.tolist() == [10.0, 0.0, 10.0]


def assigned(evidence: list[list[float]], counts: list[int]) -> Array | None:
    """Core 0 | 1 with its representatives, arms 2, 3, 4 outside, limit 8."""
    told = np.zeros((5, 2), dtype=np.bool_)
    told[0, 1] = told[1, 0] = True
    found = Assignment.of(np.array([0, 1]), (0, 1), told)
    books = np.array([[0.0, 9.0], [9.0, 0.0], *evidence])
    return forecast.of_assignment(found, np.array([2, 3, 4]), np.array([9, 9, *counts]), books, np.full((5, 2), 8.0))


def test_arms_outside_the_core_are_told_from_the_groups_that_they_are_not_in() -> None:
    found = assigned([[-3.0, 4.0], [-3.0, 2.0], [6.0, -2.0]], [10, 10, 10])
    assert found is not None
    # group 0 gains 6 in 20 samples, so arms 2 and 3 take 4 / 0.3 and 6 / 0.3; group 1 gains 6 in 10
    assert found[2:].tolist() == [14.0, 20.0, 4.0]
    assert found[:2].tolist() == [20.0, 20.0]  # a representative answers every sample


def test_a_group_without_samples_goes_at_the_usual_rate() -> None:
    found = assigned([[-3.0, 4.0], [-3.0, 4.0], [0.0, 0.0]], [10, 10, 0])
    assert found is not None
    assert found[2:].tolist() == [10.0, 10.0, 20.0]


def test_before_any_sample_outside_nothing_is_known() -> None:
    assert assigned([[0.0, 0.0]] * 3, [0, 0, 0]) is None
    assert assigned([[-3.0, -4.0]] * 3, [10, 10, 10]) is None


@pytest.mark.parametrize("n_arms", [6, 40])
def test_runs_end_about_where_they_were_forecast_to(n_arms: int) -> None:
    """benchmarks/forecast.py measures it on many instances; here a few runs of two of them."""
    ratios: list[float] = []
    for seed in range(2):
        strategy, rng = kabc.AnytimeKABC(n_arms, 2, 0.1, seed=seed), np.random.default_rng(seed)
        seen: list[int] = []
        while not strategy.stopped:
            strategy.tell({arm: rng.normal(2.0 * (arm % 2), 1.0, n) for arm, n in strategy.ask().items()})
            more = more_samples(strategy)
            seen += [] if more is None else [strategy.n_samples + int(more.sum())]
        ratios += [total / strategy.n_samples for total in seen]
    assert len(ratios) >= 3
    assert np.mean([0.5 <= ratio <= 2 for ratio in ratios]) >= 0.8
