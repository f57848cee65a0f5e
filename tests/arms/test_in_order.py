"""The order in which rows came: of the file, or of a column; looking at it draws nothing."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import kabc
from kabc.arms.pools import PoolArm
from kabc.arms.sql import sql_arms
from kabc.arms.tables import table_arms
from kabc.core.errors import SettingsError
from tests.arms.written import frame

HOSTS = pl.DataFrame(
    {"host": ["a", "b", "a", "b", "a", "b"], "at": [3, 30, 1, 10, 2, 20], "v": [0.3, 3.0, 0.1, 1.0, 0.2, 2.0]}
)


def first(arms: Any, name: str, most: int = 99) -> list[float]:
    return [float(x) for x in arms[name].in_order(most)[:, 0]]


def test_a_pool_shows_its_rows_as_they_were_given_and_draws_none() -> None:
    pool = PoolArm("x", np.arange(10.0), np.random.default_rng(0))
    assert pool.in_order(4).tolist() == [[0.0], [1.0], [2.0], [3.0]]
    assert pool.in_order(99).shape == (10, 1)
    assert PoolArm("x", np.ones((3, 2)), np.random.default_rng(0)).in_order(5).shape == (3, 2)
    assert pool.remaining == 10


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ""])
def test_a_table_shows_the_rows_of_an_arm_in_the_order_of_the_file(tmp_path: Path, suffix: str) -> None:
    table: Any = frame(3, 500)
    if suffix == ".csv":
        table.write_csv(tmp_path / "t.csv")
    elif suffix:
        table.write_parquet(tmp_path / "t.parquet", row_group_size=100)
    arms = table_arms(tmp_path / f"t{suffix}" if suffix else table, arm="machine")
    assert first(arms, "m1", 200) == [(3 * place + 1) / 8 for place in range(200)]
    assert len(first(arms, "m2")) == 99  # another length is read anew
    assert len(first(arms, "m2", 9999)) == 500
    assert arms["m1"].remaining == 500


def test_a_column_can_say_when_rows_came_and_is_not_compared() -> None:
    arms = table_arms(HOSTS, arm="host", order="at")
    assert first(arms, "a") == [0.1, 0.2, 0.3]
    assert first(arms, "b", 2) == [1.0, 2.0]
    assert arms.columns == ("v",)


def test_rows_that_are_left_out_have_no_place_in_the_order() -> None:
    gaps = HOSTS.with_columns(v=pl.Series([0.3, None, 0.1, 1.0, 0.2, 2.0]))
    assert first(table_arms(gaps, arm="host", order="at", missing="drop"), "b") == [1.0, 2.0]


def test_columns_of_a_wide_table_keep_the_order_of_its_rows() -> None:
    wide = pl.DataFrame({"a": [3.0, 1.0, 2.0], "b": [30.0, 10.0, 20.0], "at": [3, 1, 2]})
    assert first(table_arms(wide.drop("at"), wide=True), "a") == [3.0, 1.0, 2.0]
    arms = table_arms(wide, wide=True, order="at")
    assert list(arms) == ["a", "b"]
    assert first(arms, "b") == [10.0, 20.0, 30.0]


def test_rows_of_a_query_come_in_its_order_or_in_that_of_a_column(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "r.db") as database:
        database.execute("CREATE TABLE r (host TEXT, at INT, v REAL)")
        database.executemany("INSERT INTO r VALUES (?, ?, ?)", HOSTS.rows())
    database.close()
    query = "SELECT * FROM r ORDER BY at DESC"
    assert first(sql_arms(query, str(tmp_path / "r.db"), arm="host", values="v"), "a") == [0.3, 0.2, 0.1]
    assert first(sql_arms(query, str(tmp_path / "r.db"), arm="host", order="at"), "a") == [0.1, 0.2, 0.3]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"order": "att"}, "order= names a column 'att'"),
        ({"order": "host"}, "'host' is in order= and in arm="),
        ({"order": "at", "values": ["at", "v"]}, "'at' is in order= and in values="),
        ({"order": "gap"}, "order='gap' has 1 missing value"),
    ],
)
def test_an_order_that_is_none_is_refused(settings: dict[str, Any], said: str) -> None:
    table = HOSTS.with_columns(gap=pl.Series([1, 2, None, 4, 5, 6]))
    with pytest.raises(SettingsError, match=said):
        table_arms(table, arm="host", **settings)


def test_the_order_of_a_run_is_not_compared_and_only_for_tables() -> None:
    rows = pl.concat([HOSTS] * 20)
    assert kabc.cluster(rows, arm="host", order="at", max_samples=60, seed=0, progress=False).columns == ("v",)
    with pytest.raises(SettingsError, match="order='at' is for a table"):
        kabc.cluster([[1.0] * 9, [2.0] * 9], 2, order="at")
