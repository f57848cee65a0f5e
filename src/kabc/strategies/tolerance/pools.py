"""Bets that an arm differs from a pool of arms taken together (docs/theory.md, 23.10).

| symbol | here         | meaning                                                                                |
|--------|--------------|----------------------------------------------------------------------------------------|
| i, R   | `arms, pool` | a statement: the law of arm i is not the average of the laws of the m arms of R        |
| l      |              | score, an estimate of log(dnu_i / dnu_R) from all earlier rounds                       |
| f_e    |              | what a round multiplies the wealth of expert e by; an expert is a map with a ridge, or  |
|        |              | waits for rare values (`tails.py`)                                                     |

One arm against m others: a value that is rare in all of them wins up to m + 1 times the stake. Against one arm it would
win twice the stake at most.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from kabc.core.arrays import Array, Index, Mask
from kabc.core.evidence import betting
from kabc.core.scores.discriminant import Moments, Space
from kabc.strategies.anytime.learning import Learning, Lesson
from kabc.strategies.anytime.wealth import mixed
from kabc.strategies.tolerance import tails
from kabc.strategies.tolerance.tails import Tails

SCALE = 0.5  # scores are bet at half strength: they are learned from few samples, and are mostly too large


class PoolWealth:
    """Log wealth of many statements, each of one arm against one pool."""

    def __init__(self, n_statements: int) -> None:
        self.log = np.zeros(n_statements)
        self.best = np.zeros(n_statements)
        self.gains = np.zeros((n_statements, 0))  # of each expert; those of `tails` come first

    def bet(self, which: Index, log_factors: Array) -> None:  # (A,), (A, E)
        """A round of these statements; experts are weighed by what they have won before."""
        if self.gains.shape[1] != log_factors.shape[1]:
            self.gains = np.zeros((len(self.log), log_factors.shape[1]))
        self.log[which] += mixed(log_factors, self.gains[which] + _prior(log_factors.shape[1]))
        self.gains[which] += log_factors
        np.maximum(self.best, self.log, out=self.best)

    def best_learner(self, which: Index) -> int:
        """The learned expert that has won most on these statements together."""
        learned = self.gains[which, tails.N_EXPERTS :]
        return int(learned.sum(axis=0).argmax()) if learned.shape[1] else 0

    def forget(self, which: Index) -> None:
        """Start these statements afresh."""
        self.log[which] = self.best[which] = 0.0
        self.gains[which] = 0.0


def _prior(n_experts: int) -> Array:  # (E,)
    """Log weights, up to a constant: those that wait for rare values have half of the weight together."""
    n_learned = max(1, n_experts - tails.N_EXPERTS)
    return np.where(np.arange(n_experts) < tails.N_EXPERTS, math.log(n_learned / tails.N_EXPERTS), 0.0)


@dataclass(frozen=True, eq=False)
class PoolRound:
    """A round of samples, and what was known before it."""

    learning: Learning
    tails: Tails
    lesson: Lesson

    def against(self, arms: Index, pool: Index) -> Array | None:  # (S,), (P,) -> (S, E)
        """Log factors of the round for each of these arms against the arms of the pool, without itself.

        The arms are in the round. None if an arm of the pool is not, or if nothing was learned yet.
        """
        batch, learning = self.lesson.batch, self.learning
        place = np.full(len(learning.counts), -1, dtype=np.intp)
        place[batch.arms] = np.arange(len(batch.arms))
        if not learning.learners or (place[pool] < 0).any():
            return None
        own, theirs = place[arms], place[pool]
        inside = np.isin(arms, pool)
        m, cap = len(pool) - inside.astype(np.float64), math.log1p(learning.n_samples)
        far = self.tails.far(batch.samples.reshape(len(batch.arms), batch.base, -1))  # (A, b)
        made = [
            _log_factor(x, y, m, inside)
            for x, y in self.tails.scores(far[own], far[theirs].ravel(), arms, pool, inside)
        ]
        for learner, values in zip(learning.learners, self.lesson.features, strict=True):
            features = values.reshape(len(batch.arms), batch.base, -1)  # (A, b, D)
            for space in learner.spaces():
                weights, offsets = _discriminants(learner, space, arms, pool, inside)
                x = SCALE * (np.einsum("sbd,ds->sb", features[own], weights) - offsets[:, None])
                y = SCALE * (features[theirs].reshape(-1, features.shape[2]) @ weights - offsets)  # (P b, S)
                made.append(_log_factor(np.clip(x, -cap, cap), np.clip(y, -cap, cap), m, inside))
        return np.stack(made, axis=-1)


def _discriminants(
    learner: Moments, space: Space, arms: Index, pool: Index, inside: Mask
) -> tuple[Array, Array]:  # (S,), (P,), (S,) -> (D, S), (S,)
    """Scores u_i - u_R as linear functions of the features; the mean of a pool is that of all of its samples."""
    means, counts = space.means, learner.counts
    out = inside[:, None] * counts[arms][:, None]
    total = (means[pool] * counts[pool][:, None]).sum(axis=0) - out * means[arms]
    of_pool = total / np.maximum(counts[pool].sum() - out, 1.0)
    offsets = 0.5 * (np.square(means[arms]).sum(axis=1) - np.square(of_pool).sum(axis=1))
    return space.directions(means[arms] - of_pool), offsets


def _log_factor(x: Array, y: Array, m: Array, inside: Mask) -> Array:  # (S, b), (P b, S), (S,), (S,) -> (S,)
    """Log of the bets of a round: each match has one sample of the arm and one of each arm of its pool."""
    of_pool = betting.log_of_pool(y, m).sum(axis=0)
    itself = betting.log_of_pool(x, m[:, None]).sum(axis=1)  # `y` has the samples of the arm too, if it is in the pool
    return np.asarray(betting.log_of_arm(x, m[:, None]).sum(axis=1) + of_pool - inside * itself)
