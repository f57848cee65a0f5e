"""Draws every picture with plotly, for notebooks. Point at something to read what it is. It needs kabc[plot]."""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kabc.core.errors import SettingsError
from kabc.report.apart_graph import ApartGraph
from kabc.report.arm_map import ArmMap
from kabc.report.counts import SampleCounts
from kabc.report.mpl import VERDICT_COLOURS, colour_of
from kabc.report.nodes import MOST_ODD, shorten
from kabc.report.odd_ones import OddOnes
from kabc.report.pair_map import MOST_LETTERS, PairMap
from kabc.report.style import LIGHT
from kabc.report.trace import EvidenceTrace, power_of_two
from kabc.report.values import GroupValues
from kabc.report.verdict_map import KINDS, SIGNS, VerdictMap

if TYPE_CHECKING:
    from plotly.graph_objects import Figure  # type: ignore[import-untyped]

_MOST_NAMES = 40
_STEEPEST = 4  # colours end at 1/16 and 16 times the threshold
_SCALE = [*((place / 8, LIGHT[f"h{place}"]) for place in range(4)), (0.4999, LIGHT["h3"]), (0.5, LIGHT["h4"])]
_SCALE += [((place + 1) / 8, LIGHT[f"h{place}"]) for place in range(5, 8)]
_LINKS = {
    "together": ("one group", {"color": LIGHT["thin"], "width": 0.6}),
    "open": ("different groups, not told apart", {"color": LIGHT["apart"], "width": 1, "dash": "dash"}),
    "conflict": ("told apart in one guessed group", {"color": LIGHT["ink"], "width": 3}),
}


def draw(picture: object) -> Figure:
    """An interactive figure of what `kabc.report` computed."""
    try:
        from plotly.graph_objects import Figure
    except ImportError:
        raise SettingsError("this picture needs plotly; pip install 'kabc[plot]'") from None
    figure = Figure()
    _paint(picture, figure)
    figure.update_layout(template="plotly_white", margin={"l": 20, "r": 20, "t": 50, "b": 20})
    return figure


@singledispatch
def _paint(picture: object, figure: Figure) -> None:
    raise SettingsError(f"{picture!r} is not a picture; pass what pair_map, arm_map, ... of kabc.report return")


def _safe(names: tuple[str, ...]) -> list[str]:
    """Names, escaped: plotly reads texts as HTML."""
    return [escape(name, quote=False) for name in shorten(names, 2 * MOST_LETTERS)]


@_paint.register(PairMap)
def _pairs(picture: PairMap, figure: Figure) -> None:
    names = _safe(picture.names)
    with np.errstate(divide="ignore"):
        height = np.clip(np.log2(np.maximum(picture.ratio, 0)), -_STEEPEST, _STEEPEST).astype(np.float32)
    told = [["told apart" if pair else "not told apart" for pair in row] for row in picture.told_apart.tolist()]
    few = len(names) <= 200  # a million texts would make the figure 30 MB large
    powers = list(range(-_STEEPEST, _STEEPEST + 1))
    figure.add_heatmap(
        z=height,
        zmin=-_STEEPEST,
        zmax=_STEEPEST,
        colorscale=_SCALE,
        customdata=told if few else None,
        text=[[f"{a} and {b}" for b in names] for a in names] if few else None,
        hovertemplate=("%{text}: %{customdata}<br>" if few else "")
        + "evidence / threshold = 2^%{z:.2f}<extra></extra>",
        colorbar={"tickvals": powers, "ticktext": [power_of_two(power) for power in powers], "title": "evidence"},
    )
    rows, columns = np.nonzero(picture.told_apart)
    if len(names) <= _MOST_NAMES:
        marker = {"color": LIGHT["ink"], "size": 3}
        figure.add_scatter(x=columns, y=rows, mode="markers", marker=marker, name="told apart", hoverinfo="skip")
    _square(figure, names, picture.boundaries)
    figure.update_layout(title=picture.title.replace("\n", "<br>"))


