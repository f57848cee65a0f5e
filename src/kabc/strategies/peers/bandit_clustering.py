"""BanditClustering: Graf, Thuot and Verzelen, Clustering Items through Bandit Feedback, ICML 2025 (arXiv 2503.11209).

A peer of KABC for two groups whose means differ, perhaps in few of many features: find one feature that tells the
groups apart, then look at nothing else. Its own unit is the query: one sample of one cell (arm, feature), where a
sample of KABC is a vector, all d cells of an arm at once. `Search` speaks in queries, `BanditClustering` in vectors.

| symbol     | here            | meaning                                                                              |
|------------|-----------------|--------------------------------------------------------------------------------------|
| n, d       | `n_arms`, `d`   | arms (items), features (columns of a sample)                                         |
| D          |                 | difference of the two group means, in units of sigma                                 |
| k, T       | `_k`, `_budget` | number of the attempt, 1, 2, ..., and queries of one CESH in it, 2^(k+1)             |
| L, l       | `_depth`        | halvings of one CESH, which starts from 2^L cells; l of them are done                |
| q          | `_n_tested`     | samples of each cell in a test: 2^k in CR, floor(2^k / n) in CBC                     |
| 0, i, j    | `found`         | the reference, an arm of the other group, a feature in which they differ             |

The paper's order: CESH, CR, CBC, BanditClustering. What is compared are sums of q samples of two cells: where the means
are equal, their difference exceeds `threshold` with probability at most 2 exp(-ln(.)), half of it for normal noise.

Why delta holds as printed. A test (k, L) reads samples drawn for it alone, so what CESH chose is fixed beforehand.
There are at most k depths L at attempt k, since L 2^L <= 2^k. CR at delta/2 is wrong if a test of equal means passes:
at most the sum over k of k 0.3 (delta/2) / k^3 = 0.494 delta/2. CBC at delta/2, given an arm of the other group, is
wrong only if a noise exceeds the threshold of its k, in a test (when a feature with q |D_j| below twice the threshold
is accepted) or in one of n - 2 comparisons (else all arms are at least the threshold away from a wrong answer): fewer
than n tails of 0.3 (delta/2) / (n k^3) for each (k, L), together 0.494 delta/2 again. In all 0.494 delta, and half of
that for normal noise. Where CR is wrong CBC finds no feature, and hardly ever stops: that is part of the 0.494 delta.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kabc.core.arrays import Array
from kabc.core.errors import SettingsError
from kabc.core.evidence.pairs import Evidence
from kabc.core.partitions import Partition
from kabc.core.settings import positive_number, whole_number
from kabc.strategies.answers import Guarantee
from kabc.strategies.base import Request, Stepwise, checked_samples, evidence_of_means, in_units

Index = NDArray[np.int64]
_Step = Literal["halve", "test", "classify"]

_MOST_VALUES = 4_000_000  # numbers asked for in one round: 32 MB


# ---------------------------------------------------------------- the algorithm, in queries


@dataclass(frozen=True, slots=True)
class Query:
    """Cells to be compared, arms[0, c] with arms[1, c] in features[c], by n samples of each; all are fresh."""

    arms: Index  # (2, c)
    features: Index  # (c,)
    n: int


def _compared(reference: int, arms: Index, features: Index, n: int) -> Query:  # (c,), (c,)
    return Query(np.stack([np.full_like(arms, reference), arms]), features, n)


def deepest(n_arms: int, d: int, delta: float, k: int) -> int:
    """The largest L of attempt k: L 2^(L+1) <= T, and not beyond where 2^L cells hold a good one anyway."""
    cells = 16 * n_arms * d
    most = math.floor(math.log2(cells * math.log(16 * math.log(cells / 2) / delta)))
    return max(depth for depth in range(1, min(k, most) + 1) if depth * 2**depth <= 2**k)


def threshold(q: int, k: int, delta: float, n: int = 1) -> float:
    """What the difference of two sums of q samples must exceed: sqrt(4 q ln(n k^3 / (0.15 delta)))."""
    return math.sqrt(4 * q * math.log(n * k**3 / (0.15 * delta)))


class Search:
    """BanditClustering(delta) = CR(delta/2), then CBC(i, delta/2): asks for cells by `query`, is told sums by `tell`.

    Noise has size 1. Ends when `labels` are there; `found` is the arm i of CR, `n_queries` what was asked so far.
    """

    def __init__(self, n_arms: int, d: int, delta: float, rng: np.random.Generator) -> None:
        self.n_arms, self.d, self.delta = n_arms, d, delta
        self._rng = rng
        self.n_queries = 0
        self.found: int | None = None
        self.labels: Index | None = None
        self._arms = np.arange(n_arms)  # those CESH picks from
        self._k, self._depth = 1, 0
        self._cesh()

    # ------------------------------------------------------------ CESH

    def _cesh(self) -> None:
        """CESH(arms, L, T) with the next admissible L, or the next k: 2^L cells at random, with replacement."""
        self._depth += 1
        if self._depth > deepest(self.n_arms, self.d, self.delta / 2, self._k):
            self._k, self._depth = self._k + 1, 1
        arms = self._arms[self._rng.integers(len(self._arms), size=2**self._depth)]
        self._halve(arms, self._rng.integers(self.d, size=2**self._depth))

    @property
    def _budget(self) -> int:
        return 1 << (self._k + 1)

    def _halve(self, arms: Index, features: Index) -> None:  # (2^(L-l),)
        """floor(T / (2^(L-l+1) L)) samples of each cell, and of the reference for it."""
        self._step: _Step = "halve"
        self.query = _compared(0, arms, features, self._budget // (2 * len(arms) * self._depth))

    def _halved(self, gaps: Array) -> None:  # (2^(L-l),)
        """The half with the largest differences stays; the last cell is tested."""
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
        return (1 << self._k) // (1 if self.found is None else self.n_arms)

    @property
    def _threshold(self) -> float:
        return threshold(self.query.n, self._k, self.delta / 2, 1 if self.found is None else self.n_arms)

    def _tested(self, gap: float) -> None:
        """CR: is the arm of the other group? CBC: does the feature show it clearly enough to sort all arms by?"""
        if self.found is None and gap > self._threshold:
            self.found = int(self.query.arms[1, 0])
            self._arms = self.query.arms[1]
            self._k, self._depth = (self.n_arms - 1).bit_length(), 0  # ceil(log2 n)
            self._cesh()
        elif self.found is not None and gap > 3 * self._threshold:
            others = np.setdiff1d(np.arange(1, self.n_arms), self._arms)
            self._step = "classify"
            self.query = _compared(self.found, others, np.repeat(self.query.features, len(others)), self.query.n)
        else:
            self._cesh()

    def _classified(self, gaps: Array) -> None:  # (n - 2,)
        """Arms near i are of its group, the others of that of the reference."""
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


# ---------------------------------------------------------------- cells, read from vectors


class _Reading:
    """Vectors from which the cells of one query are read.

    One vector serves cells of its arm in different features. A cell that comes twice, as one drawn twice or as the
    reference of two, reads other vectors each time: an arm has as many blocks of n vectors as its commonest cell comes.
    So all samples of one cell are independent, and those of one comparison are, which is all that the tests need:
    features of one vector may depend on each other, which only bears on what CESH chooses to test.
    """

    def __init__(self, query: Query) -> None:
        self.n = query.n
        self._columns, places = np.unique(query.features, return_inverse=True)
        self._places = np.tile(places, 2)  # (2c,)
        self._arms, arms = np.unique(query.arms, return_inverse=True)
        arms = arms.reshape(-1)
        blocks = _repeats(arms * len(self._columns) + self._places)
        n_blocks = np.zeros(len(self._arms), dtype=np.int64)
        np.maximum.at(n_blocks, arms, blocks + 1)
        first = np.cumsum(n_blocks) - n_blocks
        self._first = dict(zip(self._arms.tolist(), first.tolist(), strict=True))
        self._blocks = first[arms] + blocks  # (2c,)
        self._wanted = dict(zip(self._arms.tolist(), (self.n * n_blocks).tolist(), strict=True))
        self._told = dict.fromkeys(self._wanted, 0)
        self._sums = np.zeros((int(n_blocks.sum()), len(self._columns)))

    def request(self, room: int) -> Request:
        """The next vectors, of as many arms as there is room for."""
        request: Request = {}
        for arm, wanted in self._wanted.items():
            if wanted > self._told[arm] and room:
                request[arm] = min(wanted - self._told[arm], room)
                room -= request[arm]
        return request

    def add(self, arm: int, points: Array) -> None:  # (m, d)
        blocks = self._first[arm] + (self._told[arm] + np.arange(len(points))) // self.n
        starts = np.flatnonzero(np.diff(blocks, prepend=-1))
        self._sums[blocks[starts]] += np.add.reduceat(points[:, self._columns], starts, axis=0)
        self._told[arm] += len(points)

    @property
    def complete(self) -> bool:
        """Whether nothing is missing."""
        return self._told == self._wanted

    def sums(self) -> Array:  # (2, c)
        """What the query asked for."""
        sums: Array = self._sums[self._blocks, self._places].reshape(2, -1)
        return sums


def _repeats(cells: Index) -> Index:  # (c,) -> (c,)
    """How many equal ones come before each."""
    _, counts = np.unique(cells, return_counts=True)
    before = np.empty_like(cells)
    before[np.argsort(cells, kind="stable")] = np.arange(len(cells)) - np.repeat(np.cumsum(counts) - counts, counts)
    return before


# ---------------------------------------------------------------- the strategy, in vectors


class BanditClustering(Stepwise):
    """BanditClustering: sorts N arms into two groups by one feature, wrong with probability at most delta.

    Every sample is a vector, of which only the cells are read that the algorithm queries. `n_samples` counts vectors,
    `n_queries` cells; a vector costs as much as d cells where cells can be had one by one. The first vector, of arm 0,
    only tells d. Two arms are two groups, and need no other.

    Parameters
    ----------
    n_arms, n_clusters, delta : N, K, error probability; K must be 2.
    sigma : known standard deviation of every coordinate, or an upper bound of its noise (sub-Gaussian): 1/2 for values
        in [0, 1], which is the paper's version for Bernoulli feedback.
    seed : of the cells that are drawn at random.

    Time and memory of a round are those of its samples, at most 32 MB. Attempts double, so that the last one has about
    half of all samples.
    """

    kernel = None
    one_blas_thread = True

    def __init__(self, n_arms: int, n_clusters: int, delta: float, *, sigma: float = 1.0, seed: int = 0) -> None:
        super().__init__(n_arms, delta)
        if n_clusters != 2:
            raise SettingsError(
                f"n_clusters must be 2 for BanditClustering, got {n_clusters!r}; use 'acb-dagger' or 'boc' for more"
            )
        self.n_clusters = 2
        self.sigma = positive_number("sigma", sigma)
        self.seed = whole_number("seed", seed, 0)
        # --- state: what the next step needs, and what people look at
        self._search: Search | None = None  # None until the first vector tells d
        self._reading: _Reading | None = None
        self._drawn = np.zeros(self.n_arms, dtype=np.int64)
        self._labels = np.zeros(self.n_arms, dtype=np.int64)

    # ------------------------------------------------------------ what to draw

    @property
    def n_queries(self) -> int:
        """Cells queried so far, which is what the paper counts; of a query that is not complete, none."""
        return 0 if self._search is None else self._search.n_queries

    @property
    def n_groups_at_least(self) -> int:
        return 2 if self.stopped else 1

    def _request(self) -> Request:
        if self._search is None or self._reading is None:
            return {0: 1}
        return self._reading.request(max(1, _MOST_VALUES // self._search.d))

    # ------------------------------------------------------------ what was drawn

    def tell(self, samples: Mapping[int, ArrayLike]) -> None:
        rows = checked_samples(samples, self._asked, None, None if self._search is None else self._search.d)
        assert self._asked is not None
        points = dict(zip(self._asked, in_units(rows, self.sigma), strict=True))
        # Nothing above changed the state; nothing below can fail.
        self._take(rows)
        for arm, row in points.items():
            self._drawn[arm] += len(row)
        self._absorb(points)
        self._close_round(int(self._drawn.max()), int(self._labels.max()) + 1)

    def _absorb(self, points: Mapping[int, Array]) -> None:  # (m, d) each
        if self._search is None or self._reading is None:
            self._search = Search(self.n_arms, points[0].shape[1], self.delta, np.random.default_rng(self.seed))
            self._reading = _Reading(self._search.query)
            if self.n_arms == 2:  # there is but one partition
                self._decide(np.arange(2))
            return
        for arm, row in points.items():
            self._reading.add(arm, row)
        if self._reading.complete:
            self._go_on(self._search, self._reading.sums())

    def _go_on(self, search: Search, sums: Array) -> None:  # (2, c)
        search.tell(sums)
        if search.labels is not None:
            self._decide(search.labels)
            return
        self._reading = _Reading(search.query)
        if search.found is not None:  # a guess: arms that were not looked at go with the reference
            self._labels[search.found] = 1

    def _decide(self, labels: Index) -> None:  # (N,)
        self._status, self._labels, self._reading = "decided", labels, None

    # ------------------------------------------------------------ what people see

    def recommend(self) -> Partition:
        return Partition(tuple(self._labels.tolist()), certified=self.stopped)

    def evidence(self) -> Evidence:
        if not self._rounds:
            return Evidence.none(self.n_arms)
        told = self._labels[:, None] != self._labels[None, :] if self.stopped else False
        told_in_round = np.where(told, len(self._rounds), np.zeros((self.n_arms, self.n_arms), dtype=np.int64))
        return evidence_of_means(told_in_round, self._drawn.copy(), np.full(told_in_round.shape, np.nan))

    def guarantee(self) -> Guarantee:
        return Guarantee(
            strategy=f"BanditClustering(delta = {self.delta:g}, K = 2)",
            claim=f"with probability at least {1 - self.delta:g} it stops, and the partition is right when it does.",
            assumptions=(
                (
                    "samples are independent; each coordinate has normal or sub-Gaussian noise of size at most "
                    f"sigma = {self.sigma:g}; coordinates of a sample may depend on each other"
                ),
                "there are exactly 2 groups of arms with equal means",
                "arms with equal means are one group: other differences of distributions are not seen",
            ),
            rule=(
                (
                    "attempt k = 1, 2, ...: sequential halving of 2^L random cells (arm, column), "
                    f"2^(k+1) values for each L (seed {self.seed}), by their distance from arm 0"
                ),
                (
                    "an arm is of the other group than arm 0 when in the column that was left two sums of q = 2^k "
                    "fresh values differ by more than sigma sqrt(4 q ln(k^3 / (0.15 delta/2)))"
                ),
                (
                    "then the same for columns of this arm: one is taken when sums of q = floor(2^k / N) fresh values "
                    "differ by more than 3 sigma sqrt(4 q ln(N k^3 / (0.15 delta/2)))"
                ),
                (
                    "in this column every other arm is held against it: of the same group when sums of q fresh values "
                    "differ by at most a third of that"
                ),
            ),
        )
