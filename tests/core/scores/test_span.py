"""Coordinates of features in their span: the same products from fewer numbers."""

from __future__ import annotations

import numpy as np
import pytest

from kabc.core.arrays import Array
from kabc.core.scores.discriminant import Moments, scorers_of
from kabc.core.scores.maps import Fourier, Scaled
from kabc.core.scores.span import Span

ARMS = np.repeat(np.arange(6), 20)


def waves(columns: int, seed: int = 0) -> tuple[Fourier, Array]:
    """128 waves and the samples of six arms of two kinds."""
    samples = np.random.default_rng(seed).normal(1.5 * (ARMS % 2)[:, None], 1.0, (len(ARMS), columns))
    return Fourier(Scaled(), 1.0).fitted(samples), samples


def taught(made: Moments, samples: Array) -> Moments:
    """Round by round, so that the span grows."""
    for some in np.array_split(np.random.default_rng(1).permutation(len(samples)), 7):
        made.absorb(made.map(samples[some]), ARMS[some])
    return made


def test_waves_of_one_column_fill_few_dimensions_and_keep_their_products() -> None:
    made, samples = waves(1)
    features, span = made(samples), Span(128)
    for some in np.array_split(features, 5):
        span.coordinates(some)
    found = span.coordinates(features)
    assert found.shape[1] < 40
    np.testing.assert_allclose(found @ found.T, features @ features.T, atol=1e-12)
    assert span.basis is not None
    np.testing.assert_allclose(span.basis.T @ span.basis, np.eye(found.shape[1]), atol=1e-12)


def test_features_that_leave_the_span_widen_it() -> None:
    span, first = Span(64), np.eye(64)[:3]
    assert span.coordinates(first).shape == (3, 3)
    later = np.array([[1.0, 1.0, 0.0, 1e-6, *[0.0] * 60]])
    found = span.coordinates(later)
    assert found.shape == (1, 4)
    assert float(found[0] @ found[0]) == pytest.approx(float(later[0] @ later[0]), rel=1e-15)


def test_features_that_fill_their_space_are_taken_as_they_are() -> None:
    features, span = np.random.default_rng(0).normal(size=(200, 64)), Span(64)
    assert span.coordinates(features) is features
    assert span.basis is None
    assert Span(8).basis is None
    assert Span(64, whole=True).basis is None


def test_rows_of_zeros_and_repeated_rows_end() -> None:
    span = Span(40)
    assert span.coordinates(np.zeros((5, 40))).shape == (5, 0)
    assert span.coordinates(np.ones((30, 40))).shape == (30, 1)
    nearly = np.ones((40, 40)) + 1e-8 * np.random.default_rng(0).normal(size=(40, 40))
    assert np.isfinite(span.coordinates(nearly)).all()


@pytest.mark.parametrize("columns", [1, 2, 20])
def test_scorers_are_those_of_whole_features(columns: int) -> None:
    made, samples = waves(columns)
    narrow, whole = (taught(Moments(made, 6, whole=one), samples) for one in (False, True))
    assert whole.is_whole
    assert narrow.is_whole == (columns > 1)
    nobody = np.full(6, -1)
    fresh = made(np.random.default_rng(5).normal(0.0, 4.0, (50, columns)))  # outside of the span as well
    ours, theirs = (scorers_of([one], np.arange(6), nobody, 2) for one in (narrow, whole))
    for mine, other in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(mine.labels, other.labels)
        np.testing.assert_allclose(mine.scores(fresh), other.scores(fresh), rtol=1e-9, atol=1e-9)


def test_distances_and_noise_are_those_of_whole_features() -> None:
    made, samples = waves(1)
    narrow, whole = (taught(Moments(made, 6, whole=one), samples) for one in (False, True))
    far = made(np.array([[0.0], [40.0], [-7.0]]))
    for mine, other in zip(narrow.spaces(), whole.spaces(), strict=True):
        assert mine.noise == pytest.approx(other.noise, rel=1e-9)
        both = []
        for space in (mine, other):
            points, beyond = space.whitened(far)
            away = points[:, None] - space.means
            both.append(np.square(away).sum(axis=2) + beyond[:, None])
        np.testing.assert_allclose(both[0], both[1], rtol=1e-9)
