"""Columns that number or date the rows are no values: an index is skipped, what looks like an id is named."""

from __future__ import annotations

import importlib
import uuid
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import kabc
from kabc.arms.identifiers import shape_of
from kabc.arms.tables import table_arms
from kabc.core.errors import SettingsError

RNG = np.random.default_rng(5)
pd = importlib.import_module("pandas")


def hosts(rows: int = 60, n_hosts: int = 6, **columns: Any) -> Any:
    """A pandas frame of equal hosts, one after the other."""
    n = rows * n_hosts
    names = np.repeat([f"h{i}" for i in range(n_hosts)], rows)
    return pd.DataFrame({"host": names, "seconds": RNG.normal(size=n), **columns})


def test_a_filtered_frame_in_parquet_is_compared_without_its_index(tmp_path: Path) -> None:
    table = hosts(300)
    table[table.index % 3 > 0].to_parquet(tmp_path / "hosts.parquet")
    found = kabc.cluster(tmp_path / "hosts.parquet", arm="host", seed=1, max_samples=600, progress=False)
    assert found.columns == ("seconds",)
    assert found.n_groups_at_least == 1
    assert (
        "column '__index_level_0__' is an index and is not compared; to compare it, name it in values=" in found.notes
    )


def test_an_index_that_is_named_is_compared(tmp_path: Path) -> None:
    table = hosts()
    table[table.index % 3 > 0].to_parquet(tmp_path / "hosts.parquet")
    arms = table_arms(tmp_path / "hosts.parquet", arm="host", values=["seconds", "__index_level_0__"])
    assert arms.columns == ("seconds", "__index_level_0__")
    by_type = table_arms(tmp_path / "hosts.parquet", arm="host", types={"__index_level_0__": "number"})
    assert by_type.columns == ("seconds", "__index_level_0__")


def test_an_index_of_times_can_say_when_rows_came(tmp_path: Path) -> None:
    table = hosts()
    table.index = pd.date_range("2024-01-01", periods=len(table), freq="min")
    table.to_parquet(tmp_path / "hosts.parquet")
    arms = table_arms(tmp_path / "hosts.parquet", arm="host")
    assert arms.columns == ("seconds",)
    assert "if it says when a row came, set order='__index_level_0__'" in arms.notes[1]


@pytest.mark.parametrize("header", ["", "Unnamed: 0", "index", "Index", "row_number"])
def test_an_index_in_a_text_file_is_skipped(tmp_path: Path, header: str) -> None:
    hosts().to_csv(tmp_path / "hosts.csv", index_label=header)
    arms = table_arms(tmp_path / "hosts.csv", arm="host")
    assert arms.columns == ("seconds",)
    assert arms.warnings == ()
    assert "is an index and is not compared" in arms.notes[1]


def test_a_wide_table_has_no_arm_for_its_index(tmp_path: Path) -> None:
    pd.DataFrame({"a": RNG.normal(size=50), "b": RNG.normal(size=50)}).to_csv(tmp_path / "wide.csv")
    arms = table_arms(tmp_path / "wide.csv", wide=True)
    assert list(arms) == ["a", "b"]
    assert any("is an index and is not compared" in note for note in arms.notes)


def test_a_table_of_nothing_but_an_index_has_no_values() -> None:
    table = pl.DataFrame({"host": ["a", "b"] * 10, "index": range(20)})
    with pytest.raises(SettingsError, match="has no value column besides 'host'"):
        table_arms(table, arm="host")


N = 360


@pytest.mark.parametrize(
    ("column", "what"),
    [
        (np.arange(N) + 1000, "an id"),
        (np.arange(N)[::-1].copy(), "an id"),
        (RNG.permutation(N) + 7, "an id"),
        (np.tile(np.cumsum(RNG.integers(1, 9, N // 6)), 6), "an id"),  # grows within each host
        ([str(uuid.UUID(int=int(i))) for i in RNG.integers(0, 2**62, N)], "an id"),
        (1.7e9 + np.arange(N) // 2, "a time"),
        (1.7e12 + 250 * np.arange(N), "a time"),
        (np.cumsum(RNG.exponential(size=N)), "a time"),
        ([f"2024-01-{1 + i // 24 % 28:02} {i % 24:02}:00" for i in range(N)], "a time"),
    ],
)
def test_what_looks_like_an_id_or_a_time_is_named_with_its_cure(column: Any, what: str) -> None:
    table = hosts(mark=column)
    arms = table_arms(table, arm="host")
    (warning,) = arms.warnings
    assert warning.startswith(f"column 'mark' looks like {what}, and is compared")
    assert "name the columns to compare by values=" in warning
    assert ("order='mark'" in warning) == (what == "a time")
    assert warning in arms.notes and arms.columns[0] == "seconds"
    assert table_arms(table, arm="host", values=["seconds", "mark"]).warnings == ()
    with pytest.warns(UserWarning, match=f"'mark' looks like {what}"):
        kabc.cluster(table, 2, arm="host", seed=0, max_samples=60, progress=False)


def test_several_are_named_together() -> None:
    arms = table_arms(hosts(one=np.arange(N) + 5, two=np.arange(N) + 9), arm="host")
    assert arms.warnings[0].startswith("columns 'one', 'two' look like ids, and are compared")


@pytest.mark.parametrize(
    "values",
    [
        RNG.normal(size=N),
        RNG.integers(0, 50, N),
        RNG.integers(0, 10**9, N),
        np.sort(RNG.integers(0, 9, N)),  # repeats too often for an id
        np.zeros(N),
        np.array([np.nan] * N),
        np.array([np.inf] * N),
        np.arange(9.0),  # too few to tell
        RNG.uniform(1.6e9, 1.7e9, N),  # as large as times, in no order
        np.array([f"word {i}" for i in range(N)], dtype=object),
        np.array([None] * N, dtype=object),
    ],
)
def test_measurements_are_not_taken_for_ids(values: Any) -> None:
    assert shape_of(np.asarray(values), np.arange(len(values)) % 6) == ""


def test_two_rows_of_each_arm_are_too_few_to_grow() -> None:
    assert shape_of(np.array([3.0, 5.0, 1.0, 9.0, 2.0, 4.0, 0.0, 7.0, 6.0, 8.5]), np.repeat(np.arange(5), 2)) == ""
