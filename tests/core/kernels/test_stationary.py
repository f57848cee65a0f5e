from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from kabc.core.errors import SampleError, SettingsError
from kabc.core.kernels import (
    Gaussian,
    InverseMultiquadric,
    Kernel,
    Laplace,
    Matern,
    RationalQuadratic,
    Stationary,
    median_distance,
)
from tests.core.kernels.examples import SPECTRAL, STATIONARY

stationary = pytest.mark.parametrize("kernel", STATIONARY, ids=repr)
X, Y = np.array([[1.0, 2.0]]), np.array([[4.0, -2.0]])  # 5 apart, 7 apart in the l1 norm


@pytest.mark.parametrize(
    ("kernel", "value"),
    [
        (Gaussian(bandwidth=5.0), math.exp(-0.5)),
        (Gaussian(bandwidth=10.0), math.exp(-0.125)),
        (Laplace(7.0), math.exp(-1)),
        (Laplace(5.0, norm="l2"), math.exp(-1)),
        (Matern(5.0), (1 + math.sqrt(3)) * math.exp(-math.sqrt(3))),
        (Matern(5.0, nu=2.5), (1 + math.sqrt(5) + 5 / 3) * math.exp(-math.sqrt(5))),
        (RationalQuadratic(5.0), 1 / 1.5),
        (RationalQuadratic(5.0, alpha=2.0), 1 / 1.25**2),
        (InverseMultiquadric(5.0), 1 / math.sqrt(2)),
    ],
)
def test_values_are_those_of_the_formula(kernel: Kernel, value: float) -> None:
    assert kernel(X, Y).item() == pytest.approx(value, rel=1e-14)
    assert kernel(X, X).item() == kernel.supremum == 1.0


@stationary
def test_it_is_characteristic_between_0_and_1_and_translation_invariant(kernel: Stationary) -> None:
    assert (kernel.infimum, kernel.supremum, kernel.range) == (0.0, 1.0, 1.0)
    assert kernel.characteristic and kernel.translation_invariant


@stationary
def test_a_huge_offset_costs_no_digits(kernel: Stationary) -> None:
    points = np.arange(24).reshape(12, 2) / 16  # with the offset still exact in float64
    np.testing.assert_array_equal(kernel(points + 2.0**48, points + 2.0**48), kernel(points, points))


@stationary
@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.bool_, np.int64, np.float32])
def test_blocks_of_any_number_type_are_compared_as_float64(kernel: Stationary, dtype: type) -> None:
    points: NDArray[Any] = np.array([[0, 1], [1, 0], [1, 1]], dtype=dtype)
    expected = kernel(points.astype(float), points.astype(float))
    np.testing.assert_array_equal(kernel(points, points), expected)


@stationary
def test_points_too_far_apart_for_float64_are_infinitely_far(kernel: Stationary) -> None:
    far = np.array([[1e308, -1e308], [-1e308, 1e308]])
    np.testing.assert_array_equal(kernel(far, far), np.eye(2))
    assert kernel.profile(np.array([np.inf])).item() == 0.0


@pytest.mark.parametrize("kernel", [*STATIONARY, RationalQuadratic(1.0, alpha=0.05)], ids=repr)
def test_its_profile_takes_the_largest_numbers_without_a_warning(kernel: Stationary) -> None:
    assert (kernel.profile(np.array([1.7e308, math.inf])) < 1e-12).all()


@stationary
def test_its_profile_keeps_float32(kernel: Stationary) -> None:
    t = np.array([0, 1e-6, 0.5, 3, 1e30], dtype=np.float32)
    values = kernel.profile(t)
    assert values.dtype == np.float32
    np.testing.assert_allclose(values, kernel.profile(t.astype(np.float64)), atol=3e-7)


def test_settings_given_as_numpy_numbers_are_kept_as_floats() -> None:
    kernel = RationalQuadratic(np.float64(2), alpha=np.float32(1.5))  # type: ignore[arg-type]
    assert repr(kernel) == "RationalQuadratic(bandwidth=2.0, alpha=1.5)"
    assert kernel.profile(np.ones(1, dtype=np.float32)).dtype == np.float32
    assert kernel == RationalQuadratic(2, 1.5)


@stationary
def test_blocks_with_different_columns_are_refused(kernel: Stationary) -> None:
    with pytest.raises(SampleError, match=r"\(3, 2\) and \(4, 1\)"):
        kernel(np.zeros((3, 2)), np.zeros((4, 1)))


