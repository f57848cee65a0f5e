"""A gate: same when that is certified, different when the difference is large enough to matter."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

import kabc
from kabc.core.arrays import Array
from kabc.core.embeddings.features import RandomFeatures
from kabc.core.errors import SettingsError
from kabc.strategies.gate import Gate
from kabc.strategies.gate.margins import Margins
from kabc.strategies.gate.shares import GateShares
from kabc.strategies.tolerance.ruler import Ruler

FEATURES = RandomFeatures(kabc.Gaussian(bandwidth=1.0), 16, 0)
VALUES = np.arange(4.0)
REFERENCE = np.array([0.4, 0.3, 0.2, 0.1])
OTHER = np.array([0.25, 0.3, 0.25, 0.2])
SURE = 1e-4  # probability that a test fails although all is well


def phi(values: Array) -> Array:  # (n,) -> (n, D)
    return np.asarray(FEATURES.features(values[:, None]), dtype=np.float64)


DISTANCE = float(np.linalg.norm((OTHER - REFERENCE) @ phi(VALUES)))  # exactly, under these features


def run(this: Array, eps: float, seed: int, delta: float = 0.05, most: int = 3_000) -> Gate:  # (4,)
    gate = Gate(2, None, delta, tolerance=kabc.KernelDistance(eps), kernel=FEATURES, seed=seed)
    rng = np.random.default_rng(seed)
    while not gate.stopped and gate.n_samples < 2 * most:
        n = next(iter(gate.ask().values()))
        gate.tell({0: rng.choice(VALUES, n, p=REFERENCE), 1: rng.choice(VALUES, n, p=this)})
    return gate


def test_equal_arms_end_as_the_same() -> None:
    runs, delta = 10, 0.2
    gates = [run(REFERENCE, 2 * DISTANCE, seed, delta) for seed in range(runs)]
    assert sum(gate.verdict == "same" and gate.status == "decided" for gate in gates) == runs
    assert sum(gate.differ for gate in gates) <= binom.isf(SURE, runs, delta)
    assert all(gate.recommend() == kabc.Partition((0, 0), certified=True) for gate in gates)


def test_at_the_tolerance_it_says_same_with_probability_delta_at_most() -> None:
    runs, delta = 30, 0.2
    wrong = sum(run(OTHER, DISTANCE, seed, delta, most=200).verdict == "same" for seed in range(runs))
    assert wrong <= binom.isf(SURE, runs, delta)


def test_bounds_of_the_distance_hold_at_every_look() -> None:
    """At the tolerance, looked at after every batch."""
    runs, delta, rng = 200, 0.5, np.random.default_rng(1)
    shares, table = GateShares(delta), phi(VALUES)
    covariance = np.cov(table[rng.choice(4, 2_000, p=REFERENCE)].T)
    above = below = 0
    for _ in range(runs):
        margins = Margins(shares, Ruler(FEATURES, DISTANCE, covariance))
        same, apart = False, 0.0
        for _ in range(6):
            margins.bet(table[rng.choice(4, 60, p=OTHER)] - table[rng.choice(4, 60, p=REFERENCE)])
            same, apart = same or margins.are_same, max(apart, margins.apart())
        above, below = above + same, below + (apart > DISTANCE)
    assert above <= binom.isf(SURE, runs, shares.same_alpha)
    assert below <= binom.isf(SURE, runs, delta - shares.same_alpha)
    assert margins.estimate == pytest.approx(DISTANCE, rel=0.5)


def test_a_distance_just_below_the_tolerance_is_certified_at_last() -> None:
    rng, table = np.random.default_rng(2), phi(VALUES)
    covariance = np.cov(table[rng.choice(4, 2_000, p=REFERENCE)].T)
    margins = Margins(GateShares(0.05), Ruler(FEATURES, DISTANCE / 0.93, covariance))
    while margins.n < 400_000 and not margins.are_same:
        margins.bet(table[rng.choice(4, 8_000, p=OTHER)] - table[rng.choice(4, 8_000, p=REFERENCE)])
    assert margins.are_same and margins.apart() < DISTANCE < margins.within() < margins.eps


def test_the_parts_of_delta_that_can_be_wrong_together_sum_to_delta() -> None:
    shares = GateShares(0.05)
    apart = float(np.exp(-shares.apart_limit))
    assert shares.different + apart == pytest.approx(0.05)  # equal laws: "same" cannot be wrong
    assert sum(np.exp(-limit) for limit in shares.same_limits) + apart == pytest.approx(
        0.05
    )  # different laws: "differ" cannot be


def test_a_real_difference_below_the_tolerance_is_the_same_and_both_are_known() -> None:
    gate = run(OTHER, 2 * DISTANCE, 0, most=20_000)
    assert (gate.verdict, gate.status, gate.differ) == ("same", "decided", True)
    found = gate.verdicts()
    assert found is not None
    assert 0 < found.apart_distance[0, 1] < DISTANCE < found.same_distance[0, 1] < 2 * DISTANCE
    assert gate.recommend() == kabc.Partition((0, 0), certified=True)


def test_a_difference_above_the_tolerance_ends_as_different_before_that_is_certified() -> None:
    gate = run(OTHER, DISTANCE / 1.5, 0)
    assert (gate.verdict, gate.status, gate.differ) == ("different", "decided", True)
    found = gate.verdicts()
    assert found is not None and 0 < found.apart_distance[0, 1] < found.eps
    far = run(np.array([0.0, 0.0, 0.0, 1.0]), DISTANCE / 1.5, 0).verdicts()
    assert far is not None and far.apart_distance[0, 1] >= far.eps  # here it is certified, and takes fewer samples


def test_a_difference_alone_ends_nothing() -> None:
    gate = run(OTHER, 1.2 * DISTANCE, 1, most=800)
    assert gate.differ and gate.verdict == "open" and not gate.stopped


def test_an_estimate_above_the_tolerance_is_no_difference_by_itself() -> None:
    gates = [run(REFERENCE, DISTANCE / 20, seed, most=90) for seed in range(6)]
    above = [gate for gate in gates if gate._margins is not None and gate._margins.estimate > gate._margins.eps]
    assert above and all(gate.verdict == "open" for gate in above if not gate.differ)
    assert not all(gate.differ for gate in above)


def test_when_rows_run_out_it_asks_for_fewer_until_none_is_left() -> None:
    gate = Gate(2, None, 0.05, tolerance="1 sd")
    assert gate.ask() == {0: 60, 1: 60}
    gate.set_aside([0])
    assert gate.ask() == {0: 15, 1: 15}
    rng = np.random.default_rng(0)
    gate.tell({arm: rng.normal(size=15) for arm in (0, 1)})
    sizes = []
    while not gate.arms_set_aside:
        sizes.append(gate.ask()[0])
        gate.set_aside([1])
    assert sizes == [1]
    assert not gate.stopped and gate.forecast is not None


def test_it_is_for_two_arms_without_a_number_of_groups() -> None:
    with pytest.raises(SettingsError, match="two arms"):
        Gate(3, None, 0.05, tolerance="1 sd")
    with pytest.raises(SettingsError, match="no number of groups"):
        Gate(2, 2, 0.05, tolerance="1 sd")
    with pytest.raises(SettingsError, match="has a sign"):
        Gate(2, None, 0.05, tolerance="-1 sd")
