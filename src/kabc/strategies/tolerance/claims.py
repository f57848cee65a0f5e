"""The claims that are open: the one that looks true, and those that looked true before.

Each starts afresh when it is made, and has an error probability of its own by its number. Several may be open at once.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kabc.core.arrays import Array, Index, Mask
from kabc.strategies.tolerance.claim import SameClaim, across_of
from kabc.strategies.tolerance.pools import PoolRound
from kabc.strategies.tolerance.ruler import Ruler
from kabc.strategies.tolerance.shares import ToleranceShares

MOST = 4  # open at once; the one that was looked for longest ago is given up


class Claims:
    """Claims in the order in which they were last looked for."""

    def __init__(self, shares: ToleranceShares) -> None:
        self._shares = shares
        self.open: list[SameClaim] = []
        self.n_made = 0

    def bet(self, arms: Index, features: Array) -> None:  # (A,), (A, b, D)
        """A round of bets on sameness."""
        for claim in self.open:
            claim.bet(arms, features)

    def bet_on_differences(self, now: PoolRound) -> None:
        """A round of bets on differences of groups."""
        for claim in self.open:
            claim.bet_on_differences(now)

    def keep(self, wanted: Callable[[SameClaim], bool]) -> None:
        """Give up all others."""
        self.open = [claim for claim in self.open if wanted(claim)]

    def find(self, labels: Index) -> SameClaim | None:  # (N,)
        """The open claim of these groups."""
        return next((claim for claim in self.open if np.array_equal(claim.labels, labels)), None)

    def of(self, labels: Index, ruler: Ruler, apart: Mask) -> SameClaim:  # (N,), (N, N)
        """The claim of these groups; a new one if none is open. Its evidence starts afresh."""
        found = self.find(labels)
        if found is None:
            self.n_made += 1
            alpha = self._shares.claim_alpha(self.n_made)
            found = SameClaim(labels, self.n_made, alpha, ruler, across_of(labels, apart))
        self.open = [*[claim for claim in self.open if claim is not found], found][-MOST:]
        return found
