"""Quantiles of all arms, compared in units of the tolerance: evidence, margins, and what is still needed.

| symbol  | here         | meaning                                                                                     |
|---------|--------------|---------------------------------------------------------------------------------------------|
| [L, U]  | `intervals`  | hold all quantiles at all times together, (N, Q, 2)                                         |
| t       | `scaled`     | x / tolerance, or log x / log(1 + tolerance) for a ratio: two arms within it are 1 apart    |
| d_ij    | `apart`      | estimated difference, in units of the tolerance                                             |
| h_ij    | `needed`     | what d must exceed: the parts of both intervals that lie between the two estimates          |
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kabc.core.arrays import Array, Counts, Mask
from kabc.core.evidence.quantiles import QuantileBets, quantile_margins
from kabc.core.evidence.verdicts import QuantileVerdicts, Verdicts
from kabc.core.tolerances import QuantileTolerance
from kabc.core.words import named

_EXTRA = 2.0  # a look at any time costs about as much as this much more log(1/alpha) (docs/theory.md, 24.1)
_NOISE = 2.0  # standard errors that the worst of several pairs is off, in forecasts
_LEAST = 1e-12  # of a threshold: estimates may leave running intervals by a little
TIMES = "times the tolerance"


@dataclass(frozen=True, eq=False)
class QuantilePairs:
    """All pairs after a round."""

    tolerance: QuantileTolerance
    level: float  # log(1/alpha) of each side of an interval
    intervals: Array  # (N, Q, 2)
    estimates: Array  # (N, Q)
    counts: Counts  # (N,)

    @classmethod
    def of(cls, bets: QuantileBets, tolerance: QuantileTolerance, level: float) -> QuantilePairs:
        """What the samples say so far."""
        return cls(tolerance, level, bets.intervals(level), bets.estimates(), bets.counts)

    # ------------------------------------------------------------ what is proven

    def same(self) -> Mask:  # (N, N)
        """Pairs whose quantiles all differ by at most their tolerances."""
        return quantile_margins(self.intervals, self.tolerance.ratios).same(self.tolerance.limits)

    def different(self) -> Mask:  # (N, N)
        """Pairs of which some quantile is not equal: its intervals have no point in common."""
        low, high = self.intervals[..., 0], self.intervals[..., 1]  # (N, Q)
        over = (low[:, None] > high).any(axis=-1)
        return np.asarray(over | over.T)

    def margins(self, also: QuantilePairs | None = None) -> tuple[QuantileVerdicts, ...]:
        """How far apart each quantile of each pair is, at most and at least.

        `also`: intervals that prove only how far the worst quantile of a pair is, in units of its tolerance.
        """
        found, said = quantile_margins(self.intervals, self.tolerance.ratios), self.tolerance
        if also is not None:
            found = found._replace(same_within=np.minimum(found.same_within, also.worst()))
        scales = np.where(said.ratios, 100.0, 1.0)
        return tuple(
            QuantileVerdicts(
                name=name,
                tolerance=said.sizes[place],
                unit="%" if said.relative[place] else f"(in the unit of {named(said.column)})",
                same_within=scales[place] * found.same_within[place],
                apart_at_least=scales[place] * found.apart_at_least[place],
                estimates=self.estimates[:, place],
            )
            for place, name in enumerate(said.names)
        )

    def worst(self) -> Array:  # (Q, N, N)
        """Margins from above that are the same for all quantiles, in units of their tolerances."""
        limits = self.tolerance.limits[:, None, None]
        margins = quantile_margins(self.intervals, self.tolerance.ratios).same_within
        return np.asarray(limits * (margins / limits).max(axis=0))

    # ------------------------------------------------------------ how clear it looks

    def evidence(self) -> tuple[Array, Array]:  # (N, N), (N, N)
        """Distance and threshold of each pair, of the quantile that speaks most clearly; NaN and infinite: unknown."""
        apart, needed = self.apart(), self._needed()
        with np.errstate(invalid="ignore"):
            clearest = np.nan_to_num(apart / needed, nan=-1.0).argmax(axis=0)[None]
        return (
            np.take_along_axis(apart, clearest, axis=0)[0],
            np.take_along_axis(needed, clearest, axis=0)[0],
        )

    def apart(self) -> Array:  # (Q, N, N)
        """Estimated differences in units of the tolerance; NaN: unknown."""
        at = scaled(self.estimates, self.tolerance).T
        return np.abs(at[:, :, None] - at[:, None, :])

    def _needed(self) -> Array:  # (Q, N, N)
        at, low, high = self._ends()
        first, second = at[:, :, None], at[:, None, :]
        down, up = at - low, high - at  # (Q, N)
        between = np.where(first > second, down[:, :, None] + up[:, None, :], up[:, :, None] + down[:, None, :])
        return np.where(np.isnan(between), math.inf, np.maximum(between, _LEAST))

    def near(self) -> Mask:  # (N, N)
        """Pairs that look as if all quantiles were within their tolerances, up to the error of the estimate."""
        return np.asarray((self.real(1.0) < 1).all(axis=0))

    def real(self, errors: float) -> Array:  # (Q, N, N)
        """The estimated distance minus so many standard errors, or 0; 0 where nothing is known."""
        apart = np.nan_to_num(self.apart(), nan=0.0)
        error = np.minimum(errors * (self._most() - apart) / _width(self.level), apart)
        return np.asarray(np.where(np.isfinite(error), apart - error, apart))

    def _most(self) -> Array:  # (Q, N, N)
        """How far apart two quantiles may be."""
        _, low, high = self._ends()
        most = np.maximum(high[:, :, None] - low[:, None, :], high[:, None, :] - low[:, :, None])
        return np.nan_to_num(most, nan=math.inf, posinf=math.inf)

    def _ends(self) -> tuple[Array, Array, Array]:  # (Q, N) each
        at, low, high = (
            scaled(values, self.tolerance).T for values in (self.estimates, *np.moveaxis(self.intervals, 2, 0))
        )
        return (
            at,
            np.nan_to_num(low, nan=-math.inf, neginf=-math.inf),
            np.nan_to_num(high, nan=math.inf, posinf=math.inf),
        )

    def forecast(self, open_pairs: Mask, slopes: Array) -> Array:  # (N, N), (N, Q) -> (N,)
        """About how many samples of each arm give its open pairs a verdict; infinite where that cannot be told."""
        real = self.real(_NOISE)
        with np.errstate(divide="ignore", invalid="ignore"):
            told = np.where(real > 0, self._both() * np.square(self._needed() / real), math.inf)
        pairs = np.minimum(self.same_after(slopes).max(axis=0), told.min(axis=0))
        return np.asarray(np.where(open_pairs, pairs, 0.0).max(axis=1))

    def same_after(self, slopes: Array) -> Array:  # (N, Q) -> (Q, N, N)
        """About how many samples of both arms show that they are the same; infinite where they seem not to be."""
        real, most = self.real(_NOISE), self._most()
        with np.errstate(divide="ignore", invalid="ignore"):
            same = np.where(real < 1, self._both() * np.square((most - real) / (1 - real)), math.inf)
        each = price(self.tolerance, self.level, slopes).T  # (Q, N)
        return np.where(np.isfinite(most), same, np.maximum(each[:, :, None], each[:, None, :]))

    def _both(self) -> Array:  # (N, N)
        """Samples that both arms of a pair have."""
        return np.minimum(self.counts[:, None], self.counts).astype(np.float64)


def verdicts_of(
    tolerance: QuantileTolerance,
    verdicts: NDArray[np.str_],
    margins: Sequence[QuantileVerdicts],
    between: tuple[int, ...] = (),
) -> Verdicts:  # (N, N)
    """Verdicts with their margins: of several quantiles the largest one, measured by its tolerance."""
    unknown = np.full(verdicts.shape, np.nan)
    return Verdicts(
        tolerance=tolerance.words,
        unit=margins[0].unit if len(margins) == 1 else TIMES,
        eps=math.nan,
        equivalents=(),
        verdicts=verdicts,
        same_within=_largest([(one.same_within, one.tolerance) for one in margins]),
        apart_at_least=_largest([(one.apart_at_least, one.tolerance) for one in margins]),
        same_distance=unknown,
        apart_distance=unknown,
        between=between,
        quantiles=tuple(margins),
    )


def _largest(margins: Sequence[tuple[Array, float]]) -> Array:  # (N, N) each
    """The largest margin, where each is measured by its own tolerance; of one quantile in its own unit."""
    if len(margins) == 1:
        return margins[0][0]
    return np.asarray(np.max([values / limit for values, limit in margins], axis=0))


def price(tolerance: QuantileTolerance, level: float, slopes: Array, noise: float = 1.0) -> Array:  # (N, Q)
    """Samples of two equal arms until a quantile is shown to be the same, from the slopes alone (theory, 24.1).

    `noise`: how far apart their estimates are, in standard errors of one of them.
    """
    p = np.array(tolerance.probabilities)
    each = (_width(level) + noise) ** 2 * p * (1 - p) * np.square(slopes)
    each = np.maximum(each, finite_after(tolerance, level))
    return np.where(np.isnan(each), math.inf, each)


def told_after(tolerance: QuantileTolerance, level: float, slopes: Array, apart: Array) -> Array:  # (Q,), (Q,)
    """Samples of two arms that are so far apart, in units of the tolerance, until a quantile is shown to differ."""
    p = np.array(tolerance.probabilities)
    with np.errstate(divide="ignore"):
        each = np.square(_width(level) * slopes / apart) * p * (1 - p)
    return np.asarray(np.maximum(each, finite_after(tolerance, level)))


def _width(level: float) -> float:
    """Of two intervals together, over the standard error of the distance of their estimates."""
    return 2 * math.sqrt(2 * (level + _EXTRA))


def slopes_of(bets: QuantileBets, tolerance: QuantileTolerance) -> Array:  # (N, Q)
    """How fast each quantile grows with its probability, about, in units of the tolerance."""
    p = np.array(tolerance.probabilities)
    step = np.minimum(p, 1 - p) / 2
    below, above = (scaled(bets.estimates((p + sign * step).tolist()), tolerance) for sign in (-1, 1))
    return np.asarray((above - below) / (2 * step))


def finite_after(tolerance: QuantileTolerance, level: float) -> float:
    """About how many samples an interval takes to have two finite ends."""
    p = np.array(tolerance.probabilities)
    return float((level + _EXTRA) / np.minimum(p, 1 - p).min())


def scaled(values: Array, tolerance: QuantileTolerance) -> Array:  # (N, Q)
    """Values in units of the tolerance; NaN where a ratio has no meaning."""
    limits = tolerance.limits
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(values > 0, np.log(values) / np.log1p(limits), np.nan)
        return np.where(tolerance.ratios, logs, values / limits)
