"""Kernel sums in numpy, one tile at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kabc.core.arrays import Array
from kabc.core.kernels import Gaussian, InverseMultiquadric, Kernel

BY_PRODUCTS = (Gaussian, InverseMultiquadric)  # kernels by matrix products; others take at least four times as long
_PRODUCT = 2**18  # multiplications; for more, BLAS starts threads, which wait for each other on a busy machine
_TILE_BYTES = 2**23  # bytes of rows side by side


class _Tiling(NamedTuple):
    """How to evaluate a kernel on tiles of at most rows x columns values: against(y)(x) is the tile."""

    against: Callable[[NDArray[Any]], Callable[[NDArray[Any]], NDArray[Any]]]
    rows: int
    columns: int


def tile_sums(
    kernel: Kernel, left: Sequence[NDArray[Any]], right: Sequence[NDArray[Any]], pairs: NDArray[np.intp]
) -> Array:  # (P, 2) -> (P,)
    """For each left arm: its rows against the rows of all its partners side by side, one tile at a time."""
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
        for start in range(0, len(rows), width):  # only a single long arm needs more than one step
            yield slice(first, last), ends[first:last] - sizes[first:last] - before, rows[start : start + width]
        first = last


def _tiling(kernel: Kernel) -> _Tiling:
    if type(kernel) in BY_PRODUCTS:
        return _product_tiling(kernel)
    # kernels allocate arrays: below 128 kB from a pool, larger ones from the system, page by page
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
