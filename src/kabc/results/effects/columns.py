"""Columns that people can read, arm by arm: numbers or categories. Texts have only features, which are left out."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

MOST_ROWS = 500  # of an arm: as many as a run keeps; a file could hold more
_MOST_COLUMNS = 2_000
FEATURE = re.compile(r"(.+)\[\d+\]")  # a column computed from a text, not readable for people
_CODES = (2.0**32, 2.0**48)  # the code of a category is a hash of 48 bits; the code of a missing one is -1


class HasSamples(Protocol):
    """An answer that has kept samples. Arms with a negative label are left out."""

    @property
    def names(self) -> tuple[Hashable, ...]:
        """Of all arms."""

    @property
    def labels(self) -> tuple[int, ...]:
        """One for each arm."""

    @property
    def samples(self) -> Mapping[Hashable, NDArray[Any]]:
        """Rows of arms, by name."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns of a sample, where they are known."""

    @property
    def levels(self) -> Mapping[str, Mapping[float, str]]:
        """The categories of columns, by their codes."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What was done to the samples."""


@dataclass(frozen=True)
class Readable:
    """A column: the values of each arm that has any, by its number. Categories are places in `levels`."""

    name: str
    values: dict[int, NDArray[Any]]  # each (m,); float64, or int64 for categories
    levels: tuple[str, ...] = ()
    categories: bool = False


def kept_arms(result: HasSamples) -> dict[int, NDArray[Any]]:
    """The samples of each arm that is in a group, by its number; none if their widths differ."""
    kept = {
        arm: result.samples[name][:MOST_ROWS]
        for arm, (name, label) in enumerate(zip(result.names, result.labels, strict=True))
        if label >= 0 and name in result.samples and len(result.samples[name])
    }
    return kept if len({rows.shape[1] for rows in kept.values()}) == 1 else {}


def column_names(columns: Sequence[str], width: int) -> tuple[str, ...]:
    """A name for each column of a sample, also where the source gave none."""
    if len(columns) == width:
        return tuple(map(str, columns))
    return ("value",) if width == 1 else tuple(f"column {i + 1}" for i in range(width))


def readable_columns(result: HasSamples) -> list[Readable]:
    """All columns of the samples kept that people can read."""
    kept = kept_arms(result)
    if not kept:
        return []
    width = next(iter(kept.values())).shape[1]
    names = column_names(result.columns, width)
    places = {name: i for i, name in enumerate(names)}
    # a missing number, and every value of a failed sample, is written as 0, with an indicator beside it
    encoded = any(note.startswith("failures: encoded") for note in result.notes)
    failed = places.get("failed") if encoded else None
    found = []
    for place, name in enumerate(names[:_MOST_COLUMNS]):
        if FEATURE.fullmatch(name) and len(result.columns) == width:
            continue
        values = {arm: rows[:, place] for arm, rows in kept.items()}
        for gone in {places.get(f"{name} missing"), failed} - {None, place}:
            values = {arm: rows[rows[:, gone] != 1, place] for arm, rows in kept.items()}
        found.append(_readable(name, values, result.levels.get(name)))
    return [column for column in found if column.values]


def _readable(name: str, values: dict[int, NDArray[Any]], known: Mapping[float, str] | None) -> Readable:
    everything = np.concatenate(list(values.values()))
    if known is not None or everything.dtype.kind not in "iuf" or _is_flag(everything) or are_codes(everything):
        return _categories(name, values, known or {})
    numbers = {arm: column.astype(np.float64) for arm, column in values.items()}
    finite = {arm: column[np.isfinite(column)] for arm, column in numbers.items()}
    return Readable(name, {arm: column for arm, column in finite.items() if len(column)})


def _is_flag(values: NDArray[Any]) -> bool:
    """Whether the values are only 0 and 1: shares say more than medians."""
    return bool(len(values) and np.isin(values, (0, 1)).all())


def are_codes(values: NDArray[Any]) -> bool:
    """Whether the values look like hashed categories whose names are not known."""
    if values.dtype.kind != "f" or not len(values) or not _CODES[0] < values.max() < _CODES[1]:
        return False
    return bool(np.all((values == np.rint(values)) & (values >= -1)) and len(np.unique(values)) <= 51)


def _categories(name: str, values: dict[int, NDArray[Any]], known: Mapping[float, str]) -> Readable:
    levels, codes = np.unique(np.concatenate(list(values.values())), return_inverse=True)
    ends = np.cumsum([len(column) for column in values.values()])[:-1]
    parts = dict(zip(values, np.split(codes.astype(np.int64), ends), strict=True))
    texts = level_texts(levels, known)
    return Readable(name, {arm: part for arm, part in parts.items() if len(part)}, texts, categories=True)


def level_texts(levels: NDArray[Any], known: Mapping[float, str]) -> tuple[str, ...]:  # (L,) different, ascending
    """What to call each category."""
    if known:
        return tuple(known.get(level, "missing") for level in levels.tolist())
    if are_codes(levels):
        first = int(levels[0] >= 0)  # the code of a missing category is not counted
        return tuple("missing" if level < 0 else f"category {i + first}" for i, level in enumerate(levels.tolist()))
    return tuple(f"{level:.6g}" if isinstance(level, float) else str(level) for level in levels.tolist())
