"""All pairs of arms in one picture: evidence in units of its threshold, with arms ordered by group."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kabc.core.words import counted
from kabc.report.group_evidence import group_evidence
from kabc.report.nodes import MOST_NODES, by_group, group_nodes, names_of, shorten
from kabc.results.values import Result
from kabc.results.words import STATUS_WORDS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage

_MOST_NAMES = 80  # with more arms, names would be too small to read; then only groups are labelled, by number
MOST_LETTERS = 30  # letters of a name in a picture
_STEEPEST = 4.0  # colours end at 1/16 and 16 times the threshold
_TICKS = ("1/16", "1/8", "1/4", "1/2", "1", "1.5", "2", "4", "8", "16")
_GREY = "#d0d0d0"


@dataclass(frozen=True)
class PairMap:
    """What the picture shows.

    Attributes
    ----------
    order : arm numbers in the order of rows and columns, group after group. In a group map: group numbers.
    names : names of the rows and columns, in this order.
    boundaries : group g takes the rows boundaries[g] up to, not including, boundaries[g + 1].
    ratio : evidence / threshold in the latest round. NaN if there is none, and for an arm with itself.
    told_apart : certified pairs: told apart in the latest round or before. In a group map: at least one pair of a cell.
    n_arms : number of arms, even if rows are groups.
    status : how the run ended, in words.
    certified : whether the groups are certified, not a guess.
    n_samples, delta : what it cost, and the error probability.
    told_pairs, compared_pairs : in a group map: of each cell, the pairs told apart, and those with evidence. Else None.
    """

    order: tuple[int, ...]
    names: tuple[str, ...]
    boundaries: tuple[int, ...]
    ratio: NDArray[np.float64]  # (N, N)
    told_apart: NDArray[np.bool_]  # (N, N)
    n_arms: int
    status: str
    certified: bool
    n_samples: int
    delta: float
    told_pairs: NDArray[np.int64] | None = None  # (G, G)
    compared_pairs: NDArray[np.int64] | None = None  # (G, G)

    @property
    def title(self) -> str:
        """The answer in words."""
        groups = len(self.boundaries) - 1
        size = f"{counted(self.n_arms, 'arm')} in {counted(groups, 'group')}"
        return f"{self.status}\n{size}, {counted(self.n_samples, 'sample')}, delta = {self.delta:g}"


def pair_map(result: Result) -> PairMap:
    """The evidence of a result with its arms ordered by group, in arm order within a group."""
    order = by_group(result)
    labels = np.asarray(result.labels)[order]
    evidence, texts = result.evidence.among(order).dense(), names_of(result)
    ratio = evidence.strength
    np.fill_diagonal(ratio, np.nan)  # an arm is not compared with itself
    return PairMap(
        order=tuple(order.tolist()),
        names=tuple(texts[arm] for arm in order),
        boundaries=(0, *np.cumsum(np.bincount(labels)).tolist()),
        ratio=ratio,
        told_apart=evidence.told_apart,
        n_arms=len(order),
        status=STATUS_WORDS[result.status],
        certified=result.certified,
        n_samples=result.n_samples,
        delta=result.delta,
    )


def group_map(result: Result, most: int = MOST_NODES) -> PairMap:
    """The pair map of the largest `most` groups, one row each. A cell has the strongest evidence of its pairs."""
    nodes = group_nodes(result, most)
    found = group_evidence(result.evidence, nodes.members)
    return PairMap(
        order=nodes.groups,
        names=nodes.names,
        boundaries=tuple(range(len(nodes.names) + 1)),
        ratio=found.strongest,
        told_apart=found.told > 0,
        n_arms=len(by_group(result)),
        status=STATUS_WORDS[result.status],
        certified=result.certified,
        n_samples=result.n_samples,
        delta=result.delta,
        told_pairs=found.told,
        compared_pairs=found.compared,
    )


def draw_pair_map(pairs: PairMap, target: str | Path | Axes) -> None:
    """Draw into a new picture file (its ending sets the format) or into matplotlib axes. Needs kabc[plot]."""
    if not isinstance(target, str | Path):
        _draw(pairs, target)
        return
    from matplotlib.figure import Figure

    named = len(pairs.names) if len(pairs.names) <= _MOST_NAMES else 0
    side = 3.5 + 0.17 * max(named, 20)  # inches: 12 points for each name
    figure = Figure(figsize=(side + 1.0, side), layout="constrained")
    _draw(pairs, figure.subplots())
    figure.savefig(target, dpi=150, bbox_inches="tight")  # the layout alone clips texts around square axes


def _draw(pairs: PairMap, axes: Axes) -> None:
    _heat(pairs, axes)
    name_rows(pairs.names, axes)
    outline_groups(pairs.boundaries, axes, certified=pairs.certified)
    notes = _mark_exceptions(pairs, axes)
    axes.set_xlabel("; ".join(notes), fontsize=8)
    lines = (textwrap.fill(line, 60) for line in pairs.title.splitlines())
    axes.set_title("\n".join(lines), fontsize=10, pad=10)


def _heat(pairs: PairMap, axes: Axes) -> None:
    """Draw log2(evidence / threshold): red above the threshold, blue below, grey if there is nothing to compare."""
    import matplotlib
    from matplotlib.colors import TwoSlopeNorm

    height = np.log2(np.maximum(pairs.ratio, 2.0**-_STEEPEST))  # evidence 0 is known and small, unlike NaN
    seen = height[~np.isnan(height)]
    low = float(np.clip(seen.min(initial=0.0), -_STEEPEST, -1.0))
    high = float(np.clip(seen.max(initial=0.0), math.log2(1.5), _STEEPEST))
    colours = matplotlib.colormaps["RdBu_r"].with_extremes(bad=_GREY)
    image = axes.imshow(height, cmap=colours, norm=TwoSlopeNorm(0.0, low, high), interpolation="nearest")
    _colour_bar(axes, image, low, high)


def _colour_bar(axes: Axes, image: AxesImage, low: float, high: float) -> None:
    clipped = ("neither", "max", "min", "both")[2 * (low == -_STEEPEST) + (high == _STEEPEST)]
    bar = axes.figure.colorbar(image, ax=axes, shrink=0.8, extend=clipped)
    ticks = {math.log2(Fraction(text)): text for text in _TICKS}
    shown = [height for height in ticks if low <= height <= high]
    bar.set_ticks(shown, labels=[ticks[height] for height in shown], fontsize=8)
    bar.minorticks_off()
    bar.set_label("evidence / threshold (told apart above 1)", fontsize=9)


def _font_size(axes: Axes, share: float) -> float:
    """Font size in points that fits into a share of the height. Later the layout uses about a third of it for texts."""
    height = axes.get_window_extent().height * 72 / axes.get_figure(root=True).dpi  # type: ignore[union-attr]
    return float(np.clip(0.65 * height * share, 4.0, 9.0))


def name_rows(names: Sequence[str], axes: Axes) -> None:
    """Names at both sides of a square of pairs, unless they are too many."""
    axes.tick_params(length=0)
    if len(names) > _MOST_NAMES:
        axes.set_xticks([])
        axes.set_yticks([])
        return
    places, size = range(len(names)), _font_size(axes, 1 / len(names))
    short = shorten(names, MOST_LETTERS)
    axes.set_xticks(places, short, rotation=90, fontsize=size)
    axes.set_yticks(places, short, fontsize=size)
    for label in [*axes.get_xticklabels(), *axes.get_yticklabels()]:
        label.set_parse_math(False)  # a name may hold dollar signs


def outline_groups(boundaries: Sequence[int], axes: Axes, *, certified: bool) -> None:
    """A frame around each group of a square of pairs, with its number on top."""
    from matplotlib.patches import Rectangle

    top = axes.secondary_xaxis("top")
    spans = list(pairwise(boundaries))
    for start, end in spans:
        width = end - start
        axes.add_patch(Rectangle((start - 0.5, start - 0.5), width, width, fill=False, linewidth=1.5, clip_on=False))
    numbers = [str(number + 1) for number in range(len(spans))]
    size = _font_size(axes, min(end - start for start, end in spans) / boundaries[-1])
    top.set_xticks([(start + end - 1) / 2 for start, end in spans], numbers, fontsize=size)
    top.tick_params(length=0)
    top.set_xlabel("group" if certified else "group (guess)", fontsize=9)


def _mark_exceptions(pairs: PairMap, axes: Axes) -> list[str]:
    """Mark pairs that were told apart although their latest evidence does not show it. Returns the notes to print."""
    earlier = pairs.told_apart & ~(pairs.ratio > 1)
    rows, columns = np.nonzero(earlier)
    notes = []
    if len(rows):
        axes.plot(columns, rows, "k.", markersize=3)
        notes.append("dot: told apart in an earlier round, or through other pairs")
    if np.isnan(pairs.ratio[~np.eye(len(pairs.names), dtype=bool)]).any():
        notes.append("grey: not compared")
    return notes
