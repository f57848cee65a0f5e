"""Six arms in three groups, and batch strategies on them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kabc import Gaussian, Partition
from kabc.strategies.base import Strategy
from kabc.strategies.peers.batch import BATCH

Array = NDArray[np.float64]
HEURISTICS = [name for name in BATCH if name != "mmd-permutation"]
CENTRES = [0.0, 6.0, 0.0, 12.0, 6.0, 12.0]
TRUTH = Partition.of(CENTRES)


def make(name: str, n_clusters: int = 3, n: int = 30, **options: Any) -> Strategy:
    strategy: Strategy = BATCH[name](6, n_clusters, 0.1, Gaussian(1.0), samples_per_arm=n, **options)
    return strategy


def answers(strategy: Strategy, seed: int = 0) -> dict[int, Array]:
    rng = np.random.default_rng(seed)
    return {arm: rng.normal(CENTRES[arm], 1.0, (count, 1)) for arm, count in strategy.ask().items()}
