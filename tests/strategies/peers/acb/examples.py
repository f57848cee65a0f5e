"""Ten arms in three groups, and all forms of ACB played on them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from kabc import Partition
from kabc.strategies.peers.acb import ACB, ACBDagger, ACBStar

Array = NDArray[np.float64]
Active = ACB | ACBDagger | ACBStar
LABELS = np.array([0, 1, 2, 0, 1, 2, 0, 0, 1, 2])
TRUTH = Partition.of(LABELS.tolist())
MEANS = 6 * np.eye(3, 5)[LABELS]  # gaps of 6 sqrt(2) = 8.5
GAP = 8.0
MAKERS: dict[str, Callable[..., Active]] = {
    "published": lambda *a, **k: ACB(*a, min_gap=GAP * k.get("sigma", 1.0), constants="published", **k),
    "corrected": lambda *a, **k: ACB(*a, min_gap=GAP * k.get("sigma", 1.0), **k),
    "kept": lambda *a, **k: ACB(*a, min_gap=GAP * k.get("sigma", 1.0), keep_samples=True, **k),
    "proven": lambda *a, **k: ACB(
        *a, min_gap=GAP * k.get("sigma", 1.0), constants="proven", hanson_wright=1.0, min_share=0.3, **k
    ),
    "dagger": ACBDagger,
    "dagger, published": lambda *a, **k: ACBDagger(*a, constants="published", keep_samples=True, **k),
    "star": lambda *a, **k: ACBStar(*a, hanson_wright=1.0, **k),
}


def run(strategy: Active, means: Array = MEANS, seed: int = 0, most: int = 10**7) -> Active:
    """Each arm has a stream of its own, so that it does not matter how a request is cut into rounds."""
    streams = [np.random.default_rng([seed, arm]) for arm in range(len(means))]
    while not strategy.stopped and strategy.n_samples < most:
        strategy.tell(
            {
                arm: strategy.sigma * (means[arm] + streams[arm].normal(size=(n, means.shape[1])))
                for arm, n in strategy.ask().items()
            }
        )
    return strategy
