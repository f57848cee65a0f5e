"""What strategies guarantee, in words."""

from __future__ import annotations

from kabc.strategies.wording import exactly, main_claim, pairs_claim, wrong_at_most


def test_a_grouping_is_claimed_only_once_it_is_decided() -> None:
    assert main_claim("decided", 4, 0.05) == (
        "If there are exactly 4 groups, this grouping is wrong with probability at most 5 %."
    )
    assert main_claim("contradicted", 4, 0.05) == "There are more than 4 groups: wrong with probability at most 5 %."
    for status in (None, "budget", "exhausted", "interrupted", "stopped"):
        assert main_claim(status, 4, 0.05) == pairs_claim(0.05)


def test_a_guess_is_called_one() -> None:
    guess = wrong_at_most(0.1, exactly(1), decided=False)
    assert guess.startswith("Not decided: this grouping is a guess.") and "this grouping is wrong" not in guess
    assert "If there is exactly 1 group, a decided grouping is wrong with probability at most 10 %." in guess


def test_one_group_is_singular() -> None:
    assert "exactly 1 group," in main_claim("decided", 1, 0.05)


def test_pairs_are_claimed_with_the_condition_that_the_proof_needs() -> None:
    assert pairs_claim(0.05) == "Every pair listed as different really differs: wrong with probability at most 5 %."
    assert pairs_claim(0.05, ", always", 3) == (
        "If there are at most 3 groups, every pair listed as different really differs: wrong with probability at most "
        "5 %, always."
    )
