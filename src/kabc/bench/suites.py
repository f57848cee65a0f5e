"""The suites: instances from papers, from real data, and synthetic ones.

Real data are split into pools, one for each class. Arms draw from a pool WITH replacement, so the law of an arm is
exactly its pool.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np

from kabc.bench.instances import Instance
from kabc.bench.laws import Law, categories, correlated, gaussian, mirrored, mixture, pool, ring, scipy_law
from kabc.core.arrays import Array
from kabc.core.errors import SettingsError


@cache
def _classes(name: str) -> tuple[Array, ...]:
    """Rows of each class of a data set that comes with scikit-learn."""
    try:
        from sklearn import datasets
    except ImportError:
        raise SettingsError(f"instance {name!r} needs scikit-learn; pip install 'kabc[sklearn]'") from None
    rows, classes = getattr(datasets, f"load_{name}")(return_X_y=True)
    return tuple(np.asarray(rows[classes == label], dtype=np.float64) for label in np.unique(classes))


def real(name: str) -> Callable[[], list[Law]]:
    """One pool for each class."""
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

    right = scipy_law(stats.gamma(3, loc=-3))
    return [right, mirrored(right)]


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


def _boc_synthetic(fourth: float) -> Callable[[], list[Law]]:
    return lambda: [gaussian(centre) for centre in ([0, 0, 0], [0, 10, 0], [0, 0, 10], [fourth, 0, 0])]


def _boc_iris() -> list[Law]:
    """Class means of Iris with N(0, I) noise. The scale makes the constant D* of the lower bound equal to 2."""
    return [gaussian(math.sqrt(87.449 / 2) * rows.mean(axis=0)) for rows in _classes("iris")]


# Class means of yeast.data (Horton and Nakai 1996, UCI, CC BY 4.0), largest class first
YEAST_SIZES = (463, 429, 244, 163, 51, 44, 35, 30, 20, 5)
YEAST_MEANS = (
    (0.480713, 0.469503, 0.535421, 0.227106, 0.504320, 0.001080, 0.499395, 0.257235),  # CYT
    (0.452448, 0.456131, 0.529324, 0.228345, 0.503497, 0.000000, 0.494103, 0.331678),  # NUC
    (0.521434, 0.533238, 0.517377, 0.404426, 0.500000, 0.008852, 0.501680, 0.240984),  # MIT
    (0.430859, 0.489509, 0.364294, 0.213497, 0.503067, 0.000000, 0.510123, 0.270000),  # ME3
    (0.721569, 0.603137, 0.414902, 0.282549, 0.509804, 0.000000, 0.510196, 0.245490),  # ME2
    (0.788636, 0.756591, 0.376136, 0.311818, 0.500000, 0.000000, 0.512955, 0.268182),  # ME1
    (0.735429, 0.716857, 0.492571, 0.292000, 0.500000, 0.000000, 0.455714, 0.226571),  # EXC
    (0.547667, 0.526000, 0.465333, 0.201000, 0.500000, 0.000000, 0.525000, 0.250667),  # VAC
    (0.521000, 0.508000, 0.506500, 0.247500, 0.500000, 0.423500, 0.503000, 0.234000),  # POX
    (0.792000, 0.772000, 0.482000, 0.336000, 1.000000, 0.000000, 0.546000, 0.246000),  # ERL
)


def _boc_yeast() -> list[Law]:
    """Class means of Yeast with N(0, I) noise. The scale makes the constant D* of the lower bound equal to 2."""
    from kabc.strategies.peers.boc import hardness

    means = np.array(YEAST_MEANS)
    return [gaussian(centre) for centre in means * math.sqrt(hardness(means, YEAST_SIZES) / 2)]


def _same_mean(variance: float) -> Callable[[], list[Law]]:
    return lambda: [gaussian([0, 0]), gaussian([0, 0], math.sqrt(variance))]


def _sparse(entries: int) -> Callable[[], list[Law]]:
    """Means that differ in some of 1000 features. Their distance is 15 in total."""
    gap = np.zeros(1000)
    gap[np.random.default_rng(entries).choice(1000, entries, replace=False)] = 15 / math.sqrt(entries)
    return lambda: [gaussian(np.zeros(1000)), gaussian(gap)]


# ---------------------------------------------------------------- suites

BOC_SIZES = (2, 4, 3, 2)
PLACES = (0.0, 0.7, 10.0, 30.0, 100.0)  # of unequal-gaps
THREE = (4, 4, 4)
SUITES: dict[str, list[Instance]] = {
    "boc": [
        Instance("boc-easy", "BOC paper; fourth centre at 5", BOC_SIZES, _boc_synthetic(5.0)),
        Instance("boc-moderate", "BOC paper; fourth centre at 1", BOC_SIZES, _boc_synthetic(1.0)),
        Instance("boc-challenging", "BOC paper; fourth centre at 0.5", BOC_SIZES, _boc_synthetic(0.5)),
        Instance("boc-iris", "BOC paper; 150 arms", (50, 50, 50), _boc_iris),
        Instance("boc-yeast", "BOC paper; 1484 arms in ten groups of very unequal size", YEAST_SIZES, _boc_yeast),
    ],
    "acb": [
        Instance(
            "acb-10",
            "ACB paper, K = 10: 200 arms in 1000 dimensions, all gaps 1",
            (20,) * 10,
            lambda: _axes(10, 1000, math.sqrt(0.5)),
            cap=250_000,
        ),
        Instance(
            "acb-small",
            "as ACB, K = 4: 40 arms in 100 dimensions, all gaps 2",
            (10,) * 4,
            lambda: _axes(4, 100, math.sqrt(2)),
        ),
    ],
    "kabc": [
        Instance("same-mean-200", "KABC thesis; equal means, variances 1 and 200", (2, 2), _same_mean(200)),
        Instance("same-mean-6400", "KABC thesis; equal means, variances 1 and 6400", (2, 2), _same_mean(6400)),
    ],
    "graf": [
        Instance("sparse-53", "Graf paper; means differ in 53 of 1000 features, by 15 in all", (10, 10), _sparse(53)),
        Instance(
            "sparse-1000", "Graf paper; means differ in 1000 of 1000 features, by 15 in all", (10, 10), _sparse(1000)
        ),
    ],
    "real": [
        Instance("digits", "real; ten groups of two arms in 64 dimensions", (2,) * 10, real("digits")),
        Instance("wine", "real; columns on scales from 0.1 to 1000", THREE, real("wine")),
        Instance("iris", "real; pools of 50 rows with ties, two species overlap", THREE, real("iris")),
        Instance("breast-cancer", "real; 30 columns, skewed and correlated", (6, 4), real("breast_cancer")),
    ],
    "synthetic": [
        Instance("shapes", "normal, Laplace, uniform: equal means and variances", THREE, _shapes),
        Instance("modes", "normal, bimodal, scale mixture: equal means and variances", THREE, _modes),
        Instance(
            "rings",
            "two rings and a blob around one centre: equal means",
            THREE,
            lambda: [ring(1.0), ring(2.0), gaussian([0, 0], 0.5)],
        ),
        Instance(
            "correlations",
            "only the correlation differs: -0.8, 0, 0.8",
            THREE,
            lambda: [correlated(rho) for rho in (-0.8, 0.0, 0.8)],
        ),
        Instance("cauchy", "no mean and no variance; one scale, one place differs", THREE, _cauchy),
        Instance("student", "infinite variance: t with 2 degrees of freedom against a shift of 0.8", (5, 5), _student),
        Instance("corners", "mixtures of four blobs: equal means, variances and marginals", THREE, _corners),
        Instance("means-100d", "means 3.5 along one axis each of 100 dimensions", (2,) * 5, lambda: _axes(5, 100, 3.5)),
        Instance(
            "scales-100d",
            "equal means in 100 dimensions, spreads 1 and 1.5",
            (4, 4),
            lambda: [gaussian(np.zeros(100), sd) for sd in (1.0, 1.5)],
        ),
        Instance("counts", "Poisson(4), Poisson(5), binomial with mean 5: many ties", THREE, _counts),
        Instance(
            "near-duplicates",
            "two groups 0.7 apart in the plane and one 8 away",
            THREE,
            lambda: [gaussian([0, 0]), gaussian([0.7, 0]), gaussian([0, 8])],
        ),
        Instance(
            "unequal-gaps",
            "places 0, 0.7, 10, 30, 100 on a line: one bandwidth cannot fit all",
            (2,) * 5,
            lambda: _on_a_line(*PLACES),
        ),
        Instance(
            "one-alone", "one arm differs, 23 are the same", (23, 1), lambda: [gaussian([0, 0]), gaussian([1.2, 0])]
        ),
        Instance(
            "singles", "nine arms in eight groups on a circle: seven are alone", (2, 1, 1, 1, 1, 1, 1, 1), _circle
        ),
        Instance("mirror", "a skewed law on a line and its mirror image: equal means and variances", (4, 4), _skewed),
    ],
    "alphabets": [
        Instance("categories", "six categories with close frequencies, coded as numbers", THREE, _close_categories),
        Instance("last-digits", "integers 0 to 9; even or odd ones are more frequent", THREE, _last_digits),
        Instance(
            "coins",
            "coins that show heads with probability 0.5, 0.7, 0.9",
            THREE,
            lambda: [categories([1 - p, p]) for p in (0.5, 0.7, 0.9)],
        ),
        Instance(
            "odd-arm",
            "one of ten arms with five symbols is odd",
            (9, 1),
            lambda: [categories([0.2] * 5), categories([0.4, 0.3, 0.1, 0.1, 0.1])],
        ),
    ],
}
INSTANCES = {instance.name: instance for suite in SUITES.values() for instance in suite}

# Many arms: the same laws, other sizes.
AXES_10D = Instance("means-10d", "means 3 along one axis each of 10 dimensions", (5,) * 4, lambda: _axes(4, 10, 3.0))
AXES_50D = Instance("means-50d", "means 3 along one axis each of 50 dimensions", (2,) * 10, lambda: _axes(10, 50, 3.0))
