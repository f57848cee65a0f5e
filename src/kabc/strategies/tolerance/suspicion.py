"""Arms that seem to differ from the rest of their presumed group: what the next claim should say of them.

Each arm is bet to differ from the rest of its group, taken together. Nothing is certified here: what is won says which
claim to try beside the one that has these arms in one group, and that the latter should wait.
"""

from __future__ import annotations

import math

import numpy as np

from kabc.core.arrays import Array, Index, Mask
from kabc.core.scores.discriminant import RIDGES, Moments, Space
from kabc.strategies.anytime.learning import Learning
from kabc.strategies.tolerance import tails
from kabc.strategies.tolerance.claim import pool_of
from kabc.strategies.tolerance.pools import PoolRound, PoolWealth

_LEAST = 2.0  # log wealth: of equal arms about one in a hundred runs has so much in the end
_CLOSER = 0.5  # an arm joins a group at less than this part of its distance to the one that it leaves


class Suspicion:
    """Bets of each arm against the rest of its presumed group."""

    def __init__(self, n_arms: int) -> None:
        self.wealth = PoolWealth(n_arms)
        self._labels: Index = np.full(n_arms, -1, dtype=np.intp)
        # Of equal arms fewer than two on average ever win so much (Ville).
        self.level = max(_LEAST, math.log(n_arms / 2))

    def bet(self, now: PoolRound, labels: Index) -> None:  # (N,)
        """A round, with groups that were presumed before it."""
        self.wealth.forget(np.flatnonzero(_moved(self._labels, labels)))
        self._labels = labels.copy()
        drawn = now.lesson.batch.arms
        for group in np.flatnonzero(np.bincount(labels[labels >= 0]) > 1).tolist():
            arms = drawn[labels[drawn] == group]
            found = now.against(arms, pool_of(labels, group)) if len(arms) else None
            if found is not None:
                self.wealth.bet(arms, found)

    def suspects(self, labels: Index) -> Mask:  # (N,) -> (N,)
        """Arms that seem to differ from the rest of their groups."""
        sizes = np.bincount(labels[labels >= 0], minlength=1)
        return np.asarray((self.strength >= self.level) & (labels >= 0) & (sizes[labels] > 1))

    @property
    def strength(self) -> Array:  # (N,)
        """How much speaks against each arm: log wealth, also of the best one of those who wait for values far outside."""
        return np.maximum(self.wealth.log, self.wealth.gains[:, tails.FAR].max(axis=1, initial=-math.inf))

    def split(self, learning: Learning, labels: Index, suspects: Mask, apart: Mask) -> Index:  # (N,), (N,), (N, N)
        """The groups if the suspects are not in them. Each joins a group that is much nearer, or opens one."""
        expert = self.wealth.best_learner(np.flatnonzero(suspects))
        learner, ridge = divmod(expert, len(RIDGES))
        near = _Near(learning.learners[learner], learning.learners[learner].spaces()[ridge])
        found = np.where(suspects, -1, labels)
        for arm in np.flatnonzero(suspects).tolist():
            left = near.square(arm, np.flatnonzero((labels == labels[arm]) & ~suspects))
            nearest, square = -1, _CLOSER * left
            for group in range(int(found.max()) + 1):
                members = np.flatnonzero(found == group)
                if group != labels[arm] and len(members) and not apart[arm, members].any():
                    distance = near.square(arm, members)
                    if distance < square:
                        nearest, square = group, distance
            found[arm] = nearest if nearest >= 0 else found.max() + 1
        return found


class _Near:
    """Squared distances of arms and groups in a space of whitened features, without the part that is noise."""

    def __init__(self, learner: Moments, space: Space) -> None:
        self._counts, self._space = learner.counts, space

    def square(self, arm: int, group: Index) -> float:
        """Of an arm and a group, which may be empty: then nothing is as near as that."""
        weights, means = self._counts[group], self._space.means
        if not weights.sum():
            return 0.0
        away: Array = means[arm] - np.average(means[group], axis=0, weights=weights)
        noise = self._space.noise * (1 / max(1.0, float(self._counts[arm])) + 1 / float(weights.sum()))
        return max(0.0, float(away @ away) - noise)


def _moved(before: Index, after: Index) -> Mask:  # (N,), (N,) -> (N,)
    """Arms whose group has changed by more than half."""
    n = len(after)
    old, new = (np.unique(labels, return_inverse=True)[1] for labels in (before, after))
    both = np.zeros((n, n), dtype=np.int64)
    np.add.at(both, (old, new), 1)
    common = both[old, new]
    return np.asarray(2 * common < np.maximum(both.sum(axis=1)[old], both.sum(axis=0)[new]))
