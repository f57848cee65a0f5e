"""Arms to play with, and whole runs of a strategy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kabc import AnytimeKABC

Draw = Callable[[np.random.Generator, int, int], NDArray[Any]]  # rng, arm, how many


def at(centres: Sequence[Any], spread: float = 1.0) -> Draw:
    """Normal arms: arm i around the centre of its group, i mod K."""
    points = np.atleast_2d(np.asarray(centres, dtype=float).T).T  # (K, d)
    return lambda rng, arm, n: rng.normal(points[arm % len(points)], spread, (n, points.shape[1]))


def answer(strategy: AnytimeKABC, draw: Draw, rng: np.random.Generator) -> dict[int, Any]:
    return {arm: draw(rng, arm, n) for arm, n in strategy.ask().items()}


def play(strategy: AnytimeKABC, draw: Draw, seed: int = 0, rounds: int = 60) -> AnytimeKABC:
    rng = np.random.default_rng(seed)
    while not strategy.stopped and len(strategy.rounds) < rounds:
        strategy.tell(answer(strategy, draw, rng))
    return strategy
