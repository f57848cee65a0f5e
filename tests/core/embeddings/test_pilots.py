"""Features from a pilot: bounded for every sample, blind to units, and with a bound for differences."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kabc.core.arrays import Array
from kabc.core.embeddings.grid import GridFourier
from kabc.core.embeddings.pilots import PilotFeatures, farthest, feature_distance, pilot_features, typical_bandwidths
from kabc.core.errors import SampleError, SettingsError

KINDS = ["normal", "heavy", "counts", "constant", "two columns", "five columns"]


def pool(kind: str, seed: int = 0, n: int = 400) -> Array:
    rng = np.random.default_rng(seed)
    if kind == "heavy":
        return rng.standard_cauchy((n, 1))
    if kind == "counts":
        return rng.poisson(2.0, (n, 1)).astype(float)
    if kind == "constant":
        return np.full((n, 1), 7.0)
    columns = {"normal": 1, "two columns": 2, "five columns": 5}[kind]
    return rng.normal(size=(n, columns)) * 10.0 ** np.arange(columns)


@pytest.mark.parametrize("ranks", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_every_sample_has_features_of_length_at_most_one(kind: str, ranks: bool) -> None:
    phi = pilot_features(pool(kind), ranks=ranks)
    silly = np.concatenate([pool(kind, 1), np.full((1, phi.n_columns), 1e300), np.full((1, phi.n_columns), -1e300)])
    values = phi.features(silly)
    assert values.shape[1] <= 64
    assert np.linalg.norm(values, axis=1).max() <= 1 + 1e-6
    gaps = np.linalg.norm(values[:, None] - values[None, :100], axis=2)
    assert gaps.max() <= farthest(phi) * (1 + 1e-6)
    averages = np.linalg.norm(values[:100] - values[100:400].reshape(100, 3, -1).mean(axis=1), axis=1)
    assert averages.max() <= farthest(phi) * (1 + 1e-6)


def test_few_columns_have_a_grid_with_a_better_bound() -> None:
    assert isinstance(pilot_features(pool("normal")).base, GridFourier)
    assert farthest(pilot_features(pool("normal"))) < 1.75
    assert farthest(pilot_features(pool("five columns"), typical_bandwidths(pool("five columns")) / 2)) == 2


def test_features_of_a_wide_kernel_stay_in_the_ball_of_the_pilot() -> None:
    points = pool("five columns")
    phi = pilot_features(points, 2 * typical_bandwidths(points))
    assert phi.ball is not None
    assert farthest(phi) == pytest.approx(2 * phi.ball[1])
    assert farthest(phi) < 1.7
    plain = replace(phi, ball=None)
    # The pilot keeps its distances, all else is at most as far apart.
    assert feature_distance(phi, points[:50], points[50:]) == pytest.approx(
        feature_distance(plain, points[:50], points[50:]), rel=1e-6
    )
    far = points + 1e9
    assert 0.5 < feature_distance(phi, points, far) < feature_distance(plain, points, far)


@pytest.mark.parametrize("kind", ["normal", "counts", "two columns", "five columns"])
def test_units_do_not_matter(kind: str) -> None:
    points = pool(kind)
    factor = np.array([1e-4, 30.0, 1.0, 7.0, 1e5])[: points.shape[1]]
    a, b = pilot_features(points), pilot_features(3 + factor * points)
    shift = 0.3 * points.std(axis=0)
    assert feature_distance(a, points, points + shift) == pytest.approx(
        feature_distance(b, 3 + factor * points, 3 + factor * (points + shift)), rel=1e-3
    )


def test_ranks_see_only_the_order_of_values() -> None:
    points, other = pool("normal"), pool("normal", 1) + 0.4
    plain = pilot_features(points, ranks=True)
    cubed = pilot_features(points**3, ranks=True)
    # between two values of the pilot the rank is interpolated, so the transform plays a small part
    assert feature_distance(cubed, points**3, other**3) == pytest.approx(
        feature_distance(plain, points, other), rel=0.02
    )
    assert feature_distance(plain, points, points + 1e6) == pytest.approx(
        feature_distance(plain, points, points + 9), rel=1e-9
    )


def test_ranks_count_half_of_the_equals() -> None:
    phi = pilot_features([0.0, 1.0, 1.0, 2.0], ranks=True)
    assert phi.ranks is not None
    np.testing.assert_array_equal(phi.ranks[0][1], [0.125, 0.5, 0.875])


def test_values_far_outside_the_pilot_do_not_fall_on_values_inside() -> None:
    points = pool("normal")
    phi = pilot_features(points)
    assert isinstance(phi.base, GridFourier)
    period = 2 * np.pi / phi.base.spacing[0] * phi.bandwidths[0]
    for far in (period, 3 * period, 1e9, -1e9):
        assert feature_distance(phi, points, points + far) > 0.5  # a kernel with this period alone would see 0


def test_a_bandwidth_can_be_given_for_all_columns_or_for_each() -> None:
    points = pool("two columns")
    assert pilot_features(points, 2.0).bandwidths.tolist() == [2.0, 2.0]
    assert pilot_features(points, [2.0, 30.0]).bandwidths.tolist() == [2.0, 30.0]
    np.testing.assert_allclose(pilot_features(points).bandwidths, typical_bandwidths(points))
    np.testing.assert_allclose(typical_bandwidths(points), np.sqrt(2) * 0.95 * np.array([1, 10]), rtol=0.2)
    for bad in (0.0, -1.0, [1.0], np.nan):
        with pytest.raises(SettingsError, match="bandwidth must be a positive finite number, or one for each of 2"):
            pilot_features(points, bad)


def test_other_columns_are_refused() -> None:
    phi: PilotFeatures = pilot_features(pool("two columns"))
    with pytest.raises(SampleError, match="3 columns, those before have 2"):
        phi.features(np.zeros((4, 3)))