def _square(figure: Figure, names: list[str], boundaries: Sequence[int]) -> None:
    """Frames around groups, and names at the sides of a square of pairs."""
    for start, end in pairwise(boundaries):
        figure.add_shape(x0=start - 0.5, y0=start - 0.5, x1=end - 0.5, y1=end - 0.5, line={"width": 1.5})
    places = list(range(len(names))) if len(names) <= 2 * _MOST_NAMES else []
    figure.update_xaxes(tickvals=places, ticktext=names, constrain="domain")
    figure.update_yaxes(tickvals=places, ticktext=names, autorange="reversed", scaleanchor="x", constrain="domain")


@_paint.register(VerdictMap)
def _verdicts(picture: VerdictMap, figure: Figure) -> None:
    names = _safe(picture.nodes.names)
    n = len(names)
    cells = [[(row, column) for column in range(n)] for row in range(n)]
    seen = ~np.isnan(picture.codes)
    figure.add_heatmap(
        z=picture.codes,
        zmin=-0.5,
        zmax=len(KINDS) + 0.5,
        colorscale=[(edge / 4, colour) for i, colour in enumerate(VERDICT_COLOURS) for edge in (i, i + 1)],
        text=[[escape(picture.sign(*cell)).replace("\n", "<br>") for cell in row] for row in cells],
        texttemplate="%{text}",
        customdata=[[escape(picture.tip(*cell)) if seen[cell] else "" for cell in row] for row in cells],
        hovertemplate="%{customdata}<extra></extra>",
        colorbar={"tickvals": [0, 1, 2, 3], "ticktext": [*(f"{SIGNS[kind]} {kind}" for kind in KINDS), "several"]},
    )
    _square(figure, names, picture.nodes.boundaries)
    figure.update_layout(title=escape(picture.title))


@_paint.register(ApartGraph)
def _graph(picture: ApartGraph, figure: Figure) -> None:
    for link, (name, line) in _LINKS.items():
        ends = [picture.places[[edge.first, edge.second]] for edge in picture.edges if edge.link == link]
        if ends:
            broken = np.concatenate([np.vstack([pair, [np.nan, np.nan]]) for pair in ends])  # one trace, many lines
            figure.add_scatter(x=broken[:, 0], y=broken[:, 1], mode="lines", line=line, name=name, hoverinfo="skip")
    _nodes(figure, picture.places, picture.nodes.names, picture.nodes.groups)
    figure.update_layout(title="No line: told apart")


@_paint.register(ArmMap)
def _arms(picture: ArmMap, figure: Figure) -> None:
    _nodes(figure, picture.places, picture.names, picture.groups, picture.odd)
    figure.update_layout(title=f"{picture.measure} ({100 * picture.shown:.0f} % of its squares shown)")


def _nodes(
    figure: Figure,
    places: NDArray[np.float64],
    names: tuple[str, ...],
    groups: tuple[int, ...],
    odd: tuple[int, ...] = (),
) -> None:
    for group in sorted(set(groups)):
        chosen = [node for node, other in enumerate(groups) if other == group]
        figure.add_scatter(
            x=places[chosen, 0],
            y=places[chosen, 1],
            mode="markers+text" if len(names) <= _MOST_NAMES else "markers",
            text=_safe(tuple(names[node] for node in chosen)),
            textposition="top center",
            hovertemplate=f"%{{text}}: group {group + 1}<extra></extra>",
            marker={"color": colour_of(group), "size": 12 if len(names) <= _MOST_NAMES else 6},
            name=f"group {group + 1}",
        )
    for arm in odd[:MOST_ODD] if len(names) > _MOST_NAMES else ():
        x, y = places[arm].tolist()
        figure.add_annotation(x=x, y=y, text=_safe((names[arm],))[0], showarrow=True, arrowhead=0)
    figure.update_xaxes(visible=False)
    figure.update_yaxes(visible=False, scaleanchor="x")


