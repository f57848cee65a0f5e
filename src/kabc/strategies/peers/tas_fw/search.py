"""Searches for a likely partition in a class that is too large to try all. There is one search for each task."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kabc.core.arrays import Array, Counts, Index
from kabc.core.partitions import Partition
from kabc.strategies.peers.tas_fw.classes import Task
from kabc.strategies.peers.tas_fw.likelihoods import log_likelihood


def _likeliest_odd_arm(counts: Counts, n_groups: int) -> Index:  # (N, m) -> (N,)
    """The odd arm with the largest likelihood."""
    odd = int((log_likelihood(counts) + log_likelihood(counts.sum(axis=0) - counts)).argmax())
    return np.asarray(np.arange(len(counts)) == odd, dtype=np.intp)


def _agglomerated(counts: Counts, n_groups: int) -> Index:  # (N, m) -> (N,)
    """Join the two groups with the least loss of likelihood until K are left. Then move single arms while it helps."""
    labels, pooled = np.arange(len(counts)), counts.copy()
    alive = list(range(len(counts)))
    losses = _losses(counts, counts)
    np.fill_diagonal(losses, np.inf)
    while len(alive) > n_groups:
        block = losses[np.ix_(alive, alive)]
        a, b = (alive[int(k)] for k in np.unravel_index(int(block.argmin()), block.shape))
        pooled[a] += pooled[b]
        labels[labels == b] = a
        alive.remove(b)
        losses[a, alive] = losses[alive, a] = _losses(pooled[a][None], pooled[alive])[0]
        losses[a, a] = np.inf
    return _settled(counts, np.searchsorted(alive, labels))


def _losses(x: Counts, y: Counts) -> Array:  # (a, m), (b, m) -> (a, b)
    """The loss of log likelihood when two sets of samples must share one pmf."""
    apart = log_likelihood(x)[:, None] + log_likelihood(y)[None, :]
    return np.asarray(apart - log_likelihood(x[:, None, :] + y[None, :, :]))


def _settled(counts: Counts, labels: Index) -> Index:  # (N, m), (N,) -> (N,)
    """Move one arm at a time to the group where it costs least, at most N moves."""
    labels = labels.copy()
    n_groups = int(labels.max()) + 1
    for _ in range(len(labels)):
        members = labels == np.arange(n_groups)[:, None]  # (K, N)
        pooled = members.astype(np.int64) @ counts
        others = pooled[labels] - counts  # the arm's group without it
        stays = log_likelihood(pooled[labels]) - log_likelihood(others)
        goes = log_likelihood(pooled[None] + counts[:, None]) - log_likelihood(pooled)[None]  # (N, K)
        goes[np.arange(len(labels)), labels] = stays
        gains = np.where(members.sum(axis=1)[labels, None] > 1, goes - stays[:, None], 0.0)
        arm, group = np.unravel_index(int(gains.argmax()), gains.shape)
        if gains[arm, group] <= 1e-9:
            break
        labels[arm] = group
    return labels


def _nearest_pairs(counts: Counts, n_groups: int) -> Index:  # (N, m) -> (N,)
    """N - K disjoint pairs, chosen one after the other by the least loss of likelihood."""
    losses = _losses(counts, counts)
    np.fill_diagonal(losses, np.inf)
    labels = np.arange(len(counts))
    for _ in range(len(counts) - n_groups):
        a, b = np.unravel_index(int(losses.argmin()), losses.shape)
        labels[b] = a
        losses[[a, b]] = losses[:, [a, b]] = np.inf
    return np.array(Partition.of(labels.tolist()).labels, dtype=np.intp)


SEARCHES: dict[Task, Callable[[Counts, int], Index]] = {
    "clustering": _agglomerated,
    "odd-arm": _likeliest_odd_arm,
    "matching-pairs": _nearest_pairs,
}
