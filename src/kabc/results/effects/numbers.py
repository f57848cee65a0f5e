"""Effects of a column of numbers: medians, spread and tails."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from kabc.core.arrays import Array
from kabc.results.effects.values import ColumnEffect, Contrast

N_DRAWS = 2_000  # of a bootstrap
_FEWEST_FOR_SPREAD = 10  # values of each group; below, the outer quantiles are nearly the extremes
_FEWEST_BEYOND = 3  # values in a tail, in one of the two groups
_SMALL = 0.2  # a tail is mentioned from this standardised effect on ("small" after Cohen)
_NORMAL_WIDTH = 3.29  # standard deviations from the 5 % to the 95 % quantile of a normal law
_NAN = math.nan


def summary(column: str, ranked: Array) -> ColumnEffect:  # (n,) ascending, n > 0
    """Where the values lie."""
    low, median, high = (quantile(ranked, share) for share in (0.05, 0.5, 0.95))
    with np.errstate(all="ignore"):  # squares of large values overflow; the sd is then infinite
        mean, sd = float(ranked.mean()), float(ranked.std(ddof=1)) if len(ranked) > 1 else _NAN
    return ColumnEffect(column, len(ranked), median, low, high, mean, sd)


def quantile(ranked: Array, share: float) -> float:  # (n,) ascending
    """The quantile, linear between neighbours."""
    place = share * (len(ranked) - 1)
    before = math.floor(place)
    part = place - before
    after = min(before + 1, len(ranked) - 1)
    return float((1 - part) * ranked[before] + part * ranked[after])


def contrasts(ranked: Array, reference: Array, *, as_ratio: bool) -> tuple[Contrast, ...]:  # (n,), (m,) ascending
    """How the values differ from those of the reference group, the largest standardised effect first."""
    mine, other = summary("", ranked), summary("", reference)
    found = [_of_medians(ranked, reference, mine, other, as_ratio)]
    if min(len(ranked), len(reference)) >= _FEWEST_FOR_SPREAD:
        found += _of_spread(mine, other)
        found += _of_tail(ranked, reference, other, "above") + _of_tail(ranked, reference, other, "below")
    return tuple(sorted(found, key=lambda contrast: -contrast.size))


def _of_medians(ranked: Array, reference: Array, mine: ColumnEffect, other: ColumnEffect, as_ratio: bool) -> Contrast:
    value = mine.median / other.median if as_ratio else mine.median - other.median
    low, high = median_interval(ranked, reference, as_ratio=as_ratio)
    size = standardised(mine, other)
    return Contrast("ratio" if as_ratio else "difference", value, low, high, size)


def standardised(mine: ColumnEffect, other: ColumnEffect) -> float:
    """The difference of the medians in robust standard deviations of the other; of its own where the other has none."""
    away = abs(mine.median - other.median)
    width = other.high - other.low or mine.high - mine.low
    size = away / width * _NORMAL_WIDTH if width else math.inf if away else 0.0
    return 0.0 if math.isnan(size) else size  # differences of the largest numbers overflow


def median_interval(
    ranked: Array, reference: Array, *, as_ratio: bool, level: float = 0.95
) -> tuple[float, float]:  # (n,), (m,) ascending
    """Percentile bootstrap of the ratio or the difference of two medians; the same draws every time."""
    mine, other = _medians(ranked, 0), _medians(reference, 1)
    with np.errstate(all="ignore"):
        drawn = np.sort(mine / other if as_ratio else mine - other)
    return quantile(drawn, (1 - level) / 2), quantile(drawn, (1 + level) / 2)


def _medians(ranked: Array, side: int) -> Array:  # (n,) ascending -> (B,)
    below, above = _places(len(ranked), side)
    return np.asarray(ranked[below] / 2 + ranked[above] / 2)


@lru_cache(maxsize=64)
def _places(n: int, side: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:  # -> (B,), (B,)
    """Places of the two middle values of B resamples of n ranked values.

    The m-th smallest of n uniform draws is Beta(m, n - m + 1); given it, the next one is the smallest of n - m uniform
    draws above it. Drawing these two is the same in law as drawing all n, and much faster.
    """
    rng = np.random.default_rng([n, side])
    m = (n + 1) // 2
    first = rng.beta(m, n - m + 1, N_DRAWS)
    second = first if n % 2 else 1 - (1 - first) * rng.random(N_DRAWS) ** (1 / (n - m))
    return _place(first, n), _place(second, n)


def _place(uniform: Array, n: int) -> NDArray[np.intp]:
    return np.clip(np.ceil(n * uniform).astype(np.intp) - 1, 0, n - 1)


def _of_spread(mine: ColumnEffect, other: ColumnEffect) -> list[Contrast]:
    here, there = mine.high - mine.low, other.high - other.low
    if not (0 < here < math.inf and 0 < there < math.inf):
        return []
    ratio = here / there
    # of two widths that are hundreds of orders of magnitude apart, the ratio is no number
    return [Contrast("spread", ratio, _NAN, _NAN, abs(math.log(ratio)))] if 0 < ratio < math.inf else []


def _of_tail(ranked: Array, reference: Array, other: ColumnEffect, what: Literal["above", "below"]) -> list[Contrast]:
    """Values beyond twice the distance from the reference's median to its outer quantile."""
    outer = other.high if what == "above" else other.low
    limit = _rounded_out(other.median, 2 * (outer - other.median))
    if limit is None:
        return []
    beyond = [np.count_nonzero(x > limit if what == "above" else x < limit) for x in (ranked, reference)]
    here, there = float(beyond[0] / len(ranked)), float(beyond[1] / len(reference))
    size = cohens_h(here, there)
    if max(beyond) < _FEWEST_BEYOND or size < _SMALL:
        return []
    low, high = share_interval(here, len(ranked), there, len(reference))
    return [Contrast(what, here - there, low, high, size, limit, (here, there))]


def _rounded_out(start: float, away: float) -> float | None:
    """A limit that is easy to read, at least so far away; None if there is no distance."""
    if not 1e-300 < abs(away) < 1e300:
        return None
    step = 10.0 ** math.floor(math.log10(abs(away))) / 2
    rounded = math.ceil if away > 0 else math.floor
    return float(f"{rounded((start + away) / step) * step:.12g}")


def cohens_h(here: float, there: float) -> float:
    """The standardised difference of two shares."""
    return 2 * abs(math.asin(math.sqrt(here)) - math.asin(math.sqrt(there)))


def share_interval(here: float, n: int, there: float, m: int, level: float = 0.95) -> tuple[float, float]:
    """Percentile bootstrap of the difference of two shares of n and m values; the same draws every time."""
    rng = np.random.default_rng([n, m])
    drawn = np.sort(rng.binomial(n, min(here, 1.0), N_DRAWS) / n - rng.binomial(m, min(there, 1.0), N_DRAWS) / m)
    return quantile(drawn, (1 - level) / 2), quantile(drawn, (1 + level) / 2)
