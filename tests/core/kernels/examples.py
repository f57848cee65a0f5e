"""One example of every kernel, with points that it accepts; shared by the tests of this room."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kabc.core.arrays import Array
from kabc.core.embeddings.features import RandomFeatures
from kabc.core.kernels import (
    Function,
    Gaussian,
    Hamming,
    InverseMultiquadric,
    Kernel,
    Laplace,
    Linear,
    Matern,
    RationalQuadratic,
    Stationary,
)

LETTERS = np.array(["a", "b", "long", "é", ""])


def bump(x: NDArray[Any], y: NDArray[Any]) -> Array:
    return np.asarray(np.exp(-np.square(x[:, None] - y[None]).sum(axis=2)))


def raised_bump(x: NDArray[Any], y: NDArray[Any]) -> Array:
    return 0.5 + 0.5 * bump(x, y)


def wave(x: NDArray[Any], y: NDArray[Any]) -> Array:
    return np.asarray(np.cos(x[:, :1] - y[:, 0]))


STATIONARY: list[Stationary] = [
    Gaussian(0.7),
    Laplace(1.3),
    Laplace(1.3, norm="l2"),
    Matern(0.9),
    Matern(0.9, nu=2.5),
    RationalQuadratic(0.8),
    RationalQuadratic(0.8, alpha=3.0),
    InverseMultiquadric(1.1),
]

# Every kernel with a spectral density, and how many draws of stationary kernels a frequency of it is made from.
SPECTRAL: list[tuple[Kernel, int]] = [
    *[(kernel, 1) for kernel in STATIONARY],
    (Gaussian(0.5) + Gaussian(3.0), 2),
    (Gaussian(0.5) + Laplace(1.0) + Matern(2.0), 3),
    (Gaussian(1.0) * Laplace(2.0), 1),
    ((Gaussian(0.2) + Gaussian(5.0)) * (Gaussian(0.3) + Gaussian(4.0)), 4),
    (Gaussian(0.4) * Matern(1.0) + Laplace(2.0, norm="l2"), 2),
]


def plain(values: Array) -> NDArray[Any]:
    return values


def in_unit_ball(values: Array) -> NDArray[Any]:
    return np.asarray(values / np.maximum(1, np.linalg.norm(values, axis=1, keepdims=True)))


def codes(values: Array) -> NDArray[Any]:
    return np.asarray(np.rint(values) % 3)


def categories(values: Array) -> NDArray[Any]:
    return np.asarray(LETTERS[np.abs(np.rint(values)).astype(int) % len(LETTERS)])


def words(values: Array) -> list[str]:
    return ["".join(row) for row in categories(values)]


@dataclass(frozen=True)
class Example:
    """A kernel, how numbers become samples of it, and how exact its values are."""

    kernel: Kernel
    samples: Callable[[Array], Any] = plain
    tolerance: float = 1e-12

    def points(self, values: Array) -> NDArray[Any]:
        return self.kernel.coerce(self.samples(values))


EXAMPLES: list[Example] = [
    *[Example(kernel) for kernel, _ in SPECTRAL],
    Example(Linear(radius=1.0), in_unit_ball),
    Example(Hamming(), codes),
    Example(Hamming(), categories),
    Example(Hamming(length=4), words),
    Example(Function(bump)),
    Example(Function(raised_bump, supremum=1.0, infimum=0.5)),
    Example(Function(wave, infimum=-1.0)),
    Example(Function(raised_bump, infimum=0.5) + Gaussian(1.0)),
    Example(Function(raised_bump, infimum=0.5) * Function(raised_bump, infimum=0.5)),
    Example(Function(wave, infimum=-1.0) * Gaussian(1.0)),
    Example(Linear(radius=1.0) + Gaussian(1.0), in_unit_ball),
    Example(Hamming() * Gaussian(1.0), codes),
    Example(RandomFeatures(Gaussian(0.7), n_features=64), tolerance=1e-6),
    Example(RandomFeatures(Gaussian(0.7) + Laplace(1.0), n_features=64), tolerance=1e-6),
]


def name(example: Example) -> str:
    return f"{example.kernel!r}-{example.samples.__name__}"
