from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kabc.core.errors import KernelBoundsError, SampleError, SettingsError
from kabc.core.kernels import Function, Gaussian, Hamming, Laplace, Linear, Matern, Product, Sum
from tests.core.kernels.examples import bump, raised_bump, wave

A, B, C = Gaussian(1.0), Laplace(2.0), Matern(0.5)
RAISED, WAVE = Function(raised_bump, infimum=0.5), Function(wave, infimum=-1.0)
POINTS = np.random.default_rng(0).normal(size=(7, 2))


def test_operators_add_and_multiply_values() -> None:
    a, b, c = (kernel(POINTS, POINTS) for kernel in (A, B, C))
    np.testing.assert_allclose((A + B + C)(POINTS, POINTS), a + b + c)
    np.testing.assert_allclose((A * B * C)(POINTS, POINTS), a * b * c)
    np.testing.assert_allclose(((A + B) * C + A)(POINTS, POINTS), (a + b) * c + a)


def test_sums_of_sums_and_products_of_products_are_flat() -> None:
    assert (A + B) + C == A + (B + C) == Sum((A, B, C)) == Sum((Sum((A,)), Sum((B, C))))
    assert (A * B) * C == A * (B * C) == Product((A, B, C))
    assert Sum((Product((A, B)), C)) == (A * B) + C
    assert Sum([A, B]) == A + B  # type: ignore[arg-type]


def test_their_repr_reads_as_arithmetic() -> None:
    assert repr((A + B) * C) == "(Gaussian(bandwidth=1.0) + Laplace(bandwidth=2.0, norm='l1')) * " + repr(C)
    assert repr(A * B + C) == f"{A!r} * {B!r} + {C!r}"


def test_combining_leaves_the_parts_untouched() -> None:
    block = A(POINTS, POINTS)
    kept = Function(lambda x, y: block)
    (kept + B)(POINTS, POINTS)
    (kept * B)(POINTS, POINTS)
    np.testing.assert_array_equal(block, A(POINTS, POINTS))


@pytest.mark.parametrize(
    ("kernel", "infimum", "supremum", "largest_range"),
    [
        (A + B, 0.0, 2.0, 2.0),
        (A * B, 0.0, 1.0, 1.0),
        (RAISED + RAISED, 1.0, 2.0, 2.0),
        (RAISED * RAISED, 0.25, 1.0, 1.0),
        (RAISED + A, 0.5, 2.0, 2.0),
        (RAISED + WAVE, -0.5, 2.0, 2.5),
        (WAVE * WAVE, -1.0, 1.0, 2.0),
        (WAVE * RAISED, -1.0, 1.0, 2.0),
        (Linear(2.0) * Linear(3.0), -36.0, 36.0, 72.0),
        ((A + B) * Linear(2.0), -8.0, 8.0, 16.0),
    ],
)
def test_bounds_follow_from_the_parts(kernel: Any, infimum: float, supremum: float, largest_range: float) -> None:
    assert (kernel.infimum, kernel.supremum, kernel.range) == (infimum, supremum, largest_range)


def test_a_sum_is_characteristic_if_one_part_is() -> None:
    assert (A + Linear(1.0)).characteristic and (Function(bump, characteristic=True) + WAVE).characteristic
    assert not (Linear(1.0) + WAVE).characteristic


def test_a_product_is_characteristic_if_all_parts_have_spectra_and_one_is() -> None:
    assert (A * B).characteristic and (A * B).translation_invariant
    assert not (A * Function(bump, characteristic=True)).characteristic
    assert not (A * Linear(1.0)).translation_invariant


def test_parts_that_have_no_spectral_density_cannot_give_frequencies() -> None:
    for kernel in (A + Linear(1.0), A * Hamming()):
        with pytest.raises(SettingsError, match="has no spectral density"):
            kernel.frequencies(4, 2, np.random.default_rng(0))


def test_every_part_checks_the_samples() -> None:
    with pytest.raises(KernelBoundsError, match="norm 3"):
        (A + Linear(2.0)).coerce([1.0, 3.0])
    with pytest.raises(SampleError, match="'a'"):
        (Hamming() + A).coerce(["a", "b"])


@pytest.mark.parametrize("kernel", [Hamming(2) + Hamming(3), Hamming() * Hamming(2), Hamming() + Hamming(1)], ids=repr)
def test_parts_that_read_samples_differently_are_refused(kernel: Any) -> None:
    with pytest.raises(SettingsError, match="read samples in different ways"):
        kernel.coerce(["ab", "cd"])


@pytest.mark.parametrize("parts", [(), (3,), (A, "b")])
@pytest.mark.parametrize("make", [Sum, Product])
def test_only_kernels_combine(make: Any, parts: Any) -> None:
    with pytest.raises(SettingsError, match="needs kernels, at least one, got"):
        make(parts)
    with pytest.raises(SettingsError, match=r"got .*3"):
        _ = A + 3  # type: ignore[operator]
