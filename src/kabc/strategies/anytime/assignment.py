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
from kabc.strategies.anytime.representatives import Representatives, told_from_groups


@dataclass(frozen=True, slots=True, eq=False)
class Assignment:
    """Which group each arm is in, as far as the pairs told apart force it.

    Attributes
    ----------
    columns : places in the core of the arms that gave the groups their numbers, one for each group.
    representatives : for each group the arm that other arms are compared with. Another one takes its place when it runs
        dry.
    dry : arms that cannot be drawn any more.
    labels : the group of each arm, -1 where it is still open.
    may_belong : the groups that each arm may still be in.
    n_groups_at_least : certified lower bound on the number of groups.
    contradicted : there are more groups than representatives.
    most_partners : samples that are asked of a representative at most for one sample of another arm.
    """

    columns: tuple[int, ...]
    representatives: tuple[int, ...]
    dry: Mask  # (N,)
    labels: Index  # (N,)
    may_belong: Mask  # (N, K)
    n_groups_at_least: int
    contradicted: bool
    most_partners: int

    @classmethod
    def of(
        cls,
        core: Index,  # (C,)
        columns: Sequence[int],
        apart: Mask,  # (N, C + X)
        standing: Representatives | None = None,
    ) -> Assignment:
        """What the pairs told apart force if these arms of the core represent all groups."""
        if standing is None:
            standing = Representatives.first(core, columns, len(apart))
        settled, arms = standing.settled, core[standing.settled]
        at: list[int] = np.searchsorted(settled, list(columns)).tolist()
        found = forced_partition(apart[np.ix_(arms, settled)], len(at), representatives=at)
        may_belong = ~apart[:, list(columns)]
        if not found.contradicted:
            # Other representatives may have been found. The groups keep the numbers that ours have.
            inside = found.may_belong[:, found.labels[at]]
            may_belong = ~told_from_groups(apart, standing.groups(inside, len(core)), len(at))
            may_belong[arms] = inside
        contradicted = found.contradicted or not bool(may_belong.any(axis=1).all())
        return cls(
            columns=tuple(columns),
            representatives=standing.arms,
            dry=standing.dry,
            labels=np.where(may_belong.sum(axis=1) == 1, may_belong.argmax(axis=1), -1),
            may_belong=may_belong,
            n_groups_at_least=max(found.n_groups_at_least, len(at) + 1 if contradicted else 0),
            contradicted=contradicted,
            most_partners=standing.most_partners,
        )

    @property
    def decided(self) -> bool:
        """Whether every arm that can be drawn has its group."""
        return not self.contradicted and not len(self.undecided)

    @property
    def undecided(self) -> Index:  # arms
        """Arms without a group that can be drawn."""
        return np.flatnonzero((self.labels < 0) & ~self.dry)

    @property
    def represented(self) -> Mask:  # (K,)
        """Groups whose representative can be drawn."""
        return np.asarray(~self.dry[list(self.representatives)])

    def request(self, counts: Counts) -> dict[int, int]:  # (N,)
        """Arms without a group, and the representatives of the groups that they may be in."""
        undecided, count = self.undecided, self.block(counts)
        wanted = dict.fromkeys(undecided.tolist(), count)
        open_groups = np.flatnonzero(self.may_belong[undecided].any(axis=0) & self.represented)
        answers = count * self.partners(len(undecided))
        wanted |= {self.representatives[group]: answers for group in open_groups.tolist()}
        return dict(sorted(wanted.items()))

    def block(self, counts: Counts) -> int:  # (N,)
        """Samples to draw of each arm without a group."""
        return pace.block(int(counts[self.undecided].min(initial=counts.max())))

    def partners(self, n_undecided: int) -> int:
        """Samples of a representative for each sample of another arm: more when they serve many arms."""
        return max(1, min(self.most_partners, math.isqrt(n_undecided // max(1, 2 * len(self.columns)))))
