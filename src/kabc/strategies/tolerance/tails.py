"""Rare values far outside: scores that wait for them, instead of learning from the first ones.

| symbol | here      | meaning                                                                                 |
|--------|-----------|-----------------------------------------------------------------------------------------|
| o      | `far`     | how far outside a sample is: the largest distance of a value from the pilot's median, in |
|        |           | quartile ranges                                                                         |
| c, q   |           | a cut, and how often a sample of the pool is thought to be beyond it                    |
| p      | `CHANCES` | how often a sample of the arm is thought to be beyond it                                |

The score of an expert is log((p + (1 - p) q) / q) beyond the cut, log(1 - p) below. It costs next to nothing while no
arm has such values. Three of them in one arm, and none in nine others, multiply the wealth by several hundred.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from kabc.core.arrays import Array, Index, Mask
from kabc.core.scores.maps import Scaled

CHANCES = (0.01, 0.03, 0.1)
_COMMON = 0.01  # part of the pool's samples beyond the nearest cut
_BEYOND = 2.0  # the farthest cut is so many times as far outside as the farthest sample of the pool
_UNSEEN = 0.1  # samples of the pool beyond that cut, as a guess: none was seen
N_EXPERTS = 2 * len(CHANCES)
FAR = slice(0, len(CHANCES))  # the experts of the farthest cut


class Tails:
    """How far outside the samples of each arm were, so far."""

    def __init__(self, pilot: Array, n_arms: int) -> None:  # (n, d)
        self._scaled = Scaled().fitted(pilot)
        self._past: list[list[Array]] = [[] for _ in range(n_arms)]
        self._most = np.zeros(n_arms)

    def far(self, samples: Array) -> Array:  # (..., d) -> (...,)
        """How far outside samples are."""
        flat = samples.reshape(-1, samples.shape[-1])
        with np.errstate(over="ignore"):  # an overflow is as far outside as can be
            away = np.abs((flat / 2 - self._scaled.centre) / self._scaled.scale).max(axis=1)
        return np.asarray(away.reshape(samples.shape[:-1]))

    def absorb(self, arms: Index, samples: Array) -> None:  # (A,), (A, b, d)
        """Samples of a round, after they were bet on."""
        for arm, far in zip(arms.tolist(), self.far(samples), strict=True):
            self._past[arm].append(far)
            self._most[arm] = max(self._most[arm], float(far.max()))

    def scores(self, x: Array, y: Array, arms: Index, pool: Index, inside: Mask) -> Iterator[tuple[Array, Array]]:
        """Scores of each expert at samples of the arms (S, b) and of the pool (n,): (S, b) and (n, S)."""
        past = np.concatenate([one for arm in pool.tolist() for one in self._past[arm]])
        common = np.full(len(arms), np.quantile(past, 1 - _COMMON))
        farthest = _BEYOND * self._most_without(arms, pool, inside)
        unseen = _UNSEEN / len(past)
        for cuts, q in ((farthest, unseen), (common, _COMMON)):
            beyond_x, beyond_y = x > cuts[:, None], y[:, None] > cuts
            for p in CHANCES:
                high, low = math.log((p + (1 - p) * q) / q), math.log1p(-p)
                yield np.where(beyond_x, high, low), np.where(beyond_y, high, low)

    def _most_without(self, arms: Index, pool: Index, inside: Mask) -> Array:  # (S,), (P,), (S,) -> (S,)
        """The farthest sample of the pool, without the arm itself."""
        order = pool[np.argsort(self._most[pool])]
        first, second = order[-1], order[-2] if len(order) > 1 else order[-1]
        return np.asarray(np.where(inside & (arms == first), self._most[second], self._most[first]))
