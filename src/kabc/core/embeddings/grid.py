"""Fourier features on a regular grid of frequencies: a Gaussian kernel for few columns, without random numbers.

| symbol | here            | meaning                                                                                  |
|--------|-----------------|------------------------------------------------------------------------------------------|
| h_j    | `spacing`       | distance of frequencies along column j; the kernel has period 2 pi / h_j there           |
| k      |                 | whole numbers (k_1..k_d): frequency (k_1 h_1, ..., k_d h_d)                              |
| p_k    | `weights`       | exp(-|k h|^2 / 2), one for each pair k, -k, divided by their sum                         |
| P      | `_kept`         | the part of all weights, over all k, that is kept                                        |
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kabc.core.arrays import Array
from kabc.core.errors import SettingsError
from kabc.core.kernels import FiniteKernel
from kabc.core.kernels.base import keep_whole

_HIGHEST = 4.0  # no frequency is further from 0: the weights beyond are below exp(-8)
_MASS = 0.999  # frequencies are taken, the heaviest first, until they hold this part
_MOST_POINTS = 200_000  # of the grid, before the heaviest are chosen


@dataclass(frozen=True)
class GridFourier(FiniteKernel):
    """g(x, y) = sum_k p_k cos(k h.(x - y)) with Gaussian weights: the Gaussian kernel of bandwidth 1, made periodic.

    Its constant part is left out: differences of features do not contain it. The weights sum to 1, so |features| = 1.

    The sum over all k is a sum of Gaussian bells, one in each period (Poisson), so it is at least 0. What is left out
    is at most 1 - P in size. So g >= -(1 - P) / P.

    Examples
    --------
    >>> from kabc.core.embeddings.grid import GridFourier
    >>> kernel = GridFourier(spacing=(0.5,))
    >>> kernel.n_features, round(kernel.infimum, 2)
    (14, -0.25)
    """

    spacing: tuple[float, ...]  # (d,)
    most_features: int = 64

    def __post_init__(self) -> None:
        spacing = tuple(float(h) for h in self.spacing)
        if not spacing or not all(0 < h < math.inf for h in spacing):
            raise SettingsError(f"GridFourier: spacing must be positive finite numbers, got {self.spacing!r}")
        object.__setattr__(self, "spacing", spacing)
        keep_whole(self, 2, most_features=self.most_features)

    @property
    def n_features(self) -> int:
        """D: a cosine and a sine for each frequency."""
        return 2 * len(self.weights)

    @property
    def supremum(self) -> float:
        return 1.0

    @property
    def infimum(self) -> float:
        return max(-1.0, -(1 - self._kept) / self._kept)

    @property
    def characteristic(self) -> bool:
        return False

    @property
    def translation_invariant(self) -> bool:
        return True

    @property
    def frequencies_kept(self) -> Array:  # (D/2, d)
        """The frequencies k h, heaviest first."""
        return self._grid[0]

    @property
    def weights(self) -> Array:  # (D/2,)
        """p_k of each frequency; their sum is 1."""
        return self._grid[1]

    @property
    def _kept(self) -> float:
        return self._grid[2]

    @cached_property
    def _grid(self) -> tuple[Array, Array, float]:
        reach = [max(1, int(_HIGHEST / h)) for h in self.spacing]
        while math.prod(2 * k + 1 for k in reach) > _MOST_POINTS:
            reach = [max(1, k // 2) for k in reach]
        numbers = np.stack(np.meshgrid(*(np.arange(-k, k + 1) for k in reach), indexing="ij"), axis=-1)
        numbers = numbers.reshape(-1, len(reach))
        points = numbers[len(numbers) // 2 + 1 :] * np.array(self.spacing)  # one of k and -k each, and not 0
        weights = 2 * np.exp(-np.square(points).sum(axis=1) / 2)
        order = np.argsort(-weights, kind="stable")[: self.most_features // 2]
        enough = 1 + int(np.searchsorted(np.cumsum(weights[order]), _MASS * weights.sum()))
        chosen = order[:enough]
        everything = math.prod(_all_weights(h) for h in self.spacing)
        total = float(weights[chosen].sum())
        return points[chosen], weights[chosen] / total, min(1.0, total / everything)

    def features(self, x: NDArray[Any]) -> Array:
        phases = np.asarray(x, dtype=np.float64) @ self.frequencies_kept.T
        return np.concatenate([np.cos(phases), np.sin(phases)], axis=1) * np.sqrt(np.tile(self.weights, 2))


def _all_weights(h: float) -> float:
    """Sum over all whole k of exp(-(k h)^2 / 2)."""
    k = np.arange(1, 2 + int(40 / h)) if h > 1e-3 else np.zeros(0)
    # below 1e-3 the sum is its integral, to far more digits than a double has
    return float(1 + 2 * np.exp(-np.square(k * h) / 2).sum()) if len(k) else math.sqrt(2 * math.pi) / h
