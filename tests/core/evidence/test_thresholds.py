"""Thresholds: their constants, and that they hold at the level they promise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

from kabc.core.embeddings import embed
from kabc.core.errors import SettingsError
from kabc.core.evidence.thresholds import (
    BoundedDifferences,
    KernelUniform,
    Threshold,
    ThresholdName,
    Tightest,
    Union,
    VarianceAware,
    make_threshold,
    pair_thresholds,
    squared_separation,
)
from kabc.core.kernels import Function, Gaussian, Linear
from tests import literal

Array = NDArray[np.float64]

ALL: list[Threshold] = [
    VarianceAware("pairs"),
    VarianceAware("arms"),
    KernelUniform("pairs"),
    KernelUniform("arms"),
    BoundedDifferences(),
    Tightest((VarianceAware("arms"), BoundedDifferences())),
]


def ids(threshold: Threshold) -> str:
    return repr(threshold)


def test_variance_aware_over_pairs_is_the_equation_of_the_paper() -> None:
    variances = np.array([0.0, 0.3, 0.9])
    seen = pair_thresholds(VarianceAware().radii(57, variances, Gaussian(1.0), 0.01))
    for i in range(3):
        for j in range(3):
            assert seen[i, j] == pytest.approx(literal.threshold(variances[i], variances[j], 57, 3, 0.01, 1.0))


def test_a_positive_infimum_never_shrinks_the_range() -> None:
    high = Function(lambda x, y: np.ones((len(x), len(y))), supremum=1.0, infimum=0.9)
    assert high.range == 1.0
    seen = pair_thresholds(VarianceAware().radii(10, np.zeros(2), high, 0.1))[0, 1]
    assert seen == pytest.approx(32 / 3 * math.log(16 / 0.1) / 10)


def test_union_over_arms_uses_n_events() -> None:
    seen = pair_thresholds(VarianceAware("arms").radii(100, np.array([0.5, 0.5]), Gaussian(1.0), 0.05))[0, 1]
    log_term = math.log(4 * 2 / 0.05)
    assert seen == pytest.approx(2 * math.sqrt(2 * 0.5 * log_term / 100) + 32 / 3 * log_term / 100)


@pytest.mark.parametrize("union", ["pairs", "arms"])
def test_kernel_uniform_is_the_provable_form(union: Union) -> None:
    seen = pair_thresholds(KernelUniform(union).radii(50, np.zeros(4), Linear(radius=2.0), 0.1))[0, 1]
    events = 2 * 12 if union == "pairs" else 4
    assert seen == pytest.approx(2 * math.sqrt(4.0 / 50) * (1 + math.sqrt(2 * math.log(events / 0.1))))


def test_bounded_differences_has_no_variance_and_no_fast_term() -> None:
    seen = pair_thresholds(BoundedDifferences().radii(50, np.array([0.2, 0.9, 0.4]), Gaussian(1.0), 0.1))
    assert seen == pytest.approx(math.sqrt(2 / 50) * (1 + math.sqrt(math.log(3 / 0.1))) * np.ones((3, 3)))


def test_the_tightest_is_the_smaller_one_at_half_the_error_share() -> None:
    parts = (VarianceAware("arms"), BoundedDifferences())
    variances = np.array([0.0, 0.001, 0.9, 0.8])
    seen = pair_thresholds(Tightest(parts).radii(4000, variances, Gaussian(1.0), 0.1))
    each = [pair_thresholds(part.radii(4000, variances, Gaussian(1.0), 0.05)) for part in parts]
    assert np.array_equal(seen, np.minimum(*each))
    assert (seen == each[0]).any()
    assert (seen == each[1]).any()


@pytest.mark.parametrize("threshold", ALL, ids=ids)
def test_more_samples_and_more_error_allowed_lower_every_threshold(threshold: Threshold) -> None:
    def height(n: int, delta: float) -> float:
        return float(pair_thresholds(threshold.radii(n, np.full(5, 0.4), Gaussian(1.0), delta))[0, 1])

    assert height(200, 0.1) < height(100, 0.1)
    assert height(100, 0.2) < height(100, 0.1)


@pytest.mark.parametrize("threshold", ALL, ids=ids)
def test_a_sure_gap_exceeds_the_threshold_at_the_true_variance(threshold: Threshold) -> None:
    gap, variance, kernel = 0.3, 0.4, Gaussian(1.0)
    n = next(n for n in range(10, 200_000, 10) if threshold.sure(n, gap, variance, 6, kernel, 0.05))
    assert float(pair_thresholds(threshold.radii(n, np.full(6, variance), kernel, 0.05))[0, 1]) < gap


def test_what_is_sure_of_the_published_threshold_is_the_lemma_of_the_paper() -> None:
    """Lemma CLUSTER: n >= 128 / s^2 L, s^2 the smaller of gap^2 / V and 2 gap / sqrt(g-bar)."""
    for gap, variance, s_squared in ((0.3, 0.4, 0.225), (0.3, 0.01, 0.6)):
        enough = math.ceil(128 / s_squared * math.log(8 * 30 / 0.05))
        assert VarianceAware().sure(enough, gap, variance, 6, Gaussian(1.0), 0.05)
        assert not VarianceAware().sure(enough - 1, gap, variance, 6, Gaussian(1.0), 0.05)


@pytest.mark.parametrize("threshold", [KernelUniform("pairs"), BoundedDifferences()], ids=ids)
def test_what_is_sure_without_variances_is_a_gap_of_twice_the_threshold(threshold: Threshold) -> None:
    height = float(pair_thresholds(threshold.radii(400, np.zeros(6), Gaussian(1.0), 0.05))[0, 1])
    assert threshold.sure(400, 2.001 * height, 0.4, 6, Gaussian(1.0), 0.05)
    assert not threshold.sure(400, 1.999 * height, 0.4, 6, Gaussian(1.0), 0.05)


def test_separation_of_a_pair_is_the_smaller_of_two_ratios() -> None:
    assert squared_separation(0.5, 0.8, Gaussian(1.0)) == pytest.approx(0.25 / 0.8)
    assert squared_separation(0.5, 0.01, Gaussian(1.0)) == pytest.approx(1.0)
    assert squared_separation(0.5, 0.0, Linear(radius=2.0)) == pytest.approx(0.5)


@pytest.mark.parametrize(("name", "union"), [("nonsense", "pairs"), ("variance-aware", "rounds")])
def test_unknown_names_are_refused(name: ThresholdName, union: Union) -> None:
    with pytest.raises(SettingsError, match=r"nonsense|rounds"):
        make_threshold(name, union)


# ---------------------------------------------------------------- calibration under the null, at a fixed n

RUNS, N_ARMS, N, DELTA = 300, 5, 200, 0.2


def largest_excess_allowed() -> int:
    """Errors beyond which "at most DELTA" is refuted with one mistake in a million."""
    return int(binom.ppf(1 - 1e-6, RUNS, DELTA))


@pytest.fixture(scope="module")
def null_runs() -> list[tuple[Array, Array]]:
    """Distances and variances of N equal arms."""
    kernel = Gaussian(1.0)
    rng = np.random.default_rng(20260111)
    runs = []
    for _ in range(RUNS):
        values = rng.exponential(size=(N_ARMS, N, 1))  # skewed: nothing about the bounds is Gaussian
        embedding = embed(kernel, N_ARMS).extended(list(values))
        runs.append((np.sqrt(embedding.squared_distances()), embedding.variances()))
    return runs


@pytest.mark.parametrize("threshold", ALL, ids=ids)
def test_equal_arms_are_told_apart_in_at_most_delta_of_the_runs(
    threshold: Threshold, null_runs: list[tuple[Array, Array]]
) -> None:
    wrong = 0
    for distances, variances in null_runs:
        wrong += bool((distances > pair_thresholds(threshold.radii(N, variances, Gaussian(1.0), DELTA))).any())
    assert wrong <= largest_excess_allowed()


def test_the_calibration_would_notice_a_threshold_without_its_constants(
    null_runs: list[tuple[Array, Array]],
) -> None:
    wrong = sum(bool((d > math.sqrt(2 * v.mean() / N)).any()) for d, v in null_runs)
    assert wrong > largest_excess_allowed()
