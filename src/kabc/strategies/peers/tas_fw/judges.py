"""Rules out partitions of a class. A small class is judged by partitions, a large one by pairs. See strategy.py."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from kabc.core.arrays import Array, Counts, Index
from kabc.core.partitions.forced import Forced, forced_partition
from kabc.strategies.peers.tas_fw.classes import Task, distinct_groups, first_of, partitions_of, rests_of
from kabc.strategies.peers.tas_fw.frank_wolfe import NEAREST, Game
from kabc.strategies.peers.tas_fw.likelihoods import Predictions, log_likelihood, log_mixture, log_pairs
from kabc.strategies.peers.tas_fw.search import SEARCHES

_ENOUGH = 50.0  # log evidence is capped at this much above the threshold
_AGAIN = 1.05  # a large class is searched for a new estimate when samples have grown by this


class WholeClass:
    """Evidence against every partition of a small class. Only one of them is true, so their number costs nothing."""

    rule = (
        "evidence against a pair being the same: Q_i Q_j / ML(n_i + n_j), ML the largest likelihood of pooled samples",
        "against arm i being the same as all of h: Q_i KT(n_h) / ML(n_i + n_h), KT the Krichevsky-Trofimov mixture",
        "against a partition: the mean of these over all pairs, and over all arms against the rest of their group",
        "a partition is ruled out when this reaches 1/delta",
        "stops when one partition of the class is left and evidence against it is at most 1, or when none is left",
    )

    def __init__(self, task: Task, n_arms: int, n_groups: int, delta: float) -> None:
        self._partitions = partitions_of(task, n_arms, n_groups)  # (P, N)
        self._contradicted_at = n_groups + 1 if task == "clustering" else 2
        self.log_threshold = -math.log(delta)
        self._sets, self._groups = distinct_groups(self._partitions, n_groups)  # (G, N), (P, K)
        self._rests, self._rest_of, self._arm_of, self._set_of = rests_of(self._sets)
        sizes = self._sets.sum(axis=1)[self._groups]  # (P, K)
        self._n_joined = np.where(sizes > 1, sizes, 0).sum(axis=1)
        self._n_pairs = (sizes * (sizes - 1) / 2).sum(axis=1)
        self._now = np.zeros(len(self._partitions))  # ln E_C'
        self._best = np.zeros(len(self._partitions))  # its running maximum
        self._told_in_round = np.zeros((n_arms, n_arms), dtype=np.int64)
        self._pairs = np.full((n_arms, n_arms), -math.inf)
        self.predictions = Predictions(n_arms)
        self.labels = self._partitions[0]

    def absorb(self, counts: Counts, arms: Index, number: int) -> None:  # (N, m)
        """Judge the class again, with the new samples of these arms in round `number`."""
        likelihoods = log_likelihood(self._sets @ counts)  # (G,)
        self.labels = self.predictions.labels = self._partitions[likelihoods[self._groups].sum(axis=1).argmax()]
        before = np.count_nonzero(self._best >= self.log_threshold)
        self._now = self._log_evidence_now(counts, arms, likelihoods)
        self._best = np.maximum(self._best, self._now)
        if np.count_nonzero(self._best >= self.log_threshold) > before:
            new = (self.log_evidence() >= self.log_threshold) & (self._told_in_round == 0)
            self._told_in_round[new] = number

    def _log_evidence_now(self, counts: Counts, arms: Index, likelihoods: Array) -> Array:  # -> (P,)
        """ln E_C' = ln of (mean of E_ih + mean of E_ij) / 2, over all that C' joins."""
        log_q = self.predictions.log_q()
        self._pairs[arms] = log_pairs(counts, log_q, arms)
        self._pairs[:, arms] = self._pairs[arms].T
        rests = log_mixture(self._rests @ counts)[self._rest_of] + log_q[self._arm_of] - likelihoods[self._set_of]
        # Evidence is capped far above what is needed, so sums do not overflow; less evidence is valid too.
        cap = self.log_threshold + _ENOUGH
        joins = np.bincount(self._set_of, np.exp(np.minimum(rests, cap) - cap), len(self._sets))  # (G,)
        pairs = ((self._sets @ np.exp(np.minimum(self._pairs, cap) - cap)) * self._sets).sum(axis=1) / 2  # (G,)
        mean = joins[self._groups].sum(axis=1) / self._n_joined + pairs[self._groups].sum(axis=1) / self._n_pairs
        return np.asarray(cap + np.log(np.maximum(mean / 2, 1e-300)))

    def game(self, pmfs: Array) -> Game:  # (N, m)
        """All other partitions."""
        others = (self._partitions != self.labels).any(axis=1)
        return Game(self._sets, self._groups[others], pmfs)

    @property
    def partition_evidence(self) -> Array:  # (P,)
        """Largest ln E_C' so far, in the order of `partitions_of`."""
        return self._best.copy()

    @property
    def left(self) -> Index | None:  # (N,)
        """The only partition that is not ruled out."""
        open_ones = np.flatnonzero(self._best < self.log_threshold)
        return self._partitions[open_ones[0]] if len(open_ones) == 1 else None

    @property
    def doubted(self) -> bool:
        """Whether there is evidence even against the best remaining partition. Then the class may be wrong."""
        return bool(self._now[self._best < self.log_threshold].min(initial=math.inf) > 0)

    @property
    def contradicted(self) -> bool:
        return bool((self._best >= self.log_threshold).all())

    @property
    def n_groups_at_least(self) -> int:
        """If the whole class is ruled out, so is every coarser partition."""
        return self._contradicted_at if self.contradicted else 1

    @property
    def told_in_round(self) -> Counts:  # (N, N)
        """The round since which no remaining partition joins the pair. 0 for all pairs if no partition remains."""
        return np.zeros_like(self._told_in_round) if self.contradicted else self._told_in_round.copy()

    def log_evidence(self) -> Array:  # (N, N)
        """Smallest evidence against the partitions that join a pair."""
        n_arms = self._partitions.shape[1]
        out = np.zeros((n_arms, n_arms))
        for i in range(n_arms):
            joined = self._partitions == self._partitions[:, i : i + 1]  # (P, N)
            out[i] = np.where(joined, self._best[:, None], np.inf).min(axis=0)
        out[np.arange(n_arms), np.arange(n_arms)] = -math.inf
        return out


