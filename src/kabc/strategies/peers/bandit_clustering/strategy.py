"""BanditClustering: Graf, Thuot and Verzelen, Clustering Items through Bandit Feedback, ICML 2025 (arXiv 2503.11209).

A peer of KABC for two groups whose means differ, perhaps in few of many features. It finds one feature that tells the
groups apart, then uses only this feature. The paper counts queries: one sample of one cell (arm, feature). A sample of
KABC is a vector: all d cells of an arm at once. search.py works in queries, reading.py reads their cells from vectors,
and this file draws vectors.

| symbol     | here            | meaning                                                                              |
|------------|-----------------|--------------------------------------------------------------------------------------|
| n, d       | `n_arms`, `d`   | arms (items), features (columns of a sample)                                         |
| D          |                 | difference of the two group means, in units of sigma                                 |
| k, T       | `k`, `_budget`  | number of the attempt, 1, 2, ..., and queries of one CESH in it, 2^(k+1)             |
| L, l       | `depth`         | halvings of one CESH, which starts from 2^L cells; l of them are done                |
| q          | `_n_tested`     | samples of each cell in a test: 2^k in CR, floor(2^k / n) in CBC                     |
| 0, i, j    | `found`         | the reference, an arm of the other group, a feature in which they differ             |

Tests compare sums of q samples of two cells. If the means are equal, the difference exceeds `threshold` with
probability at most 0.3 delta / (n k^3). For normal noise it is half of that. The error probability is at most 0.494
delta; the proof is in docs/theory.md, section 16.5.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from kabc.core.arrays import Array
from kabc.core.errors import SettingsError
from kabc.core.evidence.pairs import Evidence
from kabc.core.partitions import Partition
from kabc.core.settings import positive_number, whole_number
from kabc.strategies.answers import Guarantee
from kabc.strategies.base import Request, Stepwise, checked_samples, evidence_of_means, in_units
from kabc.strategies.peers.bandit_clustering.reading import Reading
from kabc.strategies.peers.bandit_clustering.search import Index, Search
from kabc.strategies.wording import exactly, wrong_at_most

_MOST_VALUES = 4_000_000  # numbers asked for in one round: 32 MB


class BanditClustering(Stepwise):
    """BanditClustering: sorts N arms into two groups by one feature, wrong with probability at most delta.

    Every sample is a vector, but only the queried cells are read. `n_samples` counts vectors, `n_queries` counts cells.
    If cells can be drawn one by one, a vector costs as much as d cells. The first vector, of arm 0, only shows d. Two
    arms are two groups, which needs no other sample.

    Parameters
    ----------
    n_arms, n_clusters, delta : N, K, error probability; K must be 2.
    sigma : known standard deviation of every coordinate, or an upper bound of its noise (sub-Gaussian): 1/2 for values
        in [0, 1], which is the paper's version for Bernoulli feedback.
    seed : seed of the random choice of cells.

    Time and memory of a round are those of its samples, at most 32 MB. Each attempt takes twice as many samples as the
    one before. So the last attempt takes about half of all samples.
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
        # --- state: what the next step needs, and what users can read
        self._search: Search | None = None  # None until the first vector shows d
        self._reading: Reading | None = None
        self._drawn = np.zeros(self.n_arms, dtype=np.int64)
        self._labels = np.zeros(self.n_arms, dtype=np.int64)

    # ------------------------------------------------------------ what to draw

    @property
    def n_queries(self) -> int:
        """Cells queried so far, as the paper counts them. Only complete queries count."""
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
            self._reading = Reading(self._search.query)
            if self.n_arms == 2:  # there is only one partition
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
        self._reading = Reading(search.query)
        if search.found is not None:  # a guess: arms that were not compared join the group of the reference
            self._labels[search.found] = 1

    def _decide(self, labels: Index) -> None:  # (N,)
        self._status, self._labels, self._reading = "decided", labels, None

    # ------------------------------------------------------------ what users see

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
            claim=wrong_at_most(self.delta, exactly(2), self.stopped) + " A run without end counts as wrong.",
            assumptions=(
                (
                    "samples are independent; each coordinate has normal or sub-Gaussian noise of size at most "
                    f"sigma = {self.sigma:g}; coordinates of a sample may depend on each other"
                ),
                f"{exactly(2)}; arms of a group have equal means",
                "arms with equal means are one group; other differences of distributions are not seen",
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
                    "in this column every other arm is compared with it: same group when sums of q fresh values "
                    "differ by at most a third of that"
                ),
            ),
        )
