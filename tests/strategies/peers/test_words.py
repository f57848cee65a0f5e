"""Claims in plain words."""

from __future__ import annotations

import pytest

from kabc.strategies.peers.words import exactly, percent, wrong_at_most


def test_a_decided_grouping_is_claimed_and_a_guess_is_not() -> None:
    assert (
        wrong_at_most(0.1, exactly(4), decided=True)
        == "If there are exactly 4 groups, this grouping is wrong with probability at most 10 %."
    )
    guess = wrong_at_most(0.1, exactly(1), decided=False)
    assert guess.startswith("Not decided: this grouping is a guess.") and "this grouping is wrong" not in guess
    assert "If there is exactly 1 group, a decided grouping is wrong with probability at most 10 %." in guess


@pytest.mark.parametrize(("number", "text"), [(0.05, "5 %"), (1.0, "100 %"), (0.001, "0.1 %"), (1e-12, "1e-10 %")])
def test_probabilities_are_said_in_per_cent(number: float, text: str) -> None:
    assert percent(number) == text
