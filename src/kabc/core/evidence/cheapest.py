"""Which bandwidth proves sameness within a given change with the fewest samples, by a pilot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kabc.core.arrays import Array
from kabc.core.embeddings.pilots import PilotFeatures, farthest, feature_distance, pilot_features, typical_bandwidths
from kabc.core.evidence.sameness import samples_needed

SCALES = (0.25, 0.5, 1.0, 2.0)  # multiples of the median distance


@dataclass(frozen=True, eq=False)
class Sameness:
    """What sameness is measured with, and what it is expected to cost."""

    features: PilotFeatures
    eps: float  # the distance that the smallest of the changes makes
    covariance: Array  # (D, D), of z at distance 0
    n_samples: float  # differences z for one statement, about


def cheapest_features(
    pilot: NDArray[Any],
    changes: Sequence[NDArray[Any]],
    log_inverse_alpha: float,
    n_opponents: int = 1,
    ranks: bool = False,
    n_features: int = 64,
    seed: int = 0,
) -> Sameness:  # (n, d), arrays (n, d)
    """The bandwidth for which "closer than the smallest of these changes" costs the fewest samples, of `SCALES`.

    Nothing here is tested: the pilot is a pool of its own. A change that no bandwidth can see has cost inf and eps 0.
    """
    widths = typical_bandwidths(pilot, ranks)
    eyes = (pilot_features(pilot, scale * widths, ranks, n_features, seed) for scale in SCALES)
    return min(
        (_priced(phi, pilot, changes, log_inverse_alpha, n_opponents) for phi in eyes), key=lambda one: one.n_samples
    )


def _priced(
    features: PilotFeatures, pilot: NDArray[Any], changes: Sequence[NDArray[Any]], level: float, n_opponents: int
) -> Sameness:
    eps = min(feature_distance(features, pilot, changed) for changed in changes)
    covariance = difference_covariance(features, pilot, n_opponents)
    cost = samples_needed(covariance, eps, level, farthest(features)) if eps > 0 else np.inf
    return Sameness(features, eps, covariance, cost)


def difference_covariance(features: PilotFeatures, pilot: NDArray[Any], n_opponents: int = 1) -> Array:  # -> (D, D)
    """Covariance of z = phi(x) - average of n phi(y_l), if all of them are drawn from the pilot's distribution."""
    return np.atleast_2d(np.cov(features.features(pilot).T)) * (1 + 1 / n_opponents)
