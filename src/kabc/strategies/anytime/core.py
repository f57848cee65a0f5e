"""The core: the arms that are compared with each other. All arms, or a random part of many arms."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from kabc.core.arrays import Counts, Index

ARMS, PER_GROUP = 24, 5  # many arms: start with this many, or with this many for each group
_NEARLY_ALL = 1.5  # a core of two thirds of the arms is not worth the second phase: take all arms
_PATIENCE = 64  # samples of an arm before the core is widened, doubled each time


@dataclass(frozen=True, slots=True, eq=False)
class Core:
    """The first arms of an order that is random at first. In each stage more arms come in.

    Attributes
    ----------
    order : all arms. Arms that were looked for (`screening.py`) are put behind those of the core before.
    sizes : arms in each stage.
    doubled : how often the core was doubled.
    sought : arms that came in last because they were looked for.
    """

    order: Index  # (N,)
    sizes: tuple[int, ...]
    doubled: int = 0
    sought: int = 0

    @classmethod
    def first(cls, order: Index, n_clusters: int | None) -> Core:
        """Stage 1; without K it holds all arms."""
        return cls(order, (_whole(max(ARMS, PER_GROUP * (n_clusters or len(order))), len(order)),))

    def widened(self) -> Core:
        """The next stage, with twice as many arms at random."""
        size = _whole(2 * self.size, len(self.order))
        return replace(self, sizes=(*self.sizes, size), doubled=self.doubled + 1, sought=0)

    def joined(self, arms: Index) -> Core:  # arms outside
        """The next stage, with these arms."""
        rest = self.order[self.size :]
        order = np.concatenate([self.arms, arms, rest[~np.isin(rest, arms)]])
        size = _whole(self.size + len(arms), len(order))
        return replace(self, order=order, sizes=(*self.sizes, size), sought=size - self.size)

    @property
    def stage(self) -> int:
        """How often arms came in."""
        return len(self.sizes)

    @property
    def arms(self) -> Index:  # (C,)
        """The arms of the core, in the order in which they entered it."""
        return self.order[: self.size]

    @property
    def size(self) -> int:
        """The number of arms in the core, C."""
        return self.sizes[-1]

    @property
    def patience(self) -> int:
        """Samples of an arm after which the missing groups may be outside the core."""
        return _PATIENCE << self.doubled

    def is_spent(self, counts: Counts, *, early: bool = False) -> bool:  # (N,)
        """Whether to look for other arms; `early`: after half as many samples.

        Arms that came in because they were looked for get half as many, too.
        """
        arms = self.arms
        if len(arms) == len(self.order) or int(counts[arms].max()) < self.patience // (1 + early):
            return False
        return not self.sought or int(counts[arms[-self.sought :]].min()) >= self.patience // 2

    def n_sampled(self, counts: Counts) -> int:  # (N,)
        """The number of arms of the core that have samples."""
        return int(np.count_nonzero(counts[self.arms]))


def _whole(size: int, n_arms: int) -> int:
    return n_arms if n_arms <= size * _NEARLY_ALL else size
