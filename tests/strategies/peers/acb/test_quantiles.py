"""Quantiles against a closed form and simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kabc.strategies.peers.acb.quantiles import product_quantile


@pytest.mark.parametrize("tail", [0.3, 0.01, 1e-5, 1e-12])
def test_in_two_columns_the_product_of_gaussians_is_laplace(tail: float) -> None:
    assert product_quantile(tail, 2) == pytest.approx(-math.log(2 * tail), rel=1e-8)


@pytest.mark.parametrize("d", [1, 3, 1000])
def test_the_quantile_of_products_is_that_of_simulated_ones(d: int) -> None:
    rng = np.random.default_rng(0)
    radii = np.sqrt(rng.chisquare(d, size=200_000))
    share = float((radii * rng.normal(size=200_000) > product_quantile(0.01, d)).mean())
    assert share == pytest.approx(0.01, abs=4 * math.sqrt(0.01 / 200_000))


def test_no_quantile_is_asked_for_beyond_one_half() -> None:
    assert product_quantile(0.7, 3) == 0.0
