"""Exact mean embeddings: distances and variances of the paper, however samples come in."""

from __future__ import annotations

import math
import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kabc.core.embeddings.block_sums import Engine
from kabc.core.embeddings.gram import GramSums
from kabc.core.errors import SampleError
from kabc.core.kernels import Gaussian
from tests import literal
from tests.core.embeddings.examples import (
    ENGINES,
    MEMORY,
    SIZES,
    counting,
    distances,
    embedded,
    looped,
    normal,
)


@pytest.mark.parametrize("engine", ENGINES)
def test_distances_and_variances_are_eq_empdist_and_eq_empvar(engine: Engine) -> None:
    arms = normal(7, (20, 20, 20), 2)
    g = literal.gaussian(1.3)
    embedding = embedded(Gaussian(1.3), arms, engine)
    points = [x.tolist() for x in arms]
    squared = [[literal.squared_distance(g, x, y) for y in points] for x in points]
    assert np.allclose(embedding.squared_distances(), squared, atol=1e-6)
    assert np.allclose(embedding.variances(), [literal.variance(g, x) for x in points], atol=1e-6)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("n", [2, 3, 300])
def test_constant_arms_have_no_variance_and_the_distance_of_two_points(n: int, engine: Engine) -> None:
    arms = [np.full((n, 2), value) for value in (0.1, 0.1, 0.7, 1e9)]
    for kernel in looped(2):
        embedding = embedded(kernel, arms, engine)
        values = kernel(*(np.array([x[0] for x in arms]),) * 2)
        assert (embedding.variances() == 0).all()
        assert np.abs(embedding.squared_distances() - (2 - 2 * values)).max() < 1e-6
        assert embedding.squared_distances()[0, 1] == 0


# ---------------------------------------------------------------- samples that come in parts


@settings(deadline=None, max_examples=30)
@given(st.lists(st.lists(st.integers(0, 12), min_size=4, max_size=4), max_size=4), st.lists(st.booleans(), min_size=4))
def test_samples_in_parts_give_what_samples_at_once_give(cuts: list[list[int]], looks: list[bool]) -> None:
    arms = normal(8, (12, 12, 12, 12), 2)
    edges = np.vstack([np.zeros(4, dtype=int), np.sort(np.array(cuts, dtype=int).reshape(-1, 4), axis=0), [12] * 4])
    embedding = GramSums(Gaussian(1.0), 4)
    for k, (start, stop) in enumerate(pairwise(edges)):
        embedding = embedding.extended([x[a:b] for x, a, b in zip(arms, start, stop, strict=True)])
        if looks[k % len(looks)] and (stop > 0).all():  # what is asked for in between must not matter
            embedding.squared_distances(np.array([k % 4]), np.array([0, 2]))
    assert embedding.counts.tolist() == [12] * 4
    whole = embedded(Gaussian(1.0), arms)
    assert np.allclose(embedding.squared_distances(), whole.squared_distances(), atol=1e-7)
    assert np.allclose(embedding.variances(), whole.variances(), atol=1e-7)


def test_only_requested_pairs_and_new_samples_are_computed() -> None:
    n_values: list[int] = []
    embedding = embedded(counting(n_values), normal(9, (10, 20, 30, 40), 1))
    n_values.clear()  # of the diagonal
    embedding.squared_distances(np.array([1]), np.array([3]))
    assert sum(n_values) == 20 * 20 + 20 * 40 + 40 * 40
    embedding.squared_distances(np.array([3]), np.array([1]))
    embedding.squared_distances(np.array([1, 3]), np.array([1]))
    assert sum(n_values) == 20 * 20 + 20 * 40 + 40 * 40
    longer = embedding.extended(normal(10, (10, 5, 0, 0), 1))
    n_values.clear()
    longer.squared_distances(np.array([1]), np.array([3]))
    assert sum(n_values) == 5 * 25 + 20 * 5 + 5 * 40


def test_what_is_asked_for_in_parts_is_part_of_the_whole() -> None:
    arms = normal(11, SIZES, 2)
    whole = embedded(Gaussian(1.0), arms).squared_distances()
    embedding = embedded(Gaussian(1.0), arms)
    for rows, cols in (([4], [0, 1, 2]), ([2, 0], [2, 3]), ([0, 1, 2, 3, 4], [4]), ([3], [])):
        i, j = np.array(rows, dtype=np.intp), np.array(cols, dtype=np.intp)
        assert np.allclose(embedding.squared_distances(i, j), whole[np.ix_(i, j)], atol=1e-12)
    assert np.allclose(embedding.squared_distances(), whole, atol=1e-12)


def test_arms_in_another_order_have_the_same_distances_in_that_order() -> None:
    arms = normal(12, SIZES, 3)
    order = np.array([3, 0, 4, 2, 1])
    for engine in ENGINES:
        squared = embedded(Gaussian(1.5), arms, engine).squared_distances()
        found = embedded(Gaussian(1.5), [arms[arm] for arm in order], engine).squared_distances()
        assert np.allclose(found, squared[np.ix_(order, order)], atol=1e-6)
        assert (squared == squared.T).all()


def test_an_embedding_is_unchanged_when_it_is_extended() -> None:
    arms, more, other = normal(13, (9, 8, 7), 2), normal(14, (4, 0, 6), 2), normal(15, (1, 2, 3), 2)
    old = embedded(Gaussian(1.0), arms)
    asked_before = old.squared_distances(np.array([0]), np.array([1]))
    first, second = old.extended(more), old.extended(other)
    for embedding, new in ((first, more), (second, other)):
        expected = distances(Gaussian(1.0), [np.concatenate(parts) for parts in zip(arms, new, strict=True)])
        assert np.allclose(embedding.squared_distances(), expected, atol=1e-6)
    assert old.counts.tolist() == [9, 8, 7]
    assert (old.squared_distances(np.array([0]), np.array([1])) == asked_before).all()
    assert np.allclose(old.squared_distances(), distances(Gaussian(1.0), arms), atol=1e-6)


def test_samples_told_may_be_overwritten_afterwards() -> None:
    arms = normal(16, (5, 5), 1)
    embedding = embedded(Gaussian(1.0), arms)
    expected = distances(Gaussian(1.0), arms)
    for x in arms:
        x[:] = 0
    assert np.allclose(embedding.squared_distances(), expected, atol=1e-6)


def test_wrong_samples_are_refused() -> None:
    embedding = embedded(Gaussian(1.0), normal(17, (5, 5), 2))
    with pytest.raises(SampleError, match="one array for each of 2 arms, got 3"):
        embedding.extended(normal(18, (1, 1, 1), 2))
    with pytest.raises(SampleError, match="samples have 2 and 3 columns"):
        embedding.extended(normal(18, (1, 1), 3))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("sizes", "d"), [((6000, 5000), 1), ((1100, 30), 4000), ((5,) * 700, 1)])
def test_memory_is_bounded_whatever_the_shape(engine: Engine, sizes: tuple[int, ...], d: int) -> None:
    # a matrix of all kernel values would take 1 GB; an arm of 35 MB is more than a panel; 700 arms are 490,000 pairs
    sizes = (200, 30) if (engine, d) == ("numpy", 4000) else sizes  # slow there, and there are no panels
    arms = normal(22, sizes, d)
    embedded(Gaussian(1.0), [x[:3] for x in arms[:2]], engine).squared_distances()  # imports are not counted
    embedding = embedded(Gaussian(math.sqrt(d)), arms, engine)
    tracemalloc.start()
    try:
        embedding.squared_distances()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < MEMORY
