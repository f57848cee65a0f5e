"""What the experts know: all samples so far, the learners that were taught with them, and the scores they fix.

| symbol | here       | meaning                                                                                 |
|--------|------------|-----------------------------------------------------------------------------------------|
| u_g    | `scorers`  | scores of a sample for each group, fixed before the round that they are applied to      |
| e      | expert     | a scorer at one of the `SCALES`: expert e uses scorer e // len(SCALES)                  |

A scorer is a discriminant: a feature map with a ridge. Each map has len(RIDGES) scorers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kabc.core.arrays import Array, Counts, Index
from kabc.core.evidence.blocks import Block
from kabc.core.scores.discriminant import RIDGES, Moments, Scorer
from kabc.core.scores.maps import Averaged, FeatureMap, default_maps
from kabc.core.scores.paired import PairedMoments, centred, in_matches

SCALES = (0.5, 1.0)  # a score is bet at half strength with a ceiling, and at full strength without one


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """The samples of one round, arm after arm."""

    samples: Array  # (n, d)
    arms: Index  # (A,)
    counts: Index  # (A,)

    @classmethod
    def of(cls, arms: Sequence[int], rows: Sequence[Array]) -> Batch:  # A arrays (count_i, d)
        """The rows of these arms."""
        counts = np.array([len(x) for x in rows], dtype=np.intp)
        return cls(np.concatenate(rows), np.array(arms, dtype=np.intp), counts)

    @property
    def owners(self) -> Index:  # (n,)
        """The arm of each sample."""
        return np.repeat(self.arms, self.counts)

    @property
    def base(self) -> int:
        """The smallest number of samples of an arm; this many of each arm are matched."""
        return int(self.counts.min())


@dataclass(frozen=True, slots=True, eq=False)
class Lesson:
    """A batch as the learners see it, computed before anything is changed."""

    batch: Batch
    features: tuple[Array, ...]  # (n, D) for each learner
    refitted: tuple[Moments, ...]  # learners with new maps that know this batch already; empty if it is too early


def fitted_maps(past: Array, maps: Sequence[FeatureMap] | None, block: int) -> tuple[FeatureMap, ...]:  # (n, block x d)
    """These maps, or the usual ones, fitted on samples so far; features are averaged over a block."""
    chosen = default_maps(past.shape[1] // block) if maps is None else maps
    return tuple((Averaged(one, block) if block > 1 else one).fitted(past) for one in chosen)


def moments_of(fitted: FeatureMap, n_arms: int, paired: bool) -> Moments:
    """A learner that knows nothing yet."""
    return PairedMoments(fitted, n_arms) if paired else Moments(fitted, n_arms)


def teach(learner: Moments, batches: Sequence[Batch]) -> None:
    """Have a learner absorb these rounds."""
    for some in [[one] for one in batches] if learner.by_round else [batches]:
        samples, owners = np.concatenate([b.samples for b in some]), np.concatenate([b.owners for b in some])
        learner.absorb(learner.map(samples), owners)


class Learning:
    """Samples, learners and scorers. Only `absorb` and `rescore` change it.

    `paired`: the k-th samples of all arms of a round share something, and every arm of a round has as many.
    """

    def __init__(self, n_arms: int, maps: Sequence[FeatureMap] | None, block: int = 1, *, paired: bool = False) -> None:
        self.counts: Counts = np.zeros(n_arms, dtype=np.int64)  # samples (blocks, if they are blocks) of each arm
        self.paired = paired
        self._block = block
        self.learners: tuple[Moments, ...] = ()
        self.scorers: tuple[Scorer, ...] = ()
        self._maps = None if maps is None else tuple(maps)
        self._batches: list[Batch] = []
        self._n_fitted = 0  # samples at the last fit of the maps

    @property
    def n_samples(self) -> int:
        """All samples so far."""
        return int(self.counts.sum())

    @property
    def columns(self) -> int | None:
        """The number of columns of a sample, or of a row of a block; None before the first."""
        return self._batches[0].samples.shape[1] // self._block if self._batches else None

    @property
    def batches(self) -> Sequence[Batch]:
        """All rounds so far."""
        return self._batches

    def samples(self, *later: Batch) -> tuple[Array, Index]:  # -> (n, d), (n,)
        """All samples in the order they were told, with their arms; then those of later batches."""
        batches = [*self._batches, *later]
        return np.concatenate([b.samples for b in batches]), np.concatenate([b.owners for b in batches])

    def read(self, batch: Batch) -> Lesson:
        """What a batch would teach. Changes nothing; fails if a feature map does."""
        features = tuple(learner.map(batch.samples) for learner in self.learners)
        return Lesson(batch, features, self._refitted(batch))

    def _refitted(self, batch: Batch) -> tuple[Moments, ...]:
        """Learners with maps fitted anew, once there are twice as many samples as at the last fit."""
        if self.n_samples + len(batch.samples) < 2 * self._n_fitted:
            return ()
        past, _ = self.samples(batch)
        maps = fitted_maps(past, self._maps, self._block)
        learners = tuple(moments_of(one, len(self.counts), self.paired) for one in maps)
        for learner in learners:
            teach(learner, [*self._batches, batch])
        return learners

    def blocks(self, lesson: Lesson, n_groups: int) -> list[Block]:
        """The round as each expert sees it; scores were fixed before it."""
        batch = lesson.batch
        starts = np.concatenate([[0], np.cumsum(batch.counts)])
        # Samples of one value have no variance. Scores are then huge, and one other value would ruin every expert.
        ceiling = math.log1p(self.n_samples / n_groups)
        blocks = []
        for number, scorer in enumerate(self.scorers):
            scores = scorer.scores(lesson.features[number // len(RIDGES)])
            if self.paired:
                scores = centred(in_matches(scores, batch.owners)[0]).reshape(scores.shape)
            for scale in SCALES:
                cap = math.inf if scale == 1 else ceiling
                seen = (scorer.labels[batch.arms], starts, batch.base, cap, self.paired)
                blocks.append(Block(scale * scores, *seen))
        return blocks

    def absorb(self, lesson: Lesson) -> None:
        """Keep the samples of a batch and learn from them."""
        batch = lesson.batch
        self.counts[batch.arms] += batch.counts
        self._batches.append(batch)
        if lesson.refitted:
            self.learners = lesson.refitted
            self._n_fitted = self.n_samples
            return
        owners = batch.owners
        for learner, features in zip(self.learners, lesson.features, strict=True):
            learner.absorb(features, owners)

    def rescore(self, core: Index, known: Index, n_groups: int) -> None:  # (C,), (N,)
        """Fix the scores of the next round; `known` are groups that are taken for granted, -1 where there is none."""
        self.scorers = tuple(s for learner in self.learners for s in learner.scorers(core, known, n_groups))

    def groups_seen(self, expert: int) -> Index:  # (N,)
        """The groups that the scores of an expert rest on."""
        return self.scorers[expert // len(SCALES)].labels

    def guess(self, expert: int, core: Index, n_groups: int) -> Index | None:  # (C,) -> (N,)
        """The groups of the core as this expert sees them now, -1 outside; None if it sees fewer than K."""
        learner, ridge = divmod(expert // len(SCALES), len(RIDGES))
        labels = np.full(len(self.counts), -1, dtype=np.intp)
        labels[core] = self.learners[learner].scorers(core, labels, n_groups)[ridge].labels[core]
        return None if len(np.unique(labels[core])) < n_groups else labels
