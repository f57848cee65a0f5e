"""Pictures of arms as points in a plane, as SVG."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kabc.core.words import few
from kabc.report.apart_graph import ApartGraph
from kabc.report.arm_map import ArmMap
from kabc.report.nodes import MOST_NODES
from kabc.report.svg.canvas import LETTER, N_GROUP_COLOURS, WIDTH, Canvas, colour_of, fitting, stroke_of, written

_NODE = 8.0  # radius
_ROOM = (WIDTH - 120, WIDTH - 60)  # for points; the rest is for names
_MOST_LABELS = 12
_FEWEST_FOR_A_NAME = 5  # arms of a group whose dots get its number

Box = tuple[float, float, float, float]  # left, top, right, bottom


def draw_graph(graph: ApartGraph) -> str:
    """Nodes by group. Lines are thin within a group, dashed for open pairs, and double for conflicts."""
    canvas, points = _plane(graph.places)
    faint = " faint" if graph.pairs("open") > 60 else ""
    for edge in sorted(graph.edges, key=lambda edge: ("together", "open", "conflict").index(edge.link)):
        (x1, y1), (x2, y2) = points[edge.first], points[edge.second]
        canvas.line(x1, y1, x2, y2, f"e-{edge.link}" + (faint if edge.link == "open" else ""))
    _named_points(canvas, points, graph.nodes.names, graph.nodes.groups)
    kind = "groups" if graph.nodes.are_groups else "arms"
    return canvas.picture(
        f"Graph of {len(graph.nodes.names)} {kind}: {graph.pairs('open')} pairs of different groups are not told apart"
    )


def draw_arm_map(arms: ArmMap) -> str:
    """Arms as points with the number of their group. Of many arms, only those that stand out have a name."""
    canvas, points = _plane(arms.places)
    canvas.add("rect", "plane", x=0.5, y=0.5, width=canvas.width - 1, height=canvas.height - 1, rx=4)
    if len(arms.names) <= MOST_NODES:
        _named_points(canvas, points, arms.names, arms.groups)
        return canvas.picture(f"Map of {len(arms.names)} arms in {max(arms.groups) + 1} groups; near means alike")
    _many_points(canvas, points, arms)
    odd = f"; standing out: {few([arms.names[arm] for arm in arms.odd])}" if arms.odd else ""
    return canvas.picture(f"Map of {len(arms.names)} arms in {max(arms.groups) + 1} groups; near means alike{odd}")


def _plane(places: NDArray[np.float64]) -> tuple[Canvas, NDArray[np.float64]]:  # (n, 2) -> (n, 2)
    """A canvas with room for names, and the places on it. Both directions have the same scale."""
    low, high = places.min(axis=0), places.max(axis=0)
    spread = high - low
    # one point, or all of them on one place, need no scale: a division would overflow
    wide, tall = (room / width if width > 1e-150 else math.inf for room, width in zip(_ROOM, spread, strict=True))
    scale = min(wide, tall) if math.isfinite(min(wide, tall)) else 0.0
    canvas = Canvas(WIDTH, max(float(spread[1]) * scale + 60, 150.0))
    return canvas, np.array([WIDTH, canvas.height]) / 2 + (places - (low + high) / 2) * scale


def _named_points(canvas: Canvas, points: NDArray[np.float64], names: Sequence[str], groups: Sequence[int]) -> None:
    taken = [_around(point, _NODE) for point in points]
    for (x, y), name, group in zip(points.tolist(), names, groups, strict=True):
        tip = name if name.startswith(f"group {group + 1} (") else f"{name}: group {group + 1}"
        canvas.add("circle", f"node {colour_of(group)}", tip=tip, cx=x, cy=y, r=_NODE)
        canvas.text(x, y + 3.3, str(group + 1), "in node-ink", "middle")
    short = fitting(names, 116)
    odd_first = sorted(range(len(names)), key=lambda node: groups.count(groups[node]))
    for node in odd_first:
        _name(canvas, float(points[node, 0]), float(points[node, 1]), short[node], taken)


def _many_points(canvas: Canvas, points: NDArray[np.float64], arms: ArmMap) -> None:
    """Arms as dots, with the numbers of large groups in their middle. The odd ones are points with a name."""
    groups = np.array(arms.groups)
    odd = list(arms.odd[:_MOST_LABELS])
    others = ~np.isin(np.arange(len(groups)), odd)
    for colour in range(N_GROUP_COLOURS):  # a path for each colour, however many groups there are
        dots = points[(groups % N_GROUP_COLOURS == colour) & others]
        if len(dots):
            path = "".join(f"M{written(x)} {written(y)}h0" for x, y in dots.tolist())
            canvas.add("path", f"dots {stroke_of(colour)}", d=path)
    sizes = Counter(arms.groups)
    large = sorted(sizes, key=lambda group: -sizes[group])
    taken = [_around(points[arm], _NODE) for arm in odd]
    for arm in odd:
        (x, y), group = points[arm].tolist(), arms.groups[arm]
        canvas.add("circle", f"node {colour_of(group)}", tip=f"{arms.names[arm]}: group {group + 1}", cx=x, cy=y, r=6)
        canvas.text(x, y + 3, str(group + 1), "in node-ink", "middle")
    for arm, short in zip(odd, fitting([arms.names[arm] for arm in odd], 140), strict=True):
        _name(canvas, float(points[arm, 0]), float(points[arm, 1]), short, taken)
    for group in large[:_MOST_LABELS]:
        if sizes[group] >= _FEWEST_FOR_A_NAME:
            x, y = np.median(points[groups == group], axis=0).tolist()
            _name(canvas, x, y, f"group {group + 1}", taken)


def _around(point: NDArray[np.float64], radius: float) -> Box:
    x, y = point.tolist()
    return x - radius, y - radius, x + radius, y + radius


def _name(canvas: Canvas, x: float, y: float, name: str, taken: list[Box]) -> None:
    """Write the name beside its point where it covers nothing. Leave it out if there is no such place."""
    width, gap = len(name) * LETTER, _NODE + 3
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
