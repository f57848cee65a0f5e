"""Forced partitions against brute force over all partitions of a few arms, and against hidden true partitions."""

from __future__ import annotations

from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from kabc.core.errors import SettingsError
from kabc.core.partitions import Partition
from kabc.core.partitions.forced import Forced, forced_partition

Mask = NDArray[np.bool_]
Index = NDArray[np.intp]

SEARCHED = 6  # all graphs of so many arms were searched: no larger clique, no only partition was overlooked


@cache
def all_partitions(n_arms: int) -> Index:  # (Bell(n_arms), n_arms)
    if n_arms == 1:
        return np.zeros((1, 1), dtype=np.intp)
    rows = [[*row, label] for row in all_partitions(n_arms - 1).tolist() for label in range(max(row) + 2)]
    return np.array(rows, dtype=np.intp)


def consistent(told_apart: Mask, at_most: int) -> Index:  # (N, N) -> (C, N)
    """All partitions into at most that many groups in which no pair told apart shares a group."""
    partitions = all_partitions(len(told_apart))
    i, j = np.nonzero(told_apart)
    fits = (partitions[:, i] != partitions[:, j]).all(axis=1) & (partitions.max(axis=1) < at_most)
    found: Index = partitions[fits]
    return found


def graph(n_arms: int, pairs: list[tuple[int, int]]) -> Mask:
    told_apart = np.zeros((n_arms, n_arms), dtype=np.bool_)
    for i, j in pairs:
        told_apart[i, j] = told_apart[j, i] = True
    return told_apart


def cross_pairs(labels: Index) -> Mask:  # (N,) -> (N, N)
    crossing: Mask = labels[:, None] != labels
    return crossing


def revealed(labels: Index, share: float, rng: np.random.Generator) -> Mask:  # (N,) -> (N, N)
    """A random share of the pairs of different groups."""
    upper = np.triu(rng.random((labels.size, labels.size)) < share, 1)
    shown: Mask = (upper | upper.T) & cross_pairs(labels)
    return shown


def same(forced: Forced) -> Mask:  # (N, N)
    """Pairs of two arms with equal labels."""
    return ~cross_pairs(forced.labels) & labelled_pairs(forced)


def different(forced: Forced) -> Mask:  # (N, N)
    """Pairs of two arms with different labels."""
    return cross_pairs(forced.labels) & labelled_pairs(forced)


def labelled_pairs(forced: Forced) -> Mask:  # (N, N)
    decided = forced.labels >= 0
    pairs: Mask = np.outer(decided, decided) & ~np.eye(decided.size, dtype=np.bool_)
    return pairs


@st.composite
def any_graphs(draw: st.DrawFn) -> tuple[Mask, int]:
    n_arms = draw(st.integers(1, 7))
    pairs = [pair for pair in combinations(range(n_arms), 2) if draw(st.booleans())]
    return graph(n_arms, pairs), draw(st.integers(1, n_arms))


@st.composite
def true_partitions(draw: st.DrawFn, max_arms: int) -> Index:
    labels = draw(st.lists(st.integers(0, 4), min_size=1, max_size=max_arms))
    return np.array(Partition.of(labels).labels, dtype=np.intp)


@st.composite
def graphs_of_a_partition(draw: st.DrawFn) -> tuple[Mask, int]:
    labels = draw(true_partitions(7))
    pairs = [(i, j) for i, j in combinations(range(labels.size), 2) if labels[i] != labels[j]]
    return graph(labels.size, [pair for pair in pairs if draw(st.booleans())]), int(labels.max()) + 1


small_graphs = st.one_of(any_graphs(), graphs_of_a_partition())
shares = st.sampled_from([0.1, 0.3, 0.5, 0.7, 0.9])
seeds = st.integers(0, 2**32 - 1)


# --- against brute force; "at most K groups" is the harder claim, and covers "exactly K"


@settings(deadline=None)
@given(small_graphs)
def test_a_label_holds_in_every_consistent_partition(case: tuple[Mask, int]) -> None:
    told_apart, n_groups = case
    forced = forced_partition(told_apart, n_groups)
    for truth in consistent(told_apart, n_groups):
        for arm in np.flatnonzero(forced.labels >= 0):
            assert truth[arm] == truth[forced.representatives[forced.labels[arm]]]


