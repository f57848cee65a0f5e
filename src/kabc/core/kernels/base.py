"""The interface of kernels: values, and the properties that a bound needs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kabc.core.arrays import Array
from kabc.core.errors import SettingsError
from kabc.core.samples import as_points, same_columns

if TYPE_CHECKING:
    from kabc.core.kernels.combined import Product, Sum

_DIAGONAL_ROWS = 64  # without a formula, the diagonal is taken from blocks of this size


class Kernel(ABC):
    """A bounded positive definite kernel g with declared bounds.

    All kernels are subclasses: for numbers, for categories, and your own (`kabc.Function`). Kernels can be added and
    multiplied.

    Examples
    --------
    >>> import kabc
    >>> isinstance(kabc.Gaussian(bandwidth=1.0), kabc.Kernel)
    True
    >>> kabc.Gaussian(bandwidth=0.5) + kabc.Gaussian(bandwidth=2.0)
    Gaussian(bandwidth=0.5) + Gaussian(bandwidth=2.0)
    """

    @property
    @abstractmethod
    def supremum(self) -> float:
        """An upper bound of g. It is exactly g(x, x) if g is translation invariant."""

    @property
    @abstractmethod
    def infimum(self) -> float:
        """A lower bound of g."""

    @property
    @abstractmethod
    def characteristic(self) -> bool:
        """Whether different distributions always have different mean embeddings. False if that is not known."""

    @property
    def translation_invariant(self) -> bool:
        """Whether g(x, y) depends only on x - y. False if that is not known."""
        return False

    @property
    def range(self) -> float:
        """g~, the range to use in a bound."""
        return max(self.supremum - self.infimum, self.supremum)

    @abstractmethod
    def __call__(self, x: NDArray[Any], y: NDArray[Any]) -> Array:  # (n, d), (m, d) -> (n, m)
        """The block of kernel values, for samples that went through `coerce`."""

    def diagonal(self, x: NDArray[Any]) -> Array:  # (n, d) -> (n,)
        """g(x, x) for each row."""
        if self.translation_invariant:
            return np.full(len(x), self.supremum)
        blocks = (x[start : start + _DIAGONAL_ROWS] for start in range(0, len(x), _DIAGONAL_ROWS))
        return np.concatenate([np.diagonal(self(block, block)) for block in blocks])

    def frequencies(self, n: int, dim: int, rng: np.random.Generator) -> Array:  # (n, dim)
        """Frequencies w with E cos(w.(x - y)) = g(x, y) / g(0, 0): draws of the spectral density."""
        raise SettingsError(
            f"{self!r} has no spectral density to draw random features from; "
            "use it exactly, or choose a translation-invariant kernel such as Gaussian"
        )

    def coerce(self, samples: ArrayLike) -> NDArray[Any]:  # -> (n, d)
        """A new array of the samples in the form that this kernel needs. Raises a SampleError if that is impossible."""
        return as_points(samples)

    def __add__(self, other: Kernel) -> Sum:
        from kabc.core.kernels.combined import Sum

        return Sum((self, other))

    def __mul__(self, other: Kernel) -> Product:
        from kabc.core.kernels.combined import Product

        return Product((self, other))


class FiniteKernel(Kernel):
    """A kernel with a finite feature map, g(x, y) = <features(x), features(y)>. Its mean embeddings are vectors."""

    @abstractmethod
    def features(self, x: NDArray[Any]) -> NDArray[np.floating[Any]]:  # (n, d) -> (n, D)
        """The feature map, one row for each sample, in float32 or float64."""

    def __call__(self, x: NDArray[Any], y: NDArray[Any]) -> Array:
        same_columns(x, y)
        return np.asarray(self.features(x).astype(np.float64) @ self.features(y).astype(np.float64).T)


def keep_positive(owner: object, **values: float) -> None:
    """Store settings of a frozen value as floats. Each must be a positive finite number."""
    for name, value in values.items():
        if isinstance(value, bool) or not (isinstance(value, Real) and 0 < float(value) < np.inf):
            raise SettingsError(f"{type(owner).__name__}: {name} must be a positive finite number, got {value!r}")
        # a NumPy scalar would turn float32 blocks into float64 ones, and an integer would overflow
        object.__setattr__(owner, name, float(value))


def keep_whole(owner: object, least: int, **values: int) -> None:
    """Store settings of a frozen value as ints. Each must be a whole number of at least `least`."""
    for name, value in values.items():
        if isinstance(value, bool) or not (isinstance(value, Integral) and int(value) >= least):
            raise SettingsError(
                f"{type(owner).__name__}: {name} must be a whole number of at least {least}, got {value!r}"
            )
        object.__setattr__(owner, name, int(value))
