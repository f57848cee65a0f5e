"""Arms that are functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike


@dataclass(frozen=True)
class CallableArm:
    """A function draw(n, rng) that returns n independent samples, (n,) or (n, d)."""

    function: Callable[[int, np.random.Generator], ArrayLike]

    @property
    def remaining(self) -> None:
        return None

    def draw(self, n: int, rng: np.random.Generator) -> ArrayLike:
        return self.function(n, rng)
