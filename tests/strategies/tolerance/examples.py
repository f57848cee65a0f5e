"""Normal arms, and maps that see as much as a test wants them to see."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np

from kabc.core.arrays import Array
from kabc.core.scores.maps import FeatureMap
from kabc.strategies.tolerance.either import Either, Within


class Blind(FeatureMap):
    """Sees nothing: no arm is ever told apart."""

    def fitted(self, past: Array) -> Self:
        return self

    def __call__(self, samples: Array) -> Array:
        return np.ones((len(samples), 1))


def play(
    strategy: Within | Either,
    means: Sequence[float],
    seed: int = 0,
    *,
    most: int = 20_000,
    spreads: Sequence[float] | None = None,
    d: int = 1,
) -> Within | Either:
    """Run it on normal arms until it stops, or until it has this many samples."""
    rng = np.random.default_rng(seed)
    wide = spreads or [1.0] * len(means)
    while not strategy.stopped and strategy.n_samples < most:
        strategy.tell({arm: means[arm] + wide[arm] * rng.normal(size=(n, d)) for arm, n in strategy.ask().items()})
    return strategy
