"""Assignment: labels follow from true differences only, and arms without a label are asked for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from kabc.core.partitions.forced import forced_partition
from kabc.strategies.anytime.assignment import Assignment
from kabc.strategies.anytime.core import Core

Mask = NDArray[np.bool_]


def apart(n_arms: int, n_core: int, pairs: list[tuple[int, int]]) -> Mask:  # (N, C)
    told = np.zeros((n_arms, n_core), dtype=np.bool_)
    for i, j in pairs:
        told[i, j] = True
        if i < n_core:
            told[j, i] = True
    return told


@given(seed=st.integers(0, 10_000), n_groups=st.integers(2, 4))
@settings(max_examples=40, deadline=None)
def test_groups_follow_from_true_differences_only_and_are_never_mixed_up(seed: int, n_groups: int) -> None:
    """Pairs of different groups are told apart in random order: whatever is forced must be true."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(60)
    core, groups = Core.first(order, n_groups).arms, np.empty(60, dtype=np.intp)
    groups[order] = np.arange(60) % n_groups  # the core has arms of all groups
    pairs = rng.permutation(np.argwhere(groups[:, None] != groups[core]))  # (N, C)
    inside = np.isin(pairs[:, 0], core)
    told = np.zeros((60, len(core)), dtype=np.bool_)
    columns: tuple[int, ...] = ()
    for chunk in [*np.array_split(pairs[inside], 30), *np.array_split(pairs[~inside], 30)]:
        told[chunk[:, 0], chunk[:, 1]] = True
        told[core] |= told[core].T
        found = forced_partition(told[core], n_groups)
        columns = columns or (found.representatives if len(found.representatives) == n_groups else ())
        if columns:
            seen = Assignment.of(core, columns, told)
            named, forced = groups[list(seen.representatives)], seen.labels >= 0
            assert np.array_equal(named[seen.labels[forced]], groups[forced])
            assert not seen.contradicted
            assert seen.n_groups_at_least == n_groups
            assert seen.decided == bool(forced.all())
    assert seen.decided


def test_an_arm_is_labelled_when_one_group_is_left() -> None:
    core = np.arange(4)
    told = apart(6, 4, [(0, 1), (2, 0), (3, 1), (4, 0)])
    seen = Assignment.of(core, (0, 1), told)
    assert seen.labels.tolist() == [0, 1, 1, 0, 1, -1]
    assert seen.may_belong[5].tolist() == [True, True]
    assert not seen.decided
    told[5, 1] = True
    assert Assignment.of(core, (0, 1), told).decided


@pytest.mark.parametrize(
    ("pairs", "why"),
    [
        ([(0, 1), (0, 2), (1, 2)], "three arms of the core are pairwise told apart"),
        ([(0, 1), (2, 0), (3, 0), (3, 2)], "two arms that must be in group 1 are told apart"),
        ([(0, 1), (2, 0), (3, 1), (5, 0), (5, 1)], "an arm outside is told apart from all representatives"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_arm_that_fits_no_group_is_a_contradiction(pairs: list[tuple[int, int]], why: str) -> None:
    seen = Assignment.of(np.arange(4), (0, 1), apart(6, 4, pairs))
    assert seen.contradicted, why
    assert not seen.decided
    assert seen.n_groups_at_least == 3


def test_arms_without_a_label_are_asked_for_with_the_representatives_of_their_groups() -> None:
    core = np.arange(5)
    told = apart(8, 5, [(0, 1), (0, 2), (1, 2), (3, 0), (3, 1), (4, 1), (4, 2), (5, 0), (6, 1), (6, 2)])
    told[7] = told[6]
    seen = Assignment.of(core, (0, 1, 2), told)
    assert seen.labels.tolist() == [0, 1, 2, 2, 0, -1, 0, 0]
    assert seen.request(np.zeros(8, dtype=np.int64)) == {1: 1, 2: 1, 5: 1}
    assert seen.request(np.full(8, 50)) == {1: 5, 2: 5, 5: 5}


@pytest.mark.parametrize(("n_undecided", "partners"), [(1, 1), (15, 1), (16, 2), (36, 3), (16_384, 64), (10**6, 64)])
def test_a_representative_that_serves_many_arms_gives_more_samples(n_undecided: int, partners: int) -> None:
    seen = Assignment.of(np.arange(2), (0, 1), apart(3, 2, [(0, 1)]))
    assert seen.partners(n_undecided) == partners
