"""Cuts blocks of samples into tasks, runs them on threads and adds up their sums in a fixed order."""

from __future__ import annotations

import functools
import itertools
import math
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kabc.core.arrays import Array
from kabc.core.embeddings.loops.blocks import STRETCH_ROWS, arrange, run
from kabc.core.embeddings.loops.compiling import workers
from kabc.core.embeddings.loops.recipes import DOT, Recipe
from kabc.core.embeddings.loops.tiles import TILE_COLUMNS

_BLOCK_ROWS = 1024  # rows of a task: enough work to justify packing, few enough to balance threads
_BLOCK_SIZE = 2**20  # numbers of a block
_PANEL_ROWS, _PANEL_BYTES = 2**18, 2**25  # size of the part of the samples that is copied at a time
_PAIRS = 2**18  # pairs that are listed as tasks at a time
_DIFFERENCES_UP_TO = 8  # columns
_MOST_COLUMNS = 4096  # with more columns, matrix products in numpy are as fast


class _Panel(NamedTuple):
    """A bounded part of the samples in use: blocks of rows, and for each arm its blocks."""

    points: Array  # (rows * d,), from `arrange`
    starts: NDArray[np.int64]  # (blocks + 1,)
    first: NDArray[np.int64]  # (arms,) first block
    blocks: NDArray[np.int64]  # (arms,) number of blocks
    centres: Array  # (blocks, d)
    radii: Array  # (blocks,)


def sums(
    how: Recipe,
    left: Sequence[Array],
    right: Sequence[Array],
    pairs: NDArray[np.intp],
    threads: int | None = None,
) -> Array | None:  # (P, 2) -> (P,)
    """Sums of the kernel over left[i] x right[j] for each pair. None if there are too many columns or on overflow."""
    if left[pairs[0, 0]].shape[1] > _MOST_COLUMNS:
        return None
    out = np.zeros(len(pairs))
    for start in range(0, len(pairs), _PAIRS):
        part = pairs[start : start + _PAIRS]
        i, j = (np.flatnonzero(np.bincount(column)) for column in part.T)
        alike = left is right and np.array_equal(i, j)
        for a in _panels(left, i, how.scale):
            whole = alike and a.starts[-1] == sum(len(left[arm]) for arm in i.tolist())
            for b in (a,) if whole else _panels(right, j, how.scale):
                if not (np.isfinite(a.radii).all() and np.isfinite(b.radii).all()):
                    return None
                tasks, owners = _tasks(a, b, part)
                partial = _run_tasks(how, a, b, tasks, threads or workers())
                out[start : start + _PAIRS] += np.bincount(owners, weights=partial, minlength=len(part))
    return out


