"""Agglomerative grouping of the same arms as many spaces see them, all spaces at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from kabc.core.arrays import Array, Index, Mask

_FEW = 40  # points; for more, one space after the other by scipy takes less time


def linked(
    points: Sequence[Array], n_groups: int, *methods: Literal["average", "ward"]
) -> Index:  # S of (n, D), M methods -> (M S, n)
    """Groups of the points of each space by linkage, at most `n_groups`: fewer if some merges are equally far.

    All spaces by the first method come first, then all by the next.
    """
    n = len(points[0])
    if n <= n_groups:
        return np.tile(np.arange(n), (len(points) * len(methods), 1))
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import cdist, pdist  # linkage itself may take a square table of points for distances

    if n > _FEW:
        far_apart = [pdist(some) for some in points]
        merges = (linkage(far, method) for method in methods for far in far_apart)
        return np.stack([fcluster(one, n_groups, "maxclust") - 1 for one in merges])
    far = np.stack([cdist(some, some) for some in points])
    by_method = np.concatenate([np.square(far) if method == "ward" else far for method in methods])
    return _grouped(by_method, np.repeat([method == "ward" for method in methods], len(points)), n_groups)


def _grouped(far: Array, by_ward: Mask, n_groups: int) -> Index:  # (S, n, n), (S,) -> (S, n)
    """The same from distances, squared for Ward's method, by the recurrence of Lance and Williams. Changes `far`."""
    n_spaces, n = far.shape[:2]
    each, flat, sizes = np.arange(n_spaces), far.reshape(n_spaces, -1), np.ones((n_spaces, n))
    flat[:, :: n + 1] = np.inf
    pairs, heights = np.empty((n - 1, 2, n_spaces), dtype=np.intp), np.empty((n - 1, n_spaces))
    for step in range(n - 1):
        i, j = pairs[step] = np.divmod(flat.argmin(axis=1), n)  # the nearest two; i < j, as the first of both ways
        heights[step] = far[each, i, j]
        a, b = sizes[each, i, None], sizes[each, j, None]
        others = np.where(by_ward[:, None], sizes, 0.0)  # without them it is the average
        joined = (a + others) * far[each, i] + (b + others) * far[each, j] - others * heights[step, :, None]
        joined /= a + b + others
        joined[each, i] = np.inf
        far[each, i] = far[each, :, i] = joined
        far[each, j] = far[each, :, j] = np.inf
        sizes[each, i] += sizes[each, j]
    return _numbered(pairs, heights <= heights[n - n_groups - 1])


def _numbered(pairs: Index, made: Mask) -> Index:  # (n - 1, 2, S), (n - 1, S) -> (S, n)
    """Groups after the merges that were made, numbered as scipy does it: down the tree, the part that grew first first.

    Single points come last. The other merges have one tree for each space.
    """
    n, each = len(pairs) + 1, np.arange(pairs.shape[2])
    age = np.tile(2 * n + np.arange(n), (len(each), 1))  # of the part of the tree that starts with each point
    groups = np.ones((len(each), n), dtype=np.intp)
    below = []
    for step, ((i, j), done) in enumerate(zip(pairs, made, strict=True)):
        below.append((age[each, i] < age[each, j], groups[each, i], groups[each, j]))
        age[each, i] = step
        groups[each, i] += np.where(done, 0, groups[each, j])
    number = np.zeros_like(groups)
    for (i, j), done, (is_first, of_i, of_j) in zip(pairs[::-1], made[::-1], below[::-1], strict=True):
        start = number[each, i]
        number[each, j] = start + np.where(is_first & ~done, of_i, 0)
        number[each, i] = start + np.where(is_first | done, 0, of_j)
    return number
