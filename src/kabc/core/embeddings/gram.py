"""Exact mean embeddings: they store all samples, and sums of kernel values for the requested pairs of arms.

| symbol                       | here                | meaning                                                |
|------------------------------|---------------------|--------------------------------------------------------|
| X_t^i                        | `left[i]`, row t    | samples of arm i                                       |
| sum_{s,t} g(X_s^i, X_t^j)    | `block_sums`        | one number for each requested pair (i, j)              |
| n_i^2 ||mu_hat_i||^2         | own block, i = j    | the one-arm term of eq. empdist and eq. empvar         |
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from kabc.core.arrays import Array
from kabc.core.embeddings import means
from kabc.core.embeddings.block_sums import Engine, block_sums
from kabc.core.errors import SampleError
from kabc.core.kernels import Kernel
from kabc.core.kernels.base import keep_whole
from kabc.core.words import counted

_PAIRS = 2**18  # pairs of a request are looked up in parts of this size


class _Known(NamedTuple):
    """Block sums by pair, in the order of i N + j with i <= j, and the numbers of samples of i and j in each sum."""

    keys: NDArray[np.int64]
    sums: Array
    covered: NDArray[np.int64]  # (P, 2)


class GramSums:
    """Exact mean embeddings of N arms under any kernel. They store all samples, and sums for the requested pairs.

    A sum is computed at the first request of its pair. Later requests only add the new samples. Time for a pair:
    n_i n_j kernel values in total. Memory: the samples, 32 bytes for each requested pair, and less than 200 MB while
    computing.
    """

    def __init__(self, kernel: Kernel, n_arms: int, engine: Engine = "auto") -> None:
        self.kernel = kernel
        self.engine = engine
        self.n_arms: int
        keep_whole(self, 1, n_arms=n_arms)
        self._samples: list[NDArray[Any]] = [np.empty((0, 0))] * self.n_arms
        self._diagonal: Array = np.zeros(self.n_arms)  # sums of g(x, x)
        # replaced, never changed in place: embeddings extended from this one share it
        self._known = _Known(np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros((0, 2), dtype=np.int64))

    @property
    def counts(self) -> NDArray[np.int64]:  # (N,)
        """Number of samples of each arm."""
        return np.array([len(x) for x in self._samples], dtype=np.int64)

    def extended(self, samples: Sequence[NDArray[Any]]) -> Self:  # N arrays (m_i, d), m_i >= 0
        """These embeddings with new samples of each arm."""
        if len(samples) != self.n_arms:
            raise SampleError(
                f"samples must be one array for each of {self.n_arms} arms, got {counted(len(samples), 'array')}"
            )
        _same_columns([*self._samples, *samples])
        new = copy.copy(self)
        new._samples = [_joined(old, more) for old, more in zip(self._samples, samples, strict=True)]
        new._diagonal = self._diagonal + _diagonals(self.kernel, samples)
        return new

    def variances(self) -> Array:  # (N,)
        """eq. empvar of each arm."""
        means.enough(self.counts, 2)
        everyone = np.arange(self.n_arms)
        return means.variances(self._diagonal, self._sums(everyone, everyone), self.counts)

    def squared_distances(
        self, rows: NDArray[np.intp] | None = None, cols: NDArray[np.intp] | None = None
    ) -> Array:  # (R,), (C,) -> (R, C)
        """eq. empdist between the arms in `rows` and those in `cols` (default: all). No other pair is computed."""
        i, j = (np.arange(self.n_arms) if arms is None else np.asarray(arms, dtype=np.intp) for arms in (rows, cols))
        counts = self.counts
        for arms in (i, j):
            means.enough(counts[arms], 1, arms)
        cross, own_rows = np.empty((len(i), len(j))), np.empty(len(i))
        step = max(1, _PAIRS // max(1, len(j)))
        for a in range(0, len(i), step):
            part = i[a : a + step]
            sums = self._sums(
                np.concatenate([np.repeat(part, len(j)), part]), np.concatenate([np.tile(j, len(part)), part])
            )
            between, own = np.split(sums, [len(part) * len(j)])
            cross[a : a + step] = between.reshape(len(part), len(j)) / (counts[part, None] * counts[None, j])
            own_rows[a : a + step] = own / counts[part] ** 2
        own_cols = own_rows if np.array_equal(i, j) else self._sums(j, j) / counts[j] ** 2
        return means.squared_distances(cross, own_rows, own_cols, i[:, None] == j[None, :])

    def _sums(self, i: NDArray[np.intp], j: NDArray[np.intp]) -> Array:  # (P,), (P,) -> (P,)
        """Sums over the blocks of pairs. Known sums are updated and new ones computed; all are stored."""
        keys, place = np.unique(np.minimum(i, j) * self.n_arms + np.maximum(i, j), return_inverse=True)
        pairs = np.stack(np.divmod(keys, self.n_arms), axis=1)
        sums, covered = self._recall(keys)
        counts = self.counts[pairs]
        stale = np.flatnonzero((covered < counts).any(axis=1))
        if len(stale):
            sums[stale] += self._grown(pairs[stale], covered[stale], counts[stale])
            self._remember(keys, sums, counts)
        return np.asarray(sums[place])

    def _grown(
        self, pairs: NDArray[np.int64], covered: NDArray[np.int64], counts: NDArray[np.int64]
    ) -> Array:  # (P, 2), (P, 2), (P, 2) -> (P,)
        """What new samples add to sums: new x all and old x new."""
        if not covered.any():
            return block_sums(self.kernel, self._samples, self._samples, pairs, self.engine)
        (i, j), (old_i, old_j) = pairs.T, covered.T
        width = int(counts.max()) + 1
        heads = self.n_arms * width  # keys of rows from `cut` on come first, then those of rows before it
        both = np.flatnonzero(old_i > 0)  # a new pair has no old rows
        left = np.concatenate([i * width + old_i, (i * width + old_i + heads)[both]])
        right = np.concatenate([j * width, (j * width + old_j)[both]])

        def rows(key: int) -> NDArray[Any]:
            arm, cut = divmod(key % heads, width)
            return self._samples[arm][:cut] if key >= heads else self._samples[arm][cut:]

        (left, i_of), (right, j_of) = (np.unique(keys, return_inverse=True) for keys in (left, right))
        x, y = ([rows(int(key)) for key in keys] for keys in (left, right))
        added = block_sums(self.kernel, x, y, np.stack([i_of, j_of], axis=1), self.engine)
        added[both] += added[len(pairs) :]
        return added[: len(pairs)]

    def _recall(self, keys: NDArray[np.int64]) -> tuple[Array, NDArray[np.int64]]:  # (P,) -> (P,), (P, 2)
        known = self._known
        sums, covered = np.zeros(len(keys)), np.zeros((len(keys), 2), dtype=np.int64)
        if not len(known.keys):
            return sums, covered
        _, at, found = np.intersect1d(keys, known.keys, assume_unique=True, return_indices=True)
        sums[at], covered[at] = known.sums[found], known.covered[found]
        return sums, covered

    def _remember(self, keys: NDArray[np.int64], sums: Array, covered: NDArray[np.int64]) -> None:
        known = self._known
        if not len(known.keys):
            self._known = _Known(keys, sums, covered)  # in order already
            return
        other = ~np.isin(known.keys, keys, assume_unique=True)
        merged = np.concatenate([known.keys[other], keys])
        order = np.argsort(merged)
        self._known = _Known(
            merged[order],
            np.concatenate([known.sums[other], sums])[order],
            np.concatenate([known.covered[other], covered])[order],
        )


def _diagonals(kernel: Kernel, samples: Sequence[NDArray[Any]]) -> Array:  # arrays (m_i, d) -> (N,)
    """Sums of g(x, x)."""
    if kernel.translation_invariant:  # they are all equal
        return kernel.supremum * np.array([len(x) for x in samples])
    return np.array([kernel.diagonal(x).sum() if len(x) else 0.0 for x in samples])


def _joined(old: NDArray[Any], new: NDArray[Any]) -> NDArray[Any]:
    if not len(new):
        return old
    return np.concatenate([old, new]) if len(old) else new.copy()


def _same_columns(samples: Sequence[NDArray[Any]]) -> None:
    columns = sorted({x.shape[1] for x in samples if len(x)})
    if len(columns) > 1:
        raise SampleError(f"samples have {' and '.join(map(str, columns))} columns; give every arm the same columns")
