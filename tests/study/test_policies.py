"""What becomes of a draw whose worker died."""

from __future__ import annotations

from typing import Any

import pytest

from kabc.storage.contract import Ticket
from kabc.study.policies import fate, loss_message


def ticket(deaths: int) -> Ticket:
    return Ticket(1, 1, 0, 0, 0, 0, 1, "leased", deaths + 1, "w", 60.0, deaths)


@pytest.mark.parametrize("on_loss", [None, "redraw", "encode", "raise"])
def test_a_ticket_that_nobody_died_with_is_drawn_whatever_happened_to_others(on_loss: Any) -> None:
    assert fate(ticket(0), 7, on_loss) == "draw"


@pytest.mark.parametrize(
    ("on_loss", "first", "second"),
    [
        (None, "draw", "fail"),
        ("redraw", "draw", "draw"),
        ("encode", "encode", "encode"),
        ("raise", "fail", "fail"),
    ],
)
def test_each_policy_has_its_answer_to_a_first_and_a_second_death(on_loss: Any, first: str, second: str) -> None:
    assert fate(ticket(1), 1, on_loss) == first
    assert fate(ticket(2), 2, on_loss) == second


def test_two_workers_that_died_with_different_draws_of_an_arm_are_a_pattern_too() -> None:
    assert fate(ticket(1), 2, None) == "fail"


def test_the_message_counts_and_names_the_cure() -> None:
    assert loss_message(1).startswith("the worker that drew from it died: killed, or out of memory?")
    assert loss_message(2).startswith("2 workers that drew from it died")
    assert "make a new study with on_worker_loss='redraw' or 'encode'" in loss_message(2)
