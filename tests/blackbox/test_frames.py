"""Tables: names of arms, rows without an arm, columns that only count rows, and what a spreadsheet makes of exports."""

from __future__ import annotations

import csv
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import polars as pl
import pytest

import kabc
from tests.blackbox.shell import serving, shell

ROWS = 300  # of each arm
COUNTED = np.arange(3 * ROWS)
LIBRARIES = ["pandas", "polars"]


def table(names: Any, **columns: Any) -> dict[str, Any]:
    """Columns of a table: three arms in turn, one of them apart, and further columns."""
    rng = np.random.default_rng(5)
    owners = [names[i % 3] for i in range(3 * ROWS)]
    heat = rng.normal(0, 1, 3 * ROWS) + 4.0 * (np.arange(3 * ROWS) % 3 == 2)
    return {"arm": owners, "heat": heat, **columns}


def frame_of(library: str, columns: dict[str, Any]) -> Any:
    return pd.DataFrame(columns) if library == "pandas" else pl.DataFrame(columns, strict=False)


def ask(source: Any, **more: Any) -> kabc.Result:
    """Two groups of a table."""
    settings: dict[str, Any] = {"arm": "arm", "seed": 0, "progress": False} | more
    return kabc.cluster(source, 2, **settings)


def fact(result: kabc.Result, *words: str) -> str:
    """The note with these words."""
    (found,) = [note for note in result.notes if all(word in note for word in words)]
    return found


# ------------------------------------------------------------ names of arms


@pytest.mark.parametrize("library", LIBRARIES)
def test_whole_numbers_stay_whole_numbers(library: str, tmp_path: Path) -> None:
    frame = frame_of(library, table([2007, 2008, 12009]))
    result = ask(frame)
    assert result.names == (2007, 2008, 12009)
    assert {type(name) for name in result.names} == {int}
    assert result.groups == ((2007, 2008), (12009,))
    assert result.samples_per_arm[2007] > 0
    result.save(tmp_path / "answer.json")
    again = kabc.load(tmp_path / "answer.json")
    assert again == result
    assert again.names == (2007, 2008, 12009)
    same = kabc.check(frame, this=2007, same_as=[2008], arm="arm", tolerance="2 sd", seed=0, progress=False)
    assert same.verdict == "same"
    found = kabc.outliers(frame, arm="arm", seed=0, progress=False)
    assert found.names == (2007, 2008, 12009)


@pytest.mark.parametrize("library", LIBRARIES)
def test_numbers_in_order(library: str) -> None:
    assert ask(frame_of(library, table([10, -5, 2]))).names == (-5, 2, 10)


@pytest.mark.parametrize(
    ("given", "names"),
    [
        (np.array([7, 8, 9], dtype=np.uint8), (7, 8, 9)),
        (np.array([0.5, 2.0, 10.0]), (0.5, 2.0, 10.0)),
        (np.array([0.1, 0.25, 1.5], dtype=np.float32), (0.1, 0.25, 1.5)),
        (["b", "a", "c"], ("a", "b", "c")),
        (["2007", "2008", "12009"], ("2007", "2008", "12009")),
        (pd.Categorical(["x10", "x2", "x1"]), ("x1", "x2", "x10")),
    ],
    ids=["uint8", "floats", "short floats", "texts", "texts of numbers", "categories"],
)
def test_names_are_what_the_column_holds(given: Any, names: tuple[object, ...]) -> None:
    result = ask(pd.DataFrame(table(given)))
    assert result.names == names
    assert [type(name) for name in result.names] == [type(name) for name in names]


@pytest.mark.parametrize("library", LIBRARIES)
def test_booleans_are_texts(library: str) -> None:
    rng = np.random.default_rng(1)
    flags = [bool(i % 2) for i in range(2 * ROWS)]
    frame = frame_of(library, {"arm": flags, "heat": rng.normal(0, 1, 2 * ROWS) + 4.0 * np.array(flags)})
    assert ask(frame).names == ("false", "true")


