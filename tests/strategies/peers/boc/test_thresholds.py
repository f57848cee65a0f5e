"""Thresholds against the numbers of the paper."""

from __future__ import annotations

import numpy as np
import pytest

from kabc.strategies.peers.boc import heuristic_threshold, proven_threshold
from kabc.strategies.peers.boc.thresholds import psi


def test_psi_is_that_of_the_paper() -> None:
    values = [psi(x) for x in (0.0, 1.0, 5.0, 10.0, 50.0)]
    assert values == pytest.approx([1.417, 2.507, 6.757, 11.95, 52.6], rel=1e-3)


@pytest.mark.parametrize(
    ("n_arms", "d", "delta", "held", "proven", "heuristic"),
    [(11, 3, 0.1, 100, 191, 8.5), (150, 4, 0.1, 6, 2960, 10.5), (1484, 8, 0.1, 10, 60536, 21.2)],
)
def test_thresholds_are_those_of_the_paper(
    n_arms: int, d: int, delta: float, held: int, proven: float, heuristic: float
) -> None:
    assert proven_threshold(np.full(n_arms, held), d, delta) == pytest.approx(proven, rel=3e-3)
    assert heuristic_threshold(n_arms * held, d, delta) == pytest.approx(heuristic, rel=1e-2)
