"""Pages that are never written by hand: commands and options, settings of a TOML file, fields of the JSON form.

Each has a page in docs/reference with its title. What the code says itself is added when the site is built.
"""

from __future__ import annotations

import re
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import typer
import typer.main
from pydantic_core import PydanticUndefined
from typer.cli import get_docs_for_click  # what `typer kabc.cli.app utils docs` prints

from kabc.cli.app import app as kabc_app
from kabc.config.models import SECTIONS, Config, Endpoint
from kabc.results.schema import json_schema

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic.fields import FieldInfo
    from sphinx.application import Sphinx

_WHOLE = 1_000  # characters
_HEAD = "| {} | what it may be | {} |\n|---|---|---|\n"
_LIMITS = {"ge": "at least", "gt": "more than", "le": "at most", "min_length": "entries: at least"}
_KINDS = {str: "text", int: "whole number", float: "number", bool: "true or false", Any: "anything"}
_JSON_KINDS = {"string": "text", "integer": "whole number", "boolean": "true or false"}


def commands() -> str:
    """All commands with their options, as `--help` has them."""
    command = typer.main.get_command(kabc_app)
    made = get_docs_for_click(obj=command, ctx=typer.Context(command), name="kabc")
    _title, text = made.split("\n", 1)
    for name, cut, whole in _summaries(command):
        text = text.replace(f"* `{name}`: {cut}\n", f"* `{name}`: {whole}\n")
    text = re.sub(r"(?m)^(Example|By URL): (.+)$", r"\1: `\2`", text)
    return text.replace("```console\n$ ", "```text\n")  # a usage is no command to be typed


def _summaries(group: Any) -> Iterator[tuple[str, str, str]]:
    """Each command with its summary, as it is cut for a terminal, and whole."""
    for name, command in getattr(group, "commands", {}).items():
        yield name, command.get_short_help_str(), command.get_short_help_str(_WHOLE)
        yield from _summaries(command)


def settings() -> str:
    """The tables of a configuration file with their keys."""
    top = {name: about for name, about in Config.model_fields.items() if name not in SECTIONS}
    parts = ["## At the top of the file\n\n" + _keys(top)]
    tables: dict[str, type[BaseModel]] = {**SECTIONS, "http.endpoints.NAME": Endpoint}
    for name, model in tables.items():
        words = (model.__doc__ or "").split(": ", 1)[-1]
        parts.append(f"## `[{name}]`\n\n{words[0].upper()}{words[1:]}\n\n{_keys(model.model_fields)}")
    return "\n".join(parts)


def _keys(fields: Mapping[str, FieldInfo]) -> str:
    rows = [f"| `{name}` | {_cell(_type(about))} | {_default(about)} |\n" for name, about in fields.items()]
    return _HEAD.format("key", "default") + "".join(rows)


def _type(about: FieldInfo) -> str:
    limits = [
        f"{words} {getattr(limit, name)}"
        for limit in about.metadata
        for name, words in _LIMITS.items()
        if hasattr(limit, name)
    ]
    return ", ".join([_spoken(about.annotation), *limits])


def _spoken(kind: Any) -> str:
    if kind in _KINDS:
        return _KINDS[kind]
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Literal:
        return ", ".join(f"`{part}`" for part in parts)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(_spoken(part) for part in parts if part is not type(None))
    if origin is list:
        return f"list of {_spoken(parts[0])}"
    if origin is dict:
        return f"table, each value: {_spoken(parts[1])}"
    if origin is typing.Annotated:
        return _spoken(parts[0])
    return "an address, or a table as below" if kind is Endpoint else "table"


def _default(about: FieldInfo) -> str:
    if about.default is PydanticUndefined:
        return "must be given"
    if about.default is None:
        return ""
    return f"`{str(about.default).lower() if isinstance(about.default, bool) else about.default}`"


def fields() -> str:
    """The fields of a saved answer."""
    schema = json_schema()
    parts = ["## The document\n\n" + _properties(schema)]
    for name, part in schema["$defs"].items():
        if "properties" in part:
            parts.append(f"## {name}\n\n{part.get('description', '')}\n\n{_properties(part)}")
    return "\n".join(parts)


def _properties(schema: Mapping[str, Any]) -> str:
    needed = set(schema.get("required", ()))
    rows = []
    for name, about in schema["properties"].items():
        star = "" if name in needed else " (may be missing)"
        rows.append(f"| `{name}`{star} | {_cell(_form(about))} | {_cell(about.get('description', ''))} |\n")
    return _HEAD.format("field", "meaning") + "".join(rows)


def _form(about: Mapping[str, Any]) -> str:
    if "$ref" in about:
        name = about["$ref"].rsplit("/", 1)[1]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in about:
        return " or ".join(dict.fromkeys(_form(part) for part in about["anyOf"]))
    if "enum" in about or "const" in about:
        return ", ".join(f"`{value}`" for value in about.get("enum", [about.get("const")]))
    kind = about.get("type", "anything")
    if isinstance(kind, list):
        return " or ".join(_form({"type": one}) for one in kind)
    if kind == "array":
        return f"list of {_form(about['items'])}" if "items" in about else "list"
    if kind == "object" and isinstance(about.get("additionalProperties"), Mapping):
        return f"object, each value: {_form(about['additionalProperties'])}"
    return _JSON_KINDS.get(kind, str(kind))


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


PAGES: dict[str, Callable[[], str]] = {
    "reference/commands": commands,
    "reference/settings": settings,
    "reference/result": fields,
}


def _add(app: Sphinx, docname: str, source: list[str]) -> None:
    if docname in PAGES:
        source[0] = f"{source[0]}\n\n{PAGES[docname]()}"


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx. The pages are made again in every build, because they depend on code."""
    app.connect("source-read", _add)
    app.connect("env-get-outdated", lambda app, env, added, changed, removed: list(PAGES))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
