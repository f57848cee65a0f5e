"""Pictures of the report as SVG. They contain only numbers, classes of the style sheet, and escaped texts.

A unit of length is about a pixel of a narrow screen. A picture is 360 units wide, or more if its arms need it.
Shapes repeat what colours say, because the report is also printed in grey and read by people who see few colours.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

import numpy as np
from numpy.typing import NDArray

from kabc.report.apart_graph import ApartGraph
from kabc.report.arm_map import ArmMap
from kabc.report.counts import SampleCounts
from kabc.report.nodes import plain, shorten
from kabc.report.pair_map import PairMap
from kabc.report.trace import EvidenceTrace, power_of_two
from kabc.report.values import Column

WIDTH = 360.0
N_GROUP_COLOURS = 8
HEAT_EDGES = (1 / 8, 1 / 4, 1 / 2, 1.0, 2.0, 4.0, 8.0)  # between two colours, in units of the threshold
_HEAT_NAMES = ("1/8", "1/4", "1/2", "1", "2", "4", "8")
_LETTER = 6.0  # mean width of a letter at the usual font size
_LINE = 13.0
_NODE = 8.0  # radius

Box = tuple[float, float, float, float]  # left, top, right, bottom


class Canvas:
    """Collects SVG elements. Texts and attributes are escaped only here."""

    def __init__(self, width: float, height: float) -> None:
        self.width, self.height = width, height
        self._parts: list[str] = []

    def add(self, tag: str, css: str = "", text: str = "", tip: str = "", **attributes: float | str) -> None:
        """One element with its class, its text, and the tip shown when the reader points at it."""
        given = {"class": css, **{name.strip("_").replace("_", "-"): value for name, value in attributes.items()}}
        inside = (f"<title>{clean(tip)}</title>" if tip else "") + clean(text)
        written = "".join(f' {name}="{_written(value)}"' for name, value in given.items() if value != "")
        self._parts.append(f"<{tag}{written}>{inside}</{tag}>" if inside else f"<{tag}{written}/>")

    def text(self, x: float, y: float, text: str, css: str = "t", anchor: str = "start", tip: str = "") -> None:
        """A text that starts at a point, is centred on it, or ends there."""
        self.add("text", css, text, tip, x=x, y=y, text_anchor="" if anchor == "start" else anchor)

    def line(self, x1: float, y1: float, x2: float, y2: float, css: str) -> None:
        """A straight line."""
        self.add("line", css, x1=x1, y1=y1, x2=x2, y2=y2)

    def picture(self, label: str) -> str:
        """The whole picture. Screen readers read `label` aloud."""
        size = f"{_written(self.width)} {_written(self.height)}"
        wide = ' class="wide"' if self.width > WIDTH else ""
        head = f'<svg{wide} role="img" aria-label="{clean(label)}" width="{_written(self.width)}" viewBox="0 0 {size}">'
        return head + "".join(self._parts) + "</svg>"


def clean(text: str) -> str:
    """A text on one line, escaped for elements and quoted attributes."""
    return escape(plain(text))


def _written(value: float | str) -> str:
    return clean(value) if isinstance(value, str) else f"{value:.1f}".removesuffix(".0")


def _fitting(names: Sequence[str], width: float) -> list[str]:
    return shorten(names, max(int(width / _LETTER), 3))


def _room(names: Sequence[str], most: float) -> float:
    return min(max(len(name) for name in names) * _LETTER + 10, most)


def colour_of(group: int) -> str:
    """The class of a group's colour. Colours repeat; the number beside a colour is unique."""
    return f"g{group % N_GROUP_COLOURS}"


# ------------------------------------------------------------ pairs


def draw_pairs(pairs: PairMap) -> str:
    """A cell for each pair: full if told apart, small if not. The colour is the evidence. A frame marks a group."""
    n = len(pairs.names)
    room = _room(pairs.names, 130.0 if pairs.n_arms > n else 84.0)
    cell = float(np.clip((WIDTH - room - 1) / n, 13.0, 34.0))
    canvas = Canvas(max(WIDTH, room + n * cell + 1), room + n * cell + 62)
    for row, (name, short) in enumerate(zip(pairs.names, _fitting(pairs.names, room - 8), strict=True)):
        middle = room + (row + 0.5) * cell
        canvas.text(room - 4, middle + 3.5, short, "t", "end", tip=name)
        turned = f"rotate(-90 {_written(middle + 3.5)} {_written(room - 4)})"
        canvas.add("text", "t", short, name, x=middle + 3.5, y=room - 4, transform=turned)
    for row in range(n):
        for column in range(n):
            _cell(canvas, pairs, row, column, room, cell)
    groups_are_rows = pairs.n_arms > n
    for start, end in [] if groups_are_rows else zip(pairs.boundaries, pairs.boundaries[1:], strict=False):
        side = (end - start) * cell
        canvas.add("rect", "frame", x=room + start * cell, y=room + start * cell, width=side, height=side)
    unknown = bool(np.isnan(pairs.ratio[~np.eye(n, dtype=bool)]).any())
    earlier = bool((pairs.told_apart & ~(pairs.ratio > 1)).any())
    _heat_legend(canvas, room + n * cell + 16, unknown, earlier)
    told = int(np.count_nonzero(np.triu(pairs.told_apart, 1)))
    unit = "pairs of groups" if groups_are_rows else "pairs"
    return canvas.picture(f"Pair map of {pairs.n_arms} arms: {told} of {math.comb(n, 2)} {unit} told apart")


