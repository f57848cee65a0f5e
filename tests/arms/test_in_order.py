"""The order in which rows came: of the file, or of a column; looking at it draws nothing."""

from __future__ import annotations

import itertools
import sqlite3
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest

import kabc
from kabc.arms import early, workspace
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
        kabc.cluster([[1.0] * 9, [2.0] * 9], 2, order="at", seed=0)


def in_files(folder: Path, table: pl.DataFrame, cuts: tuple[int, ...]) -> str:
    for number, (low, high) in enumerate(itertools.pairwise([0, *cuts, len(table)])):
        table[low:high].write_parquet(folder / f"part-{number}.parquet", row_group_size=25)
    return str(folder / "part-*.parquet")


@pytest.mark.parametrize("mixed", [True, False])
@pytest.mark.parametrize("cuts", [(), (3, 8, 250, 255), (100, 200)])
@pytest.mark.parametrize("settings", [{}, {"where": "place <> 5"}, {"order": "late"}, {"missing": "drop"}])
def test_a_table_is_looked_at_in_pieces_and_no_row_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mixed: bool, cuts: tuple[int, ...], settings: dict[str, Any]
) -> None:
    monkeypatch.setattr(early, "_AT_ONCE", 40)  # rows that are read together
    table = frame(3, 100).with_columns(late=-pl.col("place"), value=pl.when(pl.col("place") != 4).then(1.0))
    table = table if mixed else table.sort("machine", maintain_order=True)
    kept = table.filter(pl.col("place") != 5) if "where" in settings else table
    kept = kept.drop_nulls() if "missing" in settings else kept
    kept = kept.sort("late") if "order" in settings else kept
    values = ["place", "value"] if "missing" in settings else ["place"]
    arms: Any = table_arms(in_files(tmp_path, table, cuts), arm="machine", values=values, **settings)
    for most in (1, 30, 99, 500):
        for name, arm in arms.items():
            own = kept.filter(pl.col("machine") == name)["place"][:most]
            assert np.asarray(arm.in_order(most))[:, 0].tolist() == own.to_list()


def test_a_look_at_a_table_needs_little_memory_however_large_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workspace, "_MEMORY", "40MB")  # to sort all rows takes more
    monkeypatch.setattr(early, "_AT_ONCE", 100_000)
    duckdb.execute(
        "COPY (SELECT 'm' || (i % 4000) AS m, i / 8 AS v FROM range(1_200_000) AS rows(i)) "
        f"TO '{tmp_path}/t.parquet' (FORMAT parquet, ROW_GROUP_SIZE 20_000)"
    )
    arms: Any = table_arms(tmp_path / "t.parquet", arm="m")
    assert first(arms, "m3999", 100) == [(4000 * place + 3999) / 8 for place in range(100)]
    blocks = {name: arm.in_blocks(7) for name, arm in arms.items()}
    assert blocks["m3"].remaining == 294
    assert first(blocks, "m3", 3) == [3 / 8, 4003 / 8, 8003 / 8]
