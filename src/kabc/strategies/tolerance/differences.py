"""Which single pairs of arms are told apart: bets on learned scores, as in Anytime KABC without K (theory, 12.1)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from kabc.core.arrays import Index, Mask
from kabc.core.partitions.forced import forced_partition
from kabc.core.scores.maps import FeatureMap
from kabc.strategies.anytime.batches import Batch
from kabc.strategies.anytime.learning import Learning, Lesson
from kabc.strategies.anytime.wealth import Wealth

MOST = 100  # arms; of more, not all pairs are compared: there are too many of them
SOME = 64  # then only those of so many arms


class Differences:
    """What was learned from all samples, and the evidence against each pair of the arms that are compared."""

    def __init__(self, n_arms: int, delta: float, maps: Sequence[FeatureMap] | None, block: int) -> None:
        self.learning = Learning(n_arms, maps, block)
        self.dry: Mask = np.zeros(n_arms, dtype=np.bool_)  # arms that cannot be drawn any more
        self.at_least = 1  # certified lower bound on the number of groups
        self.compared: Index = np.arange(n_arms)
        if n_arms > MOST:
            self.compared = np.linspace(0, n_arms - 1, SOME).astype(np.intp)  # chosen before the first sample
        n_pairs = math.comb(len(self.compared), 2)
        self.wealth = Wealth.none(n_arms).widened(self.compared, math.log(n_pairs / delta))
        self.wealth.limits[np.setdiff1d(np.arange(n_arms), self.compared)] = np.inf

    def bet(self, lesson: Lesson) -> None:
        """Bet on the pairs of a round, with scores that were fixed before it."""
        part = lesson if self.complete else self._of_compared(lesson)
        if len(part.batch.arms) > 1:
            block = self.learning.block(part, self.learning.scoring(len(self.dry)))
            self.wealth.bet(part.batch.arms, block, self.wealth.common_gains(block.n_experts))

    def _of_compared(self, lesson: Lesson) -> Lesson:
        """A round without the arms that are not compared."""
        batch = lesson.batch
        chosen = np.isin(batch.arms, self.compared)
        rows = np.repeat(chosen, batch.counts)
        some = Batch(batch.samples[rows], batch.arms[chosen], batch.counts[chosen])
        return Lesson(some, tuple(features[rows] for features in lesson.features), ())

    def conclude(self, number: int) -> None:
        """Note what this round has told apart."""
        self.wealth.tell_apart(number)
        found = forced_partition(self.wealth.apart_in_core, None)
        self.at_least = max(self.at_least, found.n_groups_at_least)

    def rescore(self) -> None:
        """Fix the scores of the next round: each arm is a group of its own."""
        arms = self._scored()
        self.learning.rescore(arms, np.full(len(self.dry), -1, dtype=np.intp), len(arms))

    def _scored(self) -> Index:
        """Arms that can be drawn, and those that are told apart from all of these."""
        arms = self.compared
        live = ~self.dry[arms]
        alone = self.wealth.apart[arms][:, live].all(axis=1)
        return arms[live | alone] if (live | alone).any() else arms

    @property
    def complete(self) -> bool:
        """Whether all pairs are compared."""
        return len(self.compared) == len(self.dry)

    @property
    def apart(self) -> Mask:  # (N, N)
        """Pairs told apart."""
        return self.wealth.all_apart()
