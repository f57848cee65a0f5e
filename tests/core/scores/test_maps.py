"""Feature maps: fitted on the past, then fixed; finite on whatever comes."""

from __future__ import annotations

import gc
import pickle
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from kabc import Gaussian, SettingsError
from kabc.core.kernels import median_distance
from kabc.core.scores.maps import (
    Custom,
    FeatureMap,
    Fourier,
    Levels,
    Products,
    Radius,
    Ranks,
    Scaled,
    all_features,
    all_fitted,
    default_maps,
)

Array = NDArray[np.float64]
LARGEST = float(np.finfo(np.float64).max)

MAPS: dict[str, tuple[FeatureMap, Callable[[int], int]]] = {  # map, features of d continuous columns
    "scaled": (Scaled(), lambda d: d),
    "ranks": (Ranks(), lambda d: d),
    "fourier of scaled": (Fourier(Scaled(), 1.0), lambda d: 128),
    "fourier of ranks": (Fourier(Ranks(), 1 / 3, n_features=64), lambda d: 64),
    "products of ranks": (Products(Ranks()), lambda d: d + d * (d + 1) // 2),
    "products of scaled": (Products(Scaled()), lambda d: d + d * (d + 1) // 2),
    "radius of scaled": (Radius(Scaled()), lambda d: 1),
    "products of the radius of ranks": (Products(Radius(Ranks())), lambda d: 2),
    "levels": (Levels(), lambda d: 1),
    "custom": (Custom(np.tanh), lambda d: d),
}

EXTREMES = np.array([0.0, 5e-324, -5e-324, 1e-200, 1.0, -1e9, 1e200, LARGEST, -LARGEST])


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("columns", [1, 3])
def test_a_map_gives_one_row_of_features_for_each_sample(name: str, columns: int) -> None:
    one, width = MAPS[name]
    past = np.random.default_rng(0).normal(size=(40, columns))
    fitted = one.fitted(past)
    for n in (1, 2, 40):
        assert fitted(past[:n]).shape == (n, width(columns))


@pytest.mark.parametrize("name", MAPS)
def test_fitting_leaves_the_original_and_the_past_as_they_were(name: str) -> None:
    one, _ = MAPS[name]
    past = np.random.default_rng(1).normal(size=(30, 2))
    before, copy = [pickle.dumps(m) for m, _ in MAPS.values() if not isinstance(m, Custom)], past.copy()
    one.fitted(past)(past)
    assert [pickle.dumps(m) for m, _ in MAPS.values() if not isinstance(m, Custom)] == before
    assert np.array_equal(past, copy)


@pytest.mark.parametrize("name", MAPS)
def test_calling_does_not_change_the_fit_and_rows_do_not_see_each_other(name: str) -> None:
    rng = np.random.default_rng(2)
    one, _ = MAPS[name]
    fitted = one.fitted(rng.integers(0, 5, (40, 2)).astype(float))
    samples = rng.normal(2.0, 2.0, (20, 2)).round()
    together = fitted(samples)
    fitted(1e6 * samples)  # others in between
    assert np.allclose([fitted(row[None])[0] for row in samples], together, rtol=0, atol=1e-12)
    assert np.allclose(fitted(samples[::-1]), together[::-1], rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", MAPS)
def test_a_fit_depends_on_the_past_alone(name: str) -> None:
    one, _ = MAPS[name]
    rng = np.random.default_rng(3)
    past, new = rng.normal(size=(30, 2)), rng.normal(size=(7, 2))
    other = one.fitted(rng.normal(50.0, 9.0, (30, 2)))  # a fit on something else in between
    assert np.array_equal(one.fitted(past)(new), one.fitted(past.copy())(new))
    assert np.array_equal(other.fitted(past)(new), one.fitted(past)(new))


@pytest.mark.parametrize("name", MAPS)
@given(
    past=hnp.arrays(np.float64, st.tuples(st.integers(1, 8), st.just(2)), elements=st.sampled_from(list(EXTREMES))),
    new=hnp.arrays(
        np.float64, (3, 2), elements=st.floats(-LARGEST, LARGEST, allow_nan=False) | st.sampled_from(list(EXTREMES))
    ),
)
@settings(max_examples=25, deadline=None)
def test_features_of_finite_samples_are_finite_and_of_moderate_size(name: str, past: Array, new: Array) -> None:
    one, _ = MAPS[name]
    fitted = one.fitted(past)
    for samples in (past, new):
        assert np.abs(fitted(samples)).max() <= 1000.0


@pytest.mark.parametrize("name", MAPS)
def test_constant_columns_and_a_single_row_of_past_are_no_obstacle(name: str) -> None:
    one, _ = MAPS[name]
    for past in (np.full((9, 2), 4.2), np.array([[3.0, -1.0]])):
        fitted = one.fitted(past)
        assert np.isfinite(fitted(past)).all()
        assert np.isfinite(fitted(past + 7.0)).all()


def test_most_values_equal_and_one_astray_are_fitted_without_a_distance_of_zero() -> None:
    past = np.zeros((1000, 1))
    past[1], past[2::300] = 1e200, 1e-5  # quartiles agree, and what is left to look at is closer than a square can say
    assert np.isfinite(Fourier(Scaled(), 1.0).fitted(past)(past)).all()


# ---------------------------------------------------------------- what each of them sees


def test_scaled_columns_have_median_zero_and_quartile_range_one() -> None:
    past = np.random.default_rng(4).normal([5.0, -1e9, 1e-9], [2.0, 1e8, 1e-10], (400, 3))
    low, centre, high = np.quantile(Scaled().fitted(past)(past), [0.25, 0.5, 0.75], axis=0)
    assert np.allclose(centre, 0.0, atol=1e-6)
    assert np.allclose(high - low, 1.0, atol=1e-6)


def test_scaled_is_blind_to_units_and_offsets() -> None:
    rng = np.random.default_rng(5)
    past, new = rng.normal(size=(50, 2)), rng.normal(size=(9, 2))
    shown = Scaled().fitted(past)(new)
    assert np.allclose(Scaled().fitted(1e6 * past + 3e6)(1e6 * new + 3e6), shown, atol=1e-8)


def test_scaled_cuts_what_is_very_far() -> None:
    fitted = Scaled().fitted(np.random.default_rng(6).normal(size=(100, 1)))
    far = fitted(np.array([[1e6], [1e300], [-1e6]]))
    assert far[0] == far[1] == -far[2] > 5


def test_scaled_falls_back_on_the_deviation_where_quartiles_agree() -> None:
    past = np.zeros((100, 1))
    past[:10] = 3.0  # a rare event
    values = Scaled().fitted(past)(past)
    assert np.sqrt(np.mean(values**2)) == pytest.approx(1.0)


@given(st.integers(0, 2**32 - 1), st.sampled_from([np.exp, np.arctan, lambda x: x**3, lambda x: 1e9 * x - 5]))
@settings(max_examples=30, deadline=None)
def test_ranks_are_blind_to_monotone_transformations(seed: int, bend: Callable[[Any], Any]) -> None:
    rng = np.random.default_rng(seed)
    past, new = rng.normal(size=(40, 2)).round(2), rng.normal(size=(15, 2)).round(2)
    assert np.array_equal(Ranks().fitted(bend(past))(bend(new)), Ranks().fitted(past)(new))


def test_ranks_turn_any_law_into_a_normal_one() -> None:
    past = np.random.default_rng(7).standard_cauchy((2000, 1))
    values = Ranks().fitted(past)(past)
    assert np.mean(values) == pytest.approx(0.0, abs=1e-9)
    assert np.std(values) == pytest.approx(1.0, abs=0.01)
    assert np.array_equal(np.argsort(values[:, 0]), np.argsort(past[:, 0]))


def test_equal_samples_have_equal_ranks_between_those_of_their_neighbours() -> None:
    fitted = Ranks().fitted(np.array([[0.0], [1.0], [1.0], [1.0], [2.0]]))
    low, tie, high = fitted(np.array([[0.0], [1.0], [2.0]]))[:, 0]
    assert low < tie < high
    assert tie == pytest.approx(0.0, abs=1e-12)
    assert low == -high


@pytest.mark.parametrize("scale", [1.0, 1 / 3])
def test_inner_products_of_fourier_features_approximate_the_gaussian_kernel(scale: float) -> None:
    past = np.random.default_rng(8).normal(size=(60, 3))
    base = Scaled().fitted(past)(past)
    kernel = Gaussian(scale * median_distance(base))
    features = Fourier(Scaled(), scale, n_features=8192).fitted(past)(past)
    assert np.abs(features @ features.T - kernel(base, base)).max() < 0.08
    assert np.allclose(np.einsum("nd,nd->n", features, features), 1.0)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6, 7, 100])
def test_columns_are_scaled_by_median_and_quartile_range(n: int) -> None:
    past = np.random.default_rng(n).normal(3, 2, (n, 2))
    low, centre, high = np.quantile(past, [0.25, 0.5, 0.75], axis=0)
    spread = high - low if n > 1 else np.full(2, 2.0)  # one value has none: half of the unit is 1
    np.testing.assert_allclose(Scaled().fitted(past)(past), (past - centre) / spread, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("n", [5, 300])
def test_fourier_features_are_cosines_and_sines(n: int) -> None:
    phases = np.concatenate(
        [np.random.default_rng(0).normal(0, 40, n - 5), np.pi * np.array([0.0, 0.5, 1.0, -1.0, 3.0])]
    )
    features = Fourier(Custom(np.asarray), 1.0, n_features=4, waves=np.array([[0.5, 1.0]])).of(phases[:, None])
    waves = np.column_stack([np.cos(phases), np.cos(2 * phases), np.sin(phases), np.sin(2 * phases)])
    np.testing.assert_allclose(features, waves / np.sqrt(2), rtol=0, atol=1e-15)


def test_products_are_the_features_and_all_products_of_two() -> None:
    past = np.random.default_rng(9).normal(size=(20, 3))
    base, found = Ranks().fitted(past)(past), Products(Ranks()).fitted(past)(past)
    expected = [base[:, i] for i in range(3)] + [base[:, i] * base[:, j] for i in range(3) for j in range(i, 3)]
    assert np.allclose(np.sort(found, axis=1), np.sort(np.column_stack(expected), axis=1))


def test_the_radius_is_the_log_distance_from_the_centre_of_the_past() -> None:
    past = 50 + np.random.default_rng(9).normal(size=(201, 3))
    one = Radius(Scaled()).fitted(past)
    away = np.linalg.norm(Scaled().fitted(past)(past), axis=1)
    near = float(np.median(away)) * np.sqrt(1e-3)
    assert np.allclose(one(past)[:, 0], np.log(np.hypot(away, near)))
    centre = np.median(past, axis=0)
    assert one(centre[None])[0, 0] == pytest.approx(np.log(near))


def test_levels_are_one_hot_for_known_values_and_zero_for_new_ones() -> None:
    past = np.column_stack([np.tile([0.0, 1.0, 5.0], 10), np.random.default_rng(10).normal(size=30)])
    fitted = Levels().fitted(past)
    shown = fitted(past)
    assert shown.shape == (30, 3)  # three values of the first column, none of the continuous one
    assert set(np.unique(shown)) == {0.0, 1.0}
    assert np.array_equal(shown.sum(axis=1), np.ones(30))
    assert np.array_equal(shown[0] @ shown[:3].T, [1.0, 0.0, 0.0])
    assert not fitted(np.array([[2.0, 0.0]])).any()


def test_values_that_do_not_repeat_are_no_levels_however_few_they_are() -> None:
    past = np.random.default_rng(11).normal(size=(10, 300))
    assert Levels().fitted(past)(past).shape == (10, 1)


@pytest.mark.parametrize(("n_values", "n_levels"), [(1, 0), (2, 2), (24, 24), (25, 0)])
def test_a_column_with_at_most_24_values_is_discrete(n_values: int, n_levels: int) -> None:
    past = np.random.default_rng(13).permutation(np.arange(100.0) % n_values)
    fitted = Levels().fitted(np.column_stack([past, 1e308 * np.linspace(-1.0, 1.0, 100)]))
    assert set(fitted.levels) == {(0, float(value)) for value in range(n_levels)}


def test_levels_of_many_columns_are_limited_to_the_most_even_ones() -> None:
    rng = np.random.default_rng(12)
    past = np.column_stack([rng.random((60, 400)) < 0.02, rng.random((60, 200)) < 0.5]).astype(float)
    fitted = Levels().fitted(past)
    assert fitted(past).shape[1] <= 512
    assert {column for column, _ in fitted.levels} >= set(range(400, 600))


# ---------------------------------------------------------------- a user's own, and the default


@pytest.mark.parametrize(
    "function",
    [lambda x: x[:, 0], lambda x: x[:-1], lambda x: np.full((len(x), 1), np.nan), lambda x: 1.0, lambda x: x[:, :0]],
    ids=["one axis", "a row too few", "nan", "a number", "no features"],
)
def test_a_function_that_does_not_give_finite_rows_is_refused(function: Callable[[Any], Any]) -> None:
    with pytest.raises(SettingsError, match=r"finite features of shape \(6, D\)"):
        Custom(function)(np.ones((6, 2)))


def test_custom_features_are_those_of_the_function() -> None:
    samples = np.arange(6).reshape(3, 2).astype(float)
    assert np.array_equal(Custom(lambda x: x[:, :1] ** 2).fitted(samples)(samples), samples[:, :1] ** 2)


@pytest.mark.parametrize("columns", [1, 12, 13, 300])
def test_default_maps_fit_any_number_of_columns_with_few_features(columns: int) -> None:
    past = np.random.default_rng(13).normal(size=(10, columns))
    maps = default_maps(columns)
    widths = [one.fitted(past)(past).shape[1] for one in maps]
    assert max(widths) <= max(128, columns)
    (products,) = (one for one in maps if isinstance(one, Products))
    assert isinstance(products.base, Ranks if columns <= 12 else Radius)


# ---------------------------------------------------------------- many maps, many samples


@pytest.mark.parametrize("columns", [1, 3, 20])
def test_maps_fitted_and_computed_together_are_those_of_each_alone(columns: int) -> None:
    rng = np.random.default_rng(8)
    past, new = rng.normal(size=(50, columns)), rng.normal(size=(9, columns))
    maps = default_maps(columns)
    together = all_features(all_fitted(maps, past), new)
    assert len(together) == len(maps)
    for one, features in zip(maps, together, strict=True):
        assert np.array_equal(features, one.fitted(past)(new))


def test_a_map_that_others_start_from_is_fitted_and_computed_once() -> None:
    calls: list[str] = []

    class Counted(Scaled):
        def fitted(self, past: Array) -> Counted:
            calls.append("fitted")
            return self

        def __call__(self, samples: Array) -> Array:
            calls.append("computed")
            return samples

    base = Counted()
    maps = all_fitted([base, Products(base), Products(Products(base))], np.zeros((4, 1)))
    assert calls == ["fitted"]
    all_features(maps, np.zeros((2, 1)))
    assert calls == ["fitted", "computed"]


def test_ranks_among_few_samples_are_exact_and_among_many_nearly() -> None:
    rng = np.random.default_rng(9)
    few, many, new = rng.normal(size=(4096, 2)), rng.normal(size=(50_000, 2)), rng.normal(size=(200, 2))
    assert np.array_equal(Ranks().fitted(few).past, np.sort(few, axis=0))
    bounded = Ranks().fitted(many)
    assert bounded.past.shape == (4096, 2)
    assert np.array_equal(bounded.past[[0, -1]], [many.min(axis=0), many.max(axis=0)])
    exact = Ranks(np.sort(many, axis=0))(new)
    inside = np.abs(exact) < 3
    assert np.abs(bounded(new) - exact)[inside].max() < 0.05


def test_features_and_past_samples_are_freed_as_soon_as_nobody_needs_them() -> None:
    """A function that calls itself from inside another one would keep them until Python looks for circles."""
    past = np.random.default_rng(0).normal(size=(50, 3))
    gc.disable()
    try:
        maps = all_fitted(default_maps(3), past)
        features = all_features(maps, past.copy())
        left = [weakref.ref(one) for one in features]
        past_left = weakref.ref(past)
        del features, past
        assert past_left() is None
        assert [one() is None for one in left] == [True] * len(left)
    finally:
        gc.enable()
