"""How many samples a round draws of an arm."""

from __future__ import annotations

from kabc.strategies.anytime import pace


def test_the_first_round_draws_two_so_that_the_second_can_bet() -> None:
    assert pace.core_block(0) == 2


def test_later_rounds_draw_a_tenth_and_at_least_one() -> None:
    assert [pace.block(held) for held in (0, 1, 19, 20, 100)] == [1, 1, 1, 2, 10]
    assert [pace.core_block(held) for held in (1, 19, 20)] == [1, 1, 2]
