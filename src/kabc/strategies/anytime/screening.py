"""Arms that fit into no group found so far: looked for among all arms outside, where the core lacks groups.

| symbol | here     | meaning                                                                                        |
|--------|----------|------------------------------------------------------------------------------------------------|
| n      | `counts` | samples of an arm outside: 4, then 6, 9, 14, ..., and more of arms that are looked at closely  |
| T_i    |          | squared distance of the whitened mean of arm i from the nearest centre of a group              |
| z_i    | `odd`    | cube root of n T_i, from the median of all arms, in units of their spread: about normal        |

A look goes on with fewer and fewer arms: the oddest sixteenth of them gets twice as many samples, and so on, until few
are left. Nothing is bet at a look, and nothing is proven: arms that stand out in the end join the core, where all
evidence about them starts anew (docs/theory.md, section 12.6). There they are compared with one arm of each group first
(`Search`). If that shows new groups, but fewer than K, it is looked again at all arms, and else all get more samples.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kabc.core.arrays import Array, Counts, Index, Mask
from kabc.core.scores.discriminant import RIDGES, Moments, Space
from kabc.strategies.anytime.batches import Batch
from kabc.strategies.anytime.teaching import seen_by

FIRST = 4  # samples of each arm outside at the first look
MOST = 4  # looks end when they have this part of the samples of the core: a quarter
_GROWTH = 1.5  # samples of each arm outside at a look over those at the look before
_CLOSER = 16  # one of so many arms is looked at more closely
_FEWEST = 8  # arms that may join at once, at least
_CHANCE = 8  # samples of an arm that stood out over those at the look: by then it is told apart, if it is odd
_TRUST = 0.5  # share of the map that wins most among the oddest arms; the other maps share the rest
_AT_ONCE = 1 << 12  # arms
_SPREAD = 1.4826  # of the median absolute deviation of normal values
_RIDGE = 1  # number of the ridge that distances are measured with


@dataclass(frozen=True, slots=True, eq=False)
class Look:
    """Arms outside that are drawn until each has so many samples.

    Attributes
    ----------
    arms : those that are looked at, all arms outside at first.
    samples : of each of them.
    among : the number of all arms outside.
    usual : median and spread of the cube roots of n T of all arms outside, by map; None: these are all.
    """

    arms: Index
    samples: int
    among: int
    usual: tuple[Array, Array] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Search:
    """Arms that stood out, and what they are compared with: one arm of each group found before.

    Attributes
    ----------
    labels : groups of the arms of the core before, -1 for all others.
    met : one arm of each of these groups, in their order. They are pairwise told apart.
    sought : the arms that stood out.
    held : samples of each arm at the look. Arms that stand out after so few differ so much.
    before : samples of all arms when these joined.
    """

    labels: Index  # (N,)
    met: tuple[int, ...]
    sought: Index
    held: int
    before: Counts  # (N,)

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
        still = still[np.isin(still, self.sought)]
        return bool((counts[still] - self.before[still] >= min(patience, _CHANCE * self.held)).all())


def next_look(outside: Index, held: int, patience: int) -> Look | None:
    """The next look at all arms outside, when they have this many samples; None: there is none before."""
    target = FIRST if held < FIRST else math.ceil(_GROWTH * held)
    return Look(outside, target, len(outside)) if len(outside) and target <= patience // MOST else None


def looked(
    look: Look, learners: Sequence[Moments], batches: Sequence[Batch], groups: Index, n_missing: int, trusted: int = 0
) -> tuple[Index, Look | None]:  # (rows,)
    """The arms that stand out, the oddest first, or a closer look.

    `groups` are those of the arms that learners know, -1: none. `trusted` is the number of the map that wins most. At
    most twice as many arms stand out as groups are missing. If more seem to than a closer look would have, they are a
    group, and a few of them do.
    """
    arms, few = look.arms, max(_FEWEST, 2 * n_missing)
    if look.among < 2 * _FEWEST:
        return arms, None
    apart = [_Far(learner, groups) for learner in learners]
    parts = [
        _distances(apart, learners, batches, arms[start : start + _AT_ONCE]) for start in range(0, len(arms), _AT_ONCE)
    ]
    roots = np.cbrt(np.concatenate(parts))  # (a, maps)
    middle, spread = usual = look.usual or _usual(roots)
    odd = (roots - middle) / np.where(spread > 0, spread, np.inf)
    ranked, oddest = _ranked(odd, trusted), odd.max(axis=1)
    certain = math.sqrt(2 * math.log(look.among * odd.shape[1]))  # about what the oddest of so many usual arms has
    n_closer = max(2 * few, len(arms) // _CLOSER)  # some maps have heavy tails: of many usual arms a few seem certain
    if len(arms) <= 2 * few or np.count_nonzero(oddest > certain) > n_closer:
        return np.asarray(arms[ranked[oddest[ranked] > _limit(few, look.among * odd.shape[1], certain)][:few]]), None
    return arms[:0], Look(arms[ranked[:n_closer]], 2 * look.samples, look.among, usual)


def _usual(roots: Array) -> tuple[Array, Array]:  # (O, maps) -> (maps,), (maps,)
    middle = np.median(roots, axis=0)
    return middle, _SPREAD * np.median(np.abs(roots - middle), axis=0)


def _limit(few: int, n_tests: int, certain: float) -> float:
    """What a few of so many usual arms exceed by chance."""
    from scipy.special import ndtri

    return min(certain, -float(ndtri(few / n_tests)))


def _ranked(odd: Array, trusted: int) -> Index:  # (a, maps) -> (a,)
    """Arms, the oddest first. Each map has its say: under some maps usual arms are far from normal."""
    ranks = np.empty_like(odd)
    np.put_along_axis(ranks, np.argsort(-odd, axis=0, kind="stable"), np.arange(1.0, len(odd) + 1)[:, None], axis=0)
    shares = np.full(odd.shape[1], (1 - _TRUST) / max(1, odd.shape[1] - 1))
    shares[trusted] = _TRUST
    ranks = np.where(odd > 0, ranks / shares, np.inf)
    return np.lexsort((-odd.max(axis=1), ranks.min(axis=1)))


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
    """n T of some arms, by each learner."""
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
    return some * np.stack([far(total / some) for far, total in zip(apart, sums, strict=True)], axis=1)
