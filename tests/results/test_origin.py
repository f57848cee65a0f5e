"""Where an answer comes from, in Python."""

from __future__ import annotations

import dataclasses
import sqlite3
from pathlib import Path

import pytest

import kabc
from kabc.arms.commands import command_arms
from kabc.arms.http import http_arms
from kabc.arms.sql import sql_arms
from kabc.results.origin import Origin, day_and_time
from tests.report.examples import full_result

ROWS = "host,seconds\n" + "a,1\nb,9\n" * 60


def test_functions_have_a_date_and_a_version_but_no_source_and_no_command() -> None:
    origin = kabc.cluster({"a": [0.1] * 60, "b": [0.9] * 60}, n_clusters=2, seed=0).origin
    assert origin is not None
    assert (origin.source, origin.command, origin.version) == ("", "", kabc.__version__)
    assert origin.date.endswith("+00:00")


def test_a_table_says_which_file_it_was(tmp_path: Path) -> None:
    path = tmp_path / "hosts.csv"
    path.write_text(ROWS, encoding="utf-8")
    origin = kabc.cluster(path, arm="host", n_clusters=2, seed=0).origin
    assert origin is not None
    assert origin.source == str(path)


def test_queries_commands_and_addresses_are_sources_without_their_keys(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "runs.db") as database:
        database.execute("create table runs (host text, seconds real)")
        database.execute("insert into runs values ('a', 1.0), ('a', 1.5), ('b', 2.0), ('b', 2.5)")
    database.close()
    query = "select * from runs"
    assert sql_arms(query, str(tmp_path / "runs.db"), arm="host").source == f"{tmp_path / 'runs.db'}: {query}"
    assert command_arms({"x": ["echo", "1 2"], "y": "echo 3"}).source == "x: echo; y: echo"
    addresses = {f"e{i}": f"http://me:word@127.0.0.{i + 1}/{i}" for i in range(9)}
    source = http_arms(addresses).source
    assert source.startswith("http://127.0.0.1, http://127.0.0.2, ")
    assert source.endswith("http://127.0.0.6 and 3 more")


def test_it_is_saved_and_loaded_and_does_not_make_answers_different(tmp_path: Path) -> None:
    result = full_result([0, 1, 0], origin=Origin("2026-01-31T09:30:00+00:00", "x.csv", "kabc run x.csv", "9.9"))
    result.save(tmp_path / "saved.json")
    loaded = kabc.load_result(tmp_path / "saved.json")
    assert loaded.origin == result.origin
    assert loaded == result == dataclasses.replace(result, origin=None)


@pytest.mark.parametrize(
    ("date", "shown"),
    [
        ("2026-01-31T09:30:59+00:00", "2026-01-31 09:30 UTC"),
        ("2026-01-31T23:30:00-02:00", "2026-02-01 01:30 UTC"),
        ("2026-01-31T09:30:00", "2026-01-31 09:30"),
        ("yesterday", "yesterday"),
    ],
)
def test_dates_read_as_people_write_them(date: str, shown: str) -> None:
    assert day_and_time(date) == shown
