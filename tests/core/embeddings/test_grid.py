"""Fourier features on a grid: a Gaussian kernel made periodic, with unit features and a proven lower bound."""

from __future__ import annotations

import numpy as np
import pytest

from kabc.core.embeddings.grid import GridFourier
from kabc.core.errors import SettingsError

SPACINGS = [(0.05,), (0.3,), (0.7,), (1.5,), (3.0,), (0.7, 0.4), (1.0, 0.9, 1.1), (0.2, 0.2, 0.2)]


@pytest.mark.parametrize("spacing", SPACINGS)
@pytest.mark.parametrize("most", [2, 7, 64])
def test_features_have_length_one_and_are_no_more_than_asked_for(spacing: tuple[float, ...], most: int) -> None:
    kernel = GridFourier(spacing, most)
    x = np.random.default_rng(0).normal(size=(50, len(spacing))) * 5
    phi = kernel.features(x)
    assert phi.shape == (50, kernel.n_features)
    assert kernel.n_features <= most
    np.testing.assert_allclose(np.square(phi).sum(axis=1), 1, rtol=1e-12)


@pytest.mark.parametrize("spacing", SPACINGS)
@pytest.mark.parametrize("most", [2, 10, 64])
def test_no_value_is_below_the_infimum(spacing: tuple[float, ...], most: int) -> None:
    kernel = GridFourier(spacing, most)
    periods = 2 * np.pi / np.array(spacing)
    x = np.random.default_rng(1).random((20_000, len(spacing))) * periods
    values = kernel(x, np.zeros((1, len(spacing))))
    assert values.min() >= kernel.infimum - 1e-12
    assert -1 <= kernel.infimum < 0


def test_the_infimum_is_close_to_the_smallest_value() -> None:
    kernel = GridFourier((0.5,))
    x = np.linspace(0, 2 * np.pi / 0.5, 2001)[:, None]
    assert kernel(x, np.zeros((1, 1))).min() == pytest.approx(kernel.infimum, abs=0.01)


@pytest.mark.parametrize("spacing", [(0.25,), (0.6,), (0.7, 0.8)])
def test_it_is_the_gaussian_kernel_without_a_constant(spacing: tuple[float, ...]) -> None:
    kernel = GridFourier(spacing, 400)
    x = np.random.default_rng(2).normal(size=(40, len(spacing)))
    squared = np.square(x[:, None] - x[None]).sum(axis=2)
    constant = kernel.infimum  # what a difference of features does not contain
    np.testing.assert_allclose((kernel(x, x) - constant) / (1 - constant), np.exp(-squared / 2), atol=0.01)


def test_nonsense_is_refused() -> None:
    with pytest.raises(SettingsError, match="spacing must be positive finite numbers"):
        GridFourier((0.5, 0.0))
    with pytest.raises(SettingsError, match="most_features must be a whole number of at least 2"):
        GridFourier((0.5,), 1)
