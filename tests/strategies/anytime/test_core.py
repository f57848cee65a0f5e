"""The core: all arms when there are few, a growing random part when there are many."""

from __future__ import annotations

import numpy as np
import pytest

from kabc.strategies.anytime.core import Core


@pytest.mark.parametrize(
    ("n_arms", "n_clusters", "size"),
    [(6, 2, 6), (36, 2, 36), (37, 2, 24), (1000, 4, 24), (1000, 10, 50), (1000, None, 1000)],
)
def test_it_starts_with_24_arms_or_5_for_each_group_or_all_if_that_is_nearly_all(
    n_arms: int, n_clusters: int | None, size: int
) -> None:
    assert Core.first(np.arange(n_arms), n_clusters).size == size


def test_each_stage_doubles_it_and_earlier_arms_keep_their_places() -> None:
    order = np.random.default_rng(0).permutation(200)
    first = Core.first(order, 2)
    second = first.widened()
    third = second.widened()
    assert [first.size, second.size, third.size, third.widened().size] == [24, 48, 96, 200]
    assert np.array_equal(third.arms[:24], first.arms)
    assert first.stage == 1  # widening makes a new core


def test_it_is_spent_after_64_samples_of_an_arm_in_the_first_stage_and_twice_as_many_in_the_next() -> None:
    core = Core.first(np.arange(200), 2)
    counts = np.zeros(200, dtype=np.int64)
    counts[199] = 1000  # not in the core
    assert not core.is_spent(counts)
    counts[3] = 63
    assert not core.is_spent(counts)
    counts[3] = 64
    assert core.is_spent(counts)
    assert not core.widened().is_spent(counts)
    counts[40] = 128
    assert core.widened().is_spent(counts)


def test_a_core_of_all_arms_is_never_spent() -> None:
    assert not Core.first(np.arange(6), 2).is_spent(np.full(6, 10**9))


def test_sampled_arms_of_the_core_are_counted() -> None:
    counts = np.zeros(200, dtype=np.int64)
    counts[[0, 5, 150]] = 3
    assert Core.first(np.arange(200), 2).n_sampled(counts) == 2
