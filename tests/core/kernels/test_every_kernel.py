"""What every kernel owes to the bounds."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import kabc.core.kernels
from kabc.core.arrays import Array
from kabc.core.kernels import Gaussian, Hamming, Kernel, Linear
from tests.core.kernels.examples import EXAMPLES, SPECTRAL, Example, name

# few distinct values, so that equal and nearly equal points are common
VALUES = st.one_of(st.integers(-3, 3).map(float), st.floats(-3, 3), st.floats(-1e-7, 1e-7))
BLOCKS = st.tuples(st.integers(1, 12), st.integers(1, 3)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=VALUES)
)

every_kernel = pytest.mark.parametrize("example", EXAMPLES, ids=name)
a_few = settings(max_examples=15, deadline=None)


@every_kernel
@given(values=BLOCKS)
@a_few
def test_it_is_symmetric_and_positive_semi_definite(example: Example, values: Array) -> None:
    points = example.points(values)
    block = example.kernel(points, points)
    assert block.shape == (len(values), len(values)) and block.dtype == np.float64
    np.testing.assert_allclose(block, block.T, atol=example.tolerance)
    assert np.linalg.eigvalsh(block).min() >= -1e-8 * len(values)


@every_kernel
@given(values=BLOCKS)
@a_few
def test_it_stays_within_its_declared_bounds(example: Example, values: Array) -> None:
    points = example.points(values)
    block = example.kernel(points, points)
    assert block.max() <= example.kernel.supremum + example.tolerance
    assert block.min() >= example.kernel.infimum - example.tolerance


@every_kernel
@given(values=BLOCKS)
@a_few
def test_its_diagonal_is_the_diagonal_of_its_block(example: Example, values: Array) -> None:
    points = example.points(values)
    diagonal = example.kernel.diagonal(points)
    np.testing.assert_allclose(diagonal, np.diagonal(example.kernel(points, points)), atol=example.tolerance)


@pytest.mark.parametrize("example", [e for e in EXAMPLES if e.kernel.translation_invariant], ids=name)
@given(values=BLOCKS, shift=st.floats(-100, 100))
@a_few
def test_it_ignores_a_shift_if_it_says_so(example: Example, values: Array, shift: float) -> None:
    kernel, points = example.kernel, example.points(values)
    np.testing.assert_allclose(kernel(points + shift, points + shift), kernel(points, points), atol=1e-6)


@pytest.mark.parametrize("kernel", [Linear(1.0), Linear(1.0) + Gaussian(1.0), Linear(1.0) * Gaussian(1.0)], ids=repr)
def test_one_that_depends_on_a_shift_does_not_claim_otherwise(kernel: Kernel) -> None:
    points = np.array([[0.0], [0.5]])
    assert not np.allclose(kernel(points + 0.25, points + 0.25), kernel(points, points))
    assert not kernel.translation_invariant


@every_kernel
@given(values=BLOCKS, cut=st.integers(1, 11))
@a_few
def test_a_block_is_made_of_its_parts(example: Example, values: Array, cut: int) -> None:
    points = example.points(values)
    halves = [part for part in (points[:cut], points[cut:]) if len(part)]
    parts = np.block([[example.kernel(a, b) for b in halves] for a in halves])
    np.testing.assert_allclose(example.kernel(points, points), parts, atol=example.tolerance)


@every_kernel
def test_its_range_is_the_supremum_or_the_spread_whichever_is_larger(example: Example) -> None:
    kernel = example.kernel
    assert kernel.range == max(kernel.supremum - kernel.infimum, kernel.supremum)
    assert kernel.range >= kernel.supremum  # also for a positive infimum, where the printed range is too small
    assert -kernel.supremum <= kernel.infimum <= kernel.supremum


@every_kernel
def test_it_is_a_hashable_value_that_survives_pickling(example: Example) -> None:
    copy = pickle.loads(pickle.dumps(example.kernel))
    assert copy == example.kernel and copy is not example.kernel
    assert hash(copy) == hash(example.kernel)
    points = example.points(np.linspace(-2, 2, 6).reshape(3, 2))
    np.testing.assert_array_equal(copy(points, points), example.kernel(points, points))
    assert sum(other.kernel == example.kernel for other in EXAMPLES) == 1 or example.kernel == Hamming()


@every_kernel
def test_it_cannot_be_changed(example: Example) -> None:
    with pytest.raises(AttributeError):
        example.kernel.supremum = 7.0  # type: ignore[misc]


@pytest.mark.parametrize("kernel", [*[kernel for kernel, _ in SPECTRAL], Hamming(3), Linear(2.0)], ids=repr)
def test_its_repr_is_the_expression_that_makes_it(kernel: Kernel) -> None:
    assert eval(repr(kernel), dict(vars(kabc.core.kernels))) == kernel


@every_kernel
def test_coercing_makes_a_new_array(example: Example) -> None:
    samples = example.samples(np.linspace(-1, 1, 8).reshape(4, 2))
    coerced = example.kernel.coerce(samples)
    assert coerced.ndim == 2 and len(coerced) == 4
    assert not isinstance(samples, np.ndarray) or not np.shares_memory(coerced, samples)


class Half(Kernel):
    """The least that a kernel of one's own has to say."""

    @property
    def supremum(self) -> float:
        return 9.0

    @property
    def infimum(self) -> float:
        return 0.0

    @property
    def characteristic(self) -> bool:
        return False

    def __call__(self, x: Array, y: Array) -> Array:
        return np.asarray(0.5 * (x @ y.T))


def test_a_kernel_of_ones_own_gets_its_diagonal_from_its_blocks() -> None:
    points = np.linspace(0, 3, 200)[:, None]
    np.testing.assert_allclose(Half().diagonal(points), 0.5 * points[:, 0] ** 2)
    assert not Half().translation_invariant
