"""One truth for each task, and TaS-FW played on it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kabc import Partition
from kabc.strategies.peers.tas_fw import TaSFW, Task

Array = NDArray[np.float64]
A, B, C, D = [0.8, 0.1, 0.1], [0.1, 0.1, 0.8], [0.1, 0.8, 0.1], [0.4, 0.2, 0.4]
TRUTHS: dict[Task, tuple[int, list[list[float]]]] = {
    "clustering": (3, [A, B, C, A, B, A]),
    "odd-arm": (2, [A, A, B, A, A]),
    "matching-pairs": (4, [A, B, D, B, C, A]),
}


def truth_of(pmfs: list[list[float]]) -> Partition:
    return Partition.of(map(tuple, pmfs))


def run(strategy: TaSFW, pmfs: list[list[float]], seed: int = 0, most: int = 20_000) -> TaSFW:
    rng = np.random.default_rng(seed)
    while not strategy.stopped and strategy.n_samples < most:
        strategy.tell({arm: rng.choice(len(pmfs[arm]), n, p=pmfs[arm]) for arm, n in strategy.ask().items()})
    return strategy