class AllPairs:
    """Evidence against every pair. A partition is ruled out if it joins a pair that was told apart."""

    rule = (
        "evidence against a pair: Q_i Q_j / ML(n_i + n_j), ML the largest likelihood of the pooled samples",
        "a pair is told apart when this reaches N(N - 1)/2 / delta",
        "stops when one partition is left and mean evidence against its pairs is at most 1, or when none is left",
    )

    def __init__(self, task: Task, n_arms: int, n_groups: int, delta: float) -> None:
        self._task = task
        self._n_groups = n_groups
        self._n_pairs = n_arms - n_groups  # number of pairs in the task 'matching-pairs'
        self.log_threshold = math.log(math.comb(n_arms, 2) / delta)
        self.predictions = Predictions(n_arms)
        self._now = np.full((n_arms, n_arms), -math.inf)  # ln E_ij
        self._best = self._now.copy()  # its running maximum
        self._told_in_round = np.zeros((n_arms, n_arms), dtype=np.int64)
        self._forced: Forced | None = None
        self._searched_at = 0
        self.labels = first_of(task, n_arms, n_groups)
        self._near = NEAREST[task](self.labels)

    def absorb(self, counts: Counts, arms: Index, number: int) -> None:  # (N, m)
        """Judge the pairs of the arms with new samples."""
        self._now[arms] = log_pairs(counts, self.predictions.log_q(), arms)
        self._now[:, arms] = self._now[arms].T
        self._best = np.maximum(self._best, self._now)
        new = (self._best >= self.log_threshold) & (self._told_in_round == 0)
        if new.any():
            self._told_in_round[new] = number
            earlier = () if self._forced is None else self._forced.representatives
            self._forced = forced_partition(self._told_in_round > 0, self._n_groups, representatives=earlier)
        n_samples = int(counts.sum())
        if n_samples >= _AGAIN * self._searched_at:
            self._searched_at = n_samples
            self.labels = self.predictions.labels = SEARCHES[self._task](counts, self._n_groups)
            self._near = NEAREST[self._task](self.labels)

    def game(self, pmfs: Array) -> Game:  # (N, m)
        return Game(*self._near, pmfs)

    @property
    def left(self) -> Index | None:  # (N,)
        """The only partition of the class that joins no pair told apart. None while it is not known."""
        if self._task == "clustering":
            return self._forced.labels if self._forced is not None and self._forced.complete else None
        if self._task == "odd-arm":
            suspects = np.flatnonzero(self._suspects())
            return (np.arange(len(self.labels)) == suspects[0]).astype(np.intp) if len(suspects) == 1 else None
        i, j = np.nonzero(np.triu(self._told_in_round == 0, 1))
        labels = np.arange(len(self.labels))
        labels[j] = labels[i]
        return labels if len(i) == self._n_pairs and not self.contradicted else None

    def _suspects(self) -> NDArray[np.bool_]:  # (N,)
        """Arms that may be the odd one. They are in every pair told apart."""
        told = self._told_in_round > 0
        return np.asarray(2 * told.sum(axis=1) == told.sum())

    @property
    def doubted(self) -> bool:
        """Whether there is evidence even against the remaining partition: the mean over the pairs that it joins."""
        labels = self.left
        if labels is None:
            return False
        joined = np.triu(labels[:, None] == labels, 1)
        return bool(joined.any() and np.exp(np.minimum(self._now[joined], self.log_threshold)).mean() > 1)

    @property
    def contradicted(self) -> bool:
        if self._task == "odd-arm":
            return not self._suspects().any()
        if self._forced is not None and self._forced.contradicted:
            return True
        may_join = (self._told_in_round == 0) & ~np.eye(len(self.labels), dtype=np.bool_)
        # too few arms are left that can have a partner
        return self._task == "matching-pairs" and int(may_join.any(axis=1).sum()) < 2 * self._n_pairs

    @property
    def n_groups_at_least(self) -> int:
        return 1 if self._forced is None else self._forced.n_groups_at_least

    @property
    def told_in_round(self) -> Counts:  # (N, N)
        return self._told_in_round.copy()

    def log_evidence(self) -> Array:  # (N, N)
        return self._best.copy()
