"""Tolerances side by side: multiples of one that was said, or round ones that suit the values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kabc.core.arrays import Array
from kabc.core.tolerances.quantiles import QuantileTolerance
from kabc.core.tolerances.tolerance import ByExample, KernelDistance, Tolerance
from kabc.core.tolerances.units import OUTLIERS

FACTORS = (0.5, 1.0, 2.0, 5.0)
IN_PERCENT = ("0.5%", "1%", "2%", "5%", "10%", "20%", "50%")
IN_DEVIATIONS = ("0.05 sd", "0.1 sd", "0.2 sd", "0.5 sd", "1 sd")
_MOST_OUTLIERS, _LARGEST_DISTANCE = 50.0, 1.0
_MODERATE = (0.02, 2.0)  # standard deviation over the mean: per cent mean something to people


def multiples(tolerance: Tolerance | QuantileTolerance) -> list[Tolerance | QuantileTolerance]:
    """Half of it, itself, twice and five times it, as far as these are tolerances; of a function only itself."""
    return [one for factor in FACTORS if (one := _times(tolerance, factor)) is not None]


def _times(tolerance: Tolerance | QuantileTolerance, factor: float) -> Tolerance | QuantileTolerance | None:
    if factor == 1:
        return tolerance
    if isinstance(tolerance, QuantileTolerance):
        return replace(tolerance, sizes=tuple(factor * size for size in tolerance.sizes))
    if isinstance(tolerance, KernelDistance):
        eps = tolerance.eps * factor
        return KernelDistance(eps) if eps <= _LARGEST_DISTANCE else None
    if not isinstance(tolerance, ByExample):
        return None
    for part in tolerance.parts:
        most = _MOST_OUTLIERS if part.unit is OUTLIERS else part.unit.largest
        if not part.unit.smallest <= part.size * factor <= most:
            return None
    return replace(tolerance, parts=tuple(part.times(factor) for part in tolerance.parts))


def round_ones(pool: Array) -> tuple[str, ...]:  # (n, d)
    """Round tolerances, from small to large: in per cent where all values are positive and vary moderately."""
    values = np.asarray(pool, dtype=np.float64)
    if not (values > 0).all():
        return IN_DEVIATIONS
    with np.errstate(over="ignore", invalid="ignore"):
        varies = values.std(axis=0) / values.mean(axis=0)
    low, high = _MODERATE
    return IN_PERCENT if ((varies >= low) & (varies <= high)).all() else IN_DEVIATIONS
