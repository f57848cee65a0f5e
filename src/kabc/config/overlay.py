"""One set of settings: a TOML file, with options laid over it."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from kabc.config.complaints import complaint_about
from kabc.config.consent import doubt_about, expect_consent
from kabc.config.errors import ConfigError
from kabc.config.models import SECTIONS, Config
from kabc.core.settings import expect_several_groups

# options that belong to the table of the source, whichever it is
_OF_SECTION = (
    "arm",
    "values",
    "wide",
    "types",
    "missing",
    "order",
    "where",
    "measure",
    "timeout",
    "warmup",
    "on_failure",
)


def configured(file: Path | None, options: Mapping[str, Any], *, source_needed: bool = True) -> Config:
    """The settings of a file, with options laid over them; an option that is None was not given.

    What a file that is not the user's own would run, send, write or ask needs the option "allow_commands".
    """
    given = {key: value for key, value in options.items() if value is not None}
    data, doubt = ({}, "") if file is None else _read(file)
    kind = _source_kind(data, given)
    own = {key: value for key, value in data.items() if key not in given}
    if kind is not None:
        data = {key: value for key, value in data.items() if key not in SECTIONS or key == kind}
        section, typed = _table_of(data, kind, file), _section(given, kind)
        own[kind] = {key: value for key, value in section.items() if key not in typed}
        data[kind] = section | typed
    data |= {key: given[key] for key in given if key in Config.model_fields}
    try:
        config = Config.model_validate(data)
    except ValidationError as error:
        raise ConfigError(complaint_about(error.errors(), data, given, file)) from None
    if kind is None and source_needed:  # not earlier: a key of the file may be misspelt
        raise ConfigError(
            "nothing to draw from; give a data file, --sql with --database, --command name=..., or --config"
        )
    expect_several_groups(config.clusters)
    if file is not None and not given.get("allow_commands"):
        expect_consent(config, own, file, doubt)
    return config


def _read(file: Path) -> tuple[dict[str, Any], str]:
    """What a file says, and why others may have written it, if so."""
    try:
        with file.open("rb") as opened:
            return tomllib.load(opened), doubt_about(file, opened.fileno())
    except OSError as error:
        raise ConfigError(f"cannot read {file}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} is not valid TOML: {error}") from error


def _source_kind(data: Mapping[str, Any], given: Mapping[str, Any]) -> str | None:
    """The one source: that of the options if they name one, else that of the file."""
    named = {"sql": "query" in given or ("database" in given and "sql" not in data), "commands": "run" in given}
    if "path" in given:
        timings = given["path"].endswith(".json") and not ({"arm", "wide"} & given.keys() or "table" in data)
        named["timings" if timings else "table"] = True
    asked = [kind for kind, is_named in named.items() if is_named]
    kinds = asked or [kind for kind in SECTIONS if kind in data]
    if len(kinds) > 1:
        where = "the command line" if asked else "the file"
        raise ConfigError(f"{where} gives {len(kinds)} sources of arms, {' and '.join(kinds)}; leave one")
    return kinds[0] if kinds else None


def _table_of(data: Mapping[str, Any], kind: str, file: Path | None) -> dict[str, Any]:
    section = data.get(kind, {})
    if not isinstance(section, dict):
        raise ConfigError(f"{file}: {kind} must be a table, [{kind}], got {section!r}")
    return section


def _section(given: Mapping[str, Any], kind: str) -> dict[str, Any]:
    own = {"table": ("path",), "timings": ("path",), "sql": ("query", "database"), "commands": ("run",), "http": ()}
    return {key: given[key] for key in (*own[kind], *_OF_SECTION) if key in given}


def pairs(option: str, given: Sequence[str]) -> dict[str, str]:
    """name=value, each name once."""
    found: dict[str, str] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name or not value:
            raise ConfigError(f"{option} takes name=value, got {text!r}")
        if name in found:
            raise ConfigError(f"{option} names {name!r} twice; names must differ")
        found[name] = value
    return found


def listed(given: str | None) -> list[str] | None:
    """Names separated by commas."""
    return None if given is None else [name for part in given.split(",") if (name := part.strip())]


def plain_value(text: str) -> Any:
    """true, 3, 1.5, [1, 2] as JSON; anything else is text."""
    try:
        return json.loads(text)
    except ValueError:
        return text
