"""How far apart each pair is: bounds from above and below, valid for all pairs at every time."""

from __future__ import annotations

import numpy as np

from kabc.core.arrays import Array, Index
from kabc.core.evidence.sameness import ApartBets, SameBets
from kabc.strategies.tolerance.ruler import Ruler
from kabc.strategies.tolerance.shares import ToleranceShares

MOST_ABOVE = 40  # arms; of more, bounds from above come from claims only
MOST_BELOW = 300  # arms; of more, there are no bounds from below


class PairMargins:
    """Bets on the distance of each pair. Samples of one round are matched."""

    def __init__(self, shares: ToleranceShares, ruler: Ruler) -> None:
        self._shares, self._n = shares, shares.n_arms
        i, j = np.triu_indices(self._n, 1)
        self._pairs = np.zeros((self._n, self._n), dtype=np.intp)
        self._pairs[i, j] = self._pairs[j, i] = np.arange(len(i))
        dimensions = (len(i), ruler.n_features)
        alpha = float(np.exp(-shares.same_limit))
        self._above = (
            SameBets(*dimensions, ruler.sup, ruler.eps, alpha, 2 * ruler.covariance) if self._n <= MOST_ABOVE else None
        )
        self._below = ApartBets(*dimensions, ruler.sup) if self._n <= MOST_BELOW else None

    def bet(self, arms: Index, features: Array) -> None:  # (A,), (A, b, D)
        """Bet on all pairs of these arms."""
        if self._below is None:
            return
        for i in range(len(arms) - 1):  # one arm after the other: all differences of many arms at once are gigabytes
            which, z = self._pairs[arms[i], arms[i + 1 :]], features[i] - features[i + 1 :]
            self._below.bet(which, z)
            if self._above is not None:
                self._above.bet(which, z)

    def same_within(self) -> Array:  # (N, N)
        """The smallest distance that each pair is proven to be below; infinite where none is."""
        if self._above is None:
            return self._square(None, np.inf)
        return self._square(self._above.best(self._shares.same_limit), np.inf)

    def apart_at_least(self) -> Array:  # (N, N)
        """The largest distance that each pair is proven to have; 0 where none is."""
        return self._square(None if self._below is None else self._below.best(self._shares.apart_limit), 0.0)

    def _square(self, values: Array | None, otherwise: float) -> Array:  # (P,) -> (N, N)
        found = np.full((self._n, self._n), otherwise) if values is None else values[self._pairs]
        np.fill_diagonal(found, 0.0)
        return found
