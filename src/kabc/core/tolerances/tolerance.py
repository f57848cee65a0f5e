"""What a tolerance is: the smallest change that matters, and the kernel distance that it makes on a pilot pool.

| symbol | here       | meaning                                                                           |
|--------|------------|-----------------------------------------------------------------------------------|
| phi    | `phi`      | features of samples, (n, d) -> (n, D), each row of length at most 1                |
| eps    | `distance` | the smallest distance of mean phi between the pool and the pool after a change    |

The pool is a pilot: it is counted, and never tested. So eps is fixed before the first tested sample.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kabc.core.arrays import Array
from kabc.core.errors import SettingsError
from kabc.core.samples import as_points
from kabc.core.settings import positive_number
from kabc.core.tolerances.units import OUTLIERS, PERCENT, SD, Change, Moved, put_in, spreads
from kabc.core.words import counted, named, shown

Features: TypeAlias = Callable[[Array], NDArray[np.floating[Any]]]  # (n, d) -> (n, D), rows of length at most 1
Arms: TypeAlias = NDArray[np.int64] | None  # (n,): which arm each row of a pool is from, if known

SMALLEST = 1e-6  # a distance below takes more than ten million samples of each arm, even if they hardly vary
_DIAMETER = 2.0  # of all mean features
_MOST_ROWS = 1024  # of a pool: more make the distance no better
_FARTHER = 1.25  # at least this much farther a change twice as large should reach


class Tolerance(ABC):
    """The smallest difference that matters, in the eyes of a kernel."""

    @property
    @abstractmethod
    def words(self) -> str:
        """The tolerance as people say it: "2 %"."""

    @property
    @abstractmethod
    def unit(self) -> str:
        """The unit that margins are translated to, as it stands behind a number: "%"."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """A form for JSON; `of_dict` reads it. A function is written by its name only."""

    @abstractmethod
    def moved(self, pool: Array, arms: Arms = None, times: float = 1.0) -> list[Moved]:  # (n, d), (n,)
        """Every change by itself, `times` as large as it was said."""

    def changes(self, pool: Array, arms: Arms = None) -> list[Array]:  # (n, d), (n,) -> each (m, d)
        """The changed pools. Shares are rounded down to whole rows here; `distance` takes them exactly."""
        rows = as_points(pool)
        return [put_in(rows, one) for one in self.moved(rows, arms)]

    def distance(self, pool: Array, phi: Features, arms: Arms = None) -> float:  # (n, d), (n,)
        """The kernel distance that the smallest change makes; an error if it could never be shown."""
        rows, own = thinned(as_points(pool), arms)
        eps = smallest_distance(phi(rows).mean(axis=0), self.moved(rows, own), phi)
        if eps < SMALLEST:
            raise SettingsError(f"tolerance {self.words}: {self.why_invisible(rows, own)}")
        return eps

    def overshoots(self, pool: Array, phi: Features) -> bool:  # (n, d)
        """Whether changes far above the tolerance look no larger than it: the kernel is too narrow for it."""
        return False

    def why_invisible(self, pool: Array, arms: Arms = None) -> str:  # (n, d), (n,)
        """Why the kernel does not see the change, and the cure."""
        return (
            f"on {counted(len(pool), 'pilot sample')} it makes no difference that could be shown; choose a larger one"
        )


def smallest_distance(before: Array, moved: list[Moved], phi: Features) -> float:  # (D,)
    """How far the mean of phi moves, at least, from where it was before."""
    return min(one.share * float(np.linalg.norm(phi(one.rows).mean(axis=0) - before)) for one in moved)


def thinned(pool: Array, arms: Arms) -> tuple[Array, Arms]:  # (n, d), (n,)
    """At most as many rows as are useful, always the same ones of a pool of this length."""
    if len(pool) <= _MOST_ROWS:
        return pool, arms
    at = np.sort(np.random.default_rng(0).permutation(len(pool))[:_MOST_ROWS])  # arms may stand in any order
    return pool[at], None if arms is None else arms[at]


@dataclass(frozen=True)
class ByExample(Tolerance):
    """Changes in units that people use. Any one of them would matter, so the smallest distance counts."""

    parts: tuple[Change, ...]
    by_column: bool  # said by a mapping
    n_columns: int

    @property
    def words(self) -> str:
        if not self.by_column:
            return self.parts[0].words
        return ", ".join(f"{named(one.names[0])} by {one.unit.words(one.size)}" for one in self.parts)

    @property
    def unit(self) -> str:
        return self.parts[0].behind if len(self.parts) == 1 else "times the tolerance"

    @property
    def size(self) -> float:
        """The tolerance in its own unit."""
        return self.parts[0].size if len(self.parts) == 1 else 1.0

    def to_dict(self) -> dict[str, Any]:
        if self.by_column:
            return {"kind": "columns", "value": {one.names[0]: one.written for one in self.parts}}
        return {"kind": "change", "value": self.parts[0].written}

    def moved(self, pool: Array, arms: Arms = None, times: float = 1.0) -> list[Moved]:
        if pool.shape[1] != self.n_columns:
            raise SettingsError(
                f"tolerance {self.words} was made for {counted(self.n_columns, 'column')}, "
                f"the samples have {pool.shape[1]}; name the columns that the samples have"
            )
        spread = spreads(pool, arms)
        return [moved for part in self.parts for moved in part.times(times).moved(pool, spread)]

    def overshoots(self, pool: Array, phi: Features) -> bool:
        rows, _ = thinned(as_points(pool), None)
        spread, before = spreads(rows), phi(rows).mean(axis=0)
        eps = smallest_distance(before, self.moved(rows), phi)
        twice = (part.times(2.0).moved(rows, spread) for part in self.parts)
        reached = (max(smallest_distance(before, [way], phi) for way in ways) for ways in twice)
        return min(reached) < _FARTHER * eps

    def why_invisible(self, pool: Array, arms: Arms = None) -> str:
        spread = spreads(pool, arms)
        for part in (one for one in self.parts if not one.codes):
            values = pool[:, list(part.places)]
            which = f"column {named(part.names[0])}" if len(part.names) == 1 else "every column"
            if part.unit is PERCENT and not values.any():
                return f"{which} is always 0 in the pilot, and so is any part of it; say an absolute shift, such as 5"
            constant = not spread[list(part.places)].any() if part.unit is SD else not np.ptp(values, axis=0).any()
            if part.unit in (SD, OUTLIERS) and constant:
                return (
                    f"{which} is constant in the pilot (always {values[0, 0]:.6g}), so there is no width to measure "
                    "by; say an absolute shift, such as 5"
                )
        return super().why_invisible(pool, arms)


@dataclass(frozen=True)
class ByFunction(Tolerance):
    """A change that the user has written: pool (n, d) -> changed pool. It must give the same for the same pool."""

    function: Callable[[Array], Any] | None  # None: read from a file, where only its name is kept
    name: str

    @property
    def words(self) -> str:
        return f"the change made by {shown(self.name)}"

    @property
    def unit(self) -> str:
        return "times the tolerance"

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "function", "value": self.name}

    def moved(self, pool: Array, arms: Arms = None, times: float = 1.0) -> list[Moved]:
        if self.function is None:
            raise SettingsError(
                f"tolerance: the function {self.name!r} is known by its name only; pass the function again"
            )
        try:
            changed = as_points(self.function(pool.copy()))
        except Exception as error:
            raise SettingsError(
                f"tolerance: the function {self.name!r} failed on a pool of shape {pool.shape}: {error}; "
                "it must return the changed pool, rows of numbers"
            ) from error
        if changed.shape[1] != pool.shape[1]:
            raise SettingsError(
                f"tolerance: the function {self.name!r} made {counted(changed.shape[1], 'column')} "
                f"of {pool.shape[1]}; it must return the same columns"
            )
        return [Moved(changed, 1.0)]


@dataclass(frozen=True)
class KernelDistance(Tolerance):
    """A tolerance for experts: a distance of mean features, which have length at most 1.

    Examples
    --------
    >>> import kabc
    >>> kabc.KernelDistance(0.1).words
    'kernel distance 0.1'
    """

    eps: float

    def __post_init__(self) -> None:
        eps = positive_number("KernelDistance: eps", self.eps)
        if eps > _DIAMETER:
            raise SettingsError(
                f"KernelDistance: eps must be at most {_DIAMETER:g}, got {eps:g}; "
                "mean features have length at most 1, so no two of them are farther apart"
            )
        if eps < SMALLEST:
            raise SettingsError(f"KernelDistance: eps must be at least {SMALLEST:g}, got {eps:g}; less cannot be shown")
        object.__setattr__(self, "eps", eps)

    @property
    def words(self) -> str:
        return f"kernel distance {self.eps:.6g}"

    @property
    def unit(self) -> str:
        return "kernel distance"

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "kernel", "value": self.eps}

    def moved(self, pool: Array, arms: Arms = None, times: float = 1.0) -> list[Moved]:
        return []

    def distance(self, pool: Array, phi: Features, arms: Arms = None) -> float:
        return self.eps


def by_function(function: Callable[[Array], Any]) -> ByFunction:
    """A tolerance that is said by a function."""
    return ByFunction(function, str(getattr(function, "__name__", type(function).__name__)))
