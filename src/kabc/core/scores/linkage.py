"""Agglomerative grouping of the same arms as many spaces see them, all spaces at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from kabc.core.arrays import Array, Index, Mask

FEW = 40  # points; for more, one space after the other by scipy takes less time


def linked(
    points: Sequence[Array], n_groups: int, *methods: Literal["average", "ward"]
) -> Index:  # S of (n, D), M methods -> (M S, n)
    """Groups of the points of each space by linkage, at most `n_groups`: fewer if some merges are equally far.

    All spaces by the first method come first, then all by the next. Groups are numbered from 0, in any order.
    """
    n = len(points[0])
    if n <= n_groups:
        return np.tile(np.arange(n), (len(points) * len(methods), 1))
    if n <= FEW:
        return linked_by(distances(points), n_groups, *methods)
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import pdist  # linkage itself may take a square table of points for distances

    far_apart = [pdist(some) for some in points]
    merges = (linkage(far, method) for method in methods for far in far_apart)
    return np.stack([fcluster(one, n_groups, "maxclust") - 1 for one in merges])


def distances(points: Sequence[Array]) -> Array:  # S of (n, D) -> (S, n, n)
    """Between the points of each space."""
    from scipy.spatial.distance import cdist

    return np.stack([cdist(some, some) for some in points])


def linked_by(far: Array, n_groups: int, *methods: Literal["average", "ward"]) -> Index:  # (S, n, n) -> (M S, n)
    """`linked` of few points that are so far from each other."""
    n_spaces, n = far.shape[:2]
    if n <= n_groups:
        return np.tile(np.arange(n), (n_spaces * len(methods), 1))
    by_method = np.ascontiguousarray([np.square(far) if method == "ward" else far for method in methods])
    return _grouped(
        by_method.reshape(-1, n, n), np.repeat([method == "ward" for method in methods], n_spaces), n_groups
    )


def _grouped(far: Array, by_ward: Mask, n_groups: int) -> Index:  # (S, n, n), (S,) -> (S, n)
    """The same from distances, squared for Ward's method, by the recurrence of Lance and Williams. Changes `far`."""
    n_spaces, n = far.shape[:2]
    flat, rows = far.reshape(n_spaces, -1), far.reshape(-1, n)  # of each space, and of each point of each space
    flat[:, :: n + 1] = np.inf
    sizes, first = np.ones((n_spaces, n)), np.tile(np.arange(n), (n_spaces, 1))  # the first point of its group
    spaces, heights = np.arange(n_spaces), np.zeros(n_spaces)
    for step in range(n - 1):
        every = len(spaces) == n_spaces
        nearest_two = (flat if every else flat[spaces]).argmin(axis=1)
        nearest = flat[spaces, nearest_two]
        if step >= n - n_groups:
            equal = nearest <= heights[spaces]  # as far as the last merge: made, too
            if not equal.any():
                break
            spaces, nearest_two, nearest = spaces[equal], nearest_two[equal], nearest[equal]
            every = False
        i, j = np.divmod(nearest_two, n)  # i < j, as the first of both ways
        at_i, at_j = spaces * n + i, spaces * n + j
        heights[spaces] = nearest
        a, b = sizes.take(at_i)[:, None], sizes.take(at_j)[:, None]
        others = (sizes if every else sizes[spaces]) * by_ward[spaces, None]  # without them it is the average
        joined = (a + others) * rows[at_i]
        joined += (b + others) * rows[at_j]
        joined -= others * nearest[:, None]
        joined /= a + b + others
        joined[np.arange(len(spaces)), i] = np.inf
        rows[at_i] = far[spaces, :, i] = joined
        rows[at_j] = far[spaces, :, j] = np.inf
        sizes[spaces, i] += b[:, 0]
        if every:
            np.copyto(first, i[:, None], where=first == j[:, None])
        else:
            first[spaces] = np.where(first[spaces] == j[:, None], i[:, None], first[spaces])
    numbers = (first == np.arange(n)).cumsum(axis=1) - 1
    return np.asarray(np.take_along_axis(numbers, first, axis=1))
