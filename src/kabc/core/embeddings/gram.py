"""Exact mean embeddings: sums of kernel values over blocks of samples, never a matrix of all of them.

| symbol                       | here                | meaning                                                |
|------------------------------|---------------------|--------------------------------------------------------|
| X_t^i                        | `left[i]`, row t    | samples of arm i                                       |
| sum_{s,t} g(X_s^i, X_t^j)    | `block_sums`        | one number for each requested pair (i, j)              |
| n_i^2 ||mu_hat_i||^2         | own block, i = j    | what eq. empdist and eq. empvar need of an arm alone   |

Two engines give the same squared distances to 1e-6: tiles in numpy, and a compiled loop (`_loops`) for large calls.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from kabc.core.arrays import Array
from kabc.core.embeddings import means
from kabc.core.errors import SampleError
from kabc.core.kernels import Gaussian, InverseMultiquadric, Kernel, Product, Stationary, Sum
from kabc.core.kernels.base import keep_whole

Engine = Literal["auto", "numpy", "numba"]

_LOOP_FROM = 30_000_000  # kernel values by matrix products: below, loading the compiled loop takes longer than these
_PRODUCTS = (Gaussian, InverseMultiquadric)  # kernels by matrix products; others take four times as long, or more
_DISTINCT_FROM = 2**16  # kernel values: below, looking for equal rows is not worth it
_DISTINCT_ENTRIES = 2**22  # numbers in a table of arms by distinct rows: 32 MB
_PRODUCT = 2**18  # multiplications: BLAS starts threads for more, which wait for each other on a busy machine
_TILE_BYTES = 2**23  # of rows side by side
_PAIRS = 2**18  # pairs of one request that are looked up at a time


def block_sums(
    kernel: Kernel,
    left: Sequence[NDArray[Any]],
    right: Sequence[NDArray[Any]],
    pairs: NDArray[np.intp],
    engine: Engine = "auto",
) -> Array:  # arrays (n_i, d), arrays (m_j, d), (P, 2) -> (P,)
    """Sum of g over left[i] x right[j] for each (i, j) in `pairs`, added in float64.

    Takes the values times the dimension in time, and less than 200 MB of memory. Equal rows are evaluated once, when
    there are few different ones. "numba" means the compiled loop wherever the kernel has one.
    """
    pairs = np.asarray(pairs, dtype=np.intp).reshape(-1, 2)
    sizes = np.array([len(x) for x in left])[pairs[:, 0]] * np.array([len(y) for y in right])[pairs[:, 1]]
    out = np.zeros(len(pairs))
    some = np.flatnonzero(sizes)
    if len(some):
        n_values = int(sizes.sum())
        found = _distinct_sums(kernel, left, right, pairs[some], n_values)
        out[some] = _plain_sums(kernel, left, right, pairs[some], n_values, engine) if found is None else found
    return out


def _plain_sums(
    kernel: Kernel,
    left: Sequence[NDArray[Any]],
    right: Sequence[NDArray[Any]],
    pairs: NDArray[np.intp],
    n_values: int,
    engine: Engine,
) -> Array:  # (P, 2) -> (P,)
    total = np.zeros(len(pairs))
    for part in kernel.parts if isinstance(kernel, Sum) else (kernel,):
        simple = _folded(part)
        found = None
        large = n_values * (1 if type(simple) in _PRODUCTS else 4) >= _LOOP_FROM
        if engine == "numba" or (engine == "auto" and large):
            found = _loop_sums(simple, left, right, pairs, required=engine == "numba")
        total += _tile_sums(simple, left, right, pairs) if found is None else found
    return total


def _folded(kernel: Kernel) -> Kernel:
    """A product of Gaussian kernels is one: 1/h^2 adds."""
    if isinstance(kernel, Product) and all(type(part) is Gaussian for part in kernel.parts):
        return Gaussian(math.hypot(*(1 / part.bandwidth for part in kernel.parts if isinstance(part, Gaussian))) ** -1)
    return kernel


def _loop_sums(
    kernel: Kernel, left: Sequence[Array], right: Sequence[Array], pairs: NDArray[np.intp], required: bool
) -> Array | None:  # (P, 2) -> (P,)
    """Sums by the compiled loop; None if there is none for this kernel, or no numba."""
    if not isinstance(kernel, Stationary):
        return None
    try:
        from kabc.core.embeddings import _loops
    except ImportError:
        if required:
            raise
        return None
    how = _loops.recipe(kernel)
    return None if how is None else _loops.sums(how, left, right, pairs)


# ---------------------------------------------------------------- tiles in numpy


class _Tiling(NamedTuple):
    """How a kernel is evaluated on tiles of at most rows x columns values: against(y)(x) is the tile."""

    against: Callable[[NDArray[Any]], Callable[[NDArray[Any]], NDArray[Any]]]
    rows: int
    columns: int


def _tile_sums(
    kernel: Kernel, left: Sequence[NDArray[Any]], right: Sequence[NDArray[Any]], pairs: NDArray[np.intp]
) -> Array:  # (P, 2) -> (P,)
    """For each left arm: its rows against the rows of all its partners, side by side, a tile at a time."""
    tiling = _tiling(kernel)
    row_bytes = max(1, left[pairs[0, 0]][:1].nbytes)
    height, width = (max(1, min(n, _TILE_BYTES // row_bytes)) for n in (tiling.rows, tiling.columns))
    sizes = np.array([len(y) for y in right])[pairs[:, 1]]
    out = np.zeros(len(pairs))
    order = np.lexsort((pairs[:, 1], pairs[:, 0]))
    for group in np.split(order, np.flatnonzero(np.diff(pairs[order, 0])) + 1):
        x = left[pairs[group[0], 0]]
        for part, starts, y in _side_by_side(right, pairs[group, 1], sizes[group], width):
            columns, values = np.zeros(len(y)), tiling.against(y)
            for start in range(0, len(x), height):
                columns += values(x[start : start + height]).sum(axis=0, dtype=np.float64)
            out[group[part]] += np.add.reduceat(columns, starts)
    return out


def _side_by_side(
    arms: Sequence[NDArray[Any]], chosen: NDArray[np.intp], sizes: NDArray[np.intp], width: int
) -> Iterator[tuple[slice, NDArray[np.intp], NDArray[Any]]]:
    """Rows of the chosen arms in arrays of at most `width` rows: which of the chosen, where each starts, the rows."""
    ends = np.cumsum(sizes)
    first = 0
    while first < len(chosen):
        before = ends[first] - sizes[first]
        last = max(first + 1, int(np.searchsorted(ends, before + width, side="right")))
        rows = np.concatenate([arms[arm] for arm in chosen[first:last]]) if last > first + 1 else arms[chosen[first]]
        for start in range(0, len(rows), width):  # more than once for a single long arm only
            yield slice(first, last), ends[first:last] - sizes[first:last] - before, rows[start : start + width]
        first = last


def _tiling(kernel: Kernel) -> _Tiling:
    if type(kernel) in _PRODUCTS:
        return _product_tiling(kernel)
    # kernels allocate: arrays of less than 128 kB come from a pool, larger ones from the system, page by page
    return _Tiling(lambda y: lambda x: kernel(x, y), 32, 500)


def _product_tiling(kernel: Kernel) -> _Tiling:
    """Kernels of -|x - y|^2 / (2 h^2) = u.v - |u|^2/2 - |v|^2/2: matrix products in float64, the rest in float32.

    Centred on the tile and with |u|^2 <= 1e6, the product is exact to 1e-9. Psi in float32 is exact to 1e-7.
    """
    assert isinstance(kernel, Gaussian | InverseMultiquadric)
    rows, columns = 128, 1024
    room64, room32 = np.empty(rows * columns), np.empty(rows * columns, dtype=np.float32)

    def against(y: Array) -> Callable[[Array], NDArray[Any]]:
        with np.errstate(over="ignore", invalid="ignore"):
            centre = y.mean(axis=0)
        v = _augmented(y, centre, kernel.bandwidth)

        def values(x: Array) -> NDArray[Any]:
            u = _augmented(x, centre, kernel.bandwidth)
            if not min(u[-1].min(), v[-1].min()) >= -5e5:  # too wide, or not finite
                return kernel(x, y)
            u[[-2, -1]] = u[[-1, -2]]
            shape = len(x), len(y)
            t, out = (room[: shape[0] * shape[1]].reshape(shape) for room in (room64, room32))
            step = _PRODUCT // u.size
            step = step if step >= 32 else len(y)
            for start in range(0, len(y), step):
                np.matmul(u.T, v[:, start : start + step], out=t[:, start : start + step])
            out[...] = t
            if isinstance(kernel, Gaussian):
                return np.exp(out, out=out)
            out *= -2
            out += 1
            return np.reciprocal(np.sqrt(out, out=out), out=out)

        return values

    return _Tiling(against, rows, columns)


def _augmented(points: Array, centre: Array, bandwidth: float) -> Array:  # (n, d) -> (d + 2, n)
    """Columns (u, 1, -|u|^2 / 2) with u = (x - centre) / bandwidth."""
    out = np.ones((points.shape[1] + 2, len(points)))
    u = out[:-2]
    with np.errstate(over="ignore", invalid="ignore"):
        np.subtract(points.T, centre[:, None], out=u)
        u /= bandwidth
        np.einsum("dn,dn->n", u, u, out=out[-1])
    out[-1] /= -2
    return out


# ---------------------------------------------------------------- equal rows


def _distinct_sums(
    kernel: Kernel,
    left: Sequence[NDArray[Any]],
    right: Sequence[NDArray[Any]],
    pairs: NDArray[np.intp],
    n_values: int,
) -> Array | None:  # (P, 2) -> (P,)
    """W K W^T for the given pairs, with K between the different rows and W how often each arm has them.

    None where that does not pay, which is found out on few rows.
    """
    i, i_of = np.unique(pairs[:, 0], return_inverse=True)
    j, j_of = np.unique(pairs[:, 1], return_inverse=True)
    arms = [left[a] for a in i] + [right[a] for a in j]
    dtype = np.result_type(*{x.dtype for x in arms})
    row_bytes = dtype.itemsize * arms[0].shape[1]
    # values by calls of the kernel, against values of the loop, if there is one, or by calls too
    worth = math.isqrt(n_values) // (8 if kernel.translation_invariant else 2)
    most = min(worth, _DISTINCT_ENTRIES // len(arms), 4 * _DISTINCT_ENTRIES // row_bytes)
    if n_values < _DISTINCT_FROM or dtype.hasobject or not _repeats(arms[: len(i)], dtype, most):
        return None
    table: dict[bytes, int] = {}
    counted = [_count(arm, dtype, table, most) for arm in arms]
    if len(table) > most:
        return None
    rows = np.frombuffer(b"".join(table), dtype=dtype).reshape(len(table), -1)
    weights = np.zeros((len(counted), len(table)))
    for row, counts in zip(weights, counted, strict=True):
        row[: len(counts)] = counts
    summed = _weighted(kernel, rows, weights[len(i) :])
    return _inner(weights[: len(i)], i_of, summed, j_of)


def _repeats(arms: Sequence[NDArray[Any]], dtype: np.dtype[Any], most: int) -> bool:
    """Whether any two of a few random rows are equal: 8 expected, if all rows are equally often one of `most`."""
    ends = np.cumsum([len(arm) for arm in arms])
    size = min(4 * math.isqrt(most), int(ends[-1]))
    chosen = np.sort(np.random.default_rng(0).choice(int(ends[-1]), size, replace=False))
    owner = np.searchsorted(ends, chosen, side="right")
    rows = (arms[arm][row - ends[arm]] for arm, row in zip(owner, chosen, strict=True))
    return len({row.astype(dtype).tobytes() for row in rows}) < size


def _count(arm: NDArray[Any], dtype: np.dtype[Any], table: dict[bytes, int], most: int) -> NDArray[np.intp]:
    """How often each row of the table occurs in an arm; new rows enter the table until it has more than `most`."""
    size = dtype.itemsize * arm.shape[1]
    counts = np.zeros(0, dtype=np.intp)
    for start in range(0, len(arm), 4096):
        if len(table) > most:
            break
        text = np.ascontiguousarray(arm[start : start + 4096], dtype=dtype).tobytes()
        numbers = [table.setdefault(text[at : at + size], len(table)) for at in range(0, len(text), size)]
        new = np.bincount(numbers, minlength=len(table))
        new[: len(counts)] += counts
        counts = new
    return counts


def _weighted(kernel: Kernel, rows: NDArray[Any], weights: Array) -> Array:  # (D, d), (N, D) -> (D, N)
    """K W^T, a tile of K at a time."""
    out = np.zeros((len(rows), len(weights)))
    height, width = 32, 500
    for a in range(0, len(rows), height):
        for b in range(0, len(rows), width):
            out[a : a + height] += kernel(rows[a : a + height], rows[b : b + width]) @ weights[:, b : b + width].T
    return out


def _inner(weights: Array, i: NDArray[np.intp], summed: Array, j: NDArray[np.intp]) -> Array:  # (P,), (P,) -> (P,)
    step = max(1, 2**20 // weights.shape[1])
    columns = summed.T
    parts = [np.einsum("pd,pd->p", weights[i[a : a + step]], columns[j[a : a + step]]) for a in range(0, len(i), step)]
    return np.concatenate(parts)


# ---------------------------------------------------------------- sums that grow


class _Known(NamedTuple):
    """Block sums by pair, in the order of i N + j with i <= j, and how many samples of i and j they cover."""

    keys: NDArray[np.int64]
    sums: Array
    covered: NDArray[np.int64]  # (P, 2)


class GramSums:
    """Exact mean embeddings of N arms under any kernel: all samples, and sums over the blocks of pairs asked for.

    A sum is computed when its pair is first asked for, and later for the new samples only. Time for a pair: n_i n_j
    kernel values in all. Memory: the samples, 32 bytes for each pair asked for, and less than 200 MB while computing.
    """

    def __init__(self, kernel: Kernel, n_arms: int, engine: Engine = "auto") -> None:
        self.kernel = kernel
        self.engine = engine
        self.n_arms: int
        keep_whole(self, 1, n_arms=n_arms)
        self._samples: list[NDArray[Any]] = [np.empty((0, 0))] * self.n_arms
        self._diagonal: Array = np.zeros(self.n_arms)  # sums of g(x, x)
        # replaced, never changed: shared with the embeddings that this one is extended to
        self._known = _Known(np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros((0, 2), dtype=np.int64))

    @property
    def counts(self) -> NDArray[np.int64]:  # (N,)
        """Number of samples of each arm."""
        return np.array([len(x) for x in self._samples], dtype=np.int64)

    def extended(self, samples: Sequence[NDArray[Any]]) -> Self:  # N arrays (m_i, d), m_i >= 0
        """These embeddings with new samples of each arm."""
        if len(samples) != self.n_arms:
            raise SampleError(f"samples must be one array for each of {self.n_arms} arms, got {len(samples)} array(s)")
        _same_columns([*self._samples, *samples])
        new = copy.copy(self)
        new._samples = [_joined(old, more) for old, more in zip(self._samples, samples, strict=True)]
        new._diagonal = self._diagonal + [self.kernel.diagonal(x).sum() if len(x) else 0.0 for x in samples]
        return new

    def variances(self) -> Array:  # (N,)
        """eq. empvar of each arm."""
        means.enough(self.counts, 2)
        everyone = np.arange(self.n_arms)
        return means.variances(self._diagonal, self._sums(everyone, everyone), self.counts)

    def squared_distances(
        self, rows: NDArray[np.intp] | None = None, cols: NDArray[np.intp] | None = None
    ) -> Array:  # (R,), (C,) -> (R, C)
        """eq. empdist between the arms in `rows` and those in `cols` (default: all); computes no other pair."""
        i, j = (np.arange(self.n_arms) if arms is None else np.asarray(arms, dtype=np.intp) for arms in (rows, cols))
        counts = self.counts
        for arms in (i, j):
            means.enough(counts[arms], 1, arms)
        cross = np.empty((len(i), len(j)))
        step = max(1, _PAIRS // max(1, len(j)))
        for a in range(0, len(i), step):
            part = i[a : a + step]
            both = np.concatenate([np.repeat(part, len(j)), part]), np.concatenate([np.tile(j, len(part)), part])
            sums = self._sums(*both)[: len(part) * len(j)].reshape(len(part), len(j))
            cross[a : a + step] = sums / (counts[part, None] * counts[None, j])
        own_rows, own_cols = (self._sums(arms, arms) / counts[arms] ** 2 for arms in (i, j))
        return means.squared_distances(cross, own_rows, own_cols, i[:, None] == j[None, :])

    def _sums(self, i: NDArray[np.intp], j: NDArray[np.intp]) -> Array:  # (P,), (P,) -> (P,)
        """Sums over the blocks of pairs, known ones brought up to date, others computed; all remembered."""
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
        (i, j), (old_i, old_j) = pairs.T, covered.T
        width = int(counts.max()) + 1
        heads = self.n_arms * width  # keys of rows from `cut` on come first, then those of rows before it
        left = np.concatenate([i * width + old_i, i * width + old_i + heads])
        right = np.concatenate([j * width, j * width + old_j])

        def rows(key: int) -> NDArray[Any]:
            arm, cut = divmod(key % heads, width)
            return self._samples[arm][:cut] if key >= heads else self._samples[arm][cut:]

        (left, i_of), (right, j_of) = (np.unique(keys, return_inverse=True) for keys in (left, right))
        x, y = ([rows(int(key)) for key in keys] for keys in (left, right))
        added = block_sums(self.kernel, x, y, np.stack([i_of, j_of], axis=1), self.engine)
        return np.asarray(added.reshape(2, -1).sum(axis=0))

    def _recall(self, keys: NDArray[np.int64]) -> tuple[Array, NDArray[np.int64]]:  # (P,) -> (P,), (P, 2)
        known = self._known
        sums, covered = np.zeros(len(keys)), np.zeros((len(keys), 2), dtype=np.int64)
        _, at, found = np.intersect1d(keys, known.keys, assume_unique=True, return_indices=True)
        sums[at], covered[at] = known.sums[found], known.covered[found]
        return sums, covered

    def _remember(self, keys: NDArray[np.int64], sums: Array, covered: NDArray[np.int64]) -> None:
        known = self._known
        other = ~np.isin(known.keys, keys, assume_unique=True)
        merged = np.concatenate([known.keys[other], keys])
        order = np.argsort(merged)
        self._known = _Known(
            merged[order],
            np.concatenate([known.sums[other], sums])[order],
            np.concatenate([known.covered[other], covered])[order],
        )


def _joined(old: NDArray[Any], new: NDArray[Any]) -> NDArray[Any]:
    if not len(new):
        return old
    return np.concatenate([old, new]) if len(old) else new.copy()


def _same_columns(samples: Sequence[NDArray[Any]]) -> None:
    columns = sorted({x.shape[1] for x in samples if len(x)})
    if len(columns) > 1:
        raise SampleError(f"samples have {' and '.join(map(str, columns))} columns; give every arm the same columns")
