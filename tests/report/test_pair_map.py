"""The pair map: the same figures as the result, arms ordered by group; and its drawing."""

from __future__ import annotations

import dataclasses
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.colors import TwoSlopeNorm
from matplotlib.figure import Figure
from matplotlib.text import Text

from kabc.core.evidence.pairs import Evidence
from kabc.report.pair_map import draw_pair_map, group_map, pair_map
from kabc.results.words import STATUS_WORDS
from tests.report.examples import result_of

PNG = b"\x89PNG\r\n\x1a\n"


def texts(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.findobj(Text) if isinstance(text, Text)]


@given(st.lists(st.integers(0, 4), min_size=2, max_size=12), st.integers(0, 100))
def test_arms_are_ordered_by_group_and_every_pair_keeps_its_figures(labels: list[int], seed: int) -> None:
    result = result_of(labels, seed=seed, unknown=0.2)
    pairs = pair_map(result)
    assert sorted(pairs.order) == list(range(len(labels)))
    groups = [pairs.names[start:end] for start, end in pairwise(pairs.boundaries)]
    assert tuple(groups) == result.groups
    for row, i in enumerate(pairs.order):
        for column, j in enumerate(pairs.order):
            expected = result.evidence.strength[i, j] if i != j else np.nan
            np.testing.assert_equal(pairs.ratio[row, column], expected)
            assert pairs.told_apart[row, column] == result.evidence.told_apart[i, j]


def test_before_the_first_round_every_ratio_is_unknown() -> None:
    pairs = pair_map(dataclasses.replace(result_of([0, 0, 0], "budget"), evidence=Evidence.none(3)))
    assert np.isnan(pairs.ratio).all()
    assert not pairs.told_apart.any()


def test_the_title_says_how_it_ended_and_what_it_cost() -> None:
    title = pair_map(result_of([0, 1, 0, 2], "budget")).title
    assert title == f"{STATUS_WORDS['budget']}\n4 arms in 3 groups, 4,936 samples, delta = 0.05"


@given(st.lists(st.integers(0, 4), min_size=2, max_size=12), st.integers(0, 100))
def test_a_group_map_holds_the_strongest_evidence_between_and_within_groups(labels: list[int], seed: int) -> None:
    result = result_of(labels, seed=seed, unknown=0.3)
    arms, groups = pair_map(result), group_map(result)
    assert groups.order == tuple(range(len(result.groups)))
    assert groups.n_arms == len(labels)
    spans = list(pairwise(arms.boundaries))
    for row, (top, bottom) in enumerate(spans):
        for column, (left, right) in enumerate(spans):
            seen = [x for x in arms.ratio[top:bottom, left:right].flat if not np.isnan(x)]
            np.testing.assert_equal(groups.ratio[row, column], max(seen, default=np.nan))
            assert groups.told_apart[row, column] == arms.told_apart[top:bottom, left:right].any()


def test_a_group_map_has_room_for_the_largest_groups() -> None:
    groups = group_map(result_of([0, 1, 1, 2, 2, 2, 3]), most=2)
    assert groups.order == (1, 2)
    assert groups.names == ("group 2 (2 arms)", "group 3 (3 arms)")


def test_no_evidence_at_all_is_drawn_as_little_evidence_and_not_as_none_known() -> None:
    result = result_of([0, 1])
    nothing = dataclasses.replace(result.evidence, values=np.zeros((2, 2)))
    axes = Figure().subplots()
    draw_pair_map(pair_map(dataclasses.replace(result, evidence=nothing)), axes)
    shown = np.ma.filled(np.ma.asarray(axes.images[0].get_array()).astype(float), np.nan)
    np.testing.assert_array_equal(shown, [[np.nan, -4], [-4, np.nan]])


