"""The map of verdicts as SVG. Each verdict has a sign and a shape beside its colour."""

from __future__ import annotations

from itertools import pairwise

from kabc.core.arrays import Array
from kabc.core.evidence.verdicts import DIFFERENT, OPEN, SAME
from kabc.report.svg.canvas import LETTER, Canvas
from kabc.report.svg.squares import Square
from kabc.report.verdict_map import KINDS, SIGNS, VerdictMap

_CLASSES = {DIFFERENT: "v-different", SAME: "v-same", OPEN: "v-open"}
SEVERAL = "~"
_SHARED = 20.0  # the smallest cell with shares of several verdicts
_ROOMY = 26.0  # the smallest cell with a margin below its sign


def draw_verdicts(verdicts: VerdictMap) -> str:
    """A cell for each pair: a full square is different, a disc is the same, a small dashed square is open."""
    nodes = verdicts.nodes
    square = Square.of(nodes.names, 130.0 if nodes.are_groups else 84.0)
    canvas = square.canvas(50)
    square.write_names(canvas, nodes.names)
    for row in range(square.n):
        for column in range(square.n):
            if row == column and not verdicts.counts[row, column].any():
                square.write_own(canvas, row, nodes.groups[row])
            else:
                _cell(canvas, verdicts, row, column, square)
    if not nodes.are_groups:
        for start, end in pairwise(nodes.boundaries):
            square.frame(canvas, start, end)
    _legend(canvas, verdicts, square)
    return canvas.picture(f"Verdicts on {verdicts.title}")


def _cell(canvas: Canvas, verdicts: VerdictMap, row: int, column: int, square: Square) -> None:
    x, y, cell = square.at(column), square.at(row), square.cell
    kind, tip = verdicts.verdict(row, column), verdicts.tip(row, column)
    if not kind and cell < _SHARED:
        _mark(canvas, OPEN, x, y, cell, tip)
        canvas.text(x + cell / 2, y + cell / 2 + 3.0, SEVERAL, "in", "middle")
        return
    if not kind:
        _mixture(canvas, verdicts.counts[row, column] / verdicts.counts[row, column].sum(), tip, x, y, cell)
        return
    _mark(canvas, kind, x, y, cell, tip)
    margin = verdicts.margin(row, column) if cell >= _ROOMY else ""
    ink = f"in {_CLASSES[kind]}-ink"
    canvas.text(x + cell / 2, y + cell / 2 + (-1.2 if margin else 3.0), SIGNS[kind], ink, "middle")
    if margin:
        canvas.text(x + cell / 2, y + cell / 2 + 8, margin, f"{ink} margin", "middle")


def _mark(canvas: Canvas, kind: str, x: float, y: float, cell: float, tip: str = "") -> None:
    """The shape of a verdict in a cell."""
    if kind == SAME:
        canvas.add("rect", _CLASSES[kind], tip=tip, x=x + 0.5, y=y + 0.5, width=cell - 1, height=cell - 1, rx=cell / 2)
        return
    inset = 0.5 if kind == DIFFERENT else cell * 0.14
    side = cell - 2 * inset
    canvas.add("rect", _CLASSES[kind], tip=tip, x=x + inset, y=y + inset, width=side, height=side)


def _mixture(canvas: Canvas, shares: Array, tip: str, x: float, y: float, cell: float) -> None:  # (3,)
    """Of groups whose pairs have several verdicts: their shares, from left to right."""
    left = x + 0.5
    for kind, share in zip(KINDS, shares.tolist(), strict=True):
        if share > 0:
            width = share * (cell - 1)
            canvas.add("rect", _CLASSES[kind], tip=tip, x=left, y=y + 0.5, width=width, height=cell - 1)
            left += width


def _legend(canvas: Canvas, verdicts: VerdictMap, square: Square) -> None:
    """What the marks mean, and the unit of the numbers."""
    x, y = 1.0, square.end + 14
    for kind in KINDS:
        _mark(canvas, kind, x, y, 13)
        canvas.text(x + 6.5, y + 9.5, SIGNS[kind], f"in {_CLASSES[kind]}-ink", "middle")
        canvas.text(x + 17, y + 10, kind, "s")
        x += 30 + len(kind) * 0.8 * LETTER
    if square.cell < _SHARED and (verdicts.codes == len(KINDS)).any():
        canvas.text(x, y + 10, f"{SEVERAL} several verdicts", "s")
    n = range(len(verdicts.nodes.names))
    if square.cell >= _ROOMY and any(verdicts.margin(row, column) for row in n for column in n):
        canvas.text(1, y + 28, f"numbers: proven margins {verdicts.in_unit}".rstrip(), "s")
