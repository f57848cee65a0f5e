"""What the pictures show, apart from how it is drawn: exact on small cases."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import kabc
from kabc.core.evidence.pairs import Evidence
from kabc.report import report_html
from kabc.report.apart_graph import Edge, apart_graph
from kabc.report.arm_map import arm_map, classical_scaling, energy_points
from kabc.report.counts import sample_counts
from kabc.report.nodes import nodes_of, plain, shorten
from kabc.report.trace import evidence_trace
from kabc.report.values import group_values
from kabc.results.values import Result, Trace
from tests.report.examples import full_result, result_of


def energy_distances(rows: list[NDArray[Any]]) -> NDArray[np.float64]:
    """Squared distances of the points."""
    points = energy_points(rows)
    return np.asarray(((points[:, None] - points) ** 2).sum(axis=2))


LABELS = st.lists(st.integers(0, 4), min_size=2, max_size=12)


def without_distances(result: Result) -> Result:
    n = len(result.names)
    told = result.evidence.told_in_round
    bets = Evidence.of_bets(told, result.evidence.counts, np.ones((n, n)), np.full((n, n), 2.0))
    return dataclasses.replace(result, evidence=bets)


def told_apart(result: Result, pairs: set[tuple[int, int]]) -> Result:
    told = np.zeros((len(result.names), len(result.names)), dtype=np.int64)
    for i, j in pairs:
        told[i, j] = told[j, i] = 1
    return dataclasses.replace(result, evidence=dataclasses.replace(result.evidence, told=told))


# ------------------------------------------------------------ nodes


@given(LABELS, st.integers(1, 12))
def test_every_arm_is_behind_one_node_or_in_a_group_left_out(labels: list[int], most: int) -> None:
    result = result_of(labels)
    nodes = nodes_of(result, most)
    behind = np.concatenate(nodes.members).tolist()
    assert len(nodes.names) <= max(most, 1)
    assert len(set(behind)) == len(behind)
    assert len(set(nodes.groups)) + nodes.left_out == len(result.groups)
    assert all(
        result.labels[arm] == group for group, arms in zip(nodes.groups, nodes.members, strict=True) for arm in arms
    )


def test_names_are_one_line_that_can_be_written() -> None:
    assert plain("a\n b\t c") == r"a\n b\t c"
    assert plain("\ud800\x00x") == r"\ud800\x00x"
    assert plain("Zürich 東京 👩‍💻") == "Zürich 東京 👩‍💻"


def test_short_names_stay_different_where_their_ends_or_beginnings_differ() -> None:
    assert shorten(["abcdef", "xyz"], 4) == ["abc…", "xyz"]
    assert shorten(["server-01", "server-02"], 6) == ["ser…01", "ser…02"]
    assert shorten(["a", "b"], 4) == ["a", "b"]


# ------------------------------------------------------------ graph


def test_lines_join_pairs_not_told_apart_and_conflicts_within_a_guessed_group() -> None:
    result = told_apart(result_of([0, 0, 1, 1], "budget"), {(0, 1), (0, 2), (1, 2), (1, 3)})
    graph = apart_graph(result)
    assert graph.edges == (Edge(0, 1, "conflict"), Edge(0, 3, "open"), Edge(2, 3, "together"))
    assert (graph.pairs("open"), graph.pairs("conflict"), graph.certified) == (1, 1, False)


def test_groups_are_joined_when_no_pair_of_their_arms_is_told_apart() -> None:
    result = told_apart(result_of([0, 0, 1, 2]), {(0, 2)})
    assert apart_graph(result, most=3).edges == (Edge(0, 2, "open"), Edge(1, 2, "open"))


@given(LABELS)
def test_no_two_arms_share_a_place_and_arms_of_a_group_are_nearest(labels: list[int]) -> None:
    graph = apart_graph(result_of(labels))
    gaps = np.linalg.norm(graph.places[:, None] - graph.places, axis=2)
    np.fill_diagonal(gaps, np.inf)
    assert gaps.min() > 0.99
    groups = np.array(graph.nodes.groups)
    for node in range(len(groups)):
        if (groups == groups[node]).sum() > 1:
            assert groups[gaps[node].argmin()] == groups[node]


# ------------------------------------------------------------ map


@given(st.integers(0, 1000), st.integers(2, 8))
def test_points_of_a_plane_are_found_again_from_their_distances(seed: int, n: int) -> None:
    points = np.random.default_rng(seed).normal(size=(n, 2))
    squared = ((points[:, None] - points) ** 2).sum(axis=2)
    found, shown = classical_scaling(squared)
    np.testing.assert_allclose(((found[:, None] - found) ** 2).sum(axis=2), squared, atol=1e-9)
    assert shown == pytest.approx(1.0)


@pytest.mark.parametrize("n", [3, 12, 60])
def test_the_plane_shows_as_much_as_any_plane_can(n: int) -> None:
    points = np.random.default_rng(n).normal(size=(n, 5)) * [8, 4, 2, 1, 1]
    squared = ((points[:, None] - points) ** 2).sum(axis=2)
    spread = np.linalg.svd(points - points.mean(axis=0), compute_uv=False) ** 2
    assert classical_scaling(squared)[1] == pytest.approx(spread[:2].sum() / spread.sum())


def test_equal_arms_all_lie_on_one_point() -> None:
    found, shown = classical_scaling(np.zeros((3, 3)))
    np.testing.assert_array_equal(found, np.zeros((3, 2)))
    assert shown == 1.0


@given(st.lists(st.lists(st.integers(-5, 5), min_size=1, max_size=6), min_size=2, max_size=4))
def test_energy_distances_are_those_of_the_double_sums_over_ranks(values: list[list[int]]) -> None:
    pooled = sorted(value for arm in values for value in arm)
    last = max(len(pooled) - 1, 1)

    def rank(value: int) -> float:
        return (pooled.index(value) + (pooled.count(value) - 1) / 2) / last

    def mean_gap(x: list[int], y: list[int]) -> float:
        return float(np.mean([[abs(rank(a) - rank(b)) for b in y] for a in x]))

    found = energy_distances([np.array(arm, dtype=float)[:, None] for arm in values])
    expected = [[2 * mean_gap(x, y) - mean_gap(x, x) - mean_gap(y, y) for y in values] for x in values]
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_the_map_uses_the_distances_of_the_strategy_where_all_are_known() -> None:
    result = full_result([0, 0, 1, 1])
    assert arm_map(result).measure == "distance of the mean embeddings"
    assert arm_map(without_distances(result)).measure.startswith("energy distance")


def test_arms_of_one_group_lie_near_each_other_whatever_the_units() -> None:
    result = without_distances(full_result([0, 5, 0, 5, 0, 5]))
    places = arm_map(result).places
    gaps = np.linalg.norm(places[:, None] - places, axis=2)
    assert gaps[::2, ::2].max() < gaps[::2, 1::2].min()
    huge = {name: rows * 1e300 for name, rows in result.samples.items()}
    np.testing.assert_allclose(arm_map(dataclasses.replace(result, samples=huge)).places, places)


def test_columns_that_differ_only_together_are_seen() -> None:
    rng = np.random.default_rng(0)

    def rows(sign: float) -> NDArray[np.float64]:
        x = rng.normal(size=500)
        return np.column_stack([x, sign * x + 0.1 * rng.normal(size=500)])

    squared = energy_distances([rows(1), rows(1), rows(-1)])
    assert squared[0, 1] < squared[0, 2] / 20


def test_texts_have_distances_too() -> None:
    rows = [np.array([["red"], ["red"]]), np.array([["red"], ["red"]]), np.array([["blue"], ["blue"]])]
    squared = energy_distances(rows)
    assert squared[0, 1] == 0 < squared[0, 2]


def test_without_samples_or_distances_there_is_no_map_and_the_error_says_so() -> None:
    with pytest.raises(kabc.SettingsError, match="no samples were kept"):
        arm_map(without_distances(result_of([0, 1])))


# ------------------------------------------------------------ trace


def test_the_trace_holds_every_pair_of_few_arms() -> None:
    result = full_result([0, 1, 0])
    assert result.trace is not None
    trace = evidence_trace(result)
    assert trace.left_out == 0
    assert trace.n_samples.tolist() == result.trace.n_samples.tolist()
    found = {(line.first, line.second): line for line in trace.lines}
    assert set(found) == {("arm 0", "arm 1"), ("arm 0", "arm 2"), ("arm 1", "arm 2")}
    for (i, j), together in {(0, 1): False, (0, 2): True, (1, 2): False}.items():
        line = found[f"arm {i}", f"arm {j}"]
        assert line.together is together
        np.testing.assert_array_equal(line.strength, result.trace.strength[:, i, j])


def test_of_many_pairs_the_weakest_and_the_strongest_are_kept() -> None:
    result = full_result([arm % 2 for arm in range(30)])
    trace = evidence_trace(result)
    assert len(trace.lines) == 80
    assert trace.left_out == 30 * 29 // 2 - 80
    labels = np.array(result.labels)
    across = result.evidence.strength[labels[:, None] != labels]
    shown = [line.strength[-1] for line in trace.lines if not line.together]
    assert (min(shown), max(shown)) == (across.min(), across.max())


def test_long_traces_keep_their_first_and_last_round() -> None:
    n_samples = np.arange(1, 1001)
    trace = Trace(n_samples, np.ones((1000, 2, 2)))
    found = evidence_trace(dataclasses.replace(full_result([0, 1]), trace=trace)).n_samples
    assert len(found) == 120
    assert (found[0], found[-1]) == (1, 1000)


def test_without_a_trace_the_error_says_when_there_is_one() -> None:
    with pytest.raises(kabc.SettingsError, match=r"these 41 arms have no trace .* at most 40 arms"):
        evidence_trace(full_result([0] * 41))


# ------------------------------------------------------------ counts


def test_counts_are_those_of_each_arm_in_the_order_of_groups() -> None:
    result = dataclasses.replace(result_of([0, 1, 0]), samples_per_arm={"arm 0": 5, "arm 1": 7, "arm 2": 9})
    counts = sample_counts(result)
    assert counts.nodes.names == ("arm 0", "arm 2", "arm 1")
    assert counts.median.tolist() == counts.least.tolist() == counts.most.tolist() == [5, 9, 7]


def test_counts_of_many_arms_are_summed_up_by_group() -> None:
    result = dataclasses.replace(
        result_of([0, 1, 0, 0]), samples_per_arm={"arm 0": 5, "arm 1": 7, "arm 2": 9, "arm 3": 6}
    )
    counts = sample_counts(result, most=3)
    assert (counts.least.tolist(), counts.median.tolist(), counts.most.tolist()) == ([5, 7], [6, 7], [9, 7])


# ------------------------------------------------------------ values


def values_of(*groups: Sequence[object], columns: tuple[str, ...] = ("x",)) -> Result:
    """One arm for each group."""
    result = result_of(list(range(len(groups))))
    samples = {name: np.array(group)[:, None] for name, group in zip(result.names, groups, strict=True)}
    return dataclasses.replace(result, samples=samples, columns=columns)


def test_few_different_values_get_a_bar_each() -> None:
    (column,) = group_values(values_of([0, 0, 1, 2], [2, 2, 2, 2])).columns
    assert column.levels == ("0", "1", "2")
    assert column.shares.tolist() == [[0.5, 0.25, 0.25], [0, 0, 1]]
    assert column.gap == 0.75


def test_texts_are_levels_and_rare_ones_are_counted_together() -> None:
    letters = [chr(97 + i) for i in range(20)]
    (column,) = group_values(values_of(letters, ["a"] * 20)).columns
    assert column.levels == (*letters[:11], "others")
    np.testing.assert_allclose(column.shares, [[0.05] * 11 + [0.45], [1.0] + [0.0] * 11], atol=1e-12)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=13, max_size=60, unique=True))
def test_bins_hold_every_value_however_large(numbers: list[float]) -> None:
    (column,) = group_values(values_of(list(numbers), list(numbers[:5]))).columns
    np.testing.assert_allclose(column.shares.sum(axis=1), 1.0)
    assert (np.diff(column.edges / 4) >= 0).all()
    ordered = sorted(numbers)
    assert all(value in ordered for value in column.quantiles[0])
    assert column.quantiles[0].tolist() == sorted(column.quantiles[0].tolist())


def test_columns_that_differ_most_come_first_and_the_rest_is_counted() -> None:
    result = full_result([0, 1])
    rng = np.random.default_rng(0)
    samples = {name: rng.normal(np.arange(11) * place, 1, (200, 11)) for place, name in enumerate(result.names)}
    values = group_values(dataclasses.replace(result, samples=samples, columns=()))
    assert len(values.columns) == 8
    assert values.columns_left_out == 3
    assert {column.name for column in values.columns} == {f"column {number}" for number in range(4, 12)}


def test_features_of_a_text_have_no_picture_but_are_named() -> None:
    result = full_result([0, 1], columns=("latency", "answer[0]", "answer[1]"))
    values = group_values(result)
    assert [column.name for column in values.columns] == ["latency"]
    assert values.texts == ("answer",)


def test_codes_of_categories_are_not_taken_for_numbers() -> None:
    codes = [2.0**40 + 7 * i for i in range(3)]
    (column,) = group_values(values_of([*codes, -1.0], codes)).columns
    assert column.levels == ("missing", "category 1", "category 2", "category 3")


def test_failures_and_missing_values_are_not_drawn_as_zeros() -> None:
    rng = np.random.default_rng(0)
    failed = rng.random(60) < 0.4
    rows = np.column_stack([np.where(failed, 0.0, rng.normal(50, 1, 60)), failed])
    calm = np.column_stack([rng.normal(50, 1, 60), np.zeros(60)])
    lost = np.column_stack([np.zeros(60), np.ones(60)])
    result = full_result([0, 1, 2], columns=("seconds", "failed"), notes=("failures: encoded as a value",))
    result = dataclasses.replace(result, samples=dict(zip(result.names, (rows, calm, lost), strict=True)))
    values = group_values(result)
    (column,) = [column for column in values.columns if column.name == "seconds"]
    assert column.edges[0] > 40
    np.testing.assert_allclose(column.shares.sum(axis=1), [1, 1, 0])
    assert np.isnan(column.quantiles[2]).all()
    report_html(result)
