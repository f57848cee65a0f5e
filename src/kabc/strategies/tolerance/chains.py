"""Groups by sight, and chains: arms that are within the tolerance of more than one group.

Estimates from the mean features of each arm; nothing here is certified, and nothing that is certified rests on it.
Sameness within a tolerance is not transitive, so there may be no clean answer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kabc.core.arrays import Array, Counts, Index, Mask
from kabc.strategies.tolerance.claim import WHOLE
from kabc.strategies.tolerance.ruler import Ruler


_STANDS_OUT = 4.0  # standard deviations of the noise: groups that are so far apart on average are not joined
_RIDGE = 0.01  # of the largest variance
_ODD = 40.0  # the noise of an odd arm may be so many times the typical one


@dataclass(frozen=True, eq=False)
class Seen:
    """Sums of features and numbers of samples of each arm, after the pilot."""

    sums: Array  # (N, D)
    counts: Counts  # (N,)
    ruler: Ruler

    def distances(self) -> Array:  # -> (N, N)
        """Estimated distances of all pairs, without the part that is noise; infinite for arms without samples."""
        n = np.maximum(self.counts, 1)
        means = self.sums / n[:, None]
        squares = np.square(means[:, None] - means).sum(axis=-1) if len(n) <= 64 else _squares(means)
        noise = float(np.trace(self.ruler.covariance)) * (1 / n[:, None] + 1 / n)
        found: Array = np.sqrt(np.maximum(squares - noise, 0.0))
        found[self.counts == 0] = found[:, self.counts == 0] = np.inf
        np.fill_diagonal(found, 0.0)
        return found

    def errors(self) -> Array:  # -> (N, N)
        """Standard errors of these distances, at most."""
        n = np.maximum(self.counts, 1)
        widest = float(np.linalg.eigvalsh(self.ruler.covariance)[-1])
        return np.asarray(np.sqrt(widest * (1 / n[:, None] + 1 / n)))

    def groups(self, apart: Mask) -> Index:  # (N, N) -> (N,)
        """Groups that look alike: average linkage, then each arm joins the nearest. Told apart: never in one group."""
        from scipy.cluster.hierarchy import fcluster, linkage
        from scipy.spatial.distance import squareform

        n = np.maximum(self.counts, 1)
        values, vectors = np.linalg.eigh(self.ruler.covariance)
        values = np.maximum(values, 0.0)
        sizes = values / (values + _RIDGE * max(float(values[-1]), 1e-300))  # of the noise of a sample, by direction
        means = (self.sums / n[:, None]) @ (vectors * np.sqrt(sizes / np.maximum(values, 1e-300)))
        away = _squares(means) / (1 / n[:, None] + 1 / n) - sizes.sum()
        away = np.maximum(away / max(float(np.sqrt(2 * np.square(sizes).sum())), 1e-300), 0.0)
        # An average over at most N^2 / 4 pairs, one of them told apart, lies above the cut.
        away = np.where(apart, _STANDS_OUT * len(n) ** 2, np.minimum(away, _STANDS_OUT * len(n)))
        np.fill_diagonal(away, 0.0)
        tree = linkage(squareform((away + away.T) / 2, checks=False), method="average")
        labels = np.asarray(fcluster(tree, _STANDS_OUT, "distance") - 1, dtype=np.intp)
        return _joined(means, n, _nearest(means, n, labels, apart), apart, float(sizes.sum()))


def _nearest(means: Array, counts: Counts, labels: Index, apart: Mask) -> Index:  # (N, D), (N,), (N,), (N, N) -> (N,)
    """Each arm in the group whose centre is nearest, unless it is told apart from an arm there, or is one by itself."""
    within = (labels == np.arange(int(labels.max()) + 1)[:, None]) * counts  # (G, N)
    centres = within @ means / within.sum(axis=1)[:, None]
    squares = np.square(means).sum(axis=1)[:, None] + np.square(centres).sum(axis=1) - 2 * means @ centres.T
    squares[(apart @ (within > 0).T) > 0] = np.inf
    alone = np.bincount(labels)[labels] == 1
    return np.asarray(np.where(alone, labels, squares.argmin(axis=1)), dtype=np.intp)


def _joined(means: Array, counts: Counts, labels: Index, apart: Mask, noise: float) -> Index:
    """The same groups, where two odd ones that are near each other and far from all others are one.

    The noise of arms that are unlike most others is not known: it may be much larger than what is typical.
    """
    while True:
        kept, labels = np.unique(labels, return_inverse=True)
        within = (labels == np.arange(len(kept))[:, None]) * counts  # (G, N)
        totals = within.sum(axis=1)
        squares = _squares(within @ means / totals[:, None])
        squares[((within > 0) @ apart @ (within > 0).T) > 0] = np.inf
        np.fill_diagonal(squares, np.inf)
        second = np.partition(squares, 1, axis=1)[:, 1] if len(kept) > 2 else np.zeros(len(kept))
        near = (squares < 0.5 * np.minimum(second[:, None], second)) & (
            squares < _ODD * noise * (1 / totals[:, None] + 1 / totals)
        )
        if not near.any():
            return labels
        first, other = np.unravel_index(int(np.argmin(np.where(near, squares, np.inf))), near.shape)
        labels[labels == other] = first


def _squares(means: Array) -> Array:  # (N, D) -> (N, N)
    norms = np.square(means).sum(axis=1)
    return np.asarray(np.maximum(norms[:, None] + norms - 2 * means @ means.T, 0.0))


def looks_apart(seen: Seen, labels: Index) -> bool:  # (N,)
    """Whether two arms of a group look farther apart than the tolerance: then a claim is not accepted yet.

    Of groups with many arms two always look far apart.
    """
    small = (labels >= 0) & (np.bincount(labels[labels >= 0], minlength=1)[labels] <= WHOLE)
    together = (labels[:, None] == labels) & small
    return bool((together & (seen.distances() >= seen.ruler.eps)).any())


def in_between(seen: Seen, labels: Index) -> tuple[int, ...]:  # (N,)
    """Arms that look as if they were within the tolerance of arms of two groups, up to the error of the estimate."""
    near = (seen.distances() < seen.ruler.eps + seen.errors()) & ~np.eye(len(labels), dtype=np.bool_)
    return tuple(
        arm
        for arm in range(len(labels))
        if labels[arm] >= 0 and len({int(one) for one in labels[near[arm]] if one >= 0}) > 1
    )
