"""Agglomerative grouping of the same arms as many spaces see them, all spaces at once."""

from __future__ import annotations

from typing import Literal

import numpy as np

from kabc.core.arrays import Array, Index, Mask

_ROUNDING = 2.0**-36  # of the largest square of a point: more than rounding ever changes a distance
FEW = 40  # points; for more, one space after the other by scipy takes less time
_FEW_SPACES = 6  # for so few it does, too


def linked(far: Array, n_groups: int, *methods: Literal["average", "ward"]) -> Index:  # (S, n, n) -> (M S, n)
    """Groups of points that are so far from each other in each space, at most `n_groups`.

    There are fewer if some merges are equally far. All spaces by the first method come first, then all by the next.
    Groups are numbered from 0, in any order.
    """
    n_spaces, n = far.shape[:2]
    if n <= n_groups:
        return np.tile(np.arange(n), (n_spaces * len(methods), 1))
    if n > FEW or n_spaces * len(methods) <= _FEW_SPACES:
        return np.array([_by_scipy(one, n_groups, method) for method in methods for one in far])
    by_method = np.ascontiguousarray([np.square(far) if method == "ward" else far for method in methods])
    return _grouped(
        by_method.reshape(-1, n, n), np.repeat([method == "ward" for method in methods], n_spaces), n_groups
    )


def distances(products: Array) -> Array:  # (S, n, n) -> (S, n, n)
    """Between points with these products; they are best measured from a point between them."""
    squares = products.diagonal(axis1=1, axis2=2)
    apart = squares[:, :, None] + squares[:, None] - 2 * products
    # Rounding must not part equal points, nor choose between equal distances.
    unit = _ROUNDING * np.maximum(squares.max(axis=1), np.finfo(np.float64).tiny / _ROUNDING)[:, None, None]
    apart = np.maximum(np.rint(apart / unit), 0.0) * unit
    return np.asarray(np.sqrt(apart))


def _by_scipy(far: Array, n_groups: int, method: Literal["average", "ward"]) -> list[int]:  # (n, n) -> (n,)
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import squareform

    n, merges = len(far), linkage(squareform(far, checks=False), method)
    n_merges = int(merges[:, 2].searchsorted(merges[n - n_groups - 1, 2], "right"))  # and all that are equally far
    groups = {point: [point] for point in range(n)}
    for number, (one, other) in enumerate(merges[:n_merges, :2].astype(np.intp).tolist(), n):
        groups[number] = groups.pop(one) + groups.pop(other)
    labels = [0] * n
    for label, points in enumerate(sorted(groups.values(), key=min)):
        for point in points:
            labels[point] = label
    return labels


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
