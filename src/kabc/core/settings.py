"""Checks of single settings: the value as a plain number, or an error with the value and what is allowed."""

from __future__ import annotations

import math
from numbers import Integral, Real

from kabc.core.errors import SettingsError

_SMALLEST_DELTA = 1e-200  # its share of a pair in a round is still a number
_MOST_ARMS = 10**8  # far beyond what fits into memory
_MOST_SHOWN = 10**100
_LONGEST = 200  # characters of a value in an error


def whole_number(name: str, value: object, least: int, most: int | None = None) -> int:
    """The setting as an int, or an error with its range."""
    whole = int(value) if isinstance(value, Integral) and not isinstance(value, bool) else None
    if whole is None or whole < least or (most is not None and whole > most):
        bounds = f"at least {least}" if most is None else f"from {least} to {most}"
        raise SettingsError(f"{name} must be a whole number {bounds}, got {_brief(value)}")
    return whole


def arms_number(value: object) -> int:
    """N >= 2, and not more than arrays can number."""
    n_arms = whole_number("n_arms", value, 2)
    if n_arms > _MOST_ARMS:
        raise SettingsError(f"n_arms must be at most {_MOST_ARMS:,}, got {_brief(value)}; compare fewer arms at a time")
    return n_arms


def expect_several_groups(n_clusters: object) -> None:
    """Refuse K = 1: its answer is certain without a sample, and says nothing about the arms."""
    if n_clusters == 1:
        raise SettingsError(
            "n_clusters=1 leaves nothing to test: every answer would be one group; to ask whether arms differ, leave "
            "n_clusters out; max_samples limits how much is drawn"
        )


def error_probability(value: object) -> float:
    """Delta in (0, 1]: the paper allows 1."""
    delta = _as_float(value)
    if not 0 < delta <= 1:
        raise SettingsError(f"delta must lie in (0, 1], got {_brief(value)}; 0.05 means wrong in at most 5 of 100 uses")
    if delta < _SMALLEST_DELTA:
        raise SettingsError(
            f"delta must be at least {_SMALLEST_DELTA:g}, got {value!r}; its shares would be rounded to 0"
        )
    return delta


def positive_number(name: str, value: object, above: float = 0.0) -> float:
    """A finite number greater than `above`."""
    number = _as_float(value)
    if not above < number < math.inf:
        raise SettingsError(f"{name} must be a finite number greater than {above:g}, got {_brief(value)}")
    return number


def _as_float(value: object) -> float:
    """The number, NaN where it is none, and infinity where it is too large."""
    if not isinstance(value, Real) or isinstance(value, bool):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _brief(value: object) -> str:
    """The value as Python writes it; a number of more digits than anybody reads is cut."""
    if isinstance(value, Integral) and abs(int(value)) >= _MOST_SHOWN:
        return "a number of more than 100 digits"
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def yes_or_no(name: str, value: object) -> bool:
    """True or False, and nothing that merely acts like them."""
    if not isinstance(value, bool):
        raise SettingsError(f"{name} must be True or False, got {_brief(value)}")
    return value
