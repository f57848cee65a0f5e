"""Learners: fitted on samples, taught with rounds, and when something new is worth learning.

A learner is a feature map with what is known of the arms under it (`Moments`). All learners have seen the same samples.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from kabc.core.arrays import Array, Index
from kabc.core.scores.discriminant import Moments, Space, who_drew
from kabc.core.scores.maps import Averaged, FeatureMap, all_features, all_fitted, default_maps
from kabc.core.scores.paired import PairedMoments
from kabc.strategies.anytime.batches import Batch

_MOST_FITTED = 200_000  # samples that feature maps are fitted on
AT_ONCE = 1 << 13  # samples whose features are in memory together
KEPT_GROWTH = 1.4  # samples when what learners know is kept, over those when it was kept before
LEARNT_GROWTH = 1.05  # samples when scores are made anew, over those when they were made before


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """What all learners knew at some time."""

    maps: tuple[FeatureMap, ...]
    spaces: tuple[Sequence[Space], ...]  # of each learner
    counts: Array  # (N,), samples of each arm

    @classmethod
    def of(cls, learners: Sequence[Moments]) -> Known:
        """What they know now. All have seen the same samples."""
        maps, spaces = tuple(one.map for one in learners), tuple(one.spaces() for one in learners)
        return cls(maps, spaces, learners[0].counts.copy())


def is_fit_due(n_samples: int, n_fitted: int) -> bool:
    """Whether maps are fitted anew: there are twice as many samples as at the last fit."""
    return n_samples >= 2 * n_fitted


def is_learnt(n_samples: int, n_learnt: int) -> bool:
    """Whether there is something new to learn: a few samples more change little."""
    return n_samples >= LEARNT_GROWTH * n_learnt


def is_kept(n_samples: int, n_kept: int) -> bool:
    """Whether it is time to look at what the learners know, for doubts about K."""
    return n_samples >= KEPT_GROWTH * n_kept


def fitted_maps(past: Array, maps: Sequence[FeatureMap] | None, block: int) -> tuple[FeatureMap, ...]:  # (n, block x d)
    """These maps, or the usual ones, fitted on samples so far; features are averaged over a block."""
    chosen = default_maps(past.shape[1] // block) if maps is None else maps
    if len(past) > _MOST_FITTED:
        past = past[np.linspace(0, len(past) - 1, _MOST_FITTED).astype(np.intp)]
    return all_fitted([Averaged(one, block) for one in chosen] if block > 1 else chosen, past)


def moments_of(fitted: FeatureMap, n_arms: int, paired: bool, before: Moments | None = None) -> Moments:
    """A learner that knows nothing yet, and takes the place of the one `before`."""
    whole = before is not None and before.is_whole
    return PairedMoments(fitted, n_arms, whole=whole) if paired else Moments(fitted, n_arms, whole=whole)


def teach(learners: Sequence[Moments], batches: Sequence[Batch], features: Sequence[Array] | None = None) -> None:
    """Have learners absorb these rounds; `features` (n, D) are those of each learner, where they are known."""
    n_samples = sum(len(batch.samples) for batch in batches)
    if not n_samples:  # only arms outside were drawn, of which nothing is known yet
        return
    if features is None and n_samples > AT_ONCE and not learners[0].by_round:
        for samples, arms in _pieces(batches):
            for learner, values in zip(learners, seen_by(learners, samples), strict=True):
                learner.absorb(values, arms)
        return
    if features is None:
        features = seen_by(learners, np.concatenate([batch.samples for batch in batches]))
    if learners[0].by_round:
        ends = np.cumsum([len(batch.samples) for batch in batches])
        for learner, values in zip(learners, features, strict=True):
            for some, batch in zip(np.split(values, ends[:-1]), batches, strict=True):
                learner.absorb(some, batch.owners)
        return
    arms = np.concatenate([batch.owners for batch in batches])
    drawn = who_drew(arms, len(learners[0].counts))
    for learner, values in zip(learners, features, strict=True):
        learner.absorb(values, arms, drawn)


def _pieces(batches: Sequence[Batch]) -> Iterator[tuple[Array, Index]]:  # (n, d), (n,)
    """All samples with their arms, so many at a time that their features fit into memory."""
    for batch in batches:
        owners = batch.owners
        for start in range(0, len(owners), AT_ONCE):
            yield batch.samples[start : start + AT_ONCE], owners[start : start + AT_ONCE]


def seen_by(learners: Sequence[Moments], samples: Array) -> tuple[Array, ...]:  # (n, d) -> (n, D) each
    """The features of the samples as each learner sees them."""
    return all_features([learner.map for learner in learners], samples)
