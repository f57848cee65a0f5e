"""What a pilot shows: groups that are there, and nothing where there are none."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

import kabc
from kabc import SettingsError
from kabc.core.arrays import Array
from kabc.planning.estimates import Measured, guessed_groups

KERNEL = kabc.Gaussian(1.0)


def pilot(means: list[float], n: int, seed: int = 0) -> list[Array]:
    rng = np.random.default_rng(seed)
    return [rng.normal(mean, 1.0, (n, 1)) for mean in means]


@pytest.mark.parametrize("n_clusters", [3, None])
def test_groups_gap_and_noise_of_a_pilot(n_clusters: int | None) -> None:
    seen = guessed_groups(KERNEL, pilot([0.0, 2.0, 0.0, 4.0, 2.0], 60), n_clusters)
    assert kabc.Partition.of(seen.labels.tolist()) == kabc.Partition.of([0, 1, 0, 2, 1])
    assert seen.n_groups == 3
    assert seen.gap > 0
    assert seen.seen >= seen.gap  # noise only adds


def test_distances_of_groups_are_those_of_their_pooled_rows() -> None:
    rows = pilot([0.0, 1.0, 0.5], 20)
    pooled = [np.concatenate([rows[0], rows[2]]), rows[1]]
    squared, noise = Measured.of(KERNEL, rows).between(np.array([0, 1, 0]))
    expected = Measured.of(KERNEL, pooled)
    assert squared[0, 1] == pytest.approx(expected.squared[0, 1])
    assert noise[0, 1] == pytest.approx((expected.variances / expected.counts).sum(), rel=0.1)


@pytest.mark.parametrize("n_clusters", [2, 3, None])
def test_equal_arms_show_no_groups(n_clusters: int | None) -> None:
    """At level 5 %, although the partition is chosen: it is measured on other rows than it was chosen on."""
    shown, trials = 0, 30
    for seed in range(trials):
        try:
            guessed_groups(KERNEL, pilot([0.0] * 10, 24, seed), n_clusters)
            shown += 1
        except SettingsError:
            pass
    assert shown <= binom.isf(1e-4, trials, 0.05)