@settings(deadline=None)
@given(small_graphs)
def test_complete_means_that_exactly_one_partition_is_consistent(case: tuple[Mask, int]) -> None:
    told_apart, n_groups = case
    forced = forced_partition(told_apart, n_groups)
    partitions = consistent(told_apart, n_groups)
    if len(told_apart) <= SEARCHED:
        assert forced.complete == (len(partitions) == 1)
    if forced.complete:
        assert len(partitions) == 1
        assert forced.partition == Partition.of(partitions[0].tolist())
        assert len(forced.representatives) == forced.n_groups_at_least == n_groups
    else:
        assert forced.partition is None


@settings(deadline=None)
@given(small_graphs)
def test_contradicted_means_that_no_partition_is_consistent(case: tuple[Mask, int]) -> None:
    told_apart, n_groups = case
    forced = forced_partition(told_apart, n_groups)
    if forced.contradicted:
        assert not len(consistent(told_apart, n_groups))
        assert forced.n_groups_at_least > n_groups
        assert not forced.complete


@settings(deadline=None)
@given(small_graphs, st.booleans())
def test_no_consistent_partition_has_fewer_groups_than_the_bound(case: tuple[Mask, int], known: bool) -> None:
    told_apart, n_groups = case
    forced = forced_partition(told_apart, n_groups if known else None)
    fewest = consistent(told_apart, len(told_apart)).max(axis=1).min() + 1
    assert len(forced.representatives) <= forced.n_groups_at_least <= fewest


@settings(deadline=None)
@given(small_graphs)
def test_no_group_is_closed_to_an_arm_that_some_consistent_partition_puts_there(case: tuple[Mask, int]) -> None:
    told_apart, n_groups = case
    for given_groups in (n_groups, None):
        forced = forced_partition(told_apart, given_groups)
        partitions = consistent(told_apart, given_groups or len(told_apart))
        for group, representative in enumerate(forced.representatives):
            shared = (partitions == partitions[:, [representative]]).any(axis=0)
            assert (forced.may_belong[:, group] | ~shared).all()


@settings(deadline=None)
@given(small_graphs, st.booleans())
def test_representatives_are_told_apart_and_labels_number_them(case: tuple[Mask, int], known: bool) -> None:
    told_apart, n_groups = case
    forced = forced_partition(told_apart, n_groups if known else None)
    chosen = list(forced.representatives)
    assert (told_apart[np.ix_(chosen, chosen)] == ~np.eye(len(chosen), dtype=np.bool_)).all()
    assert forced.labels[chosen].tolist() == list(range(len(chosen)))
    assert forced.may_belong.shape == (len(told_apart), len(chosen))
    assert forced.may_belong.any(axis=1).all()  # an arm told apart from all of them would have joined them
    decided = np.flatnonzero(forced.labels >= 0)
    assert (forced.may_belong[decided].sum(axis=1) == 1).all()
    assert forced.may_belong[decided, forced.labels[decided]].all()


@settings(deadline=None)
@given(small_graphs)
def test_few_arms_hide_no_larger_clique(case: tuple[Mask, int]) -> None:
    told_apart = case[0][:SEARCHED, :SEARCHED]
    largest = len(forced_partition(told_apart, None).representatives)
    for arms in combinations(range(len(told_apart)), largest + 1):
        assert np.count_nonzero(told_apart[np.ix_(arms, arms)]) < largest * (largest + 1)


# --- against a true partition


@settings(deadline=None)
@given(true_partitions(40), shares, seeds)
def test_the_true_partition_is_never_contradicted_and_labels_agree_with_it(
    labels: Index, share: float, seed: int
) -> None:
    n_groups = int(labels.max()) + 1
    forced = forced_partition(revealed(labels, share, np.random.default_rng(seed)), n_groups)
    assert not forced.contradicted
    assert not (same(forced) & cross_pairs(labels)).any()
    assert not (different(forced) & ~cross_pairs(labels)).any()
    assert forced.n_groups_at_least <= n_groups


@settings(deadline=None)
@given(true_partitions(40))
def test_all_cross_pairs_force_the_true_partition(labels: Index) -> None:
    forced = forced_partition(cross_pairs(labels), int(labels.max()) + 1)
    assert forced.complete and forced.partition == Partition.of(labels.tolist())
    assert forced_partition(cross_pairs(labels), None).n_groups_at_least == labels.max() + 1


