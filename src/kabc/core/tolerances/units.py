"""Units of a tolerance: ways to change a pool of samples, each with two directions and a size.

| unit       | one direction                        | the other                       | size is                      |
|------------|--------------------------------------|---------------------------------|------------------------------|
| `PERCENT`  | values times 1 + size/100            | values divided by it            | per cent                     |
| `SD`       | plus size standard deviations        | minus as many                   | standard deviations          |
| `SHIFT`    | plus size                            | minus size                      | in the unit of the column    |
| `OUTLIERS` | a share becomes far larger values    | a share becomes far smaller     | per cent of the samples      |

Far means: as far beyond the largest (smallest) value of the pool as the pool is wide. For codes of categories, it is a
code that the pool does not have.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from kabc.core.arrays import Array
from kabc.core.words import named

_MOST = float(np.finfo(np.float64).max) / 4  # twice a changed value is still a number
_LEAST_CHANGED = 20  # rows, where a share is changed


class Moved(NamedTuple):
    """A changed pool: `share` of the samples come from `rows`, the others are as they were."""

    rows: Array  # (n, d)
    share: float


@dataclass(frozen=True)
class Unit:
    """How values (n, c) with spreads (c,) are changed by a size, in two directions."""

    name: str
    smallest: float  # sizes below cannot be shown
    largest: float  # sizes above are nonsense
    both: Callable[[Array, Array, float], tuple[Array, Array]]
    singular: str
    plural: str

    def words(self, size: float) -> str:
        """A size with its unit: "2 %"."""
        return f"{size:.6g} {self.singular if size == 1 else self.plural}".strip()


def _times(values: Array, spread: Array, size: float) -> tuple[Array, Array]:
    return values * (1 + size / 100), values / (1 + size / 100)


def _deviations(values: Array, spread: Array, size: float) -> tuple[Array, Array]:
    return values + size * spread, values - size * spread


def _shift(values: Array, spread: Array, size: float) -> tuple[Array, Array]:
    return values + size, values - size


def _far(values: Array, spread: Array, size: float) -> tuple[Array, Array]:
    low, high = values.min(axis=0), values.max(axis=0)
    shape = values.shape
    return np.broadcast_to(2 * high - low, shape), np.broadcast_to(2 * low - high, shape)


def _unseen(values: Array, spread: Array, size: float) -> tuple[Array, Array]:
    """Codes that are not in the pool."""
    shape = values.shape
    return np.broadcast_to(values.max(axis=0) + 1, shape), np.broadcast_to(values.min(axis=0) - 1, shape)


PERCENT = Unit("percent", 0.0, 1e5, _times, "%", "%")
SD = Unit("sd", 0.0, 1e4, _deviations, "standard deviation", "standard deviations")
SHIFT = Unit("shift", 0.0, _MOST, _shift, "", "")
OUTLIERS = Unit("outliers", 0.01, 100.0, _far, "% outliers", "% outliers")


@dataclass(frozen=True)
class Change:
    """Columns `places` of a pool, changed together by a size."""

    unit: Unit
    size: float
    places: tuple[int, ...]
    names: tuple[str, ...]  # of these columns
    codes: bool = False  # only equality matters: a value far away is one that the pool does not have

    def times(self, factor: float) -> Self:
        """The same change, larger or smaller; as large as the unit allows at most."""
        return replace(self, size=min(self.size * factor, self.unit.largest))

    def moved(self, pool: Array, spread: Array) -> tuple[Moved, Moved]:  # (n, d), (d,)
        """The pool, changed in both directions."""
        places = list(self.places)
        share = self.size / 100 if self.unit is OUTLIERS else 1.0
        up, down = pool.copy(), pool.copy()
        with np.errstate(over="ignore"):
            both = _unseen if self.codes else self.unit.both
            more, less = both(pool[:, places], spread[places], self.size)
        up[:, places], down[:, places] = np.clip(more, -_MOST, _MOST), np.clip(less, -_MOST, _MOST)
        return Moved(up, share), Moved(down, share)

    @property
    def words(self) -> str:
        """The size with its unit, for people."""
        return f"{self.size:.6g} {self.behind}" if self.unit is SHIFT else self.unit.words(self.size)

    @property
    def behind(self) -> str:
        """The unit as it stands behind a number."""
        return f"(in the unit of {named(self.names[0])})" if self.unit is SHIFT else self.unit.plural

    @property
    def written(self) -> float | str:
        """The size and unit as `parse` reads them."""
        if self.unit is SHIFT:
            return self.size
        return f"{self.size!r} sd" if self.unit is SD else f"{self.size!r}{self.unit.plural}"


def spreads(pool: Array, arms: NDArray[np.int64] | None = None) -> Array:  # (n, d), (n,) -> (d,)
    """Standard deviation of each column: within arms, if it is known which arm a row is from.

    Arms that differ make a pool wide. What people call the standard deviation of their values is that of one arm.
    """
    most = np.abs(pool).max(axis=0)
    scale = np.where(most > 0, most, 1.0)
    values = pool / scale  # from -1 to 1: squares and sums are safe
    if arms is None:
        away, free = values - values.mean(axis=0), len(pool) - 1
    else:
        _, own, counts = np.unique(arms, return_inverse=True, return_counts=True)
        sums = np.zeros((len(counts), pool.shape[1]))
        np.add.at(sums, own, values)
        away, free = values - (sums / counts[:, None])[own], len(pool) - len(counts)
    with np.errstate(over="ignore"):
        spread = np.minimum(np.sqrt(np.square(away).sum(axis=0) / max(free, 1)) * scale, _MOST)
    return np.where(np.ptp(values, axis=0) > 0, spread, 0.0)  # rounding of the mean is no spread


def put_in(pool: Array, moved: Moved) -> Array:  # (n, d) -> (m, d)
    """The changed pool as rows.

    Where only a share changes, the pool is repeated until the share is right to 5 %, and never above what was said.
    """
    if moved.share == 1:
        return moved.rows
    total = len(pool) * math.ceil(_LEAST_CHANGED / (moved.share * len(pool)))
    count = math.floor(moved.share * total)
    at = (np.arange(count) * total) // count  # evenly over the pool
    changed = np.tile(pool, (total // len(pool), 1))
    changed[at] = moved.rows[at % len(pool)]
    return changed
