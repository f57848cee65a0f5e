"""Bets against "the samples of this arm come in no particular order". Theory: docs/theory.md, section 19.

| symbol | here      | meaning                                                                                      |
|--------|-----------|----------------------------------------------------------------------------------------------|
| R_n    | `slot`    | which of the n gaps between the n - 1 earlier values sample n falls into, counted from 0     |
| u_n    |           | (R_n + U_n) / n, with U_n uniform in (0, 1); z_n is its normal quantile                      |
| f_e    | `_factors`| bet of expert e on u_n: a density on (0, 1) that is fixed by the earlier ranks               |
| M      | `wealth`  | product over n of sum_e w_e f_e(u_n), with weights that follow the better experts            |

Only ranks count, so no shape of the distribution is assumed. Equal values are ordered at random. If the samples are
exchangeable, R_n is uniform and independent of the earlier ranks, so M is a martingale that starts at 1, and
P(sup M >= 1/a) <= a (Ville).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kabc.core.arrays import Array, Index

Generators = Callable[[Sequence[tuple[int, int]]], Iterable[np.random.Generator]]  # of (column, series), in their order

_SHARE = 0.01  # of the weights, dealt out anew for each sample: a change that comes late is found
_NEUTRAL = 0.25  # first weight of the expert that does not bet
_LOG_MOST = 600.0  # exp of it is a finite float
_AT_A_TIME = 4_000_000  # numbers in one array

_SHIFTS = np.array([-1.0, -0.4, 0.4, 1.0])  # z_n is normal with this mean
_SCALES = np.array([0.6, 1.6])  # or with this standard deviation
_FADES = np.array([0.3, 0.08])  # levels: averages of earlier z in which the past fades at this rate
_LINKS = np.array([-0.9, -0.65, -0.35, 0.35, 0.65, 0.9])  # correlation of z_n with the sample before
_WINDOWS = ((2, 0.0), (1, 0.05), (1, 0.15))  # half widths in gaps: a constant, and a part of n
_INSIDE = 0.7  # what a window bets of its weight
_N_DRIFT = len(_SHIFTS) + len(_SCALES) + len(_FADES)  # experts that look for later against earlier
_N_EXPERTS = 1 + _N_DRIFT + len(_LINKS) + 2 * len(_WINDOWS)


@dataclass(frozen=True)
class Order:
    """What speaks against "no particular order" in each series, at the best time so far.

    Logs are at least 0. `dependent` says which bets won most: on the sample before, or on a drift.
    """

    log_evidence: Array  # (S,)
    dependent: NDArray[np.bool_]  # (S,)
    log_together: float  # of all series, which are taken to be independent of each other


def order_evidence(
    series: Sequence[NDArray[Any]],
    rngs: Sequence[np.random.Generator],
    common: int,
    known: Sequence[int] | None = None,
) -> Order:  # S series (n,)
    """Evidence against exchangeability of each series, and of all together; `rngs` decide between equal values.

    All together bet on the first `common` samples of each series. Lengths beyond that may depend on the samples.
    No bet is made on the first `known` samples of a series: later ones are compared with them.
    """
    return orders_evidence([series], lambda some: [rngs[i] for _, i in some], common, known)[0]


def orders_evidence(
    columns: Sequence[Sequence[NDArray[Any]]],
    rngs: Generators,
    common: int,
    known: Sequence[int] | None = None,
) -> list[Order]:  # C columns of S series (n,)
    """`order_evidence` of each column of the same samples, some at a time: so are the generators of many series."""
    longest = max((len(one) for one in columns[0]), default=0) if columns else 0
    step = max(1, _AT_A_TIME // max(1, len(columns[0]) * longest * _N_EXPERTS)) if columns else 1
    firsts = range(0, len(columns), step)
    return [one for first in firsts for one in _orders(columns[first : first + step], first, rngs, common, known)]


def _orders(
    columns: Sequence[Sequence[NDArray[Any]]],
    first: int,
    rngs: Generators,
    common: int,
    known: Sequence[int] | None,
) -> list[Order]:
    """Of some columns, from the first of these on."""
    series, n_series = [one for some in columns for one in some], len(columns[0])
    found, dependent = np.zeros(len(series)), np.zeros(len(series), dtype=bool)
    length = min(common, max(map(len, series), default=0), _AT_A_TIME // (max(n_series, 1) * _N_EXPERTS))
    shared = _Shared(length, len(columns), n_series)
    by_length = sorted(range(len(series)), key=lambda i: len(series[i]))
    while by_length:
        longest = max(len(series[by_length[-1]]), 1)
        many = max(1, _AT_A_TIME // (longest * _N_EXPERTS))
        chosen, by_length = by_length[-many:], by_length[:-many]
        own = rngs([(first + i // n_series, i % n_series) for i in chosen])
        factors = _factors(_ranked([series[i] for i in chosen], own))
        for place, i in enumerate(chosen):
            factors[: 0 if known is None else known[i % n_series], place] = 1.0
        found[chosen], dependent[chosen] = _wealth(factors)
        shared.add(chosen, factors)
    parts = (np.split(values, len(columns)) for values in (np.minimum(found, _LOG_MOST), dependent))
    return [Order(*one) for one in zip(*parts, np.minimum(shared.log_wealth(), _LOG_MOST).tolist(), strict=True)]


# ---------------------------------------------------------------- ranks


def _ranked(series: Sequence[NDArray[Any]], rngs: Iterable[np.random.Generator]) -> Array:  # S of (n,) -> (5, T, S)
    """Of each sample: its gap, a uniform number, and the places of three earlier samples among those before it.

    These are the sample before, and what followed the two samples that are closest to it. -1: there is none, and after
    the end of a series.
    """
    ends = np.array([len(one) for one in series])
    longest, n_series = int(ends.max()), len(series)
    ranks = np.empty((longest, n_series), dtype=np.int32)
    ranks[:] = np.arange(longest)[:, None]
    within = np.full((longest, n_series), -1.0)
    for i, (values, rng) in enumerate(zip(series, rngs, strict=True)):
        n = len(values)
        ties, within[:n, i] = rng.random(2 * n).reshape(2, n)
        ranks[np.lexsort((ties, values)), i] = np.arange(n)  # NaN come last
    lower, upper = _neighbours(ranks)
    # of whom the place is asked for: the next higher one, and what followed the closest two of the sample before
    asked = np.full((longest, 3, n_series), -1)
    asked[:, 0] = upper
    asked[2:, 1:] = np.stack([lower, upper], axis=1)[1:-1]
    asked[:, 1:] += asked[:, 1:] >= 0
    places = _places(ranks, asked)  # (T, 3, S)
    slot, left, right = places[:, 0], places[:, 1], places[:, 2]
    found = np.full((5, longest, n_series), -1.0)
    found[0], found[1], found[2, 1:], found[3], found[4] = slot, within, slot[:-1], left, right
    found[3:][asked[:, 1:].swapaxes(0, 1) < 0] = -1.0
    found[:, np.arange(longest)[:, None] >= ends] = -1.0
    return found


def _places(ranks: NDArray[np.int32], asked: Index) -> NDArray[np.int32]:  # (T, S), (T, Q, S) -> (T, Q, S)
    """The places that some samples have among all before each one; how many are before it, where -1 is asked for."""
    longest, n_series = ranks.shape
    first = np.full((1, n_series), longest, dtype=np.int32)  # above all samples: its place is their number
    ranks = np.concatenate([first, ranks])
    places = np.zeros_like(ranks)
    at = (asked + 1) * n_series + np.arange(n_series)
    found = np.empty(asked.shape, dtype=np.int32)
    higher = np.empty(ranks.shape, dtype=np.bool_)
    for now in range(longest):
        places.take(at[now], out=found[now], mode="clip")  # they are all there; without `clip` it is copied once more
        np.greater(ranks[: now + 1], ranks[now + 1], out=higher[: now + 1])
        places[: now + 1] += higher[: now + 1]
        places[now + 1] = found[now, 0]
    return found


def _neighbours(ranks: NDArray[np.int32]) -> tuple[Index, Index]:  # (T, S) -> (T, S), (T, S)
    """When the next lower and the next higher of the samples before each one came; -1: there is none.

    All samples of a series are linked in their order. Then they are taken out, the last one first.
    """
    longest, n_series = ranks.shape
    each = np.arange(n_series)
    chain = np.arange((longest + 2) * n_series)  # place and series as one number; the first and last places are ends
    down, up = chain - n_series, chain + n_series
    own = (ranks + 1) * n_series + each
    links = np.empty((longest, 2, n_series), dtype=np.intp)
    for now in reversed(range(longest)):
        below, above = links[now]
        down.take(own[now], out=below, mode="clip")
        up.take(own[now], out=above, mode="clip")
        up[below], down[above] = above, below
    times = np.full((longest + 2) * n_series, -1)
    times[own] = np.arange(longest)[:, None]
    lower, upper = times[links].swapaxes(0, 1)
    return lower, upper


# ---------------------------------------------------------------- bets


def _factors(known: Array) -> Array:  # (5, T, S) -> (T, S, E)
    """What each expert multiplies its wealth by; 1 after the end of a series."""
    slot, within, before = known[:3]
    longest, n_series = slot.shape
    n = np.arange(longest, dtype=np.float64)[:, None]  # earlier samples
    z = _quantile((slot + within) / (n + 1))  # (19.1)
    linked = np.where(before < 0, 0.0, _quantile((before + 0.5) / np.maximum(n, 1)))
    factors = np.ones((longest, n_series, _N_EXPERTS))
    at, own = 1, 0.5 * z**2
    for mean, sd in _normals(z, linked):
        factors[..., at] = np.exp(own - 0.5 * ((z - mean) / sd) ** 2) / sd  # (19.2)
        at += 1
    for constant, part in _WINDOWS:
        width = constant + np.floor(part * n)
        near, left, right = (_window(slot, place, n, width) for place in known[2:])
        factors[..., at] = 1 + _INSIDE * (near - 1)  # (19.3)
        factors[..., at + 1] = 1 + _INSIDE * ((left + right) / 2 - 1)
        at += 2
    factors[slot < 0] = 1.0
    factors[0] = 1.0  # the first sample says nothing
    return factors


def _normals(z: Array, linked: Array) -> list[tuple[Array | float, float]]:  # (T, S), (T, S)
    """Means and standard deviations that experts expect of z_n: drift first, then the sample before."""
    drift: list[tuple[Array | float, float]] = [(mean, 1.0) for mean in _SHIFTS.tolist()]
    drift += [(0.0, sd) for sd in _SCALES.tolist()]
    drift += [(level, 1.0) for level in _levels(z)]
    return drift + [(link * linked, math.sqrt(1 - link**2)) for link in _LINKS.tolist()]


def _levels(z: Array) -> Array:  # (T, S) -> (F, T, S)
    """For each rate, the average of the z before each sample, in which the past fades."""
    levels = np.zeros((len(z), len(_FADES), z.shape[1]))
    for now in range(1, len(z)):
        levels[now] = levels[now - 1] + _FADES[:, None] * (z[now - 1] - levels[now - 1])
    return levels.swapaxes(0, 1)


def _window(slot: Array, place: Array, n: Array, width: Array) -> Array:  # (T, S) each -> (T, S)
    """A density that is even on the gaps within `width` of an earlier sample, and 0 elsewhere."""
    low, high = np.maximum(place + 1 - width, 0), np.minimum(place + width, n)
    inside = (slot >= low) & (slot <= high)
    return np.where(place < 0, 1.0, inside * (n + 1) / np.maximum(high - low + 1, 1))


def _quantile(u: Array) -> Array:
    from scipy.special import ndtri

    return np.asarray(ndtri(np.clip(u, 1e-12, 1 - 1e-12)))


# ---------------------------------------------------------------- wealth


def _wealth(factors: Array) -> tuple[Array, NDArray[np.bool_]]:  # (T, S, E) -> (S,), (S,)
    """Largest log wealth so far of the mixture, and whether bets on the sample before won more than bets on a drift."""
    first = _first_weights()
    weights, dealt_out = np.tile(first, (factors.shape[1], 1)), _SHARE * first
    gains = np.empty((*factors.shape[:2], 1))
    for gain, factor in zip(gains, factors, strict=True):
        weights *= factor
        np.add.reduce(weights, axis=1, keepdims=True, out=gain)  # (19.4)
        weights /= gain
        weights *= 1 - _SHARE
        weights += dealt_out
    log_wealth = np.maximum(np.log(gains[..., 0]).cumsum(axis=0).max(axis=0), 0.0)
    with np.errstate(divide="ignore"):
        best = np.log(factors).cumsum(axis=0).max(axis=0)  # (S, E)
    drift, link = best[:, 1 : 1 + _N_DRIFT], best[:, 1 + _N_DRIFT :]
    return log_wealth, link.max(axis=1) > drift.max(axis=1)


def _first_weights() -> Array:  # (E,)
    first = np.full(_N_EXPERTS, (1 - _NEUTRAL) / (_N_EXPERTS - 1))
    first[0] = _NEUTRAL
    return first


class _Shared:
    """One wealth for all series of a column: sample n of each is bet on with weights learned on the samples before.

    What one series shows pays for the bets on the others, so few samples of many series are enough.
    """

    def __init__(self, length: int, n_columns: int, n_series: int) -> None:
        self._factors = np.ones((length, n_columns * n_series, _N_EXPERTS))
        self._shape = (length, n_columns, n_series, _N_EXPERTS)

    def add(self, chosen: Sequence[int], factors: Array) -> None:  # (T, S', E)
        """Some of the series; 1 after the end of a series."""
        length = min(len(self._factors), len(factors))
        self._factors[:length, chosen] = factors[:length]

    def log_wealth(self) -> Array:  # (C,)
        """The largest so far, of each column."""
        factors, first = self._factors.reshape(self._shape), _first_weights()
        with np.errstate(divide="ignore"):
            won = np.log(factors).sum(axis=2)  # (T, C, E)
        weights = np.empty((*won.shape, 1))  # (T, C, E, 1): those with which sample n is bet on
        now, dealt_out = np.tile(first, (self._shape[1], 1)), _SHARE * first
        for bets, factor in zip(weights, won, strict=True):
            bets[..., 0] = now
            np.log(now, out=now)
            now += factor
            now -= np.maximum.reduce(now, axis=1, keepdims=True)
            np.exp(now, out=now)
            total = np.add.reduce(now, axis=1, keepdims=True)
            now *= 1 - _SHARE
            now /= total
            now += dealt_out
        gains = np.log(factors @ weights).sum(axis=(2, 3))  # (19.5)
        return np.asarray(gains.cumsum(axis=0).max(axis=0, initial=0.0))
