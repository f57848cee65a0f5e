"""What sameness of quantiles costs: about how many samples of each arm Quantile KABC takes, from a pilot.

An estimate, no promise (benchmarks/tolerance_price.py shows how good it is).

| symbol | here        | meaning                                                                                      |
|--------|-------------|----------------------------------------------------------------------------------------------|
| u      |             | min(p, 1 - p), the part of the samples beyond a quantile                                     |
| q'(p)  | `_slope`    | how fast a quantile grows with p, in units of the tolerance: all that the price depends on   |
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from kabc.core.arrays import Array, Index
from kabc.core.errors import SettingsError
from kabc.core.evidence.quantiles import SIDES
from kabc.core.tolerances import QuantileTolerance
from kabc.strategies.tolerance.quantile_pairs import price, scaled, told_after

_TAIL = 0.1  # quantiles with less beyond them have the slope of an exponential tail
_TIMES = 4.0  # as many samples beyond a quantile are looked at, where it is in a tail
_FEWEST = 5  # samples that a slope is estimated from


def samples_of_arms(
    pilot: Sequence[Array], tolerance: QuantileTolerance, labels: Index, delta: float
) -> Array:  # N arrays (n_i, 1), (N,) -> (N,)
    """About how many samples of each arm a run takes if these are the groups."""
    tolerance.check(np.concatenate(pilot))
    level = math.log(len(pilot) * len(tolerance.names) * SIDES / delta)
    n_groups = int(labels.max()) + 1
    pools = [_pool(pilot, labels, group) for group in range(n_groups)]
    slopes = [_slopes(pool, tolerance) for pool in pools]
    at = [scaled(np.quantile(pool, tolerance.probabilities), tolerance) for pool in pools]
    counts = np.zeros(len(pilot))
    for group in range(n_groups):
        others = (
            _between(tolerance, level, np.maximum(slopes[group], slopes[other]), np.abs(at[group] - at[other]))
            for other in range(n_groups)
            if other != group
        )
        size = int(np.count_nonzero(labels == group))
        equal = price(tolerance, level, slopes[group], _noise(size)).max() if size > 1 else 0.0
        counts[labels == group] = max(equal, *others, 0.0)
    return np.asarray(np.ceil(counts))


def _pool(pilot: Sequence[Array], labels: Index, group: int) -> Array:  # -> (n,)
    """The sorted samples of a group."""
    own = [rows[:, 0] for rows, label in zip(pilot, labels.tolist(), strict=True) if label == group]
    return np.sort(np.concatenate(own))


def _between(tolerance: QuantileTolerance, level: float, slopes: Array, apart: Array) -> float:  # (Q,), (Q,)
    """Samples until two arms of different groups have a verdict: told apart by one quantile, or all are the same."""
    told = float(told_after(tolerance, level, slopes, apart).min())
    if not (apart < 1).all():
        return told
    return min(told, float((price(tolerance, level, slopes) / np.square(1 - apart)).max()))


def _noise(n_equal: int) -> float:
    """How far apart the estimates of an arm and of the farthest of its group are, in standard errors of one.

    The range of so many normal values is about twice their largest one; an arm itself is 0.8 from the middle.
    """
    from scipy.special import ndtri

    largest = float(ndtri((n_equal - 0.375) / (n_equal + 0.25)))
    return min(2 * largest, largest + 0.8)


def _slopes(pool: Array, tolerance: QuantileTolerance) -> Array:  # (n,) -> (Q,)
    return np.array([_slope(pool, tolerance, place) for place in range(len(tolerance.names))])


def _slope(pool: Array, tolerance: QuantileTolerance, place: int) -> float:  # (n,)
    p = tolerance.probabilities[place]
    beyond = min(p, 1 - p)
    needed = math.ceil(round(_FEWEST / (_TIMES * beyond), 6))
    if len(pool) < needed:
        raise SettingsError(
            f"tolerance {tolerance.words}: a pilot of {len(pool):,} samples of a group says too little of "
            f"{tolerance.names[place]}; take a larger pilot, {needed:,} samples of a group at least"
        )
    values = np.broadcast_to(pool[:, None], (len(pool), len(tolerance.names)))
    in_units = scaled(values, tolerance)[:, place]
    if beyond > _TAIL:
        low, high = np.quantile(in_units, [p - beyond / 2, p + beyond / 2])
        return float(high - low) / beyond
    count = math.ceil(_TIMES * beyond * len(pool))
    tail = in_units[-count:] - in_units[-count] if p > 0.5 else in_units[count - 1] - in_units[:count]
    return float(tail.mean()) / beyond  # an exponential tail: q(1 - u) = a - b log u, and b is its mean excess
