"""Sums and means of the samples that one step needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from kabc.core.arrays import Array
from kabc.strategies.base import Request

_MOST_VALUES = 4_000_000  # numbers asked for in one round: 32 MB


class Collection:
    """The samples that one step needs. Only sums are kept, in one part or in two equal halves."""

    def __init__(self, wanted: Mapping[int, int], halves: int, d: int) -> None:
        self.per_half = dict(wanted)
        self._left = {arm: halves * n for arm, n in wanted.items()}
        self._sums = {arm: np.zeros((halves, d)) for arm in wanted}
        self._most = max(1, _MOST_VALUES // d)

    def request(self) -> Request:
        """The next samples, for as many arms as fit into one round."""
        room, request = self._most, {}
        for arm, left in self._left.items():
            if left and room:
                request[arm] = min(left, room)
                room -= request[arm]
        return request

    def add(self, arm: int, points: Array) -> None:  # (n, d)
        """Add samples alternately to the two halves."""
        sums = self._sums[arm]
        for half in range(len(sums)):
            sums[half] += points[(half + self._left[arm]) % len(sums) :: len(sums)].sum(axis=0)
        self._left[arm] -= len(points)

    @property
    def complete(self) -> bool:
        """Whether all samples have arrived."""
        return not any(self._left.values())

    def mean(self, arm: int) -> Mean:
        """Means of the halves."""
        return Mean(self._sums[arm] / self.per_half[arm], self.per_half[arm])


@dataclass(frozen=True, slots=True)
class Mean:
    """Empirical mean of an arm, or of two halves of its samples."""

    halves: Array  # (1 or 2, d)
    n: int  # samples of each half

    def squared_distance(self, other: Mean) -> float:
        """An unbiased estimate: the product of two independent differences, or one square minus its noise term."""
        difference = self.halves - other.halves
        bias = difference.shape[1] * (1 / self.n + 1 / other.n) if len(difference) == 1 else 0.0
        return float(difference[0] @ difference[-1]) - bias

    def with_more(self, more: Mean) -> Mean:
        """The mean of both sets of samples."""
        n = self.n + more.n
        return Mean((self.n * self.halves + more.n * more.halves) / n, n)
