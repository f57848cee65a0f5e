"""What a look computes: spreads of shuffled means as by the book, in any coordinates, for few arms and for many."""

from __future__ import annotations

import numpy as np
import pytest

from kabc.core.arrays import Array, Index
from kabc.strategies.anytime import points, spreads
from kabc.strategies.anytime.points import whitened
from kabc.strategies.anytime.spreads import Spreads, largest

GROUPS = np.array([0, 0, 0, 0, 0, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 4])


def waves(columns: int, n: int, width: int = 128, seed: int = 0) -> Array:
    """Features like those of a map: of one column they are in few dimensions."""
    rng = np.random.default_rng(seed)
    phases = rng.normal(size=(n, columns)) @ rng.normal(size=(columns, width // 2))
    return np.concatenate([np.cos(phases), np.sin(phases)], axis=1)


def products(features: Array, groups: Index) -> Array:  # (n, D), (n,) -> (n, n)
    """X (X' X / n + gamma)^-1 X', with gamma a tenth of the largest eigenvalue."""
    centred = np.array([row - features[groups == own].mean(axis=0) for row, own in zip(features, groups, strict=True)])
    covariance = centred.T @ centred / len(centred)
    gamma = 0.1 * np.linalg.eigvalsh(covariance)[-1]
    return np.asarray(centred @ np.linalg.inv(covariance + gamma * np.eye(len(covariance))) @ centred.T)


def by_the_book(features: Array, n: int, order: Index) -> list[float]:
    """The spread of each group after one shuffle, up to units."""
    table = products(features, np.repeat(GROUPS, n))[np.ix_(order, order)]
    of_arms = table.reshape(len(GROUPS), n, len(GROUPS), n).mean(axis=(1, 3))
    inside = [np.flatnonzero(group == GROUPS) for group in range(int(GROUPS.max()) + 1)]
    return [float(np.linalg.eigvalsh(of_arms[np.ix_(arms, arms)])[-1]) for arms in inside]


@pytest.mark.parametrize("many", [1, 3, 12])
@pytest.mark.parametrize("n", [3, 9])  # fewer samples than features, and more
def test_spreads_are_those_of_the_book(monkeypatch: pytest.MonkeyPatch, n: int, many: int) -> None:
    """For every map, in groups of two to five arms, whichever way their means are taken."""
    monkeypatch.setattr(spreads, "_MANY", many)
    monkeypatch.setattr(spreads, "_OF_FEW", 1 << 14)  # some shuffles at a time
    rng, size = np.random.default_rng(0), n * len(GROUPS)
    maps = [rng.normal(size=(size, 1)), rng.normal(size=(size, 3)), waves(1, size), waves(3, size)]
    orders = np.argsort(np.repeat(GROUPS, n) + rng.random((20, size)), axis=1)
    found = Spreads(maps, GROUPS, n).after(orders)
    expected = np.array([[by_the_book(one, n, order) for order in orders] for one in maps])  # (M, B, G)
    units = [_in_units(some) for some in (found, expected.transpose(2, 0, 1).reshape(-1, len(orders)))]
    assert found.shape == units[1].shape == (5 * len(maps), len(orders))
    np.testing.assert_allclose(units[0], units[1], rtol=1e-9)


def _in_units(found: Array) -> Array:  # (Q, B) -> (Q, B)
    """Spreads over their mean, in an order that does not depend on the order of maps and groups."""
    scaled = found / found.mean(axis=1, keepdims=True)
    return np.asarray(scaled[np.argsort(scaled[:, 0])])


@pytest.mark.parametrize(("columns", "n", "coordinates"), [(1, 60, 30), (3, 60, 60), (1, 300, 30), (3, 300, 128)])
def test_products_are_the_same_in_few_coordinates(columns: int, n: int, coordinates: int) -> None:
    features, groups = waves(columns, n), np.repeat([0, 1, 2], n // 3)
    found = whitened(features, [0, n // 3, 2 * n // 3, n])
    assert found.shape[0] == n
    assert found.shape[1] <= coordinates
    expected = products(features, groups)
    np.testing.assert_allclose(found @ found.T, expected, atol=1e-10 * np.abs(expected).max())


@pytest.mark.parametrize("value", [0.5, 0.1])  # means of many are exact, and not
@pytest.mark.parametrize("width", [1, 2, 128])
@pytest.mark.parametrize("n", [3, 60])
def test_a_group_of_one_value_has_no_spread_after_any_shuffle(n: int, width: int, value: float) -> None:
    """Not even a tiny one: it would be compared with other tiny ones."""
    groups, rng = np.array([0, 0, 0, 1, 1, 1]), np.random.default_rng(0)
    orders = np.argsort(np.repeat(groups, n) + rng.random((8, 6 * n)), axis=1)
    features = np.full((6 * n, width), value)
    assert not Spreads([features], groups, n).after(orders).any()
    features[3 * n :] += rng.normal(size=(3 * n, width))
    found = Spreads([features], groups, n).after(orders)
    assert not found[0].any()
    assert found[1].all()


def test_a_basis_is_made_only_where_it_is_narrow() -> None:
    narrow, whole = waves(1, 200), waves(3, 200)
    basis = points._basis(narrow.T @ narrow)
    assert basis is not None
    np.testing.assert_allclose(basis.T @ basis, np.eye(basis.shape[1]), atol=1e-12)
    np.testing.assert_allclose(narrow @ basis @ basis.T, narrow, atol=1e-5)
    assert points._basis(whole.T @ whole) is None


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_the_largest_eigenvalue_is_that_of_lapack(k: int) -> None:
    means = np.random.default_rng(k).normal(size=(200, k, 3))
    tables = means @ means.transpose(0, 2, 1)
    np.testing.assert_allclose(largest(tables.transpose(1, 2, 0)), np.linalg.eigvalsh(tables)[:, -1], rtol=1e-9)
    assert (largest(np.zeros((k, k, 2))) == 0).all()
    np.testing.assert_allclose(largest(np.eye(k)[:, :, None]), [1.0])
