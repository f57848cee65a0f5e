"""Arms that fit into no group found so far: looked for among all arms outside, where the core lacks groups.

| symbol | here     | meaning                                                                                        |
|--------|----------|------------------------------------------------------------------------------------------------|
| n      |          | samples of each arm outside: 4, then 6, 9, 14, ...                                             |
| T_i    |          | squared distance of the whitened mean of arm i from the nearest centre of a group              |
| z_i    | `odd`    | cube root of T_i, from the median of all arms, in units of their spread: about normal          |

Nothing is bet at a look, and nothing is proven: arms that stand out join the core, where all evidence about them starts
anew (docs/theory.md, section 12.6). There they are compared with one arm of each group first (`Search`). If that shows
fewer than K groups, the next look is at the groups found by then.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kabc.core.arrays import Array, Counts, Index, Mask
from kabc.core.scores.discriminant import RIDGES, Moments, Space
from kabc.strategies.anytime.learning import Batch, seen_by

FIRST = 4  # samples of each arm outside at the first look
MOST = 4  # looks end when they have this part of the samples of the core: a quarter
_GROWTH = 1.5  # samples of each arm outside at a look over those at the look before
_AT_ONCE = 1 << 12  # arms
_MARGIN = (
    0.7  # standard deviations below what the oddest of so many usual arms has: a usual arm that joins costs little
)
_FEWEST = 8  # arms that may join at once
_SPREAD = 1.4826  # of the median absolute deviation of normal values
_RIDGE = 1  # number of the ridge that distances are measured with


@dataclass(frozen=True, slots=True, eq=False)
class Search:
    """Arms that stood out, and what they are compared with: one arm of each group found before.

    Attributes
    ----------
    labels : groups of the arms of the core before, -1 for all others.
    met : one arm of each of these groups, in their order. They are pairwise told apart.
    sought : the arms that stood out.
    """

    labels: Index  # (N,)
    met: tuple[int, ...]
    sought: Index

    @property
    def arms(self) -> Index:
        """The arms that are compared with each other."""
        return np.array([*self.met, *self.sought], dtype=np.intp)

    def found(self, apart: Mask) -> tuple[Index, tuple[int, ...]]:  # (A, A) of `arms` -> (N,)
        """Groups with those of the arms that stood out, as far as pairs told apart show them, and an arm of each."""
        standing = list(range(len(self.met)))
        for place in range(len(self.met), len(apart)):
            if apart[place, standing].all():
                standing.append(place)
        may_belong = ~apart[:, standing]  # (A, G)
        labels = self.labels.copy()
        labels[self.arms] = np.where(may_belong.sum(axis=1) == 1, may_belong.argmax(axis=1), -1)
        return labels, tuple(self.arms[standing].tolist())

    def is_over(self, counts: Counts, patience: int) -> bool:  # (N,)
        """Whether all of them have had their chance to be told apart from all groups."""
        return bool((counts[self.sought] >= patience).all())


def next_look(held: int, patience: int) -> int | None:
    """Samples of each arm outside at the next look, when they have this many; None: there is none before."""
    target = FIRST if held < FIRST else math.ceil(_GROWTH * held)
    return target if target <= patience // MOST else None


def odd_arms(
    learners: Sequence[Moments], batches: Sequence[Batch], groups: Index, outside: Index, n_missing: int
) -> Index:  # (rows,), (O,)
    """Arms outside that stand out, the oddest first; `groups` are those of the arms that learners know, -1: none.

    At most twice as many as groups are missing: the next look is closer.
    """
    if len(outside) < 2 * _FEWEST:
        return outside
    apart = [_Far(learner, groups) for learner in learners]
    far = np.concatenate(
        [
            _distances(apart, learners, batches, outside[start : start + _AT_ONCE])
            for start in range(0, len(outside), _AT_ONCE)
        ]
    )  # (O, maps)
    roots = np.cbrt(far)
    middle = np.median(roots, axis=0)
    spread = _SPREAD * np.median(np.abs(roots - middle), axis=0)
    odd = ((roots - middle) / np.where(spread > 0, spread, np.inf)).max(axis=1)
    limit = math.sqrt(2 * math.log(len(outside) * len(learners)))  # about what the oddest of so many usual arms has
    ranked = np.argsort(-odd, kind="stable")[: max(_FEWEST, 2 * n_missing)]
    return np.asarray(outside[ranked[odd[ranked] > limit]])


class _Far:
    """Distances from the groups as one learner sees them."""

    def __init__(self, learner: Moments, groups: Index) -> None:  # (rows,)
        space: Space = learner.spaces()[min(_RIDGE, len(RIDGES) - 1)]
        numbers = np.arange(int(groups.max()) + 1)
        weights = (groups == numbers[:, None]) * learner.counts  # (G, rows)
        self._centres = weights @ space.means / np.maximum(weights.sum(axis=1), 1)[:, None]
        self._space = space

    def __call__(self, means: Array) -> Array:  # (a, D) -> (a,)
        points, beyond = self._space.whitened(means)
        squares = (np.square(points).sum(axis=1) + beyond)[:, None] + np.square(self._centres).sum(axis=1)
        return np.asarray(np.maximum(squares - 2 * points @ self._centres.T, 0.0).min(axis=1))


def _distances(
    apart: Sequence[_Far], learners: Sequence[Moments], batches: Sequence[Batch], arms: Index
) -> Array:  # (a,) -> (a, maps)
    """T of some arms, by each learner."""
    sums: list[Array] = []
    counts: Counts = np.zeros(len(arms), dtype=np.int64)
    place = np.full(int(arms.max()) + 1, -1, dtype=np.intp)
    place[arms] = np.arange(len(arms))
    for batch in batches:
        inside = batch.arms < len(place)
        rows = np.full(len(batch.arms), -1, dtype=np.intp)
        rows[inside] = place[batch.arms[inside]]
        part = batch.of_rows(rows)
        if not len(part.samples):
            continue
        starts = np.cumsum(part.counts) - part.counts
        added = [np.add.reduceat(features, starts, axis=0) for features in seen_by(learners, part.samples)]
        sums = sums or [np.zeros((len(arms), one.shape[1])) for one in added]
        for total, one in zip(sums, added, strict=True):
            total[part.arms] += one
        counts[part.arms] += part.counts
    some = np.maximum(counts, 1)[:, None]
    return np.stack([far(total / some) for far, total in zip(apart, sums, strict=True)], axis=1)
