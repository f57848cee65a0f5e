"""Pairs of a saved answer: one round for each, and none of an arm with itself."""

from __future__ import annotations

import numpy as np
import pytest

from kabc.results.checks import expect_pairs

COMPARED = np.array([2, 0])
TOLD = np.array([[4, 0], [1, 3], [0, 4]])  # (3, 2): arm 2 and arm 0 were told apart in round 4


def test_pairs_with_one_round_each_are_taken() -> None:
    assert expect_pairs(TOLD, COMPARED) is TOLD


@pytest.mark.parametrize(
    ("place", "message"), [((0, 0), "two different rounds"), ((0, 1), "from itself"), ((2, 0), "from itself")]
)
def test_other_pairs_are_refused(place: tuple[int, int], message: str) -> None:
    told = TOLD.copy()
    told[place] = 9
    with pytest.raises(ValueError, match=message):
        expect_pairs(told, COMPARED)
