"""The hot loop: sums of kernel values over blocks of samples, compiled. Imported at the first large call only.

A task is a block, at most 1024 rows of one arm by as many of another. Both are moved to the centre of the second in
float64, scaled so that the kernel is a fixed function Psi(t), rounded to float32 and laid out in tiles. Then, for tiles
of 4 rows by 16 columns: t = |x - y|^2 or |x - y|_1 in registers, and Psi and the sum for a stretch of tiles in the
first-level cache. Stretches are summed in float32, everything above in float64. Nothing of size n x n is stored.

Tasks write sums of their own, which are added in a fixed order: results do not depend on the number of threads. These
are plain threads around code that releases the interpreter lock, because numba's parallel loops end the process when
two threads enter them, or when it was forked after using them.

How near float32 is to the kernel. Let rho be the largest distance of a row from the centre of its block, in scaled
units (Gaussian: 1.18 bandwidths). A rounding is about 2.4e-8 of the rounded number, independent of the others. The
values that matter are those of rows x, y at a distance of order 1, where both coordinates are at most about rho.

| form            | error of t                                     | error of one value  | used while             |
|-----------------|------------------------------------------------|---------------------|------------------------|
| NARROW, |x-y|   | 5e-8 rho |x - y|: rounding of coordinates      | 1.8e-8 rho          | rho <= 16: 3e-7        |
| NARROW, x.y     | 2.4e-8 rho^2 (2 sqrt(d/3) + 2): every addition | 0.7 of that         | 1e-6, blocks of >= 64  |
|                 | to the dot product, and the squared norms      |                     | rows average it: 2e-8  |
| WIDE, x.y       | the same in float64: 1e-16 for 2.4e-8          | < 1e-8              | rho <= 1000            |
| WIDE, |x-y|     | differences in float64, then float32           | 6e-8                | always                 |

Dot products cost half of differences, so they are used for d > 8, and for kernels that are smooth at 0 only: the root
of t would turn an error of 1e-14 into one of 1e-7 there. Psi itself is exact to 2e-7. A squared distance of means adds
four such errors: below 1e-6 in all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar, cast

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from kabc.core.arrays import Array
from kabc.core.kernels import Gaussian, InverseMultiquadric, Kernel, Laplace, Matern, RationalQuadratic

_settings: Any = numba.config
if _settings.DISABLE_JIT:
    raise ImportError("numba is told not to compile (NUMBA_DISABLE_JIT); unset it for the compiled loop")

_F = TypeVar("_F", bound=Callable[..., Any])

_TILE_ROWS, _TILE_COLUMNS = 4, 16  # eight sums of eight numbers: half of the vector registers of AVX2
_STRETCH_ROWS = 128  # kernel values of 128 rows and 16 columns: 8 kB
_SINGLE_SUM = 256  # values added in float32: nearly equal ones are rounded the same way, which does not average out
_BLOCK_ROWS = 1024  # of a task: enough work for its packing, few enough for balance
_BLOCK_SIZE = 2**20  # numbers of a block
_PANEL_ROWS, _PANEL_BYTES = 2**18, 2**25  # of all samples in use, copied at a time
_PAIRS = 2**18  # listed as tasks at a time
_DIFFERENCES_UP_TO = 8  # columns
_MOST_COLUMNS = 4096  # beyond, matrix products in numpy are as good
_FAR = 1e38  # coordinate of padding: the square of a difference from it is infinite
_MOST = 1e12  # coordinate in a dot product, so that no square overflows: every kernel is 0 there

# forms of t
_DOT, _SQUARES, _ABSOLUTES = range(3)
# profiles Psi(t)
_EXP2, _EXP2_ROOT, _MATERN_3, _MATERN_5, _POWER_1, _POWER_2, _POWER_3, _POWER_4 = range(8)


class Recipe(NamedTuple):
    """A kernel as Psi(t) of scaled differences: t = sum of squares, or of absolute values."""

    form: int
    profile: int
    scale: float
    smooth: bool


def recipe(kernel: Kernel) -> Recipe | None:
    """The recipe of a kernel, None if there is no loop for it."""
    log2_e = math.log2(math.e)
    # exact types: a derived class may have another profile
    if type(kernel) is Gaussian:
        return Recipe(_SQUARES, _EXP2, math.sqrt(log2_e / 2) / kernel.bandwidth, kernel.smooth_at_zero)
    if type(kernel) is Laplace:
        form, profile = (_ABSOLUTES, _EXP2) if kernel.norm == "l1" else (_SQUARES, _EXP2_ROOT)
        return Recipe(form, profile, log2_e / kernel.bandwidth, kernel.smooth_at_zero)
    if type(kernel) is Matern:
        profile = _MATERN_3 if kernel.nu == 1.5 else _MATERN_5
        return Recipe(_SQUARES, profile, math.sqrt(2 * kernel.nu) * log2_e / kernel.bandwidth, kernel.smooth_at_zero)
    if type(kernel) is InverseMultiquadric:
        return Recipe(_SQUARES, _POWER_1, 1 / kernel.bandwidth, kernel.smooth_at_zero)
    if type(kernel) is RationalQuadratic and 2 * kernel.alpha in (1, 2, 3, 4):
        power = int(2 * kernel.alpha)
        return Recipe(_SQUARES, _POWER_1 + power - 1, 1 / (math.sqrt(power) * kernel.bandwidth), kernel.smooth_at_zero)
    return None


# ---------------------------------------------------------------- compiled


def _compiled(*fastmath: str, cache: bool = False) -> Callable[[_F], _F]:
    """Compile on first use; with `cache`, what is compiled is kept on disk, unless no disk can be written."""
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": {"contract", *fastmath}}

    def compile_(function: _F) -> _F:
        try:
            compiled: Any = numba.njit(cache=cache, **options)(function)
        except RuntimeError:  # no place for a cache
            compiled = numba.njit(**options)(function)
        return cast("_F", compiled)

    return compile_


def _tile(form: int) -> Any:
    """out[o + 16 r + c] = t of row r and column c, from x[4 k + r] and y[16 k + c] for coordinates k."""

    @intrinsic
    def tile(context: Any, out: Any, o: Any, x: Any, xo: Any, y: Any, yo: Any, d: Any) -> Any:
        # numba's own vectors run along one loop, so sums would go through memory: half the speed
        return types.void(out, o, x, xo, y, yo, d), lambda *given: _emit_tile(form, *given)

    return tile


def _emit_tile(form: int, context: Any, builder: Any, signature: Any, args: Sequence[Any]) -> Any:
    """Vector instructions of `_tile`: all sums of a tile in registers, one step for each coordinate."""
    out, x, y = (context.make_array(signature.args[a])(context, builder, args[a]).data for a in (0, 2, 4))
    _, o, _, xo, _, yo, d = args
    single, double, integer = ir.VectorType(ir.FloatType(), 8), ir.VectorType(ir.DoubleType(), 8), ir.IntType(64)
    wide = signature.args[2].dtype == types.float64
    vector = double if wide else single
    sums = double if wide and form == _DOT else single
    integers = ir.VectorType(ir.IntType(32), 8)
    fused = ("contract",)  # multiply and add in one instruction

    def address(base: Any, index: Any, kind: Any) -> Any:
        return builder.bitcast(builder.gep(base, [index]), kind.as_pointer())

    def spread(index: Any) -> Any:
        first = builder.insert_element(
            ir.Constant(vector, ir.Undefined), builder.load(builder.gep(x, [index])), ir.IntType(32)(0)
        )
        return builder.shuffle_vector(first, ir.Constant(vector, ir.Undefined), ir.Constant(integers, [0] * 8))

    def step(total: Any, a: Any, b: Any) -> Any:
        if form == _DOT:
            return builder.fadd(builder.fmul(a, b, flags=fused), total, flags=fused)
        difference = builder.fsub(a, b)
        difference = builder.fptrunc(difference, single) if wide else difference
        if form == _SQUARES:
            return builder.fadd(builder.fmul(difference, difference, flags=fused), total, flags=fused)
        bits = builder.and_(builder.bitcast(difference, integers), ir.Constant(integers, [2**31 - 1] * 8))  # no sign
        return builder.fadd(builder.bitcast(bits, single), total)

    for columns in ((0,), (1,)) if wide else ((0, 1),):  # float64 sums of 16 columns would not fit the registers
        before = builder.block
        loop, after = builder.append_basic_block(), builder.append_basic_block()
        builder.branch(loop)
        builder.position_at_end(loop)
        k = builder.phi(integer)
        old = {(r, c): builder.phi(sums) for r in range(_TILE_ROWS) for c in columns}
        at = builder.add(yo, builder.mul(k, integer(_TILE_COLUMNS)))
        b = {c: builder.load(address(y, builder.add(at, integer(8 * c)), vector), align=4) for c in columns}
        at = builder.add(xo, builder.mul(k, integer(_TILE_ROWS)))
        a = [spread(builder.add(at, integer(r))) for r in range(_TILE_ROWS)]
        new = {(r, c): step(old[r, c], a[r], b[c]) for r, c in old}
        following = builder.add(k, integer(1))
        k.add_incoming(integer(0), before)
        k.add_incoming(following, loop)
        for key, phi in old.items():
            phi.add_incoming(ir.Constant(sums, [0.0] * 8), before)
            phi.add_incoming(new[key], loop)
        builder.cbranch(builder.icmp_signed("<", following, d), loop, after)
        builder.position_at_end(after)
        for (r, c), total in new.items():
            rounded = builder.fptrunc(total, single) if sums is double else total
            at = builder.add(o, integer(_TILE_COLUMNS * r + 8 * c))
            builder.store(rounded, address(out, at, single), align=4)
    return context.get_dummy_value()


_dot_tile, _square_tile, _absolute_tile = _tile(_DOT), _tile(_SQUARES), _tile(_ABSOLUTES)

_ZERO, _ONE, _LN2, _SQUARE = (np.float32(c) for c in (0, 1, math.log(2), math.log(2) ** 2 / 3))
_ROUND = np.float32(1.5 * 2**23)  # added to a small number, leaves its nearest integer in the lowest bits
_LAST = np.float32(126)  # 2^-126 is the smallest normal number: 0 for us
# 2^f = 1 + f p(f) on [-1/2, 1/2]: p is a least-squares fit of (2^f - 1) / f in Chebyshev nodes, error 5e-9
_P1, _P2, _P3, _P4, _P5, _P6 = (
    np.float32(c)
    for c in (6.93147188e-01, 2.40226509e-01, 5.55035710e-02, 9.61805667e-03, 1.33908674e-03, 1.54614475e-04)
)


@_compiled()
def _exp2(t: Any) -> Any:
    """2^-t, exactly 1 at 0."""
    t = min(t, _LAST)
    whole = np.float32(_ROUND - t)
    f = (_ROUND - whole) - t
    p = np.float32(_ONE + f * (_P1 + f * (_P2 + f * (_P3 + f * (_P4 + f * (_P5 + f * _P6))))))
    return np.int32(p.view(np.int32) + (whole.view(np.int32) << 23)).view(np.float32)


@_compiled()
def _root(t: Any) -> Any:
    return min(math.sqrt(max(t, _ZERO)), _LAST)  # rounding of a dot product may have left t below 0


@_compiled()
def _exp2_root(t: Any) -> Any:
    return _exp2(_root(t))


@_compiled()
def _matern_3(t: Any) -> Any:
    return (_ONE + _LN2 * _root(t)) * _exp2(_root(t))


@_compiled()
def _matern_5(t: Any) -> Any:
    return (_ONE + _LN2 * _root(t) + _SQUARE * _root(t) * _root(t)) * _exp2(_root(t))


@_compiled()
def _power_1(t: Any) -> Any:
    return _ONE / math.sqrt(_ONE + t)


@_compiled()
def _power_2(t: Any) -> Any:
    return _ONE / (_ONE + t)


@_compiled()
def _power_3(t: Any) -> Any:
    return _ONE / ((_ONE + t) * math.sqrt(_ONE + t))


@_compiled()
def _power_4(t: Any) -> Any:
    return _ONE / ((_ONE + t) * (_ONE + t))


def _summed(profile: Any) -> Callable[[Any, int], Any]:
    """The sum of Psi(t) over the first n entries of t."""

    def total(t: Any, n: int) -> Any:
        total = 0.0
        for first in range(0, n, _SINGLE_SUM):
            single: Any = np.float32(0)
            for c in range(first, min(first + _SINGLE_SUM, n)):
                single += profile(t[c])
            total += single
        return total

    # compiled code on disk is linked by name: functions that share one would be taken for each other
    total.__qualname__ = f"_sum{profile.py_func.__name__}"
    return _compiled("reassoc")(total)


_sum_exp2, _sum_exp2_root = _summed(_exp2), _summed(_exp2_root)
_sum_matern_3, _sum_matern_5 = _summed(_matern_3), _summed(_matern_5)
_sum_power_1, _sum_power_2 = _summed(_power_1), _summed(_power_2)
_sum_power_3, _sum_power_4 = _summed(_power_3), _summed(_power_4)


@_compiled()
def _sum_profile(t: Any, n: int, profile: int) -> Any:
    if profile == _EXP2:
        return _sum_exp2(t, n)
    if profile == _EXP2_ROOT:
        return _sum_exp2_root(t, n)
    if profile == _MATERN_3:
        return _sum_matern_3(t, n)
    if profile == _MATERN_5:
        return _sum_matern_5(t, n)
    if profile == _POWER_1:
        return _sum_power_1(t, n)
    if profile == _POWER_2:
        return _sum_power_2(t, n)
    if profile == _POWER_3:
        return _sum_power_3(t, n)
    return _sum_power_4(t, n)


@_compiled()
def _pack(points: Any, start: int, n: int, centre: Any, out: Any, width: int, left: bool, dot: bool) -> None:
    """Rows of points in tiles: out[(tile * D + k) * width + row], the last tile filled up with rows far away.

    For dot products the left rows are (-2 x, |x|^2, 1) and the right ones (y, 1, |y|^2), so that t is their product.
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
            # rounded before squaring, so that t is a distance
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