@settings(deadline=None)
@given(true_partitions(40).filter(lambda labels: labels.max() > 0))
def test_too_few_groups_are_refuted_by_all_cross_pairs(labels: Index) -> None:
    forced = forced_partition(cross_pairs(labels), int(labels.max()))
    assert forced.contradicted and forced.n_groups_at_least == labels.max() + 1


@settings(deadline=None)
@given(true_partitions(25), shares, shares, seeds)
def test_more_pairs_told_apart_take_nothing_back(labels: Index, share: float, more: float, seed: int) -> None:
    rng, n_groups = np.random.default_rng(seed), int(labels.max()) + 1
    before = revealed(labels, share, rng)
    after = before | revealed(labels, more, rng)
    first = forced_partition(before, n_groups)
    second = forced_partition(after, n_groups, representatives=first.representatives)
    assert (same(second) | ~same(first)).all()
    assert (different(second) | after | ~different(first)).all()
    assert second.n_groups_at_least >= first.n_groups_at_least
    if len(first.representatives) == n_groups:
        assert (second.labels[first.labels >= 0] >= 0).all()


@settings(deadline=None)
@given(true_partitions(25), shares, seeds)
def test_the_order_of_the_arms_changes_no_answer(labels: Index, share: float, seed: int) -> None:
    rng, n_groups = np.random.default_rng(seed), int(labels.max()) + 1
    told_apart, order = revealed(labels, share, rng), rng.permutation(labels.size)
    here = forced_partition(told_apart, n_groups)
    there = forced_partition(told_apart[np.ix_(order, order)], n_groups)
    assert not (same(here)[np.ix_(order, order)] & different(there)).any()
    assert not (different(here)[np.ix_(order, order)] & same(there)).any()
    if len(here.representatives) == n_groups:  # the same representatives decide all these arms in any order
        renumbered = np.argsort(order)[list(here.representatives)].tolist()
        again = forced_partition(told_apart[np.ix_(order, order)], n_groups, representatives=renumbered)
        assert (again.labels[here.labels[order] >= 0] >= 0).all()


def test_four_hundred_arms_are_sorted_by_part_of_their_pairs() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 10, size=400)
    forced = forced_partition(revealed(labels, 0.7, rng), 10)
    assert forced.partition == Partition.of(labels.tolist())


def test_representatives_are_found_where_one_greedy_search_misses_a_third_of_them() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        labels = rng.permutation(np.arange(60) % 10)
        assert forced_partition(revealed(labels, 0.75, rng), 10).n_groups_at_least == 10


# --- single cases


def test_one_group_is_forced_at_once_and_refuted_by_one_pair() -> None:
    forced = forced_partition(graph(2, []), 1)
    assert forced.complete and forced.partition == Partition.of([0, 0])
    refuted = forced_partition(graph(2, [(0, 1)]), 1)
    assert refuted.contradicted and refuted.n_groups_at_least == 2 and refuted.partition is None


def test_as_many_groups_as_arms_need_every_pair() -> None:
    every = list(combinations(range(4), 2))
    assert forced_partition(graph(4, every), 4).partition == Partition.of(range(4))
    short = forced_partition(graph(4, every[1:]), 4)
    assert not short.complete and short.n_groups_at_least == 3


def test_a_chain_of_pairs_alternates_between_two_groups() -> None:
    forced = forced_partition(graph(300, [(i, i + 1) for i in range(299)]), 2)
    assert forced.partition == Partition.of([i % 2 for i in range(300)])


def test_an_odd_ring_refutes_two_groups_without_three_arms_pairwise_told_apart() -> None:
    ring = graph(5, [(i, (i + 1) % 5) for i in range(5)])
    forced = forced_partition(ring, 2)
    assert forced.contradicted and forced.n_groups_at_least == 3 and len(forced.representatives) == 2
    assert np.count_nonzero(forced.labels >= 0) == 2
    assert not forced_partition(ring, 3).contradicted


def test_an_odd_ring_out_of_reach_of_the_first_representatives_refutes_two_groups_too() -> None:
    star, ring = [(0, 1), (0, 2), (0, 3)], [(4, 5), (5, 6), (6, 7), (7, 8), (8, 4)]
    assert not forced_partition(graph(9, star + ring[1:]), 2).contradicted
    assert forced_partition(graph(9, star + ring), 2).contradicted