def _cell(canvas: Canvas, pairs: PairMap, row: int, column: int, room: float, cell: float) -> None:
    x, y, ratio = room + column * cell, room + row * cell, float(pairs.ratio[row, column])
    told = bool(pairs.told_apart[row, column])
    if row == column and pairs.n_arms == len(pairs.names):
        group = int(np.searchsorted(pairs.boundaries, row, side="right"))
        canvas.text(x + cell / 2, y + cell / 2 + 3.5, str(group), "t own", "middle")
        return
    inset = 0.5 if told else cell * 0.16
    known = not math.isnan(ratio)
    heat = f"h{int(np.searchsorted(HEAT_EDGES, ratio, side='right'))}" if known else "h-none"
    said = "told apart" if told else "not told apart"
    tip = f"{pairs.names[row]} and {pairs.names[column]}: {said}, " + (
        f"evidence {ratio:.3g} of 1" if known else "no evidence of their own"
    )
    side = cell - 2 * inset
    canvas.add(
        "rect",
        heat if told or not known else f"{heat} small",
        tip=tip,
        x=x + inset,
        y=y + inset,
        width=side,
        height=side,
    )
    if told and not ratio > 1:
        canvas.add("circle", "dot", cx=x + cell / 2, cy=y + cell / 2, r=max(cell * 0.1, 1.2))
    elif known and cell >= 20:
        canvas.text(x + cell / 2, y + cell / 2 + 2.8, _short(ratio), f"in {heat}-ink", "middle")


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


# ------------------------------------------------------------ planes


def draw_graph(graph: ApartGraph) -> str:
    """Nodes by group. Lines are thin within a group, dashed for open pairs, and double for conflicts."""
    canvas, points = _plane(graph.places)
    faint = " faint" if graph.pairs("open") > 60 else ""
    for edge in sorted(graph.edges, key=lambda edge: ("together", "open", "conflict").index(edge.link)):
        (x1, y1), (x2, y2) = points[edge.first], points[edge.second]
        canvas.line(x1, y1, x2, y2, f"e-{edge.link}" + (faint if edge.link == "open" else ""))
    _points(canvas, points, graph.nodes.names, graph.nodes.groups)
    kind = "groups" if graph.nodes.are_groups else "arms"
    return canvas.picture(
        f"Graph of {len(graph.nodes.names)} {kind}: {graph.pairs('open')} pairs of different groups are not told apart"
    )


def draw_arm_map(arms: ArmMap) -> str:
    """Arms as points with the number of their group."""
    canvas, points = _plane(arms.places)
    canvas.add("rect", "plane", x=0.5, y=0.5, width=canvas.width - 1, height=canvas.height - 1, rx=4)
    _points(canvas, points, arms.names, arms.groups)
    return canvas.picture(f"Map of {len(arms.names)} arms in {max(arms.groups) + 1} groups; near means alike")


def _plane(places: NDArray[np.float64]) -> tuple[Canvas, NDArray[np.float64]]:  # (n, 2) -> (n, 2)
    """A canvas with room for names, and the places on it. Both directions have the same scale."""
    low, high = places.min(axis=0), places.max(axis=0)
    spread = np.maximum(high - low, 1e-9 * max(float((high - low).max()), 1e-300))
    scale = min((WIDTH - 120) / spread[0], (WIDTH - 60) / spread[1])
    canvas = Canvas(WIDTH, max(spread[1] * scale + 60, 150.0))
    return canvas, np.array([WIDTH, canvas.height]) / 2 + (places - (low + high) / 2) * scale


