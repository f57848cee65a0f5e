"""The paper, word by word and slowly: double loops over its sums, in plain Python. Shares no code with the package."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

Point = Sequence[float]
KernelFunction = Callable[[Point, Point], float]


def gaussian(bandwidth: float) -> KernelFunction:
    return lambda x, y: math.exp(-sum((a - b) ** 2 for a, b in zip(x, y, strict=True)) / (2 * bandwidth**2))


def squared_distance(g: KernelFunction, xi: Sequence[Point], xj: Sequence[Point]) -> float:
    """Eq. empdist."""
    n = len(xi)
    total = 0.0
    for s in range(n):
        for t in range(n):
            total += g(xi[s], xi[t]) - 2 * g(xi[s], xj[t]) + g(xj[s], xj[t])
    return total / n**2


def variance(g: KernelFunction, x: Sequence[Point]) -> float:
    """Eq. empvar."""
    n = len(x)
    total = 0.0
    for t in range(n):
        total += g(x[t], x[t]) - sum(g(x[t], x[s]) for s in range(n)) / n
    return total / (n - 1)


def threshold(vi: float, vj: float, n: int, n_arms: int, delta: float, g_range: float) -> float:
    """Eq. threshold."""
    log_term = math.log(8 * (n_arms**2 - n_arms) / delta)
    return (math.sqrt(vi) + math.sqrt(vj)) * math.sqrt(2 * log_term / n) + 32 / 3 * math.sqrt(g_range) * log_term / n


def cluster(
    g: KernelFunction, samples: Sequence[Sequence[Point]], delta: float, g_range: float
) -> tuple[list[int], list[list[float]], list[float], list[list[float]]]:
    """Algorithm 1 on samples that are drawn already: labels by first appearance, distances, variances, thresholds."""
    n_arms, n = len(samples), len(samples[0])
    variances = [variance(g, x) for x in samples]
    distances = [[0.0] * n_arms for _ in range(n_arms)]
    thresholds = [[0.0] * n_arms for _ in range(n_arms)]
    neighbours: list[list[int]] = [[] for _ in range(n_arms)]
    for i in range(n_arms):
        for j in range(n_arms):
            thresholds[i][j] = threshold(variances[i], variances[j], n, n_arms, delta, g_range)
            if i != j:
                distances[i][j] = math.sqrt(max(0.0, squared_distance(g, samples[i], samples[j])))
                if distances[i][j] <= thresholds[i][j]:
                    neighbours[i].append(j)
    return _components(neighbours), distances, variances, thresholds


def _components(neighbours: list[list[int]]) -> list[int]:
    labels = [-1] * len(neighbours)
    found = 0
    for start in range(len(neighbours)):
        if labels[start] >= 0:
            continue
        stack = [start]
        while stack:
            arm = stack.pop()
            if labels[arm] < 0:
                labels[arm] = found
                stack.extend(neighbours[arm])
        found += 1
    return labels


def kabc(
    g: KernelFunction,
    draw: Callable[[int, int, int], Sequence[Sequence[Point]]],
    n_arms: int,
    n_clusters: int,
    delta: float,
    g_range: float = 1.0,
) -> tuple[list[int], int, int]:
    """Algorithm 2: labels, total budget, last round. draw(k, n_arms, n) gives fresh samples of all arms."""
    k, budget = 1, 0
    while True:
        delta_k = delta / (4 * k**2)
        n_k = math.ceil(2**k * math.log(8 * (n_arms**2 - n_arms) / delta_k))
        labels, *_ = cluster(g, draw(k, n_arms, n_k), delta_k, g_range)
        budget += n_arms * n_k
        if len(set(labels)) == n_clusters:
            return labels, budget, k
        k += 1
