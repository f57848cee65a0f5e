"""Counts: which rows of an arm can be drawn, and values that are refused."""

from __future__ import annotations

import math
from typing import Any

import polars as pl
import pytest

from kabc.arms.counts import natural
from kabc.arms.tables import table_arms
from kabc.arms.values import category_code
from kabc.core.errors import ArmError, KabcError, SampleError
from tests.arms.written import drawn, frame


def with_gaps() -> pl.DataFrame:
    return frame(2, 20, x=[None, math.nan, *map(float, range(38))], word=[*["a", "b"] * 19, None, None])


def test_missing_values_are_refused_by_default() -> None:
    with pytest.raises(SampleError, match=r"'x' has 2 missing values in 40 rows; set missing='encode'"):
        table_arms(with_gaps(), arm="machine")


def test_rows_with_missing_values_are_dropped_whole_and_counted() -> None:
    arms = table_arms(with_gaps(), arm="machine", missing="drop")
    assert arms.notes[1] == "missing values: 4 rows dropped (x: 2, word: 2); the groups are about complete rows"
    assert arms["m0"].remaining == 18
    assert sorted(drawn(arms["m0"])[:, 1].tolist()) == list(range(0, 36, 2))


def test_one_dropped_row_is_one_row() -> None:
    arms = table_arms(frame(2, 10, x=[None, *map(float, range(19))]), arm="machine", missing="drop")
    assert arms.notes[1] == "missing values: 1 row dropped (x: 1); the groups are about complete rows"


def test_missing_values_are_encoded_as_values_of_their_own() -> None:
    arms = table_arms(with_gaps(), arm="machine", values=["x", "word"], missing="encode")
    assert arms.columns == ("x", "x missing", "word")
    rows = drawn(arms["m0"])
    assert len(rows) == 20
    assert rows[rows[:, 1] == 1].tolist() == [[0.0, 1.0, category_code("a")]]
    assert (rows[:, 2] == -1).sum() == 1


def test_numbers_in_names_are_compared_as_numbers() -> None:
    names = ["m10", "m9", "b", "a2x", "a10x", "7", "10", "", "m09"]
    assert sorted(names, key=natural) == ["", "7", "10", "a2x", "a10x", "b", "m09", "m9", "m10"]


def test_numbers_in_names_are_in_order_however_long_they_are() -> None:
    in_order = ["m2", "m010", "m10", "m" + "9" * 5000, "m1" + "0" * 5000, "n1"]
    shuffled = [in_order[i] for i in (4, 0, 5, 3, 1, 2)]
    assert sorted(shuffled, key=natural) == in_order


def test_a_few_arms_with_one_row_are_left_to_the_run() -> None:
    rows = pl.concat([frame(), pl.DataFrame({"machine": ["m9"], "place": [1.0]})])
    assert table_arms(rows, arm="machine")["m9"].remaining == 1


def bad_rows() -> list[tuple[pl.DataFrame, dict[str, Any], type[KabcError], str]]:
    good = frame()
    single = pl.DataFrame({"machine": ["m1", "m1", "m9"], "place": [1.0, 2.0, 1.0]})
    ids = pl.DataFrame({"machine": [*"aabbcdefg"], "place": [float(i) for i in range(9)]})
    return [
        (good[:0], {"arm": "machine"}, ArmError, "has no rows"),
        (good.filter(machine="m1"), {"arm": "machine"}, ArmError, "only one arm, 'm1'"),
        (single, {"arm": "machine"}, ArmError, "1 of 2 arms have fewer than 2 rows: 'm9'; check that the right column"),
        (ids, {"arm": "machine"}, ArmError, "5 of 7 arms have fewer than 2 rows"),
        (
            good.with_columns(machine=pl.lit(None, pl.String)),
            {"arm": "machine"},
            ArmError,
            "is empty in 120 of 120 rows; fill in the names",
        ),
        (
            good.with_columns(machine=pl.lit(math.nan)),
            {"arm": "machine"},
            ArmError,
            "is empty in 120 of 120 rows; fill in the names",
        ),
        (good.with_columns(x=pl.lit(math.inf)), {"arm": "machine"}, SampleError, "'x' has 120 infinite"),
    ]


@pytest.mark.parametrize(("table", "options", "kind", "words"), bad_rows())
def test_rows_that_cannot_be_used_are_refused_in_one_line(
    table: pl.DataFrame, options: dict[str, Any], kind: type[KabcError], words: str
) -> None:
    with pytest.raises(kind, match=words) as caught:
        table_arms(table, **options)
    assert "\n" not in str(caught.value)


def test_arms_without_complete_rows_are_named() -> None:
    table = frame(2, 10, x=[None if i % 2 else 1.0 for i in range(20)])
    with pytest.raises(ArmError, match="fewer than 2 complete rows: 'm1'"):
        table_arms(table, arm="machine", missing="drop")
