"""Kernels that depend only on the distance, with their spectral densities and the median heuristic."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kabc.core.arrays import Array
from kabc.core.errors import SettingsError
from kabc.core.kernels.base import Kernel, keep_positive
from kabc.core.samples import as_points, same_columns
from kabc.core.words import counted

Metric = Literal["euclidean", "manhattan"]

_MEDIAN_POINTS = 1_000  # points that the median heuristic looks at: half a million distances


@dataclass(frozen=True)
class Stationary(Kernel):
    """A kernel Psi(t) with Psi(0) = 1 that decreases to 0. t is a distance of x and y in units of the bandwidth.

    t is |x - y|_2^2 / bandwidth^2 for metric "euclidean" and |x - y|_1 / bandwidth for metric "manhattan".
    """

    bandwidth: float

    # Psi is differentiable in t at 0. So no square root amplifies a rounding error of |x - y|^2 there.
    smooth_at_zero: ClassVar[bool] = True

    def __post_init__(self) -> None:
        keep_positive(self, bandwidth=self.bandwidth)

    @classmethod
    def from_pilot(cls, pilot: ArrayLike, scale: float = 1.0, **settings: Any) -> Self:
        """This kernel with the median heuristic: bandwidth = scale x median distance in the pilot.

        The pilot's samples must not be used again. A bandwidth that depends on the tested samples makes the kernel
        random, and the bound no longer holds. `kabc.cluster` draws its own pilot, counts it and discards it.
        """
        unit = cls(bandwidth=1.0, **settings)
        try:
            return replace(unit, bandwidth=scale * median_distance(pilot, unit.metric))
        except SettingsError as error:
            raise SettingsError(f"{error} (median heuristic with scale {scale!r})") from error

    @property
    def metric(self) -> Metric:
        """The distance that t is made of."""
        return "euclidean"

    @property
    def supremum(self) -> float:
        return 1.0

    @property
    def infimum(self) -> float:
        return 0.0

    @property
    def characteristic(self) -> bool:
        return True  # every spectral density below is positive everywhere

    @property
    def translation_invariant(self) -> bool:
        return True

    @abstractmethod
    def profile(self, t: NDArray[Any]) -> NDArray[Any]:
        """Psi(t), elementwise and in the dtype of t, for t in [0, inf]."""

    @abstractmethod
    def radii(self, n: int, dim: int, rng: np.random.Generator) -> Array:  # (n,)
        """Norms of n frequencies of the spectral density at bandwidth 1, if that density is radial."""

    def __call__(self, x: NDArray[Any], y: NDArray[Any]) -> Array:
        return np.asarray(self.profile(_distances(x, y, self.bandwidth, self.metric)))

    def frequencies(self, n: int, dim: int, rng: np.random.Generator) -> Array:
        return _orthogonal_directions(n, dim, rng) * (self.radii(n, dim, rng) / self.bandwidth)[:, None]


@dataclass(frozen=True)
class Gaussian(Stationary):
    """``exp(-|x - y|^2 / (2 bandwidth^2))``.

    Examples
    --------
    >>> import numpy as np
    >>> import kabc
    >>> x, y = np.array([[0.0]]), np.array([[1.0]])
    >>> round(float(kabc.Gaussian(bandwidth=1.0)(x, y)[0, 0]), 4)
    0.6065
    """

    def profile(self, t: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(np.exp(-0.5 * t))

    def radii(self, n: int, dim: int, rng: np.random.Generator) -> Array:
        return np.sqrt(rng.chisquare(dim, n))  # w ~ N(0, I)


@dataclass(frozen=True)
class Matern(Stationary):
    """(1 + a) exp(-a) for nu = 3/2, (1 + a + a^2/3) exp(-a) for nu = 5/2; ``a = sqrt(2 nu) |x - y| / bandwidth``.

    Examples
    --------
    >>> import numpy as np
    >>> import kabc
    >>> x, y = np.array([[0.0]]), np.array([[1.0]])
    >>> round(float(kabc.Matern(bandwidth=1.0, nu=1.5)(x, y)[0, 0]), 4)
    0.4834
    """

    nu: float = 1.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.nu not in (1.5, 2.5):
            raise SettingsError(
                f"Matern: nu must be 1.5 or 2.5, got {self.nu!r}; use Laplace(norm='l2') for 0.5, Gaussian for infinity"
            )
        keep_positive(self, nu=self.nu)

    def profile(self, t: NDArray[Any]) -> NDArray[Any]:
        a = np.sqrt(2 * self.nu * np.minimum(t, 320_000 / self.nu))  # at most 800: exp(-800) is 0, without inf * 0
        polynomial = 1 + a if self.nu == 1.5 else 1 + a + a * a / 3
        return np.asarray(polynomial * np.exp(-a))

    def radii(self, n: int, dim: int, rng: np.random.Generator) -> Array:
        return _student_radii(2 * self.nu, n, dim, rng)


@dataclass(frozen=True)
class Laplace(Stationary):
    """``exp(-|x - y|_1 / bandwidth)`` for norm="l1" (the default), ``exp(-|x - y|_2 / bandwidth)`` for norm="l2".

    Examples
    --------
    >>> import numpy as np
    >>> import kabc
    >>> x, y = np.array([[0.0]]), np.array([[1.0]])
    >>> round(float(kabc.Laplace(bandwidth=1.0)(x, y)[0, 0]), 4)
    0.3679
    """

    norm: Literal["l1", "l2"] = "l1"

    smooth_at_zero: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.norm not in ("l1", "l2"):
            raise SettingsError(f"Laplace: norm must be 'l1' or 'l2', got {self.norm!r}")

    @property
    def metric(self) -> Metric:
        return "manhattan" if self.norm == "l1" else "euclidean"

    def profile(self, t: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(np.exp(-t if self.norm == "l1" else -np.sqrt(t)))

    def radii(self, n: int, dim: int, rng: np.random.Generator) -> Array:
        return _student_radii(1.0, n, dim, rng)  # multivariate Cauchy

    def frequencies(self, n: int, dim: int, rng: np.random.Generator) -> Array:
        if self.norm == "l2":
            return super().frequencies(n, dim, rng)
        # a product of one-dimensional densities: not radial, so not orthogonal
        return rng.standard_cauchy((n, dim)) / self.bandwidth


@dataclass(frozen=True)
class RationalQuadratic(Stationary):
    """``(1 + |x - y|^2 / (2 alpha bandwidth^2))^-alpha``: a mixture of Gaussian kernels over bandwidths.

    Examples
    --------
    >>> import numpy as np
    >>> import kabc
    >>> x, y = np.array([[0.0]]), np.array([[1.0]])
    >>> round(float(kabc.RationalQuadratic(bandwidth=1.0, alpha=1.0)(x, y)[0, 0]), 4)
    0.6667
    """

    alpha: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        keep_positive(self, alpha=self.alpha)

    def profile(self, t: NDArray[Any]) -> NDArray[Any]:
        with np.errstate(over="ignore"):  # infinitely far
            return np.asarray((1 + t / (2 * self.alpha)) ** -self.alpha)

    def radii(self, n: int, dim: int, rng: np.random.Generator) -> Array:
        return np.sqrt(rng.chisquare(dim, n) * rng.gamma(self.alpha, 1 / self.alpha, n))


@dataclass(frozen=True)
class InverseMultiquadric(Stationary):
    """``(1 + |x - y|^2 / bandwidth^2)^-1/2``.

    Examples
    --------
    >>> import numpy as np
    >>> import kabc
    >>> x, y = np.array([[0.0]]), np.array([[1.0]])
    >>> round(float(kabc.InverseMultiquadric(bandwidth=1.0)(x, y)[0, 0]), 4)
    0.7071
    """

    def profile(self, t: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(1 / np.sqrt(1 + t))

    def radii(self, n: int, dim: int, rng: np.random.Generator) -> Array:
        return np.sqrt(rng.chisquare(dim, n) * rng.gamma(0.5, 2.0, n))  # rational quadratic with alpha = 1/2


def median_distance(points: ArrayLike, metric: Metric = "euclidean") -> float:  # (n, d)
    """Median of the positive distances between points. At most 1,000 evenly spaced points are used."""
    chosen = as_points(points)
    if len(chosen) > _MEDIAN_POINTS:
        chosen = chosen[np.linspace(0, len(chosen) - 1, _MEDIAN_POINTS).astype(int)]
    from scipy.spatial.distance import pdist  # loaded on first use

    distances = pdist(chosen, "cityblock" if metric == "manhattan" else metric)
    positive = distances[distances > 0]
    if not len(positive):
        raise SettingsError(
            f"the median heuristic needs at least two different points, got {counted(len(chosen), 'point')} "
            f"equal to {chosen[0].tolist()}; declare the bandwidth, e.g. kabc.Gaussian(bandwidth=1.0)"
        )
    middle = (len(positive) - 1) // 2, len(positive) // 2
    positive.partition(middle)
    return float(positive[list(middle)].mean())


def _distances(x: NDArray[Any], y: NDArray[Any], unit: float, metric: Metric) -> Array:  # (n, d), (m, d) -> (n, m)
    """t of `Stationary`, from differences column by column. So an offset of the data costs no digits."""
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    total, step = np.zeros((len(x), len(y))), np.empty((len(x), len(y)))
    with np.errstate(over="ignore"):  # a distance that overflows is infinite
        for column in range(same_columns(x, y)):
            np.subtract.outer(x[:, column], y[:, column], out=step)
            step /= unit
            total += np.abs(step, out=step) if metric == "manhattan" else np.square(step, out=step)
    return total


def _orthogonal_directions(n: int, dim: int, rng: np.random.Generator) -> Array:  # (n, dim), unit rows
    """Uniform directions in orthogonal blocks of at most dim. Each is uniform, and the variance is lower."""
    size = min(n, dim)
    q, r = np.linalg.qr(rng.standard_normal((-(-n // size), dim, size)))
    q *= np.sign(np.diagonal(r, axis1=1, axis2=2))[:, None, :]  # the signs make Q uniform (Haar)
    return q.transpose(0, 2, 1).reshape(-1, dim)[:n]


def _student_radii(degrees: float, n: int, dim: int, rng: np.random.Generator) -> Array:
    """|w| for w multivariate Student: the spectral density of the Matern kernel with nu = degrees / 2."""
    return np.sqrt(rng.chisquare(dim, n) / (rng.chisquare(degrees, n) / degrees))
