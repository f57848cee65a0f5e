"""A result as a data frame of pandas or polars: one row for each arm."""

from __future__ import annotations

import difflib
import importlib
import math
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

import numpy as np

from kabc.core.errors import SettingsError
from kabc.results.effects.values import ColumnEffect

if TYPE_CHECKING:
    from kabc.results.values import Result

Columns = dict[str, list[Any]]  # each with one entry for each arm

_MARGINS = ("same_within", "apart_at_least")
_PLAIN = (str, int, float, bool)  # types of names that both libraries keep as they are


def frame_of(result: Result, backend: str | None = None) -> Any:
    """The frame, of the library that is asked for, or of the first one that is installed."""
    makers: dict[str, Callable[[Any, Columns], Any]] = {"pandas": _pandas, "polars": _polars}
    if backend is not None and backend not in makers:
        near = difflib.get_close_matches(str(backend), makers, n=1)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        raise SettingsError(f"backend must be 'pandas' or 'polars', got {backend!r}{hint}")
    for name in makers if backend is None else [backend]:
        try:
            library = importlib.import_module(name)
        except ImportError:
            continue
        return makers[name](library, columns_of(result))
    needed = backend or "pandas or polars"
    raise SettingsError(f"to_frame needs {needed}, which is not installed; pip install {backend or 'pandas'}")


def columns_of(result: Result) -> Columns:
    """The columns: arm, group (numbered from 1 as in texts; None if it was set aside), figures of each value column."""
    aside = [result.set_aside.get(name) for name in result.names]
    columns: Columns = {
        "arm": list(result.names),
        "group": [label + 1 if label >= 0 else None for label in result.labels],
        "certified": [result.certified and label >= 0 for label in result.labels],
        "samples": [result.samples_per_arm[name] for name in result.names],
        "set_aside": aside,
        **_margins(result),
    }
    arms = {effect.arm: effect for effect in result.effects.arms}
    found = {name: {column.column: column for column in effect.columns} for name, effect in arms.items()}
    for title in result.effects.ranked_columns:
        columns |= _figures(title, [found.get(name, {}).get(title) for name in result.names])
    if arms:
        columns["oddness"] = [arms[name].oddness if name in arms else None for name in result.names]
    return columns


def _margins(result: Result) -> Columns:
    """How far each arm is from the others of its group at most, and from those of other groups at least."""
    found = result.tolerance
    if found is None or result.assumptions:
        return {}
    labels, itself = np.asarray(result.labels), np.eye(len(result.labels), dtype=bool)
    known = (labels[:, None] >= 0) & (labels >= 0)
    together = known & (labels[:, None] == labels) & ~itself
    near = np.where(together, found.same_within, 0.0).max(axis=1, initial=0.0)
    near = np.where(together.any(axis=1), near, np.inf)  # alone
    far = np.where(known & ~together & ~itself, found.apart_at_least, np.inf).min(axis=1, initial=np.inf)
    between = set(found.between)
    return {
        "same_within": [size if math.isfinite(size) else None for size in near.tolist()],
        "apart_at_least": [size if 0 < size < math.inf else None for size in far.tolist()],
        "between": [arm in between for arm in range(len(labels))],
    }


def _figures(title: str, effects: list[ColumnEffect | None]) -> Columns:
    """Quantiles of a column of numbers; of categories, the most common one and its share."""
    if any(one is not None and one.shares for one in effects):
        first = [one.shares[0] if one is not None and one.shares else (None, None) for one in effects]
        return {f"{title}_top": [level for level, _ in first], f"{title}_top_share": [share for _, share in first]}
    return {
        f"{title}_{name}": [None if one is None else getattr(one, figure) for one in effects]
        for name, figure in (("median", "median"), ("p5", "low"), ("p95", "high"))
    }


def _one_plain_type(names: list[Hashable]) -> bool:
    """Whether all names have one type that a column has too. In other columns, 1 would become 1.0 or "1"."""
    return len({type(name) for name in names}) == 1 and type(names[0]) in _PLAIN


def _pandas(pandas: Any, columns: Columns) -> Any:
    names = columns["arm"]
    kind = None if _one_plain_type(names) else object
    whole = {name: pandas.Series(columns[name], dtype="Int64") for name in ("group", "samples")}
    arms = pandas.Series(_cells(names) if kind else names, dtype=kind)
    aside = pandas.Series(columns["set_aside"], dtype=object)
    margins = {name: pandas.Series(columns[name], dtype="float64") for name in _MARGINS if name in columns}
    return pandas.DataFrame(columns | {"arm": arms, "set_aside": aside} | whole | margins)


def _cells(names: list[Hashable]) -> Any:
    """Names as an array of objects: of a list of tuples, numpy would make a table."""
    cells = np.empty(len(names), dtype=object)
    for place, name in enumerate(names):
        cells[place] = name
    return cells


def _polars(polars: Any, columns: Columns) -> Any:
    names = columns["arm"]
    arms = polars.Series("arm", names, dtype=None if _one_plain_type(names) else polars.Object)
    whole = {name: polars.Series(name, columns[name], dtype=polars.Int64) for name in ("group", "samples")}
    aside = polars.Series("set_aside", columns["set_aside"], dtype=polars.String)
    margins = {name: polars.Series(name, columns[name], dtype=polars.Float64) for name in _MARGINS if name in columns}
    return polars.DataFrame(columns | {"arm": arms, "set_aside": aside} | whole | margins)
