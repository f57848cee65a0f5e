"""One tile of 4 or 8 rows by 16 columns: t of all its pairs, in vector instructions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

from kabc.core.embeddings.loops.compiling import vectors_of_16
from kabc.core.embeddings.loops.recipes import ABSOLUTES, DOT, SQUARES

TILE_COLUMNS = 16
# eight vectors of sums, so that one addition need not wait for the last: 16 numbers each with AVX-512, 8 with AVX2
TILE_ROWS = 8 if vectors_of_16() else 4


def _tile(form: int) -> Any:
    """out[o + 16 r + c] = t of row r and column c, from x[TILE_ROWS k + r] and y[16 k + c] for coordinates k."""

    @intrinsic
    def tile(context: Any, out: Any, o: Any, x: Any, xo: Any, y: Any, yo: Any, d: Any) -> Any:
        # numba vectorises along one loop only, so sums would go through memory at half the speed
        return types.void(out, o, x, xo, y, yo, d), lambda *given: _emit_tile(form, *given)

    return tile


def _emit_tile(form: int, context: Any, builder: Any, signature: Any, args: Sequence[Any]) -> Any:
    """Vector instructions of `_tile`: all sums of a tile in registers, one step for each coordinate."""
    out, x, y = (context.make_array(signature.args[a])(context, builder, args[a]).data for a in (0, 2, 4))
    _, o, _, xo, _, yo, d = args
    wide = signature.args[2].dtype == types.float64
    lanes = TILE_COLUMNS // 2 if wide else TILE_COLUMNS  # float64 sums of 16 columns would not fit the registers
    single, double, integer = (
        ir.VectorType(ir.FloatType(), lanes),
        ir.VectorType(ir.DoubleType(), lanes),
        ir.IntType(64),
    )
    vector = double if wide else single
    sums = double if wide and form == DOT else single
    integers = ir.VectorType(ir.IntType(32), lanes)
    fused = ("contract",)  # multiply and add in one instruction

    def address(base: Any, index: Any, kind: Any) -> Any:
        return builder.bitcast(builder.gep(base, [index]), kind.as_pointer())

    def spread(index: Any) -> Any:
        first = builder.insert_element(
            ir.Constant(vector, ir.Undefined), builder.load(builder.gep(x, [index])), ir.IntType(32)(0)
        )
        return builder.shuffle_vector(first, ir.Constant(vector, ir.Undefined), ir.Constant(integers, [0] * lanes))

    def step(total: Any, a: Any, b: Any) -> Any:
        if form == DOT:
            return builder.fadd(builder.fmul(a, b, flags=fused), total, flags=fused)
        difference = builder.fsub(a, b)
        difference = builder.fptrunc(difference, single) if wide else difference
        if form == SQUARES:
            return builder.fadd(builder.fmul(difference, difference, flags=fused), total, flags=fused)
        bits = builder.and_(
            builder.bitcast(difference, integers), ir.Constant(integers, [2**31 - 1] * lanes)
        )  # no sign
        return builder.fadd(builder.bitcast(bits, single), total)

    for column in range(0, TILE_COLUMNS, lanes):
        before = builder.block
        loop, after = builder.append_basic_block(), builder.append_basic_block()
        builder.branch(loop)
        builder.position_at_end(loop)
        k = builder.phi(integer)
        old = [builder.phi(sums) for _ in range(TILE_ROWS)]
        at = builder.add(yo, builder.mul(k, integer(TILE_COLUMNS)))
        b = builder.load(address(y, builder.add(at, integer(column)), vector), align=4)
        at = builder.add(xo, builder.mul(k, integer(TILE_ROWS)))
        new = [step(total, spread(builder.add(at, integer(r))), b) for r, total in enumerate(old)]
        following = builder.add(k, integer(1))
        k.add_incoming(integer(0), before)
        k.add_incoming(following, loop)
        for phi, total in zip(old, new, strict=True):
            phi.add_incoming(ir.Constant(sums, [0.0] * lanes), before)
            phi.add_incoming(total, loop)
        builder.cbranch(builder.icmp_signed("<", following, d), loop, after)
        builder.position_at_end(after)
        for r, total in enumerate(new):
            rounded = builder.fptrunc(total, single) if sums is double else total
            at = builder.add(o, integer(TILE_COLUMNS * r + column))
            builder.store(rounded, address(out, at, single), align=4)
    return context.get_dummy_value()


dot_tile, square_tile, absolute_tile = _tile(DOT), _tile(SQUARES), _tile(ABSOLUTES)
