"""Tables that DuckDB scans: their columns have different names of their own."""

from __future__ import annotations

import importlib
from pathlib import Path

import polars as pl
import pytest

from kabc.arms.rows import Rows, check_names, column_types
from kabc.arms.tables import table_arms
from kabc.arms.workspace import Workspace
from kabc.core.errors import SettingsError
from tests.arms.written import as_csv, as_parquet, drawn, frame


def test_a_table_of_the_workspace_is_known_by_its_columns_and_row_numbers() -> None:
    workspace = Workspace()
    workspace.rows("CREATE TABLE t AS SELECT 'a' AS machine, 1.5::DOUBLE AS heat")
    rows = Rows.of_table(workspace, "t", "the test")
    assert rows.types == column_types(workspace, "t") == {"machine": "VARCHAR", "heat": "DOUBLE"}
    assert workspace.rows(f"SELECT {rows.key}, heat FROM {rows.relation}") == [(0, 1.5)]


def test_names_that_differ_in_case_only_are_the_same() -> None:
    check_names(["a", "b"], "t")
    with pytest.raises(SettingsError, match="t has columns of the same name: 'a', 'A'; rename them"):
        check_names(["a", "b", "A"], "t")


@pytest.mark.parametrize("name", ["rowid", "File_Row_Number", "file_index"])
def test_names_of_row_numbers_are_refused(tmp_path: Path, name: str) -> None:
    table = frame(2, 10, **{name: 1})
    for source in (table, as_csv(tmp_path, table), as_parquet(tmp_path, table), [as_parquet(tmp_path, table)] * 2):
        with pytest.raises(SettingsError, match=f"has a column '{name}', and DuckDB needs this name for row numbers"):
            table_arms(source, arm="machine")


def test_repeated_columns_of_frames_and_parquet_are_refused(tmp_path: Path) -> None:
    pandas, arrow = importlib.import_module("pandas"), importlib.import_module("pyarrow")
    parquet = importlib.import_module("pyarrow.parquet")
    twice = arrow.table([["a", "b"], [1, 2], [1, 2]], names=["m", "v", "v"])
    parquet.write_table(twice, tmp_path / "t.parquet")
    for source in (pandas.DataFrame([["a", 1, 2]], columns=["m", "v", "v"]), twice, tmp_path / "t.parquet"):
        with pytest.raises(SettingsError, match="columns of the same name"):
            table_arms(source, arm="m")


def test_columns_may_have_any_name(tmp_path: Path) -> None:
    names = [
        "name",
        "hash",
        "code",
        "low",
        "high",
        "value0",
        "near",
        "cuts",
        "select",
        'a "quoted" one',
        "it's",
        "%s",
        "é",
    ]
    table = pl.DataFrame({name: [place + i % 2 for i in range(20)] for place, name in enumerate(names)})
    for source in (table, as_csv(tmp_path, table), as_parquet(tmp_path, table)):
        for place in (0, 1, 10):
            arms = table_arms(source, arm=names[place])
            assert list(map(str, arms)) == [str(place), str(place + 1)]
            other = 0 if place else 1
            assert [drawn(one)[:, 0].tolist() for one in arms.values()] == [[other] * 10, [other + 1] * 10]
