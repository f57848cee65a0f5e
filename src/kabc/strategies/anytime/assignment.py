"""The second phase: the partition of the core is settled, and every other arm is assigned to one of its groups.

One arm of the core represents each group. Arms outside the core are compared with the representatives only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kabc.core.arrays import Counts, Index, Mask
from kabc.core.partitions.forced import forced_partition
from kabc.strategies.anytime import pace

MOST_PARTNERS = 8  # samples of a representative for one sample of another arm


@dataclass(frozen=True, slots=True, eq=False)
class Assignment:
    """Which group each arm is in, as far as the pairs told apart force it.

    Attributes
    ----------
    columns : places of the representatives in the core, one for each group.
    representatives : the same as arms.
    labels : the group of each arm, -1 where it is still open.
    may_belong : the groups that each arm may still be in.
    n_groups_at_least : certified lower bound on the number of groups.
    contradicted : there are more groups than representatives.
    """

    columns: tuple[int, ...]
    representatives: tuple[int, ...]
    labels: Index  # (N,)
    may_belong: Mask  # (N, K)
    n_groups_at_least: int
    contradicted: bool

    @classmethod
    def of(cls, core: Index, columns: Sequence[int], apart: Mask) -> Assignment:  # (C,), K of them, (N, C)
        """What the pairs told apart force if these arms of the core represent all groups."""
        at = list(columns)
        found = forced_partition(apart[core], len(at), representatives=at)
        may_belong = ~apart[:, at]
        if not found.contradicted:
            # Other representatives may have been found. The groups keep the numbers that ours have.
            may_belong[core] = found.may_belong[:, found.labels[at]]
        contradicted = found.contradicted or not bool(may_belong.any(axis=1).all())
        return cls(
            columns=tuple(at),
            representatives=tuple(core[at].tolist()),
            labels=np.where(may_belong.sum(axis=1) == 1, may_belong.argmax(axis=1), -1),
            may_belong=may_belong,
            n_groups_at_least=max(found.n_groups_at_least, len(at) + 1 if contradicted else 0),
            contradicted=contradicted,
        )

    @property
    def decided(self) -> bool:
        """Whether every arm has its group."""
        return not self.contradicted and bool((self.labels >= 0).all())

    def request(self, counts: Counts) -> dict[int, int]:  # (N,)
        """Arms without a group, and the representatives of the groups that they may be in."""
        undecided = np.flatnonzero(self.labels < 0)
        count = pace.block(int(counts[undecided].min()))
        wanted = dict.fromkeys(undecided.tolist(), count)
        open_groups = np.flatnonzero(self.may_belong[undecided].any(axis=0))
        answers = count * self.partners(len(undecided))
        wanted |= {self.representatives[group]: answers for group in open_groups.tolist()}
        return dict(sorted(wanted.items()))

    def partners(self, n_undecided: int) -> int:
        """Samples of a representative for each sample of another arm: more when they serve many arms."""
        return max(1, min(MOST_PARTNERS, math.isqrt(n_undecided // max(1, 2 * len(self.columns)))))
