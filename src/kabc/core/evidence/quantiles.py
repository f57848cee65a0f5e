"""Quantiles of each arm, in intervals that hold at all times for any distribution. Theory: docs/theory.md, section 24.

| symbol   | here             | meaning                                                                             |
|----------|------------------|-------------------------------------------------------------------------------------|
| p        | `probabilities`  | a p-quantile is any q with P(X <= q) >= p and P(X < q) <= p                          |
| k        | `ones`           | how many of n samples are at most q (lower side), or at least q (upper side)        |
| W_n(k,p) | `log_wealth`     | evidence against "each of n is a one with probability at least p", from k ones      |
| r_n(p)   | `least_ones`     | fewest ones that leave the evidence below 1/alpha                                   |
| c, v_c   | `_CONCENTRATIONS`| of the bets, with equal weights                                                     |

The interval of a quantile at time n reaches from the r_n(p)-th smallest to the r_n(1 - p)-th largest sample. Each side
fails with probability at most alpha, over all times together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from kabc.core.arrays import Array, Counts, Mask
from kabc.core.errors import SettingsError
from kabc.core.samples import as_points, expect_columns

SIDES = 2  # of an interval: each needs a share of the error probability
_CONCENTRATIONS = np.array([10.0, 100.0, 1000.0, 10_000.0])  # about the number of samples at which each bets best


class QuantileBets:
    """Confidence sequences of quantiles, for each arm.

    With L = log(arms * quantiles * `SIDES` / alpha) all intervals hold all quantiles at all times together, with
    probability at least 1 - alpha. Arms may depend on each other, and anything may decide which arm is drawn next. All
    values are kept.

    Examples
    --------
    >>> import numpy as np
    >>> from kabc.core.evidence.quantiles import QuantileBets
    >>> bets = QuantileBets(n_arms=1, probabilities=[0.5])
    >>> bets.add(0, np.arange(1000.0))
    >>> low, high = bets.intervals(np.log(2 / 0.05))[0, 0]
    >>> bool(400 < low < 500 < high < 600)
    True
    """

    def __init__(self, n_arms: int, probabilities: Sequence[float]) -> None:
        wrong = [p for p in probabilities if not 0 < p < 1]
        if wrong or not len(probabilities):
            raise SettingsError(f"probabilities of quantiles lie between 0 and 1, got {list(probabilities)!r}")
        self.probabilities = tuple(map(float, probabilities))
        self._sorted: list[Array] = [np.empty(0) for _ in range(n_arms)]
        self._best: dict[float, Array] = {}  # L -> (N, Q, 2), of the looks so far

    @property
    def counts(self) -> Counts:  # (N,)
        """Samples of each arm."""
        return np.array([len(values) for values in self._sorted], dtype=np.int64)

    def add(self, arm: int, values: ArrayLike) -> None:  # (m,) or (m, 1)
        """Fresh samples of an arm."""
        points = as_points(values)
        expect_columns(points, 1)
        self._sorted[arm] = np.sort(np.concatenate([self._sorted[arm], points[:, 0]]), kind="stable")

    def estimates(self, probabilities: Sequence[float] | None = None) -> Array:  # (N, Q)
        """Quantiles of the samples of each arm, without any promise; NaN without samples."""
        asked = self.probabilities if probabilities is None else tuple(probabilities)
        found = np.full((len(self._sorted), len(asked)), np.nan)
        for arm, values in enumerate(self._sorted):
            if len(values):
                ranks = np.ceil(np.array(asked) * len(values)).astype(np.intp)
                found[arm] = values[np.clip(ranks - 1, 0, len(values) - 1)]
        return found

    def intervals(self, log_inverse_alpha: float) -> Array:  # (N, Q, 2)
        """Lower and upper end for each arm and quantile; each side is wrong with probability at most alpha, ever.

        Ends only move inwards from look to look with the same alpha. Earlier looks with a smaller alpha count too,
        because their intervals were wider.
        """
        now = self._now(log_inverse_alpha)
        for strictness, best in self._best.items():
            if strictness >= log_inverse_alpha:
                now[..., 0] = np.maximum(now[..., 0], best[..., 0])
                now[..., 1] = np.minimum(now[..., 1], best[..., 1])
        self._best[log_inverse_alpha] = now
        return now.copy()

    def _now(self, log_inverse_alpha: float) -> Array:  # (N, Q, 2)
        ends = np.empty((len(self._sorted), len(self.probabilities), 2))
        lengths, own = np.unique(self.counts, return_inverse=True)
        for place, p in enumerate(self.probabilities):
            below, above = (
                np.array(_least_ones(tuple(lengths.tolist()), one, log_inverse_alpha))[own] for one in (p, 1 - p)
            )  # (N,) each
            for arm, values in enumerate(self._sorted):
                r, s = below[arm], above[arm]
                ends[arm, place] = (
                    values[r - 1] if r else -math.inf,
                    values[len(values) - s] if s else math.inf,
                )  # (24.3)
        return ends


def log_wealth(ones: Counts, n: Counts, p: float) -> Array:  # (m,), (m,) -> (m,)
    """Log evidence against "n samples are ones with probability at least p each", from so many ones.

    A mixture over chances t < p of the likelihood ratio of t to p, with beta weights cut off at p. It falls with the
    number of ones. An incomplete beta function that underflows makes it minus infinity, which rejects nothing.
    """
    from scipy.special import betainc, betaln

    k, misses = ones[..., None].astype(np.float64), (n - ones)[..., None].astype(np.float64)
    a, b = p * _CONCENTRATIONS, (1 - p) * _CONCENTRATIONS
    with np.errstate(divide="ignore"):
        after = betaln(a + k, b + misses) + np.log(betainc(a + k, b + misses, p))
        before = betaln(a, b) + np.log(betainc(a, b, p))
    each = after - before - k * math.log(p) - misses * math.log1p(-p)  # (24.1)
    return np.asarray(np.logaddexp.reduce(each - math.log(len(_CONCENTRATIONS)), axis=-1))


def least_ones(n: Counts, p: float, log_inverse_alpha: float) -> Counts:  # (m,) -> (m,)
    """The fewest ones among n samples that leave the evidence below 1/alpha; from 0 to n."""
    low, high = np.full(n.shape, -1), np.ceil(n * p).astype(np.int64)  # at the mean the evidence is below 1
    while (high - low > 1).any():  # evidence at low reaches the threshold, at high it does not
        middle = (low + high) // 2
        rejected = (log_wealth(np.maximum(middle, 0), n, p) >= log_inverse_alpha) & (middle >= 0)
        low, high = np.where(rejected, middle, low), np.where(rejected | (middle < 0), high, middle)
    return np.asarray(high, dtype=np.int64)  # (24.2)


@lru_cache(maxsize=4096)
def _least_ones(lengths: tuple[int, ...], p: float, log_inverse_alpha: float) -> tuple[int, ...]:
    """Remembered: runs with the same settings have the same numbers of samples, round by round."""
    return tuple(least_ones(np.array(lengths, dtype=np.int64), p, log_inverse_alpha).tolist())


class QuantileMargins(NamedTuple):
    """How much the quantiles of two arms differ: at most, and at least. As a ratio minus 1, or in the column's unit."""

    same_within: Array  # (Q, N, N); infinite where nothing is known yet
    apart_at_least: Array  # (Q, N, N); above 0: they differ

    def same(self, limits: Array) -> Mask:  # (Q,) -> (N, N)
        """Pairs whose quantiles all differ by at most these tolerances."""
        return np.asarray((self.same_within <= limits[:, None, None]).all(axis=0))

    @property
    def different(self) -> Mask:  # (N, N)
        """Pairs of which some quantile differs, by however little."""
        return np.asarray((self.apart_at_least > 0).any(axis=0))


