"""Methods that group arms by the squared distances of their mean embeddings.

| symbol   | here          | meaning                                                                                 |
|----------|---------------|-----------------------------------------------------------------------------------------|
| MMD_ij^2 | `squared`     | squared distance of two empirical mean embeddings (eq. empdist), (N, N)                 |
| G        | `_points`     | inner products of mean embeddings minus their common mean: what K-means in the RKHS sees |
| A, s     | `spectral`    | affinity exp(-MMD^2 / (2 s^2)), A_ii = 0, s the median MMD of the pairs                 |
| L        | `spectral`    | D^(-1/2) A D^(-1/2), D_ii the sum of row i of A                                         |
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Literal

import numpy as np

from kabc.core.arrays import Array, Index
from kabc.core.partitions import single_linkage

Method = Callable[[Array, int, int], Index]  # squared distances (N, N), K, seed -> (N,)
Start = Literal["random", "k-means++"]
_RESTARTS = 20


def k_means(squared: Array, n_groups: int, seed: int, *, start: Start) -> Index:  # (N, N) -> (N,)
    """Kernel K-means: Lloyd's algorithm on mean embeddings, the best of several starts."""
    return _k_means(_points(squared), n_groups, seed, start)


def _points(squared: Array) -> Array:  # (N, N) -> (N, N)
    """Points with these squared distances: K-means on them is K-means on the mean embeddings."""
    centred = squared - squared.mean(axis=0)
    values, vectors = np.linalg.eigh((centred - centred.mean(axis=1, keepdims=True)) / -2)  # G
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


def spectral(squared: Array, n_groups: int, seed: int) -> Index:  # (N, N) -> (N,)
    """K-means on the rows, scaled to length 1, of the K largest eigenvectors of L."""
    between = squared[~np.eye(len(squared), dtype=np.bool_)]
    scale = float(np.median(np.sqrt(between))) or 1.0  # if all arms are equal, any scale works
    affinity = np.exp(-squared / (2 * scale**2))
    np.fill_diagonal(affinity, 0.0)
    # an arm far from all others has no affinity: its row is zero, and it becomes a separate point
    roots = np.sqrt(np.maximum(affinity.sum(axis=1), np.finfo(np.float64).tiny))
    _, vectors = np.linalg.eigh(affinity / np.outer(roots, roots))
    rows = vectors[:, -n_groups:]
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return _k_means(rows / np.where(lengths > 0, lengths, 1.0), n_groups, seed, "k-means++")


def linkage(squared: Array, n_groups: int, seed: int) -> Index:  # (N, N) -> (N,)
    """Single linkage: the minimum spanning tree without its K - 1 longest edges."""
    return np.array(single_linkage(squared, n_groups).labels, dtype=np.intp)


def farthest_first(squared: Array, n_groups: int, seed: int) -> Index:  # (N, N) -> (N,)
    """The first centre is arm 0, the next is always the arm farthest from all centres. Arms join the nearest one."""
    centres = [0]  # arbitrary in the paper
    while len(centres) < n_groups:
        centres.append(int(squared[:, centres].min(axis=1).argmax()))
    return np.asarray(squared[:, centres].argmin(axis=1), dtype=np.intp)


def _k_means(points: Array, n_groups: int, seed: int, start: Start) -> Index:  # (N, D) -> (N,)
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer than K different points give fewer groups
        fitted = KMeans(n_groups, init=start, n_init=_RESTARTS, random_state=seed).fit(points)
    return np.asarray(fitted.labels_, dtype=np.intp)
