"""KABC by a bound on the MMD that holds uniformly in time: Manole and Ramdas, Martingale methods for sequential
estimation of convex functionals and divergences, arXiv 2103.09267.

| symbol | here                  | meaning                                                              |
|--------|-----------------------|----------------------------------------------------------------------|
| t      | `t`                   | samples of each arm                                                  |
| MMD_t  | `distances`           | distance of the two empirical mean embeddings (eq. empdist), biased  |
| B, g~  | `supremum`, `range`   | sup k, and max(sup k, sup k - inf k)                                 |
| alpha  | `alpha`               | error probability of a pair: delta / (N(N-1)/2)                      |
| l(a)   | `_stitching`          | max(1, a)^2 pi^2 / 6                                                 |

As printed: a pair is told apart when MMD_t > 4 sqrt(2B/t) (1 + sqrt(ln(2 l(log2 t)) + ln(2/alpha))).

Tight (the default): the constants that the same proof gives for two samples of equal size. For t in [2^a, 2^(a+1)) a
pair is told apart when MMD_t > 2 sqrt(g~/t) (1 + sqrt(L)), L = ln(l(a + 1) / alpha). Note 1/l(1) + 1/l(2) + ... = 1.
Proof: docs/theory.md, section 16.1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kabc.core.embeddings import embed
from kabc.core.embeddings.means import Embedding
from kabc.core.evidence.pairs import Evidence
from kabc.core.kernels import Kernel
from kabc.strategies.peers.pair_tests.by_test import ByTest, farthest


def published_threshold(t: int, supremum: float, alpha: float) -> float:
    """4 sqrt(2B/t) (1 + sqrt(ln(2 l(log2 t)) + ln(2/alpha)))."""
    log_term = math.log(2 * _stitching(math.log2(t))) + math.log(2 / alpha)
    return 4 * math.sqrt(2 * supremum / t) * (1 + math.sqrt(log_term))


def tight_threshold(t: int, g_range: float, alpha: float) -> float:
    """2 sqrt(g~/t) (1 + sqrt(ln(l(floor(log2 t) + 1) / alpha)))."""
    return 2 * math.sqrt(g_range / t) * (1 + math.sqrt(math.log(_stitching(t.bit_length()) / alpha)))


def _stitching(a: float) -> float:
    return max(1.0, a) ** 2 * math.pi**2 / 6


class ManoleRamdasKABC(ByTest[Embedding]):
    """KABC by the time-uniform MMD bound of Manole and Ramdas. It uses no variances and is checked after every round.

    Parameters
    ----------
    n_arms, n_clusters, delta, kernel : N, K, error probability, kernel.
    tight : whether to use the constants that the proof gives for two samples of equal size. They make thresholds at
        least 2.8 times smaller. False: the constants as printed in the paper.
    growth : each round multiplies the samples of an arm by this factor.

    Cost of a round: see `kabc.Cluster`.
    """

    def __init__(
        self, n_arms: int, n_clusters: int, delta: float, kernel: Kernel, *, tight: bool = True, growth: float = 1.1
    ) -> None:
        self.tight = bool(tight)
        super().__init__(n_arms, n_clusters, delta, kernel, growth)

    def threshold(self, t: int) -> float:
        """What the distance of a pair must exceed at t samples of each arm."""
        alpha = self.delta / self.n_pairs
        if self.tight:
            return tight_threshold(t, self.kernel.range, alpha)
        return published_threshold(t, self.kernel.supremum, alpha)

    def _start(self) -> Embedding:
        return embed(self.kernel, self.n_arms)

    def _first(self) -> int:
        t = 2
        while self.threshold(t) >= farthest(self.kernel):
            t += 1
        return t

    def _look(self, memory: Embedding, rows: Sequence[NDArray[Any]]) -> tuple[Embedding, Evidence]:
        grown = memory.extended(rows)
        distances = np.sqrt(grown.squared_distances())  # eq. empdist
        thresholds = np.full_like(distances, self.threshold(int(grown.counts[0])))
        told = (distances > thresholds).astype(np.int64)
        return grown, Evidence.of_distances(told, grown.counts, distances, thresholds, grown.variances())

    def _words(self) -> tuple[str, tuple[str, ...]]:
        threshold = (
            "2 sqrt(g~/t) (1 + sqrt(ln(l(floor(log2 t) + 1) / alpha)))"
            if self.tight
            else "4 sqrt(2 g-bar/t) (1 + sqrt(ln(2 l(log2 t)) + ln(2/alpha)))"
        )
        return "the time-uniform bound of Manole and Ramdas", (
            (
                f"told apart when ||mu_i - mu_j|| > {threshold}, l(a) = max(1, a)^2 pi^2/6, "
                f"alpha = delta / {self.n_pairs} (union over pairs)"
            ),
        )
