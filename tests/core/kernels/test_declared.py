from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from kabc.core.arrays import Array
from kabc.core.errors import KernelBoundsError, SampleError, SettingsError
from kabc.core.kernels import FiniteKernel, Function, Linear
from tests.core.kernels.examples import bump, raised_bump

POINTS = np.array([[0.0, 1.0], [2.0, 0.5]])


def test_linear_is_the_inner_product_on_its_ball() -> None:
    kernel = Linear(radius=3.0)
    np.testing.assert_array_equal(kernel(POINTS, POINTS), POINTS @ POINTS.T)
    assert (kernel.supremum, kernel.infimum, kernel.range) == (9.0, -9.0, 18.0)
    assert not kernel.characteristic and not kernel.translation_invariant
    assert isinstance(kernel, FiniteKernel)
    np.testing.assert_array_equal(kernel.features(POINTS), POINTS)


def test_linear_refuses_samples_outside_its_radius() -> None:
    with pytest.raises(KernelBoundsError, match=r"norm 2.06155, outside the declared radius 2 .*declare a radius"):
        Linear(radius=2.0).coerce(POINTS)
    with pytest.raises(KernelBoundsError, match="norm inf"):
        Linear(radius=2.0).coerce([1e300])


def test_linear_accepts_samples_on_the_sphere() -> None:
    np.testing.assert_array_equal(Linear(radius=5.0).coerce([[3.0, 4.0]]), [[3.0, 4.0]])


@pytest.mark.parametrize("radius", [0.0, -1.0, math.inf, "2"])
def test_a_radius_is_a_positive_finite_number(radius: Any) -> None:
    with pytest.raises(SettingsError, match=f"radius must be a positive finite number, got {radius!r}"):
        Linear(radius=radius)


def test_a_function_has_the_bounds_that_were_declared() -> None:
    plain = Function(bump)
    assert (plain.supremum, plain.infimum, plain.characteristic, plain.range) == (1.0, 0.0, False, 1.0)
    full = Function(raised_bump, supremum=2, infimum=0.5, characteristic=True)
    assert (full.supremum, full.infimum, full.characteristic, full.range) == (2.0, 0.5, True, 2.0)


def test_a_function_is_shown_by_name_and_without_its_address() -> None:
    assert repr(Function(bump)) == "Function(bump, supremum=1.0, infimum=0.0, characteristic=False)"


def test_functions_are_equal_if_everything_declared_is() -> None:
    assert Function(bump) == Function(bump, 1.0, 0.0, False)
    assert len({Function(bump), Function(bump), Function(raised_bump), Function(bump, infimum=-1.0)}) == 3


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (1.5, r"took values from 1.5 to 1.5; declare bounds"),
        (-0.25, r"took values from -0.25 to -0.25"),
        (math.nan, r"took values from nan to nan"),
        (math.inf, r"took values from inf to inf"),
    ],
)
def test_a_function_that_breaks_its_bounds_is_caught(values: float, message: str) -> None:
    def broken(x: NDArray[Any], y: NDArray[Any]) -> Array:
        return np.full((len(x), len(y)), values)

    with pytest.raises(KernelBoundsError, match=rf"broken, supremum=1.0, infimum=0.0.*{message}"):
        Function(broken)(POINTS, POINTS)
    with pytest.raises(KernelBoundsError):
        Function(broken).diagonal(POINTS)


def test_one_value_outside_the_bounds_is_enough() -> None:
    def nearly(x: NDArray[Any], y: NDArray[Any]) -> Array:
        return np.where(x[:, :1] - y[:, 0] > 1.5, -0.01, 0.5)

    assert Function(nearly)(POINTS, POINTS[1:]).max() == 0.5
    with pytest.raises(KernelBoundsError, match=r"from -0.01 to 0.5"):
        Function(nearly)(POINTS, POINTS)


def test_rounding_at_a_bound_is_not_a_broken_bound() -> None:
    values = Function(lambda x, y: np.full((len(x), len(y)), 1 + 1e-12))(POINTS, POINTS)
    assert values.shape == (2, 2)


def test_a_function_must_return_a_block() -> None:
    with pytest.raises(KernelBoundsError, match=r"returned shape \(2,\) for blocks of 2 and 1 rows"):
        Function(lambda x, y: np.zeros(len(x)))(POINTS, POINTS[:1])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"supremum": 0.0}, "supremum must be a positive finite number, got 0.0"),
        ({"supremum": math.inf}, "supremum must be a positive finite number, got inf"),
        ({"infimum": 1.5}, "infimum must lie between -supremum and supremum, got 1.5 with supremum 1.0"),
        ({"infimum": -1.5}, "got -1.5 with supremum 1.0"),
        ({"infimum": math.nan}, "got nan"),
        ({"infimum": "0"}, "got '0'"),
        ({"function": 3}, "function must take two blocks of samples, got 3"),
    ],
)
def test_impossible_declarations_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        Function(**({"function": bump} | settings))


def test_samples_of_a_function_must_be_finite_numbers() -> None:
    with pytest.raises(SampleError, match="'text'"):
        Function(bump).coerce(["text"])
