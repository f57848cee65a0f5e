"""The algorithm of BanditClustering. A query is one sample of one cell (arm, feature). Symbols: strategy.py."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from kabc.core.arrays import Array

Index = NDArray[np.int64]
_Step = Literal["halve", "test", "classify"]


@dataclass(frozen=True, slots=True)
class Query:
    """Cells to compare: arms[0, c] with arms[1, c] in features[c], with n fresh samples of each."""

    arms: Index  # (2, c)
    features: Index  # (c,)
    n: int


def _compared(reference: int, arms: Index, features: Index, n: int) -> Query:  # (c,), (c,)
    return Query(np.stack([np.full_like(arms, reference), arms]), features, n)


def deepest(n_arms: int, d: int, delta: float, k: int) -> int:
    """The largest L of attempt k: L 2^(L+1) <= T. It is not larger than needed for 2^L cells to include a good one."""
    cells = 16 * n_arms * d
    most = math.floor(math.log2(cells * math.log(16 * math.log(cells / 2) / delta)))
    return max(depth for depth in range(1, min(k, most) + 1) if depth * 2**depth <= 2**k)


def threshold(q: int, k: int, delta: float, n: int = 1) -> float:
    """What the difference of two sums of q samples must exceed: sqrt(4 q ln(n k^3 / (0.15 delta)))."""
    return math.sqrt(4 * q * math.log(n * k**3 / (0.15 * delta)))


class Search:
    """BanditClustering(delta) = CR(delta/2), then CBC(i, delta/2). `query` asks for cells, `tell` receives their sums.

    Noise has size 1. The algorithm ends when `labels` is set. `k` and `depth` are the attempt and its L. `found` is the
    arm i of CR. `n_queries` counts all queries so far.
    """

    def __init__(self, n_arms: int, d: int, delta: float, rng: np.random.Generator) -> None:
        self.n_arms, self.d, self.delta = n_arms, d, delta
        self._rng = rng
        self.n_queries = 0
        self.found: int | None = None
        self.labels: Index | None = None
        self._arms = np.arange(n_arms)  # CESH picks from these arms
        self.k, self.depth = 1, 0
        self._cesh()

    # ------------------------------------------------------------ CESH

    def _cesh(self) -> None:
        """CESH(arms, L, T) with the next admissible L, or the next k: 2^L cells at random, with replacement."""
        self.depth += 1
        if self.depth > deepest(self.n_arms, self.d, self.delta / 2, self.k):
            self.k, self.depth = self.k + 1, 1
        arms = self._arms[self._rng.integers(len(self._arms), size=2**self.depth)]
        self._halve(arms, self._rng.integers(self.d, size=2**self.depth))

    @property
    def _budget(self) -> int:
        return 1 << (self.k + 1)

    def _halve(self, arms: Index, features: Index) -> None:  # (2^(L-l),)
        """floor(T / (2^(L-l+1) L)) samples of each cell, and of the reference for it."""
        self._step: _Step = "halve"
        self.query = _compared(0, arms, features, self._budget // (2 * len(arms) * self.depth))

    def _halved(self, gaps: Array) -> None:  # (2^(L-l),)
        """Keep the half with the largest differences. Test the last cell."""
        kept = np.argsort(-gaps, kind="stable")[: len(gaps) // 2]
        arms, features = self.query.arms[1, kept], self.query.features[kept]
        if len(kept) > 1:
            self._halve(arms, features)
        else:
            self._step = "test"
            self.query = _compared(0, arms, features, self._n_tested)

    # ------------------------------------------------------------ CR and CBC

    @property
    def _n_tested(self) -> int:
        return (1 << self.k) // (1 if self.found is None else self.n_arms)

    @property
    def _threshold(self) -> float:
        return threshold(self.query.n, self.k, self.delta / 2, 1 if self.found is None else self.n_arms)

    def _tested(self, gap: float) -> None:
        """CR: is the arm in the other group? CBC: is the feature clear enough to sort all arms by it?"""
        if self.found is None and gap > self._threshold:
            self.found = int(self.query.arms[1, 0])
            self._arms = self.query.arms[1]
            self.k, self.depth = (self.n_arms - 1).bit_length(), 0  # ceil(log2 n)
            self._cesh()
        elif self.found is not None and gap > 3 * self._threshold:
            others = np.setdiff1d(np.arange(1, self.n_arms), self._arms)
            self._step = "classify"
            self.query = _compared(self.found, others, np.repeat(self.query.features, len(others)), self.query.n)
        else:
            self._cesh()

    def _classified(self, gaps: Array) -> None:  # (n - 2,)
        """Arms close to i are in its group, all others in the group of the reference."""
        labels = np.zeros(self.n_arms, dtype=np.int64)
        labels[self.query.arms[1, gaps <= self._threshold]] = 1
        labels[self._arms] = 1
        self.labels = labels

    # ------------------------------------------------------------ BanditClustering

    def tell(self, sums: Array) -> None:  # (2, c)
        """Sums of the n samples of each cell of the query."""
        self.n_queries += self.query.arms.size * self.query.n
        gaps = np.abs(sums[0] - sums[1])
        if self._step == "halve":
            self._halved(gaps)
        elif self._step == "test":
            self._tested(float(gaps[0]))
        else:
            self._classified(gaps)
