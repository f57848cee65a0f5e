"""How a mistake in the settings is told: in one line, with the key, the value, and what is allowed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic_core import ErrorDetails

from kabc.config.models import SECTIONS, Config, Endpoint
from kabc.core.secrets import is_secret_name, looks_secret, url_secrets
from kabc.core.words import did_you_mean

# keys that are spelled in another way on the command line
_OPTION = {"path": "a data file", "query": "--sql", "run": "--command", "options": "--option"}


def complaint_about(
    errors: Sequence[ErrorDetails], data: dict[str, Any], given: Mapping[str, Any], file: Path | None
) -> str:
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
    return f"{where} {_what(error, path, option, by_option)}{more}"


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


def _what(error: ErrorDetails, path: list[str], option: str, by_option: bool) -> str:
    if error["type"] == "extra_forbidden":
        if by_option:
            return f"does not apply to [{path[0]}]"
        return "is not a known key; " + _allowed(path)
    if error["type"] == "missing":
        return f"is missing; give {option}, or {path[-1]} in [{path[0]}] of the --config file"
    reason = error["msg"].replace("Input should be", "must be")
    may_hold_keys = {"headers", "env", "database"} & set(path) or any(map(is_secret_name, path))
    return reason if may_hold_keys or _secret(error["input"]) else f"{reason}, got {error['input']!r}"


def _secret(value: Any) -> bool:
    """Whether a value of any type holds what looks like a key or a password."""
    if isinstance(value, Mapping):
        return any(is_secret_name(str(key)) or _secret(part) for key, part in value.items())
    if isinstance(value, list):
        return any(map(_secret, value))
    return isinstance(value, str) and (looks_secret(value) or bool(url_secrets(value)))


def _allowed(path: list[str]) -> str:
    model = Endpoint if "endpoints" in path[:-1] else SECTIONS[path[0]] if len(path) > 1 else Config
    names = list(model.model_fields)
    return f"{did_you_mean(path[-1], names)}allowed: {', '.join(names)}"
