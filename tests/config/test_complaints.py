"""A mistake in the settings is told in one line: key, value, what is allowed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kabc.config.errors import ConfigError
from kabc.config.overlay import configured

TABLE = '[table]\npath = "a.csv"\narm = "machine"\nmissing = "drop"\n'


@pytest.fixture
def study(tmp_path: Path) -> Path:
    return tmp_path / "study.toml"


def complaint(file: Path | None, **options: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        configured(file, options)
    return str(caught.value)


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


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[sql]\nquery = 'q'\narm = 'a'\ndatabase = ['hidden-word']\n", "sql.database must be a valid string"),
        ("delta = 'sk-hidden-word'\n" + TABLE, "delta must be a valid number, unable to parse string as a number"),
        ("clusters = 'https://me:hidden-word@host'\n" + TABLE, "clusters must be a valid integer"),
        ("clusters = 'host=x password=hidden-word'\n" + TABLE, "clusters must be a valid integer"),
        (
            "[http]\nbody = {api_key = 'hidden-word'}\nrate = {token = 'hidden-word'}\n",
            "http.rate must be a valid number",
        ),
        ("[http]\nrate = [{x = 'Bearer hidden-word'}]\n", "http.rate must be a valid number"),
        ("[commands]\nenv = {KEY = ['hidden-word']}\n[commands.run]\na = 'x'\n", "commands.env.KEY must be"),
    ],
)
def test_what_looks_like_a_key_is_never_repeated_in_an_error(study: Path, text: str, told: str) -> None:
    study.write_text(text + ("[http.endpoints]\na = 'http://localhost'\n" if "[http]" in text else ""))
    said = complaint(study)
    assert told in said
    assert "hidden-word" not in said


def test_a_mistake_on_the_command_line_names_the_option(study: Path) -> None:
    study.write_text(TABLE)
    assert complaint(study, missing="keep").startswith("--missing must be 'raise', 'drop' or 'encode'")
    assert complaint(study, clusters=0).startswith("--clusters must be greater than or equal to 1, got 0")
    assert complaint(None, path="t.csv", measure="wall") == "--measure does not apply to [table]"
    assert complaint(None, query="select 1", arm="a").startswith("sql.database is missing; give --database")
    assert "nothing to draw from" in complaint(None, clusters=2)
    assert "2 sources of arms" in complaint(None, path="t.csv", run={"a": "x"})
