"""The likeliest groups in plain loops: every sum made afresh for every partition that is looked at."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import pdist

Array = NDArray[Any]


def log_probability(points: Array, weights: Sequence[float], labels: Sequence[int], n_groups: int) -> float:
    """Log likelihood of the means of arms, with the best mean of each group, and the prior of the groups."""
    fit = 0.0
    for group in set(labels):
        inside = [arm for arm, label in enumerate(labels) if label == group]
        total = sum(weights[arm] for arm in inside)
        centre = sum(weights[arm] * points[arm] for arm in inside) / total
        fit -= 0.5 * sum(weights[arm] * float(np.square(points[arm] - centre).sum()) for arm in inside)
    n, sizes = len(labels), [labels.count(group) for group in range(n_groups)]
    every_arm_anywhere = n_groups**-n
    all_sizes_alike = math.prod(math.factorial(size) for size in sizes) / math.factorial(n)
    all_sizes_alike /= math.comb(n + n_groups - 1, n_groups - 1)
    return fit + math.log((every_arm_anywhere + all_sizes_alike) / 2)


def likeliest(points: Array, weights: Sequence[float], n_groups: int) -> list[int]:
    """Both linkages, moves of single arms from each as long as they gain, and the better of the two ends."""
    ends = []
    for method in ("ward", "average"):
        labels = [int(label) - 1 for label in fcluster(linkage(pdist(points), method), n_groups, "maxclust")]
        while True:
            value = log_probability(points, weights, labels, n_groups)
            moves = []
            for arm, own in enumerate(labels):
                for group in range(n_groups):
                    if group != own and labels.count(own) > 1:
                        other = [*labels[:arm], group, *labels[arm + 1 :]]
                        moves.append((log_probability(points, weights, other, n_groups), -arm, -group, other))
            if not moves or max(moves)[0] <= value + 1e-8:
                break
            labels = max(moves)[-1]
        ends.append((value, labels))
    return ends[0][1] if ends[0][0] >= ends[1][0] - 1e-8 else ends[1][1]


def averaged(
    spaces: Sequence[Array], trust: Sequence[float], weights: Sequence[float], labels: Sequence[int], n_groups: int
) -> float:
    """The same of several spaces, each with its trust."""
    return sum(one * log_probability(some, weights, labels, n_groups) for one, some in zip(trust, spaces, strict=True))


def log_odds(
    spaces: Sequence[Array], trust: Sequence[float], weights: Sequence[float], labels: list[int], n_groups: int
) -> tuple[float, tuple[list[float], list[float]]]:
    """Of these groups, and what is added to it by each move of an arm that is not alone, and by each swap of two."""
    best = averaged(spaces, trust, weights, labels, n_groups)
    moves, swaps = [], []
    for arm, own in enumerate(labels):
        others = [group for group in range(n_groups) if group != own and labels.count(own) > 1]
        moves += [[*labels[:arm], group, *labels[arm + 1 :]] for group in others]
        for other in range(arm):
            sizes = labels.count(own), labels.count(labels[other])
            if labels[other] != own and max(sizes) > 1:
                swapped = list(labels)
                swapped[arm], swapped[other] = labels[other], own
                swaps.append(swapped)
    return best, (
        [averaged(spaces, trust, weights, one, n_groups) - best for one in moves],
        [averaged(spaces, trust, weights, one, n_groups) - best for one in swaps],
    )
