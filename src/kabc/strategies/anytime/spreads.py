"""How far the means of a group's arms are spread out, after many shuffles of the samples at once.

| symbol | here         | meaning                                                                                     |
|--------|--------------|---------------------------------------------------------------------------------------------|
| Z      | `points`     | whitened samples as one map sees them (`points.py`), (C n, D); those of a group add up to 0 |
| P      | `_products`  | Z Z' of a group                                                                             |
| H      | `_contrasts` | m - 1 orthonormal rows that add up to 0; the means of m arms add up to 0, too               |
| spread |              | the largest eigenvalue of means means', and so of (H means)(H means)' and of means' means   |

Samples are in groups that follow each other; n follow each other for each arm. A shuffle is an order that leaves each
sample in its group. Shuffled means are products with a table that says which arm has which sample: all at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np

from kabc.core.arrays import Array, Index
from kabc.strategies.anytime.points import whitened

_MANY = 12  # arms of a group; with more, sums of samples take less time than a table that is mostly 0
_OF_FEW, _OF_MANY = 1 << 18, 1 << 22  # numbers in memory
_WIDER = 1.5  # features for each sample of a group; with more, products take less time than means
_ROUNDING = 1e-9


class Spreads:
    """The samples of some groups as M maps see them."""

    def __init__(self, features: Sequence[Array], groups: Index, n: int) -> None:  # M of (C n, D), (C,)
        self.n, self.groups = n, np.repeat(groups, n)  # samples of each arm; of the samples
        ends = np.flatnonzero(np.diff(self.groups, prepend=-1, append=-1)).tolist()
        points = [whitened(one, ends) for one in features]
        alike: dict[int, list[int]] = {}  # first samples of the groups, by their number of arms
        for start, end in pairwise(ends):
            alike.setdefault((end - start) // n, []).append(start)
        self._alike = [_Alike(points, np.array(firsts), size, n) for size, firsts in alike.items()]

    def after(self, orders: Index) -> Array:  # (B, C n) -> (G M, B)
        """The spread of each group for each map after each of these shuffles."""
        return np.concatenate([one.after(orders) for one in self._alike])


class _Alike:
    """Groups of m arms each, all of them at once."""

    def __init__(self, points: Sequence[Array], firsts: Index, size: int, n: int) -> None:  # (G,), first samples
        self._own = own = firsts[:, None] + np.arange(n * size)  # (G, m n)
        self._size, self._n = size, n
        self._all = own.size == len(points[0])  # there are no other groups
        every = (one.reshape(*own.shape, -1) if self._all else one[own] for one in points)
        inside = sorted(every, key=lambda one: one.shape[2])  # (G, m n, D)
        wide = [one for one in inside if one.shape[2] > _WIDER * n * size and size <= _MANY]
        narrow = inside[: len(inside) - len(wide)]
        self._ends = np.cumsum([0, *(one.shape[2] for one in narrow)]).tolist()
        self._points = np.concatenate(narrow, axis=2) if narrow else None  # (G, m n, all D)
        products = [one @ one.transpose(0, 2, 1) for one in wide]
        self._products = np.concatenate(products, axis=2) if wide else None  # (G, m n, M m n)
        columns = max(n * size * max(1, len(wide)), self._ends[-1])
        self._at_once = max(1, (_OF_FEW if size <= _MANY else _OF_MANY) // (len(own) * size * columns))

    def after(self, orders: Index) -> Array:  # (B, C n) -> (G M, B)
        """The spread of each of these groups for each map."""
        starts = range(0, len(orders), self._at_once)
        parts = [self._after(orders[start : start + self._at_once]) for start in starts]
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)

    def _after(self, orders: Index) -> Array:  # (B, C n) -> (G M, B)
        own = orders.reshape(-1, *self._own.shape) if self._all else orders[:, self._own]
        inside = own.transpose(1, 0, 2) - self._own[:, :1, None]  # (G, B, m n)
        tables = self._of_few(inside) if self._size <= _MANY else self._of_many(inside)
        small = [one for one in tables if len(one) < len(tables[-1])]
        found = [largest(one) for one in small]
        found.append(largest(np.concatenate(tables[len(small) :], axis=3)))  # all that are as large as these
        return np.concatenate(found, axis=1).reshape(-1, len(orders))

    def _of_few(self, orders: Index) -> list[Array]:  # (G, B, m n) -> tables
        taken = _contrasted(orders, self._size, self._n)  # (G, B, k, m n)
        flat, tables = taken.reshape(len(taken), -1, taken.shape[3]), []
        if self._points is not None:
            tables = self._of_means((flat @ self._points).reshape(*taken.shape[:3], -1))
        if self._products is not None:
            with_all = (flat @ self._products).reshape(*taken.shape[:2], -1, taken.shape[3])  # (G, B, k M, m n)
            found = (with_all @ taken.swapaxes(2, 3)).reshape(*taken.shape[:3], -1, taken.shape[2])
            tables.append(found.transpose(2, 4, 0, 3, 1))
        return tables

    def _of_many(self, orders: Index) -> list[Array]:  # (G, B, m n) -> tables
        assert self._points is not None
        return self._of_means(_means(orders, self._points, self._ends, self._n))

    def _of_means(self, means: Array) -> list[Array]:  # (G, B, k, all D) -> tables
        tables = []
        for start, end in pairwise(self._ends):
            some = means[..., start:end]
            turned = some.swapaxes(2, 3)
            found = turned @ some if end - start < means.shape[2] else some @ turned
            tables.append(found[:, None].transpose(3, 4, 0, 1, 2))
        return tables


def _contrasted(orders: Index, size: int, n: int) -> Array:  # (G, B, m n) -> (G, B, m - 1, m n)
    """Tables that take H times the means of shuffled points."""
    place = np.empty_like(orders)  # of the arm that has each sample
    np.put_along_axis(place, orders, np.arange(size * n)[None, None] // n, axis=2)
    taken = np.empty((*orders.shape[:2], size - 1, size * n))
    for row, contrast in enumerate(_contrasts(size, n)):
        taken[:, :, row] = contrast[place]
    return taken


def _means(orders: Index, points: Array, ends: Sequence[int], n: int) -> Array:  # (G, B, m n), (G, m n, all D)
    """The means of shuffled points of each arm, (G, B, m, all D), one map after the other."""
    from scipy.sparse import csr_array  # loaded on first use

    places, parts = np.arange(0, orders[0].size + 1, n), np.full(orders[0].size, 1 / n)
    found = np.empty((len(orders), len(places) - 1, points.shape[2]))
    for one, own, some in zip(found, orders, points, strict=True):
        averages = csr_array((parts, own.ravel(), places), shape=(len(one), len(some)))
        for start, end in pairwise(ends):
            one[:, start:end] = averages @ some[:, start:end]
    return found.reshape(*orders.shape[:2], -1, points.shape[2])


@lru_cache(maxsize=64)
def _contrasts(n_arms: int, n: int) -> Array:  # (m - 1, m)
    """H / n. Row i compares the first i arms with the next one."""
    firsts, arms = np.arange(1, n_arms)[:, None], np.arange(n_arms)
    rows = np.where(arms < firsts, 1.0, np.where(arms == firsts, -firsts, 0.0))
    made = np.asarray(rows / (n * np.sqrt(firsts * (firsts + 1))))
    made.setflags(write=False)  # every look has the same
    return made


def largest(tables: Array) -> Array:  # (k, k, ...) -> (...)
    """The largest eigenvalue of symmetric tables, in closed form for k up to 3."""
    k = len(tables)
    if k == 1:
        return np.asarray(tables[0, 0])
    if k == 2:
        (a, b), (_, c) = tables
        return np.asarray((a + c) / 2 + np.sqrt(np.square((a - c) / 2) + np.square(b)))
    if k > 3:
        return np.asarray(np.linalg.eigvalsh(np.moveaxis(tables, (0, 1), (-2, -1)))[..., -1])
    (a, d, e), (_, b, f), (_, _, c) = np.ascontiguousarray(tables)
    centre = (a + b + c) / 3
    a, b, c = a - centre, b - centre, c - centre
    dd, ee, ff = d * d, e * e, f * f
    spread = np.sqrt((a * a + b * b + c * c + 2 * (dd + ee + ff)) / 6)
    product = a * (b * c - ff) - b * ee - c * dd + 2 * d * e * f  # of the three eigenvalues, from their centre
    angle = np.divide(product, 2 * spread**3, out=np.ones_like(product), where=spread > _ROUNDING * centre)
    return np.asarray(centre + 2 * spread * np.cos(np.arccos(np.clip(angle, -1.0, 1.0)) / 3))
