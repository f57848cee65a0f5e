"""ATBOC, LUCBBOC, BOC-Elim: Chandran, Reddy and Bhashyam, Online Clustering with Bandit Information, arXiv 2501.11421.

Peers of KABC for Gaussian arms with known covariance sigma^2 I. They look for another partition: the single-linkage
clustering of the means into K groups. Arms of a group may differ, as long as steps between arms within it are shorter
than all distances between groups.

These are reconstructions. The partition, the shape of the algorithms, and the origin of the elimination rule
(MaxGapElim; Katariya, Tripathy and Nowak, 2019) are from the authors. The thresholds and constants are our own, so
costs may differ from the published ones. Proofs: docs/theory.md, section 16.3.

| symbol       | here               | meaning                                                                        |
|--------------|--------------------|--------------------------------------------------------------------------------|
| M, K, d      | `n_arms`, ...      | arms, groups, columns of a sample                                              |
| N_m          | `counts`           | samples of arm m                                                               |
| mu_hat_m     | `means`     (M, d) | empirical mean of arm m, in units of sigma                                     |
| D_ij         | `distances` (M, M) | distances of the empirical means                                               |
| C            | `labels`           | SLINK_K(mu_hat): spanning tree of the D_ij without its K - 1 longest edges     |
| e = (a, b)   | `tree`             | edges that are left, within groups                                             |
| p = (i, j)   |                    | pairs of arms of different groups                                              |
| c_m          |                    | how often arm m is among a, b, i, j                                            |
| inner(w, mu) | `alternative`      | cost of the nearest means with another single-linkage clustering, at weights w |
| beta         | `proven_threshold` | bound of sum of N_m ||mu_hat_m - mu_m||^2 / 2 for all times (boc/thresholds.py)|
| R_m          | `_radius`          | bound of ||mu_hat_m - mu_m|| for all times and arms: sqrt(2 beta / N_m) of one |

This file has the parts that the three share. Each strategy has its own file, and linkage.py has the compiled loops.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from kabc.core.arrays import Array
from kabc.core.errors import SampleError
from kabc.core.evidence.pairs import Evidence
from kabc.core.partitions import Partition
from kabc.core.settings import positive_number, whole_number
from kabc.core.words import percent
from kabc.strategies.answers import Guarantee
from kabc.strategies.base import Request, Stepwise, all_arms, checked_samples, evidence_of_means, in_units
from kabc.strategies.peers.boc.thresholds import proven_threshold


class SingleLinkage(Stepwise):
    """Means and their distances, updated with every sample. Subclasses decide when to stop and what to draw."""

    kernel = None
    one_blas_thread = True
    _name: str
    _most_columns: int | None = None

    def __init__(self, n_arms: int, n_clusters: int, delta: float, sigma: float) -> None:
        super().__init__(n_arms, delta)
        self.n_clusters = whole_number("n_clusters", n_clusters, 1, self.n_arms)
        self.sigma = positive_number("sigma", sigma)
        # --- state: what the next step needs, and what users can read
        self._next = all_arms(self.n_arms, 1)
        self._counts = np.zeros(self.n_arms, dtype=np.int64)
        self._means: Array = np.zeros((self.n_arms, 0))
        self._distances = np.zeros((self.n_arms, self.n_arms))
        self._labels = np.zeros(self.n_arms, dtype=np.int64)

    @abstractmethod
    def _judge(self, told: list[int]) -> Request:
        """Set the labels and return what to draw next, nothing if decided. `told` are the arms with new samples."""

    @abstractmethod
    def _rules(self) -> tuple[str, ...]:
        """Sampling and stopping in words."""

    @property
    def n_groups_at_least(self) -> int:
        return self.n_clusters if self.stopped else 1

    def _request(self) -> Request:
        return self._next

    def tell(self, samples: Mapping[int, ArrayLike]) -> None:
        rows = checked_samples(samples, self._asked, None, self._means.shape[1] if self._rounds else None)
        assert self._asked is not None
        self._expect_few_columns(rows[0].shape[1])
        points = np.concatenate(in_units(rows, self.sigma))
        # Nothing above changed the state; nothing below can fail.
        if not self._rounds:
            self._means = np.zeros((self.n_arms, points.shape[1]))
        told = list(self._asked)
        self._take(rows)
        for arm, point in zip(told, points, strict=True):  # rounds draw one sample of an arm
            self._counts[arm] += 1
            self._means[arm] += (point - self._means[arm]) / self._counts[arm]
        for arm in told:
            self._distances[arm] = np.sqrt(((self._means - self._means[arm]) ** 2).sum(axis=1))
            self._distances[:, arm] = self._distances[arm]
        self._next = self._judge(told)
        if not self._next:
            self._status = "decided"
        self._close_round(int(self._counts.max()), self.n_clusters if self.stopped else 1)

    def _expect_few_columns(self, d: int) -> None:
        if self._most_columns is not None and d > self._most_columns:
            raise SampleError(f"BOC-Elim compares numbers, and samples have {d} columns; use 'lucbboc' for vectors")

    def _radius(self, arm: int) -> float:
        """R_m: with probability 1 - delta all means are at most this far from the truth, at all times."""
        beta = proven_threshold(self._counts[arm : arm + 1], self._means.shape[1], self.delta / self.n_arms)
        return math.sqrt(2 * beta / self._counts[arm])

    def recommend(self) -> Partition:
        return Partition(tuple(self._labels.tolist()), certified=self.stopped)

    def evidence(self) -> Evidence:
        if not self._rounds:
            return Evidence.none(self.n_arms)
        told = self._labels[:, None] != self._labels[None, :] if self.stopped else False
        told_in_round = np.where(told, len(self._rounds), np.zeros((self.n_arms, self.n_arms), dtype=np.int64))
        return evidence_of_means(told_in_round, self._counts.copy(), self.sigma * self._distances)

    def _claim(self) -> str:
        which = "This grouping" if self.stopped else "Not decided: this grouping is a guess. A decided grouping"
        return (
            f"{which} is wrong with probability at most {percent(self.delta)}; "
            f"the right one is the single-linkage clustering of the true means into {self.n_clusters}."
        )

    def guarantee(self) -> Guarantee:
        return Guarantee(
            strategy=f"{self._name} (a reconstruction), delta = {self.delta:g}, K = {self.n_clusters}",
            claim=self._claim(),
            assumptions=(
                f"samples are independent and Gaussian, with covariance sigma^2 I, sigma = {self.sigma:g}",
                "the right groups are the single-linkage clustering of the true means; arms of a group may differ",
                "differences of distributions with equal means are not seen",
            ),
            rule=(
                "reconstructed from the abstract: thresholds and constants are not the authors'; they are proven here",
                "the first round draws one sample of each arm",
                *self._rules(),
            ),
        )
