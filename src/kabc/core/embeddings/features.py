"""Mean embeddings as vectors: random features of a kernel, and sums that can be updated and merged.

| symbol  | here                        | meaning                                              |
|---------|-----------------------------|------------------------------------------------------|
| g_D     | `RandomFeatures`            | kernel of D features, Psi(0) mean_k cos(w_k.(x - y)) |
| w_k     | `RandomFeatures.spectrum`   | D/2 frequencies, one for a cosine and a sine         |
| mu_hat  | sums / counts               | empirical mean embedding of each arm (N, D)          |
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kabc.core.arrays import Array, Counts, Index
from kabc.core.embeddings import means
from kabc.core.errors import SampleError, SettingsError
from kabc.core.kernels import FiniteKernel, Kernel
from kabc.core.kernels.base import keep_whole
from kabc.core.words import counted

_CHUNK_ROWS = 128  # features of a chunk stay in the second-level cache
_FARTHEST = 1e150  # a product of a larger value with a frequency could overflow


@dataclass(frozen=True)
class RandomFeatures(FiniteKernel):
    """g_D(x, y) = Psi(0) mean_k cos(w_k.(x - y)): D/2 frequencies of a translation-invariant kernel, D features.

    The error probability is exact, not approximate. The frequencies depend only on the seed and the number of columns,
    never on samples. So g_D is a kernel that is fixed beforehand: positive definite, translation invariant,
    g_D(x, x) = Psi(0), ``|g_D| <= Psi(0)``. Every bound of the paper holds for it, with g-bar = Psi(0) and
    g~ = 2 Psi(0). Power depends on D: the distances of g_D are those of the base kernel up to about 1/sqrt(D).
    Arms whose characteristic functions agree at all D/2 frequencies are one group by definition (not characteristic).

    An arm is then a count and a sum of D numbers. A sample takes D steps, and no samples are kept.

    Examples
    --------
    >>> import kabc
    >>> kernel = kabc.RandomFeatures(kabc.Gaussian(bandwidth=1.0), n_features=256)
    >>> kernel.features(kernel.coerce([0.0, 1.0, 2.0])).shape
    (3, 256)
    """

    kernel: Kernel
    n_features: int = 1024
    seed: int = 0

    def __post_init__(self) -> None:
        if not (isinstance(self.kernel, Kernel) and self.kernel.translation_invariant):
            raise SettingsError(
                f"RandomFeatures: kernel must be translation invariant, got {self.kernel!r}; "
                "use it exactly, or choose a kernel such as kabc.Gaussian"
            )
        self.kernel.frequencies(1, 1, np.random.default_rng(0))  # raises if there is no spectral density
        keep_whole(self, 2, n_features=self.n_features)
        keep_whole(self, 0, seed=self.seed)
        if self.n_features % 2:
            raise SettingsError(
                f"RandomFeatures: n_features must be even, got {self.n_features}; "
                "each frequency has a cosine and a sine"
            )

    @property
    def supremum(self) -> float:
        return self.kernel.supremum

    @property
    def infimum(self) -> float:
        return -self.kernel.supremum

    @property
    def characteristic(self) -> bool:
        return False

    @property
    def translation_invariant(self) -> bool:
        return True

    def spectrum(self, dim: int) -> Array:  # (D/2, dim)
        """The frequencies w_k for samples of `dim` columns."""
        return 2 * np.pi * _cycles(self.kernel, self.n_features // 2, self.seed, dim).T

    def features(self, x: NDArray[Any]) -> NDArray[np.float32]:
        """sqrt(2 Psi(0) / D) (cos w_k.x, sin w_k.x), float32 from phases that were reduced in float64.

        This is about six times faster than float64 cosines. The reduction keeps the digits of data far from 0.
        """
        half = self.n_features // 2
        cycles = _cycles(self.kernel, half, self.seed, x.shape[1])
        turns = np.clip(np.asarray(x, dtype=np.float64), -_FARTHEST, _FARTHEST) @ cycles
        turns -= np.rint(turns)
        phases = (turns * (2 * np.pi)).astype(np.float32)
        out = np.empty((len(x), self.n_features), dtype=np.float32)
        np.cos(phases, out=out[:, :half])
        np.sin(phases, out=out[:, half:])
        out *= (self.supremum / half) ** 0.5
        return out

    def coerce(self, samples: ArrayLike) -> NDArray[Any]:
        return self.kernel.coerce(samples)


@lru_cache(maxsize=16)
def _cycles(kernel: Kernel, n: int, seed: int, dim: int) -> Array:  # (dim, n)
    """Frequencies in turns instead of radians, one column each."""
    drawn = kernel.frequencies(n, dim, np.random.default_rng([seed, dim]))
    cycles = np.ascontiguousarray(drawn.T / (2 * np.pi))
    cycles.setflags(write=False)  # shared between calls
    return cycles


@dataclass(frozen=True)
class ArmSums:
    """Sums of the features of some arms, without the kernel: what machines send each other.

    They merge: `a + b` has the arms of both.
    """

    arms: Index  # (A,), ascending
    columns: int  # of a sample
    counts: Counts  # (A,)
    sums: Array  # (A, D)
    squares: Array  # (A,)

    @classmethod
    def of_rows(
        cls, kernel: FiniteKernel, arms: Index, pieces: Iterable[tuple[Index, NDArray[Any]]]
    ) -> ArmSums:  # (A,), pieces of (n,), (n, d)
        """The sums of rows, and the arm of each: rows of an arm stand together, in the order of `arms`."""
        if not len(arms):
            return cls(arms, 0, np.zeros(0, dtype=np.int64), np.zeros((0, 0)), np.zeros(0))
        new = FeatureSums(kernel, len(arms))
        for owners, points in pieces:
            places = np.searchsorted(arms, owners)
            for start in range(0, len(points), _CHUNK_ROWS):
                chunk = slice(start, start + _CHUNK_ROWS)
                new._add_rows(points[chunk], *_runs(places[chunk]))
        return cls(arms, new._columns or 0, new._counts, new._sums, new._squares)

    def __add__(self, other: ArmSums) -> ArmSums:
        if not (len(self.arms) and len(other.arms)):
            return self if len(self.arms) else other
        if np.array_equal(self.arms, other.arms):
            counts, sums, squares = self.counts + other.counts, self.sums + other.sums, self.squares + other.squares
            return ArmSums(self.arms, self.columns, counts, sums, squares)
        arms = np.union1d(self.arms, other.arms)
        counts, squares = np.zeros(len(arms), dtype=np.int64), np.zeros(len(arms))
        sums = np.zeros((len(arms), self.sums.shape[1]))
        for one in (self, other):
            places = np.searchsorted(arms, one.arms)
            counts[places] += one.counts
            sums[places] += one.sums
            squares[places] += one.squares
        return ArmSums(arms, self.columns, counts, sums, squares)


def _runs(arms: Index) -> tuple[list[int], list[int]]:  # (n,) -> arms, and the ends of their runs
    """Rows of one arm that stand together."""
    ends = [*(np.flatnonzero(np.diff(arms)) + 1).tolist(), len(arms)]
    return arms[np.array(ends) - 1].tolist(), ends


class FeatureSums:
    """Mean embeddings under a kernel with features. Each arm has a count, a vector sum and a sum of squared norms.

    Memory is O(N D); no samples are kept. Sums of the same kernel and arms can be merged: `a + b` equals one pass over
    both parts. So parts of the data can be summed on different machines.
    """

    def __init__(self, kernel: FiniteKernel, n_arms: int) -> None:
        if not isinstance(kernel, FiniteKernel):
            raise SettingsError(
                f"FeatureSums needs a kernel with features, got {kernel!r}; "
                "wrap it: RandomFeatures(kernel), or use exact sums (kabc.core.embeddings.embed)"
            )
        self.kernel = kernel
        self.n_arms: int
        keep_whole(self, 1, n_arms=n_arms)
        self._columns: int | None = None  # columns of the samples, None before the first
        self._counts = np.zeros(self.n_arms, dtype=np.int64)
        self._sums: Array = np.zeros((self.n_arms, 0))  # (N, D), D is known after the first samples
        self._squares: Array = np.zeros(self.n_arms)

    @property
    def counts(self) -> NDArray[np.int64]:  # (N,)
        """Number of samples of each arm."""
        return self._counts.copy()

    @property
    def columns(self) -> int | None:
        """Columns of the samples; None before the first."""
        return self._columns

    @classmethod
    def of_arms(cls, kernel: FiniteKernel, n_arms: int, parts: Iterable[ArmSums]) -> Self:
        """The sums of n_arms arms, from those of some arms at a time."""
        new = cls(kernel, n_arms)
        for part in parts:
            if len(part.arms):
                new._open(part.columns, part.sums.shape[1])
                new._counts[part.arms] += part.counts
                new._sums[part.arms] += part.sums
                new._squares[part.arms] += part.squares
        return new

    def extended(self, samples: Sequence[NDArray[Any]]) -> Self:  # N arrays (n_i, d), n_i >= 0
        """These sums and the samples of each arm, in arm order."""
        if len(samples) != self.n_arms:
            raise SampleError(
                f"samples must be one array for each of {self.n_arms} arms, got {counted(len(samples), 'array')}"
            )
        new = self._copied()
        for arm, points in enumerate(samples):
            for start in range(0, len(points), _CHUNK_ROWS):
                chunk = points[start : start + _CHUNK_ROWS]
                new._add_rows(chunk, [arm], [len(chunk)])
        return new

    def __add__(self, other: FeatureSums) -> Self:
        if (self.kernel, self.n_arms) != (other.kernel, other.n_arms):
            raise SettingsError(
                f"sums merge for the same kernel and arms only, got {self.kernel!r} with {self.n_arms} arms "
                f"and {other.kernel!r} with {other.n_arms} arms; settings and seed must agree on every machine"
            )
        new = self._copied()
        if other._columns is not None:
            new._open(other._columns, other._sums.shape[1])
            new._sums += other._sums
            new._counts += other._counts
            new._squares += other._squares
        return new

    def variances(self) -> Array:  # (N,)
        """eq. empvar: (sum |f|^2 - |sum f|^2 / n) / (n - 1)."""
        return means.variances(self._squares, np.einsum("nd,nd->n", self._sums, self._sums), self._counts)

    def squared_distances(
        self, rows: NDArray[np.intp] | None = None, cols: NDArray[np.intp] | None = None
    ) -> Array:  # (R,), (C,) -> (R, C)
        """eq. empdist: |mu_hat_i - mu_hat_j|^2, for all arms or for those given."""
        everyone = np.arange(self.n_arms)
        i = everyone if rows is None else np.asarray(rows)
        j = everyone if cols is None else np.asarray(cols)
        for arms in (i, j):
            means.enough(self._counts[arms], 1, arms)
        centred, norms = self._centred
        squared = means.squared_distances(centred[i] @ centred[j].T, norms[i], norms[j], i[:, None] == j)
        # the order of arms must not change any digit: a pair at the threshold has one answer
        return (squared + squared.T) / 2 if rows is None and cols is None else squared

    @cached_property
    def _centred(self) -> tuple[Array, Array]:  # (N, D), (N,)
        """Mean vectors without their common offset, and squared norms. The offset would cost digits in distances."""
        centred = self._sums / np.maximum(self._counts, 1)[:, None]
        centred -= self._sums.sum(axis=0) / max(1, self._counts.sum())
        return centred, np.einsum("nd,nd->n", centred, centred)

    def _copied(self) -> Self:
        new = type(self)(self.kernel, self.n_arms)
        new._columns = self._columns
        new._counts, new._sums, new._squares = self._counts.copy(), self._sums.copy(), self._squares.copy()
        return new

    def _add_rows(self, points: NDArray[Any], arms: Sequence[int], ends: Sequence[int]) -> None:  # (n, d), (r,), (r,)
        """Rows of several arms, one run after the other: a run is of an arm, up to its end."""
        features = self.kernel.features(points)
        self._open(points.shape[1], features.shape[1])
        start = 0
        for arm, end in zip(arms, ends, strict=True):
            own = features[start:end]
            self._counts[arm] += len(own)
            self._sums[arm] += own.sum(axis=0, dtype=np.float64)
            if self.kernel.translation_invariant:
                self._squares[arm] += len(own) * self.kernel.supremum
            else:
                self._squares[arm] += np.square(own, dtype=np.float64).sum()
            start = end

    def _open(self, columns: int, n_features: int) -> None:
        """Store the shape of the first samples. Later samples must have the same shape."""
        if self._columns is None:
            self._columns, self._sums = columns, np.zeros((self.n_arms, n_features))
        if self._columns != columns:
            raise SampleError(
                f"samples have {counted(columns, 'column')}, those before have {self._columns}; "
                "all arms need the same columns"
            )
