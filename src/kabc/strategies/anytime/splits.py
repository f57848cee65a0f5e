"""Ways in which a group could be two: guesses from earlier samples, and the score that bets on each.

| symbol | here        | meaning                                                                                  |
|--------|-------------|------------------------------------------------------------------------------------------|
| A, B   | `sides`     | +1 for arms of part A, -1 for arms of part B, 0 for arms that are in no split            |
| d      | `apart`     | difference of the whitened means of A and B, as weights of the arms                      |
| s      | `real`      | how much of d is taken for real: the rest is what chance does to the best of many splits |
| l      | `directions`| score s <phi - m_B - s d / 2, d> of a sample: how much it looks like A                   |

Two parts are found by Ward's linkage; single odd arms are the other kind. A guess may be as wild as it likes. It is bet
on samples that are drawn after it was made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from kabc.core.arrays import Array, Index, Mask
from kabc.core.scores.discriminant import Space, directions
from kabc.core.scores.linkage import distances, linked

KINDS = 2  # the oddest arm against all others; two parts
_MOST_LINKED = 300  # arms whose pairs are looked at, all of them: for linkage, and for products


@dataclass(frozen=True, slots=True, eq=False)
class Splits:
    """T ways to split each group, as seen by one learner: one of each kind for each ridge."""

    sides: Index  # (T, N)
    directions: Array  # (D, T, G)
    offsets: Array  # (T, G)
    strength: Array  # (T, G), |s d|^2 in units of its error

    def scores(self, features: Array, groups: Index) -> Array:  # (n, D), (n,) -> (n, T)
        """l of each sample, by the splits of its own group."""
        n_features, ways, n_groups = self.directions.shape
        all_groups = (features @ self.directions.reshape(n_features, -1)).reshape(-1, ways, n_groups)
        return np.asarray(all_groups[np.arange(len(features)), :, groups] - self.offsets.T[groups])


def guessed(spaces: Sequence[Sequence[Space]], counts: Array, labels: Index) -> list[Splits]:  # (N,), (N,)
    """Guesses of each learner; labels are -1 for arms that are in no group. All learners have seen the same samples."""
    every = [space for some in spaces for space in some]
    noise = np.array([space.noise for space in every])
    n_groups = int(labels.max()) + 1
    sides = np.zeros((len(every), KINDS, len(labels)), dtype=np.intp)
    apart = np.zeros((len(every), KINDS, n_groups, len(labels)))
    offsets, strength = np.zeros((len(every), KINDS, n_groups)), np.zeros((len(every), KINDS, n_groups))
    means = [space.means for space in every]
    all_products = _Products.of(means)
    for groups, arms in _alike(labels, counts, together=all_products.pairs is not None):
        products, weights = all_products.among(arms), counts[arms]
        near = products.near()
        parts = np.stack([_oddest(near, weights), _two_parts(near, weights)], axis=1)  # (S, T, G, m)
        weighted, offsets[:, :, groups], strength[:, :, groups] = _bets_on(near, products, weights, parts, noise)
        apart[:, :, groups[:, None], arms] = weighted
        sides[:, :, arms] = np.where(parts, 1, -1)
    away = [one.reshape(KINDS * n_groups, -1) @ some for one, some in zip(apart, means, strict=True)]
    return [
        _of_learner(some, sides[at], away[at], offsets[at], strength[at])
        for some, at in zip(spaces, _slices(spaces), strict=True)
    ]


def _alike(labels: Index, counts: Array, *, together: bool) -> list[tuple[Index, Index]]:  # (N,), (N,)
    """Groups (G,) with equally many arms, and these arms (G, m); groups of one arm are left out.

    Unless they are looked at together, each group is by itself.
    """
    found: dict[int, tuple[list[int], list[Index]]] = {}
    for group in range(int(labels.max()) + 1):
        arms = np.flatnonzero((labels == group) & (counts > 0))
        if len(arms) > 1:
            groups, members = found.setdefault(len(arms) if together else -group, ([], []))
            groups.append(group)
            members.append(arms)
    return [(np.array(groups), np.array(members)) for groups, members in found.values()]


def _slices(spaces: Sequence[Sequence[Space]]) -> list[slice]:
    """Where the spaces of each learner are among all of them."""
    ends = np.cumsum([len(some) for some in spaces]).tolist()
    return [slice(end - len(some), end) for some, end in zip(spaces, ends, strict=True)]


def _of_learner(
    spaces: Sequence[Space], sides: Index, away: Sequence[Array], offsets: Array, strength: Array
) -> Splits:  # (R, T, N), R of (T G, D), (R, T, G), (R, T, G)
    ways, n_groups = len(spaces) * KINDS, offsets.shape[-1]
    return Splits(
        sides.reshape(ways, -1),
        directions(spaces, away).reshape(-1, ways, n_groups),
        offsets.reshape(ways, n_groups),
        strength.reshape(ways, n_groups),
    )


def _bets_on(
    near: _Products, products: _Products, weights: Array, parts: Mask, noise: Array
) -> tuple[Array, Array, Array]:  # (G, m), (S, T, G, m), (S,) -> (S, T, G, m), (S, T, G), (S, T, G)
    """s d as weights of the arms, the offset of the score for A against B, and how far apart they are.

    `products` are those of the means of the arms; `near` those of their differences from a point between them.
    """
    in_a, in_b = parts * weights, ~parts * weights
    of_a, of_b = in_a.sum(axis=3), in_b.sum(axis=3)
    centre = in_b / of_b[..., None]  # m_B
    apart = in_a / of_a[..., None] - centre  # d
    error = 1 / of_a + 1 / of_b
    far = near.between(apart, apart)  # |d|^2
    by_chance = (noise[:, None, None] + 2 * _log_choices(parts.shape[3])[parts.sum(axis=3)]) * error
    real = np.maximum(0.0, 1 - np.divide(by_chance, far, out=np.ones_like(far), where=far > 0))  # James and Stein
    offset = real * products.between(apart, centre) + 0.5 * real**2 * far
    return real[..., None] * apart, offset, real**2 * far / error


@dataclass(frozen=True, slots=True, eq=False)
class _Products:
    """Products of the points of m arms with each other in S spaces, for G groups: all pairs of few arms, none of many.

    Where arms are too many for pairs, there is one group.
    """

    points: Sequence[Array]  # S of (m, D); none where all pairs are known
    pairs: Array | None  # (S, G, m, m)

    @classmethod
    def of(cls, points: Sequence[Array]) -> _Products:
        if len(points[0]) > _MOST_LINKED:
            return cls(points, None)
        return cls((), np.stack([some @ some.T for some in points])[:, None])

    def among(self, arms: Index) -> _Products:  # (G, m)
        """The same for some of the arms of a group, or for groups of them."""
        if self.pairs is None:
            return _Products.of([some[arms[0]] for some in self.points])
        return _Products((), self.pairs[:, 0, arms[:, :, None], arms[:, None]])

    def near(self) -> _Products:
        """The same for points measured from a point between them."""
        if self.pairs is None:
            return _Products([some - some.mean(axis=0) for some in self.points], None)
        means = self.pairs.mean(axis=3, keepdims=True)
        return _Products((), self.pairs - means - means.swapaxes(2, 3) + means.mean(axis=2, keepdims=True))

    def between(self, left: Array, right: Array) -> Array:  # (S, T, G, m), (S, T, G, m) -> (S, T, G)
        """Of weighted sums of the points."""
        if self.pairs is not None:
            return np.asarray(((left.swapaxes(1, 2) @ self.pairs).swapaxes(1, 2) * right).sum(axis=3))
        sums = zip(left[:, :, 0], right[:, :, 0], self.points, strict=True)
        return np.stack([((one @ some) * (other @ some)).sum(axis=1) for one, other, some in sums])[..., None]

    def squares(self) -> Array:  # (S, G, m)
        """Of each point with itself."""
        if self.pairs is not None:
            return self.pairs.diagonal(axis1=2, axis2=3)
        return np.stack([np.square(some).sum(axis=1) for some in self.points])[:, None]

    def with_sum(self, weights: Array) -> Array:  # (G, m) -> (S, G, m)
        """Of each point with a weighted sum of all."""
        if self.pairs is not None:
            return np.asarray((self.pairs @ weights[..., None])[..., 0])
        return np.stack([some @ (weights[0] @ some) for some in self.points])[:, None]


@lru_cache(maxsize=64)
def _log_choices(n: int) -> Array:  # (n + 1,)
    """Log of the number of parts of each size, at most of what a cut along a line could choose from."""
    factorials = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, n + 1)))])
    return np.asarray(np.minimum(0.5 * n, factorials[n] - factorials - factorials[::-1]))


def _two_parts(near: _Products, weights: Array) -> Mask:  # (G, m) -> (S, G, m)
    """One of two parts of the arms of each group. It is neither empty nor everything."""
    if near.pairs is None:
        return _not_all(np.stack([_along_a_line(some, weights[0]) for some in near.points]))[:, None]
    shape = near.pairs.shape
    return _not_all(linked(distances(near.pairs.reshape(-1, *shape[2:])), 2, "ward") == 0).reshape(shape[:3])


def _not_all(part: Mask) -> Mask:  # (S, m) -> (S, m)
    """Equal points are not split by linkage: then the first one is the part."""
    part[part.all(axis=1), 1:] = False
    return part


def _oddest(near: _Products, weights: Array) -> Mask:  # (G, m) -> (S, G, m)
    """The arm that is farthest from all others of its group, in units of its error."""
    total = weights.sum(axis=1, keepdims=True)
    to_mean = near.with_sum(weights / total)  # (S, G, m): the mean of all arms
    away = near.squares() - 2 * to_mean + (to_mean * (weights / total)).sum(axis=2, keepdims=True)
    # The difference from the mean of the others is that from the mean of all, times all / others.
    rest = total - weights
    far = away / np.square(rest) / (1 / weights + 1 / rest)
    return np.asarray(np.arange(weights.shape[1]) == far.argmax(axis=2)[..., None])


def _along_a_line(points: Array, weights: Array) -> Mask:
    """The best cut of the arms, ordered along the line on which they differ most."""
    centred = (points - np.average(points, axis=0, weights=weights)) * np.sqrt(weights)[:, None]
    line = np.linalg.svd(centred, full_matrices=False)[2][0]
    places = points @ line
    order = np.argsort(places, kind="stable")
    below = np.cumsum(weights[order])[:-1]
    sums = np.cumsum((weights * places)[order])
    above, rest = weights.sum() - below, sums[-1] - sums[:-1]
    between = np.square(sums[:-1] / below - rest / above) * below * above
    part = np.zeros(len(points), dtype=np.bool_)
    part[order[: int(between.argmax()) + 1]] = True
    return part
