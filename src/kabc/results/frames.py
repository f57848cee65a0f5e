"""A result as a data frame of pandas or polars: one row for each arm."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

from kabc.core.errors import SettingsError
from kabc.results.effects.values import ColumnEffect

if TYPE_CHECKING:
    from kabc.results.values import Result

Columns = dict[str, list[Any]]  # each with one entry for each arm

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
    }
    arms = {effect.arm: effect for effect in result.effects.arms}
    found = {name: {column.column: column for column in effect.columns} for name, effect in arms.items()}
    for title in result.effects.ranked_columns:
        columns |= _figures(title, [found.get(name, {}).get(title) for name in result.names])
    if arms:
        columns["oddness"] = [arms[name].oddness if name in arms else None for name in result.names]
    return columns


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
    return pandas.DataFrame(columns | {"arm": arms, "set_aside": aside} | whole)


def _cells(names: list[Hashable]) -> Any:
    """Names as an array of objects: of a list of tuples, numpy would make a table."""
    import numpy as np

    cells = np.empty(len(names), dtype=object)
    for place, name in enumerate(names):
        cells[place] = name
    return cells


def _polars(polars: Any, columns: Columns) -> Any:
    names = columns["arm"]
    arms = polars.Series("arm", names, dtype=None if _one_plain_type(names) else polars.Object)
    whole = {name: polars.Series(name, columns[name], dtype=polars.Int64) for name in ("group", "samples")}
    aside = polars.Series("set_aside", columns["set_aside"], dtype=polars.String)
    return polars.DataFrame(columns | {"arm": arms, "set_aside": aside} | whole)
