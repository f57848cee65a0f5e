"""The compiled loop itself: packs two blocks of rows into tiles and sums the kernel over them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kabc.core.embeddings.loops.compiling import compiled
from kabc.core.embeddings.loops.profiles import sum_profile
from kabc.core.embeddings.loops.recipes import DOT, SQUARES
from kabc.core.embeddings.loops.tiles import TILE_COLUMNS, TILE_ROWS, absolute_tile, dot_tile, square_tile

STRETCH_ROWS = 128  # kernel values of 128 rows and 16 columns: 8 kB
_FAR = 1e38  # coordinate of padding: the square of a difference from it is infinite
_MOST = 1e12  # largest coordinate in a dot product: squares do not overflow, and every kernel is 0 there


@compiled()
def _pack(points: Any, start: int, n: int, centre: Any, out: Any, width: int, left: bool, dot: bool) -> None:
    """Rows of points in tiles: out[(tile * D + k) * width + row]. Rows far away fill up the last tile.

    For dot products the left rows are (-2 x, |x|^2, 1) and the right ones (y, 1, |y|^2). Their product is t.
    """
    d = points.shape[1]
    depth = d + 2 if dot else d
    for row in range(n):
        first = row // width * depth * width + row % width
        if not dot:
            for k in range(d):
                out[first + k * width] = points[start + row, k] - centre[k]
            continue
        squares, factor = 0.0, -2.0 if left else 1.0
        for k in range(d):
            # rounded before squaring, so t is a true distance
            rounded = out.dtype.type(min(max(points[start + row, k] - centre[k], -_MOST), _MOST))
            squares += np.float64(rounded) * np.float64(rounded)
            out[first + k * width] = factor * rounded
        out[first + d * width] = squares if left else 1.0
        out[first + (d + 1) * width] = 1.0 if left else squares
    for row in range(n, -(-n // width) * width):
        first = row // width * depth * width + row % width
        for k in range(d):
            out[first + k * width] = 0.0 if dot else (_FAR if left else -_FAR)
        if dot:
            out[first + d * width] = _MOST * _MOST if left else 1.0
            out[first + (d + 1) * width] = 1.0 if left else _MOST * _MOST


@compiled(cache=True)
def run(
    left: Any,  # (rows, d) float64, scaled
    left_starts: Any,  # (blocks + 1,)
    right: Any,
    right_starts: Any,
    centres: Any,  # (blocks, d) of right
    tasks: Any,  # (T, 2): left block, right block; equal right blocks side by side
    first: int,
    last: int,
    sums: Any,  # (T,) out
    x: Any,  # room for a stretch of left rows,
    y: Any,  # a right block,
    t: Any,  # and a stretch of tiles
    form: int,
    profile: int,
) -> None:
    """Sums of tasks first to last - 1. The caller provides the buffers for packed rows and tiles."""
    dot = form == DOT
    depth = right.shape[1] + 2 if dot else right.shape[1]
    packed = -1
    for task in range(first, last):
        i, j = tasks[task]
        n_right = right_starts[j + 1] - right_starts[j]
        if j != packed:
            _pack(right, right_starts[j], n_right, centres[j], y, TILE_COLUMNS, False, dot)
            packed = j
        total = 0.0
        for start in range(left_starts[i], left_starts[i + 1], STRETCH_ROWS):
            n_left = min(STRETCH_ROWS, left_starts[i + 1] - start)
            _pack(left, start, n_left, centres[j], x, TILE_ROWS, True, dot)
            tiles = -(-n_left // TILE_ROWS)
            for strip in range(-(-n_right // TILE_COLUMNS)):
                at = strip * depth * TILE_COLUMNS
                for tile in range(tiles):
                    o, xo = tile * TILE_ROWS * TILE_COLUMNS, tile * depth * TILE_ROWS
                    if form == DOT:
                        dot_tile(t, o, x, xo, y, at, depth)
                    elif form == SQUARES:
                        square_tile(t, o, x, xo, y, at, depth)
                    else:
                        absolute_tile(t, o, x, xo, y, at, depth)
                total += sum_profile(t, tiles * TILE_ROWS * TILE_COLUMNS, profile)
        sums[task] = total


@compiled(cache=True)
def measure(points: Any, starts: Any, centres: Any, radii: Any) -> None:
    """Centre (mean) of each block and the largest distance from it. The distance is infinite if numbers overflow."""
    for block in range(len(radii)):
        centres[block] = 0.0
        n = starts[block + 1] - starts[block]
        for row in range(starts[block], starts[block + 1]):
            for k in range(points.shape[1]):
                centres[block, k] += points[row, k] / n
        largest, total = 0.0, 0.0
        for row in range(starts[block], starts[block + 1]):
            squares = 0.0
            for k in range(points.shape[1]):
                squares += (points[row, k] - centres[block, k]) ** 2
            largest = max(largest, squares)
            total += squares
        radii[block] = math.sqrt(largest) if total < math.inf else math.inf  # also where NaN
