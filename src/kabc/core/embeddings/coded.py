"""Features of samples with codes in some columns, which can only be equal or different."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kabc.core.arrays import Array
from kabc.core.kernels import FiniteKernel

MOST_LEVELS = 63  # of a column: rarer ones, and those that the pilot does not have, count as one


@dataclass(frozen=True, eq=False)
class CodedFeatures(FiniteKernel):
    """Columns of numbers seen by a kernel, and each column of codes by its shares, all columns with equal weights.

    How codes depend on other columns is not seen. Make one with `coded_features`.
    """

    numbers: FiniteKernel | None  # None: all columns are codes
    places: tuple[int, ...]  # columns of numbers
    levels: tuple[tuple[int, Array], ...]  # columns of codes, with the codes that count by themselves, ascending

    @property
    def _weight(self) -> float:
        """Of the numbers."""
        return len(self.places) / (len(self.places) + len(self.levels))

    @property
    def supremum(self) -> float:
        return 1 - self._weight + (0.0 if self.numbers is None else self._weight * self.numbers.supremum)

    @property
    def infimum(self) -> float:
        return 0.0 if self.numbers is None else self._weight * self.numbers.infimum

    @property
    def characteristic(self) -> bool:
        return False

    def features(self, x: NDArray[Any]) -> Array:  # (n, d) -> (n, D)
        each = math.sqrt(1 / (len(self.places) + len(self.levels)))
        parts: list[Array] = [each * _indicators(x[:, place], known) for place, known in self.levels]
        if self.numbers is not None:
            seen = self.numbers.features(x[:, list(self.places)]).astype(np.float64)
            parts.insert(0, math.sqrt(self._weight) * seen)
        return np.concatenate(parts, axis=1)


def coded_features(
    pilot: Array, codes: Sequence[int], numbers: FiniteKernel | None
) -> CodedFeatures:  # pilot (n, d); numbers: of the other columns
    """Features that fit a pilot, which is never tested."""
    others = tuple(place for place in range(pilot.shape[1]) if place not in codes)
    return CodedFeatures(numbers, others, tuple((place, _levels(pilot[:, place])) for place in codes))


def _levels(column: Array) -> Array:  # (n,)
    """The commonest codes."""
    levels, counts = np.unique(column, return_counts=True)
    return np.sort(levels[np.argsort(-counts, kind="stable")[:MOST_LEVELS]])


def _indicators(column: Array, known: Array) -> Array:  # (n,), (k,) -> (n, k + 1)
    """1 in the place of the code; codes that are not known have the last place."""
    at = np.minimum(np.searchsorted(known, column), len(known) - 1)
    places = np.where(known[at] == column, at, len(known))
    return np.asarray(np.eye(len(known) + 1)[places])
