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

    All spaces by the first method come first, then all by the next. Groups are numbered from 0, in any order.
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
    spaces, flat, sizes = np.arange(n_spaces), far.reshape(n_spaces, -1), np.ones((n_spaces, n))
    flat[:, :: n + 1] = np.inf
    first = np.tile(np.arange(n), (n_spaces, 1))  # the first point of the group of each point
    heights = np.zeros(n_spaces)
    for step in range(n - 1):
        some = spaces if len(spaces) < n_spaces else slice(None)
        i, j = np.divmod(flat[some].argmin(axis=1), n)  # the nearest two; i < j, as the first of both ways
        nearest = far[spaces, i, j]
        if step >= n - n_groups:
            equal = nearest <= heights[spaces]  # as far as the last merge: made, too
            if not equal.any():
                break
            spaces, i, j, nearest = spaces[equal], i[equal], j[equal], nearest[equal]
        heights[spaces] = nearest
        others = np.where(by_ward[spaces, None], sizes[spaces], 0.0)  # without them it is the average
        a, b = sizes[spaces, i, None], sizes[spaces, j, None]
        joined = (a + others) * far[spaces, i] + (b + others) * far[spaces, j] - others * nearest[:, None]
        joined /= a + b + others
        joined[np.arange(len(spaces)), i] = np.inf
        far[spaces, i] = far[spaces, :, i] = joined
        far[spaces, j] = far[spaces, :, j] = np.inf
        sizes[spaces, i] += sizes[spaces, j]
        first[spaces] = np.where(first[spaces] == j[:, None], i[:, None], first[spaces])
    numbers = (first == np.arange(n)).cumsum(axis=1) - 1
    return np.asarray(np.take_along_axis(numbers, first, axis=1))
