"""Instances of the papers, and strategies played on them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from kabc.strategies.peers.single_linkage import ATBOC, LUCBBOC, BOCElim

Array = NDArray[np.float64]
Single = ATBOC | LUCBBOC | BOCElim
PAPER_1 = np.array([[0.0], [0.5], [1.5], [2.0], [3.5]])  # the illustration of the paper, K = 3
PAPER_2 = np.array([[-1.0, -1], [-1, -2], [1, 1], [2, 2], [3, -3], [3.5, -3]])  # that of its sequel, K = 3
MAKERS: dict[str, Callable[..., Single]] = {
    "atboc": ATBOC,
    "gradient": lambda *a, **k: ATBOC(*a, proportions="gradient", **k),
    "lucbboc": LUCBBOC,
    "boc-elim": BOCElim,
}


def distances(means: Array) -> Array:
    found: Array = np.linalg.norm(means[:, None] - means[None], axis=-1)
    return found


def run(strategy: Single, means: Array, seed: int = 0, most: int = 10**6) -> Single:
    rng = np.random.default_rng(seed)
    while not strategy.stopped and strategy.n_samples < most:
        strategy.tell(
            {
                arm: strategy.sigma * (means[arm] + rng.normal(size=(n, means.shape[1])))
                for arm, n in strategy.ask().items()
            }
        )
    return strategy
