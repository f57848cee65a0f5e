"""What the groups look like: the values of each column, group by group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kabc.core.arrays import Array
from kabc.core.errors import SettingsError
from kabc.report.nodes import group_nodes, plain
from kabc.report.tolerance_band import tolerance_band
from kabc.results.effects.columns import FEATURE, are_codes, column_names, kept_arms, level_texts, readable_columns
from kabc.results.effects.compute import pooled_values
from kabc.results.values import Result

_MOST_COLUMNS = 8
_MOST_GROUPS = 12
_MOST_LEVELS = 12  # up to this many different values, each has its own bar
_BINS = (8, 40)  # smallest and largest number of bins
_BEYOND = 0.35  # values further out than the middle 90 % and this part of its width go into the outermost bins
_GRID = np.linspace(0, 1, 1001)
_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True)
class Column:
    """The values of one column in each group shown.

    Attributes
    ----------
    name : name of the column.
    edges : edges of the bins. Empty if every value has its own bar.
    levels : the values that have their own bar, as texts. Empty if there are bins.
    shares : share of a group's values in each bin or level.
    quantiles : 5, 25, 50, 75 and 95 % of each group. NaN if every value has its own bar.
    band : the median of the largest group, less and plus the tolerance, if that is a change of this column alone.
    """

    name: str
    edges: Array  # (B + 1,) or (0,)
    levels: tuple[str, ...]
    shares: Array  # (G, B)
    quantiles: Array  # (G, 5)
    band: tuple[float, float] | None = None

    @property
    def gap(self) -> float:
        """How much the groups differ in this column, from 0 to 1."""
        heights = self.shares if self.levels else np.cumsum(self.shares, axis=1)
        return float(np.ptp(heights, axis=0).max())


@dataclass(frozen=True)
class GroupValues:
    """What the picture shows: columns of the largest groups. Columns with the largest differences come first.

    `texts` are columns without a picture. `columns_left_out` and `groups_left_out` count those without room.
    """

    groups: tuple[int, ...]
    columns: tuple[Column, ...]
    texts: tuple[str, ...]
    columns_left_out: int
    groups_left_out: int


def group_values(result: Result) -> GroupValues:
    """The samples kept of each group, column by column. Missing values and failures are left out."""
    kept = kept_arms(result)
    if not kept:
        raise SettingsError("no samples were kept in this result, so its values cannot be drawn")
    nodes = group_nodes(result, _MOST_GROUPS)
    shown = [(group, arms.tolist()) for group, arms in zip(nodes.groups, nodes.members, strict=True)]
    shown = [(group, [arm for arm in arms if arm in kept]) for group, arms in shown]
    shown = [(group, arms) for group, arms in shown if arms]
    columns = []
    for column in readable_columns(result):
        pooled = [pooled_values(column, arms) for _, arms in shown]
        if any(map(len, pooled)):
            drawn = column_of(plain(column.name), pooled, dict(enumerate(column.levels)))
            columns.append(drawn if drawn.levels else replace(drawn, band=tolerance_band(result, max(pooled, key=len))))
    columns.sort(key=lambda column: -column.gap)
    width = next(iter(kept.values())).shape[1]
    features = [found[1] for name in column_names(result.columns, width) if (found := FEATURE.fullmatch(name))]
    return GroupValues(
        tuple(group for group, _ in shown),
        tuple(columns[:_MOST_COLUMNS]),
        tuple(map(plain, dict.fromkeys(features))),
        max(len(columns) - _MOST_COLUMNS, 0),
        len(result.groups) - len(shown),
    )


def column_of(name: str, groups: list[NDArray[Any]], known: Mapping[float, str]) -> Column:  # G arrays (m_g,)
    """The values of one column in each group, which may have none. `known` are the categories behind the numbers."""
    everything = np.concatenate(groups)
    values, counts = np.unique(everything, return_counts=True)
    numbers = everything.dtype.kind in "iuf"
    if numbers and not known and len(values) > _MOST_LEVELS and not are_codes(values):
        return _binned(name, everything, groups)
    kept = np.sort(np.argsort(-counts, kind="stable")[: _MOST_LEVELS - (len(values) > _MOST_LEVELS)])
    shares = np.array([[np.count_nonzero(group == value) for value in values[kept]] for group in groups])
    shares = shares / np.array([max(len(group), 1) for group in groups])[:, None]
    levels = _levels(values, kept, known)
    if len(kept) < len(values):
        rest = np.array([len(group) > 0 for group in groups]) - shares.sum(axis=1)
        shares, levels = np.column_stack([shares, rest]), (*levels, "others")
    return Column(name, np.empty(0), levels, shares, np.full((len(groups), 5), np.nan))


def _binned(name: str, everything: NDArray[Any], groups: list[NDArray[Any]]) -> Column:
    low, high = _range(everything, groups)
    n_bins = int(np.clip(2 * min(len(group) for group in groups if len(group)) ** (1 / 2), *_BINS))
    part = np.linspace(0.0, 1.0, n_bins + 1)
    edges = (1 - part) * low + part * high  # a difference high - low could overflow
    shares = [np.histogram(np.clip(group, low, high), edges)[0] / max(len(group), 1) for group in groups]
    quantiles = [_quantiles(group, _QUANTILES) for group in groups]
    return Column(name, edges, (), np.array(shares), np.array(quantiles, dtype=np.float64))


def _quantiles(values: NDArray[Any], shares: Sequence[float] | Array) -> Array:
    """Quantiles that are values; NaN if there are none."""
    none = np.full(len(shares), np.nan)
    return np.asarray(np.quantile(values, shares, method="nearest")) if len(values) else none


def _range(everything: NDArray[Any], groups: list[NDArray[Any]]) -> tuple[float, float]:
    """Where most values are. Each group counts the same, so that a small one is not cut off beside a large one."""
    pooled = np.concatenate([_quantiles(group, _GRID) for group in groups if len(group)])
    low, high = np.quantile(pooled, [0.05, 0.95], method="nearest").tolist()
    with np.errstate(over="ignore"):
        beyond = _BEYOND * (np.float64(high) - low)
        within = max(low - beyond, everything.min()), min(high + beyond, everything.max())
    # nearly all values may be equal
    return within if within[0] < within[1] else (everything.min(), everything.max())


def _levels(values: NDArray[Any], kept: NDArray[np.intp], known: Mapping[float, str]) -> tuple[str, ...]:
    texts = level_texts(values, known)
    return tuple(plain(texts[i]) for i in kept.tolist())
