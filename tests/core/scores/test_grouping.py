"""The likeliest groups: those of plain loops, at least as likely as both linkages, and one arm alone is found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from kabc.core.scores.grouping import likeliest, likeliest_in_all
from kabc.core.scores.linkage import distances, linked
from tests.core.scores import plain_groups

Array = NDArray[np.float64]
Labels = NDArray[np.intp]


def clouds(n: int, n_groups: int, seed: int) -> tuple[list[Array], Array]:
    """Points of several spaces around the centres of their groups, which overlap, and weights."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(n_groups, size=n)
    spaces = [0.6 * rng.normal(size=(n_groups, d))[truth] + 0.4 * rng.normal(size=(n, d)) for d in (1, 2, 3, 8)]
    return spaces, rng.integers(2, 9, n).astype(np.float64)


def products(points: Sequence[Array]) -> Array:
    """Of the points of each space with each other, measured from their mean."""
    near = [some - some.mean(axis=0) for some in points]
    return np.stack([some @ some.T for some in near])


def by_linkage(points: Sequence[Array], n_groups: int, *methods: Literal["ward", "average"]) -> Labels:
    return linked(distances(products(points)), n_groups, *methods)


def same(some: Labels, others: Labels) -> bool:
    return bool(np.array_equal(some[:, None] == some, others[:, None] == others))


@pytest.mark.parametrize(("n", "n_groups"), [(4, 2), (7, 3), (9, 2), (11, 4)])
def test_groups_are_those_of_plain_loops(n: int, n_groups: int) -> None:
    moved = 0
    for seed in range(6):
        points, weights = clouds(n, n_groups, seed)
        found, start = likeliest(products(points), weights, n_groups), by_linkage(points, n_groups, "ward")
        moved += sum(not same(*both) for both in zip(found, start, strict=True))
        for labels, some in zip(found, points, strict=True):
            assert same(labels, np.array(plain_groups.likeliest(some, weights.tolist(), n_groups)))
    assert moved > 2


@pytest.mark.parametrize(("n", "n_groups"), [(20, 3), (45, 4)])  # few and many points
def test_groups_are_at_least_as_likely_as_those_of_both_linkages(n: int, n_groups: int) -> None:
    points, weights = clouds(n, n_groups, 1)
    found, starts = likeliest(products(points), weights, n_groups), by_linkage(points, n_groups, "ward", "average")
    for number, some in enumerate(points):
        value, *others = (
            plain_groups.log_probability(some, weights.tolist(), labels.tolist(), n_groups)
            for labels in (found[number], starts[number], starts[len(points) + number])
        )
        assert value >= max(others) - 1e-8


def test_it_does_not_matter_which_point_products_are_measured_from() -> None:
    points, weights = clouds(12, 3, 3)
    elsewhere = np.stack([(some + 1e3) @ (some + 1e3).T for some in points])
    found = likeliest(elsewhere, weights, 3)
    assert all(same(*both) for both in zip(found, likeliest(products(points), weights, 3), strict=True))


def test_one_arm_alone_among_many_is_found_where_equal_groups_fit_a_little_better() -> None:
    rng = np.random.default_rng(0)
    alone = 0
    for _ in range(20):
        points = rng.normal(size=(24, 6)) / np.sqrt(10.0)
        points[0, 0] += 1.4
        (found,) = likeliest(products([points]), np.full(24, 10.0), 2)
        (by_ward,) = by_linkage([points], 2, "ward")
        alone += int((found == found[0]).sum() == 1) - int((by_ward == by_ward[0]).sum() == 1)
    assert alone >= 8  # more often than by Ward's linkage alone


def test_equal_points_are_never_split_and_nobody_is_left_without_a_group() -> None:
    points = [np.array([[0.0], [0.0], [5.0], [5.0], [5.0], [9.0]]), np.zeros((6, 2))]
    found = likeliest(products(points), np.full(6, 3.0), 5)
    assert same(found[0], np.array([0, 0, 1, 1, 1, 2]))
    assert same(found[1], np.zeros(6, dtype=np.intp))


def test_as_many_groups_as_points_leave_every_point_to_itself() -> None:
    assert likeliest(np.zeros((2, 3, 3)), np.ones(3), 3).tolist() == [[0, 1, 2]] * 2


@pytest.mark.parametrize(("n", "n_groups"), [(5, 2), (7, 3), (6, 5)])
def test_groups_in_all_spaces_and_the_odds_against_them_are_those_of_plain_loops(n: int, n_groups: int) -> None:
    for seed in range(6):
        points, weights = clouds(n, n_groups, seed)
        trust = np.array([0.4, 0.3, 0.2, 0.1])
        starts = likeliest(products(points), weights, n_groups)
        found, odds = likeliest_in_all(products(points), trust, weights, starts, n_groups)
        best, neighbours = plain_groups.log_odds(points, trust.tolist(), weights.tolist(), found.tolist(), n_groups)
        values = [
            plain_groups.averaged(points, trust.tolist(), weights.tolist(), one.tolist(), n_groups) for one in starts
        ]
        assert best >= max([*values, *(best + odd for odd in neighbours[0])]) - 1e-8  # no move gains anything
        assert odds == pytest.approx(sum(np.exp(odd) for some in neighbours for odd in some))


def test_two_arms_alone_that_change_places_are_no_other_groups() -> None:
    points = [np.array([[0.0], [0.1], [9.0], [20.0], [40.0]])]
    found, odds = likeliest_in_all(products(points), np.ones(1), np.full(5, 9.0), np.array([[0, 0, 1, 2, 3]]), 4)
    assert same(found, np.array([0, 0, 1, 2, 3]))
    assert odds < 1e-3


def test_spaces_without_trust_have_no_say() -> None:
    points, weights = clouds(9, 3, 5)
    starts = likeliest(products(points), weights, 3)
    for number in range(len(points)):
        found, _ = likeliest_in_all(products(points), np.eye(len(points))[number], weights, starts, 3)
        ours, own = (
            plain_groups.log_probability(points[number], weights.tolist(), labels.tolist(), 3)
            for labels in (found, starts[number])
        )
        assert ours >= own - 1e-8


def test_rounding_does_not_choose_how_groups_are_numbered() -> None:
    rng, labels = np.random.default_rng(0), np.array([0, 1, 2, 0, 1, 2, 0, 0, 1, 2, 1])
    starts = np.stack([(labels + 1) % 3, labels, 2 - labels])
    for _ in range(100):
        points = [rng.normal(size=(len(labels), 3)) + 9.0 * labels[:, None] for _ in range(4)]
        found, _ = likeliest_in_all(products(points), np.full(4, 0.25), rng.uniform(5, 9, len(labels)), starts, 3)
        assert found.tolist() == labels.tolist()
