"""One tile of 4 rows by 16 columns: t of all its pairs, in vector instructions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

from kabc.core.embeddings.loops.recipes import ABSOLUTES, DOT, SQUARES

TILE_ROWS, TILE_COLUMNS = 4, 16  # eight sums of eight numbers: half of the vector registers of AVX2


def _tile(form: int) -> Any:
    """out[o + 16 r + c] = t of row r and column c, from x[4 k + r] and y[16 k + c] for coordinates k."""

    @intrinsic
    def tile(context: Any, out: Any, o: Any, x: Any, xo: Any, y: Any, yo: Any, d: Any) -> Any:
        # numba vectorises along one loop only, so sums would go through memory at half the speed
        return types.void(out, o, x, xo, y, yo, d), lambda *given: _emit_tile(form, *given)

    return tile


def _emit_tile(form: int, context: Any, builder: Any, signature: Any, args: Sequence[Any]) -> Any:
    """Vector instructions of `_tile`: all sums of a tile in registers, one step for each coordinate."""
    out, x, y = (context.make_array(signature.args[a])(context, builder, args[a]).data for a in (0, 2, 4))
    _, o, _, xo, _, yo, d = args
    single, double, integer = ir.VectorType(ir.FloatType(), 8), ir.VectorType(ir.DoubleType(), 8), ir.IntType(64)
    wide = signature.args[2].dtype == types.float64
    vector = double if wide else single
    sums = double if wide and form == DOT else single
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
        if form == DOT:
            return builder.fadd(builder.fmul(a, b, flags=fused), total, flags=fused)
        difference = builder.fsub(a, b)
        difference = builder.fptrunc(difference, single) if wide else difference
        if form == SQUARES:
            return builder.fadd(builder.fmul(difference, difference, flags=fused), total, flags=fused)
        bits = builder.and_(builder.bitcast(difference, integers), ir.Constant(integers, [2**31 - 1] * 8))  # no sign
        return builder.fadd(builder.bitcast(bits, single), total)

    for columns in ((0,), (1,)) if wide else ((0, 1),):  # float64 sums of 16 columns would not fit the registers
        before = builder.block
        loop, after = builder.append_basic_block(), builder.append_basic_block()
        builder.branch(loop)
        builder.position_at_end(loop)
        k = builder.phi(integer)
        old = {(r, c): builder.phi(sums) for r in range(TILE_ROWS) for c in columns}
        at = builder.add(yo, builder.mul(k, integer(TILE_COLUMNS)))
        b = {c: builder.load(address(y, builder.add(at, integer(8 * c)), vector), align=4) for c in columns}
        at = builder.add(xo, builder.mul(k, integer(TILE_ROWS)))
        a = [spread(builder.add(at, integer(r))) for r in range(TILE_ROWS)]
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
            at = builder.add(o, integer(TILE_COLUMNS * r + 8 * c))
            builder.store(rounded, address(out, at, single), align=4)
    return context.get_dummy_value()


dot_tile, square_tile, absolute_tile = _tile(DOT), _tile(SQUARES), _tile(ABSOLUTES)
