"""The core: the arms that are compared with each other. All arms, or a random part of many arms."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from kabc.core.arrays import Counts, Index

ARMS, PER_GROUP = 24, 5  # many arms: start with this many, or with this many for each group
_NEARLY_ALL = 1.5  # a core of two thirds of the arms is not worth the second phase: take all arms
_PATIENCE = 32  # samples of an arm in stage 0, doubled in each stage, before the core is widened


@dataclass(frozen=True, slots=True, eq=False)
class Core:
    """The first arms of a fixed random order; each stage has twice as many as the one before."""

    order: Index  # (N,)
    unit: int  # arms in stage 1
    stage: int = 1

    @classmethod
    def first(cls, order: Index, n_clusters: int | None) -> Core:
        """Stage 1; without K it holds all arms."""
        return cls(order, max(ARMS, PER_GROUP * (n_clusters or len(order))))

    def widened(self) -> Core:
        """The next stage."""
        return replace(self, stage=self.stage + 1)

    @property
    def arms(self) -> Index:  # (C,)
        """The arms of the core, in the order in which they entered it."""
        size = self.unit * 2 ** (self.stage - 1)
        return self.order if len(self.order) <= size * _NEARLY_ALL else self.order[:size]

    @property
    def size(self) -> int:
        """The number of arms in the core, C."""
        return len(self.arms)

    def is_spent(self, counts: Counts) -> bool:  # (N,)
        """Whether to widen: after so many samples the missing groups may be outside the core."""
        arms = self.arms
        return len(arms) < len(self.order) and int(counts[arms].max()) >= _PATIENCE * 2**self.stage

    def n_sampled(self, counts: Counts) -> int:  # (N,)
        """The number of arms of the core that have samples."""
        return int(np.count_nonzero(counts[self.arms]))
