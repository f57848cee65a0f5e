"""What the groups look like: the values of each column, group by group."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kabc.core.arrays import Array
from kabc.report.arm_map import kept_rows
from kabc.report.nodes import group_nodes, plain
from kabc.results.values import Result

_MOST_COLUMNS = 8
_MOST_GROUPS = 12
_MOST_LEVELS = 12  # up to this many different values, each has its own bar
_BINS = (8, 40)  # smallest and largest number of bins
_TAIL = 0.005  # this share of all values at each end goes into the outermost bins
_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
_FEATURE = re.compile(r"(.+)\[\d+\]")  # a column computed from a text, not readable for people
_CODES = (2.0**32, 2.0**48)  # the code of a category is a hash of 48 bits; the code of a missing one is -1


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
    """

    name: str
    edges: Array  # (B + 1,) or (0,)
    levels: tuple[str, ...]
    shares: Array  # (G, B)
    quantiles: Array  # (G, 5)

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
    """The samples kept of each group, column by column."""
    rows = kept_rows(result)
    nodes = group_nodes(result, _MOST_GROUPS)
    blocks = [np.concatenate([rows[arm] for arm in arms]) for arms in nodes.members]
    d = blocks[0].shape[1]
    unnamed = ("value",) if d == 1 else tuple(f"column {i + 1}" for i in range(d))
    names = tuple(map(plain, result.columns)) if len(result.columns) == d else unnamed
    features = {name: found[1] for name in names if (found := _FEATURE.fullmatch(name))}
    known = [result.levels.get(column, {}) for column in result.columns] if len(result.columns) == d else [{}] * d
    columns = [
        _column(name, [block[:, i] for block in blocks], known[i])
        for i, name in enumerate(names)
        if name not in features
    ]
    columns.sort(key=lambda column: -column.gap)
    return GroupValues(
        nodes.groups,
        tuple(columns[:_MOST_COLUMNS]),
        tuple(dict.fromkeys(features.values())),
        max(len(columns) - _MOST_COLUMNS, 0),
        nodes.left_out,
    )


def _column(name: str, groups: list[NDArray[Any]], known: dict[float, str]) -> Column:  # G arrays (m_g,)
    everything = np.concatenate(groups)
    values, counts = np.unique(everything, return_counts=True)
    numbers = everything.dtype.kind in "iuf"
    if numbers and not known and len(values) > _MOST_LEVELS and not _are_codes(values):
        return _binned(name, everything, groups)
    kept = np.sort(np.argsort(-counts, kind="stable")[: _MOST_LEVELS - (len(values) > _MOST_LEVELS)])
    shares = np.array([[np.mean(group == value) for value in values[kept]] for group in groups])
    levels = _levels(values, kept, known)
    if len(kept) < len(values):
        shares, levels = np.column_stack([shares, 1 - shares.sum(axis=1)]), (*levels, "others")
    return Column(name, np.empty(0), levels, shares, np.full((len(groups), 5), np.nan))


def _binned(name: str, everything: NDArray[Any], groups: list[NDArray[Any]]) -> Column:
    low, high = np.quantile(everything, [_TAIL, 1 - _TAIL], method="nearest")
    if not low < high:  # nearly all values are equal
        low, high = everything.min(), everything.max()
    n_bins = int(np.clip(2 * min(map(len, groups)) ** (1 / 2), *_BINS))
    part = np.linspace(0.0, 1.0, n_bins + 1)
    edges = (1 - part) * low + part * high  # a difference high - low could overflow
    shares = [np.histogram(np.clip(group, low, high), edges)[0] / len(group) for group in groups]
    quantiles = [np.quantile(group, _QUANTILES, method="nearest") for group in groups]
    return Column(name, edges, (), np.array(shares), np.array(quantiles, dtype=np.float64))


def _are_codes(values: NDArray[Any]) -> bool:  # (n,) different values, ascending
    """Whether the values look like hashed categories. The names of the categories are not known here."""
    if values.dtype.kind != "f" or len(values) > 51:
        return False
    return bool(_CODES[0] < values[-1] < _CODES[1] and np.all((values == np.rint(values)) & (values >= -1)))


def _levels(values: NDArray[Any], kept: NDArray[np.intp], known: dict[float, str]) -> tuple[str, ...]:
    if known:
        return tuple(plain(known[value]) if value in known else "missing" for value in values[kept].tolist())
    if _are_codes(values):
        first = int(values[0] >= 0)  # the code of a missing category is not counted
        return tuple("missing" if values[i] < 0 else f"category {i + first}" for i in kept.tolist())
    return tuple(f"{value:.6g}" if isinstance(value, float) else plain(str(value)) for value in values[kept].tolist())
