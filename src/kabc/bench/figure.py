"""A picture of a comparison: a row for each strategy, a column for each instance. Cells show samples of each arm."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kabc.bench.tables import CAPTION, Row, text_of
from kabc.core.errors import SettingsError
from kabc.core.words import shown
from kabc.report.style import LIGHT

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SHADES = 8  # h0..h7 of the style sheet
_LARGEST = 5.0  # log10 of the samples of each arm at the darkest shade


def draw_comparison(rows: Sequence[Row], delta: float, target: str | Path) -> None:
    """Write the picture to a file. The ending of its name sets the format."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise SettingsError("the figure needs matplotlib; pip install 'kabc[plot]'") from None
    instances = list(dict.fromkeys(row.instance for row in rows))
    strategies = list(dict.fromkeys(row.strategy for row in rows))
    titles = [{row.strategy: row.title for row in rows}[strategy] for strategy in strategies]
    size = (2.6 + 0.62 * len(instances), 1.9 + 0.27 * len(strategies))
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.add_subplot()
    axes.set_xlim(-0.5, len(instances) - 0.5)
    axes.set_ylim(len(strategies) - 0.5, -0.5)
    axes.set_xticks(range(len(instances)), list(map(shown, instances)), rotation=50, ha="left", fontsize=8)
    axes.set_yticks(range(len(strategies)), list(map(shown, titles)), fontsize=8)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    for row in rows:
        _cell(axes, row, delta, instances.index(row.instance), strategies.index(row.strategy))
    _suite_lines(axes, rows, instances, len(strategies))
    figure.supxlabel(
        textwrap.fill(CAPTION, max(40, int(17 * size[0]))), x=0.01, ha="left", fontsize=7, color=LIGHT["soft"]
    )
    figure.savefig(target, dpi=150)


def _cell(axes: Axes, row: Row, delta: float, x: int, y: int) -> None:
    from matplotlib.patches import Rectangle

    shade = shade_of(row)
    face = LIGHT["page"] if shade is None else LIGHT[f"h{shade}"]
    axes.add_patch(Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor=face, edgecolor=LIGHT["page"], linewidth=1))
    axes.text(
        x,
        y,
        text_of(row, delta),
        ha="center",
        va="center",
        fontsize=7,
        fontweight="bold" if row.guarantee == "proven" and not row.violated and row.stops else "normal",
        color=LIGHT["soft"] if shade is None else LIGHT[f"i{shade}"],
    )


def shade_of(row: Row) -> int | None:
    """How dark a cell is. None if there is no answer."""
    if not row.stops:
        return None
    share = math.log10(max(1.0, row.samples / row.n_arms)) / _LARGEST
    return min(_SHADES - 1, int(share * _SHADES))


def _suite_lines(axes: Axes, rows: Sequence[Row], instances: Sequence[str], height: int) -> None:
    suites = {row.instance: row.suite for row in rows}
    for place in range(1, len(instances)):
        if suites[instances[place]] != suites[instances[place - 1]]:
            axes.plot([place - 0.5] * 2, [-0.5, height - 0.5], color=LIGHT["soft"], linewidth=1.2)