@pytest.mark.parametrize("value", [0, -1.0, math.nan, math.inf, "1", None, True, 1j])
@pytest.mark.parametrize("make", [Gaussian, Laplace, Matern, RationalQuadratic, InverseMultiquadric])
def test_a_bandwidth_is_a_positive_finite_number(make: Callable[[Any], Kernel], value: Any) -> None:
    with pytest.raises(SettingsError, match="bandwidth must be a positive finite number, got") as caught:
        make(value)
    assert repr(value) in str(caught.value)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RationalQuadratic(1.0, alpha=-2.0), "alpha must be a positive finite number, got -2.0"),
        (lambda: Matern(1.0, nu=0.5), "nu must be 1.5 or 2.5, got 0.5; use Laplace"),
        (lambda: Laplace(1.0, norm="l3"), "norm must be 'l1' or 'l2', got 'l3'"),  # type: ignore[arg-type]
    ],
)
def test_other_bad_settings_are_named(make: Callable[[], Kernel], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        make()


# ---------------------------------------------------------------- spectral densities


def hoeffding(n: int, p: float = 1e-9) -> float:
    """The mean of n independent values in [-1, 1] is farther than this from its expectation with probability <= p."""
    return math.sqrt(2 * math.log(2 / p) / n)


@pytest.mark.parametrize(("kernel", "parts"), SPECTRAL, ids=repr)
@pytest.mark.parametrize("dim", [1, 2, 3])
def test_the_characteristic_function_of_the_frequencies_is_the_kernel(kernel: Kernel, parts: int, dim: int) -> None:
    n = 60_000
    frequencies = kernel.frequencies(n, dim, np.random.default_rng(dim))
    assert frequencies.shape == (n, dim)
    differences = np.linspace(0.1, 3, 8)[:, None] * np.array([[1.0, -0.5, 0.7]])[:, :dim]
    empirical = np.cos(frequencies @ differences.T).mean(axis=0)
    exact = kernel(differences, np.zeros((1, dim)))[:, 0] / kernel.supremum
    # rows are independent in blocks of dim, and a mixture has at least n / parts - 1 rows of each part
    np.testing.assert_allclose(empirical, exact, atol=hoeffding(n // (dim * parts) - 1) + parts / n)


@pytest.mark.parametrize("kernel", [k for k in STATIONARY if k.metric == "euclidean"], ids=repr)
@pytest.mark.parametrize(("n", "dim"), [(12, 4), (10, 4), (3, 7), (5, 1)])
def test_frequencies_of_a_radial_density_are_orthogonal_in_blocks(kernel: Stationary, n: int, dim: int) -> None:
    frequencies = kernel.frequencies(n, dim, np.random.default_rng(0))
    assert frequencies.shape == (n, dim)
    directions = frequencies / np.linalg.norm(frequencies, axis=1, keepdims=True)
    for start in range(0, n, dim):
        block = directions[start : start + dim]
        np.testing.assert_allclose(block @ block.T, np.eye(len(block)), atol=1e-12)


def test_few_frequencies_in_many_dimensions_need_no_square_matrix() -> None:
    assert Gaussian(1.0).frequencies(4, 20_000, np.random.default_rng(0)).shape == (4, 20_000)


def test_equal_generators_draw_equal_frequencies() -> None:
    for kernel, _ in SPECTRAL:
        first, second = (kernel.frequencies(10, 3, np.random.default_rng(5)) for _ in range(2))
        np.testing.assert_array_equal(first, second)


# ---------------------------------------------------------------- the median heuristic


def test_the_median_heuristic_takes_the_median_distance_of_the_pilot() -> None:
    assert median_distance([0.0, 1.0, 3.0]) == 2.0
    assert Gaussian.from_pilot([0.0, 1.0, 3.0]) == Gaussian(bandwidth=2.0)
    assert Matern.from_pilot([0.0, 1.0, 3.0], scale=0.25, nu=2.5) == Matern(0.5, nu=2.5)


def test_each_kernel_measures_the_pilot_in_its_own_metric() -> None:
    pilot = np.array([[0.0, 0.0], [3.0, 4.0]])
    assert Laplace.from_pilot(pilot).bandwidth == 7.0
    assert Laplace.from_pilot(pilot, norm="l2").bandwidth == 5.0


@given(
    pilot=st.lists(st.integers(-50, 50), min_size=2, max_size=30).filter(lambda values: len(set(values)) > 1),
    factor=st.sampled_from([0.5, 2.0, 1024.0]),
    offset=st.sampled_from([0.0, 2.0**40]),
)
@settings(max_examples=50, deadline=None)
def test_the_median_heuristic_follows_the_scale_of_the_data(pilot: list[int], factor: float, offset: float) -> None:
    assert median_distance(np.array(pilot) * factor + offset) == factor * median_distance(pilot)


def test_repeated_points_do_not_pull_the_median_to_zero() -> None:
    assert median_distance([5.0] * 50 + [6.0]) == 1.0


@pytest.mark.parametrize("pilot", [[2.5, 2.5, 2.5], [2.5]])
def test_equal_points_have_no_median_distance(pilot: list[float]) -> None:
    with pytest.raises(SettingsError, match=rf"got {len(pilot)} points? equal to \[2.5\]; declare the bandwidth"):
        Gaussian.from_pilot(pilot)


@pytest.mark.parametrize("scale", [0.0, -1.0, math.nan])
def test_a_bad_scale_is_named(scale: float) -> None:
    with pytest.raises(SettingsError, match=f"with scale {scale!r}"):
        Gaussian.from_pilot([0.0, 1.0], scale=scale)


def test_a_pilot_must_be_finite_numbers() -> None:
    with pytest.raises(SampleError, match="nan in row 1"):
        Gaussian.from_pilot([0.0, math.nan])


def test_a_large_pilot_is_thinned_evenly() -> None:
    pilot = np.random.default_rng(0).normal(size=100_000)
    thinned = median_distance(pilot)
    assert thinned == median_distance(pilot[np.linspace(0, len(pilot) - 1, 1000).astype(int)])
    assert thinned == pytest.approx(0.954, abs=0.06)  # the median of |N(0, 2)|