@_paint.register(EvidenceTrace)
def _trace(picture: EvidenceTrace, figure: Figure) -> None:
    seen: set[bool] = set()
    for line in picture.lines:
        style: dict[str, Any] = (
            {"color": LIGHT["together"], "dash": "dash"} if line.together else {"color": LIGHT["apart"]}
        )
        name = "one group" if line.together else "different groups"
        first, second = _safe((line.first, line.second))
        figure.add_scatter(
            x=picture.n_samples,
            y=np.maximum(line.strength, 1 / 16),
            mode="lines",
            line={"width": 1.2, **style},
            name=name,
            legendgroup=name,
            showlegend=line.together not in seen,
            hovertemplate=f"{first} and {second}<br>%{{x}} samples: %{{y:.3g}}<extra></extra>",
        )
        seen.add(line.together)
    figure.add_hline(y=1.0, line={"color": LIGHT["ink"], "width": 1.5})
    figure.update_xaxes(title="samples of all arms", rangemode="tozero")
    powers = range(-_STEEPEST, 9)
    figure.update_yaxes(
        title="evidence / threshold (told apart above 1)",
        type="log",
        tickvals=[2.0**power for power in powers],
        ticktext=[power_of_two(power) for power in powers],
    )


@_paint.register(SampleCounts)
def _counts(picture: SampleCounts, figure: Figure) -> None:
    places = list(range(len(picture.nodes.names)))
    figure.add_bar(
        x=picture.median,
        y=places,
        orientation="h",
        marker={"color": [colour_of(group) for group in picture.nodes.groups]},
        customdata=np.column_stack([picture.least, picture.most, np.array(picture.nodes.groups) + 1]),
        hovertemplate="%{x} samples (%{customdata[0]} to %{customdata[1]}), group %{customdata[2]}<extra></extra>",
    )
    figure.update_yaxes(tickvals=places, ticktext=_safe(picture.nodes.names), autorange="reversed")
    figure.update_xaxes(title="samples of an arm")


@_paint.register(OddOnes)
def _odd(picture: OddOnes, figure: Figure) -> None:
    titles = _safe(tuple(f"{arm.name} [{arm.group + 1}]: {arm.column.name}" for arm in picture.arms))
    figure.set_subplots(rows=len(picture.arms), cols=1, subplot_titles=titles)
    for row, arm in enumerate(picture.arms):
        column, where = arm.column, {"row": row + 1, "col": 1}
        x = _safe(column.levels) if column.levels else (column.edges[:-1] + column.edges[1:]) / 2
        drawn = (
            ("all other arms", LIGHT["edge"], column.shares[1]),
            ("this arm", colour_of(arm.group), column.shares[0]),
        )
        for name, colour, shares in drawn:
            shared: dict[str, Any] = {"name": name, "legendgroup": name, "showlegend": row == 0}
            if column.levels:
                figure.add_bar(x=x, y=shares, marker={"color": colour}, **shared, **where)
            else:
                line = {"color": colour, "shape": "hvh"}
                fill = "tozeroy" if name == "all other arms" else None
                figure.add_scatter(x=x, y=shares, mode="lines", line=line, fill=fill, **shared, **where)
    figure.update_layout(height=200 * len(picture.arms) + 80)


@_paint.register(GroupValues)
def _values(picture: GroupValues, figure: Figure) -> None:
    if not picture.columns:
        raise SettingsError("there is no column to draw: texts have no picture")
    figure.set_subplots(rows=len(picture.columns), cols=1, subplot_titles=_safe(tuple(c.name for c in picture.columns)))
    for row, column in enumerate(picture.columns):
        x = _safe(column.levels) if column.levels else (column.edges[:-1] + column.edges[1:]) / 2
        if column.band is not None:
            low, high = column.band
            figure.add_vrect(low, high, row=row + 1, col=1, fillcolor=LIGHT["h1"], line={"dash": "dash"}, layer="below")
        for place, group in enumerate(picture.groups):
            name, colour = f"group {group + 1}", colour_of(group)
            shared: dict[str, Any] = {"name": name, "legendgroup": name, "showlegend": row == 0}
            where = {"row": row + 1, "col": 1}
            if column.levels:
                figure.add_bar(x=x, y=column.shares[place], marker={"color": colour}, **shared, **where)
            else:
                line = {"color": colour, "shape": "hvh"}
                figure.add_scatter(x=x, y=column.shares[place], mode="lines", line=line, **shared, **where)
    figure.update_yaxes(title="part of the samples", rangemode="tozero")
    figure.update_layout(height=260 * len(picture.columns) + 80)
