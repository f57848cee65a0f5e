"""Keys of a call: ${NAME} stands for a variable of the environment.

The value is read for each call and no object keeps it. It is also hidden in whatever a server answers, before that goes
into a message. Objects that hold a key show no value of it: a traceback may print local variables.
"""

from __future__ import annotations

import base64
import binascii
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from kabc.arms.http.prompts import PROMPT
from kabc.core.errors import SettingsError
from kabc.core.secrets import MARK, SHORTEST, hide_as, is_secret_name, looks_secret

_VARIABLE = re.compile(r"\$\{(\w+)\}")
# in a body: "$${NAME}" stands for "${NAME}" itself, and ${prompt} is a prompt after a dollar sign
_HOLE = re.compile(r"\$(?P<literal>\$\{(?!prompt\})\w+\})|\$\{(?!prompt\})(?P<name>\w+)\}|" + re.escape(PROMPT))
_SCHEMES = re.compile(r"^\s*(Bearer|Basic|Token|ApiKey|Digest)\s+", re.IGNORECASE)
_LONG = 8  # characters of a key that is never an answer


class LiteralKeyWarning(UserWarning):
    """A key is written out in a header."""


class Keys(Mapping[str, str]):
    """The keys of one call: variables by name, and those that are written out. Its text shows no value."""

    __slots__ = ("_literals", "_values")

    def __init__(self, names: Iterable[str], literals: Iterable[str] = ()) -> None:
        self._values = {name: os.environ.get(name, "") for name in sorted(set(names))}
        self._literals = tuple(literals)

    def __repr__(self) -> str:
        return f"Keys({', '.join(self._values)})"

    def __getitem__(self, name: str) -> str:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    @property
    def marks(self) -> dict[str, str]:
        """What stands in a message for each key."""
        written = {key: MARK for key in self._literals if len(key) >= SHORTEST}
        return written | _marks_of(self)

    def check(self, name: str, *, in_header: bool) -> None:
        """Refuse a variable that is not set, or that no header can hold."""
        where = "a header" if in_header else "the body"
        if not self[name]:
            raise SettingsError(f"{where} needs the variable {name}, which is not set; set it: export {name}=...")
        if in_header and not (self[name].isascii() and self[name].isprintable()):
            raise SettingsError(
                f"the variable {name} of a header contains a line break or a character outside ASCII; correct it"
            )


class Sent(dict[str, Any]):
    """The arguments of httpx for one call. Its text shows no value."""

    def __repr__(self) -> str:
        return f"Sent({', '.join(self)})"


def names_variable(text: str) -> bool:
    """Whether there is a ${NAME} in the text."""
    return bool(_VARIABLE.search(text))


def read_keys(headers: Iterable[str], body: Any = None, literals: Iterable[str] = ()) -> Keys:
    """The variables that headers and body name, with their current values. The caller must not keep them."""
    in_headers = {name for text in headers for name in _VARIABLE.findall(text)}
    in_body = {hole["name"] for text in _texts(body) for hole in _HOLE.finditer(text) if hole["name"]}
    keys = Keys(in_headers | in_body, literals)
    for name in keys:
        keys.check(name, in_header=name in in_headers)
    return keys


def with_keys(text: str, keys: Mapping[str, str]) -> str:
    """The text with each ${NAME} replaced by its value."""
    return _VARIABLE.sub(lambda hole: keys[hole.group(1)], text)


def filled_body(body: Any, prompt: str, keys: Mapping[str, str]) -> Any:
    """A JSON value with the prompt and the keys in their places. A ${NAME} in a prompt stays as it is."""

    def fill(hole: re.Match[str]) -> str:
        if hole["literal"]:
            return hole["literal"]
        return keys[hole["name"]] if hole["name"] else prompt

    return _mapped(body, lambda text: _HOLE.sub(fill, text))


def hidden(value: Any, keys: Mapping[str, str]) -> Any:
    """A JSON value with ${NAME} in place of the keys."""
    marks = keys.marks if isinstance(keys, Keys) else _marks_of(keys)
    return _mapped(value, lambda text: hide_as(text, marks)) if marks else value


def without_long(text: str, keys: Mapping[str, str]) -> str:
    """The text without whole keys that no answer has by chance."""
    for key in keys.marks if isinstance(keys, Keys) else keys.values():
        text = text.replace(key, MARK) if len(key) >= _LONG else text
    return text


def literal_keys(headers: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Headers in which a key is written out, with that key in the forms in which a server may quote it."""
    found = {}
    for name, text in headers.items():
        rest = _VARIABLE.sub("", _SCHEMES.sub("", text)).strip()
        if rest and (is_secret_name(name) or looks_secret(_VARIABLE.sub("", text))):
            found[name] = tuple(dict.fromkeys([text, rest, *_parts(rest)]))
    return found


def _parts(text: str) -> Iterator[str]:
    """The values of a cookie; user, password and key of basic authorization."""
    for part in re.split(r"[;,\s]+", text):
        yield part.partition("=")[2] or part
    try:
        decoded = base64.b64decode(text, validate=True).decode()
    except (binascii.Error, ValueError):
        return
    yield decoded
    yield decoded.partition(":")[2]


def _marks_of(keys: Mapping[str, str]) -> dict[str, str]:
    return {key: f"${{{name}}}" for name, key in keys.items()}


def _texts(value: Any) -> Iterator[str]:
    """All texts in a JSON value."""
    found: list[str] = []
    _mapped(value, lambda text: found.append(text) or text)  # type: ignore[func-returns-value]
    return iter(found)


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    """A JSON value with every text in it changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list | tuple):
        return [_mapped(item, change) for item in value]
    if isinstance(value, Mapping):
        return {_mapped(key, change): _mapped(item, change) for key, item in value.items()}
    return value
