"""Keys in headers: ${NAME} stands for a variable of the environment.

The value is read for each call and no object keeps it. It is also hidden in whatever a server answers, before that goes
into a message.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import Any

from kabc.core.errors import SettingsError

_VARIABLE = re.compile(r"\$\{(\w+)\}")


def names_variable(text: str) -> bool:
    """Whether there is a ${NAME} in the text."""
    return bool(_VARIABLE.search(text))


def read_keys(texts: Iterable[str]) -> dict[str, str]:
    """The variables that the texts name, with their current values. The caller must not keep them."""
    names = {name for text in texts for name in _VARIABLE.findall(text)}
    values = {name: os.environ.get(name, "") for name in sorted(names)}
    for name, value in values.items():
        if not value:
            raise SettingsError(f"a header needs the variable {name}, which is not set; set it: export {name}=...")
        if not (value.isascii() and value.isprintable()):
            raise SettingsError(
                f"the variable {name} of a header contains a line break or a character outside ASCII; correct it"
            )
    return values


def with_keys(text: str, keys: Mapping[str, str]) -> str:
    """The text with each ${NAME} replaced by its value."""
    return _VARIABLE.sub(lambda hole: keys[hole.group(1)], text)


def hidden(value: Any, keys: Mapping[str, str]) -> Any:
    """A JSON value with ${NAME} in place of the keys."""
    return replaced(value, {key: f"${{{name}}}" for name, key in keys.items()})


def replaced(value: Any, new: Mapping[str, str]) -> Any:
    """A JSON value with these texts replaced wherever they occur in it."""
    if isinstance(value, str):
        for old, text in new.items():
            value = value.replace(old, text)
        return value
    if isinstance(value, list | tuple):
        return [replaced(item, new) for item in value]
    if isinstance(value, Mapping):
        return {replaced(key, new): replaced(item, new) for key, item in value.items()}
    return value
