"""Claims: evidence for a whole partition, without paying for the number of pairs.

| symbol | here      | meaning                                                                                |
|--------|-----------|----------------------------------------------------------------------------------------|
| C      | `labels`  | the claimed partition, into K groups; fixed before the samples that count for it       |
| L_k    | `limit`   | log evidence that proves the k-th claim (`shares.py`)                                  |
| F_ih   | `_joined` | log evidence against "arm i belongs to group h": i against all arms of h at once       |
| F_ij   | `_paired` | log evidence against "arms i and j are the same", since the claim was made             |

Take any other partition D into at most K groups. Either D joins some arm i with all arms of a foreign group h of C, or
D joins two pairs without a common arm that are apart in C (docs/theory.md, Lemma 12.1). So C is proven once
F_ih >= L_k for all i and foreign h, and F_ij >= L_k / 2 for all i, j of different groups that have two arms or more.
If D is the true partition, one bet against it must have won. So there is no union over pairs to pay for.
"""

from __future__ import annotations

import math

import numpy as np

from kabc.core.arrays import Array, Index, Mask


class Claim:
    """A partition of some arms, and the evidence since it was made; labels are -1 for arms that it is not about.

    `arms` (A,) are the arms that it is about, ascending. All evidence is kept for these alone: with many arms they are
    few. `told_apart` (A, A) of the methods are the pairs of these arms that are told apart, both ways.
    """

    def __init__(self, labels: Index, limit: float, n_samples: int) -> None:
        self.labels = labels  # (N,)
        self.limit = limit
        self.n_samples = n_samples  # when it was made
        self.arms: Index = np.flatnonzero(labels >= 0)
        self._groups, self._n_groups = labels[self.arms], int(labels.max()) + 1
        several = np.bincount(self._groups)[self._groups] > 1
        self._foreign = self._groups[:, None] != np.arange(self._n_groups)  # (A, K)
        self._cross = (self._groups[:, None] != self._groups) & several[:, None] & several  # (A, A)
        self._joined, self._best_joined = np.zeros(self._foreign.shape), np.zeros(self._foreign.shape)
        self._paired, self._best_paired = np.zeros(self._cross.shape), np.zeros(self._cross.shape)
        self._open: tuple[bytes, Mask, Mask] | None = None  # what `_questions` found since the last bet

    @property
    def n_groups(self) -> int:
        """K."""
        return self._n_groups

    @property
    def joined(self) -> Array:  # (A, K)
        """F_ih now, to look at."""
        return self._joined

    @property
    def paired(self) -> Array:  # (A, A)
        """F_ij now, to look at."""
        return self._paired

    @property
    def worth(self) -> float:
        """What is left now of 1 that was bet on it: at least that, whichever other partition is the true one.

        It was bet on one of the `joined`, or on two of the `paired` without a common arm, up to their limits.
        """
        joins = np.where(self._best_joined < self.limit, self._joined, self.limit)[self._foreign]
        pairs = np.where(self._best_paired < self.limit / 2, self._paired, self.limit / 2)[np.triu(self._cross)]
        least = joins.min(initial=self.limit)
        if len(pairs) > 1:
            least = min(least, float(np.partition(pairs, 1)[:2].sum()))
        return math.exp(least)

    def bet(self, arms: Index, joins: Array, pairs: Array) -> None:  # (B,), (B, K), (B, B)
        """Add the log factors of a round to the evidence."""
        about = self.labels[arms] >= 0
        if not about.all():
            arms, joins, pairs = arms[about], joins[about], pairs[about][:, about]
        rows = np.searchsorted(self.arms, arms)
        self._joined[rows] += joins
        self._paired[rows[:, None], rows] += pairs
        # The proof stops a bet once it has reached its limit, so the maximum counts.
        np.maximum(self._best_joined, self._joined, out=self._best_joined)
        np.maximum(self._best_paired, self._paired, out=self._best_paired)
        self._open = None

    def open_joins(self, told_apart: Mask) -> Mask:  # (A, A) -> (A, K)
        """Arms that may still belong to another group than claimed."""
        return self._questions(told_apart)[0]

    def open_pairs(self, told_apart: Mask) -> Mask:  # (A, A) -> (A, A)
        """Pairs of different groups that are not refuted yet; two of them without a common arm could both be joined."""
        return self._questions(told_apart)[1]

    def _questions(self, told_apart: Mask) -> tuple[Mask, Mask]:  # (A, A) -> (A, K), (A, A)
        """The open joins and the open pairs. They are asked for several times between two bets."""
        known = told_apart.tobytes()
        if self._open is None or self._open[0] != known:
            refuted = (told_apart.astype(np.float64) @ ~self._foreign) > 0  # told apart from one of the group's arms
            joins = self._foreign & (self._best_joined < self.limit) & ~refuted
            apart = (self._best_paired >= self.limit / 2) | told_apart
            self._open = known, joins, self._cross & ~(apart | apart.T)
        return self._open[1:]

    def needs(self, dry: Mask, told_apart: Mask) -> bool:  # (N,), (A, A)
        """Whether it cannot be proven without more samples of these arms."""
        joins, dry = self.open_joins(told_apart), dry[self.arms]
        alive = np.bincount(self._groups[~dry], minlength=self._n_groups) > 0  # (K,)
        return bool(joins[dry].any() or joins[:, ~alive].any() or self.open_pairs(told_apart)[dry].any())

    def wanted(self, told_apart: Mask, dry: Mask | None = None) -> Index:  # (A, A), (N,) -> arms
        """Arms to sample next: those with open questions, and some arms of each group they may still belong to.

        Arms in `dry` are never among them; `needs` says whether it can do without.
        """
        joins = self.open_joins(told_apart)
        able = np.ones(len(self.arms), dtype=np.bool_) if dry is None else ~dry[self.arms]
        chosen = np.asarray(joins.any(axis=1) | self.open_pairs(told_apart).any(axis=1))
        for group in np.flatnonzero(joins.any(axis=0)).tolist():
            members = np.flatnonzero((self._groups == group) & able)
            # m arms of the group serve all u open arms at once, each at m / (m + 1) of the best rate: m ~ sqrt(u) is
            # the cheapest
            enough = math.isqrt(max(0, int(np.count_nonzero(joins[:, group])) - 1)) + 1
            spare = members[~chosen[members]]
            chosen[spare[: max(0, enough - (len(members) - len(spare)))]] = True
        return np.asarray(self.arms[chosen & able])

    def proven(self, told_apart: Mask) -> bool:  # (A, A)
        """Whether every other partition is refuted."""
        return not (self.open_joins(told_apart).any() or self.open_pairs(told_apart).any())


def renamed(labels: Index, like: Index, n_groups: int) -> Index:
    """The same groups, numbered so that as many arms as possible keep the number that they have in `like`."""
    if np.array_equal(labels, like):
        return labels
    from scipy.optimize import linear_sum_assignment

    common = np.zeros((n_groups, n_groups))
    both = (labels >= 0) & (like >= 0)
    np.add.at(common, (labels[both], like[both]), 1)
    _, numbers = linear_sum_assignment(-common)
    return np.where(labels >= 0, numbers[labels], -1)
