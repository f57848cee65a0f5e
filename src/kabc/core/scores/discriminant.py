"""Regularised discriminants: scores u_g(x) whose differences estimate log density ratios between groups.

| symbol | here          | meaning                                                                    |
|--------|---------------|----------------------------------------------------------------------------|
| phi    | a feature map | features of a sample, (D,)                                                 |
| m_g    | `means`       | mean feature of provisional group g                                        |
| C      | `_covariance` | pooled covariance within arms, (D, D)                                      |
| gamma  | `ridges`      | ridge strengths; one eigendecomposition of C serves them all               |
| u_g(x) | `scores`      | <phi(x) - m_g / 2, (C + gamma)^-1 m_g>                                     |

u_g - u_h = <phi - (m_g + m_h)/2, (C + gamma)^-1 (m_g - m_h)> is the kernel discriminant of anytime testing. Arms of one
provisional group share a mean, so each learns from the samples of the others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kabc.core.arrays import Array, Index
from kabc.core.scores.maps import FeatureMap

RIDGES = (1e-3, 1e-2, 1e-1)


@dataclass(frozen=True)
class Scorer:
    """A fixed discriminant: scores of samples for each group, and the provisional group of each arm (-1: none)."""

    weights: Array  # (D, G)
    offsets: Array  # (G,)
    labels: Index  # (N,)

    def scores(self, features: Array) -> Array:  # (n, D) -> (n, G)
        """u_g of each sample."""
        return np.asarray(features @ self.weights - self.offsets)


@dataclass(frozen=True)
class Space:
    """Features times `basis` are whitened up to the ridge; `noise` is the mean squared length of one sample there."""

    basis: Array  # (D, D)
    means: Array  # (N, D), whitened means of the arms
    noise: float


class Moments:
    """Statistics that a discriminant needs, under one fitted map: sums by arm, and second moments of all samples."""

    by_round = False  # whether `absorb` must get one round at a time

    def __init__(self, fitted: FeatureMap, n_arms: int) -> None:
        self.map = fitted
        self.counts = np.zeros(n_arms)
        self._sums: Array | None = None  # (N, D)
        self._squares: Array | None = None  # (D, D)
        self._spaces: list[Space] | None = None  # as `spaces` made them since the last samples

    def absorb(self, features: Array, arms: Index) -> None:  # (n, D), (n,)
        """Add samples of the given arms."""
        self._spaces = None
        if self._sums is None or self._squares is None:
            self._sums = np.zeros((len(self.counts), features.shape[1]))
            self._squares = np.zeros((features.shape[1], features.shape[1]))
        np.add.at(self._sums, arms, features)
        self._squares += features.T @ features
        self.counts += np.bincount(arms, minlength=len(self.counts))

    def scorers(self, core: Index, known: Index, n_groups: int) -> list[Scorer]:
        """A discriminant for each ridge. `known` has the known group number of each arm, -1 if it is unknown.

        If some groups are known, all other arms join the nearest one. If none is known, average linkage groups the
        arms of `core` first.
        """
        return [self._scorer(space.means, space.basis, core, known, n_groups) for space in self.spaces()]

    def spaces(self) -> list[Space]:
        """The features as each ridge sees them."""
        if self._spaces is None:
            self._spaces = self._made_spaces()
        return self._spaces

    def _made_spaces(self) -> list[Space]:
        means = self._means()
        values, vectors = np.linalg.eigh(self._covariance(means))
        values = np.maximum(values, 0.0)
        unit = max(float(values.max()), 1e-12)
        made = []
        for ridge in RIDGES:
            basis = vectors / np.sqrt(values + ridge * unit)
            made.append(Space(basis, means @ basis, float((values / (values + ridge * unit)).sum())))
        return made

    def _means(self) -> Array:  # (N, D)
        assert self._sums is not None
        return np.asarray(self._sums / np.maximum(self.counts, 1)[:, None])

    def _covariance(self, means: Array) -> Array:  # (N, D) -> (D, D)
        assert self._squares is not None
        within = self._squares - (means * self.counts[:, None]).T @ means
        return within / max(1.0, float(self.counts.sum() - np.count_nonzero(self.counts)))

    def _scorer(self, whitened: Array, basis: Array, core: Index, known: Index, n_groups: int) -> Scorer:
        seen = np.flatnonzero(self.counts > 0)
        labels = known.copy()
        if (known < 0).all():
            grouped = core[self.counts[core] > 0]
            labels[grouped] = _linkage(whitened[grouped], n_groups)
        groups = int(labels.max()) + 1
        centres = np.zeros((groups, whitened.shape[1]))
        for group in range(groups):
            members = seen[labels[seen] == group]
            if len(members):
                centres[group] = np.average(whitened[members], axis=0, weights=self.counts[members])
        scores = whitened @ centres.T - 0.5 * np.einsum("gd,gd->g", centres, centres)
        free = seen[labels[seen] < 0]
        labels[free] = scores[free].argmax(axis=1)
        return Scorer(basis @ centres.T, 0.5 * np.einsum("gd,gd->g", centres, centres), labels)


def _linkage(points: Array, n_groups: int) -> Index:  # (n, D) -> (n,)
    """Agglomerative grouping by average distance."""
    if len(points) <= n_groups:
        return np.arange(len(points))
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import pdist  # linkage itself may take a square table of points for distances, and warn

    return np.asarray(fcluster(linkage(pdist(points), "average"), n_groups, "maxclust") - 1, dtype=np.intp)
