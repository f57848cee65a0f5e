"""How far apart the two arms are: certified bounds from above and below, and an estimate between them."""

from __future__ import annotations

import math

import numpy as np

from kabc.core.arrays import Array
from kabc.core.evidence.sameness import ApartBets, SameBets
from kabc.strategies.gate.shares import FINER, GateShares
from kabc.strategies.tolerance.ruler import Ruler

_ONLY = np.zeros(1, dtype=np.intp)  # the number of the only statement
_TWO = np.arange(2)  # two bets on it


class Margins:
    """Bets on the distance of one pair. Samples of one round are matched."""

    def __init__(self, shares: GateShares, ruler: Ruler) -> None:
        self._shares, self.eps = shares, ruler.eps
        D = ruler.n_features
        # A bet that is tuned for eps stays above theta by a part of eps; near the tolerance the second one goes on.
        tuned = ruler.eps / np.array(FINER)
        self._above = SameBets(2, D, ruler.sup, tuned, np.exp(-np.array(shares.same_limits)), 2 * ruler.covariance)
        self._below = ApartBets(1, D, ruler.sup)
        self._covariance = 2 * ruler.covariance  # of z, in the pilot
        self._sum, self._squares, self.n = np.zeros(D), 0.0, 0

    def bet(self, z: Array) -> None:  # (b, D)
        """Bet on b new differences of features."""
        self._above.bet(_TWO, np.stack([z, z]))
        self._below.bet(_ONLY, z[None])
        self._sum += z.sum(axis=0)
        self._squares += float(np.square(z).sum())
        self.n += len(z)

    @property
    def are_same(self) -> bool:
        """Whether the distance is certified to be below the tolerance."""
        return self._within(below=self.eps) < self.eps

    def within(self) -> float:
        """The smallest distance that is certified not to be reached; infinite before the first bet."""
        return self._within(below=math.inf)

    def _within(self, below: float) -> float:
        limits = self._shares.same_limits
        return min(float(self._above.best(limit, below=below)[which]) for which, limit in enumerate(limits))

    def apart(self) -> float:
        """The largest distance that is certified to be reached; 0: none."""
        return float(self._below.best(self._shares.apart_limit)[0])

    @property
    def estimate(self) -> float:
        """The distance as it seems: the root of an unbiased estimate of its square. Nothing about it is certified."""
        if self.n < 2:
            return 0.0
        square = (float(self._sum @ self._sum) - self._squares) / (self.n * (self.n - 1))
        return math.sqrt(max(square, 0.0))

    @property
    def error(self) -> float:
        """About the standard error of the estimate: that of the mean difference, along its own direction."""
        length = float(self._sum @ self._sum)
        if not length:
            return math.inf
        return math.sqrt(float(self._sum @ self._covariance @ self._sum) / (length * self.n))
