"""Regularised discriminants: scores u_g(x) whose differences estimate log density ratios between groups.

| symbol | here          | meaning                                                                    |
|--------|---------------|----------------------------------------------------------------------------|
| phi    | a feature map | features of a sample, (D,)                                                 |
| m_g    | `means`       | mean feature of provisional group g                                        |
| C      | `_covariance` | pooled covariance within arms, (D, D)                                      |
| gamma  | `RIDGES`      | ridges, in units of the largest eigenvalue of C (`whitening.py`)           |
| u_g(x) | `scores`      | <phi(x) - m_g / 2, (C + gamma)^-1 m_g>                                     |

u_g - u_h = <phi - (m_g + m_h)/2, (C + gamma)^-1 (m_g - m_h)> is the kernel discriminant of anytime testing. Arms of one
provisional group share a mean, so each learns from the samples of the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kabc.core.arrays import Array, Index
from kabc.core.scores.grouping import likeliest
from kabc.core.scores.maps import FeatureMap
from kabc.core.scores.span import Span
from kabc.core.scores.whitening import Whitening, whitenings

RIDGES = (1e-3, 1e-2, 1e-1)
_AT_ONCE = 1 << 20  # products of two arms in memory together
_FEW = 1 << 14  # arms times samples, below which a table of who drew what is multiplied


@dataclass(frozen=True)
class Scorer:
    """A fixed discriminant: scores of samples for each group, and the provisional group of each arm (-1: none)."""

    weights: Array  # (D, G)
    offsets: Array  # (G,)
    labels: Index  # (N,)

    def scores(self, features: Array) -> Array:  # (n, D) -> (n, G)
        """u_g of each sample."""
        return np.asarray(features @ self.weights - self.offsets)


class Space:
    """The features as one ridge sees them: whitened up to the ridge, in r coordinates of their span (`span.py`)."""

    def __init__(self, plain: Array, whitening: Whitening, basis: Array | None) -> None:  # (N, r)
        self.plain = plain  # means of the arms
        self.whitening = whitening
        self.basis = basis  # (D, r); None: features are their own coordinates

    @cached_property
    def means(self) -> Array:  # (N, r)
        """Whitened means of the arms."""
        return self.whitening.whitened(self.plain)

    @property
    def noise(self) -> float:
        """The mean squared length of one whitened sample."""
        return self.whitening.noise

    def whitened(self, features: Array) -> tuple[Array, Array]:  # (n, D) -> (n, r), (n,)
        """Features in this space, and the square of the part of them that is outside of the span."""
        inside = features if self.basis is None else features @ self.basis
        beyond = np.maximum(np.square(features).sum(axis=1) - np.square(inside).sum(axis=1), 0.0)
        return self.whitening.whitened(inside), beyond / self.whitening.gamma

    def directions(self, points: Array) -> Array:  # (k, r) -> (D, k)
        """Features times these directions are the products of whitened features with these whitened points."""
        return directions([self], [points])


def directions(spaces: Sequence[Space], points: Sequence[Array]) -> Array:  # (k_s, r) for each space -> (D, sum k)
    """The directions of points in several spaces of one learner."""
    found = np.concatenate([one.whitening.turned_back(some) for one, some in zip(spaces, points, strict=True)]).T
    return found if spaces[0].basis is None else spaces[0].basis @ found


class Sight:
    """The means of the arms as all ridges of a learner see them, measured from the mean of all samples.

    A product of two whitened points x and y is x' (C + gamma)^-1 y. So one of the two is enough.
    """

    def __init__(self, spaces: Sequence[Space], counts: Array) -> None:  # (N,)
        means = spaces[0].plain
        self._centre = counts @ means / max(1.0, float(counts.sum()))
        self._means = means - self._centre
        self._spaces = spaces
        self._whole: dict[int, Array] = {}  # (N, r), (C + gamma)^-1 of the means, for ridges that were asked for it

    def products(self, arms: Index, ridges: Sequence[int]) -> Array:  # (n,), (R',) -> (R', n, n)
        """Of the whitened means of these arms, as some ridges see them."""
        whole, means = len(arms) == len(self._means), self._means[arms]
        turned = [self._inverted(ridge)[arms] if whole else self._inverse(ridge, means) for ridge in ridges]
        return np.asarray(means @ np.array(turned).transpose(0, 2, 1))

    def scorers(self, labels: Index, shares: Array, free: Index) -> list[Scorer]:  # (R, N), (R, G, N)
        """Discriminants of groups with these shares of arms. Arms in `free` join the nearest group."""
        centres = shares @ self._means  # (R, G, r)
        weights = np.array([self._turned(ridge, *one) for ridge, one in enumerate(zip(shares, centres, strict=True))])
        offsets = 0.5 * np.einsum("rgd,rgd->rg", centres, weights)
        if len(free):
            none = np.arange(shares.shape[1]) > labels.max(axis=1)[:, None]  # (R, G): groups that a ridge does not have
            near = self._means[free] @ weights.transpose(0, 2, 1) - offsets[:, None, :]
            labels[:, free] = np.where(none[:, None, :], -np.inf, near).argmax(axis=2)
        offsets += weights @ self._centre
        basis = self._spaces[0].basis
        weights = (weights if basis is None else weights @ basis.T).transpose(0, 2, 1)
        return [Scorer(*one) for one in zip(weights, offsets, labels, strict=True)]

    def _turned(self, ridge: int, shares: Array, centres: Array) -> Array:  # (G, N), (G, r) -> (G, r)
        """(C + gamma)^-1 of the centres of groups."""
        return np.asarray(shares @ self._whole[ridge]) if ridge in self._whole else self._inverse(ridge, centres)

    def _inverted(self, ridge: int) -> Array:  # (N, r)
        if ridge not in self._whole:
            self._whole[ridge] = self._inverse(ridge, self._means)
        return self._whole[ridge]

    def _inverse(self, ridge: int, points: Array) -> Array:  # (n, r) -> (n, r)
        return self._spaces[ridge].whitening.inverted(points)


class Moments:
    """Statistics that a discriminant needs, under one fitted map: sums by arm, and second moments of all samples."""

    by_round = False  # whether `absorb` must get one round at a time

    def __init__(self, fitted: FeatureMap, n_arms: int, *, whole: bool = False) -> None:
        self.map, self._whole = fitted, whole
        self.counts = np.zeros(n_arms)
        self._span: Span | None = None  # known with the first samples
        self._sums: Array | None = None  # (N, r)
        self._squares: Array | None = None  # (r, r)
        self._spaces: list[Space] | None = None  # as `spaces` made them since the last samples
        self._sight: Sight | None = None

    def absorb(self, features: Array, arms: Index, drawn: Array | None = None) -> None:  # (n, D), (n,), (N, n)
        """Add samples of the given arms; `drawn` is the table of who drew what, where it is at hand."""
        self._spaces = self._sight = None
        features = self._in_span(features)
        assert self._sums is not None
        assert self._squares is not None
        drawn = who_drew(arms, len(self.counts)) if drawn is None else drawn
        if drawn is not None:
            self._sums += drawn @ features
        else:
            np.add.at(self._sums, arms, features)
        self._squares += features.T @ features
        self.counts += np.bincount(arms, minlength=len(self.counts))

    @property
    def is_whole(self) -> bool:
        """Whether its features fill their space, as far as is known: then those of a map that is fitted anew do too."""
        return self._whole if self._span is None else self._span.basis is None

    def _in_span(self, features: Array) -> Array:  # (n, D) -> (n, r)
        """Coordinates of features; what is known so far goes on in these."""
        if self._span is None or self._sums is None or self._squares is None:
            self._span = Span(features.shape[1], whole=self._whole)
            found = self._span.coordinates(features)
            self._sums, self._squares = np.zeros((len(self.counts), found.shape[1])), np.zeros((found.shape[1],) * 2)
            return found
        before = self._span.basis
        found = self._span.coordinates(features)
        if before is not None and self._span.basis is None:
            self._sums, self._squares = self._sums @ before.T, before @ self._squares @ before.T
        elif found.shape[1] > len(self._squares):
            more = (0, found.shape[1] - len(self._squares))
            self._sums, self._squares = np.pad(self._sums, ((0, 0), more)), np.pad(self._squares, more)
        return found

    def spaces(self) -> list[Space]:
        """The features as each ridge sees them."""
        if self._spaces is None:
            self._spaces = self._made_spaces()
        return self._spaces

    def _made_spaces(self) -> list[Space]:
        assert self._span is not None
        assert self._squares is not None
        means, basis = self._means(), self._span.basis
        size = float(self._squares.diagonal().max(initial=0.0)) / max(1.0, float(self.counts.sum()))
        made = whitenings(self._covariance(means), RIDGES, size)
        return [Space(means, one, basis) for one in made]

    @property
    def sight(self) -> Sight:
        """The means of the arms as all ridges see them."""
        if self._sight is None:
            self._sight = Sight(self.spaces(), self.counts)
        return self._sight

    def _means(self) -> Array:  # (N, D)
        assert self._sums is not None
        return np.asarray(self._sums / np.maximum(self.counts, 1)[:, None])

    def _covariance(self, means: Array) -> Array:  # (N, D) -> (D, D)
        assert self._squares is not None
        assert self._sums is not None
        within = self._squares - self._sums.T @ means
        within /= max(1.0, float(self.counts.sum() - np.count_nonzero(self.counts)))
        return within


def who_drew(arms: Index, n_arms: int) -> Array | None:  # (n,) -> (N, n)
    """1 where a sample is one of the arm; None where the table would be large."""
    return (np.arange(n_arms)[:, None] == arms).astype(np.float64) if n_arms * len(arms) <= _FEW else None


def scorers_of(
    learners: Sequence[Moments], core: Index, known: Index, n_groups: int, guessed: Index | None = None
) -> list[Scorer]:  # (C,), (N,), (S, N)
    """A discriminant for each learner and ridge. `known` has the known group number of each arm, -1 if it is unknown.

    All learners have seen the same samples. If some groups are known, all other arms join the nearest one. If none is
    known, the likeliest groups of the arms of `core` are found first; `guessed` are these, where they are at hand.
    """
    counts = learners[0].counts
    labels = groups_of(learners, core, known, n_groups) if guessed is None else guessed
    weights = (labels[:, None, :] == np.arange(int(labels.max()) + 1)[:, None]) * counts  # (S, G, N)
    shares = weights / np.maximum(weights.sum(axis=2, keepdims=True), 1)
    free = np.flatnonzero((counts > 0) & (labels[0] < 0))
    by_learner = (every.reshape(len(learners), -1, *every.shape[1:]) for every in (labels, shares))
    each = zip(learners, *by_learner, strict=True)
    return [scorer for one, own, parts in each for scorer in one.sight.scorers(own, parts, free)]


def groups_of(learners: Sequence[Moments], core: Index, known: Index, n_groups: int) -> Index:  # (C,), (N,) -> (S, N)
    """The known groups; without any, those of the arms of `core` as each ridge sees them. -1 for other arms."""
    labels = np.tile(known, (len(learners) * len(RIDGES), 1))
    if (known < 0).all():
        arms = core[learners[0].counts[core] > 0]
        every, step = range(len(labels)), max(1, _AT_ONCE // max(1, len(arms)) ** 2)
        for some in (every[start : start + step] for start in range(0, len(labels), step)):
            products = products_of(learners, arms, some)
            labels[np.array(some)[:, None], arms] = likeliest(products, learners[0].counts[arms], n_groups)
    return labels


def products_of(learners: Sequence[Moments], arms: Index, spaces: Sequence[int]) -> Array:  # (n,), (S',) -> (S', n, n)
    """Of the whitened means of these arms, as some ridges of some learners see them; these are in ascending order."""
    ridges: dict[int, list[int]] = {}
    for one in spaces:
        ridges.setdefault(one // len(RIDGES), []).append(one % len(RIDGES))
    made = np.concatenate([learners[learner].sight.products(arms, some) for learner, some in ridges.items()])
    return np.asarray((made + made.transpose(0, 2, 1)) / 2)
