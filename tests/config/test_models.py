"""One set of settings: the file, overlaid by the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kabc.config.models import Commands, Http, Sql, Table, Timings, configured, listed, pairs, plain_value
from kabc.core.errors import SettingsError

TABLE = '[table]\npath = "a.csv"\narm = "machine"\nmissing = "drop"\n'


@pytest.fixture
def study(tmp_path: Path) -> Path:
    return tmp_path / "study.toml"


def complaint(file: Path | None, **options: Any) -> str:
    with pytest.raises(SettingsError) as caught:
        configured(file, options)
    return str(caught.value)


def test_an_option_wins_over_the_file_and_the_rest_of_the_file_stays(study: Path) -> None:
    study.write_text("clusters = 3\ndelta = 0.1\n" + TABLE)
    config = configured(study, {"clusters": 2, "missing": "encode", "path": None, "delta": None})
    assert (config.clusters, config.delta) == (2, 0.1)
    assert config.source == Table(path="a.csv", arm="machine", missing="encode")


def test_a_data_file_on_the_command_line_keeps_the_columns_of_the_file(study: Path) -> None:
    study.write_text(TABLE)
    assert configured(study, {"path": "b.json"}).source == Table(path="b.json", arm="machine", missing="drop")


def test_a_source_on_the_command_line_replaces_one_of_another_kind(study: Path) -> None:
    study.write_text(TABLE)
    assert configured(study, {"run": {"a": "x", "b": "y"}}).source == Commands(run={"a": "x", "b": "y"})


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({"path": "t.json"}, Timings),
        ({"path": "t.json", "arm": "host"}, Table),
        ({"path": "t.json", "wide": True}, Table),
        ({"path": "t.csv"}, Table),
        ({"query": "select 1", "database": "x.db", "arm": "host"}, Sql),
        ({"run": {"a": "x"}, "measure": "wall", "on_failure": "encode"}, Commands),
    ],
)
def test_the_options_say_which_source_is_meant(options: dict[str, Any], kind: type) -> None:
    assert isinstance(configured(None, options).source, kind)


def test_a_file_holds_endpoints_with_prices(study: Path) -> None:
    study.write_text(
        '[http]\nprice = 0.002\nmax_spend = 5\nvalue = "choices.0.text"\nkind = "text"\nheaders = {Key = "${KEY}"}\n'
        '[http.endpoints]\none = "http://localhost/a"\ntwo = "http://localhost/b"\n'
    )
    source = configured(study, {"on_failure": "retry"}).source
    assert isinstance(source, Http)
    assert (source.price, source.max_spend, source.on_failure) == (0.002, 5.0, "retry")


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (
            "clutsers = 3\n" + TABLE,
            ["clutsers is not a known key", "did you mean 'clusters'?", "allowed: clusters, delta"],
        ),
        (TABLE + 'amr = "x"\n', ["table.amr is not a known key", "did you mean 'arm'?", "allowed: path, arm"]),
        (TABLE.replace("drop", "keep"), ["table.missing must be 'raise', 'drop' or 'encode'", "got 'keep'"]),
        ("delta = 2\n" + TABLE, ["delta must be less than or equal to 1, got 2"]),
        (TABLE + "types = {a = 'float'}\n", ["table.types.a must be 'number', 'category' or 'text', got 'float'"]),
        ("[commands.run]\na = 3\nb = 'x'\n", ["commands.run.a must be a valid string, got 3"]),
        ("[commands.run]\na = ['x', 3]\n", ["commands.run.a.1 must be a valid string, got 3"]),
        ("[commands]\nrun = {a = 'x'}\n[commands.env.a]\nx = 3\n", ["commands.env.a.x must be a valid string"]),
        ("[http.endpoints]\na = {url = 'x', boddy = 1}\n", ["http.endpoints.a.boddy is", "did you mean 'body'?"]),
        ("[http.endpoints]\na = {body = 1}\n", ["http.endpoints.a.url is missing"]),
        ("[sql]\nquery = 'q'\narm = 'a'\n", ["sql.database is missing", "--database"]),
        ("table = 3\n", ["table must be a table, [table], got 3"]),
        (TABLE + "[timings]\npath = 'x'\n", ["2 sources of arms, table and timings"]),
        ("clusters = \n", ["is not valid TOML", "line 1"]),
    ],
)
def test_a_mistake_in_the_file_names_file_key_and_what_is_allowed(study: Path, text: str, parts: list[str]) -> None:
    study.write_text(text)
    told = complaint(study)
    assert all(part in told for part in parts), told
    assert "study.toml" in told or "sources" in told
    assert "\n" not in told


def test_a_header_is_never_repeated_in_an_error(study: Path) -> None:
    study.write_text("[http]\nheaders = {key = 12345}\n[http.endpoints]\na = 'http://localhost'\n")
    assert "http.headers.key must be a valid string" in (told := complaint(study))
    assert "12345" not in told


def test_a_mistake_on_the_command_line_names_the_option(study: Path) -> None:
    study.write_text(TABLE)
    assert complaint(study, missing="keep").startswith("--missing must be 'raise', 'drop' or 'encode'")
    assert complaint(study, clusters=0).startswith("--clusters must be greater than or equal to 1, got 0")
    assert complaint(None, path="t.csv", measure="wall") == "--measure does not apply to [table]"
    assert complaint(None, query="select 1", arm="a").startswith("sql.database is missing; give --database")
    assert "nothing to draw from" in complaint(None, clusters=2)
    assert "2 sources of arms" in complaint(None, path="t.csv", run={"a": "x"})


def test_a_missing_file_is_named(study: Path) -> None:
    assert complaint(study) == f"cannot read {study}: No such file or directory"


def test_pairs_are_split_at_the_first_equals_sign() -> None:
    assert pairs("--command", ["a=x=1", "b=y"]) == {"a": "x=1", "b": "y"}
    for bad in (["a"], ["=x"], ["a="]):
        with pytest.raises(SettingsError, match="name=value"):
            pairs("--command", bad)
    with pytest.raises(SettingsError, match="names 'a' twice"):
        pairs("--command", ["a=x", "a=y"])


def test_values_of_options_are_json_where_they_can_be() -> None:
    assert [plain_value(text) for text in ("true", "3", "1.5", "arms", "[1, 2]")] == [True, 3, 1.5, "arms", [1, 2]]
    assert listed("a, b,,c") == ["a", "b", "c"]
    assert listed(None) is None
