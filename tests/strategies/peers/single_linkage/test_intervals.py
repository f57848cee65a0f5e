"""Gaps between intervals against brute force."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kabc.strategies.peers.single_linkage.intervals import gaps_within, largest_splits, right_gaps


@given(seed=st.integers(0, 2**32), n_arms=st.integers(1, 6))
@settings(deadline=None)
def test_gaps_to_the_right_are_never_larger_than_their_bounds_and_come_near(seed: int, n_arms: int) -> None:
    rng = np.random.default_rng(seed)
    low = rng.normal(size=n_arms)
    high = low + rng.uniform(0.0, 1.5, size=n_arms)
    bounds = right_gaps(low, high)
    ends = np.array(list(itertools.product(*zip(low, high, strict=True))))
    for x in [*ends, *rng.uniform(low, high, size=(50, n_arms))]:
        ranked = np.sort(x)
        for arm in range(n_arms):
            above = ranked[ranked > x[arm]]
            assert (above[0] - x[arm] if above.size else 0.0) <= bounds[arm] + 1e-12


def test_bounds_of_gaps_are_reached() -> None:
    low, high = np.array([0.0, 2.0, 5.0]), np.array([1.0, 3.0, 6.0])
    assert right_gaps(low, high).tolist() == [3.0, 4.0, 0.0]
    labels, between = largest_splits(low, high, 2)
    assert labels.tolist() == [0, 0, 1] and between.tolist() == [2.0]
    assert gaps_within(low, high, labels).tolist() == [3.0, 3.0, 0.0]
