"""Effects of a column of categories: shares."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from kabc.core.arrays import Array
from kabc.results.effects.numbers import cohens_h, share_interval
from kabc.results.effects.values import ColumnEffect, Contrast

_MOST_LEVELS = 12  # with a share of their own
_NAN = math.nan


def level_shares(places: NDArray[np.int64], n_levels: int) -> Array:  # (n,) -> (L,)
    """The share of each category."""
    return np.asarray(np.bincount(places, minlength=n_levels) / len(places))


def summary(column: str, places: NDArray[np.int64], levels: tuple[str, ...]) -> ColumnEffect:
    """The shares of the commonest categories, and of all others together."""
    shares = level_shares(places, len(levels))
    order = np.argsort(-shares, kind="stable").tolist()
    most = _MOST_LEVELS if len(levels) <= _MOST_LEVELS else _MOST_LEVELS - 1
    listed = [(levels[i], float(shares[i])) for i in order[:most] if shares[i] > 0]
    rest = float(shares[order[most:]].sum())
    if rest > 0:
        listed.append(("others", rest))
    return ColumnEffect(column, len(places), _NAN, _NAN, _NAN, _NAN, _NAN, tuple(listed))


def contrasts(
    places: NDArray[np.int64], reference: NDArray[np.int64], levels: tuple[str, ...]
) -> tuple[Contrast, ...]:  # (n,), (m,)
    """The category whose share differs most by Cohen's h from the reference group."""
    mine, other = level_shares(places, len(levels)), level_shares(reference, len(levels))
    sizes = np.abs(np.arcsin(np.sqrt(mine)) - np.arcsin(np.sqrt(other)))
    most = len(levels) - 1 - int(np.round(sizes, 9)[::-1].argmax())  # of 0 and 1, equally far apart, 1 is meant
    here, there = float(mine[most]), float(other[most])
    low, high = share_interval(here, len(places), there, len(reference))
    size = cohens_h(here, there)
    return (Contrast("share", here - there, low, high, size, levels[most], (here, there)),)
