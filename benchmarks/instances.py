"""Instances that benchmarks share: N arms with K laws, what makes them hard, and the truth by construction.

An arm draws from the law of its group; real data are pools of one class each, drawn from WITH replacement, so that the
law of an arm is exactly its pool. Densities, where they are known, are what an oracle may use.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Draw = Callable[[int, np.random.Generator], Array]

_LOG_ROOT_2PI = math.log(2 * math.pi) / 2


@dataclass(frozen=True)
class Law:
    """A distribution: how to draw from it, and its log density if it is known."""

    draw: Draw  # n, rng -> (n, d)
    log_density: Callable[[Array], Array] | None = None  # (n, d) -> (n,)


@dataclass(frozen=True)
class Instance:
    """Arms by group size; laws are made on first use, as real data must be loaded."""

    name: str
    hard: str  # what makes it hard
    sizes: tuple[int, ...]  # arms of each group
    make: Callable[[], Sequence[Law]]

    @property
    def n_arms(self) -> int:
        return sum(self.sizes)

    @property
    def n_groups(self) -> int:
        return len(self.sizes)

    @property
    def labels(self) -> tuple[int, ...]:
        """Truth: the group of each arm, in a fixed random order."""
        groups = np.repeat(np.arange(self.n_groups), self.sizes)
        return tuple(np.random.default_rng(self.n_arms).permutation(groups).tolist())

    @property
    def laws(self) -> list[Law]:
        laws = list(self.make())
        if len(laws) != self.n_groups:
            raise RuntimeError(f"{self.name} has {self.n_groups} groups but {len(laws)} laws")
        return laws

    @property
    def arms(self) -> list[Draw]:
        laws = self.laws
        return [laws[group].draw for group in self.labels]

    def with_sizes(self, *sizes: int) -> Instance:
        """The same laws with other group sizes."""
        return Instance(self.name, self.hard, sizes, self.make)


# ---------------------------------------------------------------- laws


def gaussian(mean: ArrayLike, sd: float = 1.0) -> Law:
    centre = np.atleast_1d(np.asarray(mean, dtype=np.float64))  # (d,)
    return Law(
        lambda n, rng: centre + sd * rng.normal(size=(n, len(centre))),
        lambda x: -((x - centre) ** 2).sum(axis=1) / (2 * sd**2) - len(centre) * (math.log(sd) + _LOG_ROOT_2PI),
    )


def correlated(rho: float) -> Law:
    root = math.sqrt(1 - rho**2)

    def draw(n: int, rng: np.random.Generator) -> Array:
        x, z = rng.normal(size=(2, n))
        return np.column_stack([x, rho * x + root * z])

    def log_density(x: Array) -> Array:
        quadratic = (x**2).sum(axis=1) - 2 * rho * x[:, 0] * x[:, 1]
        return np.asarray(-quadratic / (2 * root**2) - math.log(root) - 2 * _LOG_ROOT_2PI)

    return Law(draw, log_density)


def scipy_law(distribution: Any) -> Law:
    """A frozen univariate distribution of scipy.stats."""
    log = distribution.logpdf if hasattr(distribution.dist, "pdf") else distribution.logpmf
    return Law(
        lambda n, rng: np.asarray(distribution.rvs(size=(n, 1), random_state=rng), dtype=np.float64),
        lambda x: np.asarray(log(x[:, 0])),
    )


def mixture(weights: Sequence[float], parts: Sequence[Law]) -> Law:
    def draw(n: int, rng: np.random.Generator) -> Array:
        counts = rng.multinomial(n, weights)
        rows = [part.draw(int(count), rng) for part, count in zip(parts, counts, strict=True)]
        return np.asarray(rng.permutation(np.concatenate(rows)))

    def log_density(x: Array) -> Array:
        terms = [math.log(w) + part.log_density(x) for w, part in zip(weights, parts, strict=True) if part.log_density]
        return np.asarray(np.logaddexp.reduce(terms, axis=0))

    return Law(draw, log_density)


def categories(weights: Sequence[float]) -> Law:
    with np.errstate(divide="ignore"):
        logs = np.log(weights)
    return Law(
        lambda n, rng: rng.choice(len(weights), size=(n, 1), p=weights).astype(np.float64),
        lambda x: np.asarray(logs[x[:, 0].astype(int)]),
    )


def ring(radius: float, sd: float = 0.1) -> Law:
    def draw(n: int, rng: np.random.Generator) -> Array:
        angle = rng.uniform(0, 2 * np.pi, n)
        return radius * np.column_stack([np.cos(angle), np.sin(angle)]) + rng.normal(0, sd, (n, 2))

    def log_density(x: Array) -> Array:
        from scipy.special import ive

        far = np.hypot(x[:, 0], x[:, 1])
        # a normal law around a point of the ring, averaged over the angle: a Bessel function of the radius
        bessel = np.log(ive(0, far * radius / sd**2)) - (far - radius) ** 2 / (2 * sd**2)
        return np.asarray(bessel - 2 * (math.log(sd) + _LOG_ROOT_2PI))

    return Law(draw, log_density)


def pool(rows: Array) -> Law:
    return Law(lambda n, rng: rows[rng.integers(len(rows), size=n)])


@cache
def _classes(name: str) -> tuple[Array, ...]:
    """Rows of each class of a data set that scikit-learn brings along."""
    from sklearn import datasets

    rows, classes = getattr(datasets, f"load_{name}")(return_X_y=True)
    return tuple(np.asarray(rows[classes == label], dtype=np.float64) for label in np.unique(classes))


def real(name: str) -> Callable[[], list[Law]]:
    return lambda: [pool(rows) for rows in _classes(name)]


# ---------------------------------------------------------------- groups of laws


def _shapes() -> list[Law]:
    from scipy import stats

    wide = math.sqrt(3)
    return [gaussian(0), scipy_law(stats.laplace(0, math.sqrt(0.5))), scipy_law(stats.uniform(-wide, 2 * wide))]


def _modes() -> list[Law]:
    two = mixture([0.5, 0.5], [gaussian(-0.9, math.sqrt(0.19)), gaussian(0.9, math.sqrt(0.19))])
    scales = mixture([0.8, 0.2], [gaussian(0, 0.5), gaussian(0, 2.0)])
    return [gaussian(0), two, scales]  # variances 1, 0.81 + 0.19, 0.8 / 4 + 0.2 * 4


def _corners() -> list[Law]:
    parts = [gaussian(corner, 0.7) for corner in ([-1.5, -1.5], [1.5, 1.5], [-1.5, 1.5], [1.5, -1.5])]
    return [mixture([0.25] * 4, parts), mixture([0.5, 0.5], parts[:2]), mixture([0.5, 0.5], parts[2:])]


def _cauchy() -> list[Law]:
    from scipy import stats

    return [scipy_law(stats.cauchy(0, 1)), scipy_law(stats.cauchy(0, 3)), scipy_law(stats.cauchy(2, 1))]


def _student() -> list[Law]:
    from scipy import stats

    return [scipy_law(stats.t(2)), scipy_law(stats.t(2, loc=0.8))]


def _skewed() -> list[Law]:
    from scipy import stats

    right = stats.gamma(3, loc=-3)
    mirror = Law(
        lambda n, rng: -np.asarray(right.rvs(size=(n, 1), random_state=rng)),
        lambda x: np.asarray(right.logpdf(-x[:, 0])),
    )
    return [scipy_law(right), mirror]


def _counts() -> list[Law]:
    from scipy import stats

    return [scipy_law(stats.poisson(4)), scipy_law(stats.poisson(5)), scipy_law(stats.binom(10, 0.5))]


def _close_categories() -> list[Law]:
    return [
        categories([0.30, 0.20, 0.20, 0.10, 0.10, 0.10]),
        categories([0.20, 0.30, 0.10, 0.20, 0.10, 0.10]),
        categories([0.10, 0.20, 0.10, 0.30, 0.20, 0.10]),
    ]


def _last_digits() -> list[Law]:
    return [categories([0.1] * 10), categories([0.14, 0.06] * 5), categories([0.06, 0.14] * 5)]


def _on_a_line(*places: float) -> list[Law]:
    return [gaussian(place) for place in places]


def _axes(n_groups: int, dimension: int, length: float) -> list[Law]:
    return [gaussian(length * np.eye(dimension)[k]) for k in range(n_groups)]


def _circle() -> list[Law]:
    angles = 2 * np.pi * np.arange(8) / 8
    return [gaussian([3 * np.cos(angle), 3 * np.sin(angle)]) for angle in angles]


def boc_synthetic(fourth: float) -> Callable[[], list[Law]]:
    return lambda: [gaussian(centre) for centre in ([0, 0, 0], [0, 10, 0], [0, 0, 10], [fourth, 0, 0])]


def boc_iris() -> list[Law]:
    """Class means of Iris, scaled so that the constant D* of the lower bound is 2; the noise is N(0, I)."""
    return [gaussian(math.sqrt(87.449 / 2) * rows.mean(axis=0)) for rows in _classes("iris")]


# ---------------------------------------------------------------- instances

BOC_SIZES = (2, 4, 3, 2)
PLACES = (0.0, 0.7, 10.0, 30.0, 100.0)  # of unequal-gaps
_ALL = [
    Instance("digits", "real; ten groups of two arms in 64 dimensions", (2,) * 10, real("digits")),
    Instance("wine", "real; columns on scales from 0.1 to 1000", (4, 4, 4), real("wine")),
    Instance("iris", "real; pools of 50 rows with ties, two species overlap", (4, 4, 4), real("iris")),
    Instance("breast-cancer", "real; 30 columns, skewed and correlated", (6, 4), real("breast_cancer")),
    Instance("shapes", "normal, Laplace, uniform: equal means and variances", (4, 4, 4), _shapes),
    Instance("modes", "normal, bimodal, scale mixture: equal means and variances", (4, 4, 4), _modes),
    Instance(
        "rings",
        "two rings and a blob around one centre: equal means",
        (4, 4, 4),
        lambda: [ring(1.0), ring(2.0), gaussian([0, 0], 0.5)],
    ),
    Instance(
        "correlations",
        "only the correlation differs: -0.8, 0, 0.8",
        (4, 4, 4),
        lambda: [correlated(rho) for rho in (-0.8, 0.0, 0.8)],
    ),
    Instance("cauchy", "no mean and no variance; one scale, one place differs", (4, 4, 4), _cauchy),
    Instance("student", "infinite variance: t with 2 degrees of freedom against a shift of 0.8", (5, 5), _student),
    Instance("corners", "mixtures of four blobs: equal means, variances and marginals", (4, 4, 4), _corners),
    Instance("means-100d", "means 3.5 along one axis each of 100 dimensions", (2,) * 5, lambda: _axes(5, 100, 3.5)),
    Instance(
        "scales-100d",
        "equal means in 100 dimensions, spreads 1 and 1.5",
        (4, 4),
        lambda: [gaussian(np.zeros(100), sd) for sd in (1.0, 1.5)],
    ),
    Instance("counts", "Poisson(4), Poisson(5), binomial with mean 5: many ties", (4, 4, 4), _counts),
    Instance("categories", "six categories with close frequencies, coded as numbers", (4, 4, 4), _close_categories),
    Instance("last-digits", "integers 0 to 9; even or odd ones are more frequent", (4, 4, 4), _last_digits),
    Instance(
        "near-duplicates",
        "two groups 0.7 apart in the plane and one 8 away",
        (4, 4, 4),
        lambda: [gaussian([0, 0]), gaussian([0.7, 0]), gaussian([0, 8])],
    ),
    Instance(
        "unequal-gaps",
        "places 0, 0.7, 10, 30, 100 on a line: one bandwidth cannot fit all",
        (2,) * 5,
        lambda: _on_a_line(*PLACES),
    ),
    Instance("one-alone", "one arm differs, 23 are the same", (23, 1), lambda: [gaussian([0, 0]), gaussian([1.2, 0])]),
    Instance("singles", "nine arms in eight groups on a circle: seven are alone", (2, 1, 1, 1, 1, 1, 1, 1), _circle),
    Instance("mirror", "a skewed law on a line and its mirror image: equal means and variances", (4, 4), _skewed),
    Instance("boc-easy", "BOC paper; fourth centre at 5", BOC_SIZES, boc_synthetic(5.0)),
    Instance("boc-moderate", "BOC paper; fourth centre at 1", BOC_SIZES, boc_synthetic(1.0)),
    Instance("boc-challenging", "BOC paper; fourth centre at 0.5", BOC_SIZES, boc_synthetic(0.5)),
    Instance("boc-iris", "BOC paper; 150 arms", (50, 50, 50), boc_iris),
]
INSTANCES = {instance.name: instance for instance in _ALL}

# Many arms: the same laws, other sizes.
AXES_10D = Instance("means-10d", "means 3 along one axis each of 10 dimensions", (5,) * 4, lambda: _axes(4, 10, 3.0))
AXES_50D = Instance("means-50d", "means 3 along one axis each of 50 dimensions", (2,) * 10, lambda: _axes(10, 50, 3.0))
