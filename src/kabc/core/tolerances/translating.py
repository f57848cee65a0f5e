"""Kernel distances in units that people use: how large a change makes this distance on the pilot pool?

The distance that a change makes is computed for a table of sizes and read backwards. Where it is not monotone, the
smallest size that makes the distance counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kabc.core.arrays import Array
from kabc.core.samples import as_points
from kabc.core.tolerances.tolerance import (
    Arms,
    ByExample,
    Features,
    KernelDistance,
    Tolerance,
    smallest_distance,
    thinned,
)
from kabc.core.tolerances.units import OUTLIERS, PERCENT, SD, Change, Unit, spreads
from kabc.core.words import named

_FACTORS = 10.0 ** (np.arange(-20, 31) / 10)  # of the tolerance: a hundredth to a thousand times
_NEAR = 2.0 ** (np.arange(-4, 19) / 2)  # of the size that would be right if distances were proportional
_SMALL = {PERCENT.name: 1.0, SD.name: 0.05}  # sizes at which distances are about proportional
_MOST_COLUMNS = 12  # shown one by one


@dataclass(frozen=True)
class Curve:
    """Sizes of a change, and the distance that each makes. It begins with 0, which makes none."""

    sizes: Array  # (m,) ascending
    distances: Array  # (m,)

    @classmethod
    def of(cls, sizes: Array, distance: Callable[[float], float], enough: float = math.inf) -> Curve:  # (m - 1,)
        """The table of these sizes, up to the first that makes a distance that is enough."""
        distances = [0.0]
        for size in sizes.tolist():
            distances.append(distance(size))
            if distances[-1] >= enough:
                break
        return cls(np.array([0.0, *sizes])[: len(distances)], np.array(distances))

    def size_of(self, margins: Array) -> Array:  # any shape
        """The smallest size that makes each distance; infinite where none in the table does."""
        highest = np.maximum.accumulate(self.distances)
        after = np.searchsorted(highest, margins, side="left").clip(
            1, len(highest) - 1
        )  # the first that is large enough
        below, above = self.distances[after - 1], self.distances[after]
        between = (margins - below) / np.where(above > below, above - below, 1.0)
        sizes = self.sizes[after - 1] + between * (self.sizes[after] - self.sizes[after - 1])
        return np.where(margins > highest[-1], math.inf, sizes)


@dataclass(frozen=True)
class ColumnEquivalents:
    """Changes of one column, or of all together, that make the same distance; None where no such change does."""

    column: str
    percent: float | None
    sd: float | None
    shift: float | None  # in the unit of the column; None for several columns
    outliers: float | None  # per cent of the samples

    @property
    def words(self) -> str:
        """For people, on one line."""
        parts = [] if self.shift is None else [f"a shift by {self.shift:.2g}"]
        parts += [] if self.sd is None else [f"{self.sd:.2g} standard deviations"]
        parts += [] if self.percent is None else [f"{self.percent:.2g} %"]
        parts += [] if self.outliers is None else [f"{self.outliers:.2g} % outliers"]
        return f"{named(self.column)}: {', or '.join(parts) or 'no change of this column alone is as large'}"


@dataclass(frozen=True)
class Equivalents:
    """A tolerance as a kernel distance, in all other units, and the way back for any margin."""

    eps: float
    unit: str  # of translated margins, as it stands behind a number
    columns: tuple[ColumnEquivalents, ...]
    curve: Curve | None  # None: margins are proportional, `per_distance` to one
    per_distance: float = 1.0

    def in_units(self, margins: ArrayLike) -> Array:  # any shape
        """Kernel distances in the unit of the tolerance; infinite where no change in this unit is as large.

        Margins of 0 are 0, infinite and unknown (NaN) ones stay what they are.
        """
        known = np.asarray(margins, dtype=np.float64)
        if self.curve is None:
            return known * self.per_distance
        return np.where(np.isnan(known), math.nan, self.curve.size_of(known))

    def within(self, margin: float) -> str:
        """An upper margin in words, never too small: "4.1 %"."""
        return self._said(margin, math.ceil)

    def at_least(self, margin: float) -> str:
        """A lower margin in words, never too large."""
        return self._said(margin, math.floor)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        rows = [
            {"column": one.column, "percent": one.percent, "sd": one.sd, "shift": one.shift, "outliers": one.outliers}
            for one in self.columns
        ]
        return {"kernel_distance": self.eps, "columns": rows}

    def _said(self, margin: float, towards: Callable[[float], int]) -> str:
        size = float(self.in_units(margin))
        if not math.isfinite(size):
            return "not known" if math.isnan(size) else "more than can be said in this unit"
        if size > 0:  # two digits; what is a hair's breadth off a round number was rounded in the computation
            digit = 10.0 ** (math.floor(math.log10(size)) - 1)
            size = float(f"{towards(float(f'{size / digit:.6f}')) * digit:.3g}")
        return f"{size:.6g} {self.unit}".strip()


def equivalents(
    tolerance: Tolerance,
    pool: Array,
    phi: Features,
    columns: Sequence[str],
    arms: Arms = None,
    codes: Collection[int] = (),
) -> Equivalents:  # (n, d), (n,)
    """The distance of a tolerance on this pool, in other units; columns of codes have outliers only.

    Takes about 100 calls of `phi` on the pool, and 20 for each of at most 12 columns. With more columns than that, only
    changes of all of them together are shown.
    """
    rows, own = thinned(as_points(pool), arms)
    eps = tolerance.distance(rows, phi, own)
    spread = spreads(rows, own)
    names = list(map(str, columns))
    several = [([i], name) for i, name in enumerate(names)]
    if len(names) > _MOST_COLUMNS:
        several = [(list(range(len(names))), "all columns together")]
    shown = tuple(
        _codes(eps, rows, phi, places, name)
        if set(places) <= set(codes)
        else _column(eps, rows, spread, phi, [place for place in places if place not in codes], name)
        for places, name in several
    )
    if isinstance(tolerance, ByExample):
        curve = _own_curve(tolerance, rows, own, phi)
        return Equivalents(eps, tolerance.unit, shown, curve)
    return Equivalents(eps, tolerance.unit, shown, None, 1.0 if isinstance(tolerance, KernelDistance) else 1 / eps)


def _own_curve(tolerance: ByExample, rows: Array, arms: Arms, phi: Features) -> Curve:
    """Margins in the unit of the tolerance, or as multiples of it."""
    most = min(part.unit.largest / part.size for part in tolerance.parts)
    times = np.unique(np.minimum(_FACTORS, most))
    before = phi(rows).mean(axis=0)
    table = Curve.of(times, lambda factor: smallest_distance(before, tolerance.moved(rows, arms, factor), phi))
    return Curve(table.sizes * tolerance.size, table.distances)


def _codes(eps: float, rows: Array, phi: Features, places: list[int], name: str) -> ColumnEquivalents:
    """Codes can only be replaced by others."""
    change = Change(OUTLIERS, 100.0, tuple(places), (name,), codes=True)
    everything = smallest_distance(phi(rows).mean(axis=0), [*change.moved(rows, spreads(rows))], phi)
    return ColumnEquivalents(name, None, None, None, None if everything < eps else 100 * eps / everything)


def _column(eps: float, rows: Array, spread: Array, phi: Features, places: list[int], name: str) -> ColumnEquivalents:
    before = phi(rows).mean(axis=0)

    def distance(unit: Unit, size: float) -> float:
        return smallest_distance(before, [*Change(unit, size, tuple(places), (name,)).moved(rows, spread)], phi)

    def size(unit: Unit) -> float | None:
        small = distance(unit, _SMALL[unit.name])
        if small <= 0:
            return None
        sizes = np.unique(np.minimum(_SMALL[unit.name] * eps / small * _NEAR, unit.largest))
        found = float(Curve.of(sizes, lambda one: distance(unit, one), enough=eps).size_of(np.array(eps)))
        return found if math.isfinite(found) else None

    sd, everything = size(SD), distance(OUTLIERS, 100.0)
    return ColumnEquivalents(
        column=name,
        percent=size(PERCENT),
        sd=sd,
        shift=None if sd is None or len(places) > 1 else sd * float(spread[places[0]]),
        outliers=None if everything < eps or not np.ptp(rows[:, places], axis=0).any() else 100 * eps / everything,
    )
