"""Known distributions: how to draw from them, their moments, and densities if an oracle needs them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kabc.core.arrays import Array
from kabc.core.errors import SettingsError

Draw = Callable[[int, np.random.Generator], Array]

_LOG_ROOT_2PI = math.log(2 * math.pi) / 2


@dataclass(frozen=True)
class Law:
    """A distribution. A property that is left out is unknown, and strategies that need it are not run."""

    draw: Draw  # n, rng -> (n, d)
    mean: Array | None = None  # (d,)
    covariance: float | Array | None = None  # (d, d), or a number times the identity
    log_density: Callable[[Array], Array] | None = None  # (n, d) -> (n,)
    normal: bool = False
    symbols: int | None = None  # number of symbols, if samples are 0, 1, ..., symbols - 1

    @property
    def sd(self) -> float | None:
        """The largest standard deviation along any direction."""
        if self.covariance is None:
            return None
        return math.sqrt(np.linalg.eigvalsh(self.covariance)[-1] if np.ndim(self.covariance) else self.covariance)

    @property
    def spreads(self) -> Array | None:  # (d,)
        """The standard deviation of each column."""
        if self.mean is None or self.covariance is None:
            return None
        diagonal = np.diag(self.covariance) if np.ndim(self.covariance) else self.covariance
        return np.asarray(np.sqrt(np.broadcast_to(diagonal, self.mean.shape)))

    def divided(self, units: Array) -> Law:  # (d,)
        """The law of x / units, column by column."""
        if self.mean is None or self.covariance is None:
            raise SettingsError("a law without mean and covariance cannot be converted to other units; give it both")
        alike = not np.ndim(self.covariance) and bool((units == units[0]).all())
        return Law(
            lambda n, rng: self.draw(n, rng) / units,
            self.mean / units,
            float(self.covariance) / units[0] ** 2 if alike else _matrix(self) / np.outer(units, units),
            normal=self.normal and alike,
        )


def gaussian(mean: ArrayLike, sd: float = 1.0) -> Law:
    """Normal, with the same standard deviation in all directions."""
    centre = np.atleast_1d(np.asarray(mean, dtype=np.float64))  # (d,)
    return Law(
        lambda n, rng: centre + sd * rng.standard_normal((n, len(centre))),
        centre,
        sd**2,
        lambda x: -((x - centre) ** 2).sum(axis=1) / (2 * sd**2) - len(centre) * (math.log(sd) + _LOG_ROOT_2PI),
        normal=True,
    )


def correlated(rho: float) -> Law:
    """Two normal columns with variance 1."""
    root = math.sqrt(1 - rho**2)

    def draw(n: int, rng: np.random.Generator) -> Array:
        x, z = rng.standard_normal((2, n))
        return np.stack([x, rho * x + root * z], axis=1)

    def log_density(x: Array) -> Array:
        quadratic = (x**2).sum(axis=1) - 2 * rho * x[:, 0] * x[:, 1]
        return np.asarray(-quadratic / (2 * root**2) - math.log(root) - 2 * _LOG_ROOT_2PI)

    return Law(draw, np.zeros(2), np.array([[1, rho], [rho, 1]]), log_density)


def scipy_law(distribution: Any) -> Law:
    """A frozen univariate distribution of scipy.stats."""
    log = distribution.logpdf if hasattr(distribution.dist, "pdf") else distribution.logpmf
    mean, variance = map(float, distribution.stats("mv"))
    finite = math.isfinite(mean) and math.isfinite(variance)
    return Law(
        lambda n, rng: np.asarray(distribution.rvs(size=(n, 1), random_state=rng), dtype=np.float64),
        np.array([mean]) if finite else None,
        variance if finite else None,
        lambda x: np.asarray(log(x[:, 0])),
    )


def mixture(weights: Sequence[float], parts: Sequence[Law]) -> Law:
    """A mixture: each sample comes from a random part."""
    shares = np.asarray(weights, dtype=np.float64)

    def draw(n: int, rng: np.random.Generator) -> Array:
        counts = rng.multinomial(n, shares).tolist()
        rows = [part.draw(count, rng) for part, count in zip(parts, counts, strict=True) if count]
        return np.asarray(rng.permutation(rows[0] if len(rows) == 1 else np.concatenate(rows)))

    def log_density(x: Array) -> Array:
        terms = [math.log(w) + part.log_density(x) for w, part in zip(weights, parts, strict=True) if part.log_density]
        return np.asarray(np.logaddexp.reduce(terms, axis=0))

    means = np.stack([np.asarray(part.mean) for part in parts])  # (parts, d)
    centre = np.asarray(weights) @ means
    squares = [_matrix(part) + np.outer(mean, mean) for part, mean in zip(parts, means, strict=True)]
    covariance = np.tensordot(weights, squares, axes=1) - np.outer(centre, centre)
    return Law(draw, centre, covariance, log_density)


def _matrix(law: Law) -> Array:  # (d, d)
    assert law.mean is not None
    assert law.covariance is not None
    return np.asarray(law.covariance if np.ndim(law.covariance) else law.covariance * np.eye(len(law.mean)))


def categories(weights: Sequence[float]) -> Law:
    """The numbers 0, 1, 2, ... with these probabilities."""
    with np.errstate(divide="ignore"):
        logs = np.log(weights)
    codes = np.arange(len(weights))
    mean = float(codes @ weights)
    below = np.cumsum(weights)
    below /= below[-1]
    return Law(
        # what rng.choice gives, which would look at the weights in each draw
        lambda n, rng: below.searchsorted(rng.random((n, 1)), side="right").astype(np.float64),
        np.array([mean]),
        float((codes - mean) ** 2 @ weights),
        lambda x: np.asarray(logs[x[:, 0].astype(int)]),
        symbols=len(weights),
    )


def ring(radius: float, sd: float = 0.1) -> Law:
    """A circle around 0, with normal noise."""

    def draw(n: int, rng: np.random.Generator) -> Array:
        angle = rng.uniform(0, 2 * np.pi, n)
        return radius * np.column_stack([np.cos(angle), np.sin(angle)]) + rng.normal(0, sd, (n, 2))

    def log_density(x: Array) -> Array:
        from scipy.special import ive

        far = np.hypot(x[:, 0], x[:, 1])
        # a normal law around a point of the ring, averaged over the angle: a Bessel function of the radius
        bessel = np.log(ive(0, far * radius / sd**2)) - (far - radius) ** 2 / (2 * sd**2)
        return np.asarray(bessel - 2 * (math.log(sd) + _LOG_ROOT_2PI))

    return Law(draw, np.zeros(2), radius**2 / 2 + sd**2, log_density)


def mirrored(law: Law) -> Law:
    """The law of -x."""
    log_density = law.log_density
    return Law(
        lambda n, rng: -law.draw(n, rng),
        None if law.mean is None else -law.mean,
        law.covariance,
        None if log_density is None else lambda x: log_density(-x),
    )


def pool(rows: ArrayLike) -> Law:
    """Rows of a pool, drawn WITH replacement. So the law is exactly the pool."""
    points = np.asarray(rows, dtype=np.float64)
    points = points[:, None] if points.ndim == 1 else points
    return Law(
        lambda n, rng: points[rng.integers(len(points), size=n)],
        points.mean(axis=0),
        np.atleast_2d(np.cov(points.T, bias=True)),
    )