def test_other_representatives_are_tried_where_the_first_ones_do_not_reach_every_arm() -> None:
    triangles = [(0, 1), (0, 6), (1, 6), (2, 4), (2, 5), (4, 5)]
    told_apart = graph(7, [*triangles, (0, 3), (3, 6), (3, 4), (4, 6), (1, 2)])
    # From arms 0, 1 and 6: 3 joins 1, then 4 joins 0, 2 joins 6 and 5 joins 1. Arms 2, 4 and 5 lead nowhere.
    forced = forced_partition(told_apart, 3, representatives=(2, 4, 5))
    assert forced.partition == Partition.of([0, 1, 2, 1, 0, 1, 2])


def test_nothing_is_decided_while_a_group_has_no_representative() -> None:
    told_apart = graph(4, [(0, 1), (1, 2), (1, 3)])  # arms 0, 2 and 3 may be one group or two
    for n_groups in (3, None):
        forced = forced_partition(told_apart, n_groups)
        assert sorted(forced.representatives) == [0, 1] and forced.n_groups_at_least == 2
        assert forced.labels.tolist() == [1, 0, -1, -1]
        assert forced.may_belong.tolist() == [[False, True], [True, False], [False, True], [False, True]]
        assert not forced.complete and not forced.contradicted


def test_an_arm_out_of_reach_keeps_its_groups_open() -> None:
    forced = forced_partition(graph(5, [(0, 1), (1, 2), (3, 4)]), 2)
    assert forced.labels.tolist() == [1, 0, 1, -1, -1]
    assert forced.may_belong[3:].all()


def test_earlier_representatives_stay_when_others_would_decide_more_but_not_the_same_arms() -> None:
    told_apart = graph(7, [(0, 1), (2, 3), (3, 4), (4, 5), (5, 6)])
    assert forced_partition(told_apart, 2).labels[:2].tolist() == [-1, -1]
    kept = forced_partition(told_apart, 2, representatives=(0, 1))
    assert kept.representatives == (0, 1) and kept.labels.tolist() == [0, 1, -1, -1, -1, -1, -1]


def test_an_arm_that_is_told_apart_from_one_earlier_representative_only_does_not_join_them() -> None:
    forced = forced_partition(graph(3, [(0, 1), (0, 2)]), None, representatives=(0, 1))
    assert forced.representatives == (0, 1)
    assert forced.n_groups_at_least == 2


def test_earlier_representatives_may_be_an_array_and_too_few() -> None:
    told_apart = graph(4, list(combinations(range(4), 2)))
    forced = forced_partition(told_apart, 4, representatives=np.array([2]))  # type: ignore[arg-type]
    assert forced.complete and forced.representatives[0] == 2


# --- what is refused


@pytest.mark.parametrize("shape", [(0, 0), (2, 3), (4,), (2, 2, 2)])
def test_told_apart_must_be_square_and_not_empty(shape: tuple[int, ...]) -> None:
    with pytest.raises(SettingsError, match="shape"):
        forced_partition(np.zeros(shape, dtype=np.bool_), 1)


@pytest.mark.parametrize("values", [np.zeros((2, 2)), [[False, True], [True, False]]])
def test_told_apart_must_be_an_array_of_bool(values: Any) -> None:
    with pytest.raises(SettingsError, match="bool"):
        forced_partition(values, 1)


def test_told_apart_must_be_symmetric_with_an_empty_diagonal() -> None:
    with pytest.raises(SettingsError, match=r"\(0, 2\)"):
        forced_partition(np.triu(graph(3, [(0, 2)])), 2)
    with pytest.raises(SettingsError, match="arm 1"):
        forced_partition(np.diag([False, True, False]), 2)


@pytest.mark.parametrize("n_groups", [-1, 0, 4])
def test_there_are_between_one_and_n_groups(n_groups: int) -> None:
    with pytest.raises(SettingsError, match=f"got {n_groups}"):
        forced_partition(graph(3, []), n_groups)


@pytest.mark.parametrize("representatives", [(0, 2), (0, 0), (0, 3), (-1,)])
def test_earlier_representatives_must_be_arms_pairwise_told_apart(representatives: tuple[int, ...]) -> None:
    with pytest.raises(SettingsError, match="representatives"):
        forced_partition(graph(3, [(0, 1)]), 2, representatives=representatives)
