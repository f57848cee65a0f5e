"""LUCBBOC. Symbols and proof: strategy.py."""

from __future__ import annotations

import numpy as np

from kabc.strategies.base import Request
from kabc.strategies.peers.single_linkage.linkage import compiled_loops
from kabc.strategies.peers.single_linkage.strategy import SingleLinkage


class LUCBBOC(SingleLinkage):
    """Lower and Upper Confidence Bound based Bandit Online Clustering, reconstructed.

    Every round after the first draws the less sampled arm of two pairs: the pair between groups with the smallest lower
    bound, and the tree edge within a group with the largest upper bound. It stops when the first bound is larger.

    Parameters
    ----------
    n_arms, n_clusters, delta : N, K, error probability.
    sigma : known standard deviation of every coordinate, or an upper bound.

    Time of a round is O(N^2 + N d), memory O(N (N + d)).
    """

    _name = "LUCBBOC"

    def __init__(self, n_arms: int, n_clusters: int, delta: float, *, sigma: float = 1.0) -> None:
        super().__init__(n_arms, n_clusters, delta, sigma)
        self._radii = np.full(self.n_arms, np.inf)

    def _judge(self, told: list[int]) -> Request:
        loops = compiled_loops()
        self._labels, _ = loops.groups(self._distances, self.n_clusters)
        for arm in told:
            self._radii[arm] = self._radius(arm)
        intra, a, b, inter, i, j = loops.critical(self._distances, self._labels, self._radii)
        if inter > intra:
            return {}
        return dict.fromkeys((self._less_sampled(i, j), self._less_sampled(a, b)), 1)

    def _less_sampled(self, i: int, j: int) -> int:
        return i if self._counts[i] <= self._counts[j] else j

    def _rules(self) -> tuple[str, ...]:
        return (
            "every later round draws the less sampled arm of the closest pair between groups, by lower bounds,",
            "and the less sampled arm of the longest tree edge within groups, by upper bounds",
            "stops when the lower bound of the first is above the upper bound of the second",
            "distances are within R_i + R_j, R_m^2 = 2 (2 d ln(4 + ln N_m) + d Psi(ln(N/delta) / d)) / N_m",
        )
