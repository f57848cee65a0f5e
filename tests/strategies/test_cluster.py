"""CLUSTER: one round, a fixed budget, and what it may claim."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kabc import Cluster, Gaussian, Hamming, Linear, RandomFeatures, SettingsError
from tests import literal


def test_without_a_separation_the_partition_is_a_guess() -> None:
    strategy = Cluster(2, 200, 0.5, Gaussian(1.0))
    strategy.ask()
    strategy.tell({0: np.zeros(200), 1: np.full(200, 9.0)})
    assert strategy.recommend().labels == (0, 1)
    assert not strategy.recommend().certified
    assert strategy.status == "budget"
    assert strategy.n_groups_at_least == 2
    assert strategy.evidence().told_apart[0, 1]


def test_a_pair_is_told_apart_when_its_distance_exceeds_the_threshold_of_the_paper() -> None:
    n, rng = 400, np.random.default_rng(0)
    samples = {arm: rng.normal(shift, 1.0, (n, 1)) for arm, shift in enumerate((0.0, 0.0, 1.3, 2.0))}
    strategy = Cluster(4, n, 0.1, Gaussian(1.0))
    strategy.ask()
    strategy.tell(samples)
    seen = strategy.evidence()
    apart = np.triu(np.ones((4, 4), dtype=np.bool_), 1)
    for i, j in np.argwhere(apart).tolist():
        limit = literal.threshold(seen.variances[i], seen.variances[j], n, 4, 0.1, 1.0)
        assert seen.thresholds[i, j] == pytest.approx(limit)
        assert seen.told_apart[i, j] == (seen.distances[i, j] > limit)
    assert {"below half", "below", "above"} == {  # pairs of every kind, or the above would say nothing
        "above" if ratio > 1 else "below" if ratio > 0.5 else "below half"
        for ratio in (seen.distances / seen.thresholds)[apart]
    }


def test_with_a_separation_the_budget_is_that_of_the_discussion_and_the_partition_certified() -> None:
    s = 0.9
    strategy = Cluster.for_separation(3, s, 0.1, Gaussian(1.0))
    assert strategy.n == math.ceil(128 / s**2 * math.log(8 * 6 / 0.1))
    rng = np.random.default_rng(0)
    strategy.ask()
    strategy.tell({arm: rng.normal(9.0 * (arm == 2), 0.3, strategy.n) for arm in range(3)})
    assert strategy.recommend().labels == (0, 0, 1)
    assert strategy.recommend().certified
    assert strategy.status == "decided"
    assert strategy.guarantee().claim == (
        "If the separation s_* of the groups is at least 0.9, this grouping is wrong with probability at most 10 %."
    )


def test_without_a_separation_only_the_pairs_told_apart_are_claimed() -> None:
    assert Cluster(3, 10, 0.05, Gaussian(1.0)).guarantee().claim == (
        "Every pair listed as different really differs: wrong with probability at most 5 %. "
        "Whether all groups are found depends on n."
    )


def test_features_and_exact_sums_agree_where_the_features_are_the_kernel() -> None:
    kernel = RandomFeatures(Gaussian(1.0), n_features=32, seed=4)
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(60, 2)), rng.normal(2.0, 1.0, (60, 2))
    strategy = Cluster(2, 60, 0.1, kernel)
    strategy.ask()
    strategy.tell({0: x, 1: y})
    expected = kernel(x, x).mean() - 2 * kernel(x, y).mean() + kernel(y, y).mean()
    assert strategy.evidence().distances[0, 1] ** 2 == pytest.approx(expected, abs=1e-6)
    assert strategy.evidence().thresholds[0, 1] > 0


def test_the_linear_kernel_groups_by_means() -> None:
    strategy = Cluster(3, 4000, 0.1, Linear(radius=2.0))
    rng = np.random.default_rng(2)
    shapes = [rng.uniform(-1, 1, 4000), rng.choice([-0.5, 0.5], 4000), rng.uniform(-0.2, 1.8, 4000)]
    strategy.ask()
    strategy.tell(dict(enumerate(shapes)))
    assert strategy.recommend().labels == (0, 0, 1)


def test_strings_are_grouped_by_the_hamming_kernel() -> None:
    rng = np.random.default_rng(3)
    strategy = Cluster(3, 1500, 0.1, Hamming(length=4))
    texts = [rng.choice(words, 1500) for words in (["abcd", "abce"], ["abcd", "abce"], ["wxyz", "wxy"])]
    strategy.ask()
    strategy.tell(dict(enumerate(texts)))
    assert strategy.recommend().labels == (0, 0, 1)


@pytest.mark.parametrize("n", [0, 1, -3, 2.0, None])
def test_a_variance_needs_two_samples(n: object) -> None:
    with pytest.raises(SettingsError, match="n must be a whole number at least 2"):
        Cluster(3, n, 0.1, Gaussian(1.0))  # type: ignore[arg-type]


@pytest.mark.parametrize("separation", [0, -1, float("nan"), float("inf")])
def test_a_separation_must_be_positive(separation: float) -> None:
    with pytest.raises(SettingsError, match="separation"):
        Cluster.for_separation(3, separation, 0.1, Gaussian(1.0))
