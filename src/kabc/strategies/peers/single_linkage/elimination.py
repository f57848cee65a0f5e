"""BOC-Elim. Symbols and proof: strategy.py."""

from __future__ import annotations

import numpy as np

from kabc.strategies.base import Request
from kabc.strategies.peers.single_linkage.intervals import gaps_within, largest_splits
from kabc.strategies.peers.single_linkage.strategy import SingleLinkage


class BOCElim(SingleLinkage):
    """Bandit Online Clustering by elimination, reconstructed: for samples that are single numbers.

    A gap between two neighbouring means is open until it is known whether it is one of the K - 1 largest. Every round
    draws one sample of each arm that may lie beside an open gap.

    Parameters
    ----------
    n_arms, n_clusters, delta : N, K, error probability.
    sigma : known standard deviation, or an upper bound.

    Time of a round is O(N^2).
    """

    _name = "BOC-Elim"
    _most_columns = 1

    def __init__(self, n_arms: int, n_clusters: int, delta: float, *, sigma: float = 1.0) -> None:
        super().__init__(n_arms, n_clusters, delta, sigma)
        self._low, self._high = np.full(self.n_arms, -np.inf), np.full(self.n_arms, np.inf)

    def _judge(self, told: list[int]) -> Request:
        for arm in told:  # intervals only shrink
            mean, radius = float(self._means[arm, 0]), self._radius(arm)
            self._low[arm] = max(self._low[arm], mean - radius)
            self._high[arm] = min(self._high[arm], mean + radius)
        self._labels, between = largest_splits(self._low, self._high, self.n_clusters)
        within = gaps_within(self._low, self._high, self._labels)
        if self.n_clusters in (1, self.n_arms) or within.max() < between.min():
            return {}
        active = within >= between.min()
        # a gap that is larger than all gaps within groups is one of the K - 1 largest: no need to know its size
        for k in np.flatnonzero(between <= within.max()).tolist():
            left, right = self._labels == k, self._labels == k + 1
            active |= left & (self._high >= self._low[left].max())  # may be the last before the gap
            active |= right & (self._low <= self._high[right].min())
        return dict.fromkeys(np.flatnonzero(active).tolist(), 1)

    def _rules(self) -> tuple[str, ...]:
        return (
            "a gap is open while it may or may not be one of the K - 1 largest",
            "every later round draws each arm that may lie beside an open gap",
            "stops when no gap within a group can be as large as the smallest between groups",
            "means are within R_m, R_m^2 = 2 (2 ln(4 + ln N_m) + Psi(ln(N/delta))) / N_m",
        )