def _points(canvas: Canvas, points: NDArray[np.float64], names: Sequence[str], groups: Sequence[int]) -> None:
    many = len(names) > 60
    radius = 3.5 if many else _NODE
    taken = [(x - radius, y - radius, x + radius, y + radius) for x, y in points.tolist()]
    for (x, y), name, group in zip(points.tolist(), names, groups, strict=True):
        tip = name if name.startswith(f"group {group + 1} (") else f"{name}: group {group + 1}"
        canvas.add("circle", f"node {colour_of(group)}", tip=tip, cx=x, cy=y, r=radius)
        if not many:
            canvas.text(x, y + 3.3, str(group + 1), "in node-ink", "middle")
    short = _fitting(names, 116)
    odd_first = sorted(range(len(names)), key=lambda node: groups.count(groups[node]))
    for node in [] if many else odd_first:
        _name(canvas, float(points[node, 0]), float(points[node, 1]), short[node], taken)


def _name(canvas: Canvas, x: float, y: float, name: str, taken: list[Box]) -> None:
    """Write the name beside its point where it covers nothing. Leave it out if there is no such place."""
    width, gap = len(name) * _LETTER, _NODE + 3
    for anchor, left, base in (
        ("start", x + gap, y + 3.5),
        ("end", x - gap - width, y + 3.5),
        ("middle", x - width / 2, y - gap),
        ("middle", x - width / 2, y + gap + 8),
    ):
        box = (left, base - 9, left + width, base + 2)
        inside = box[0] >= 0 and box[2] <= canvas.width and box[1] >= 0 and box[3] <= canvas.height
        if inside and not any(_overlap(box, other) for other in taken):
            taken.append(box)
            canvas.text({"start": left, "end": left + width, "middle": x}[anchor], base, name, "t halo", anchor)
            return


def _overlap(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


# ------------------------------------------------------------ along an axis


def draw_trace(trace: EvidenceTrace) -> str:
    """Lines over samples, with a logarithmic axis (powers of two). The threshold is a separate line."""
    left, top, right, bottom = 34.0, 20.0, WIDTH - 8, 226.0
    canvas = Canvas(WIDTH, 282)
    end = float(trace.n_samples[-1])
    reached = max((float(np.nanmax(line.strength, initial=0.0)) for line in trace.lines), default=0.0)
    lowest, highest = -4, int(np.clip(math.ceil(math.log2(max(reached, 1.0))), 1, 4))  # powers of two
    octaves = highest - lowest
    for power in range(lowest, highest + 1):
        y = bottom - (power - lowest) / octaves * (bottom - top)
        canvas.line(left, y, right, y, "grid" if power else "threshold")
        canvas.text(left - 5, y + 3, power_of_two(power), "s", "end")
    canvas.text(left, top - 8, "evidence / threshold", "s")
    for tick in ticks(0, end):
        x = left + tick / end * (right - left)
        canvas.line(x, bottom, x, bottom + 4, "axis")
        canvas.text(x, bottom + 15, number(tick), "s", "middle")
    canvas.text(right, bottom + 28, "samples of all arms", "s", "end")
    for line in trace.lines:
        with np.errstate(divide="ignore", invalid="ignore"):
            share = (np.log2(np.clip(line.strength, 2.0**lowest, 2.0**highest)) - lowest) / octaves
        known = ~np.isnan(share)
        xs = left + trace.n_samples[known] / end * (right - left)
        ys = bottom - share[known] * (bottom - top)
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(xs.tolist(), ys.tolist(), strict=True))
        css = "l-together" if line.together else "l-apart"
        canvas.add("polyline", css, tip=f"{line.first} and {line.second}", points=path)
    legend = (("l-apart", "different groups"), ("l-together", "one group"), ("threshold", "threshold"))
    x = left
    for css, text in legend:
        canvas.line(x, bottom + 46, x + 22, bottom + 46, css)
        canvas.text(x + 27, bottom + 49.5, text, "s")
        x += 48 + len(text) * 5.2
    above = sum(not line.together and float(np.nanmax(line.strength, initial=0.0)) > 1 for line in trace.lines)
    return canvas.picture(
        f"Evidence of {len(trace.lines)} pairs over {end:,.0f} samples; {above} crossed the threshold"
    )


