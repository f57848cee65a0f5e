"""Partitions, components, single linkage, and leaders against the full graph."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from sklearn.metrics import adjusted_rand_score

from kabc.core.errors import SettingsError
from kabc.core.partitions import Partition, components, single_linkage

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Index = NDArray[np.intp]

label_lists = st.lists(st.integers(0, 5), min_size=1, max_size=30)
label_pairs = st.integers(1, 30).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(0, 5), min_size=n, max_size=n) for _ in range(2)])
)


# --- Partition


@given(label_lists, st.permutations(range(6)))
def test_renaming_labels_does_not_change_a_partition(labels: list[int], names: list[int]) -> None:
    renamed = Partition.of([names[label] for label in labels])
    assert renamed == Partition.of(labels) == Partition(tuple(labels))
    assert hash(renamed) == hash(Partition.of(labels))


@given(label_lists)
def test_labels_are_numbered_by_first_appearance(labels: list[int]) -> None:
    numbered = Partition.of(labels).labels
    firsts = [numbered.index(label) for label in range(max(numbered) + 1)]
    assert firsts == sorted(firsts)
    assert [a == b for a, b in combinations(numbered, 2)] == [a == b for a, b in combinations(labels, 2)]


def test_labels_may_be_names_or_an_array_and_become_plain_integers() -> None:
    assert Partition.of(["b", "a", "b"]).labels == (0, 1, 0)
    assert Partition.of(np.array([7, 7, 2])).labels == (0, 0, 1)
    assert all(type(label) is int for label in Partition.of(np.array([7, 7, 2])).labels)


def test_groups_list_the_arms_of_each_label_in_order() -> None:
    partition = Partition.of([3, 1, 3, 0])
    assert partition.groups == ((0, 2), (1,), (3,))
    assert (partition.n_arms, partition.n_groups, len(partition)) == (4, 3, 3)


def test_being_certified_is_not_part_of_equality_but_survives_a_pickle() -> None:
    certified = Partition.of([0, 1], certified=True)
    assert certified == Partition.of([0, 1]) and hash(certified) == hash(Partition.of([0, 1]))
    assert pickle.loads(pickle.dumps(certified)).certified
    assert certified.matches(Partition.of([5, 4])) and not certified.matches(Partition.of([1, 1]))


def test_the_repr_shows_groups_of_few_arms_and_sizes_of_many() -> None:
    assert repr(Partition.of([0, 0, 1], certified=True)) == "Partition(0 1 | 2, certified)"
    assert repr(Partition.of([0] * 30 + [1] * 10)) == "Partition(40 arms in 2 groups of 30, 10)"
    assert len(repr(Partition.of(range(10_000)))) < 80


@pytest.mark.parametrize("labels", [[], [[0], [1]], 3])
def test_labels_must_be_a_flat_non_empty_sequence(labels: Any) -> None:
    with pytest.raises(SettingsError):
        Partition.of(labels)


@given(label_pairs)
def test_adjusted_rand_agrees_with_scikit_learn(pair: tuple[list[int], list[int]]) -> None:
    left, right = pair
    assert Partition.of(left).adjusted_rand(Partition.of(right)) == pytest.approx(
        adjusted_rand_score(left, right), abs=1e-12
    )


@pytest.mark.parametrize("labels", [[0], [0, 0, 0], [0, 1, 2], [0, 1, 0]])
def test_adjusted_rand_of_equal_partitions_is_one(labels: list[int]) -> None:
    assert Partition.of(labels).adjusted_rand(Partition.of(labels)) == 1.0


@given(label_pairs)
def test_refining_means_that_arms_together_here_are_together_there(pair: tuple[list[int], list[int]]) -> None:
    fine, coarse = pair
    pairs = combinations(range(len(fine)), 2)
    expected = all(coarse[i] == coarse[j] for i, j in pairs if fine[i] == fine[j])
    assert Partition.of(fine).refines(Partition.of(coarse)) == expected
    assert Partition.of(list(zip(fine, coarse, strict=True))).refines(Partition.of(coarse))


@pytest.mark.parametrize("compare", [Partition.adjusted_rand, Partition.refines])
def test_partitions_of_different_arms_cannot_be_compared(compare: Callable[[Partition, Partition], object]) -> None:
    with pytest.raises(SettingsError, match="2 and 3 arms"):
        compare(Partition.of([0, 1]), Partition.of([0, 1, 2]))


# --- components and single linkage


def test_components_follow_chains_and_read_either_triangle() -> None:
    adjacency = np.zeros((6, 6), dtype=bool)
    adjacency[0, 3] = adjacency[3, 5] = adjacency[4, 1] = True
    assert components(adjacency).groups == ((0, 3, 5), (1, 4), (2,))
    assert components(adjacency.T).groups == ((0, 3, 5), (1, 4), (2,))


@pytest.mark.parametrize("shape", [(0, 0), (2, 3), (4,)])
def test_graphs_must_be_square_and_not_empty(shape: tuple[int, ...]) -> None:
    with pytest.raises(SettingsError):
        components(np.zeros(shape, dtype=bool))
    with pytest.raises(SettingsError):
        single_linkage(np.zeros(shape), 1)


@given(st.integers(2, 25), st.integers(0, 2**32), st.data())
def test_single_linkage_agrees_with_scipy(n: int, seed: int, data: st.DataObject) -> None:
    n_groups = data.draw(st.integers(1, n))
    condensed = np.random.default_rng(seed).permutation(n * (n - 1) // 2) + 1.0
    expected = fcluster(linkage(condensed, "single"), n_groups, "maxclust")
    assert single_linkage(squareform(condensed), n_groups) == Partition.of(expected.tolist())


@given(st.integers(1, 12), st.integers(0, 2**32), st.data())
def test_single_linkage_gives_n_groups_whatever_the_ties(n: int, seed: int, data: st.DataObject) -> None:
    n_groups = data.draw(st.integers(1, n))
    values = np.random.default_rng(seed).choice([0.0, 1.0, np.inf], size=(n, n))
    symmetric = np.maximum(values, values.T)
    partition = single_linkage(symmetric, n_groups)
    assert partition.n_groups == n_groups
    # No pair of two groups may be closer than the longest edge that a group needs: cutting there would be better.
    labels = np.array(partition.labels)
    between = symmetric[labels[:, None] != labels]
    shortest = between.min(initial=np.inf)
    for group in partition.groups:
        inner = symmetric[np.ix_(group, group)]
        assert components(inner <= shortest).n_groups == 1


@pytest.mark.parametrize("n_groups", [0, 4])
def test_single_linkage_needs_between_one_and_n_groups(n_groups: int) -> None:
    with pytest.raises(SettingsError, match=str(n_groups)):
        single_linkage(np.zeros((3, 3)), n_groups)


def test_single_linkage_refuses_nan() -> None:
    with pytest.raises(SettingsError, match="NaN"):
        single_linkage(np.full((2, 2), np.nan), 1)


def test_arms_that_were_set_aside_are_in_no_group() -> None:
    found = Partition.of([7, -1, 3, 7, -1], certified=True)
    assert found.labels == (0, -1, 1, 0, -1)
    assert found == Partition(found.labels)
    assert found.groups == ((0, 3), (2,))
    assert found.n_groups == len(found) == 2
    assert repr(found) == "Partition(0 3 | 2, 2 set aside, certified)"
    assert Partition((-1, -1)).groups == ()


def test_arms_that_one_partition_sets_aside_do_not_count_for_agreement() -> None:
    whole = Partition((0, 0, 1, 1))
    assert Partition((0, 0, -1, 1)).adjusted_rand(whole) == 1
    assert Partition((0, 0, -1, 1)).refines(whole)
    assert not whole.refines(Partition((0, 0, -1, 1)))
    assert Partition((-1, -1)).adjusted_rand(Partition((0, 1))) == 1