@pytest.mark.parametrize("n_arms", [2, 20, 60])
def test_rows_and_columns_name_every_arm_and_the_top_numbers_every_group(n_arms: int) -> None:
    pairs = pair_map(result_of([arm % 3 for arm in range(n_arms)]))
    axes = Figure().subplots()
    draw_pair_map(pairs, axes)
    rows, columns, top = axes.get_yticklabels(), axes.get_xticklabels(), axes.child_axes[0].get_xticklabels()
    assert [label.get_text() for label in rows] == list(pairs.names)
    assert [label.get_text() for label in columns] == list(pairs.names)
    assert [label.get_text() for label in top] == [str(group) for group in range(1, len(pairs.boundaries))]


@pytest.mark.parametrize("n_arms", [2, 20, 60])
def test_names_do_not_overlap(n_arms: int) -> None:
    figure = Figure(figsize=(0.17 * n_arms + 3.5, 0.17 * n_arms + 3.5), layout="constrained")
    axes = figure.subplots()
    draw_pair_map(pair_map(result_of([arm % 3 for arm in range(n_arms)])), axes)
    figure.draw_without_rendering()
    for upper, lower in pairwise(label.get_window_extent() for label in axes.get_yticklabels()):
        assert upper.y0 >= lower.y1
    for left, right in pairwise(label.get_window_extent() for label in axes.get_xticklabels()):
        assert left.x1 <= right.x0


def test_the_colours_turn_at_the_threshold_and_the_diagonal_is_left_out() -> None:
    pairs = pair_map(result_of([0, 1, 0, 1]))
    axes = Figure().subplots()
    draw_pair_map(pairs, axes)
    image = axes.images[0]
    assert isinstance(image.norm, TwoSlopeNorm)
    assert image.norm.vcenter == 0
    shown = np.ma.filled(np.ma.asarray(image.get_array()).astype(float), np.nan)
    expected = np.log2(pairs.ratio, where=~np.eye(4, dtype=bool), out=np.full((4, 4), np.nan))
    np.testing.assert_array_equal(shown, expected)
    above = ~np.eye(4, dtype=bool) & (pairs.ratio > 1)
    np.testing.assert_array_equal(image.norm(shown)[above] > 0.5, True)


def test_guessed_groups_are_called_a_guess_and_pairs_without_distance_are_explained() -> None:
    figure = Figure()
    draw_pair_map(pair_map(result_of([0, 1, 0, 1, 2, 2], "budget", unknown=0.5)), figure.subplots())
    written = " ".join(texts(figure))
    assert "(guess)" in written
    assert "grey: not compared" in written
    assert "dot: told apart" in written


def test_a_certified_map_with_all_distances_needs_no_notes() -> None:
    axes = Figure().subplots()
    draw_pair_map(pair_map(result_of([0, 1, 0, 1])), axes)
    assert axes.get_xlabel() == ""
    assert axes.child_axes[0].get_xlabel() == "group"
    assert not axes.lines


def test_names_with_dollar_signs_are_names_not_formulas(tmp_path: Path) -> None:
    result = dataclasses.replace(result_of([0, 1]), names=("$\\bad{$", "5$ and 6$"))
    draw_pair_map(pair_map(result), tmp_path / "money.png")
    assert (tmp_path / "money.png").read_bytes().startswith(PNG)


@pytest.mark.parametrize("n_arms", [2, 20, 90])
def test_a_path_gives_a_picture_file(tmp_path: Path, n_arms: int) -> None:
    path = tmp_path / "pairs.png"
    draw_pair_map(pair_map(result_of([arm % 4 for arm in range(n_arms)])), str(path))
    assert path.read_bytes().startswith(PNG)
    assert path.stat().st_size > 5_000


def test_too_many_arms_to_name_still_show_their_groups() -> None:
    figure = Figure()
    draw_pair_map(pair_map(result_of([arm % 4 for arm in range(90)])), figure.subplots())
    written = texts(figure)
    assert not any(text.startswith("arm ") for text in written)
    assert {"1", "2", "3", "4"} <= set(written)
