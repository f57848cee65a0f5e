"""Kernel sums for data with few different rows: categories, counts, rounded numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kabc.core.arrays import Array
from kabc.core.kernels import Kernel

_DISTINCT_FROM = 2**16  # with fewer kernel values, looking for equal rows is not worth it
_DISTINCT_ENTRIES = 2**22  # numbers in a table of arms by distinct rows: 32 MB


def distinct_sums(
    kernel: Kernel,
    left: Sequence[NDArray[Any]],
    right: Sequence[NDArray[Any]],
    pairs: NDArray[np.intp],
    n_values: int,
) -> Array | None:  # (P, 2) -> (P,)
    """W K W^T for the given pairs. K is the kernel between the different rows; W counts these rows in each arm.

    None if this would not be faster. A few rows are enough to decide that.
    """
    i, j = (np.flatnonzero(np.bincount(column)) for column in pairs.T)
    arms = [left[a] for a in i.tolist()] + [right[a] for a in j.tolist()]
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
    i_of, j_of = (np.searchsorted(used, column) for used, column in zip((i, j), pairs.T, strict=True))
    return _inner(weights[: len(i)], i_of, summed, j_of)


def _repeats(arms: Sequence[NDArray[Any]], dtype: np.dtype[Any], most: int) -> bool:
    """Whether any two of a few random rows are equal. With `most` equally frequent rows, 8 such pairs are expected."""
    ends = np.cumsum([len(arm) for arm in arms])
    size = min(4 * math.isqrt(most), int(ends[-1]))
    chosen = np.sort(np.random.default_rng(0).choice(int(ends[-1]), size, replace=False))
    owner = np.searchsorted(ends, chosen, side="right")
    places = zip(owner.tolist(), (chosen - ends[owner]).tolist(), strict=True)  # from the end of each arm
    rows = np.array([arms[arm][row] for arm, row in places], dtype=dtype)
    return len({row.tobytes() for row in rows}) < size


def _count(arm: NDArray[Any], dtype: np.dtype[Any], table: dict[bytes, int], most: int) -> NDArray[np.intp]:
    """How often each row of the table occurs in an arm. New rows are added until the table has more than `most`."""
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
