"""Equal rows are evaluated once."""

from __future__ import annotations

import numpy as np
import pytest

from kabc.core.embeddings.block_sums import block_sums
from kabc.core.kernels import Gaussian, Hamming
from tests.core.embeddings.examples import (
    counting,
    distances,
    double_sums,
    embedded,
    everyone,
    normal,
)


@pytest.mark.parametrize("d", [1, 3])
def test_equal_rows_are_evaluated_once_and_give_the_same_sums(d: int) -> None:
    rng = np.random.default_rng(19)
    arms = [rng.integers(0, 4, (n, d)).astype(float) for n in (150, 90, 200, 1)]
    n_values: list[int] = []
    found = block_sums(counting(n_values), arms, arms, everyone(4))
    assert sum(n_values) <= (4**d) ** 2
    assert np.allclose(found, double_sums(Gaussian(1.0), arms, arms), rtol=1e-12)


def test_equal_strings_are_evaluated_once_whatever_their_lengths() -> None:
    rng = np.random.default_rng(20)
    kernel = Hamming()
    arms = [kernel.coerce(rng.choice(words, (200, 2))) for words in (["a", "b"], ["a", "longer", "b"], ["c", "longer"])]
    assert len({x.dtype for x in arms}) == 2
    assert np.allclose(block_sums(kernel, arms, arms, everyone(3)), double_sums(kernel, arms, arms), rtol=1e-12)
    assert np.allclose(embedded(kernel, arms).squared_distances(), distances(kernel, arms), atol=1e-12)


def test_rows_without_repeats_are_recognised_on_few_of_them() -> None:
    arms = normal(21, (400, 400), 1)
    n_values: list[int] = []
    block_sums(counting(n_values), arms, arms, everyone(2))
    assert sum(n_values) == 800**2
