"""What a pilot says of the groups: a guess of labels, gap and variance, or that it is too small to say anything.

A partition that was chosen on some samples looks good on the same samples, even if all arms are equal. So groups are
guessed on one half of the pilot and looked for in the other half. If they are there, all rows say how far they are
apart: a half would say it with twice the noise.

| symbol | here      | meaning                                                                                 |
|--------|-----------|-----------------------------------------------------------------------------------------|
| m_g    |           | mean embedding of all rows of group g                                                   |
| D_gh   | `squared` | ||m_g - m_h||^2 of the rows                                                             |
| B_gh   | `noise`   | V_g / n_g + V_h / n_h, what D_gh would be on average if both groups were the same       |
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kabc.core.arrays import Array, Index
from kabc.core.embeddings import RandomFeatures, embed
from kabc.core.errors import SettingsError
from kabc.core.kernels import Gaussian, Kernel
from kabc.core.words import counted

Rows = Sequence[NDArray[Any]]  # N arrays (n_i, d)

_LEVEL = 0.05  # chance that a pilot of equal arms is said to show groups
_MOST_ROWS = 2000  # whose pairs are all summed
_FEWEST = 4  # rows of an arm: two in each half


@dataclass(frozen=True)
class Guessed:
    """Groups that a pilot shows.

    Attributes
    ----------
    labels : the group of each arm.
    gap : distance of the closest groups, without the noise of the pilot.
    seen : the same with that noise, as samples drawn from the pilot's rows would have it.
    variance : the largest variance of an arm.
    """

    labels: Index  # (N,)
    gap: float
    seen: float
    variance: float

    @property
    def n_groups(self) -> int:
        """How many groups there are."""
        return int(self.labels.max()) + 1


@dataclass(frozen=True)
class Measured:
    """Squared distances of the rows of all arms, with their noise."""

    squared: Array  # (N, N)
    variances: Array  # (N,)
    counts: NDArray[np.int64]  # (N,)

    @classmethod
    def of(cls, kernel: Kernel, rows: Rows) -> Measured:
        """Measure these rows."""
        embedding = embed(kernel, len(rows)).extended(list(rows))
        return cls(embedding.squared_distances(), embedding.variances(), embedding.counts)

    def groups(self, n_clusters: int) -> Index:  # (N,)
        """K groups by average linkage of the squared distances, without their bias."""
        from scipy.cluster.hierarchy import average, fcluster
        from scipy.spatial.distance import squareform

        bias = self.variances / self.counts  # E ||mu_hat - mu||^2
        squared = np.maximum(self.squared - bias[:, None] - bias, 0.0)
        np.fill_diagonal(squared, 0.0)
        found = fcluster(average(squareform(squared, checks=False)), n_clusters, criterion="maxclust")
        return np.unique(found, return_inverse=True)[1].astype(np.intp)

    def between(self, labels: Index) -> tuple[Array, Array]:  # (N,) -> (G, G), (G, G)
        """D_gh and B_gh of these groups."""
        member = (labels[:, None] == np.arange(int(labels.max()) + 1)).astype(np.float64)  # (N, G)
        share = member * self.counts[:, None]
        share /= share.sum(axis=0)
        # for distributions p, q with sum 1: ||m_p - m_q||^2 = p'Sq - p'Sp / 2 - q'Sq / 2, S the squared distances
        products = share.T @ self.squared @ share
        within = np.diag(products) / 2
        bias = (share.T @ self.variances) / (member.T @ self.counts)
        return products - within[:, None] - within, bias[:, None] + bias


def guessed_groups(kernel: Kernel, rows: Rows, n_clusters: int | None) -> Guessed:
    """The groups of a pilot; without K as many as it shows. A SettingsError says that it shows none."""
    fewest = min(map(len, rows))
    if fewest < _FEWEST:
        raise SettingsError(
            f"a pilot needs at least {_FEWEST} samples of each arm, the smallest arm has {fewest}; take more, or "
            "assume a gap with gap="
        )
    first, second = (Measured.of(kernel, [x[part::2] for x in rows]) for part in (0, 1))
    if n_clusters is None:
        n_clusters = _groups_shown(first, second)
    whole = Measured.of(kernel, rows)
    labels = whole.groups(n_clusters)
    gap = _smallest(whole, labels, n_clusters)
    if gap is None or _smallest(second, first.groups(n_clusters), n_clusters) is None:
        shown = f"{n_clusters} groups" if n_clusters > 1 else "any difference"
        instead = "assume a gap with gap=" if n_clusters > 1 else "ask for a tolerance with tolerance="
        raise SettingsError(
            f"{counted(fewest, 'sample')} of each arm do not show {shown}, so what a run will cost cannot be told yet; "
            f"take a larger pilot, or {instead}"
        )
    squared, _ = whole.between(labels)
    seen = math.sqrt(max(gap, float(squared[~np.eye(len(squared), dtype=np.bool_)].min(initial=math.inf))))
    return Guessed(labels, math.sqrt(gap), seen, float(whole.variances.max()))


def groups_of_rows(rows: Rows, n_clusters: int | None) -> Guessed:
    """The groups of a pilot, in the eyes of a Gaussian kernel that suits it."""
    return guessed_groups(quick(Gaussian.from_pilot(np.concatenate(rows)), rows), rows, n_clusters)


def groups_or_one(rows: Rows) -> Index:  # (N,)
    """The groups that a pilot shows; one group of all where it shows no difference."""
    try:
        return groups_of_rows(rows, None).labels
    except SettingsError:
        return np.zeros(len(rows), dtype=np.intp)


def quick(kernel: Kernel, rows: Rows) -> Kernel:
    """The kernel to guess groups with: many rows are summed by features, because all pairs of them would take long."""
    if not isinstance(kernel, Gaussian) or sum(map(len, rows)) <= _MOST_ROWS:
        return kernel
    return RandomFeatures(kernel, n_features=256)


def _groups_shown(first: Measured, second: Measured) -> int:
    """The largest number of groups whose differences are all seen, counted up from 2; 1 if there is none."""
    shown = 1
    while shown < len(first.counts) and _smallest(second, first.groups(shown + 1), shown + 1) is not None:
        shown += 1
    return shown


def _smallest(measured: Measured, labels: Index, n_clusters: int) -> float | None:
    """The smallest squared distance of two of K groups, without noise; None if noise alone may have made one of them.

    Under no difference D / B is a weighted mean of chi^2 variables with one degree of freedom. Its tail is at most
    about that of one such variable, which is the limit here.
    """
    from scipy.stats import chi2

    if n_clusters < 2 or int(labels.max()) + 1 < n_clusters:
        return None
    squared, noise = measured.between(labels)
    across = ~np.eye(n_clusters, dtype=np.bool_)
    limit = float(chi2.isf(_LEVEL / math.comb(n_clusters, 2), 1))
    seen = bool((squared[across] > limit * noise[across]).all())
    return float((squared - noise)[across].min()) if seen else None
