"""Codes are equal or different; numbers beside them are seen by a kernel."""

from __future__ import annotations

import numpy as np
import pytest

from kabc.core.embeddings.coded import MOST_LEVELS, coded_features
from kabc.core.embeddings.pilots import farthest, feature_distance, pilot_features


def test_codes_alone_are_seen_by_their_shares() -> None:
    pilot = np.array([[5.0], [7.0], [7.0], [9e9]])
    phi = coded_features(pilot, [0], None)
    x, y = np.repeat([[5.0], [7.0]], [30, 70], axis=0), np.repeat([[5.0], [7.0]], [60, 40], axis=0)
    assert feature_distance(phi, x, y) == pytest.approx(0.3 * np.sqrt(2))
    assert phi(np.array([[5.0], [8.0]]), np.array([[5.0], [6.0]])).tolist() == [[1, 0], [0, 1]]  # unknown ones are one
    assert (phi.supremum, phi.infimum, farthest(phi)) == (1, 0, np.sqrt(2))


def test_the_size_of_a_code_has_no_meaning() -> None:
    rng = np.random.default_rng(0)
    codes = rng.choice([1.0, 2.0, 3.0], (200, 1), p=[0.2, 0.3, 0.5])
    renamed = {1.0: 2.0**47, 2.0: -1.0, 3.0: 12.0}
    other = np.vectorize(renamed.get)(codes)
    first = coded_features(codes, [0], None)(codes[:9], codes[9:18])
    assert np.array_equal(first, coded_features(other, [0], None)(other[:9], other[9:18]))


def test_features_are_never_longer_or_farther_apart_than_they_say() -> None:
    rng = np.random.default_rng(1)
    pilot = np.column_stack([rng.normal(size=300), rng.integers(0, 200, 300), rng.integers(0, 3, 300)])
    phi = coded_features(pilot, [1, 2], pilot_features(pilot[:, [0]]))
    x = np.column_stack([rng.standard_cauchy(500), rng.integers(0, 400, 500), rng.integers(-1, 5, 500)])
    gram = phi(x, x)
    assert phi.infimum - 1e-9 <= gram.min() and gram.max() <= phi.supremum + 1e-9 <= 1 + 1e-9
    squares = np.diag(gram)[:, None] + np.diag(gram) - 2 * gram
    assert np.sqrt(squares.max()) <= farthest(phi) + 1e-9
    assert [len(levels) for _, levels in phi.levels] == [MOST_LEVELS, 3]


def test_numbers_and_codes_have_weights_by_their_columns() -> None:
    rng = np.random.default_rng(2)
    pilot = np.column_stack([rng.normal(size=300), rng.integers(0, 3, 300)])
    number = pilot_features(pilot[:, [0]])
    phi = coded_features(pilot, [1], number)
    moved = pilot + np.array([1.0, 0.0])
    alone = feature_distance(number, pilot[:, [0]], moved[:, [0]])
    assert feature_distance(phi, pilot, moved) == pytest.approx(alone / np.sqrt(2))
