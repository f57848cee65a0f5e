"""Proportions of samples: Frank-Wolfe steps that raise the cost of the nearest alternative. Symbols: strategy.py."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kabc.core.arrays import Array, Index
from kabc.core.partitions import Partition
from kabc.strategies.peers.tas_fw.classes import Task
from kabc.strategies.peers.tas_fw.likelihoods import log_likelihood, x_log_x

_PLAYS = 32  # steps of fictitious play, used when several alternatives are nearest


@dataclass(frozen=True)
class Game:
    """Alternatives to the estimate. Each is given by the sets of arms that it joins; other arms cost nothing."""

    sets: Array  # (G, N), 0 or 1; the last one is empty if some alternatives join fewer sets than others
    alternatives: Index  # (A, k) numbers of sets
    pmfs: Array  # (N, m)

    def costs(self, shares: Array) -> Array:  # (N,) -> (A,)
        """F(w, C') = sum over groups of W_g H(mean pmf) - sum over i of w_i H(P_i)."""
        weighted = shares[:, None] * self.pmfs
        arms = x_log_x(weighted).sum(axis=1) - x_log_x(weighted.sum(axis=1))  # -w_i H(P_i)
        joined = -log_likelihood(self.sets @ weighted) + self.sets @ arms  # (G,)
        costs: Array = np.maximum(joined, 0.0)[self.alternatives].sum(axis=1)
        return costs

    def slopes(self, shares: Array, chosen: Index) -> Array:  # (N,), (J,) -> (J, N)
        """dF/dw_i = KL(P_i, mean pmf of its group in C'), by the envelope theorem."""
        slopes = np.zeros((len(chosen), len(shares)))
        entropies = x_log_x(self.pmfs).sum(axis=1)  # -H(P_i)
        for group in self.alternatives[chosen].T:
            members = self.sets[group]  # (J, N)
            mean = (members * shares) @ self.pmfs
            mean /= np.maximum(mean.sum(axis=1, keepdims=True), 1e-300)
            log_mean = np.log(np.where(mean > 0, mean, 1.0))
            slopes += members * np.maximum(entropies - log_mean @ self.pmfs.T, 0.0)
        return slopes

    def direction(self, shares: Array, radius: float) -> Array:  # (N,) -> (N,)
        """z: the direction in which f rises fastest. All alternatives within the radius of the nearest one count."""
        costs = self.costs(shares)
        near = np.flatnonzero(costs <= costs.min() + radius)
        slopes = self.slopes(shares, near)
        if slopes.max() <= 0:  # the estimate sees no difference yet
            return np.full(len(shares), 1 / len(shares))
        return _fictitious_play(slopes - costs[near, None])


def _fictitious_play(payoff: Array) -> Array:  # (J, N) -> (N,)
    """Mixture of columns with about the largest minimum payoff. Each side answers what the other has played so far."""
    plays = 1 if len(payoff) == 1 else _PLAYS
    mixture, against, won = np.zeros(payoff.shape[1]), payoff.mean(axis=0), np.zeros(len(payoff))
    for _ in range(plays):
        column = int(against.argmax())
        mixture[column] += 1 / plays
        won += payoff[:, column]
        against = against + payoff[won.argmin()]
    return mixture


def frank_wolfe_step(game: Game, shares: Array, t: int) -> Array:  # (N,) -> (N,)
    """x(t) = x(t-1) (t-1)/t + z/t. z is uniform if floor(t/N) is a perfect square."""
    n_arms = len(shares)
    block = t // n_arms
    if math.isqrt(block) ** 2 == block:
        step = np.full(n_arms, 1 / n_arms)
    else:
        step = game.direction(shares, t**-0.9 / n_arms)  # r_t
    mixed: Array = shares * ((t - 1) / t) + step / t
    return mixed


def _one_arm_moves(labels: Index) -> tuple[Array, Index]:  # (N,) -> (G, N), (G, 1)
    """Each arm joined with each other group, if this leaves a partition into K groups (as in BOC)."""
    members = (labels == np.arange(labels.max() + 1)[:, None]).astype(np.float64)  # (K, N)
    single = members.sum(axis=1) == 1
    arms, groups = np.nonzero((members.T == 0) & (~single[labels, None] | single))
    sets = members[groups]
    sets[np.arange(len(arms)), arms] = 1.0
    return sets, np.arange(len(arms))[:, None]


def _other_odd_arms(labels: Index) -> tuple[Array, Index]:  # (N,) -> (N - 1, N), (N - 1, 1)
    """Another arm is the odd one, and the odd one of the estimate joins the others."""
    alone = np.flatnonzero(labels == np.bincount(labels).argmax())  # all arms but the odd one
    return 1.0 - np.eye(len(labels))[alone], np.arange(len(alone))[:, None]


def _other_pairs(labels: Index) -> tuple[Array, Index]:  # (N,) -> (G, N), (A, 2)
    """A single arm is paired with any other and one pair is split, or two pairs exchange partners."""
    n_arms = len(labels)
    pairs = [g for g in Partition.of(labels.tolist()).groups if len(g) == 2]
    paired = {arm for pair in pairs for arm in pair}
    joins = [(i, j) for i in range(n_arms) for j in range(i) if i not in paired or j not in paired]
    alternatives = [(k, -1) for k in range(len(joins))]
    for number, (a, b) in enumerate(pairs):
        for c, d in pairs[:number]:
            for swap in (((a, c), (b, d)), ((a, d), (b, c))):
                alternatives.append((len(joins), len(joins) + 1))
                joins += swap
    sets = np.zeros((len(joins) + 1, n_arms))
    for k, pair in enumerate(joins):
        sets[k, list(pair)] = 1.0
    return sets, np.array(alternatives, dtype=np.intp)


NEAREST: dict[Task, Callable[[Index], tuple[Array, Index]]] = {  # with pooled pmfs no other alternative is cheaper
    "clustering": _one_arm_moves,
    "odd-arm": _other_odd_arms,
    "matching-pairs": _other_pairs,
}
