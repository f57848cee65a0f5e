"""Arms that the tests of runs share."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

import kabc

Draw = Callable[[int, np.random.Generator], NDArray[np.float64]]
KERNEL = kabc.Gaussian(bandwidth=1.0)


def normal(mean: float, scale: float = 1.0) -> Draw:
    return lambda n, rng: rng.normal(mean, scale, n)


def three_groups() -> dict[str, Draw]:
    return {"a": normal(0), "b": normal(9), "c": normal(0), "d": normal(18), "e": normal(9)}


def counting(draw: Draw, log: list[int]) -> Draw:
    def drawn(n: int, rng: np.random.Generator) -> NDArray[np.float64]:
        log.append(n)
        return draw(n, rng)

    return drawn
