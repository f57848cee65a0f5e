"""Tolerances that this strategy can measure."""

from __future__ import annotations

from kabc.core.errors import SettingsError
from kabc.core.tolerances import QuantileTolerance, Tolerance


def by_distance(tolerance: Tolerance | QuantileTolerance) -> Tolerance:
    """A tolerance that is a distance of distributions, not of single quantiles."""
    if isinstance(tolerance, QuantileTolerance):
        raise SettingsError(f"tolerance {tolerance.words} is about quantiles; use the strategy for quantiles")
    return tolerance


def default_columns(count: int) -> tuple[str, ...]:
    """Names of columns that have none."""
    return ("value",) if count == 1 else tuple(f"column {i + 1}" for i in range(count))
