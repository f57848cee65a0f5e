"""What a discriminant needs of samples that were drawn in matches, with what a match has in common taken out.

| symbol | here        | meaning                                                                                       |
|--------|-------------|-----------------------------------------------------------------------------------------------|
| k      | a match     | one sample of each arm of a round that share something, such as a prompt                      |
| phi_ik |             | features of the sample of arm i in match k: a_i + p_k + noise                                 |
| a_i    | `_means`    | what arm i adds, by least squares; only differences have a meaning                            |
| L      | `_links`    | sum over matches of I - 11'/m on their m arms: L a = sum of (phi_ik - mean of match k)        |

Rounds may have different arms. Least squares compares arms that were never drawn together through others that were.
"""

from __future__ import annotations

import numpy as np

from kabc.core.arrays import Array, Index
from kabc.core.scores.discriminant import Moments
from kabc.core.scores.maps import FeatureMap

_LITTLE = 1e-9  # of the largest entry of L, which is singular: nothing is known of the sum of all a_i


class PairedMoments(Moments):
    """Statistics of matched samples. Each call of `absorb` is one round: arm after arm, as many samples of each."""

    by_round = True

    def __init__(self, fitted: FeatureMap, n_arms: int, *, whole: bool = False) -> None:
        super().__init__(fitted, n_arms, whole=whole)
        self._links = np.zeros((n_arms, n_arms))
        self._n_matches = 0

    def absorb(self, features: Array, arms: Index, drawn: Array | None = None) -> None:  # (n, D), (n,), (N, n)
        matches, n_matches = in_matches(features, arms)
        super().absorb(centred(matches).reshape(features.shape), arms, drawn)
        them = arms[::n_matches]
        self._links[np.ix_(them, them)] += n_matches * (np.eye(len(them)) - 1 / len(them))
        self._n_matches += n_matches

    def _means(self) -> Array:  # (N, D)
        assert self._sums is not None
        size = max(float(self._links.max()), 1.0)
        links = self._links + _LITTLE * size * np.eye(len(self._links))
        return np.asarray(np.linalg.solve(links, self._sums), dtype=np.float64)

    def _covariance(self, means: Array) -> Array:  # (N, D) -> (D, D)
        assert self._sums is not None
        assert self._squares is not None
        within = self._squares - means.T @ self._sums
        free = self.counts.sum() - self._n_matches - np.count_nonzero(self.counts) + 1
        return np.asarray((within + within.T) / 2 / max(1.0, float(free)))


def in_matches(values: Array, arms: Index) -> tuple[Array, int]:  # (n, D), (n,) -> (A, b, D), b
    """The values of a round, arm after arm, by arms and matches; every arm has as many."""
    n_matches = int(np.count_nonzero(arms == arms[0]))
    return values.reshape(-1, n_matches, values.shape[1]), n_matches


def centred(values: Array) -> Array:  # (A, b, D) -> (A, b, D)
    """Without the mean of each match."""
    return np.asarray(values - values.mean(axis=0))
