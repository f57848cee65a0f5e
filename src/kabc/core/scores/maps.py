"""Feature maps for score learners. A map turns a sample into features for a linear discriminant.

A map is fitted only on samples of earlier rounds, pooled over all arms. After that it is a fixed function, so scores
made from it are predictable. To add a map, write a class with `fitted` and `__call__` and add it to `default_maps`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from kabc.core.arrays import Array, Index
from kabc.core.errors import SettingsError
from kabc.core.kernels import Gaussian, median_distance
from kabc.core.samples import describe

_FARTHEST = 20.0  # in quartile ranges: heavy tails must not dominate
_MEDIAN_POINTS = 300
_NO_DISTANCE = 1e-100  # dividing by the square of a smaller distance is not safe
_MOST_RANKS = 4096  # order statistics that ranks are taken among
_MOST_LEVELS = 24  # a column with at most this many values counts as discrete
_MOST_INDICATORS = 512  # over all columns; each round decomposes a covariance of this size
_MOST_PRODUCTS = 12  # columns: 90 features
_LEAST_RADIUS = 1e-3  # of the square of the median distance from the centre: a logarithm of 0 is not finite
_WAVES_AT_ONCE = 128  # rows; what is made of them stays in the cache of the processor
_ROWS_AT_ONCE = 1 << 14  # of blocks, whose features are averaged: memory stays small


class FeatureMap(ABC):
    """A function from samples (n, d) to features (n, D)."""

    @abstractmethod
    def fitted(self, past: Array) -> Self:  # (n, d)
        """This map, fitted on earlier samples."""

    @abstractmethod
    def __call__(self, samples: Array) -> Array:  # (n, d) -> (n, D)
        """The features."""


class Past:
    """Earlier samples as a fitted map sees them. Maps that start from the same one share this."""

    def __init__(self, base: FeatureMap, samples: Array) -> None:  # (n, d)
        self.base = base
        self._samples = samples

    @cached_property
    def _some(self) -> Array:
        n = len(self._samples)
        if n <= _MEDIAN_POINTS:
            return self.base(self._samples)
        return self.base(self._samples[np.linspace(0, n - 1, _MEDIAN_POINTS).astype(int)])

    @property
    def columns(self) -> int:
        """The number of features."""
        return int(self._some.shape[1])

    @cached_property
    def typical(self) -> float:
        """The median distance between the features of two samples, 1 if all are the same."""
        return median_distance(self._some) if np.ptp(self._some, axis=0).max() > _NO_DISTANCE else 1.0

    @cached_property
    def radius(self) -> float:
        """The median length of the features of a sample, 1 if it is 0."""
        length = float(np.median(np.sqrt(np.square(self._some).sum(axis=1))))
        return length if length > _NO_DISTANCE else 1.0


class Derived(FeatureMap):
    """A map that starts from the features of another one."""

    base: FeatureMap

    @abstractmethod
    def fitted_on(self, past: Past) -> Self:
        """This map, fitted on earlier samples as its base sees them."""

    @abstractmethod
    def of(self, values: Array) -> Array:  # (n, D') -> (n, D)
        """The features, from those of the base."""

    def fitted(self, past: Array) -> Self:
        return self.fitted_on(Past(self.base.fitted(past), past))

    def __call__(self, samples: Array) -> Array:
        return self.of(self.base(samples))


# The helpers below are no inner functions: one that calls itself is garbage in a circle, and would keep all features of
# a call in memory until Python looks for such circles.


def all_fitted(maps: Sequence[FeatureMap], past: Array) -> tuple[FeatureMap, ...]:  # (n, d)
    """These maps, fitted on earlier samples. A map that several start from is fitted once."""
    known: dict[int, Past] = {}
    return tuple(_fitted(one, past, known).base for one in maps)


def _fitted(one: FeatureMap, past: Array, known: dict[int, Past]) -> Past:  # (n, d)
    if id(one) not in known:
        fitted = one.fitted_on(_fitted(one.base, past, known)) if isinstance(one, Derived) else one.fitted(past)
        known[id(one)] = Past(fitted, past)
    return known[id(one)]


def all_features(maps: Sequence[FeatureMap], samples: Array) -> tuple[Array, ...]:  # (n, d) -> (n, D) each
    """The features of each map. A map that several start from is computed once."""
    known: dict[int, Array] = {}
    return tuple(_features(one, samples, known) for one in maps)


def _features(one: FeatureMap, samples: Array, known: dict[int, Array]) -> Array:  # (n, d) -> (n, D)
    if id(one) not in known:
        known[id(one)] = one.of(_features(one.base, samples, known)) if isinstance(one, Derived) else one(samples)
    return known[id(one)]


@dataclass(frozen=True)
class Scaled(FeatureMap):
    """The columns, scaled by median and quartile range. It finds differences of means."""

    centre: Array = field(default_factory=lambda: np.zeros(1))  # (d,), half the median
    scale: Array = field(default_factory=lambda: np.full(1, 0.5))  # (d,), half the quartile range

    def fitted(self, past: Array) -> Self:
        halves = past / 2  # of finite numbers: their differences are finite
        low, centre, high = _quartiles(halves)
        spread = high - low
        if not spread.all():  # columns whose middle half is one value
            spread = np.where(spread > 0, spread, _deviations(halves - centre))
        return replace(self, centre=centre, scale=np.where(spread > 0, spread, 1.0))

    def __call__(self, samples: Array) -> Array:
        with np.errstate(over="ignore"):  # an overflow is clipped to the farthest value
            return np.clip((samples / 2 - self.centre) / self.scale, -_FARTHEST, _FARTHEST)


def _quartiles(values: Array) -> tuple[Array, Array, Array]:  # (n, d) -> (d,) each
    """The three of them, as `np.quantile` has them."""
    last = len(values) - 1
    places = [(int(share * last), share * last % 1) for share in (0.25, 0.5, 0.75)]
    ordered = np.partition(values, sorted({at for low, _ in places for at in (low, min(low + 1, last))}), axis=0)

    def quartile(low: int, part: float) -> Array:
        below, above = ordered[low], ordered[min(low + 1, last)]
        return below + (above - below) * part if part < 0.5 else above - (above - below) * (1 - part)

    first, second, third = (quartile(*place) for place in places)
    return first, second, third


def _deviations(away: Array) -> Array:  # (n, d) -> (d,)
    """The root of the mean square of each column, which may be huge or tiny."""
    farthest = np.abs(away).max(axis=0)
    farthest = np.where(farthest > 0, farthest, 1.0)
    return np.asarray(farthest * np.sqrt(np.square(away / farthest).mean(axis=0)))


@dataclass(frozen=True)
class Ranks(FeatureMap):
    """Normal scores of the columns among earlier samples. Scale and tails have no effect.

    Of more than 4,096 earlier samples it keeps that many order statistics, evenly spaced. It is fitted on the past
    alone either way, so scores made from it stay predictable.
    """

    past: Array = field(default_factory=lambda: np.zeros((1, 1)))  # (at most 4,096, d), columns in order

    def fitted(self, past: Array) -> Self:
        ordered = np.sort(past, axis=0)
        if len(past) > _MOST_RANKS:
            ordered = ordered[np.linspace(0, len(past) - 1, _MOST_RANKS).round().astype(int)]
        return replace(self, past=np.asfortranarray(ordered))  # searched column by column

    def __call__(self, samples: Array) -> Array:
        from scipy.special import ndtri

        out = np.empty(samples.shape)
        for column, (known, values) in enumerate(zip(self.past.T, samples.T, strict=True)):
            out[:, column] = known.searchsorted(values, "left") + known.searchsorted(values, "right")
        return np.asarray(ndtri((out / 2 + 0.5) / (len(self.past) + 1)))


@dataclass(frozen=True)
class Fourier(Derived):
    """Random Fourier features of a Gaussian kernel on another map. The bandwidth is scale x median distance."""

    base: FeatureMap
    scale: float
    n_features: int = 128
    waves: Array = field(default_factory=lambda: np.zeros((1, 1)))  # (d, D/2), half of the frequencies

    def fitted_on(self, past: Past) -> Self:
        waves = _waves(past.columns, self.n_features) / (2 * self.scale * past.typical)
        return replace(self, base=past.base, waves=waves)

    def of(self, values: Array) -> Array:
        # With t = tan(x / 2): cos x = 2 / (1 + t^2) - 1 and sin x = t 2 / (1 + t^2), exact to the last digit of 1.
        # numpy has a fast tangent, but no fast sine and cosine.
        half = self.waves.shape[1]
        features, length = np.empty((len(values), 2 * half)), 1 / math.sqrt(half)
        for start in range(0, len(values), _WAVES_AT_ONCE):
            rows = slice(start, start + _WAVES_AT_ONCE)
            tangents = values[rows] @ self.waves
            np.tan(tangents, out=tangents)
            parts = tangents * tangents
            parts += 1.0
            np.divide(2 * length, parts, out=parts)
            np.subtract(parts, length, out=features[rows, :half])
            np.multiply(tangents, parts, out=features[rows, half:])
        return features


@lru_cache(maxsize=16)
def _waves(columns: int, n_features: int) -> Array:  # (d, D/2)
    """Frequencies at bandwidth 1."""
    made = Gaussian(1.0).frequencies(n_features // 2, columns, np.random.default_rng([columns, n_features])).T
    made.setflags(write=False)  # every map has the same
    return made


@dataclass(frozen=True)
class Products(Derived):
    """Another map with all products of two of its features. It finds differences of correlations and variances."""

    base: FeatureMap

    def fitted_on(self, past: Past) -> Self:
        return replace(self, base=past.base)

    def of(self, values: Array) -> Array:
        i, j = _two_of(values.shape[1])
        return np.concatenate([values, values[:, i] * values[:, j]], axis=1)


@lru_cache(maxsize=16)
def _two_of(columns: int) -> tuple[Index, Index]:
    """All choices of two columns, the same one twice included."""
    return np.triu_indices(columns)


@dataclass(frozen=True)
class Radius(Derived):
    """Log distance from the centre of earlier samples, as another map sees it. It finds differences of spread.

    The other map has its centre at 0. Near the centre distances count as a thirtieth of the median distance.
    """

    base: FeatureMap
    least: float = _LEAST_RADIUS  # the square of it

    def fitted_on(self, past: Past) -> Self:
        return replace(self, base=past.base, least=_LEAST_RADIUS * past.radius**2)

    def of(self, values: Array) -> Array:
        return np.asarray(np.log(np.square(values).sum(axis=1, keepdims=True) + self.least) / 2)


@dataclass(frozen=True)
class Levels(FeatureMap):
    """Counts of categories: one indicator for each value of each column with few different values."""

    levels: tuple[tuple[int, float], ...] = ()

    def fitted(self, past: Array) -> Self:
        most = min(_MOST_LEVELS, len(past) // 2)  # values of a continuous column do not repeat
        ordered = np.sort(past, axis=0)
        steps = np.count_nonzero(ordered[1:] != ordered[:-1], axis=0)  # from one value to the next
        found: list[tuple[int, int, float]] = []
        for column in np.flatnonzero((steps > 0) & (steps < most)).tolist():
            levels, counts = np.unique(past[:, column], return_counts=True)
            found += [(-min(n, len(past) - n), column, x) for x, n in zip(levels.tolist(), counts, strict=True)]
        # if there are too many, keep those that split the samples most evenly
        return replace(self, levels=tuple((column, value) for _, column, value in sorted(found)[:_MOST_INDICATORS]))

    def __call__(self, samples: Array) -> Array:
        if not self.levels:
            return np.zeros((len(samples), 1))
        columns, values = zip(*self.levels, strict=True)
        return np.asarray(samples[:, list(columns)] == np.array(values), dtype=np.float64)


@dataclass(frozen=True)
class Custom(FeatureMap):
    """Your own function from samples (n, d) to features (n, D). It must be fixed beforehand and work row by row."""

    function: Callable[[NDArray[Any]], NDArray[Any]]

    def fitted(self, past: Array) -> Self:
        return self

    def __call__(self, samples: Array) -> Array:
        features = np.asarray(self.function(samples), dtype=np.float64)
        if features.ndim != 2 or len(features) != len(samples) or not features.size or not np.isfinite(features).all():
            raise SettingsError(
                f"a feature map must return finite features of shape ({len(samples)}, D), one row for each sample, got "
                f"{describe(features)} of shape {features.shape}"
            )
        return features


@dataclass(frozen=True)
class Averaged(FeatureMap):
    """The features of another map, averaged over a block. A sample is a block: `length` rows, one after the other.

    Examples
    --------
    >>> import numpy as np
    >>> from kabc.core.scores.maps import Averaged, Custom
    >>> Averaged(Custom(np.square), length=3)(np.array([[1.0, 2.0, 2.0], [3.0, 0.0, 0.0]]))
    array([[3.],
           [3.]])
    """

    base: FeatureMap
    length: int

    def fitted(self, past: Array) -> Self:  # (n, L d)
        return replace(self, base=self.base.fitted(self._rows(past)))

    def __call__(self, samples: Array) -> Array:  # (n, L d) -> (n, D)
        step = max(1, _ROWS_AT_ONCE // self.length)
        parts = [samples[start : start + step] for start in range(0, len(samples), step)]
        return np.concatenate([self._means(part) for part in parts])

    def _means(self, samples: Array) -> Array:
        features = self.base(self._rows(samples))
        return np.asarray(features.reshape(len(samples), self.length, -1).mean(axis=1))

    def _rows(self, samples: Array) -> Array:  # (n, L d) -> (n L, d)
        return samples.reshape(len(samples) * self.length, -1)


def default_maps(columns: int) -> tuple[FeatureMap, ...]:
    """Maps that need no tuning: linear, ranks, shapes at two bandwidths, categories.

    In low dimension also products; in high dimension, where there would be too many, the distance from the centre.
    """
    scaled, ranks = Scaled(), Ranks()
    maps: list[FeatureMap] = [scaled, ranks]
    maps += [Fourier(base, scale) for scale in (1.0, 1 / 3) for base in (scaled, ranks)]
    maps.append(Products(ranks if columns <= _MOST_PRODUCTS else Radius(ranks)))
    maps.append(Levels())
    return tuple(maps)
