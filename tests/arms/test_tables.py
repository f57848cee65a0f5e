"""Tables as arms: long or wide, from the file to the groups."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import kabc
from kabc.arms.base import Arm
from kabc.arms.tables import table_arms
from kabc.arms.values import N_FEATURES
from kabc.core.errors import ArmError, KabcError, SampleError
from kabc.report import group_values
from kabc.testing import ArmConformance
from tests.arms.written import drawn, frame


def test_arms_are_sorted_by_name_with_numbers_as_numbers() -> None:
    assert list(table_arms(pl.DataFrame({"n": ["m10", "m9", "b"] * 2, "v": range(6)}), arm="n")) == ["b", "m9", "m10"]


def test_names_of_a_frame_are_numbers_where_its_column_holds_numbers() -> None:
    numbers: list[Any] = list(table_arms(pl.DataFrame({"n": [10, 9] * 3, "v": range(6)}), arm="n"))
    assert numbers == [9, 10]
    assert list(table_arms(pl.DataFrame({"n": [True, False] * 3, "v": range(6)}), arm="n")) == ["false", "true"]


def test_in_wide_form_columns_are_arms_and_short_ones_end(tmp_path: Path) -> None:
    path = tmp_path / "w.csv"
    path.write_text("m2,m10,m1\n1,10,100\n2,20,200\n3,,300\n4,,\n")
    arms = table_arms(path, wide=True)
    assert {name: arm.remaining for name, arm in arms.items()} == {"m1": 3, "m2": 4, "m10": 2}
    assert sorted(drawn(arms["m1"])[:, 0].tolist()) == [100, 200, 300]
    assert arms.columns == ("value",)
    assert list(table_arms(path, wide=True, values=["m1", "m2"])) == ["m1", "m2"]


def test_in_wide_form_orders_of_different_arms_differ() -> None:
    arms = table_arms(pl.DataFrame({"a": range(50), "b": range(50)}), wide=True)
    assert drawn(arms["a"]).tolist() != drawn(arms["b"]).tolist()


def test_in_wide_form_a_gap_in_the_middle_is_a_missing_value() -> None:
    table = pl.DataFrame({"a": [1.0, None, 3.0, None], "b": [1.0, 2.0, math.nan, None], "c": ["x"] * 4}).drop("c")
    with pytest.raises(SampleError, match="'value' has 1 missing"):
        table_arms(table, wide=True)
    assert table_arms(table, wide=True, missing="drop")["a"].remaining == 2


def test_a_wide_form_of_words_works_like_any_other() -> None:
    table = pl.DataFrame({"a": ["x", "y"] * 5, "b": ["x", "x"] * 5})
    assert table_arms(table, wide=True).notes == ("columns: value: category",)
    assert drawn(table_arms(table, wide=True, types={"value": "text"})["a"], 1).shape == (1, N_FEATURES)


def bad_wide_tables() -> list[tuple[pl.DataFrame, dict[str, Any], type[KabcError], str]]:
    return [
        (pl.DataFrame({"a": [1, 2], "b": [1, None]}), {"wide": True}, ArmError, "fewer than 2 rows: 'b'"),
        (pl.DataFrame({"a": [1, 2], "b": [None, None]}), {"wide": True}, ArmError, "fewer than 2 rows: 'b'"),
        (pl.DataFrame({"a": [1, 2]}), {"wide": True}, ArmError, "only one arm"),
    ]


@pytest.mark.parametrize(("table", "options", "kind", "words"), bad_wide_tables())
def test_wide_tables_that_cannot_be_used_are_refused_in_one_line(
    table: pl.DataFrame, options: dict[str, Any], kind: type[KabcError], words: str
) -> None:
    with pytest.raises(kind, match=words) as caught:
        table_arms(table, **options)
    assert "\n" not in str(caught.value)


def test_groups_are_found_in_a_file(tmp_path: Path) -> None:
    values = np.random.default_rng(1).normal(size=2000) + 3 * (np.arange(2000) % 4 >= 2)
    frame(4, 500, value=values).write_parquet(tmp_path / "t.parquet")
    arms = table_arms(tmp_path / "t.parquet", arm="machine", values="value")
    result = kabc.cluster(arms, n_clusters=2, seed=0, progress=False)
    assert result.groups == (("m0", "m1"), ("m2", "m3"))
    assert result.certified


def test_names_of_categories_come_back_with_the_result(tmp_path: Path) -> None:
    colours = {"a": "red", "b": "red", "c": "blue"}
    rows = [(arm, colour if place % 8 else "grey") for arm, colour in colours.items() for place in range(60)]
    frame = pl.DataFrame(rows, schema=["arm", "colour"], orient="row")
    result = kabc.cluster(frame, 2, arm="arm", types={"colour": "category"}, seed=0, progress=False)
    assert set(result.levels["colour"].values()) == {"red", "blue", "grey"}
    assert {value for rows in result.samples.values() for value in rows[:, 0]} <= set(result.levels["colour"])
    result.save(tmp_path / "r.json")
    assert kabc.load_result(tmp_path / "r.json").levels == result.levels
    assert {level for column in group_values(result).columns for level in column.levels} == {"red", "blue", "grey"}


class TestTableArm(ArmConformance):
    def make_arm(self) -> Arm:
        return table_arms(frame(2, 30, word=["x", "y", "z"] * 20), arm="machine", seed=3)["m1"]


class TestWideArm(ArmConformance):
    def make_arm(self) -> Arm:
        return table_arms(pl.DataFrame({"a": range(8), "b": range(8)}), wide=True)["b"]
