"""Kernels whose bounds the user declares. Every sample is checked against them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kabc.core.arrays import Array
from kabc.core.errors import KernelBoundsError, SettingsError
from kabc.core.kernels.base import FiniteKernel, Kernel, keep_positive
from kabc.core.samples import as_points


@dataclass(frozen=True)
class Linear(FiniteKernel):
    """<x, y> on the ball of the declared radius. It groups arms by their means (the paper's Discussion).

    Not characteristic: arms with equal means are one group by definition. Samples outside the ball are refused,
    because the bound would not hold for them.

    Examples
    --------
    >>> import kabc
    >>> kabc.Linear(radius=3.0).supremum
    9.0
    """

    radius: float

    def __post_init__(self) -> None:
        keep_positive(self, radius=self.radius)

    @property
    def supremum(self) -> float:
        return self.radius**2

    @property
    def infimum(self) -> float:
        return -(self.radius**2)

    @property
    def characteristic(self) -> bool:
        return False

    def features(self, x: NDArray[Any]) -> Array:
        return np.asarray(x, dtype=np.float64)

    def coerce(self, samples: ArrayLike) -> Array:
        points = as_points(samples)
        with np.errstate(over="ignore"):
            largest = float(np.linalg.norm(points, axis=1).max())
        if largest > self.radius * (1 + 1e-12):
            raise KernelBoundsError(
                f"a sample has norm {largest:.6g}, outside the declared radius {self.radius:.6g} of {self!r}; "
                "declare a radius that no sample can exceed"
            )
        return points


@dataclass(frozen=True)
class Function(Kernel):
    """Any positive definite function of two blocks, with the bounds that its user declares.

    `function(x, y)` takes (n, d) and (m, d) and returns (n, m). Values outside [infimum, supremum] raise a
    KernelBoundsError when they occur. For samples that are not numbers, derive from `Kernel` and write `coerce`.

    Examples
    --------
    >>> import numpy as np
    >>> import kabc
    >>> def overlap(x, y):  # of two numbers from 0 to 1: the smaller one
    ...     return np.minimum(x[:, :1], y[:, 0])
    >>> kabc.Function(overlap, supremum=1.0, infimum=0.0)
    Function(overlap, supremum=1.0, infimum=0.0, characteristic=False)
    """

    function: Callable[[NDArray[Any], NDArray[Any]], ArrayLike]
    supremum: float = 1.0
    infimum: float = 0.0
    characteristic: bool = False

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise SettingsError(f"Function: function must take two blocks of samples, got {self.function!r}")
        keep_positive(self, supremum=self.supremum)
        # |g(x, y)| <= sup g for every positive definite g
        if not (isinstance(self.infimum, Real) and abs(self.infimum) <= self.supremum):
            raise SettingsError(
                "Function: infimum must lie between -supremum and supremum, "
                f"got {self.infimum!r} with supremum {self.supremum!r}"
            )
        object.__setattr__(self, "infimum", float(self.infimum))

    def __repr__(self) -> str:
        name = getattr(self.function, "__qualname__", repr(self.function))
        bounds = f"supremum={self.supremum!r}, infimum={self.infimum!r}, characteristic={self.characteristic!r}"
        return f"Function({name}, {bounds})"

    def __call__(self, x: NDArray[Any], y: NDArray[Any]) -> Array:
        values = np.asarray(self.function(x, y), dtype=np.float64)
        if values.shape != (len(x), len(y)):
            raise KernelBoundsError(
                f"{self!r} returned shape {values.shape} for blocks of {len(x)} and {len(y)} rows; "
                f"it must return ({len(x)}, {len(y)})"
            )
        low, high = float(values.min()), float(values.max())
        slack = 1e-9 * self.supremum
        if not (low >= self.infimum - slack and high <= self.supremum + slack):  # also refuses NaN
            raise KernelBoundsError(
                f"{self!r} took values from {low:.6g} to {high:.6g}; declare bounds that hold for every possible sample"
            )
        return values
