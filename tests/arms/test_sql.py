"""Queries: SQLite, DuckDB and a real PostgreSQL give the same arms as a table; errors hide passwords."""

from __future__ import annotations

import sqlite3
import traceback
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import psycopg
import pytest

from kabc.arms.base import Arm
from kabc.arms.sql import database_file, sql_arms
from kabc.arms.tables import table_arms
from kabc.core.arrays import Array
from kabc.core.errors import ArmError, KabcError, SampleError, SettingsError
from kabc.testing import ArmConformance

ROWS = [(f"host{number % 3}", number / 7, "even" if number % 2 else "odd") for number in range(90)]
QUERY = "SELECT host, latency, parity FROM runs ORDER BY latency"


@pytest.fixture
def sqlite(tmp_path: Path) -> str:
    with sqlite3.connect(tmp_path / "runs.db") as connection:
        connection.execute("CREATE TABLE runs (host TEXT, latency REAL, parity TEXT)")
        connection.executemany("INSERT INTO runs VALUES (?, ?, ?)", ROWS)
    connection.close()
    return f"sqlite:///{tmp_path / 'runs.db'}"


@pytest.fixture
def duck(tmp_path: Path) -> str:
    with duckdb.connect(str(tmp_path / "runs.duckdb")) as connection:
        connection.execute("CREATE TABLE runs (host VARCHAR, latency DOUBLE, parity VARCHAR)")
        places = ", ".join(["(?, ?, ?)"] * len(ROWS))
        connection.execute(f"INSERT INTO runs VALUES {places}", [value for row in ROWS for value in row])
    return str(tmp_path / "runs.duckdb")


@pytest.fixture(scope="session")
def filled(postgres: str) -> str:
    with psycopg.connect(postgres) as connection:
        connection.execute("CREATE TABLE runs (host text, latency double precision, parity text)")
        connection.cursor().executemany("INSERT INTO runs VALUES (%s, %s, %s)", ROWS)
    return postgres


def drawn(arm: Arm, n: int) -> Array:
    return np.asarray(arm.draw(n, np.random.default_rng(0)))


def expected() -> Array:
    import polars as pl

    frame = pl.DataFrame(ROWS, schema=["host", "latency", "parity"], orient="row")
    return drawn(table_arms(frame, arm="host", seed=5)["host1"], 30)


def test_a_query_of_sqlite_is_a_table(sqlite: str) -> None:
    arms = sql_arms(QUERY, sqlite, arm="host", seed=5)
    assert list(arms) == ["host0", "host1", "host2"]
    assert arms.notes[0] == "columns: latency: number; parity: category"
    assert np.array_equal(drawn(arms["host1"], 30), expected())


def test_ids_of_64_bits_name_different_arms(tmp_path: Path) -> None:
    ids = [2**60, 2**60 + 1]  # equal as doubles
    with sqlite3.connect(tmp_path / "ids.db") as connection:
        connection.execute("CREATE TABLE runs (id INTEGER, x REAL)")
        connection.executemany("INSERT INTO runs VALUES (?, ?)", [(one, float(i)) for one in ids for i in range(3)])
    connection.close()
    arms = sql_arms("SELECT * FROM runs", str(tmp_path / "ids.db"), arm="id")
    assert {name: arm.remaining for name, arm in arms.items()} == {str(one): 3 for one in ids}


@pytest.mark.parametrize("prefix", ["", "duckdb:///"])
def test_a_query_of_duckdb_is_a_table(duck: str, prefix: str) -> None:
    arms = sql_arms(QUERY + "; -- all", prefix + duck, arm="host", seed=5)
    assert np.array_equal(drawn(arms["host1"], 30), expected())


@pytest.mark.parametrize("database", ["duckdb:///:memory:", "duckdb:", ":memory:"])
def test_a_query_over_files_needs_no_database(duck: str, tmp_path: Path, database: str) -> None:
    with duckdb.connect(duck) as connection:
        connection.execute(f"COPY runs TO '{tmp_path / 'runs.parquet'}'")
    arms = sql_arms(QUERY.replace("runs", f"'{tmp_path / 'runs.parquet'}'"), database, arm="host", seed=5)
    assert np.array_equal(drawn(arms["host1"], 30), expected())
    assert database_file(database) is None
    with pytest.raises(SettingsError, match=r"the database refuses the query: .*no_such\.parquet"):
        sql_arms("SELECT * FROM 'no_such.parquet'", database, arm="host")


def test_a_query_of_postgresql_is_a_table(filled: str) -> None:
    arms = sql_arms(QUERY, filled, arm="host", seed=5)
    assert np.array_equal(drawn(arms["host1"], 30), expected())


def test_rows_of_postgresql_are_streamed_by_a_cursor_on_the_server(filled: str) -> None:
    query = "SELECT host, (SELECT count(*) FROM pg_cursors) AS cursors FROM runs"
    assert drawn(sql_arms(query, filled, arm="host")["host0"], 3).tolist() == [[1.0]] * 3


def test_numbers_times_and_booleans_of_postgresql_keep_their_type(filled: str) -> None:
    query = """SELECT host, latency::numeric(10, 3) AS price, latency::int AS whole, latency > 5 AS late,
        timestamptz '1970-01-01 02:00:00+01:00' AS moment, NULLIF(latency > 5, false)::int AS sometimes FROM runs"""
    arms = sql_arms(query, filled, arm="host", types={"moment": "number"}, missing="encode")
    shown = arms.notes[0]
    assert "price: number" in shown and "whole: number" in shown and "late: category" in shown
    assert "sometimes: number" in shown
    assert (drawn(arms["host0"], 30)[:, arms.columns.index("moment")] == 3600).all()


