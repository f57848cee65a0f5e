"""The fast system and the paper's sums in double loops give the same numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from kabc import KABC, Cluster, Gaussian
from tests import literal


def instance(seed: int, n_arms: int, n: int, dim: int, spread: float) -> list[NDArray[np.float64]]:
    """Arms with different locations and scales."""
    rng = np.random.default_rng(seed)
    return [rng.normal(spread * (arm % 2), 1 + 0.2 * arm, (n, dim)) for arm in range(n_arms)]


@given(
    seed=st.integers(0, 10_000),
    n_arms=st.integers(2, 5),
    n=st.integers(2, 12),
    dim=st.integers(1, 4),
    bandwidth=st.floats(0.3, 5.0),
    spread=st.floats(0.0, 50.0),
    delta=st.floats(0.01, 1.0),
)
@example(seed=228, n_arms=2, n=2, dim=1, bandwidth=3.5, spread=0.0, delta=1.0)  # a variance near 0
@settings(max_examples=40, deadline=None)
def test_cluster_equals_the_literal_sums(
    seed: int, n_arms: int, n: int, dim: int, bandwidth: float, spread: float, delta: float
) -> None:
    samples = instance(seed, n_arms, n, dim, spread)
    strategy = Cluster(n_arms, n, delta, Gaussian(bandwidth=bandwidth))
    strategy.ask()
    strategy.tell(dict(enumerate(samples)))
    labels, distances, variances, _ = literal.cluster(
        literal.gaussian(bandwidth), [x.tolist() for x in samples], delta, 1.0
    )
    seen = strategy.evidence()
    assert seen.distances**2 == pytest.approx(np.array(distances) ** 2, abs=1e-6)
    assert seen.variances == pytest.approx(np.array(variances), abs=1e-6)
    # the root of a variance near 0 is less exact than the variance, so thresholds are those of the variances seen
    thresholds = [[literal.threshold(v, w, n, n_arms, delta, 1.0) for w in seen.variances] for v in seen.variances]
    assert seen.thresholds == pytest.approx(np.array(thresholds), rel=1e-12)
    assert list(strategy.recommend().labels) == labels


def test_cluster_parts_groups_where_the_literal_one_does() -> None:
    samples = instance(3, 4, 200, 2, 40.0)
    strategy = Cluster(4, 200, 1.0, Gaussian(bandwidth=2.0))
    strategy.ask()
    strategy.tell(dict(enumerate(samples)))
    labels, *_ = literal.cluster(literal.gaussian(2.0), [x.tolist() for x in samples], 1.0, 1.0)
    assert list(strategy.recommend().labels) == labels == [0, 1, 0, 1]


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_kabc_stops_in_the_same_round_with_the_same_budget_and_labels(seed: int) -> None:
    truth = [0, 1, 0]

    def draw(k: int, n_arms: int, n: int) -> list[NDArray[np.float64]]:
        rng = np.random.default_rng([seed, k])
        return [rng.normal(30.0 * truth[arm], 0.5, (n, 1)) for arm in range(n_arms)]

    strategy = KABC(3, 2, 1.0, Gaussian(bandwidth=1.0))
    while not strategy.stopped:
        k, n = len(strategy.rounds) + 1, strategy.ask()[0]
        strategy.tell(dict(enumerate(draw(k, 3, n))))
    labels, budget, last = literal.kabc(
        literal.gaussian(1.0), lambda k, n_arms, n: [x.tolist() for x in draw(k, n_arms, n)], 3, 2, 1.0
    )
    assert list(strategy.recommend().labels) == labels == truth
    assert strategy.n_samples == budget
    assert strategy.rounds[-1].number == last
