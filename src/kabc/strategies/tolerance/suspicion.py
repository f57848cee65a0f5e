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
_ALIKE = 0.2  # of the squared length of two ways, the product of ways that are the same; about 0 if they are not
_AGAIN = 1.25  # samples over samples when it was last decided who is with whom


class Suspicion:
    """Bets of each arm against the rest of its presumed group."""

    def __init__(self, n_arms: int) -> None:
        self.wealth = PoolWealth(n_arms)
        self._labels: Index = np.full(n_arms, -1, dtype=np.intp)
        self._split: tuple[tuple[bytes, bytes], int, Index] = ((b"", b""), 0, self._labels)
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
        """How much speaks against each arm: log wealth, or that of the best who waits for values far outside."""
        waiting: Array = self.wealth.gains[:, tails.FAR].max(axis=1, initial=-math.inf)
        return np.asarray(np.maximum(self.wealth.log, waiting))

    def split(self, learning: Learning, labels: Index, suspects: Mask, apart: Mask) -> Index:  # (N,), (N,), (N, N)
        """The groups without the suspects. Those that differ from the same group in the same way are together.

        What was decided for these suspects stands until there are more samples by a quarter.
        """
        n, key = int(learning.counts.max()), (labels.tobytes(), suspects.tobytes())
        if self._split[0] != key or n >= _AGAIN * self._split[1]:
            self._split = (key, n, self._parted(learning, labels, suspects, apart))
        return self._split[2]

    def _parted(self, learning: Learning, labels: Index, suspects: Mask, apart: Mask) -> Index:
        learner, ridge = divmod(self.wealth.best_learner(np.flatnonzero(suspects)), len(RIDGES))
        moments = learning.learners[learner]
        ways = _Ways(moments, moments.spaces()[ridge], labels, suspects)
        found = np.where(suspects, -1, labels)
        opened: dict[int, int] = {}  # group: its first suspect
        for arm in np.flatnonzero(suspects).tolist():
            fits = [
                group
                for group, first in opened.items()
                if ways.alike(arm, first) and not apart[arm, found == group].any()
            ]
            found[arm] = fits[0] if fits else max(int(found.max()), int(labels.max())) + 1
            opened.setdefault(int(found[arm]), arm)
        return found


class _Ways:
    """How suspects differ from the groups that they leave, in a space of whitened features."""

    def __init__(self, learner: Moments, space: Space, labels: Index, suspects: Mask) -> None:
        self._labels = labels
        self._way: dict[int, Array] = {}
        self._square: dict[int, float] = {}  # without the part that is noise
        for arm in np.flatnonzero(suspects).tolist():
            left = np.flatnonzero((labels == labels[arm]) & ~suspects)
            weights = learner.counts[left] if len(left) else np.ones(1)
            centre = np.average(space.means[left], axis=0, weights=weights) if len(left) else 0.0 * space.means[arm]
            away = space.means[arm] - centre
            noise = space.noise * (1 / max(1.0, float(learner.counts[arm])) + 1 / float(weights.sum()))
            self._way[arm], self._square[arm] = away, max(float(away @ away) - noise, 0.0)

    def alike(self, arm: int, other: int) -> bool:
        """Whether two suspects of one group differ from it in the same way."""
        size = (self._square[arm] + self._square[other]) / 2
        return bool(self._labels[arm] == self._labels[other] and self._way[arm] @ self._way[other] > _ALIKE * size)


def _moved(before: Index, after: Index) -> Mask:  # (N,), (N,) -> (N,)
    """Arms whose group has changed by more than a third: what they have won was won against others."""
    n = len(after)
    old, new = (np.unique(labels, return_inverse=True)[1] for labels in (before, after))
    both = np.zeros((n, n), dtype=np.int64)
    np.add.at(both, (old, new), 1)
    common = both[old, new]
    return np.asarray(3 * common < 2 * np.maximum(both.sum(axis=1)[old], both.sum(axis=0)[new]))
