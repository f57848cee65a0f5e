"""Leaders find exactly the components of the full graph, from fewer distances."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from kabc.core.errors import SampleError, SettingsError
from kabc.core.partitions import Partition, components, leaders
from kabc.core.partitions.leaders import Distances, LeaderComponents, leader_components

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Index = NDArray[np.intp]


def euclidean(points: Array) -> Distances:  # (N, D)
    def distances(rows: Index, cols: Index) -> Array:
        squares: Array = ((points[rows][:, None] - points[cols]) ** 2).sum(axis=2)
        return np.sqrt(squares)

    return distances


def full_matrices(points: Array, radii: Array) -> tuple[Array, Mask]:  # (N, D), (M, N) -> (N, N), (N, N)
    arms = np.arange(len(points))
    distances = np.asarray(euclidean(points)(arms, arms), dtype=np.float64)
    bounds: Array = (radii[:, :, None] + radii[:, None]).min(axis=0)
    return distances, distances <= bounds


def assert_same_as_full_graph(points: Array, radii: Array, slack: float = 1e-9) -> LeaderComponents:
    found = leader_components(euclidean(points), radii, slack)
    distances, edges = full_matrices(points, radii)
    assert found.partition == components(edges)
    assert (found.compared == np.arange(len(points))).all()
    assert not (found.told_apart & edges).any()
    labels = np.array(found.partition.labels)
    assert found.told_apart[labels[:, None] != labels].all()
    assert (found.told_apart == found.told_apart.T).all()
    known = ~np.isnan(found.distances)
    assert (found.distances[known] == distances[known]).all()
    assert (found.told_apart[known] == ~edges[known]).all()
    bare = leader_components(euclidean(points), radii, slack, pairs=False)
    assert bare.partition == found.partition and bare.n_distances == found.n_distances
    assert_columns_of_leaders(bare, distances, edges)
    return found


def assert_columns_of_leaders(bare: LeaderComponents, distances: Array, edges: Mask) -> None:
    leaders, labels = bare.compared, np.array(bare.partition.labels)
    assert len(set(leaders.tolist())) == len(leaders) > 0
    assert bare.distances.shape == bare.told_apart.shape == (len(labels), len(leaders))
    known = ~np.isnan(bare.distances)
    assert known[leaders, np.arange(len(leaders))].all()
    assert (bare.distances[known] == distances[:, leaders][known]).all()
    assert (bare.told_apart[known] == ~edges[:, leaders][known]).all()
    assert (bare.told_apart[~known] == (labels[:, None] != labels[leaders])[~known]).all()
    for block in (bare.distances, bare.told_apart):
        assert np.array_equal(block[leaders], block[leaders].T, equal_nan=block.dtype == np.float64)


def clear_groups(n: int, k: int, seed: int = 0, dim: int = 5) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    points = 10.0 * np.arange(k)[rng.permutation(np.arange(n) % k)][:, None] + 0.1 * rng.standard_normal((n, dim))
    return points, np.full((1, n), 1.0)


@st.composite
def instances(draw: st.DrawFn) -> tuple[Array, Array]:
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, dim = draw(st.integers(1, 60)), draw(st.integers(2, 5))
    kind = draw(st.sampled_from(["cloud", "groups", "chain", "duplicates", "lattice"]))
    points = rng.standard_normal((n, dim))
    if kind == "groups":
        k = draw(st.integers(1, 8))
        points = 0.1 * points + 2 * rng.standard_normal((k, dim))[rng.integers(0, k, n)]
    elif kind == "chain":
        points = np.arange(n)[rng.permutation(n)][:, None] * np.full(dim, 0.3) + 0.02 * points
    elif kind == "duplicates":
        points = points[rng.integers(0, n, n)]
    elif kind == "lattice":  # integer distances meet integer thresholds exactly
        points = np.round(2 * points)
    scale = draw(st.sampled_from([0.0, 0.05, 0.3, 1.0]))
    radii = scale * np.exp(draw(st.sampled_from([0.0, 0.5, 2.0])) * rng.standard_normal((draw(st.integers(1, 3)), n)))
    if kind == "lattice":
        radii = np.round(2 * radii) / 2
    return points, np.where(rng.random(radii.shape) < draw(st.sampled_from([0.0, 0.1])), np.inf, radii)


@given(instances())
@settings(max_examples=300, deadline=None)
def test_leaders_find_the_components_of_the_full_graph(instance: tuple[Array, Array]) -> None:
    assert_same_as_full_graph(*instance)


@given(instances(), st.sampled_from([1, 3, 8]), st.sampled_from([2, 7]), st.sampled_from([1, 4]))
@settings(max_examples=200, deadline=None)
@example(clear_groups(40, 40), 3, 7, 1)
def test_the_answer_does_not_depend_on_when_leaders_give_way_to_tiles(
    instance: tuple[Array, Array], most: int, tile: int, look: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(leaders, "_MIN_LEADERS", most)
        patch.setattr(leaders, "_LEADER_SHARE", 0.0)
        patch.setattr(leaders, "_TILE", tile)
        patch.setattr(leaders, "_FIRST_LOOK", look)
        assert_same_as_full_graph(*instance)


@given(instances(), st.randoms(use_true_random=False))
@settings(max_examples=50, deadline=None)
def test_reordering_the_arms_reorders_the_partition(instance: tuple[Array, Array], random: Any) -> None:
    points, radii = instance
    order = list(range(len(points)))
    random.shuffle(order)
    labels = leader_components(euclidean(points), radii, pairs=False).partition.labels
    moved = leader_components(euclidean(points[order]), radii[:, order], pairs=False).partition
    assert moved == Partition.of([labels[arm] for arm in order])


@pytest.mark.parametrize("k", [1, 4])
def test_clear_groups_need_few_distances(k: int) -> None:
    found = assert_same_as_full_graph(*clear_groups(200, k))
    assert found.partition.n_groups == k
    assert found.n_distances <= 0.05 * (200 * 199 / 2)


def test_groups_near_the_threshold_still_need_fewer_distances_than_all_pairs() -> None:
    points, radii = clear_groups(600, 4)
    groups = leader_components(euclidean(points), radii).partition
    labels = np.array(groups.labels)
    nearest = full_matrices(points, radii)[0][labels[:, None] != labels].min()
    found = assert_same_as_full_graph(points, np.full((1, 600), 0.499 * nearest))
    assert found.partition == groups
    # Some star pairs stay open (a separated case takes 1.3 %), and stars of 150 arms take several looks.
    assert 0.03 < found.n_distances / (600 * 599 / 2) < 0.6


def test_a_bound_that_is_not_known_costs_no_distances() -> None:
    points, radii = clear_groups(200, 4)
    alone = leader_components(euclidean(points), radii)
    beside = leader_components(euclidean(points), np.concatenate([radii, np.full_like(radii, np.inf)]))
    assert beside.partition == alone.partition
    assert beside.n_distances == alone.n_distances


@pytest.mark.parametrize("k", [150, 300])
def test_many_groups_are_compared_in_tiles_and_come_out_the_same(k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    tiled: list[int] = []
    tiles = leaders._Search._tiles

    def counted(search: leaders._Search, free: Index) -> None:
        tiled.append(free.size)
        tiles(search, free)

    monkeypatch.setattr(leaders._Search, "_tiles", counted)
    found = assert_same_as_full_graph(*clear_groups(300, k))
    assert found.partition.n_groups == k
    assert min(tiled) > 200
    assert found.n_distances <= 1.2 * (300 * 299 / 2)


def test_few_groups_are_never_compared_in_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    tiled: list[int] = []
    monkeypatch.setattr(leaders._Search, "_tiles", lambda self, free: tiled.append(free.size))
    leader_components(euclidean(clear_groups(200, 4)[0]), clear_groups(200, 4)[1])
    assert tiled == [0]


@pytest.mark.parametrize("tile", [100, 2_000])
@pytest.mark.parametrize("k", [3, 3_000])
def test_blocks_stay_below_the_square_of_a_tile(k: int, tile: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leaders, "_TILE", tile)
    points, radii = clear_groups(3_000, k, dim=1)
    sizes: list[int] = []

    def distances(rows: Index, cols: Index) -> Array:
        sizes.append(rows.size * cols.size)
        gaps: Array = np.abs(points[rows] - points[cols, 0])
        return gaps

    assert leader_components(distances, radii, pairs=False).partition.n_groups == k
    assert max(sizes) <= tile**2


def test_a_long_chain_is_one_group_and_a_missing_link_makes_two() -> None:
    points = np.arange(100.0)[:, None]
    assert assert_same_as_full_graph(points, np.full((1, 100), 0.5)).partition.n_groups == 1
    without = np.delete(points, 50, axis=0)
    assert assert_same_as_full_graph(without, np.full((1, 99), 0.5)).partition.groups[1][0] == 50


def test_a_distance_equal_to_the_threshold_is_an_edge() -> None:
    points = np.array([[0.0], [1.0]])
    assert assert_same_as_full_graph(points, np.array([[0.25, 0.75]])).partition.n_groups == 1
    assert assert_same_as_full_graph(points, np.array([[0.25, 0.75 - 1e-12]])).partition.n_groups == 2


def test_the_smallest_of_several_thresholds_counts() -> None:
    points = np.array([[0.0], [1.0]])
    assert assert_same_as_full_graph(points, np.array([[0.9, 0.9], [0.1, 0.8]])).partition.n_groups == 2


def test_zero_radii_join_equal_arms_only_and_infinite_radii_join_all() -> None:
    points = np.array([[0.0], [1.0], [0.0], [1.0], [2.0]])
    assert assert_same_as_full_graph(points, np.zeros((2, 5))).partition.labels == (0, 1, 0, 1, 2)
    assert assert_same_as_full_graph(points, np.full((2, 5), np.inf)).partition.n_groups == 1


def test_slack_covers_the_rounding_of_distances_near_zero() -> None:
    # Arms 1 and 2 are at their threshold, although rounding breaks the triangle inequality around arm 0.
    noise = 3e-4
    matrix = np.array([[0.0, 1.0, 1.5 + noise, 9], [1.0, 0.0, 0.5, 9], [1.5 + noise, 0.5, 0.0, 9], [9, 9, 9, 0.0]])
    radii = np.array([[0.75, 0.25, 0.25, 0.25]])
    partition = [
        leader_components(lambda r, c: matrix[np.ix_(r, c)], radii, slack).partition.n_groups for slack in (0.0, 1e-3)
    ]
    assert partition == [3, 2]


def test_pairs_that_round_differently_in_each_order_are_decided_once() -> None:
    rng = np.random.default_rng(0)
    points, radii = clear_groups(120, 60)
    exact, wobble = euclidean(points), 0.01 * rng.random((120, 120))
    found = leader_components(lambda r, c: exact(r, c) + wobble[np.ix_(r, c)], radii * 0.15, 0.1)
    labels = np.array(found.partition.labels)
    assert (found.told_apart == found.told_apart.T).all()
    assert np.array_equal(found.distances, found.distances.T, equal_nan=True)
    assert found.told_apart[labels[:, None] != labels].all()
    assert (found.distances.diagonal() == 0).all() and not found.told_apart.diagonal().any()


@pytest.mark.parametrize(
    ("radii", "slack"),
    [
        (np.zeros(3), 0.0),
        (np.zeros((0, 3)), 0.0),
        (np.zeros((1, 0)), 0.0),
        (np.array([[1.0, -1.0]]), 0.0),
        (np.array([[1.0, np.nan]]), 0.0),
        (np.ones((1, 2)), -1.0),
        (np.ones((1, 2)), np.inf),
        (np.ones((1, 2)), np.nan),
    ],
)
def test_bad_radii_and_slack_are_refused(radii: Array, slack: float) -> None:
    with pytest.raises(SettingsError):
        leader_components(euclidean(np.zeros((radii.shape[-1], 2))), radii, slack)


def test_distances_of_the_wrong_shape_or_not_finite_are_refused() -> None:
    with pytest.raises(SettingsError, match="shape"):
        leader_components(lambda rows, cols: np.zeros((cols.size, rows.size)), np.ones((1, 3)))
    with pytest.raises(SampleError, match="finite"):
        leader_components(lambda rows, cols: np.full((rows.size, cols.size), np.nan), np.ones((1, 3)))


def test_the_distances_of_the_caller_are_left_alone() -> None:
    matrix = np.full((4, 4), 0.5)
    leader_components(lambda rows, cols: matrix[rows[0] : rows[-1] + 1, cols[0] : cols[-1] + 1], np.zeros((1, 4)))
    assert (matrix == 0.5).all()
