"""A look at few samples computes the same as one at many, and eigenvalues in closed form are eigenvalues."""

from __future__ import annotations

import numpy as np
import pytest

from kabc.strategies.anytime import shuffles


def test_a_group_with_few_samples_has_the_spread_that_its_means_have(monkeypatch: pytest.MonkeyPatch) -> None:
    rng, n = np.random.default_rng(0), 5
    groups = np.array([0, 0, 0, 0, 0, 1, 1, 2, 2, 2])
    points = [rng.normal(size=(n * len(groups), width)) for width in (1, 3, 40)]
    for one in points:
        for group in range(3):
            one[np.repeat(groups, n) == group] -= one[np.repeat(groups, n) == group].mean(axis=0)
    orders = np.argsort(np.repeat(groups, n) + rng.random((20, n * len(groups))), axis=1)
    found = shuffles._spreads(points, groups, n, orders)
    monkeypatch.setattr(shuffles, "_FEW", 0)
    expected = shuffles._spreads(points, groups, n, orders)
    assert found.shape == expected.shape == (9, 20)
    np.testing.assert_allclose(np.sort(found, axis=0), np.sort(expected, axis=0), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("n_arms", [2, 3, 4, 6])
def test_the_largest_eigenvalue_is_that_of_lapack(n_arms: int) -> None:
    points = np.random.default_rng(n_arms).normal(size=(200, n_arms, 3))
    points -= points.mean(axis=1, keepdims=True)
    tables = points @ points.transpose(0, 2, 1)
    np.testing.assert_allclose(shuffles._largest(tables), np.linalg.eigvalsh(tables)[:, -1], rtol=1e-9)
    assert (shuffles._largest(np.zeros((2, n_arms, n_arms))) == 0).all()
