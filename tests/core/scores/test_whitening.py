"""Whitening by triangles is whitening by eigenvalues and eigenvectors, which are used here."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from numpy.typing import NDArray

from kabc.core.scores.whitening import whitenings

Array = NDArray[np.float64]
RIDGES = (1e-3, 1e-2, 1e-1)


def covariance(columns: int, samples: int, seed: int = 0) -> Array:
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(samples, columns)) @ rng.normal(size=(columns, columns))
    return np.asarray(rows.T @ rows / samples)


def by_eigenvalues(table: Array, ridge: float) -> tuple[Array, float]:
    """(C + gamma)^-1 and the sum of lambda / (lambda + gamma)."""
    values, vectors = np.linalg.eigh(table)
    values = np.maximum(values, 0.0)
    gamma = ridge * max(float(values.max()), 1e-12)
    return (vectors / (values + gamma)) @ vectors.T, float((values / (values + gamma)).sum())


def close(found: Array, expected: Array) -> bool:
    return bool(np.abs(found - expected).max() <= 1e-11 * np.abs(expected).max())


CASES = {
    "one column": covariance(1, 9),
    "many columns": covariance(90, 200),
    "many columns, one eigenvalue": 3.0 * np.eye(60),
    "many columns in two parts": np.kron(np.eye(2), covariance(40, 12)),
    "many columns of nothing": np.zeros((50, 50)),
    "many columns, eigenvalues close to each other": np.diag(1 - 1e-4 * np.arange(100)),
    "two columns": covariance(2, 9),
    "some": covariance(20, 200),
    "more columns than samples": covariance(40, 12),
    "nothing": np.zeros((3, 3)),
    "one column of nothing": np.zeros((1, 1)),
    "only rounding, and indefinite": 1e-14 * (covariance(6, 9) - covariance(6, 9, 1)),
}


@pytest.mark.parametrize("ridge", RIDGES)
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("n_points", [1, 5, 70])
def test_products_and_directions_are_those_of_the_inverse(name: str, ridge: float, n_points: int) -> None:
    table = CASES[name]
    points = np.random.default_rng(2).normal(size=(n_points, len(table)))
    inverse, noise = by_eigenvalues(table, ridge)
    made = whitenings(table, RIDGES)[RIDGES.index(ridge)]
    whitened = made.whitened(points)
    assert close(whitened @ whitened.T, points @ inverse @ points.T)
    assert close(made.turned_back(whitened), points @ inverse)
    assert made.noise == pytest.approx(noise, rel=1e-9, abs=1e-12)


def test_what_rounding_makes_negative_counts_as_0_if_it_may_be_rounding() -> None:
    table = np.diag([1.0, -1e-6])
    assert whitenings(table, [1e-3], size=1e6)[0].factor[1, 1] ** 2 == pytest.approx(1e-3, rel=1e-12)
    assert whitenings(table, [1e-3], size=1.0)[0].factor[1, 1] ** 2 == pytest.approx(1e-3 - 1e-6, rel=1e-12)


def test_it_can_be_kept() -> None:
    (made,) = whitenings(CASES["some"], [1e-3])
    points = np.eye(20)
    assert np.array_equal(pickle.loads(pickle.dumps(made)).whitened(points), made.whitened(points))


def test_no_feature_at_all_is_whitened_to_nothing() -> None:
    for whitening in whitenings(np.zeros((0, 0)), RIDGES):
        points = np.zeros((3, 0))
        assert whitening.whitened(points).shape == whitening.turned_back(points).shape == (3, 0)
        assert whitening.noise == 0.0
