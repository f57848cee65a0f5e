"""Draws every picture with matplotlib, for papers and files. It needs kabc[plot]."""

from __future__ import annotations

import math
import os
from functools import singledispatch
from typing import TYPE_CHECKING, Any

import numpy as np

from kabc.core.errors import SettingsError
from kabc.report.apart_graph import ApartGraph
from kabc.report.arm_map import ArmMap
from kabc.report.counts import SampleCounts
from kabc.report.nodes import MOST_NODES, MOST_ODD, shorten
from kabc.report.odd_ones import OddArm, OddOnes
from kabc.report.pair_map import MOST_LETTERS, PairMap, draw_pair_map, name_rows, outline_groups
from kabc.report.style import LIGHT
from kabc.report.trace import EvidenceTrace, power_of_two
from kabc.report.values import Column, GroupValues
from kabc.report.verdict_map import KINDS, SIGNS, VerdictMap

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

VERDICT_COLOURS = (LIGHT["h6"], LIGHT["h2"], LIGHT["none"], LIGHT["edge"])  # of each kind, and of several together
_MOST_NAMES = 40
_LINKS: dict[str, dict[str, Any]] = {
    "together": {"color": LIGHT["thin"], "linewidth": 0.5},
    "open": {"color": LIGHT["apart"], "linewidth": 0.7, "linestyle": "--"},
    "conflict": {"color": LIGHT["ink"], "linewidth": 2.2},
}