@_compiled(cache=True)
def _run(
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
    dot = form == _DOT
    depth = right.shape[1] + 2 if dot else right.shape[1]
    packed = -1
    for task in range(first, last):
        i, j = tasks[task]
        n_right = right_starts[j + 1] - right_starts[j]
        if j != packed:
            _pack(right, right_starts[j], n_right, centres[j], y, _TILE_COLUMNS, False, dot)
            packed = j
        total = 0.0
        for start in range(left_starts[i], left_starts[i + 1], _STRETCH_ROWS):
            n_left = min(_STRETCH_ROWS, left_starts[i + 1] - start)
            _pack(left, start, n_left, centres[j], x, _TILE_ROWS, True, dot)
            tiles = -(-n_left // _TILE_ROWS)
            for strip in range(-(-n_right // _TILE_COLUMNS)):
                at = strip * depth * _TILE_COLUMNS
                for tile in range(tiles):
                    o, xo = tile * _TILE_ROWS * _TILE_COLUMNS, tile * depth * _TILE_ROWS
                    if form == _DOT:
                        _dot_tile(t, o, x, xo, y, at, depth)
                    elif form == _SQUARES:
                        _square_tile(t, o, x, xo, y, at, depth)
                    else:
                        _absolute_tile(t, o, x, xo, y, at, depth)
                total += _sum_profile(t, tiles * _TILE_ROWS * _TILE_COLUMNS, profile)
        sums[task] = total


@_compiled(cache=True)
def _measure(points: Any, starts: Any, centres: Any, radii: Any) -> None:
    """Centre (mean) of each block and the largest distance from it; infinite where numbers overflow."""
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


# ---------------------------------------------------------------- tasks


class _Panel(NamedTuple):
    """A bounded part of the samples in use: blocks of rows, and for each arm its blocks."""

    points: Array  # (rows, d), scaled
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
    """Sums of the kernel over left[i] x right[j] for each pair; None for too many columns or numbers that overflow."""
    if left[pairs[0, 0]].shape[1] > _MOST_COLUMNS:
        return None
    out = np.zeros(len(pairs))
    for start in range(0, len(pairs), _PAIRS):
        part = pairs[start : start + _PAIRS]
        for a in _panels(left, part[:, 0], how.scale):
            for b in _panels(right, part[:, 1], how.scale):
                if not (np.isfinite(a.radii).all() and np.isfinite(b.radii).all()):
                    return None
                tasks, owners = _tasks(a, b, part)
                partial = _run_tasks(how, a, b, tasks, threads or workers())
                out[start : start + _PAIRS] += np.bincount(owners, weights=partial, minlength=len(part))
    return out


def workers() -> int:
    """Number of threads: the processors, or what NUMBA_NUM_THREADS says."""
    return int(_settings.NUMBA_NUM_THREADS)


def _panels(arms: Sequence[Array], used: NDArray[np.intp], scale: float) -> Iterator[_Panel]:
    d = arms[used[0]].shape[1]
    rows, block = min(_PANEL_ROWS, _PANEL_BYTES // (8 * d)), min(_BLOCK_ROWS, _BLOCK_SIZE // d)
    pieces: list[tuple[int, Array]] = []
    held = 0
    for arm in np.unique(used):
        start = 0
        while start < len(arms[arm]):
            piece = arms[arm][start : start + min(block, rows - held)]
            pieces.append((int(arm), piece))
            start, held = start + len(piece), held + len(piece)
            if held == rows:
                yield _panel(pieces, len(arms), scale)
                pieces, held = [], 0
    if pieces:
        yield _panel(pieces, len(arms), scale)


def _panel(pieces: list[tuple[int, Array]], n_arms: int, scale: float) -> _Panel:
    points = np.concatenate([piece for _, piece in pieces])
    points = np.ascontiguousarray(points, dtype=np.float64)  # other types or orders would be compiled anew
    with np.errstate(over="ignore"):
        points *= scale
    arms = np.array([arm for arm, _ in pieces])
    starts = np.cumsum([0] + [len(piece) for _, piece in pieces])
    blocks = np.bincount(arms, minlength=n_arms)
    first = np.searchsorted(arms, np.arange(n_arms))
    centres, radii = np.empty((len(arms), points.shape[1])), np.zeros(len(arms))
    _measure(points, starts, centres, radii)
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
    """Sums of all tasks, each in the cheapest form that is exact enough (see the top of the file)."""
    d = a.points.shape[1]
    radius = b.radii[tasks[:, 1]]
    rows = np.minimum(np.diff(a.starts)[tasks[:, 0]], np.diff(b.starts)[tasks[:, 1]])
    if how.smooth and d > _DIFFERENCES_UP_TO:
        narrow = (radius**2 <= 1e-6 / (0.7 * 2.4e-8 * (2 * math.sqrt(d / 3) + 2))) & (rows >= 64)
        narrow_form = _DOT
    else:
        narrow, narrow_form = radius <= 16, how.form
    wide = ~narrow & (radius <= 1000) if how.smooth else np.zeros_like(narrow)
    out = np.empty(len(tasks))
    for chosen, form, dtype in (
        (narrow, narrow_form, np.float32),
        (wide, _DOT, np.float64),
        (~narrow & ~wide, how.form, np.float64),
    ):
        if chosen.any():
            out[chosen] = _run_form(how.profile, form, dtype, a, b, tasks[chosen], threads)
    return out


def _run_form(
    profile: int, form: int, dtype: type, a: _Panel, b: _Panel, tasks: NDArray[np.int64], threads: int
) -> Array:  # (T, 2) -> (T,)
    out = np.empty(len(tasks))
    work = np.cumsum(np.diff(a.starts)[tasks[:, 0]] * np.diff(b.starts)[tasks[:, 1]])
    batches = 8 * threads if threads > 1 else 1
    edges = np.searchsorted(work, np.linspace(0, work[-1], batches + 1), side="right")
    edges[-1] = len(tasks)
    depth = a.points.shape[1] + 2

    def batch(number: int) -> None:
        x = _aligned(_STRETCH_ROWS * depth, dtype)
        y = _aligned((int(np.diff(b.starts).max()) + _TILE_COLUMNS) * depth, dtype)
        t = _aligned(_STRETCH_ROWS * _TILE_COLUMNS, np.float32)
        first, last = int(edges[number]), int(edges[number + 1])
        _run(a.points, a.starts, b.points, b.starts, b.centres, tasks, first, last, out, x, y, t, form, profile)

    if threads == 1:
        batch(0)
    else:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(batch, range(batches)))
    return out


def _aligned(size: int, dtype: type) -> NDArray[Any]:
    """Room that starts at a cache line: vectors that straddle two lines cost a third of the speed."""
    room = np.empty(size * np.dtype(dtype).itemsize + 64, dtype=np.uint8)
    start = -room.ctypes.data % 64
    return room[start : start + size * np.dtype(dtype).itemsize].view(dtype)