def quantile_margins(intervals: Array, ratios: Mask) -> QuantileMargins:  # (N, Q, 2), (Q,)
    """Margins of every pair, true whenever all intervals are.

    Where `ratios` is True they are ratios of the larger to the smaller quantile, minus 1. That has a meaning only for
    quantiles above 0: while the lower end of either interval is not, nothing is known.
    """
    low, high = np.moveaxis(intervals, 1, 0)[..., 0], np.moveaxis(intervals, 1, 0)[..., 1]  # (Q, N) each
    same, apart = _differences(low, high)
    for place in np.flatnonzero(ratios):
        same[place], apart[place] = _ratios(low[place], high[place])
    diagonal = np.arange(low.shape[1])
    same[:, diagonal, diagonal] = 0.0  # an arm is itself
    apart[:, diagonal, diagonal] = 0.0
    return QuantileMargins(same, apart)


def _differences(low: Array, high: Array) -> tuple[Array, Array]:  # (Q, N) each -> (Q, N, N) each
    most = high[:, :, None] - low[:, None, :]
    least = low[:, :, None] - high[:, None, :]
    return (
        np.maximum(np.maximum(most, most.swapaxes(1, 2)), 0.0),
        np.maximum(np.maximum(least, least.swapaxes(1, 2)), 0.0),
    )


def _ratios(low: Array, high: Array) -> tuple[Array, Array]:  # (N,) each -> (N, N) each
    known = low > 0
    low, high = np.where(known, low, 1.0), np.where(known, high, 1.0)
    with np.errstate(over="ignore"):
        most, least = high[:, None] / low[None, :] - 1, low[:, None] / high[None, :] - 1
    both = known[:, None] & known[None, :]
    return (
        np.where(both, np.maximum(np.maximum(most, most.T), 0.0), math.inf),
        np.where(both, np.maximum(np.maximum(least, least.T), 0.0), 0.0),
    )