def draw(picture: object, target: str | os.PathLike[str] | None = None) -> Figure:
    """A figure of what `kabc.report` computed. It is also written to a file; the ending of its name sets the format."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise SettingsError("this picture needs matplotlib; pip install 'kabc[plot]'") from None
    figure = Figure(figsize=(7.0, 5.0), layout="constrained")
    _paint(picture, figure)
    if target is not None:
        figure.savefig(target, dpi=150, bbox_inches="tight")
    return figure


def colour_of(group: int) -> str:
    """The colour of a group. Colours repeat; the number beside a colour is unique."""
    return LIGHT[f"g{group % 8}"]


@singledispatch
def _paint(picture: object, figure: Figure) -> None:
    raise SettingsError(f"{picture!r} is not a picture; pass what pair_map, arm_map, ... of kabc.report return")


@_paint.register(PairMap)
def _pairs(picture: PairMap, figure: Figure) -> None:
    side = 3.5 + 0.17 * min(max(len(picture.names), 20), 80)
    figure.set_size_inches(side + 1.0, side)
    draw_pair_map(picture, figure.subplots())


@_paint.register(VerdictMap)
def _verdicts(picture: VerdictMap, figure: Figure) -> None:
    from matplotlib.colors import ListedColormap

    n = len(picture.nodes.names)
    side = 3.5 + 0.3 * min(max(n, 8), MOST_NODES)
    figure.set_size_inches(side, side)
    axes = figure.subplots()
    axes.imshow(picture.codes, cmap=ListedColormap(VERDICT_COLOURS), vmin=0, vmax=len(KINDS), interpolation="nearest")
    for row in range(n):
        for column in range(n):
            kind = picture.verdict(row, column)
            ink = "white" if kind == KINDS[0] else LIGHT["ink"]
            axes.text(column, row, picture.sign(row, column), ha="center", va="center", fontsize=8, color=ink)
    name_rows(picture.nodes.names, axes)
    outline_groups(picture.nodes.boundaries, axes, certified=picture.certified)
    signs = ", ".join(f"{SIGNS[kind]} {kind}" for kind in KINDS)
    axes.set_xlabel(f"{signs}; numbers: proven margins {picture.in_unit}".rstrip(), fontsize=8, parse_math=False)
    axes.set_title(picture.title, fontsize=10, pad=10, wrap=True, parse_math=False)


@_paint.register(ApartGraph)
def _graph(picture: ApartGraph, figure: Figure) -> None:
    axes = _plane(figure)
    for edge in picture.edges:
        ends = picture.places[[edge.first, edge.second]]
        axes.plot(ends[:, 0], ends[:, 1], zorder=1, **_LINKS[edge.link])
    _nodes(axes, picture.places, picture.nodes.names, picture.nodes.groups)
    axes.set_title("No line: told apart. Dashed: not told apart, in different groups", fontsize=10)


@_paint.register(ArmMap)
def _arms(picture: ArmMap, figure: Figure) -> None:
    axes = _plane(figure)
    _nodes(axes, picture.places, picture.names, picture.groups, picture.odd)
    axes.set_title(f"{picture.measure} ({100 * picture.shown:.0f} % of its squares shown)", fontsize=10)


def _plane(figure: Figure) -> Axes:
    axes = figure.subplots()
    axes.set_aspect("equal", "datalim")
    axes.set_xticks([])
    axes.set_yticks([])
    axes.margins(0.15)
    return axes


def _nodes(
    axes: Axes, places: Any, names: tuple[str, ...], groups: tuple[int, ...], odd: tuple[int, ...] = ()
) -> None:  # places (n, 2)
    """Points with the numbers of their groups and their names; of many, only those that stand out have them."""
    many = len(names) > _MOST_NAMES
    named = odd[:MOST_ODD] if many else range(len(names))
    colours = [colour_of(group) for group in groups]
    x, y = places.T
    axes.scatter(x, y, s=18 if many else 130, c=colours, edgecolors="white", linewidths=0.8, zorder=2)
    axes.scatter(x[list(odd)], y[list(odd)], s=130, c=[colours[arm] for arm in odd], edgecolors="white", zorder=2)
    for arm, name in zip(named, shorten([names[arm] for arm in named], MOST_LETTERS), strict=True):
        axes.annotate(str(groups[arm] + 1), places[arm], ha="center", va="center", fontsize=7, color="white", zorder=3)
        axes.annotate(
            name, places[arm], (8, 0), textcoords="offset points", va="center", fontsize=7, zorder=4, parse_math=False
        )


@_paint.register(EvidenceTrace)
def _trace(picture: EvidenceTrace, figure: Figure) -> None:
    axes = figure.subplots()
    for together, colour, style in ((True, LIGHT["together"], "--"), (False, LIGHT["apart"], "-")):
        lines = [line for line in picture.lines if line.together is together]
        for place, line in enumerate(lines):
            label = ("one group" if together else "different groups") if not place else None
            axes.plot(picture.n_samples, np.maximum(line.strength, 1 / 16), style, color=colour, lw=0.9, label=label)
    axes.axhline(1.0, color=LIGHT["ink"], lw=1.2, label="threshold")
    axes.set_yscale("log", base=2)
    axes.set_ylim(bottom=1 / 16)
    axes.yaxis.set_major_formatter(lambda value, _: power_of_two(round(math.log2(value))))
    axes.set_xlim(left=0)
    axes.set_xlabel("samples of all arms")
    axes.set_ylabel("evidence / threshold (told apart above 1)")
    axes.legend(fontsize=8)


@_paint.register(SampleCounts)
def _counts(picture: SampleCounts, figure: Figure) -> None:
    names, groups = shorten(picture.nodes.names, MOST_LETTERS), picture.nodes.groups
    figure.set_size_inches(7.0, 1.2 + 0.2 * len(names))
    axes = figure.subplots()
    rows = np.arange(len(names))
    whiskers = [picture.median - picture.least, picture.most - picture.median] if picture.nodes.are_groups else None
    axes.barh(rows, picture.median, color=[colour_of(group) for group in groups], xerr=whiskers)
    axes.set_yticks(rows, [f"{name}  [{group + 1}]" for name, group in zip(names, groups, strict=True)], fontsize=8)
    for label in axes.get_yticklabels():
        label.set_parse_math(False)
    axes.invert_yaxis()
    axes.set_xlabel("samples of an arm; the number of its group in brackets")


@_paint.register(OddOnes)
def _odd(picture: OddOnes, figure: Figure) -> None:
    rows = -(-len(picture.arms) // 3)
    figure.set_size_inches(9.0, 2.0 * rows + 0.6)
    panels = figure.subplots(rows, 3, squeeze=False)
    for axes in panels.flat[len(picture.arms) :]:
        axes.set_visible(False)
    for axes, arm in zip(panels.flat, picture.arms, strict=False):
        _over_the_others(axes, arm)


def _over_the_others(axes: Axes, arm: OddArm) -> None:
    """All other arms as grey bars, and the arm as an outline over them."""
    column = arm.column
    edges = np.arange(len(column.levels) + 1) - 0.5 if column.levels else column.edges
    axes.stairs(column.shares[1], edges, fill=True, color=LIGHT["edge"])
    axes.stairs(column.shares[0], edges, color=colour_of(arm.group), linewidth=1.5)
    axes.set_yticks([])
    axes.tick_params(labelsize=7)
    if column.levels:
        axes.set_xticks(range(len(column.levels)), shorten(column.levels, MOST_LETTERS), fontsize=7)
    for label in axes.get_xticklabels() if column.levels else ():
        label.set_parse_math(False)
    name, title = shorten([arm.name], MOST_LETTERS)[0], shorten([column.name], MOST_LETTERS)[0]
    axes.set_title(f"{name} [{arm.group + 1}]: {title}", fontsize=8, parse_math=False)


@_paint.register(GroupValues)
def _values(picture: GroupValues, figure: Figure) -> None:
    if not picture.columns:
        raise SettingsError("there is no column to draw: texts have no picture")
    rows = -(-len(picture.columns) // 2)
    figure.set_size_inches(9.0, 2.6 * rows + 0.3)
    panels = figure.subplots(rows, 2, squeeze=False)
    for axes in panels.flat[len(picture.columns) :]:
        axes.set_visible(False)
    for axes, column in zip(panels.flat, picture.columns, strict=False):
        _column(axes, column, picture.groups)


def _column(axes: Axes, column: Column, groups: tuple[int, ...]) -> None:
    """Rows of bars, one for each group, the first on top."""
    tall = 0.85 / max(float(column.shares.max()), 1e-9)
    left = np.arange(len(column.levels)) - 0.4 if column.levels else column.edges[:-1]
    width = 0.8 if column.levels else np.diff(column.edges)
    if column.band is not None:
        axes.axvspan(*column.band, facecolor=LIGHT["h1"], edgecolor=LIGHT["together"], ls="--", label="tolerance")
        axes.legend(fontsize=7)
    for row, group in enumerate(groups):
        base = len(groups) - 1 - row
        axes.bar(left, column.shares[row] * tall, width, bottom=base, align="edge", color=colour_of(group))
        axes.plot(column.quantiles[row, 2], base, "k|")
    axes.set_yticks(range(len(groups)), [f"group {group + 1}" for group in reversed(groups)], fontsize=8)
    if column.levels:
        axes.set_xticks(range(len(column.levels)), shorten(column.levels, MOST_LETTERS), fontsize=8, rotation=30)
    for label in axes.get_xticklabels() if column.levels else ():
        label.set_parse_math(False)
    axes.set_title(shorten([column.name], 2 * MOST_LETTERS)[0], fontsize=9, parse_math=False)
