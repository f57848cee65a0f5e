"""Claims: evidence for a whole partition, without paying for the number of pairs.

| symbol | here      | meaning                                                                                |
|--------|-----------|----------------------------------------------------------------------------------------|
| C      | `labels`  | the partition that is claimed, into K groups; fixed before the samples that speak for it |
| k      | `number`  | it is the k-th claim                                                                   |
| L_k    | `limit`   | log(k (k + 1) / delta'), delta' the error probability of all claims together           |
| F_ih   | `_joined` | log evidence against "arm i belongs to group h": i against all arms of h at once       |
| F_ij   | `_paired` | log evidence against "arms i and j are the same", since the claim was made             |

Every other partition into at most K groups puts some arm i into all of a foreign group h, or joins two disjoint pairs
that are apart in C (docs/theory.md, Lemma 12.2). So C is proven once F_ih >= L_k for all i and foreign h, and
F_ij >= L_k / 2 for all i, j of different groups that have two arms or more. No union over pairs: whoever holds that
another partition is true has a single bet to lose.
"""

from __future__ import annotations

import math

import numpy as np

from kabc.core.arrays import Array, Index, Mask


class Claim:
    """A partition of some arms, and the evidence since it was made; labels are -1 for arms it does not speak of."""

    def __init__(self, labels: Index, number: int, delta: float, n_samples: int) -> None:
        self.labels = labels  # (N,)
        self.limit = math.log(number * (number + 1) / delta)
        self.n_samples = n_samples  # when it was made
        n_arms, self._n_groups = len(labels), int(labels.max()) + 1
        sizes = np.bincount(labels[labels >= 0])
        self._foreign = (labels[:, None] != np.arange(self._n_groups)) & (labels >= 0)[:, None]  # (N, K)
        several = (labels >= 0) & (sizes[labels] > 1)
        self._cross = (labels[:, None] != labels) & several[:, None] & several  # (N, N)
        self._joined, self._best_joined = np.zeros(self._foreign.shape), np.zeros(self._foreign.shape)
        self._paired, self._best_paired = np.zeros((n_arms, n_arms)), np.zeros((n_arms, n_arms))

    def bet(self, arms: Index, joins: Array, pairs: Array) -> None:  # (A,), (A, K), (A, A)
        """Multiply the evidence by the factors of a round, all logarithms."""
        self._joined[arms] += joins
        self._paired[np.ix_(arms, arms)] += pairs
        # Evidence that has reached its limit is not bet any more: the maximum is what it stays at.
        self._best_joined = np.maximum(self._best_joined, self._joined)
        self._best_paired = np.maximum(self._best_paired, self._paired)

    def open_joins(self, told_apart: Mask) -> Mask:  # (N, N) -> (N, K)
        """Arms that may still belong to another group than claimed."""
        members = np.arange(self._n_groups) == self.labels[:, None]  # (N, K)
        refuted = (told_apart.astype(np.float64) @ members) > 0  # told apart from one of the group's arms
        return np.asarray(self._foreign & (self._best_joined < self.limit) & ~refuted)

    def open_pairs(self, told_apart: Mask) -> Mask:  # (N, N) -> (N, N)
        """Pairs that two of, disjoint, could still be joined."""
        apart = (self._best_paired >= self.limit / 2) | told_apart
        return np.asarray(self._cross & ~(apart | apart.T))

    def wanted(self, told_apart: Mask) -> Index:  # (N, N) -> arms
        """Arms to sample next: those with open questions, and enough arms of the groups that they are held against."""
        joins = self.open_joins(told_apart)
        chosen = np.asarray(joins.any(axis=1) | self.open_pairs(told_apart).any(axis=1))
        for group in np.flatnonzero(joins.any(axis=0)).tolist():
            members = np.flatnonzero(self.labels == group)
            # m answers serve all u open arms at once, each with m / (m + 1) of the best rate: least cost at m ~ sqrt(u)
            enough = math.isqrt(max(0, int(np.count_nonzero(joins[:, group])) - 1)) + 1
            spare = members[~chosen[members]]
            chosen[spare[: max(0, enough - (len(members) - len(spare)))]] = True
        return np.flatnonzero(chosen)

    def proven(self, told_apart: Mask) -> bool:  # (N, N)
        """Whether every other partition is refuted."""
        return not (self.open_joins(told_apart).any() or self.open_pairs(told_apart).any())


def renamed(labels: Index, like: Index, n_groups: int) -> Index:
    """The same groups, numbered so that as many arms as possible keep the number that they have in `like`."""
    from scipy.optimize import linear_sum_assignment

    common = np.zeros((n_groups, n_groups))
    both = (labels >= 0) & (like >= 0)
    np.add.at(common, (labels[both], like[both]), 1)
    _, numbers = linear_sum_assignment(-common)
    return np.where(labels >= 0, numbers[labels], -1)
