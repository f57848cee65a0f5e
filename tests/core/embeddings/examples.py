"""Kernels, samples and double sums that the tests of embeddings share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kabc.core.arrays import Array
from kabc.core.embeddings.block_sums import Engine
from kabc.core.embeddings.gram import GramSums
from kabc.core.kernels import Function, Gaussian, InverseMultiquadric, Kernel, Laplace, Matern, RationalQuadratic

ENGINES: tuple[Engine, ...] = ("numpy", "numba")
SIZES = (1, 3, 70, 130, 17)  # below and above a tile, a stretch and a float32 sum
MEMORY = 200e6


def looped(d: int) -> list[Kernel]:
    """The kernels that have a compiled loop, with bandwidths that suit standard normal samples."""
    h = math.sqrt(d)
    rational = [RationalQuadratic(h, alpha) for alpha in (0.5, 1.0, 1.5, 2.0)]
    return [
        Gaussian(h),
        Laplace(d, "l1"),
        Laplace(h, "l2"),
        Matern(h, 1.5),
        Matern(h, 2.5),
        InverseMultiquadric(h),
        *rational,
    ]


def normal(seed: int, sizes: Sequence[int], d: int) -> list[Array]:
    rng = np.random.default_rng(seed)
    return [rng.normal(0.3 * i / math.sqrt(d), 1.0, (n, d)) for i, n in enumerate(sizes)]


def everyone(n: int) -> NDArray[np.intp]:
    return np.argwhere(np.ones((n, n), dtype=bool))


def double_sums(kernel: Kernel, left: Sequence[NDArray[Any]], right: Sequence[NDArray[Any]]) -> Array:
    return np.array([kernel(x, y).sum() for x in left for y in right])


def distances(kernel: Kernel, arms: Sequence[NDArray[Any]]) -> Array:
    """Eq. empdist by double sums in float64."""
    inner = np.array([[kernel(x, y).mean() for y in arms] for x in arms])
    own = np.diagonal(inner)
    return np.asarray(own[:, None] - 2 * inner + own[None, :])


def embedded(kernel: Kernel, arms: Sequence[NDArray[Any]], engine: Engine = "auto") -> GramSums:
    return GramSums(kernel, len(arms), engine=engine).extended(arms)


def counting(n_values: list[int]) -> Function:
    """A Gaussian kernel that writes down how many values were asked of it."""

    def function(x: Array, y: Array) -> Array:
        n_values.append(len(x) * len(y))
        return Gaussian(1.0)(x, y)

    return Function(function, characteristic=True)
