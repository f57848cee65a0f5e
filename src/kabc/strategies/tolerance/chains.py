"""Chains: arms that are within the tolerance of more than one group. Sameness within a tolerance is not transitive.

Estimates from the mean features of each arm; nothing here is certified, and nothing that is certified rests on it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kabc.core.arrays import Array, Counts, Index
from kabc.strategies.tolerance.ruler import Ruler


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


def _squares(means: Array) -> Array:  # (N, D) -> (N, N)
    norms = np.square(means).sum(axis=1)
    return np.asarray(np.maximum(norms[:, None] + norms - 2 * means @ means.T, 0.0))


def looks_apart(seen: Seen, labels: Index) -> bool:  # (N,)
    """Whether two arms of a group look farther apart than the tolerance: then a claim is not accepted yet."""
    together = (labels[:, None] == labels) & (labels >= 0)
    return bool((together & (seen.distances() >= seen.ruler.eps)).any())


def in_between(seen: Seen, labels: Index) -> tuple[int, ...]:  # (N,)
    """Arms that look as if they were within the tolerance of arms of two groups, up to the error of the estimate."""
    near = (seen.distances() < seen.ruler.eps + seen.errors()) & ~np.eye(len(labels), dtype=np.bool_)
    return tuple(
        arm
        for arm in range(len(labels))
        if labels[arm] >= 0 and len({int(one) for one in labels[near[arm]] if one >= 0}) > 1
    )
