"""One picture of a comparison: strategies down, instances across, samples of each arm as colour and number."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kabc.bench.tables import Row
from kabc.errors import SettingsError
from kabc.report.style import LIGHT

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SHADES = 8  # h0..h7 of the style sheet
_LARGEST = 5.0  # log10 of samples of each arm that has the darkest shade
CAPTION = (
    "Samples of each arm on average, pilots and discarded rounds included. Bold: proven and no assumption violated.  "
    "∞: no stop at the cap.  !: wrong more often than delta allows for.  *: an assumption is violated.  "
    "-: cannot be set up.  (n): the smallest number of samples that is enough, which only an oracle knows."
)


def draw_comparison(rows: Sequence[Row], delta: float, target: str | Path) -> None:
    """Write the picture to a file whose ending chooses the format."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise SettingsError("the figure needs matplotlib; pip install 'kabc[plot]'") from None
    instances = list(dict.fromkeys(row.instance for row in rows))
    strategies = list(dict.fromkeys(row.strategy for row in rows))
    size = (2.6 + 0.62 * len(instances), 1.9 + 0.27 * len(strategies))
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.add_subplot()
    axes.set_xlim(-0.5, len(instances) - 0.5)
    axes.set_ylim(len(strategies) - 0.5, -0.5)
    axes.set_xticks(range(len(instances)), instances, rotation=50, ha="left", fontsize=8)
    axes.set_yticks(range(len(strategies)), strategies, fontsize=8)
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
    """How dark a cell is; None where there is no answer."""
    if not row.stops:
        return None
    share = math.log10(max(1.0, row.samples / row.n_arms)) / _LARGEST
    return min(_SHADES - 1, int(share * _SHADES))


def text_of(row: Row, delta: float) -> str:
    """What a cell says."""
    if row.unfit:
        return "-"
    if not row.stops:
        return "∞" + ("*" if row.violated else "")
    each = row.samples / row.n_arms
    number = f"{each:,.0f}" if each >= 10 else f"{each:.1f}"
    if each >= 10_000:
        number = f"{each / 1000:,.0f}k"
    marks = ("!" if row.wrong_low > delta else "") + ("*" if row.violated else "")
    marks += "∞" if row.undecided else ""  # some runs
    return (f"({number})" if row.guarantee == "oracle budget" else number) + marks


def _suite_lines(axes: Axes, rows: Sequence[Row], instances: Sequence[str], height: int) -> None:
    suites = {row.instance: row.suite for row in rows}
    for place in range(1, len(instances)):
        if suites[instances[place]] != suites[instances[place - 1]]:
            axes.plot([place - 0.5] * 2, [-0.5, height - 0.5], color=LIGHT["soft"], linewidth=1.2)
