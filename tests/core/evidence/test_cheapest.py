"""The bandwidth that makes sameness cheapest: by the forecast, from a pilot."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kabc.core.embeddings.pilots import farthest, feature_distance, pilot_features, typical_bandwidths
from kabc.core.evidence.cheapest import SCALES, cheapest_features, difference_covariance
from kabc.core.evidence.sameness import samples_needed

L = math.log(80)
POOL = np.random.default_rng(0).normal(size=(500, 1))


def test_no_other_scale_has_a_smaller_forecast() -> None:
    changed = [POOL + 0.2, POOL * 1.3]
    chosen = cheapest_features(POOL, changed, L, n_opponents=4)
    for scale in SCALES:
        phi = pilot_features(POOL, scale * typical_bandwidths(POOL))
        eps = min(feature_distance(phi, POOL, one) for one in changed)
        cost = samples_needed(difference_covariance(phi, POOL, 4), eps, L, farthest(phi))
        assert chosen.n_samples <= cost * (1 + 1e-12)
    assert chosen.eps == min(feature_distance(chosen.features, POOL, one) for one in changed)


def test_a_fine_change_gets_a_narrow_kernel_and_a_shift_a_wide_one() -> None:
    spikes = np.repeat(np.arange(-10.0, 11.0), 30)[:, None]
    pool = spikes + np.random.default_rng(1).normal(size=spikes.shape) * 0.02
    fine = cheapest_features(pool, [spikes + 0.5 * np.sign(pool - spikes)], L)
    shift = cheapest_features(POOL, [POOL + 0.2], L)
    assert fine.features.bandwidths[0] / typical_bandwidths(pool)[0] == pytest.approx(min(SCALES))
    assert shift.features.bandwidths[0] / typical_bandwidths(POOL)[0] == pytest.approx(max(SCALES))


def test_the_covariance_is_that_of_fresh_differences() -> None:
    rng = np.random.default_rng(2)
    phi = pilot_features(POOL)
    big = rng.normal(size=(40_000, 1))
    x, *ys = (phi.features(rng.normal(size=(40_000, 1))) for _ in range(4))
    np.testing.assert_allclose(np.cov((x - sum(ys) / 3).T), difference_covariance(phi, big, 3), atol=0.01)


def test_a_change_that_is_none_costs_infinitely_much() -> None:
    nothing = cheapest_features(POOL, [POOL.copy()], L)
    assert nothing.eps == 0
    assert nothing.n_samples == math.inf
