"""Checks of settings that several kinds of arms share."""

from __future__ import annotations

import math
from collections.abc import Sequence

from kabc.core.errors import SettingsError
from kabc.core.samples import describe


def expect(right: bool, name: str, value: object, wanted: str) -> None:
    """Refuse a setting that is not what is wanted."""
    if not right:
        raise SettingsError(f"{name} must be {wanted}, got {describe(value)}")


def is_whole(value: object) -> bool:
    """Whether it is an int; True and False do not count."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_positive(value: object) -> bool:
    """Whether it is a finite number above 0."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf


def column_names(columns: Sequence[str] | None) -> tuple[str, ...] | None:
    """The names of the columns, checked."""
    if columns is None:
        return None
    right = not isinstance(columns, str) and len(set(columns)) == len(columns) > 0 and "failed" not in columns
    expect(right, "columns", columns, "different names, one for each number of a sample, none of them 'failed'")
    return tuple(columns)
