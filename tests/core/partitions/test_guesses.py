"""Guesses from the evidence agree with every pair told apart, and use what the evidence says of the others."""

from __future__ import annotations

import tracemalloc
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kabc.core.arrays import Array, Index, Mask
from kabc.core.partitions import guesses
from kabc.core.partitions.forced import forced_partition
from kabc.core.partitions.guesses import agreeing_partition, agrees

Blocks = tuple[Array, Mask, Index]


@st.composite
def blocks(draw: st.DrawFn) -> Blocks:
    """Evidence of all arms with some of them, in any order; pairs without evidence are NaN."""
    n_arms, share = draw(st.integers(1, 14)), draw(st.floats(0, 1))
    n_compared = draw(st.sampled_from([n_arms, max(1, n_arms // 2)]))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    above = np.triu(rng.random((n_arms, n_arms)) < share, 1)
    half = np.triu(rng.exponential(draw(st.sampled_from([0.0, 1.0, 1e6, np.inf])), (n_arms, n_arms)), 1)
    half[rng.random(half.shape) < 0.1] = np.nan
    strength, apart = half + np.triu(half, 1).T, above | above.T
    compared = rng.permutation(n_arms)[:n_compared]
    return strength[:, compared], apart[:, compared], compared


def square(apart: Mask, compared: Index) -> Mask:
    full = np.zeros((len(apart), len(apart)), dtype=np.bool_)
    full[:, compared] = apart
    return full | full.T


@settings(max_examples=300, deadline=None)
@given(blocks(), st.booleans())
def test_no_group_has_a_pair_told_apart_and_there_are_as_many_groups_as_are_certified(seen: Blocks, many: bool) -> None:
    strength, apart, compared = seen
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(guesses, "MOST_LINKED", 0 if many else 2_000)
        found = agreeing_partition(strength, apart, compared)
    assert found.n_arms == len(strength)
    full = square(apart, compared)
    labels = np.array(found.labels)
    assert not (full & (labels[:, None] == labels)).any()
    assert agrees(labels, apart, compared)
    assert found.n_groups >= forced_partition(full, None).n_groups_at_least


@settings(max_examples=100, deadline=None)
@given(blocks())
def test_linkage_ends_when_no_two_groups_could_be_joined(seen: Blocks) -> None:
    strength, apart, compared = seen
    if len(compared) == len(strength):
        full = square(apart, compared)
        for one, other in combinations(agreeing_partition(*seen).groups, 2):
            assert full[np.ix_(one, other)].any()


@settings(max_examples=100, deadline=None)
@given(blocks(), st.integers(1, 5))
def test_a_guess_at_so_many_groups_has_no_fewer(seen: Blocks, n_groups: int) -> None:
    if len(seen[2]) == len(seen[0]) >= n_groups:
        found = agreeing_partition(*seen, n_groups)
        assert found.n_groups >= n_groups
        assert agrees(np.array(found.labels), *seen[1:])
        if not seen[1].any():
            assert found.n_groups == n_groups


def three_groups(size: int) -> tuple[Index, Array, Mask]:
    """Three groups; one pair across each two groups is still open, with more evidence than pairs within."""
    truth = np.repeat(np.arange(3), size)
    told = truth[:, None] != truth
    strength = np.where(told, 1.8, 0.1)
    for i, j in ((0, size), (size, 2 * size), (0, 2 * size)):
        told[i, j] = told[j, i] = False
        strength[i, j] = strength[j, i] = 0.9
    return truth, strength, told


@pytest.mark.parametrize("most_linked", [2_000, 0])
def test_pairs_that_are_open_do_not_chain_groups_together(most_linked: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guesses, "MOST_LINKED", most_linked)
    truth, strength, told = three_groups(3)
    assert agreeing_partition(strength, told, np.arange(9)).labels == tuple(truth.tolist())


def test_arms_compared_with_representatives_only_join_those_that_they_look_like() -> None:
    truth, strength, told = three_groups(4)
    compared = np.array([9, 1, 5])  # one of each group
    apart = np.zeros((12, 3), dtype=np.bool_)
    apart[compared] = told[np.ix_(compared, compared)]  # the others are open: only strengths speak
    found = agreeing_partition(np.minimum(strength[:, compared], 0.9), apart, compared)
    assert found.labels == tuple(truth.tolist())


def test_many_arms_take_no_square_of_memory_beyond_what_they_are_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guesses, "MOST_LINKED", 100)
    truth, strength, told = three_groups(200)
    tracemalloc.start()
    found = agreeing_partition(strength, told, np.arange(600))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found.labels == tuple(truth.tolist())
    assert peak < 600 * 600  # bytes; one matrix of numbers has eight times as many
