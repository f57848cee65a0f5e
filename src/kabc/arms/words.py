"""Values and names as messages show them."""

from __future__ import annotations

from collections.abc import Iterable

_LONGEST = 200  # characters of a value from outside
_MOST_NAMES = 30


def cut(value: object) -> str:
    """A value from outside, on one line and not long."""
    text = " ".join((value if isinstance(value, str) else repr(value)).split())
    return repr(text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "...")


def listed(names: Iterable[str], most: int = _MOST_NAMES) -> str:
    """Names with commas between them, and how many more there are."""
    shown = [repr(name) for name in names]
    return ", ".join(shown[:most]) + (f" and {len(shown) - most} more" if len(shown) > most else "")
