"""Single linkage of means, its nearest alternative, and the best proportions of samples, in loops that numba compiles.

The symbols are those of strategy.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

from kabc.core.arrays import Array, Counts
from kabc.strategies.peers.compiled import compiled

_NEAREST = 1e-10  # relative to the largest squared gap; smaller ones do not change the shares
_MOST_STEPS = 300  # largest number of steps of the search for the best proportions
_ACCURACY = 0.01  # at which this search ends


def spanning_groups(distances: Array, n_groups: int) -> tuple[Counts, Counts]:  # (M, M) -> (M,), (M - K, 2)
    """SLINK_K: labels, and the edges within groups of the minimum spanning tree (Prim)."""
    n_arms = len(distances)
    joins, parents, lengths = np.zeros(n_arms, np.int64), np.zeros(n_arms, np.int64), np.full(n_arms, np.inf)
    near, outside = np.full(n_arms, np.inf), np.ones(n_arms, np.bool_)
    arm = 0
    for step in range(n_arms):
        outside[arm] = False
        joins[step] = arm
        lengths[step] = near[arm]
        closest = -1
        for other in range(n_arms):
            if outside[other]:
                if distances[arm, other] < near[other] or near[other] == np.inf:
                    near[other] = distances[arm, other]
                    parents[other] = arm
                if closest < 0 or near[other] < near[closest]:
                    closest = other
        arm = closest
    cut = np.argsort(-lengths)[:n_groups]  # the first arm, which has no edge, and the K - 1 longest edges
    starts = np.zeros(n_arms, np.bool_)
    for step in cut:
        starts[step] = True
    labels, tree = np.zeros(n_arms, np.int64), np.zeros((n_arms - n_groups, 2), np.int64)
    group, edge = 0, 0
    for step in range(n_arms):
        if starts[step]:
            labels[joins[step]] = group
            group += 1
        else:
            labels[joins[step]] = labels[parents[joins[step]]]
            tree[edge, 0], tree[edge, 1] = parents[joins[step]], joins[step]
            edge += 1
    return labels, tree


def _worst(  # (M, M), (M,), (M - K, 2), (M,) -> value, 4 arms, squared gap
    distances: Array, labels: Counts, tree: Counts, y: Array, floor: float
) -> tuple[float, int, int, int, int, float]:
    """The edge and the pair with the largest sum of c_m^2 y_m / (D_p - D_e)^2, y = 1/w. 0 if there are none."""
    n_arms = len(labels)
    value, a_, b_, i_, j_, gap_ = 0.0, 0, 0, 0, 0, 1.0
    for edge in range(len(tree)):
        a, b = tree[edge, 0], tree[edge, 1]
        for i in range(n_arms):
            for j in range(i + 1, n_arms):
                if labels[i] != labels[j]:
                    total = y[a] + y[b] + y[i] + y[j]
                    if a in (i, j):
                        total += 2 * y[a]  # c^2 = 4
                    if b in (i, j):
                        total += 2 * y[b]
                    gap = max(max(distances[i, j] - distances[a, b], 0.0) ** 2, floor)
                    if total > value * gap:
                        value = total / gap if gap > 0 else np.inf
                        a_, b_, i_, j_, gap_ = a, b, i, j, gap
    return value, a_, b_, i_, j_, gap_


def alternative(distances: Array, labels: Counts, tree: Counts, w: Array) -> float:  # (M, M), (M,), (M - K, 2), (M,)
    """inner(w, mu_hat). It is infinite if there is no other partition."""
    value = _worst(distances, labels, tree, 1 / w, 0.0)[0]
    return 1 / (2 * value) if value > 0 else np.inf


def best_shares(distances: Array, labels: Counts, tree: Counts) -> Array:  # (M, M), (M,), (M - K, 2) -> (M,)
    """w*: maximises inner over the simplex, to 1 %, by the Frank-Wolfe method on the dual.

    Let A have a row c_m^2 / (D_p - D_e)^2 for each (e, p). The smallest possible largest sum of A_cm / w_m is the
    square of the largest sum of sqrt(s_m) over s in the convex hull of the rows. The best w is proportional to sqrt(s).
    """
    n_arms = len(labels)
    farthest = distances.max()
    s, y = np.zeros(n_arms), np.ones(n_arms)
    for step in range(_MOST_STEPS):
        value, a, b, i, j, gap = _worst(distances, labels, tree, y, _NEAREST * farthest**2)
        root = np.sqrt(s).sum()
        if value == 0 or farthest == 0 or (step > 0 and value <= (1 + _ACCURACY) * root**2):
            break
        row = np.zeros(n_arms)
        for arm in (a, b, i, j):
            row[arm] += 1
        s = s + (2 / (step + 2)) * (row**2 / gap - s)
        root = np.sqrt(s).sum()
        for arm in range(n_arms):
            y[arm] = root / math.sqrt(s[arm]) if s[arm] > 0 else np.inf
    weights: Array = np.sqrt(s) if s.any() else np.ones(n_arms)
    weights /= weights.sum()
    return weights


def slope_of(distances: Array, labels: Counts, tree: Counts, w: Array) -> Array:  # ..., (M,) -> (M,)
    """Gradient of log inner at w."""
    _, a, b, i, j, _ = _worst(distances, labels, tree, 1 / w, _NEAREST * distances.max() ** 2)
    row = np.zeros(len(w))
    for arm in (a, b, i, j):
        row[arm] += 1
    slope: Array = row**2 / w**2 / (row**2 / w).sum()
    return slope


def critical(  # (M, M), (M,), (M,) -> intra, its arms, inter, its arms
    distances: Array, labels: Counts, radii: Array
) -> tuple[float, int, int, float, int, int]:
    """The longest edge of the groups' spanning trees of upper bounds, and the shortest lower bound between groups."""
    n_arms = len(labels)
    intra, a, b, inter, i, j = -np.inf, -1, -1, np.inf, -1, -1
    near, parents, outside = np.full(n_arms, np.inf), np.full(n_arms, -1), np.ones(n_arms, np.bool_)
    for _ in range(n_arms):
        arm = -1
        for other in range(n_arms):  # one tree after the other: a new one begins when nothing is near
            if outside[other] and (arm < 0 or near[other] < near[arm]):
                arm = other
        outside[arm] = False
        if parents[arm] >= 0 and near[arm] > intra:
            intra, a, b = near[arm], parents[arm], arm
        for other in range(n_arms):
            reach = radii[arm] + radii[other]
            if labels[other] != labels[arm]:
                if distances[arm, other] - reach < inter:
                    inter, i, j = distances[arm, other] - reach, arm, other
            elif outside[other] and distances[arm, other] + reach < near[other]:
                near[other] = distances[arm, other] + reach
                parents[other] = arm
    return intra, a, b, inter, i, j


class Loops(NamedTuple):
    """The functions above, compiled."""

    groups: Callable[[Array, int], tuple[Counts, Counts]]
    alternative: Callable[[Array, Counts, Counts, Array], float]
    shares: Callable[[Array, Counts, Counts], Array]
    slope: Callable[[Array, Counts, Counts, Array], Array]
    critical: Callable[[Array, Counts, Array], tuple[float, int, int, float, int, int]]


@cache
def compiled_loops() -> Loops:
    """Compiled at the first call."""
    return Loops(*compiled(spanning_groups, alternative, best_shares, slope_of, critical, using=(_worst,)))
