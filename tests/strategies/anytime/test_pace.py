"""How many samples a round draws of an arm."""

from __future__ import annotations

import math

import numpy as np

from kabc import AnytimeKABC
from kabc.core.scores.maps import Scaled
from kabc.strategies.anytime import pace


def test_the_first_round_draws_two_so_that_the_second_can_bet() -> None:
    assert pace.core_block(0) == 2


def test_later_rounds_draw_a_tenth_and_at_least_one() -> None:
    assert [pace.block(held) for held in (0, 1, 19, 20, 100)] == [1, 1, 1, 2, 10]
    assert [pace.core_block(held) for held in (1, 19, 20)] == [1, 1, 2]


def test_near_the_end_rounds_draw_half_of_what_is_missing_and_a_little_at_least() -> None:
    assert [pace.core_block(200, missing) for missing in (math.inf, 100.0, 40.0, 30.0, 15.0, 1.0)] == [
        20,
        20,
        20,
        15,
        8,
        6,
    ]
    assert pace.core_block(20, 1.0) == 1


def test_a_run_draws_smaller_rounds_when_its_claim_is_nearly_proven() -> None:
    """What is missing is forecast from earlier samples."""
    strategy, rng = AnytimeKABC(6, 2, 0.05, maps=[Scaled()], check_k=False), np.random.default_rng(1)
    parts = []
    while not strategy.stopped:
        asked, held = strategy.ask(), strategy.evidence().counts
        parts.append(max(asked.values()) / pace.block(int(min(held[list(asked)]))))
        strategy.tell({arm: rng.normal(0.5 * (arm % 2), 1.0, (n, 1)) for arm, n in asked.items()})
    assert parts[1 : len(parts) // 2] == [1.0] * (len(parts) // 2 - 1)
    assert parts[-1] < 1
