"""The two formulas, against the paper word by word and against vectors whose means can be written down."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kabc.core.arrays import Array
from kabc.core.embeddings import FeatureSums
from kabc.core.embeddings.gram import GramSums
from kabc.core.embeddings.means import Embedding, squared_distances, variances
from kabc.core.errors import SampleError
from kabc.core.kernels import Gaussian, Linear
from tests import literal

COUNTS = (7, 2, 12)
EMBEDDINGS: dict[str, Callable[[int], Embedding]] = {
    "gram": lambda n: GramSums(Linear(100.0), n),
    "features": lambda n: FeatureSums(Linear(100.0), n),
}


def samples(seed: int = 0, d: int = 3) -> list[Array]:
    rng = np.random.default_rng(seed)
    return [rng.normal(i, 1.0, (n, d)) for i, n in enumerate(COUNTS)]


def inner_products(arms: list[Array]) -> tuple[Array, Array]:
    cross = np.array([[(x @ y.T).mean() for y in arms] for x in arms])
    return cross, np.diagonal(cross)


def test_with_unequal_counts_a_squared_distance_is_that_of_the_two_means() -> None:
    arms = samples()
    cross, own = inner_products(arms)
    means = np.array([x.mean(axis=0) for x in arms])
    expected = np.square(means[:, None] - means[None, :]).sum(axis=2)
    assert np.allclose(squared_distances(cross, own, own, np.eye(3, dtype=bool)), expected, atol=1e-12)


def test_a_squared_distance_is_never_negative_and_exactly_zero_from_an_arm_to_itself() -> None:
    own = np.array([1.0, 1.0])
    cross = np.array([[1.0 - 1e-9, 1.0 + 1e-9], [1.0 + 1e-9, 1.0 - 1e-9]])
    assert (squared_distances(cross, own, own, np.eye(2, dtype=bool)) == 0).all()
    assert (squared_distances(cross, own, own, np.zeros((2, 2), dtype=bool)) >= 0).all()


def test_the_variance_is_eq_empvar_for_each_count() -> None:
    g = literal.gaussian(1.5)
    arms = samples()
    own = np.array([Gaussian(1.5)(x, x).sum() for x in arms])
    counts = np.array(COUNTS)
    expected = [literal.variance(g, x.tolist()) for x in arms]
    assert np.allclose(variances(counts.astype(float), own, counts), expected, atol=1e-12)


@given(st.integers(2, 10**6), st.floats(0, 1e-12))
def test_a_variance_is_never_negative(n: int, rounding: float) -> None:
    found = variances(np.array([float(n)]), np.array([n * n * (1 + rounding)]), np.array([n]))
    assert found[0] >= 0


def test_too_few_samples_are_refused_with_the_arm_the_number_and_the_cure() -> None:
    with pytest.raises(SampleError, match=r"arm 1: 1 sample, at least 2 are needed; draw 1 or more"):
        variances(np.ones(3), np.ones(3), np.array([5, 1, 4]))


@pytest.mark.parametrize("make", EMBEDDINGS.values(), ids=EMBEDDINGS)
def test_every_embedding_of_a_linear_kernel_is_the_mean_and_the_trace_of_the_covariance(
    make: Callable[[int], Embedding],
) -> None:
    arms = samples()
    embedding = make(3).extended(arms)
    means = np.array([x.mean(axis=0) for x in arms])
    expected = np.square(means[:, None] - means[None, :]).sum(axis=2)
    assert embedding.counts.tolist() == list(COUNTS)
    assert np.allclose(embedding.squared_distances(), expected, atol=1e-10)
    assert np.allclose(embedding.variances(), [x.var(axis=0, ddof=1).sum() for x in arms], atol=1e-10)


@pytest.mark.parametrize("make", EMBEDDINGS.values(), ids=EMBEDDINGS)
def test_every_embedding_names_the_arm_that_has_too_few_samples(make: Callable[[int], Embedding]) -> None:
    first, second, third = samples()
    embedding = make(3).extended([first, second[:1], third[:0]])
    with pytest.raises(SampleError, match=r"arm 2: 0 samples"):
        embedding.squared_distances()
    with pytest.raises(SampleError, match=r"arm 2: 0 samples"):
        embedding.variances()
    assert embedding.squared_distances(np.array([0]), np.array([1])).shape == (1, 1)
