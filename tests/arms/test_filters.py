"""`where` keeps rows by a condition on their values, and takes nothing that is more than a condition."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import kabc
from kabc.arms.tables import table_arms
from kabc.core.errors import ArmError, KabcError, SettingsError
from tests.arms.written import FORMATS, as_csv, as_parquet, drawn, frame


@pytest.mark.parametrize("written", FORMATS)
def test_only_rows_that_meet_the_condition_are_drawn(
    tmp_path: Path, written: Callable[[Path, pl.DataFrame], Any]
) -> None:
    source = written(tmp_path, frame(colour=["red", "blue"] * 60))
    arms = table_arms(source, arm="machine", values="place", where="colour = 'red' and place >= 1 -- and so on")
    both = np.concatenate([drawn(arm) for arm in arms.values()]).ravel()
    assert sorted(both) == [place / 8 for place in range(8, 120, 2)]
    assert arms.notes[1] == "where: 56 of 120 rows kept by \"colour = 'red' and place >= 1 -- and so on\""


@pytest.mark.parametrize("written", [as_csv, as_parquet])
def test_the_same_rows_come_in_the_same_order_as_without_the_others(
    tmp_path: Path, written: Callable[[Path, pl.DataFrame], Any]
) -> None:
    source = written(tmp_path, frame(2, 200))
    every = table_arms(source, arm="machine", values="place", seed=3)["m1"]
    some = table_arms(source, arm="machine", values="place", seed=3, where="place < 20")["m1"]
    whole = drawn(every).ravel()
    assert drawn(some).ravel().tolist() == whole[whole < 20].tolist()


def test_order_blocks_and_wide_tables_know_the_condition(tmp_path: Path) -> None:
    table = frame(2, 50, at=np.arange(100)[::-1])
    arm = table_arms(table, arm="machine", values="place", order="at", where="place < 5")["m0"]
    assert arm.in_order(2).tolist() == [[4.75], [4.5]]  # type: ignore[attr-defined]
    assert arm.in_blocks(5).remaining == 20  # type: ignore[attr-defined]
    wide = table_arms(pl.DataFrame({"a": [1.0, 2.0, 3.0], "b": [3.0, 4.0, 5.0]}), wide=True, where="a < 3")
    assert sorted(drawn(wide["b"]).ravel()) == [3.0, 4.0]


def test_cluster_takes_a_condition() -> None:
    table = frame(2, 100, bad=[False] * 150 + [True] * 50)
    found = kabc.cluster(table, 2, arm="machine", values="place", where="not bad", seed=0, progress=False)
    assert found.notes[1] == "where: 150 of 200 rows kept by 'not bad'"
    with pytest.raises(SettingsError, match="where='x > 0' is for a table"):
        kabc.cluster({"a": [1.0, 2.0], "b": [1.0, 2.0]}, 2, where="x > 0", seed=0)


@pytest.mark.parametrize(
    ("where", "why"),
    [
        ("plce > 1", "Referenced column"),
        ("place >", "syntax error"),
        ("place > 1; DROP TABLE source", "syntax error"),
        ("true); DROP TABLE source; SELECT (1", "Only SELECT statements"),
        ("true); SELECT 1; SELECT (1", "more than a condition"),
        ("true) UNION SELECT * FROM (VALUES (1, 2)", "more than a condition"),
        ("true) ORDER BY (place", "more than a condition"),
        ("true) GROUP BY (place", "more than a condition"),
        ("place > (SELECT 1)", "it has a query in it"),
        ("machine IN (SELECT content FROM read_text('/etc/hostname'))", "it has a query in it"),
        ("SELECT 1", "it has a query in it"),
        ("random() < 0.5", r"random\(\) may have another value in the next scan"),
        ("place < epoch(now())", r"now\(\) may have another value"),
        ("sum(place) > 1", "WHERE clause cannot contain aggregates"),
        ("lag(place) OVER () > 1", "WHERE clause cannot contain window functions"),
        ("machine > 3", "Cannot compare values of type VARCHAR"),
        ("", "where must be a condition"),
        ("  ", "where must be a condition"),
        (3, "where must be a condition"),
    ],
)
def test_what_is_no_condition_is_refused_in_one_line(where: Any, why: str) -> None:
    with pytest.raises(SettingsError, match=why) as caught:
        table_arms(frame(), arm="machine", where=where)
    assert "write it like \"seconds > 0 and region = 'eu'\"" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_condition_that_no_row_meets_is_refused() -> None:
    with pytest.raises(ArmError, match="where='place < 0' keeps none of the 120 rows of the frame; correct it"):
        table_arms(frame(), arm="machine", where="place < 0")
    with pytest.raises(KabcError, match="has only one arm"):
        table_arms(frame(), arm="machine", where="machine = 'm0'")
