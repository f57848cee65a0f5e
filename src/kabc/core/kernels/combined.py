"""Sums and products of kernels are kernels."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kabc.core.arrays import Array
from kabc.core.errors import SettingsError
from kabc.core.kernels.base import Kernel


@dataclass(frozen=True)
class _Combined(Kernel):
    parts: tuple[Kernel, ...]

    def __post_init__(self) -> None:
        parts = tuple(self.parts)
        if not parts or not all(isinstance(part, Kernel) for part in parts):
            raise SettingsError(f"{type(self).__name__} needs kernels, at least one, got {parts!r}")
        # flatten: a sum of sums is a sum, a product of products is a product
        flat = (part.parts if isinstance(part, type(self)) else (part,) for part in parts)
        object.__setattr__(self, "parts", sum(flat, ()))

    @property
    def translation_invariant(self) -> bool:
        return all(part.translation_invariant for part in self.parts)

    def coerce(self, samples: ArrayLike) -> NDArray[Any]:
        first, *others = (part.coerce(samples) for part in self.parts)
        if any(other.dtype != first.dtype or not np.array_equal(other, first) for other in others):
            raise SettingsError(
                f"{self!r} mixes kernels that read samples in different ways; combine kernels of one kind of data"
            )
        return first


@dataclass(frozen=True, repr=False)
class Sum(_Combined):
    """Sum of kernels, also written a + b. With several bandwidths in one sum you need not choose one.

    Examples
    --------
    >>> import kabc
    >>> kabc.Sum((kabc.Gaussian(0.5), kabc.Gaussian(2.0))).supremum
    2.0
    """

    def __repr__(self) -> str:
        return " + ".join(map(repr, self.parts))

    @property
    def supremum(self) -> float:
        return math.fsum(part.supremum for part in self.parts)

    @property
    def infimum(self) -> float:
        return math.fsum(part.infimum for part in self.parts)

    @property
    def characteristic(self) -> bool:
        return any(part.characteristic for part in self.parts)  # squared distances add

    def __call__(self, x: NDArray[Any], y: NDArray[Any]) -> Array:
        total = self.parts[0](x, y).copy()
        for part in self.parts[1:]:
            total += part(x, y)
        return total

    def diagonal(self, x: NDArray[Any]) -> Array:
        return np.asarray(np.sum([part.diagonal(x) for part in self.parts], axis=0))

    def frequencies(self, n: int, dim: int, rng: np.random.Generator) -> Array:
        # the spectral density of a sum is the mixture with weights Psi_p(0) / Psi(0), here in systematic sampling
        edges = np.cumsum([part.supremum for part in self.parts]) / self.supremum
        chosen = np.searchsorted(edges[:-1], (np.arange(n) + rng.random()) / n, side="right")
        counts = np.bincount(chosen, minlength=len(self.parts))
        drawn = [part.frequencies(n, dim, rng)[:count] for part, count in zip(self.parts, counts, strict=True)]
        # in random order: a product adds row k of one factor to row k of another
        return rng.permutation(np.concatenate(drawn))


@dataclass(frozen=True, repr=False)
class Product(_Combined):
    """Product of kernels, also written a * b.

    Examples
    --------
    >>> import kabc
    >>> kabc.Product((kabc.Gaussian(0.5), kabc.Laplace(2.0)))
    Gaussian(bandwidth=0.5) * Laplace(bandwidth=2.0, norm='l1')
    """

    def __repr__(self) -> str:
        return " * ".join(f"({part!r})" if isinstance(part, Sum) else repr(part) for part in self.parts)

    @property
    def supremum(self) -> float:
        return math.prod(part.supremum for part in self.parts)

    @property
    def infimum(self) -> float:
        low, high = 1.0, 1.0
        for part in self.parts:
            ends = [a * b for a in (low, high) for b in (part.infimum, part.supremum)]
            low, high = min(ends), max(ends)
        return low

    @property
    def characteristic(self) -> bool:
        # spectral densities convolve: one of full support is enough, if all are translation invariant
        return self.translation_invariant and any(part.characteristic for part in self.parts)

    def __call__(self, x: NDArray[Any], y: NDArray[Any]) -> Array:
        product = self.parts[0](x, y).copy()
        for part in self.parts[1:]:
            product *= part(x, y)
        return product

    def diagonal(self, x: NDArray[Any]) -> Array:
        return np.asarray(np.prod([part.diagonal(x) for part in self.parts], axis=0))

    def frequencies(self, n: int, dim: int, rng: np.random.Generator) -> Array:
        # the spectral density of a product is the convolution
        return np.asarray(np.sum([part.frequencies(n, dim, rng) for part in self.parts], axis=0))
