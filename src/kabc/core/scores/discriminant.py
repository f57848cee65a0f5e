"""Regularised discriminants: scores u_g(x) whose differences estimate log density ratios between groups.

| symbol | here          | meaning                                                                    |
|--------|---------------|----------------------------------------------------------------------------|
| phi    | a feature map | features of a sample, (D,)                                                 |
| m_g    | `means`       | mean feature of provisional group g                                        |
| C      | `_covariance` | pooled covariance within arms, (D, D)                                      |
| gamma  | `ridges`      | ridge strengths; one decomposition of C serves them all (`whitening.py`)   |
| u_g(x) | `scores`      | <phi(x) - m_g / 2, (C + gamma)^-1 m_g>                                     |

u_g - u_h = <phi - (m_g + m_h)/2, (C + gamma)^-1 (m_g - m_h)> is the kernel discriminant of anytime testing. Arms of one
provisional group share a mean, so each learns from the samples of the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kabc.core.arrays import Array, Index
from kabc.core.scores.grouping import likeliest
from kabc.core.scores.maps import FeatureMap
from kabc.core.scores.whitening import Whitening, solved

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
    """The features as one ridge sees them: whitened up to the ridge."""

    means: Array  # (N, D), whitened means of the arms
    ridge: float
    whitening: Whitening
    factor: Array  # (2, D), of the ridge

    @property
    def noise(self) -> float:
        """The mean squared length of one whitened sample."""
        return self.whitening.noise(self.ridge)

    def directions(self, points: Array) -> Array:  # (k, D) -> (D, k)
        """Features times these directions are the products of whitened features with these whitened points."""
        return directions([self], [points])


def directions(spaces: Sequence[Space], points: Sequence[Array]) -> Array:  # (k_s, D) for each space -> (D, sum k)
    """The directions of points in several spaces of one learner."""
    solutions = [solved(space.factor, some, transposed=True) for space, some in zip(spaces, points, strict=True)]
    return spaces[0].whitening.turned_back(np.concatenate(solutions)).T


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

    def spaces(self) -> list[Space]:
        """The features as each ridge sees them."""
        if self._spaces is None:
            self._spaces = self._made_spaces()
        return self._spaces

    def _made_spaces(self) -> list[Space]:
        means = self._means()
        whitening = Whitening(self._covariance(means), min(RIDGES))
        turned = whitening.turned(means)
        factors = [whitening.factor(ridge) for ridge in RIDGES]
        return [
            Space(solved(factor, turned), ridge, whitening, factor)
            for ridge, factor in zip(RIDGES, factors, strict=True)
        ]

    def _means(self) -> Array:  # (N, D)
        assert self._sums is not None
        return np.asarray(self._sums / np.maximum(self.counts, 1)[:, None])

    def _covariance(self, means: Array) -> Array:  # (N, D) -> (D, D)
        assert self._squares is not None
        within = self._squares - (means * self.counts[:, None]).T @ means
        return within / max(1.0, float(self.counts.sum() - np.count_nonzero(self.counts)))


def scorers_of(
    learners: Sequence[Moments], core: Index, known: Index, n_groups: int, guessed: Index | None = None
) -> list[Scorer]:  # (C,), (N,), (S, N)
    """A discriminant for each learner and ridge. `known` has the known group number of each arm, -1 if it is unknown.

    All learners have seen the same samples. If some groups are known, all other arms join the nearest one. If none is
    known, the likeliest groups of the arms of `core` are found first; `guessed` are these, where they are at hand.
    """
    counts = learners[0].counts
    labels = guessed
    if labels is None:
        labels = groups_of([space for one in learners for space in one.spaces()], counts, core, known, n_groups)
    by_learner = np.split(labels, len(learners))
    return [
        scorer
        for one, some in zip(learners, by_learner, strict=True)
        for scorer in _scorers(one.spaces(), counts, some)
    ]


def groups_of(
    spaces: Sequence[Space], counts: Array, core: Index, known: Index, n_groups: int
) -> Index:  # (N,), (C,), (N,) -> (S, N)
    """The known groups; without any, those of the arms of `core` as each space sees them. -1 for other arms."""
    labels = np.tile(known, (len(spaces), 1))
    if (known < 0).all():
        arms = core[counts[core] > 0]
        labels[:, arms] = likeliest([space.means[arms] for space in spaces], counts[arms], n_groups)
    return labels


def _scorers(spaces: Sequence[Space], counts: Array, labels: Index) -> list[Scorer]:  # (N,), (R, N)
    """The discriminants of one learner. Arms without a group join the nearest one."""
    numbers = np.arange(int(labels.max()) + 1)
    weights = (labels[:, None, :] == numbers[:, None]) * counts  # (R, G, N)
    total = weights.sum(axis=2, keepdims=True)
    means = np.stack([space.means for space in spaces])
    centres = weights @ means / np.maximum(total, 1)  # (R, G, D)
    offsets = 0.5 * np.square(centres).sum(axis=2)
    free = np.flatnonzero((counts > 0) & (labels[0] < 0))
    if len(free):
        nearness = means[:, free] @ centres.transpose(0, 2, 1) - offsets[:, None, :]
        none = numbers > labels.max(axis=1)[:, None]  # (R, G): groups that this ridge does not have
        nearness = np.where(none[:, None, :], -np.inf, nearness)
        labels[:, free] = nearness.argmax(axis=2)
    found = directions(spaces, list(centres)).reshape(-1, len(spaces), len(numbers))
    return [Scorer(found[:, one], offsets[one], labels[one]) for one in range(len(spaces))]
