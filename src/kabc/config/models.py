"""What a run is told: a TOML file, overlaid by options of the command line, checked by one set of models."""

from __future__ import annotations

import difflib
import json
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from kabc.core.errors import SettingsError

Kind = Literal["number", "category", "text"]
Missing = Literal["raise", "drop", "encode"]
OnFailure = Literal["raise", "retry", "encode"]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Table(_Strict):
    """[table]: a file with one row a sample, or one column an arm."""

    path: str | list[str]
    arm: str | None = None
    values: list[str] | None = None
    wide: bool = False
    types: dict[str, Kind] = {}
    missing: Missing = "raise"


class Sql(_Strict):
    """[sql]: the rows of a query."""

    query: str
    database: str
    arm: str
    values: list[str] | None = None
    types: dict[str, Kind] = {}
    missing: Missing = "raise"


class Timings(_Strict):
    """[timings]: a file that hyperfine, pytest-benchmark or Google Benchmark has written."""

    path: str


class Commands(_Strict):
    """[commands]: one shell command an arm, under [commands.run]."""

    run: dict[str, str | list[str]] = Field(min_length=1)
    measure: Literal["wall", "cpu", "rss", "output"] = "output"
    json_path: str | None = None
    columns: list[str] | None = None
    warmup: int = Field(default=1, ge=0)
    timeout: float = Field(default=60.0, gt=0)
    env: dict[str, str | dict[str, str]] | None = None
    cwd: str | None = None
    on_failure: OnFailure = "raise"
    retries: int = Field(default=3, ge=0)


class Endpoint(_Strict):
    """An address; method, headers and body where they differ from the others."""

    url: str
    method: str | None = None
    headers: dict[str, str] = {}
    body: Any = None


def _with_url(given: Any) -> Any:
    return {"url": given} if isinstance(given, str) else given


class Http(_Strict):
    """[http]: one address an arm, under [http.endpoints]."""

    endpoints: dict[str, Annotated[Endpoint, BeforeValidator(_with_url)]] = Field(min_length=1)
    method: str = "POST"
    headers: dict[str, str] | None = None
    body: Any = None
    prompts: str | list[str] | None = None
    value: str | None = None
    kind: Literal["number", "text", "latency"] = "number"
    columns: list[str] | None = None
    concurrency: int = Field(default=4, ge=1)
    rate: float | None = Field(default=None, gt=0)
    timeout: float = Field(default=60.0, gt=0)
    warmup: int | None = Field(default=None, ge=0)
    price: float = Field(default=0.0, ge=0)
    max_spend: float | None = Field(default=None, gt=0)
    on_failure: OnFailure = "raise"
    retries: int = Field(default=3, ge=0)


class Config(_Strict):
    """Everything that `kabc run` and `kabc plan` can be told. Exactly one source of arms."""

    clusters: int | None = Field(default=None, ge=1)
    delta: float = Field(default=0.05, gt=0, le=1)
    strategy: str | None = None
    options: dict[str, Any] = {}
    max_samples: int | None = Field(default=None, ge=1)
    min_separation: float | None = Field(default=None, gt=0)
    pilot: int | None = Field(default=None, ge=2)
    seed: int | None = Field(default=None, ge=0)
    workers: int = Field(default=1, ge=1)
    save: str | None = None
    report: str | None = None
    table: Table | None = None
    sql: Sql | None = None
    timings: Timings | None = None
    commands: Commands | None = None
    http: Http | None = None

    @property
    def source(self) -> Table | Sql | Timings | Commands | Http | None:
        """Where the arms come from."""
        return self.table or self.sql or self.timings or self.commands or self.http


_SECTIONS: dict[str, type[BaseModel]] = {
    "table": Table,
    "sql": Sql,
    "timings": Timings,
    "commands": Commands,
    "http": Http,
}
# options of the command line that belong to the section of the source, whichever it is
_OF_SECTION = ("arm", "values", "wide", "types", "missing", "measure", "on_failure")
_OPTION = {"path": "a data file", "query": "--sql", "run": "--command", "options": "--option"}


def configured(file: Path | None, options: Mapping[str, Any], *, source_needed: bool = True) -> Config:
    """The settings of a file, with options of the command line (None: not given) laid over them."""
    given = {key: value for key, value in options.items() if value is not None}
    data = {} if file is None else _read(file)
    kind = _source_kind(data, given)
    if kind is None and source_needed:
        raise SettingsError(
            "nothing to draw from; give a data file, --sql with --database, --command name=..., or --config"
        )
    if kind is not None:
        data = {key: value for key, value in data.items() if key not in _SECTIONS or key == kind}
        data[kind] = _table_of(data, kind, file) | _section(given, kind)
    data |= {key: given[key] for key in given if key in Config.model_fields}
    try:
        config = Config.model_validate(data)
    except ValidationError as error:
        raise SettingsError(_told(error.errors(), data, given, file)) from None
    if config.clusters == 1:
        from kabc.core.settings import expect_several_groups

        expect_several_groups(config.clusters)
    return config


