"""Cells of one query, read from vectors."""

from __future__ import annotations

import numpy as np

from kabc.core.arrays import Array
from kabc.strategies.base import Request
from kabc.strategies.peers.bandit_clustering.search import Index, Query


class Reading:
    """Vectors from which the cells of one query are read.

    One vector serves cells of its arm in different features. A cell may occur several times: drawn twice, or as the
    reference of two cells. Each time it reads other vectors. So the number of blocks of n vectors of an arm is the
    number of times that its most frequent cell occurs. Then all samples of one cell are independent, and so are those
    of one comparison. This is all that the tests need. Features of one vector may depend on each other; this only
    affects what CESH chooses to test.
    """

    def __init__(self, query: Query) -> None:
        self.n = query.n
        self._columns, places = np.unique(query.features, return_inverse=True)
        self._places = np.tile(places, 2)  # (2c,)
        self._arms, arms = np.unique(query.arms, return_inverse=True)
        arms = arms.reshape(-1)
        blocks = _repeats(arms * len(self._columns) + self._places)
        n_blocks = np.zeros(len(self._arms), dtype=np.int64)
        np.maximum.at(n_blocks, arms, blocks + 1)
        first = np.cumsum(n_blocks) - n_blocks
        self._first = dict(zip(self._arms.tolist(), first.tolist(), strict=True))
        self._blocks = first[arms] + blocks  # (2c,)
        self._wanted = dict(zip(self._arms.tolist(), (self.n * n_blocks).tolist(), strict=True))
        self._told = dict.fromkeys(self._wanted, 0)
        self._sums = np.zeros((int(n_blocks.sum()), len(self._columns)))

    def request(self, room: int) -> Request:
        """The next vectors, for as many arms as fit into one round."""
        request: Request = {}
        for arm, wanted in self._wanted.items():
            if wanted > self._told[arm] and room:
                request[arm] = min(wanted - self._told[arm], room)
                room -= request[arm]
        return request

    def add(self, arm: int, points: Array) -> None:  # (m, d)
        """Add the vectors of an arm, block by block."""
        blocks = self._first[arm] + (self._told[arm] + np.arange(len(points))) // self.n
        starts = np.flatnonzero(np.diff(blocks, prepend=-1))
        self._sums[blocks[starts]] += np.add.reduceat(points[:, self._columns], starts, axis=0)
        self._told[arm] += len(points)

    @property
    def complete(self) -> bool:
        """Whether all vectors have arrived."""
        return self._told == self._wanted

    def sums(self) -> Array:  # (2, c)
        """What the query asked for."""
        sums: Array = self._sums[self._blocks, self._places].reshape(2, -1)
        return sums


def _repeats(cells: Index) -> Index:  # (c,) -> (c,)
    """The number of equal cells before each cell."""
    _, counts = np.unique(cells, return_counts=True)
    before = np.empty_like(cells)
    before[np.argsort(cells, kind="stable")] = np.arange(len(cells)) - np.repeat(np.cumsum(counts) - counts, counts)
    return before
