"""What distances are measured with: features and the tolerance in their units, both from a pilot.

The pilot is never tested, so anything may be computed from it. How far a change reaches is measured on a typical arm:
the pilot with all arms moved to one place. Arms that differ would make a pool in which a small change drowns.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kabc.core.arrays import Array
from kabc.core.embeddings.features import RandomFeatures
from kabc.core.embeddings.pilots import farthest, pilot_features, typical_bandwidths
from kabc.core.evidence.sameness import samples_needed
from kabc.core.kernels import FiniteKernel, Kernel
from kabc.core.tolerances import Equivalents, Tolerance, equivalents

SCALES = (0.5, 1.0, 2.0)  # multiples of the median distance; a wider kernel sees little but the mean
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
) -> tuple[Ruler, Equivalents]:  # N arrays (n_i, block x d)
    """The ruler that a pilot suggests, and the tolerance in other units."""
    ruler = chosen_ruler(pilot, tolerance, kernel=kernel, log_inverse_alpha=log_inverse_alpha, seed=seed, block=block)
    return ruler, equivalents(tolerance, _typical(_rows(pilot, block)), ruler.of_rows, columns)


def chosen_ruler(
    pilot: Sequence[Array],
    tolerance: Tolerance,
    *,
    kernel: Kernel | None = None,
    log_inverse_alpha: float,
    seed: int = 0,
    block: int = 1,
) -> Ruler:  # N arrays (n_i, block x d)
    """The ruler that a pilot suggests: the kernel that was given, or the bandwidth that costs the fewest samples."""
    rows = _rows(pilot, block)
    typical = _typical(rows)

    def made(features: FiniteKernel) -> Ruler:
        blind = Ruler(features, 1.0, np.zeros((0, 0)), block)
        eps = tolerance.distance(typical, blind.of_rows)
        return Ruler(features, eps, _within([blind.of(points) for points in pilot]), block)

    if kernel is not None:
        return made(kernel if isinstance(kernel, FiniteKernel) else RandomFeatures(kernel, 2 * _FEATURES, seed))
    widths, pool = typical_bandwidths(typical), np.concatenate(rows)
    eyes = (pilot_features(pool, scale * widths, n_features=_FEATURES, seed=seed) for scale in SCALES)
    return min(map(made, eyes), key=lambda ruler: ruler.needed(log_inverse_alpha, len(rows)))


def _rows(pilot: Sequence[Array], block: int) -> list[Array]:  # arrays (n_i, block x d) -> (n_i x block, d)
    return [points.reshape(len(points) * block, -1) for points in pilot]


def _typical(rows: Sequence[Array]) -> Array:  # arrays (n_i, d) -> (n, d)
    """All samples as if they came from one arm: means are moved to the mean of all, spreads are kept."""
    middle = np.concatenate(rows).mean(axis=0)
    return np.concatenate([middle + (x - x.mean(axis=0)) * math.sqrt(len(x) / max(1, len(x) - 1)) for x in rows])


def _within(features: Sequence[Array]) -> Array:  # arrays (n_i, D) -> (D, D)
    """Covariance within arms."""
    centred = np.concatenate([one - one.mean(axis=0) for one in features])
    return np.asarray(centred.T @ centred / max(1, len(centred) - len(features)))
