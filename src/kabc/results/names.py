"""Names of arms in JSON: texts, numbers, true, false, null and tuples come back as they were, all others as texts."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any

from kabc.results.name_forms import Name, ObjectName, TupleName

_DEEPEST = 8  # tuples within tuples
_OF_PYTHON = (type(None), str, bool, int, float, tuple)


def packed_name(name: Hashable) -> Any:
    """A name as JSON has it. One that would read in another way when it comes back is written as a text."""
    try:
        plain = _plain(name)
        if str(plain) == str(name):
            return _coded(plain)
    except TypeError:  # JSON has nothing like it
        pass
    return {"text": str(name), "type": type(name).__qualname__}


def _plain(name: Any, depth: int = 0) -> Hashable:
    """The name in types of Python that have a form in JSON; TypeError if there is none."""
    if type(name) not in _OF_PYTHON:
        import numpy as np  # a look at a study does without it

        name = name.item() if isinstance(name, np.generic) else name
    if name is None or type(name) in (str, bool, int) or (type(name) is float and math.isfinite(name)):
        known: Hashable = name
        return known
    if type(name) is tuple and depth < _DEEPEST:
        return tuple(_plain(part, depth + 1) for part in name)
    raise TypeError(f"{name!r} has no form in JSON")


def _coded(plain: Any) -> Any:
    return {"tuple": list(map(_coded, plain))} if isinstance(plain, tuple) else plain


def key_of(name: Name) -> str:
    """The name as a text, as Python writes it."""
    return name.text if isinstance(name, ObjectName) else str(_value(name))


def name_of(name: Name, key: str) -> Hashable:
    """The name with its type; `key` for what comes back as a text."""
    return key if isinstance(name, ObjectName) else _value(name)


def _value(name: Name) -> Hashable:
    if isinstance(name, TupleName):
        return tuple(map(_value, name.tuple))
    return name.text if isinstance(name, ObjectName) else name


def distinct(names: list[Hashable]) -> tuple[Hashable, ...]:
    """The names, if no two are equal."""
    seen: set[Hashable] = set()
    for name in names:
        if name in seen:
            raise ValueError(f"names: {name!r} is the name of two arms")
        seen.add(name)
    return tuple(names)
