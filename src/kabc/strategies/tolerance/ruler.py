"""What distances are measured with: features and the tolerance in their units, both from a pilot.

The pilot is never tested, so anything may be computed from it. How far a change reaches is measured on a typical arm:
the pilot with all arms moved to one place. Arms that differ would make a pool in which a small change drowns.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from kabc.core.arrays import Array
from kabc.core.embeddings.coded import coded_features
from kabc.core.embeddings.features import RandomFeatures
from kabc.core.embeddings.pilots import farthest, pilot_features, typical_bandwidths
from kabc.core.evidence.sameness import samples_needed
from kabc.core.kernels import FiniteKernel, Kernel
from kabc.core.tolerances import Equivalents, Tolerance, equivalents

SCALES = (0.5, 1.0, 2.0)  # multiples of the median distance; a wider kernel sees little but the mean
_MOST_DOUBLED = 40  # times, where a tolerance is far larger than the spread of an arm
_FEATURES = 64


@dataclass(frozen=True, eq=False)
class Ruler:
    """Features of samples, the tolerance as their distance, and how far a difference of two of them can reach."""

    features: FiniteKernel
    eps: float
    covariance: Array  # (D, D), of the features of one sample within an arm
    block: int = 1

    @property
    def sup(self) -> float:
        """A bound of the length of a difference of features."""
        return farthest(self.features)

    @property
    def n_features(self) -> int:
        """D."""
        return len(self.covariance)

    def of_rows(self, rows: Array) -> Array:  # (n, d) -> (n, D)
        """Features of single rows."""
        return np.asarray(self.features.features(rows), dtype=np.float64)

    def of(self, rows: Array) -> Array:  # (n, block x d) -> (n, D)
        """Features of samples; of a block, the mean over its rows."""
        values = self.of_rows(rows.reshape(len(rows) * self.block, -1))
        return values if self.block == 1 else values.reshape(len(rows), self.block, -1).mean(axis=1)

    def needed(self, log_inverse_alpha: float, n_opponents: int) -> float:
        """About how many samples of an arm prove that it is within the tolerance of so many equal arms."""
        return samples_needed(self.covariance * (1 + 1 / n_opponents), self.eps, log_inverse_alpha, self.sup)


def ruler_of(
    pilot: Sequence[Array],
    tolerance: Tolerance,
    columns: Sequence[str],
    *,
    kernel: Kernel | None,
    log_inverse_alpha: float,
    seed: int,
    block: int,
    categories: Collection[str] = (),
) -> tuple[Ruler, Equivalents]:  # N arrays (n_i, block x d)
    """The ruler that a pilot suggests, and the tolerance in other units. `categories`: columns that hold codes."""
    codes = code_places(columns, categories)
    ruler = chosen_ruler(
        pilot, tolerance, kernel=kernel, log_inverse_alpha=log_inverse_alpha, seed=seed, block=block, codes=codes
    )
    return ruler, equivalents(tolerance, _typical(_rows(pilot, block), codes), ruler.of_rows, columns, codes=codes)


def code_places(columns: Sequence[str], categories: Collection[str]) -> tuple[int, ...]:
    """Which columns hold codes."""
    return tuple(place for place, name in enumerate(columns) if name in categories)


def chosen_ruler(
    pilot: Sequence[Array],
    tolerance: Tolerance,
    *,
    kernel: Kernel | None = None,
    log_inverse_alpha: float,
    seed: int = 0,
    block: int = 1,
    codes: Sequence[int] = (),
) -> Ruler:  # N arrays (n_i, block x d)
    """The ruler that a pilot suggests: the kernel that was given, or the bandwidth that costs the fewest samples.

    A tolerance far above the spread of an arm takes a wider kernel. In a narrow one, all that lies outside an arm is
    equally far, so a change of many times the tolerance would look no larger than the tolerance.
    """
    rows = _rows(pilot, block)
    typical = _typical(rows, codes)

    def made(features: FiniteKernel) -> Ruler:
        blind = Ruler(features, 1.0, np.zeros((0, 0)), block)
        eps = tolerance.distance(typical, blind.of_rows)
        return Ruler(features, eps, _within([blind.of(points) for points in pilot]), block)

    if kernel is not None:
        return made(kernel if isinstance(kernel, FiniteKernel) else RandomFeatures(kernel, 2 * _FEATURES, seed))
    pool = np.concatenate(rows)
    rulers = [made(eye) for eye in _eyes(pool, typical, codes, seed, SCALES)]
    best = min(rulers, key=lambda ruler: ruler.needed(log_inverse_alpha, len(rows)))
    if not tolerance.overshoots(typical, best.of_rows):
        return best
    wide_pool = np.concatenate([pool, *(one.rows for one in tolerance.moved(typical, times=2.0))])
    scales = (SCALES[-1] * 2.0 ** np.arange(_MOST_DOUBLED)).tolist()
    for eye in _eyes(wide_pool, typical, codes, seed, scales):
        wide = made(eye)
        if not tolerance.overshoots(typical, wide.of_rows):
            return wide
    return best


def blind_features(pool: Array, codes: Sequence[int], seed: int) -> FiniteKernel:  # (n, d)
    """Features for any difference, where no tolerance says which one matters."""
    numbers = [place for place in range(pool.shape[1]) if place not in codes]
    eye = pilot_features(pool[:, numbers], seed=seed) if numbers else None
    return coded_features(pool, codes, eye) if codes or eye is None else eye


def _eyes(
    pool: Array, typical: Array, codes: Sequence[int], seed: int, scales: Sequence[float]
) -> Iterator[FiniteKernel]:  # (n, d), (n, d)
    """Features with narrow and wide kernels; codes are seen in one way only."""
    numbers = [place for place in range(pool.shape[1]) if place not in codes]
    if not numbers:
        yield coded_features(pool, codes, None)
        return
    widths = typical_bandwidths(typical[:, numbers])
    for scale in scales:
        eye = pilot_features(pool[:, numbers], scale * widths, n_features=_FEATURES, seed=seed)
        yield coded_features(pool, codes, eye) if codes else eye


def _rows(pilot: Sequence[Array], block: int) -> list[Array]:  # arrays (n_i, block x d) -> (n_i x block, d)
    return [points.reshape(len(points) * block, -1) for points in pilot]


def _typical(rows: Sequence[Array], codes: Sequence[int]) -> Array:  # arrays (n_i, d) -> (n, d)
    """All samples as if they came from one arm: means are moved to the mean of all, spreads are kept. So are codes."""
    pool = np.concatenate(rows)
    middle = pool.mean(axis=0)
    moved = np.concatenate([middle + (x - x.mean(axis=0)) * math.sqrt(len(x) / max(1, len(x) - 1)) for x in rows])
    moved[:, list(codes)] = pool[:, list(codes)]
    return moved


def _within(features: Sequence[Array]) -> Array:  # arrays (n_i, D) -> (D, D)
    """Covariance within arms."""
    centred = np.concatenate([one - one.mean(axis=0) for one in features])
    return np.asarray(centred.T @ centred / max(1, len(centred) - len(features)))
