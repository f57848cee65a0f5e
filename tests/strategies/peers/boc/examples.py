"""Instances of the paper, and BOC played on them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from kabc import Partition
from kabc.strategies.peers.boc import BOC

Array = NDArray[np.float64]
SIZES = (2, 4, 3, 2)
LABELS = np.repeat(np.arange(4), SIZES)
TRUTH = Partition.of(LABELS.tolist())


def centres(fourth: float) -> Array:
    """The paper's synthetic instances: 5 is easy, 1 moderate, 0.5 challenging."""
    return np.array([[0.0, 0.0, 0.0], [0.0, 10.0, 0.0], [0.0, 0.0, 10.0], [fourth, 0.0, 0.0]])


EASY = centres(5.0)[LABELS]  # (11, 3)


def pulls(strategy: BOC, means: Array, seed: int = 0, scale: float = 1.0) -> Iterator[dict[int, int]]:
    """Drive the strategy to its end; each request before it is answered."""
    rng = np.random.default_rng(seed)
    while not strategy.stopped:
        request = strategy.ask()
        yield request
        strategy.tell({arm: scale * (means[arm] + rng.normal(size=(n, means.shape[1]))) for arm, n in request.items()})


def run(strategy: BOC, means: Array = EASY, seed: int = 0) -> BOC:
    for _ in pulls(strategy, means, seed):
        pass
    return strategy


def literal_k_means(means: Array, counts: NDArray[np.int64], k: int) -> tuple[NDArray[np.int64], Array]:
    chosen = [0]
    while len(chosen) < k:
        nearest = ((means[:, None] - means[chosen][None]) ** 2).sum(-1).min(axis=1)
        chosen.append(int(nearest.argmax()))
    u = means[chosen].copy()
    labels = np.full(len(means), -1)
    while True:
        new = ((means[:, None] - u[None]) ** 2).sum(-1).argmin(axis=1)
        if (new == labels).all():
            return labels, u
        labels = new
        for group in set(labels.tolist()):
            u[group] = np.average(means[labels == group], axis=0, weights=counts[labels == group])


def literal_statistic(means: Array, counts: NDArray[np.int64], labels: NDArray[np.int64], u: Array) -> float:
    z_1 = sum(n * float(((x - u[c]) ** 2).sum()) for n, x, c in zip(counts, means, labels, strict=True))
    z_2 = math.inf
    for a, b in itertools.permutations(range(len(u)), 2):
        if (labels == a).sum() > 1 or (labels == b).sum() == 1:
            least, weight = counts[labels == a].min(), counts[labels == b].sum()
            z_2 = min(z_2, least * weight / (least + weight) * float(((u[a] - u[b]) ** 2).sum()))
    return 0.5 * max(0.0, math.sqrt(z_2) - math.sqrt(z_1)) ** 2
