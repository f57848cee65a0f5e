"""Arms outside the core, where there are many: what is remembered of them, so that memory is small for each.

| symbol | here     | meaning                                                                                        |
|--------|----------|------------------------------------------------------------------------------------------------|
|        | `_row`   | what learners know an arm by: a row of its own, or that of its group; -1: nothing yet          |
| S_ig   | `_fit`   | sum of the scores of the samples of arm i for group g, by the scorers that were trusted most    |

Learners know the arms of the core one by one, and those outside by their groups, once these are clear. An arm whose
group is open is taken for one of the group with the largest S_ig. This comes from earlier samples alone, so bets on it
are valid (docs/theory.md, section 11.1).
"""

from __future__ import annotations

import numpy as np

from kabc.core.arrays import Array, Counts, Index
from kabc.strategies.anytime.batches import Batch


class FarArms:
    """Who is outside, and what each arm outside looks like."""

    def __init__(self, n_arms: int, core: Index, n_groups: int) -> None:  # (C,)
        self._core = np.sort(core)
        self._row: Index = np.full(n_arms, -1, dtype=np.intp)
        self._row[self._core] = np.arange(len(core))
        self._fit = np.zeros((n_arms, n_groups), dtype=np.float32)
        self._heard = np.zeros(n_arms, dtype=np.bool_)  # arms that have scores
        self._new: list[tuple[Index, Array]] = []  # arms and scores of the round

    @property
    def n_rows(self) -> int:
        """Arms of the core, and groups."""
        return len(self._core) + self._fit.shape[1]

    def rows(self, core: Index) -> Index:  # (C',)
        """The rows of some arms of the core."""
        return self._row[core]

    def known(self, batch: Batch) -> Batch:
        """The samples that learners know, with rows for arms."""
        return batch.of_rows(self._row[batch.arms])

    def join(self, labels: Index, counts: Counts) -> Index:  # (N,), (N,) -> arms
        """From now on these arms are known by their groups; returns those that are new and have samples."""
        new = np.flatnonzero((labels >= 0) & (self._row < 0) & (counts > 0))
        self._row[new] = len(self._core) + labels[new]
        return new

    def carried(self, labels: Index, before: FarArms) -> Index:  # (rows before,) -> (rows,)
        """Groups of the rows that there were before, for those that there are now; -1 for new ones."""
        by_arm = np.where(before._row >= 0, labels[before._row], -1)
        return np.concatenate([by_arm[self._core], np.full(self._fit.shape[1], -1)])

    def of_rows(self, labels: Index) -> Index:  # (N,) -> (rows,)
        """The group of each row; -1 where it is open, or where no arm is known by its group."""
        used = np.bincount(self._row[self._row >= 0], minlength=self.n_rows) > 0
        groups = np.where(used[len(self._core) :], np.arange(self._fit.shape[1]), -1)
        return np.concatenate([labels[self._core], groups])

    def groups(self, labels: Index, arms: Index) -> Index:  # (rows,), (A,) -> (A,)
        """The groups of arms, where a scorer has these groups of rows."""
        rows = self._row[arms]
        likely = np.where(self._heard[arms], self._fit[arms].argmax(axis=1), -1)
        return np.where(rows >= 0, labels[rows], likely)

    def unheard(self, counts: Counts) -> Index:  # (N,) -> arms
        """Arms outside without a group that have samples, but no scores."""
        return np.flatnonzero((self._row < 0) & ~self._heard & (counts > 0))

    def note(self, arms: Index, sums: Array) -> None:  # (A,), (A, G)
        """Sums of the scores of a round, which count from the next round on."""
        outside = np.flatnonzero(self._row[arms] < 0)
        if len(outside):  # in rounds of the core alone, scores may be for other groups, and for more
            self._new.append((arms[outside], sums[outside]))

    def add(self) -> None:
        """The round is over: from now on its scores count."""
        for arms, sums in self._new:
            self._fit[arms, : sums.shape[1]] += sums
            self._heard[arms] = True
        self._new = []
