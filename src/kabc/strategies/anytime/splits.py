"""Ways in which a group could be two: guesses from earlier samples, and the score that bets on each.

| symbol | here        | meaning                                                                                  |
|--------|-------------|------------------------------------------------------------------------------------------|
| A, B   | `sides`     | +1 for arms of part A, -1 for arms of part B, 0 for arms that are in no split            |
| d      | `away`      | difference of the whitened means of A and B                                              |
| s      |             | how much of d is taken for real: the rest is what chance does to the best of many splits |
| l      | `directions`| score s <phi - m_B - s d / 2, d> of a sample: how much it looks like A                   |

A guess may be as wild as it likes. It is bet on samples that are drawn after it was made.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from kabc.core.arrays import Array, Index, Mask
from kabc.core.scores.discriminant import Moments, Space

KINDS = 2  # the oddest arm against all others; two parts
_MOST_LINKED = 300  # arms; linkage needs the distances of all pairs


@dataclass(frozen=True, slots=True, eq=False)
class Splits:
    """One split of each group, of each kind, as seen by one scorer."""

    sides: Index  # (T, N)
    directions: Array  # (D, T, G)
    offsets: Array  # (T, G)
    strength: Array  # (T, G), |s d|^2 in units of its error

    def scores(self, features: Array, groups: Index) -> Array:  # (n, D), (n,) -> (n, T)
        """l of each sample, by the splits of its own group."""
        n_features, kinds, n_groups = self.directions.shape
        all_groups = (features @ self.directions.reshape(n_features, -1)).reshape(-1, kinds, n_groups) - self.offsets
        return np.asarray(all_groups[np.arange(len(features)), :, groups])


def guessed(learner: Moments, labels: Index) -> list[Splits]:  # (N,)
    """A guess for each ridge of a learner; labels are -1 for arms that are in no group."""
    return [_in_space(space, learner.counts, labels) for space in learner.spaces()]


def _in_space(space: Space, counts: Array, labels: Index) -> Splits:  # (N,), (N,)
    n_groups = int(labels.max()) + 1
    sides = np.zeros((KINDS, len(labels)), dtype=np.intp)
    directions = np.zeros((len(space.basis), KINDS, n_groups))
    offsets, strength = np.zeros((KINDS, n_groups)), np.zeros((KINDS, n_groups))
    for group in range(n_groups):
        arms = np.flatnonzero((labels == group) & (counts > 0))
        if len(arms) < 2:
            continue
        points, weights = space.means[arms], counts[arms]
        for kind, part in enumerate(_parts(points, weights)):
            away, offsets[kind, group], strength[kind, group] = _bet_on(points, weights, part, space.noise)
            sides[kind, arms] = np.where(part, 1, -1)
            directions[:, kind, group] = space.basis @ away
    return Splits(sides, directions, offsets, strength)


def _bet_on(points: Array, weights: Array, part: Mask, noise: float) -> tuple[Array, float, float]:
    """Direction and offset of the score for A against B, and how far apart they are."""
    in_a, in_b = weights[part], weights[~part]
    centre = in_b @ points[~part] / in_b.sum()
    away = in_a @ points[part] / in_a.sum() - centre
    error = float(1 / in_a.sum() + 1 / in_b.sum())
    by_chance = (noise + 2 * _log_choices(part)) * error
    far = float(away @ away)
    away = away * (max(0.0, 1 - by_chance / far) if far > 0 else 0.0)  # s d, James and Stein
    return away, float(away @ centre + 0.5 * away @ away), float(away @ away) / error


def _log_choices(part: Mask) -> float:
    """Log of the number of parts of this size, at most of what a cut along a line could choose from."""
    n, size = len(part), int(part.sum())
    return min(0.5 * n, math.lgamma(n + 1) - math.lgamma(size + 1) - math.lgamma(n - size + 1))


def _parts(points: Array, weights: Array) -> list[Mask]:  # (m, D), (m,) -> KINDS of (m,)
    """Part A of each kind of split. It is neither empty nor everything."""
    several = _linked(points) if len(points) <= _MOST_LINKED else _along_a_line(points, weights)
    return [_oddest(points, weights), several]


def _oddest(points: Array, weights: Array) -> Mask:
    """The arm that is farthest from all others, in units of its error."""
    total = weights.sum()
    rest = (weights @ points - weights[:, None] * points) / (total - weights)[:, None]
    error = 1 / weights + 1 / (total - weights)
    return np.asarray(np.arange(len(points)) == (np.square(points - rest).sum(axis=1) / error).argmax())


def _linked(points: Array) -> Mask:
    """Two parts by Ward's linkage; single odd arms are the other kind."""
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import pdist  # linkage itself may take a square table of points for distances, and warn

    part: Mask = fcluster(linkage(pdist(points), "ward"), 2, "maxclust") == 1
    return part if not part.all() else np.arange(len(points)) == 0  # equal points are not split


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
