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
def _pack(points: Any, at: int, n: int, centre: Any, out: Any, width: int, left: bool, dot: bool) -> None:
    """n rows in tiles: out[(tile * D + k) * width + row]. Points far away fill up the last tile.

    The rows begin at points[at], in groups as `arrange` made them. For dot products the left rows are (-2 x, |x|^2, 1)
    and the right ones (y, 1, |y|^2). Their product is t.
    """
    d = len(centre)
    depth = d + 2 if dot else d
    factor = out.dtype.type(-2.0 if left else 1.0)
    far = out.dtype.type(0.0 if dot else (_FAR if left else -_FAR))
    ones, norms = (d + 1, d) if left else (d, d + 1)
    squares = np.empty(TILE_ROWS)
    for first in range(0, -(-n // width) * width, TILE_ROWS):
        rows = min(max(n - first, 0), TILE_ROWS)
        place = first // width * width * depth + first % width
        squares[:] = 0.0
        for k in range(d):
            # unsigned: an index that could be negative is counted from the end, and such loads are one by one
            source, to = np.uint64(at + first * d + k * rows), np.uint64(place + k * width)
            if dot:
                for row in range(np.uint64(rows)):
                    # rounded before squaring, so t is a true distance
                    rounded = out.dtype.type(min(max(points[source + row] - centre[k], -_MOST), _MOST))
                    squares[row] += np.float64(rounded) * np.float64(rounded)
                    out[to + row] = factor * rounded
            else:
                for row in range(np.uint64(rows)):
                    out[to + row] = points[source + row] - centre[k]
            for row in range(np.uint64(rows), np.uint64(TILE_ROWS)):
                out[to + row] = far
        if dot:
            squares[rows:] = _MOST * _MOST
            for row in range(TILE_ROWS):
                out[place + ones * width + row] = 1.0
                out[place + norms * width + row] = squares[row]


@compiled(cache=True)
def run(
    left: Any,  # (rows * d,) float64, from `arrange`
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
    dot, d = form == DOT, centres.shape[1]
    depth = d + 2 if dot else d
    packed = -1
    for task in range(first, last):
        i, j = tasks[task]
        n_right = right_starts[j + 1] - right_starts[j]
        if j != packed:
            _pack(right, right_starts[j] * d, n_right, centres[j], y, TILE_COLUMNS, False, dot)
            packed = j
        total = 0.0
        for start in range(left_starts[i], left_starts[i + 1], STRETCH_ROWS):
            n_left = min(STRETCH_ROWS, left_starts[i + 1] - start)
            _pack(left, start * d, n_left, centres[j], x, TILE_ROWS, True, dot)
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
def arrange(rows: Any, starts: Any, scale: float, points: Any, centres: Any, radii: Any) -> None:
    """Scaled rows of blocks, in groups of as many as a tile has; centres (means), and the largest distance from each.

    The numbers of a group are in order of columns, so that those of one column lie side by side. A distance is infinite
    if numbers overflow.
    """
    d = rows.shape[1]
    for block in range(len(radii)):
        first, n = starts[block], starts[block + 1] - starts[block]
        share = 1 / n
        centres[block] = 0.0
        for row in range(n):
            group = row // TILE_ROWS * TILE_ROWS
            size = min(TILE_ROWS, n - group)
            for k in range(d):
                number = rows[first + row, k] * scale
                points[(first + group) * d + k * size + row - group] = number
                centres[block, k] += number * share
        largest, total = 0.0, 0.0
        for row in range(n):
            squares = 0.0
            for k in range(d):
                squares += (rows[first + row, k] * scale - centres[block, k]) ** 2
            largest = max(largest, squares)
            total += squares
        radii[block] = math.sqrt(largest) if total < math.inf else math.inf  # also where NaN
