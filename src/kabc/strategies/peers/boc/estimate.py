"""The estimate (K-means-Maximin) and the stopping statistic, Z.

The symbols are those of strategy.py. Everything here is plain Python; loops.py compiles it.
"""

from __future__ import annotations

import math

import numpy as np

from kabc.core.arrays import Array, Counts
from kabc.strategies.peers.boc.solver import can_move, squared_distance

_LLOYD_STEPS = 1_000  # limit for Lloyd's algorithm; it is reached only through rounding errors


def k_means_maximin(means: Array, counts: Counts, n_groups: int) -> tuple[Counts, Array]:  # (M, d) -> (M,), (K, d)
    """Farthest-first centres, then Lloyd's algorithm with arms weighted by their counts."""
    n_arms, d = means.shape
    centres, nearest = np.zeros((n_groups, d)), np.full(n_arms, np.inf)
    chosen = 0  # the first centre is arbitrary in the paper
    for group in range(n_groups):
        for column in range(d):
            centres[group, column] = means[chosen, column]
        for arm in range(n_arms):
            nearest[arm] = min(nearest[arm], squared_distance(means, arm, centres, group))
        for arm in range(n_arms):
            chosen = arm if nearest[arm] > nearest[chosen] else chosen
    labels = np.full(n_arms, -1, dtype=np.int64)
    for _ in range(_LLOYD_STEPS):
        if not _assigned(means, centres, labels):
            break
        sums, weights = np.zeros((n_groups, d)), np.zeros(n_groups)
        for arm in range(n_arms):
            weights[labels[arm]] += counts[arm]
            for column in range(d):
                sums[labels[arm], column] += counts[arm] * means[arm, column]
        for group in range(n_groups):
            for column in range(d):
                if weights[group] > 0:  # a centre that lost all its arms stays where it was
                    centres[group, column] = sums[group, column] / weights[group]
    return labels, centres


def _assigned(means: Array, centres: Array, labels: Counts) -> bool:  # (M, d), (K, d), (M,)
    """Move every arm to its nearest centre. Returns whether any arm moved."""
    moved = False
    for arm in range(len(labels)):
        best, group = np.inf, 0
        for k in range(len(centres)):
            distance = squared_distance(means, arm, centres, k)
            if distance < best:
                best, group = distance, k
        moved = moved or labels[arm] != group
        labels[arm] = group
    return moved


def statistic(means: Array, counts: Counts, labels: Counts, centres: Array) -> float:  # (M, d), (M,), (M,), (K, d)
    """Z = (max(0, sqrt Z_2 - sqrt Z_1))^2 / 2. Infinite if there is no alternative, 0 if a group is empty."""
    n_groups = len(centres)
    sizes, weights = np.zeros(n_groups, dtype=np.int64), np.zeros(n_groups)  # n(k), W(k)
    least = np.full(n_groups, np.inf)  # a(k)
    z_1 = 0.0
    for arm in range(len(labels)):
        group = labels[arm]
        sizes[group] += 1
        weights[group] += counts[arm]
        least[group] = min(least[group], counts[arm])
        z_1 += counts[arm] * squared_distance(means, arm, centres, group)
    z_2 = np.inf
    for a in range(n_groups):
        for b in range(n_groups):
            if can_move(sizes, a, b, len(labels) > n_groups):  # no other alternative is cheaper
                cost = least[a] * weights[b] / (least[a] + weights[b])
                z_2 = min(z_2, cost * squared_distance(centres, a, centres, b))
    return max(0.0, math.sqrt(z_2) - math.sqrt(z_1)) ** 2 / 2


HELPERS = (_assigned,)  # beside those of solver.py
