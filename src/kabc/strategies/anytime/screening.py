"""Arms that fit into no group found so far: looked for among all arms outside, where the core lacks groups.

| symbol | here     | meaning                                                                                        |
|--------|----------|------------------------------------------------------------------------------------------------|
| n      |          | samples of each arm outside: 4, then 6, 9, 14, ...                                             |
| T_i    |          | squared distance of the whitened mean of arm i from the nearest centre of a group              |
| z_i    | `odd`    | cube root of T_i, from the median of all arms, in units of their spread: about normal          |

Nothing is bet at a look, and nothing is proven: arms that stand out join the core, where all evidence about them starts
anew (docs/theory.md, section 12.6). There they are compared with one arm of each group first (`Search`). If that shows
new groups, but fewer than K, it is looked again at all arms, and else closer.
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
_FEWEST = 8  # arms that may join at once, at least
_CHANCE = 8  # samples of an arm that stood out over those at the look: by then it is told apart, if it is odd
_PART_OF_CORE = 4  # and at most this part of the core: a quarter
_WORTH = 1 << 8  # samples of a look at all arms that are worth one arm more that joins
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
    held : samples of each arm at the look. Arms that stand out after so few differ so much.
    """

    labels: Index  # (N,)
    met: tuple[int, ...]
    sought: Index
    held: int

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

    def wanted(self, apart: Mask) -> Index:  # (A, A) of `arms`
        """The arms that are not told apart from all others yet."""
        return np.asarray(self.arms[apart.sum(axis=1) < len(apart) - 1])

    def is_over(self, apart: Mask, counts: Counts, patience: int) -> bool:  # (A, A) of `arms`, (N,)
        """Whether all of them that are open have had their chance to be told apart from all groups."""
        still = self.wanted(apart)
        enough = min(patience, _CHANCE * self.held)
        return bool((counts[still[np.isin(still, self.sought)]] >= enough).all())


def next_look(held: int, patience: int) -> int | None:
    """Samples of each arm outside at the next look, when they have this many; None: there is none before."""
    target = FIRST if held < FIRST else math.ceil(_GROWTH * held)
    return target if target <= patience // MOST else None


def odd_arms(
    learners: Sequence[Moments], batches: Sequence[Batch], groups: Index, outside: Index, n_missing: int, most: int = 0
) -> Index:  # (rows,), (O,)
    """Arms outside that stand out, the oddest first; `groups` are those of the arms that learners know, -1: none.

    At most `most`, or twice as many as groups are missing: the next look is closer.
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
    odd = (roots - middle) / np.where(spread > 0, spread, np.inf)
    chosen = _chosen(odd, max(_FEWEST, 2 * n_missing), most)
    return np.asarray(outside[chosen])


def most_at_once(n_outside: int, held: int, core: int) -> int:
    """How many arms may join: their samples are to cost little beside those of the next look at all arms outside."""
    return min(core // _PART_OF_CORE, n_outside * held // _WORTH)


def _chosen(odd: Array, few: int, most: int) -> Index:  # (O, maps)
    """The oddest arms. Each map has its say: under some maps usual arms are far from normal.

    So many stand out as that many usual arms would by chance. If many more do, they are a group, and a few of them do.
    """
    from scipy.special import ndtri

    certain = math.sqrt(2 * math.log(odd.size))  # about what the oddest of so many usual arms has
    oddest = odd.max(axis=1)
    most = few if most <= few or np.count_nonzero(oddest > certain) > most else most
    limit = certain if most == few else min(certain, -float(ndtri(most / odd.size)))
    ranks = np.empty_like(odd)
    np.put_along_axis(ranks, np.argsort(-odd, axis=0, kind="stable"), np.arange(len(odd), dtype=float)[:, None], axis=0)
    ranked = np.lexsort((-oddest, ranks.min(axis=1)))
    return np.asarray(ranked[oddest[ranked] > limit][:most])


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