def test_a_column_with_gaps_has_whole_numbers_still() -> None:
    """pandas makes a column of floats where a whole number is missing; Int64 does not."""
    columns = table([2007, 2008, 2009])
    columns["arm"][4] = None
    for kind in ("float64", "Int64"):
        frame = pd.DataFrame(columns).astype({"arm": kind})
        result = ask(frame, missing="drop")
        assert result.names == (2007, 2008, 2009), kind


def test_files_have_texts_as_before(tmp_path: Path) -> None:
    pd.DataFrame(table([2007, 2008, 12009])).to_csv(tmp_path / "t.csv", index=False)
    assert ask(tmp_path / "t.csv").names == ("2007", "2008", "12009")


def test_a_study_of_a_frame_keeps_its_names(tmp_path: Path) -> None:
    frame = pd.DataFrame(table([2007, 2008, 12009]))
    store = tmp_path / "kabc.db"
    study = kabc.create_study("years", arms=[2007, 2008, 12009], n_clusters=2, seed=0, storage=store)
    assert study.run(frame, arm="arm", progress=False).names == (2007, 2008, 12009)
    again = kabc.load_study("years", storage=store)
    assert again.result().names == (2007, 2008, 12009)
    assert again.result().groups == ((2007, 2008), (12009,))


def test_periods_are_refused_in_one_line_with_the_cure() -> None:
    periods = pd.period_range("2007", periods=3, freq="Y")
    frame = pd.DataFrame(table(list(periods)))
    with pytest.raises(kabc.KabcError, match=r"'arm' holds periods.*astype\(str\)"):
        ask(frame)


# ------------------------------------------------------------ rows without an arm


@pytest.mark.parametrize("library", LIBRARIES)
def test_rows_without_an_arm_can_be_dropped(library: str) -> None:
    columns = table(["a", "b", "c"])
    for place in (1, 7, 100):
        columns["arm"][place] = None
    columns["heat"][7] = columns["heat"][8] = np.nan
    frame = frame_of(library, columns)
    with pytest.raises(kabc.ArmError, match=r"'arm'.* is empty in 3 of 900 rows.*missing='drop'"):
        ask(frame)
    result = ask(frame, missing="drop")
    assert result.names == ("a", "b", "c")
    assert "3 rows without an arm were dropped" in fact(result, "without an arm")
    assert "1 row dropped (heat: 1)" in fact(result, "missing values")


def test_rows_without_an_arm_in_files(tmp_path: Path) -> None:
    columns = table(["a", "b", "c"])
    columns["arm"][1] = None
    pd.DataFrame(columns).to_csv(tmp_path / "t.csv", index=False)
    pd.DataFrame(columns).to_parquet(tmp_path / "t.parquet")
    for name in ("t.csv", "t.parquet"):
        said = shell("run", name, "--arm", "arm", "--clusters", 2, "--missing", "drop", "--seed", 0, folder=tmp_path)
        assert said.code == 0, said.err
        assert "1 row without an arm was dropped" in said.out


# ------------------------------------------------------------ columns that count rows


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize(("column", "first"), [("rownames", 1), ("id", 0), ("patient", 1), ("Unnamed: 0", 0)])
def test_a_column_that_counts_rows_is_not_compared(library: str, column: str, first: int) -> None:
    frame = frame_of(library, table(["a", "b", "c"], **{column: np.arange(first, first + 3 * ROWS)}))
    result = ask(frame)
    assert result.columns == ("heat",)
    line = fact(result, repr(column), "not compared")
    assert "values=" in line
    named = ask(frame, values=["heat", column], watch=False)
    assert named.columns == ("heat", column)