def draw_counts(counts: SampleCounts) -> str:
    """One bar for each arm. Or for each group: a bar up to the median, and a whisker from smallest to largest."""
    names = counts.nodes.names
    room, height = _room(names, 136.0), 16.0
    shorts = _fitting(names, room - 8)
    canvas = Canvas(WIDTH, len(names) * height + 4)
    scale = (WIDTH - room - 92) / max(int(counts.most.max()), 1)
    for row, (name, group) in enumerate(zip(names, counts.nodes.groups, strict=True)):
        y = row * height + 2
        least, median, most = int(counts.least[row]), float(counts.median[row]), int(counts.most[row])
        canvas.text(room - 5, y + 11, shorts[row], "t", "end", tip=name)
        canvas.add("rect", colour_of(group), x=room, y=y + 2, width=max(median * scale, 1), height=height - 5)
        if least < most:
            middle = y + height / 2
            canvas.line(room + least * scale, middle, room + most * scale, middle, "whisker")
        said = f"{least:,}" if least == most else f"{number(median)} ({least:,} to {most:,})"
        canvas.text(room + most * scale + 5, y + 11, said, "s")
    return canvas.picture(f"Samples of each {'group' if counts.nodes.are_groups else 'arm'}")


def draw_column(column: Column, groups: Sequence[int]) -> str:
    """One row for each group: how often each value occurs. Numbers also have a strip with the quantiles."""
    left, height, top = 52.0, 40.0, 6.0
    bottom = top + len(groups) * height
    long = bool(column.levels) and max(map(len, column.levels)) * _LETTER > (WIDTH - left) / len(column.levels)
    canvas = Canvas(WIDTH, bottom + (62 if long else 20))
    tallest = max(float(column.shares.max()), 1e-9)
    step = (WIDTH - left - 8) / column.shares.shape[1]
    for row, group in enumerate(groups):
        base = top + (row + 1) * height - 9
        canvas.text(0, base, f"group {group + 1}", "t")
        canvas.line(left, base, WIDTH - 8, base, "grid")
        for place, share in enumerate(column.shares[row].tolist()):
            if share > 0:
                tall = max(share / tallest * (height - 14), 0.6)
                gap = step * 0.12 if column.levels else 0.0
                tip = f"group {group + 1}, {column.levels[place]}: {share:.1%}" if column.levels else ""
                x = left + place * step + gap
                canvas.add("rect", colour_of(group), tip=tip, x=x, y=base - tall, width=step - 2 * gap, height=tall)
        if not column.levels:
            _quantiles(canvas, column, row, left, base + 4)
    _value_axis(canvas, column, left, bottom, long)
    return canvas.picture(_summary(column, groups))


def _place(column: Column, value: float, left: float) -> float:
    low, high = float(column.edges[0]) / 2, float(column.edges[-1]) / 2  # halves: the difference is always finite
    return left + float(np.clip((value / 2 - low) / (high - low), 0, 1)) * (WIDTH - left - 8)


def _quantiles(canvas: Canvas, column: Column, row: int, left: float, y: float) -> None:
    low, lower, middle, upper, high = (_place(column, float(value), left) for value in column.quantiles[row])
    canvas.line(low, y, high, y, "whisker")
    canvas.line(lower, y, upper, y, "box")
    canvas.line(middle, y - 4, middle, y + 4, "median")


def _value_axis(canvas: Canvas, column: Column, left: float, y: float, turned: bool) -> None:
    step = (WIDTH - left - 8) / column.shares.shape[1]
    for place, (level, short) in enumerate(zip(column.levels, _fitting(column.levels, 70), strict=True)):
        x = left + (place + 0.5) * step
        if turned:
            turn = f"rotate(-40 {_written(x)} {_written(y + 10)})"
            canvas.add("text", "s", short, level, x=x, y=y + 10, text_anchor="end", transform=turn)
        else:
            canvas.text(x, y + 12, level, "s", "middle")
    if not column.levels:
        for tick in ticks(float(column.edges[0]), float(column.edges[-1])):
            x = _place(column, tick, left)
            canvas.line(x, y, x, y + 4, "axis")
            canvas.text(x, y + 15, number(tick), "s", "middle")


def _summary(column: Column, groups: Sequence[int]) -> str:
    if column.levels:
        parts = [
            f"group {g + 1} mostly {column.levels[int(np.argmax(s))]}"
            for g, s in zip(groups, column.shares, strict=True)
        ]
    else:
        parts = [f"group {g + 1} median {q[2]:.4g}" for g, q in zip(groups, column.quantiles, strict=True)]
    return f"Values of {column.name}: " + ", ".join(parts)


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """A limited number of round numbers within a range."""
    rough = max((high / 2 - low / 2) / most * 2, 1e-300)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.999)
    return [tick * step for tick in range(math.ceil(low / step), math.floor(high / step) + 1)]


def number(value: float) -> str:
    """A number in an easily readable form."""
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return f"{value:,.6g}" if abs(value) < 1e6 else f"{value:,.0f}"
    return f"{value:.3g}"
