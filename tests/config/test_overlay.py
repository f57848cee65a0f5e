"""One set of settings: the file, overlaid by the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kabc.config.errors import ConfigError
from kabc.config.models import Commands, Http, Sql, Table, Timings
from kabc.config.overlay import configured, listed, pairs, plain_value
from kabc.core.errors import SettingsError

TABLE = '[table]\npath = "a.csv"\narm = "machine"\nmissing = "drop"\n'


@pytest.fixture
def study(tmp_path: Path) -> Path:
    return tmp_path / "study.toml"


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


def test_a_missing_file_is_named(study: Path) -> None:
    with pytest.raises(ConfigError, match=rf"^cannot read {study}: No such file or directory$"):
        configured(study, {})


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


def test_a_plan_needs_no_source() -> None:
    assert configured(None, {"clusters": 2}, source_needed=False).source is None


def test_one_group_is_refused_where_it_is_read(study: Path) -> None:
    study.write_text("clusters = 1\n" + TABLE)
    with pytest.raises(SettingsError, match="n_clusters=1 leaves nothing to test"):
        configured(study, {})
