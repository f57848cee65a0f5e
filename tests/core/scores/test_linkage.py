"""Linkage of many spaces at once is scipy's linkage of each of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import pdist, squareform

from kabc.core.scores import linkage as module
from kabc.core.scores.linkage import distances, linked

METHODS: tuple[Literal["average", "ward"], ...] = ("average", "ward")


def by_scipy(points: NDArray[np.float64], n_groups: int, method: Literal["average", "ward"]) -> list[int]:
    return numbered(fcluster(linkage(pdist(points), method), n_groups, "maxclust").tolist())


def groups_of(
    points: Sequence[NDArray[np.float64]], n_groups: int, *methods: Literal["average", "ward"]
) -> NDArray[np.intp]:
    return linked(distances(np.stack([some @ some.T for some in points])), n_groups, *methods)


def numbered(labels: Sequence[int]) -> list[int]:
    """The same groups, numbered as they appear."""
    return [list(dict.fromkeys(labels)).index(label) for label in labels]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n", [3, 4, 7, 12, 25])
def test_groups_are_those_of_scipy(method: Literal["average", "ward"], n: int) -> None:
    rng = np.random.default_rng(n)
    for n_groups in range(2, min(n, 9)):
        points = [rng.normal(size=(n, columns)) for columns in (1, 2, 2, 3, 9)]
        found = groups_of(points, n_groups, method)
        assert [numbered(labels) for labels in found.tolist()] == [by_scipy(some, n_groups, method) for some in points]
        assert all(sorted(set(labels)) == list(range(max(labels) + 1)) for labels in found.tolist())


@pytest.mark.parametrize("method", METHODS)
def test_many_points_have_the_same_groups_as_few(
    method: Literal["average", "ward"], monkeypatch: pytest.MonkeyPatch
) -> None:
    points = list(np.random.default_rng(0).normal(size=(4, 30, 2)))
    few = groups_of(points, 4, method)
    monkeypatch.setattr(module, "FEW", 0)
    many = groups_of(points, 4, method)
    assert [numbered(labels) for labels in many.tolist()] == [numbered(labels) for labels in few.tolist()]


def test_both_methods_at_once_are_one_after_the_other() -> None:
    points = list(np.random.default_rng(1).normal(size=(4, 15, 2)))
    both = groups_of(points, 3, "ward", "average")
    assert np.array_equal(both, np.concatenate([groups_of(points, 3, "ward"), groups_of(points, 3, "average")]))


@pytest.mark.parametrize("method", METHODS)
def test_merges_that_are_equally_far_are_made_together(method: Literal["average", "ward"]) -> None:
    alike = np.ones((5, 2))
    apart = np.array([[0.0], [0.0], [8.0], [8.0], [8.0], [20.0]])
    assert groups_of([alike], 2, method).tolist() == [[0] * 5] == [by_scipy(alike, 2, method)]
    assert len(np.unique(groups_of([apart], 5, method))) == 3 == len(set(by_scipy(apart, 5, method)))


def test_as_many_groups_as_points_leave_every_point_to_itself() -> None:
    assert groups_of([np.zeros((3, 1))] * 2, 3, "average").tolist() == [[0, 1, 2]] * 2


def test_distances_of_equal_points_are_zero_and_those_of_others_are_exact() -> None:
    points = np.random.default_rng(0).normal(size=(9, 40))
    points[5] = points[2]
    skew = np.linalg.inv(np.cov(np.random.default_rng(1).normal(size=(40, 60))))  # products are rounded both ways
    factor = np.linalg.cholesky(skew)
    (found,) = distances((points @ skew @ points.T)[None])
    assert found[5, 2] == found[2, 5] == 0.0
    assert np.allclose(found, squareform(pdist(points @ factor)), rtol=1e-12)
