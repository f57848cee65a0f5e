"""ATBOC, and EBC of the same authors, which takes one gradient step per round. Symbols and proof: strategy.py."""

from __future__ import annotations

import math
from typing import Literal, get_args

import numpy as np

from kabc.core.arrays import Array
from kabc.core.errors import SettingsError
from kabc.strategies.base import Request
from kabc.strategies.peers.boc.allocation import raised
from kabc.strategies.peers.boc.thresholds import proven_threshold
from kabc.strategies.peers.single_linkage.linkage import compiled_loops
from kabc.strategies.peers.single_linkage.strategy import SingleLinkage

Proportions = Literal["solved", "gradient"]


class ATBOC(SingleLinkage):
    """Average Tracking Bandit Online Clustering, reconstructed: single linkage of the means, wrong with at most delta.

    Every round after the first draws one sample of one arm. This is an arm with fewer than sqrt(t/M) samples if there
    is one. Otherwise it is the arm that is furthest behind the average of the best proportions so far.

    Parameters
    ----------
    n_arms, n_clusters, delta : N, K, error probability.
    proportions : "solved": the best proportions in every round. "gradient": one gradient step per round, as in EBC of
        the same authors (arXiv 2601.09162), with our own step size.
    sigma : known standard deviation of every coordinate, or an upper bound.

    A round takes O(N^3) steps, and a hundred times as many when proportions are solved. Memory is O(N (N + d)).
    """

    def __init__(
        self,
        n_arms: int,
        n_clusters: int,
        delta: float,
        *,
        proportions: Proportions = "solved",
        sigma: float = 1.0,
    ) -> None:
        super().__init__(n_arms, n_clusters, delta, sigma)
        if proportions not in get_args(Proportions):
            raise SettingsError(f"proportions must be 'solved' or 'gradient', got {proportions!r}")
        self.proportions = proportions
        self._name = "ATBOC" if proportions == "solved" else "EBC"
        self._shares: Array = np.full(self.n_arms, 1 / self.n_arms)  # w
        self._sum_of_shares = np.zeros(self.n_arms)

    def _judge(self, told: list[int]) -> Request:
        loops = compiled_loops()
        self._labels, tree = loops.groups(self._distances, self.n_clusters)
        beta = proven_threshold(self._counts, self._means.shape[1], self.delta)
        if loops.alternative(self._distances, self._labels, tree, self._counts.astype(np.float64)) > beta:
            return {}
        if self.proportions == "solved":
            self._shares = loops.shares(self._distances, self._labels, tree)
        else:
            slope = loops.slope(self._distances, self._labels, tree, self._shares)
            step = 1 / math.sqrt(len(self._rounds) + 1)
            least = 0.01 / self.n_arms  # a share of 0 has no slope
            self._shares = raised(self._shares + step * slope / float(np.linalg.norm(slope)), least)
        self._sum_of_shares += self._shares
        fewest = int(self._counts.argmin())
        if self._counts[fewest] < math.sqrt(self._n_samples / self.n_arms):
            return {fewest: 1}
        average = self._sum_of_shares / (len(self._rounds) + 1)
        return {int((self._counts - self._n_samples * average).argmin()): 1}

    def _rules(self) -> tuple[str, ...]:
        return (
            (
                "every later round draws one arm: one with fewer than sqrt(t/N) samples, else the one furthest behind "
                f"the average of the best proportions so far ({self.proportions})"
            ),
            "stops when min over tree edges e and pairs p of (D_p - D_e)^2 / (2 sum of c_m^2 / N_m) is above beta",
            "beta = sum over m of 2 d ln(4 + ln N_m) + N d Psi(ln(1/delta) / (N d))",
        )