def test_a_percent_sign_and_a_colon_in_a_query_mean_themselves(sqlite: str, filled: str) -> None:
    for database in (sqlite, filled):
        query = "SELECT host, latency FROM runs WHERE host LIKE 'host%' AND host <> ' :none' AND host <> '%s'"
        assert len(sql_arms(query, database, arm="host")) == 3


def test_more_rows_than_a_chunk_and_late_values_arrive_whole(tmp_path: Path) -> None:
    path = tmp_path / "long.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (a TEXT, x, y)")
        rows = ((str(i % 2), i, None if i < 15_000 else i / 3) for i in range(25_001))
        connection.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
    connection.close()
    arms = sql_arms("SELECT * FROM t", f"sqlite:///{path}", arm="a", values=["x", "y"], missing="drop")
    both = np.concatenate([drawn(arm, arm.remaining or 0) for arm in arms.values()])
    assert sorted(both[:, 0].tolist()) == list(range(15_000, 25_001))
    assert np.array_equal(both[:, 1], both[:, 0] / 3)
    assert "15,000 rows dropped (y: 15,000)" in arms.notes[1]


@pytest.mark.parametrize("statement", ["DELETE FROM runs", "DROP TABLE runs", "INSERT INTO runs SELECT * FROM runs"])
def test_a_query_cannot_change_the_database(sqlite: str, duck: str, filled: str, statement: str) -> None:
    for database in (sqlite, duck, filled):
        with pytest.raises(SettingsError, match="refuses the query"):
            sql_arms(statement, database, arm="host")
        assert sql_arms(QUERY, database, arm="host")["host0"].remaining == 30


@pytest.mark.parametrize("query", ["SELEC host FROM runs", "SELECT * FROM nothing", "SELECT 1; SELECT 2", ""])
def test_wrong_sql_is_refused_in_one_line(sqlite: str, duck: str, filled: str, query: str) -> None:
    for database in (sqlite, duck, filled):
        with pytest.raises(SettingsError, match="refuses the query") as caught:
            sql_arms(query, database, arm="host")
        assert "\n" not in str(caught.value)


def test_wrong_columns_are_refused(sqlite: str, duck: str, filled: str) -> None:
    for database in (sqlite, duck, filled):
        with pytest.raises(SettingsError, match="did you mean 'host'"):
            sql_arms(QUERY, database, arm="hst")
        with pytest.raises(SettingsError, match="same name: 'latency', 'latency'"):
            sql_arms("SELECT host, latency, latency FROM runs", database, arm="host")
        with pytest.raises(SampleError, match="'parity' is declared a number but holds 'odd'"):
            sql_arms(QUERY, database, arm="host", types={"parity": "number"})
        with pytest.raises(ArmError, match="no rows"):
            sql_arms(QUERY.replace("ORDER", "WHERE false ORDER"), database, arm="host")


def test_a_password_is_in_no_message(filled: str) -> None:
    word = "hidden-word"
    wrong: list[tuple[str, str]] = [
        (QUERY, filled.replace(word, "wrong-" + word)),
        (QUERY, filled.replace("/postgres", "/elsewhere")),
        (QUERY, f"postgresql://postgres:{word}@127.0.0.1:1/postgres"),
        (f"SELECT {word}", filled),
        (QUERY, f"strange://me:{word}@host/x"),
        (QUERY, f"postgresql//me:{word}@host/x"),
    ]
    for query, database in wrong:
        with pytest.raises(KabcError) as caught:
            sql_arms(query, database, arm="host")
        error: BaseException | None = caught.value
        while error is not None:
            assert "wrong-" not in str(error)
            assert word not in str(error)
            error = error.__cause__


@pytest.mark.parametrize(
    "database",
    [
        "postgresql://127.0.0.1:1/x?user=me&password=hidden-word",
        "postgresql://127.0.0.1:1/x?sslmode=disable&sslpassword=hidden-word&sslkey=none",
        "postgresql://127.0.0.1:1/x?password=hidden%2Dword",
        "strange://host/x?user=me&password=hidden-word",
        "mysql://host/x?passwd=hidden-word",  # its driver is not installed
    ],
)
def test_a_password_behind_the_question_mark_is_in_no_message(database: str) -> None:
    with pytest.raises(KabcError) as caught:
        sql_arms(QUERY, database, arm="host")
    said = "".join(traceback.format_exception(caught.value))
    assert "hidden-word" not in said
    assert "hidden%2Dword" not in said


def test_an_unreachable_database_is_named(tmp_path: Path) -> None:
    with pytest.raises(ArmError, match=r"cannot reach database postgresql\+psycopg://me:\*\*\*@127.0.0.1:1/x"):
        sql_arms(QUERY, "postgresql://me:secret@127.0.0.1:1/x", arm="host")
    for missing in (f"sqlite:///{tmp_path}/none.db", f"{tmp_path}/none.duckdb"):
        with pytest.raises(SettingsError, match="there is no database"):
            sql_arms(QUERY, missing, arm="host")
        assert list(tmp_path.iterdir()) == []  # nor is it made
    (tmp_path / "no.duckdb").write_text("no database")
    with pytest.raises(ArmError, match="cannot open database"):
        sql_arms(QUERY, str(tmp_path / "no.duckdb"), arm="host")
    with pytest.raises(SettingsError, match="not a file or URL that can be opened; write it like"):
        sql_arms(QUERY, "somewhere", arm="host")


class TestSqlArm(ArmConformance):
    @pytest.fixture(autouse=True)
    def _fill(self, sqlite: str) -> None:
        self.make: Callable[[], Arm] = lambda: sql_arms(QUERY, sqlite, arm="host")["host0"]

    def make_arm(self) -> Arm:
        return self.make()
