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
_ODD = 3  # arms; smaller groups are not seen: what is odd about their arms is bet on (`suspicion.py`)


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
        return _nearest(means, n, labels, apart)


def _nearest(means: Array, counts: Counts, labels: Index, apart: Mask) -> Index:  # (N, D), (N,), (N,), (N, N) -> (N,)
    """Each arm in the group whose centre is nearest, unless it is told apart from an arm there."""
    within = (labels == np.arange(int(labels.max()) + 1)[:, None]) * counts  # (G, N)
    centres = within @ means / within.sum(axis=1)[:, None]
    squares = np.square(means).sum(axis=1)[:, None] + np.square(centres).sum(axis=1) - 2 * means @ centres.T
    odd = np.bincount(labels) < min(_ODD, int(np.bincount(labels).max()))
    barred = (apart @ (within > 0).T) > 0  # (N, G)
    squares[barred | (odd & (labels[:, None] != np.arange(len(odd))))] = np.inf
    free = np.where(odd, np.inf, squares)  # an odd arm stays where it is if it can go nowhere else
    best = np.where(np.isfinite(free).any(axis=1), free.argmin(axis=1), labels)
    return np.asarray(best, dtype=np.intp)


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


def in_between(seen: Seen, labels: Index, farther: Mask) -> tuple[int, ...]:  # (N,), (N, N)
    """Arms that look as if they were within the tolerance of arms of two groups, up to the error of the estimate.

    `farther` are pairs that are proven to be farther apart than the tolerance.
    """
    near = (seen.distances() < seen.ruler.eps + seen.errors()) & ~farther
    np.fill_diagonal(near, False)
    return tuple(
        arm
        for arm in range(len(labels))
        if labels[arm] >= 0 and len({int(one) for one in labels[near[arm]] if one >= 0}) > 1
    )