def _read(file: Path) -> dict[str, Any]:
    try:
        with file.open("rb") as opened:
            return tomllib.load(opened)
    except OSError as error:
        raise SettingsError(f"cannot read {file}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{file} is not valid TOML: {error}") from error


def _source_kind(data: Mapping[str, Any], given: Mapping[str, Any]) -> str | None:
    """The one source: of the command line if it names one, else of the file."""
    named = {"sql": "query" in given or ("database" in given and "sql" not in data), "commands": "run" in given}
    if "path" in given:
        timings = given["path"].endswith(".json") and not ({"arm", "wide"} & given.keys() or "table" in data)
        named["timings" if timings else "table"] = True
    asked = [kind for kind, is_named in named.items() if is_named]
    kinds = asked or [kind for kind in _SECTIONS if kind in data]
    if len(kinds) > 1:
        where = "the command line" if asked else "the file"
        raise SettingsError(f"{where} gives {len(kinds)} sources of arms, {' and '.join(kinds)}; leave one")
    return kinds[0] if kinds else None


def _table_of(data: Mapping[str, Any], kind: str, file: Path | None) -> dict[str, Any]:
    section = data.get(kind, {})
    if not isinstance(section, dict):
        raise SettingsError(f"{file}: {kind} must be a table, [{kind}], got {section!r}")
    return section


def _section(given: Mapping[str, Any], kind: str) -> dict[str, Any]:
    own = {"table": ("path",), "timings": ("path",), "sql": ("query", "database"), "commands": ("run",), "http": ()}
    return {key: given[key] for key in (*own[kind], *_OF_SECTION) if key in given}


def _told(errors: Sequence[ErrorDetails], data: dict[str, Any], given: Mapping[str, Any], file: Path | None) -> str:
    """The first complaint in one line: where, what, and what is allowed."""
    first = _path(errors[0], data)
    # each alternative of a union complains; the one that got deepest is the one that was meant
    alike = [error for error in errors if _path(error, data)[: len(first)] == first]
    error = max(alike, key=lambda one: len(_path(one, data)))
    path = _path(error, data)
    key, at_top = path[-1], len(path) == 1
    by_option = key in given and len(path) <= 2 and at_top == (key in Config.model_fields)
    option = _OPTION.get(key, "--" + key.replace("_", "-"))
    where = option if by_option else f"{file}: {'.'.join(path)}" if file else ".".join(path)
    more = f" ({len(errors) - len(alike)} more after this)" if len(errors) > len(alike) else ""
    return f"{where} {_complaint(error, path, option, by_option)}{more}"


def _path(error: ErrorDetails, data: Any) -> list[str]:
    """The keys of the data that lead to the error; names of alternatives in a union are left out."""
    path: list[str] = []
    for part in error["loc"]:
        known = part in data if isinstance(data, Mapping) else isinstance(data, list) and isinstance(part, int)
        if known or error["type"] == "missing":
            path.append(str(part))
        if known:
            data = data[part]
    return path


def _complaint(error: ErrorDetails, path: list[str], option: str, by_option: bool) -> str:
    if error["type"] == "extra_forbidden":
        if by_option:
            return f"does not apply to [{path[0]}]"
        return "is not a known key; " + _allowed(path)
    if error["type"] == "missing":
        return f"is missing; give {option}, or {path[-1]} in [{path[0]}] of the --config file"
    reason = error["msg"].replace("Input should be", "must be")
    secret = {"headers", "env"} & set(path)  # where keys may stand
    value = "" if secret else f", got {error['input']!r}"
    return reason + value


def _allowed(path: list[str]) -> str:
    model = Endpoint if "endpoints" in path[:-1] else _SECTIONS[path[0]] if len(path) > 1 else Config
    names = list(model.model_fields)
    close = difflib.get_close_matches(path[-1], names, n=1)
    return (f"did you mean {close[0]!r}? " if close else "") + f"allowed: {', '.join(names)}"


def pairs(option: str, given: Sequence[str]) -> dict[str, str]:
    """name=value, each name once."""
    found: dict[str, str] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name or not value:
            raise SettingsError(f"{option} takes name=value, got {text!r}")
        if name in found:
            raise SettingsError(f"{option} names {name!r} twice; names must differ")
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