@pytest.mark.parametrize("form", ["csv", "parquet", "sql"])
def test_the_same_of_files_and_queries(form: str, tmp_path: Path) -> None:
    frame = pd.DataFrame(table(["a", "b", "c"], rownames=np.arange(1, 3 * ROWS + 1)))
    if form == "sql":
        with closing(sqlite3.connect(tmp_path / "t.db")) as file:
            frame.to_sql("t", file, index=False)
        source: list[object] = ["--sql", "select * from t", "--database", "t.db"]
    else:
        frame.to_csv(tmp_path / "t.csv", index=False) if form == "csv" else frame.to_parquet(tmp_path / "t.parquet")
        source = [f"t.{form}"]
    said = shell("run", *source, "--arm", "arm", "--clusters", 2, "--seed", 0, "--json", folder=tmp_path)
    assert said.code == 0, said.err
    assert said.json["columns"] == ["heat"]
    assert any("'rownames'" in note and "not compared" in note for note in said.json["notes"])


@pytest.mark.filterwarnings("ignore:column 'load' looks like:UserWarning")
@pytest.mark.parametrize(
    "values",
    [COUNTED[::-1], np.r_[COUNTED[:-1], 7], 2 * COUNTED, COUNTED + 0.5],
    ids=["falling", "not to the end", "in steps of two", "not whole"],
)
def test_other_columns_are_compared(values: Any) -> None:
    """Only what counts all rows, one by one, is known to say nothing; the rest is doubted."""
    result = ask(pd.DataFrame(table(["a", "b", "c"], load=values)), watch=False)
    assert result.columns == ("heat", "load")


# ------------------------------------------------------------ exports and spreadsheets

HOSTILE = ["=cmd|'/C calc'!A1", "+1+1", "@SUM(1)", "-2+3", "\tx", "plain", "-1.5", "it's"]
SAFE = ["'=cmd|'/C calc'!A1", "'+1+1", "'@SUM(1)", "'-2+3", "'\tx", "plain", "-1.5", "it's"]


def test_no_cell_of_an_export_is_a_formula(tmp_path: Path) -> None:
    store = tmp_path / "kabc.db"
    study = kabc.create_study("=1+1", arms=HOSTILE, n_clusters=2, seed=0, storage=store, max_samples=160)
    texts = np.array(["=HYPERLINK(1)", "-7", "fine"])
    arms = {name: lambda n, rng: texts[rng.integers(3, size=n)] for name in HOSTILE}
    study.run(arms, progress=False)
    assert shell("study", "export", "=1+1", "t.csv", "--storage", store, folder=tmp_path).code == 0
    with serving(tmp_path, store=store) as server, server.client(server.token("read")) as guest:
        sent = guest.get("/api/studies/1/export", params={"form": "csv"}).content
    assert sent == (tmp_path / "t.csv").read_bytes()
    with (tmp_path / "t.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["arm"] for row in rows} == set(SAFE)
    assert {row["study"] for row in rows} == {"'=1+1"}
    (column,) = [name for name in rows[0] if name.startswith("value")]
    assert {row[column] for row in rows} == {"'=HYPERLINK(1)", "-7", "fine"}
    for row in rows:
        for cell in row.values():
            assert not cell.startswith(("=", "+", "@", "\t", "\r")), cell
            assert not cell.startswith("-") or float(cell) < 0


def test_numbers_of_an_export_stay_numbers_and_its_names_can_be_read_again(tmp_path: Path) -> None:
    store = tmp_path / "kabc.db"
    names = ["-a", "b", "c"]
    study = kabc.create_study("nightly", arms=names, n_clusters=2, seed=0, storage=store)
    means = dict(zip(names, (-9.0, -9.0, 0.0), strict=True))
    arms = {name: lambda n, rng, mean=mean: rng.normal(mean, 1, n) for name, mean in means.items()}
    first = study.run(arms, progress=False)
    study.export(tmp_path / "t.csv")
    study.export(tmp_path / "t.parquet")
    with (tmp_path / "t.csv").open(encoding="utf-8", newline="") as file:
        assert sum(float(row["value 1"]) < 0 for row in csv.DictReader(file)) > 10
    from_csv = ask(tmp_path / "t.csv", values="value 1")
    from_parquet = ask(tmp_path / "t.parquet", values="value 1")
    assert from_csv.names == ("'-a", "b", "c")  # with the sign that keeps a spreadsheet from computing
    assert from_parquet.names == first.names == ("-a", "b", "c")
    assert from_csv.labels == from_parquet.labels == first.labels
