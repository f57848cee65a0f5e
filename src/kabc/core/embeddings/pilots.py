"""Features that are made from a pilot: what "how far apart" is measured with.

A pilot is a pool of samples that is never tested. The features may depend on it in any way: given the pilot they are a
fixed function of one sample, with |features| <= 1 for every sample.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kabc.core.arrays import Array
from kabc.core.embeddings.features import RandomFeatures
from kabc.core.embeddings.grid import GridFourier
from kabc.core.errors import SettingsError
from kabc.core.kernels import FiniteKernel, Gaussian, median_distance
from kabc.core.samples import as_points, expect_columns

MOST_GRID_COLUMNS = 3  # with more columns a grid has too many points: random frequencies
_TAIL = 0.005  # the outer parts of a pilot's column, beyond which values are clipped
_BEYOND = 2.0  # bandwidths from there to where values are clipped, and then to the next period


@dataclass(frozen=True, eq=False)
class PilotFeatures(FiniteKernel):
    """Features of columns that were brought to units of the bandwidth, each clipped or replaced by its rank in a pilot.

    Make one with `pilot_features`.
    """

    base: FiniteKernel  # bandwidth 1
    bandwidths: Array  # (d,), in units of the column, or of ranks
    low: Array  # (d,), values below count as this; the kernel could not tell values that are far away apart anyway
    high: Array  # (d,)
    ranks: tuple[tuple[Array, Array], ...] | None = None  # of each column: the pilot's values and their ranks
    ball: tuple[Array, float] | None = None  # centre (D,) and radius: features are moved there, see `_ball`

    @property
    def supremum(self) -> float:
        return self.base.supremum if self.ball is None else self.ball[1] ** 2

    @property
    def infimum(self) -> float:
        return self.base.infimum if self.ball is None else -(self.ball[1] ** 2)

    @property
    def characteristic(self) -> bool:
        return False

    @property
    def n_columns(self) -> int:
        """The number of columns of a sample."""
        return len(self.bandwidths)

    def features(self, x: NDArray[Any]) -> Array:  # (n, d) -> (n, D)
        expect_columns(x, self.n_columns)
        values = x if self.ranks is None else _ranked(self.ranks, x)
        scaled = (np.clip(values, self.low, self.high) - self.low) / self.bandwidths
        features = self.base.features(scaled).astype(np.float64)
        if self.ball is None:
            return features
        centre, radius = self.ball
        features -= centre
        lengths = np.sqrt(np.square(features).sum(axis=1, keepdims=True))
        return np.asarray(features * (radius / np.maximum(lengths, radius)))


def pilot_features(
    pilot: ArrayLike,
    bandwidth: float | Sequence[float] | Array | None = None,
    ranks: bool = False,
    n_features: int = 64,
    seed: int = 0,
) -> PilotFeatures:  # pilot (n, d)
    """Features of a Gaussian kernel: on a grid of frequencies for up to three columns, at random ones for more.

    Parameters
    ----------
    pilot : samples that are never tested, of all arms.
    bandwidth : one for all columns or one for each, in their units; by default `typical_bandwidths`.
    ranks : replace each value by its rank among the pilot's (from 0 to 1). Then only the order of values counts. A
        bandwidth is in units of ranks.
    n_features : the most features D.

    Examples
    --------
    >>> import numpy as np
    >>> from kabc.core.embeddings.pilots import feature_distance, pilot_features
    >>> pool = np.random.default_rng(0).normal(size=(500, 1))
    >>> phi = pilot_features(pool)
    >>> round(feature_distance(phi, pool, pool + 0.2), 3)
    0.099
    """
    points = as_points(pilot)
    tables = _rank_tables(points) if ranks else None
    values = points if tables is None else _ranked(tables, points)
    widths = _typical(values) if bandwidth is None else _widths(bandwidth, points.shape[1])
    low, high = np.zeros_like(widths), np.ones_like(widths)
    if tables is None:
        low, high = np.quantile(values, [_TAIL, 1 - _TAIL], axis=0)
        low, high = low - _BEYOND * widths, high + _BEYOND * widths
    if len(widths) > MOST_GRID_COLUMNS:
        base: FiniteKernel = RandomFeatures(Gaussian(1.0), n_features, seed)
    else:
        period = (high - low) / widths + _BEYOND
        base = GridFourier(tuple((2 * np.pi / period).tolist()), n_features)
    phi = PilotFeatures(base, widths, low, high, tables)
    return replace(phi, ball=_ball(phi.features(points), farthest(base)))


def farthest(features: FiniteKernel) -> float:
    """A bound of |phi(x) - phi(y)|, for all samples x and y, and for the average of several phi(y) as well."""
    return math.sqrt(2 * (features.supremum - features.infimum))


def feature_distance(features: FiniteKernel, x: NDArray[Any], y: NDArray[Any]) -> float:  # (n, d), (m, d)
    """|mean phi(x) - mean phi(y)|."""
    return float(np.linalg.norm(features.features(x).mean(axis=0) - features.features(y).mean(axis=0)))


def typical_bandwidths(pilot: ArrayLike, ranks: bool = False) -> Array:  # (n, d) -> (d,)
    """sqrt(d) x the median distance of two values of each column that differ: units do not matter."""
    points = as_points(pilot)
    return _typical(_ranked(_rank_tables(points), points) if ranks else points)


def _ball(features: Array, farthest_apart: float) -> tuple[Array, float] | None:  # (n, D)
    """The smallest ball around the pilot's mean that holds the pilot, if it is smaller than what is known anyway.

    Features are counted from its centre, and those outside are moved to its edge. Samples like the pilot's stay as far
    apart as they were, and 2 x radius is a better bound of all differences.
    """
    centre = features.mean(axis=0)
    radius = float(np.sqrt(np.square(features - centre).sum(axis=1).max()))
    return (centre, radius) if 0 < 2 * radius < farthest_apart else None


def _typical(values: Array) -> Array:  # (n, d) -> (d,)
    found = [median_distance(one) if np.ptp(one) > 0 else float(np.abs(one[0])) or 1.0 for one in values.T]
    return math.sqrt(values.shape[1]) * np.array(found)


def _widths(bandwidth: float | Sequence[float] | Array, columns: int) -> Array:  # -> (d,)
    widths = np.asarray(bandwidth, dtype=np.float64)
    if widths.shape not in ((), (columns,)) or not ((widths > 0) & (widths < np.inf)).all():
        raise SettingsError(
            f"bandwidth must be a positive finite number, or one for each of {columns} columns, got {bandwidth!r}"
        )
    return np.broadcast_to(widths, (columns,)).copy()


def _rank_tables(pilot: Array) -> tuple[tuple[Array, Array], ...]:  # (n, d)
    """The values of each column, and the part of the pilot below each, half of its equals included."""
    tables = []
    for column in pilot.T:
        levels, counts = np.unique(column, return_counts=True)
        tables.append((levels, (np.cumsum(counts) - counts / 2) / len(column)))
    return tuple(tables)


def _ranked(tables: tuple[tuple[Array, Array], ...], x: NDArray[Any]) -> Array:  # (m, d) -> (m, d)
    """The rank of each value, from 0 to 1; between two values of the pilot it is interpolated."""
    columns = [np.interp(x[:, j], levels, ranks, left=0.0, right=1.0) for j, (levels, ranks) in enumerate(tables)]
    return np.stack(columns, axis=1)
