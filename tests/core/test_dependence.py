"""Integrated autocorrelation times: what is known of AR(1) is found, and noise is not taken for dependence."""

from __future__ import annotations

import numpy as np
import pytest

from kabc.core.arrays import Array
from kabc.core.dependence import correlations, memory_length


def ar(dependence: float, n: int, rng: np.random.Generator) -> Array:  # (n,)
    out = np.empty(n)
    value = rng.normal()
    for t in range(n):
        out[t] = value
        value = dependence * value + np.sqrt(1 - dependence**2) * rng.normal()
    return out


@pytest.mark.parametrize("dependence", [0.5, 0.8, 0.95])
def test_the_time_of_an_autoregression_is_found(dependence: float) -> None:
    rng = np.random.default_rng(0)
    found = [memory_length(ar(dependence, 4000, rng)[:, None]) for _ in range(20)]
    assert np.median(found) == pytest.approx((1 + dependence) / (1 - dependence), rel=0.25)


def test_independent_rows_have_no_memory() -> None:
    rng = np.random.default_rng(1)
    laws = [rng.normal(size=(500, 3)), rng.standard_cauchy((500, 2)), rng.integers(0, 2, (500, 4)).astype(float)]
    assert [memory_length(rows) for rows in laws] == [1.0, 1.0, 1.0]


def test_dependence_of_the_size_alone_is_seen() -> None:
    rng = np.random.default_rng(2)
    rows = np.exp(ar(0.95, 4000, rng)) * rng.normal(size=4000)  # signs are independent, sizes are not
    assert memory_length(rows[:, None]) > 10


def test_weak_dependence_is_seen_in_few_rows() -> None:
    rng = np.random.default_rng(3)
    assert np.mean([memory_length(ar(0.5, 200, rng)[:, None]) > 1 for _ in range(40)]) > 0.9


def test_the_worst_column_counts_and_constants_do_not() -> None:
    rng = np.random.default_rng(4)
    slow = ar(0.9, 2000, rng)
    assert memory_length(np.stack([np.full(2000, 0.1), rng.normal(size=2000), slow], axis=1)) > 8
    assert memory_length(np.full((100, 1), 0.1)) == 1.0
    assert memory_length(np.zeros((2, 1))) == 1.0


def test_huge_numbers_are_numbers_all_the_same() -> None:
    rows = np.array([[1e308], [-1e308]] * 50)
    assert np.isfinite(memory_length(rows))


def test_correlations_are_those_of_the_definition() -> None:
    x = np.random.default_rng(5).normal(size=30)
    centred = x - x.mean()
    direct = [centred[: 30 - k] @ centred[k:] / (centred @ centred) for k in range(30)]
    assert correlations(x[:, None])[:, 0] == pytest.approx(np.array(direct), abs=1e-12)
