"""A guess at the groups from the evidence. It agrees with every pair told apart.

| symbol | here        | meaning                                                                                     |
|--------|-------------|---------------------------------------------------------------------------------------------|
| s_ij   | `strength`  | evidence against a pair in units of its threshold, (N, C); NaN if it was never compared     |
|        | `apart`     | pairs told apart, (N, C)                                                                    |
|        | `compared`  | the arms of the columns, (C,); if two arms both have columns, their two entries are equal    |

A partition agrees with the evidence if no group has two arms that were told apart. Then it has at least as many groups
as there are arms pairwise told apart. If no partition into K groups agrees, it has more than K.
"""

from __future__ import annotations

import numpy as np

from kabc.core.arrays import Array, Index, Mask
from kabc.core.partitions.partition import Partition

MOST_LINKED = 2_000  # arms; linkage of more of them takes too much memory: 5 matrices of this size are 160 MB


def agrees(labels: Index, apart: Mask, compared: Index) -> bool:  # (N,), (N, C), (C,)
    """Whether no two arms with the same label were told apart."""
    return not bool((apart & (labels[:, None] == labels[compared])).any())


def agreeing_partition(strength: Array, apart: Mask, compared: Index, n_groups: int = 1) -> Partition:
    """As few groups as are found without a pair told apart inside one of them, but at least `n_groups`.

    Average linkage if all arms were compared with all: groups whose arms look most alike on average are joined first,
    and two groups with a pair told apart are never joined. O(N^2) time and memory. With more than `MOST_LINKED` arms,
    or if only some arms were compared with all: arm after arm joins the group that it looks most like. O(N C) time,
    O(N + C) memory, and `n_groups` is not looked at.
    """
    n_arms = len(strength)
    if n_arms <= MOST_LINKED and len(compared) == n_arms:
        back = np.argsort(compared)  # the columns in the order of the arms
        return Partition.of(_linked(strength[:, back], apart[:, back], n_groups).tolist())
    return Partition.of(_one_by_one(strength, apart, compared).tolist())


def _linked(strength: Array, apart: Mask, n_groups: int) -> Index:  # (N, N), (N, N) -> (N,)
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import squareform

    n_arms = len(strength)
    if n_arms == 1:
        return np.zeros(1, dtype=np.intp)
    # An average over at most N^2 / 4 pairs, one of them told apart, lies above every average of open pairs.
    distances = np.where(apart | apart.T, float(n_arms**2), _of_open_pairs(strength))
    np.fill_diagonal(distances, 0.0)
    tree = linkage(squareform(distances, checks=False), method="average")
    n_joins = min(int(np.count_nonzero(tree[:, 2] <= 1.0)), n_arms - n_groups)  # lowest first
    labels = np.arange(2 * n_arms - 1)
    for step in range(n_joins - 1, -1, -1):  # node N + step has two parts, which take its label
        labels[tree[step, :2].astype(np.intp)] = labels[n_arms + step]
    return labels[:n_arms]


def _of_open_pairs(strength: Array) -> Array:
    """Strengths between 0 and 1. A pair that was never compared counts as 0: nothing speaks against it."""
    return np.clip(np.nan_to_num(strength, nan=0.0, posinf=1.0, neginf=0.0), 0.0, 1.0)


def _one_by_one(strength: Array, apart: Mask, compared: Index) -> Index:  # (N, C), (N, C), (C,) -> (N,)
    """Arms told apart from most arms come first. An arm opens a group if it fits into none."""
    labels = np.full(len(strength), -1, dtype=np.intp)
    columns = dict(zip(compared.tolist(), range(len(compared)), strict=True))
    n_apart = apart.sum(axis=1)
    n_apart[compared] = apart.sum(axis=0)
    n_groups = 0
    for arm in np.argsort(-n_apart, kind="stable").tolist():
        if arm in columns:
            theirs, against, told = labels, strength[:, columns[arm]], apart[:, columns[arm]]
        else:
            theirs, against, told = labels[compared], strength[arm], apart[arm]
        known = (theirs >= 0) & ~np.isnan(against)
        sums = np.bincount(theirs[known], _of_open_pairs(against[known]), n_groups)
        counts = np.bincount(theirs[known], minlength=n_groups)
        means = np.where(counts > 0, sums / np.maximum(counts, 1), 1.0)  # prefer groups that it was compared with
        means[theirs[told & (theirs >= 0)]] = np.inf
        fits = bool(np.isfinite(means).any())
        labels[arm] = means.argmin() if fits else n_groups
        n_groups += not fits
    return labels
