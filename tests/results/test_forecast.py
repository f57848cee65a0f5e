"""How many samples are missing: bets grow with n, distances with the square root of n."""

from __future__ import annotations

import numpy as np
import pytest

from kabc import Evidence
from kabc.results.forecast import more_samples

LABELS = np.array([0, 0, 1])


def evidence(strength: float, *, by_bets: bool, told: bool = False) -> Evidence:
    """Three arms with 100 samples each: the third has this evidence against both others, which have none."""
    values = np.zeros((3, 3))
    values[2, :2] = values[:2, 2] = strength
    apart = (values > 0).astype(np.int64) * told
    counts, ones = np.full(3, 100), np.ones((3, 3))
    if by_bets:
        return Evidence.of_bets(apart, counts, values, ones)
    return Evidence.of_distances(apart, counts, values, ones)


def test_log_evidence_grows_with_the_samples() -> None:
    assert more_samples(evidence(0.5, by_bets=True), LABELS, discards=False).max() == 100  # 200 in all


def test_thresholds_shrink_with_the_square_root() -> None:
    found = more_samples(evidence(0.5, by_bets=False), LABELS, discards=False)
    np.testing.assert_allclose(found, [300, 300, 300])  # 400 in all


def test_discarded_samples_are_missing_too() -> None:
    found = more_samples(evidence(0.5, by_bets=False), LABELS, discards=True)
    np.testing.assert_allclose(found, [400, 400, 400])


@pytest.mark.parametrize(("by_bets", "most"), [(True, 100), (False, 9900)])
def test_bets_need_one_arm_of_a_group_distances_need_all(by_bets: bool, most: int) -> None:
    """Two groups of two arms; arms 1 and 3 are nearly alike, all other pairs across are half way."""
    values = np.zeros((4, 4))
    values[:2, 2:] = values[2:, :2] = 0.5
    values[1, 3] = values[3, 1] = 0.1
    told, counts, ones = np.zeros((4, 4), dtype=np.int64), np.full(4, 100), np.ones((4, 4))
    seen = (
        Evidence.of_bets(told, counts, values, ones) if by_bets else Evidence.of_distances(told, counts, values, ones)
    )
    assert more_samples(seen, np.array([0, 0, 1, 1]), discards=False).max() == pytest.approx(most)


@pytest.mark.parametrize("by_bets", [True, False])
def test_nothing_is_missing_once_told_apart(by_bets: bool) -> None:
    assert not more_samples(evidence(2.0, by_bets=by_bets, told=True), LABELS, discards=False).any()


@pytest.mark.parametrize("by_bets", [True, False])
def test_no_growth_no_end(by_bets: bool) -> None:
    found = more_samples(evidence(0.0, by_bets=by_bets), LABELS, discards=False)
    assert np.isinf(found).all()


def test_before_the_first_round_nothing_is_known() -> None:
    assert np.isinf(more_samples(Evidence.none(3, by_bets=True), LABELS, discards=False)).all()