def _panels(arms: Sequence[Array], used: NDArray[np.intp], scale: float) -> Iterator[_Panel]:
    d = arms[used[0]].shape[1]
    rows, block = min(_PANEL_ROWS, _PANEL_BYTES // (8 * d)), min(_BLOCK_ROWS, _BLOCK_SIZE // d)
    pieces: list[tuple[int, Array]] = []
    held = 0
    for arm in used.tolist():
        start = 0
        while start < len(arms[arm]):
            piece = arms[arm][start : start + min(block, rows - held)]
            pieces.append((arm, piece))
            start, held = start + len(piece), held + len(piece)
            if held == rows:
                yield _panel(pieces, len(arms), scale)
                pieces, held = [], 0
    if pieces:
        yield _panel(pieces, len(arms), scale)


def _panel(pieces: list[tuple[int, Array]], n_arms: int, scale: float) -> _Panel:
    rows = np.concatenate([piece for _, piece in pieces])
    rows = np.ascontiguousarray(rows, dtype=np.float64)  # other types or orders would be compiled again
    arms = np.array([arm for arm, _ in pieces])
    starts = np.cumsum([0] + [len(piece) for _, piece in pieces])
    blocks = np.bincount(arms, minlength=n_arms)
    first = np.searchsorted(arms, np.arange(n_arms))
    points, centres, radii = np.empty(rows.size), np.empty((len(arms), rows.shape[1])), np.empty(len(arms))
    arrange(rows, starts, scale, points, centres, radii)
    return _Panel(points, starts, first, blocks, centres, radii)


def _tasks(a: _Panel, b: _Panel, pairs: NDArray[np.intp]) -> tuple[NDArray[np.int64], NDArray[np.intp]]:  # (T, 2), (T,)
    """Every block of pairs[p, 0] with every block of pairs[p, 1], and p."""
    across = b.blocks[pairs[:, 1]]
    many = a.blocks[pairs[:, 0]] * across
    owners = np.repeat(np.arange(len(pairs)), many)
    turn = np.arange(len(owners)) - np.repeat(np.cumsum(many) - many, many)
    i = a.first[pairs[owners, 0]] + turn // across[owners]
    j = b.first[pairs[owners, 1]] + turn % across[owners]
    order = np.argsort(j, kind="stable")
    return np.stack([i, j], axis=1)[order], owners[order]


def _run_tasks(how: Recipe, a: _Panel, b: _Panel, tasks: NDArray[np.int64], threads: int) -> Array:  # (T, 2) -> (T,)
    """Sums of all tasks, each in the cheapest form that is exact enough (see the table in `__init__.py`)."""
    d = a.centres.shape[1]
    radius = b.radii[tasks[:, 1]]
    rows = np.minimum(np.diff(a.starts)[tasks[:, 0]], np.diff(b.starts)[tasks[:, 1]])
    if how.smooth and d > _DIFFERENCES_UP_TO:
        narrow = (radius**2 <= 1e-6 / (0.7 * 2.4e-8 * (2 * math.sqrt(d / 3) + 2))) & (rows >= 64)
        narrow_form = DOT
    else:
        narrow, narrow_form = radius <= 16, how.form
    wide = ~narrow & (radius <= 1000) if how.smooth else np.zeros_like(narrow)
    out = np.empty(len(tasks))
    for chosen, form, dtype in (
        (narrow, narrow_form, np.float32),
        (wide, DOT, np.float64),
        (~narrow & ~wide, how.form, np.float64),
    ):
        if chosen.any():
            out[chosen] = _run_form(how.profile, form, dtype, a, b, tasks[chosen], threads)
    return out


def _run_form(
    profile: int, form: int, dtype: type, a: _Panel, b: _Panel, tasks: NDArray[np.int64], threads: int
) -> Array:  # (T, 2) -> (T,)
    out = np.empty(len(tasks))
    values = np.cumsum(np.diff(a.starts)[tasks[:, 0]] * np.diff(b.starts)[tasks[:, 1]])
    batches = 32 * threads if threads > 1 else 1  # so small that no thread waits long for the last one
    edges = np.searchsorted(values, np.linspace(0, values[-1], batches + 1), side="right")
    edges[-1] = len(tasks)
    depth = a.centres.shape[1] + 2

    waiting = iter(list(itertools.pairwise(edges.tolist())))

    def work() -> None:
        x = aligned(STRETCH_ROWS * depth, dtype)
        y = aligned((int(np.diff(b.starts).max()) + TILE_COLUMNS) * depth, dtype)
        t = aligned(STRETCH_ROWS * TILE_COLUMNS, np.float32)
        for first, last in waiting:
            run(a.points, a.starts, b.points, b.starts, b.centres, tasks, first, last, out, x, y, t, form, profile)

    others = [_helpers(threads - 1, os.getpid()).submit(work) for _ in range(threads - 1)]
    try:
        work()  # this thread works too
    finally:
        for _ in waiting:  # after an interrupt, no batch is begun any more
            pass
    for other in others:
        if not other.cancel():  # it may still wait for a thread, if other calls have taken them all
            other.result()
    return out


@functools.cache
def _helpers(threads: int, process: int) -> ThreadPoolExecutor:
    """Threads that stay: to start them takes longer than some calls. After a fork, a process needs its own."""
    return ThreadPoolExecutor(threads, f"kernel sums of {process}")


def aligned(size: int, dtype: type) -> NDArray[Any]:
    """A buffer that starts at a cache line. Vectors that cross two cache lines would cost a third of the speed."""
    room = np.empty(size * np.dtype(dtype).itemsize + 64, dtype=np.uint8)
    start = -room.ctypes.data % 64
    return room[start : start + size * np.dtype(dtype).itemsize].view(dtype)
