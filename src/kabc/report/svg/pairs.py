"""The map of pairs as SVG."""

from __future__ import annotations

import math

import numpy as np

from kabc.core.words import counted
from kabc.report.pair_map import PairMap
from kabc.report.svg.canvas import Canvas
from kabc.report.svg.squares import Square

HEAT_EDGES = (1 / 8, 1 / 4, 1 / 2, 1.0, 2.0, 4.0, 8.0)  # between two colours, in units of the threshold
_HEAT_NAMES = ("1/8", "1/4", "1/2", "1", "2", "4", "8")


def draw_pairs(pairs: PairMap) -> str:
    """A cell for each pair: full if told apart, small if not. The colour is the evidence. A frame marks a group."""
    n = len(pairs.names)
    groups_are_rows = pairs.told_pairs is not None
    square = Square.of(pairs.names, 130.0 if groups_are_rows else 84.0)
    canvas = square.canvas(62)
    square.write_names(canvas, pairs.names)
    for row in range(n):
        for column in range(n):
            _cell(canvas, pairs, row, column, square)
    for start, end in [] if groups_are_rows else zip(pairs.boundaries, pairs.boundaries[1:], strict=False):
        square.frame(canvas, start, end)
    unknown = bool(np.isnan(pairs.ratio[~np.eye(n, dtype=bool)]).any())
    earlier = bool((pairs.told_apart & ~(pairs.ratio > 1)).any())
    _heat_legend(canvas, square.end + 16, unknown, earlier)
    told = int(np.count_nonzero(np.triu(pairs.told_apart, 1)))
    unit = "pairs of groups" if groups_are_rows else "pairs"
    return canvas.picture(f"Pair map of {pairs.n_arms} arms: {told} of {math.comb(n, 2)} {unit} told apart")


def _cell(canvas: Canvas, pairs: PairMap, row: int, column: int, square: Square) -> None:
    x, y, cell, ratio = square.at(column), square.at(row), square.cell, float(pairs.ratio[row, column])
    told = bool(pairs.told_apart[row, column])
    if row == column and pairs.told_pairs is None:
        square.write_own(canvas, row, int(np.searchsorted(pairs.boundaries, row, side="right")) - 1)
        return
    inset = 0.5 if told else cell * 0.16
    known = not math.isnan(ratio)
    heat = f"h{int(np.searchsorted(HEAT_EDGES, ratio, side='right'))}" if known else "h-none"
    share = _share(pairs, row, column)
    side = cell - 2 * inset
    canvas.add(
        "rect",
        heat if told or not known else f"{heat} small",
        tip=_tip(pairs, row, column),
        x=x + inset,
        y=y + inset,
        width=side,
        height=side,
    )
    if share and cell >= 20:
        canvas.text(x + cell / 2, y + cell / 2 + 2.8, share, f"in {heat}-ink" if known else "in", "middle")
    elif told and not ratio > 1:
        canvas.add("circle", "dot", cx=x + cell / 2, cy=y + cell / 2, r=max(cell * 0.1, 1.2))
    elif known and cell >= 20:
        canvas.text(x + cell / 2, y + cell / 2 + 2.8, _short(ratio), f"in {heat}-ink", "middle")


def _tip(pairs: PairMap, row: int, column: int) -> str:
    ratio, told = float(pairs.ratio[row, column]), "told apart" if pairs.told_apart[row, column] else "not told apart"
    first, second = pairs.names[row], pairs.names[column]
    names = f"within {first}" if row == column else f"{first} and {second}"
    if pairs.told_pairs is not None and pairs.compared_pairs is not None:
        compared = counted(int(pairs.compared_pairs[row, column]), "pair")
        told = f"{pairs.told_pairs[row, column]:,} of {compared} compared told apart"
    evidence = "no evidence of their own" if math.isnan(ratio) else f"evidence {ratio:.3g} times its threshold"
    return f"{names}: {told}, {evidence}"


def _share(pairs: PairMap, row: int, column: int) -> str:
    """Of a cell of groups: the part of the pairs compared that are told apart."""
    if pairs.told_pairs is None or pairs.compared_pairs is None or not pairs.compared_pairs[row, column]:
        return ""
    return whole_per_cent(int(pairs.told_pairs[row, column]), int(pairs.compared_pairs[row, column]))


def whole_per_cent(part: int, every: int) -> str:
    """A part in per cent. Only all are 100 %, and only none are 0 %."""
    rounded = round(100 * part / every)
    return f"{rounded if part in (0, every) else min(max(rounded, 1), 99)}%"


def _short(ratio: float) -> str:
    """Rounded down, because evidence below the threshold must not be shown as 1.0."""
    return f"{math.floor(ratio * 10) / 10:.1f}" if abs(ratio) < 9.95 else f"{min(ratio, 999):.0f}"


def _heat_legend(canvas: Canvas, y: float, unknown: bool, earlier: bool) -> None:
    step = 24.0
    left = canvas.width - step * (len(HEAT_EDGES) + 1) - 1
    canvas.text(left - 8, y + 9, "evidence / threshold", "s", "end")
    for place in range(len(HEAT_EDGES) + 1):
        canvas.add("rect", f"h{place}", x=left + place * step, y=y, width=step, height=12)
    for place, name in enumerate(_HEAT_NAMES):
        canvas.text(left + (place + 1) * step, y + 23, name, "s", "middle")
    marks = [("h5", "told apart"), ("h1 small", "not told apart")]
    marks += [("h-none", "no evidence")] * unknown + [("h3", "told apart earlier")] * earlier
    x = canvas.width - sum(26 + len(text) * 5.2 for _, text in marks)
    for css, text in marks:
        inset = 2.0 if text in ("not told apart", "no evidence") else 0.0
        canvas.add("rect", css, x=x + inset, y=y + 32 + inset, width=12 - 2 * inset, height=12 - 2 * inset)
        if text == "told apart earlier":
            canvas.add("circle", "dot", cx=x + 6, cy=y + 38, r=1.6)
        canvas.text(x + 16, y + 41.5, text, "s")
        x += 26 + len(text) * 5.2
