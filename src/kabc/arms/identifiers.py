"""Columns that number or date the rows instead of measuring anything: indexes, ids and times.

Two arms differ in such a column even if they have the same distribution: row 1 is never row 2. So an index is not
compared unless it is asked for by name, and neither is what counts all rows, 1, 2, 3 and so on. What only looks like
an id or a time is compared, with a warning.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from kabc.arms.cells import NUMBERS, STRINGS, TIMES
from kabc.arms.rows import Rows
from kabc.arms.words import listed
from kabc.arms.workspace import quoted, readable
from kabc.core.words import plural

Shape = Literal["", "counting", "id", "time"]

_ROWS = 10_000  # that are looked at, from the first on
_FEWEST_ROWS = 10  # fewer may grow from row to row by chance
_FEWEST_STEPS = 20  # within arms, which may have only two rows each
_ALWAYS = re.compile(r"__index_level_\d+__|Unnamed: \d+(_level_\d+)?")  # names that pandas gives to an index
_IF_COUNTING = re.compile(
    r"index|level_0|column0+|row_?(nr|numbers?|names?)?", re.IGNORECASE
)  # column0: without a name in CSV
_UUID = re.compile(r"[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}", re.IGNORECASE)
_DATE = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d.*)?")
_EPOCH = (631_152_000, 4_102_444_800)  # seconds from 1990 to 2100
_UNITS = (1, 10**3, 10**6, 10**9)  # parts of a second that times are counted in


@dataclass
class Identifiers:
    """What was found: columns that are not compared, and what to tell people.

    `notes` are decisions. `warnings` are what people should look at before they believe an answer.
    """

    skipped: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def identifiers(rows: Rows, columns: Sequence[str], arm: str | None = None) -> Identifiers:
    """Which of the columns number or date the rows, where nobody has named the columns to compare."""
    found = Identifiers()
    alike: dict[str, list[str]] = {"id": [], "time": []}
    shapes = _shapes(rows, columns, arm)
    alone = set(shapes.values()) <= {"counting"}  # then they are what there is to compare
    for column, shape in shapes.items():
        named = _ALWAYS.fullmatch(column) or (shape in ("counting", "id") and _IF_COUNTING.fullmatch(column))
        if named or (shape == "counting" and not alone and _counts_all(rows, column)):
            found.skipped.append(column)
            what = "is an index" if named else "only counts the rows"
            is_time = shape == "time" or bool(TIMES.fullmatch(rows.types[column]))
            found.notes.append(_skipped(column, what, is_time))
        elif shape:
            alike["time" if shape == "time" else "id"].append(column)
    found.warnings += [_suspicion(kind, names) for kind, names in alike.items() if names]
    return found


def _skipped(column: str, what: str, is_time: bool) -> str:
    when = f"; if it says when a row came, set order={column!r}" if is_time else ""
    return f"column {column!r} {what} and is not compared{when}; to compare it, name it in values="


def _suspicion(kind: str, columns: list[str]) -> str:
    many = len(columns) > 1
    look = f"look like {kind}s" if many else f"looks like {'an id' if kind == 'id' else 'a time'}"
    cure = "name the columns to compare by values="
    if kind == "time":
        cure += f", or set order={columns[0]!r} if it says when a row came"
    return (
        f"{plural(len(columns), 'column')} {listed(columns, 5)} {look}, and {'are' if many else 'is'} compared: rows "
        f"differ there whatever the arms are; {cure}"
    )


# ------------------------------------------------------------ what a column looks like


def _shapes(rows: Rows, columns: Sequence[str], arm: str | None) -> dict[str, Shape]:
    """The shape of each column, from the first rows."""
    looked = [name for name in columns if NUMBERS.fullmatch(rows.types[name]) or STRINGS.fullmatch(rows.types[name])]
    shapes: dict[str, Shape] = dict.fromkeys(columns, "")
    if not looked:
        return shapes
    cells = [
        f"CAST({quoted(name)} AS {'DOUBLE' if NUMBERS.fullmatch(rows.types[name]) else 'VARCHAR'}) AS v{place}"
        for place, name in enumerate(looked)
    ]
    owner = f"CAST({quoted(arm)} AS VARCHAR)" if arm else "''"
    with readable(rows.name):
        found = rows.workspace.arrays(f"SELECT {owner} AS owner, {', '.join(cells)} FROM {rows.relation} LIMIT {_ROWS}")
    owners = np.unique(found["owner"].astype(str), return_inverse=True)[1]
    shapes.update((name, shape_of(found[f"v{place}"], owners)) for place, name in enumerate(looked))
    return shapes


def shape_of(values: NDArray[Any], owners: NDArray[np.intp]) -> Shape:  # (n,), (n,)
    """What values look like in the order of their rows; `owners` are the arms of the rows."""
    given = np.array([value is not None and value == value for value in values.tolist()], dtype=bool)
    values, owners = values[given], owners[given]
    if len(values) < _FEWEST_ROWS:
        return ""
    if isinstance(values[0], str):
        return _shape_of_texts(values.tolist())
    return _shape_of_numbers(values.astype(np.float64), owners)


def _shape_of_texts(texts: list[str]) -> Shape:
    distinct = len(set(texts)) > len(texts) / 2
    if distinct and all(map(_UUID.fullmatch, texts)):
        return "id"
    return "time" if distinct and all(map(_DATE.fullmatch, texts)) else ""


def _shape_of_numbers(values: NDArray[np.float64], owners: NDArray[np.intp]) -> Shape:
    if not np.isfinite(values).all():
        return ""
    whole = bool((values == np.floor(values)).all())
    if whole and values[0] in (0, 1) and (np.diff(values) == 1).all():
        return "counting"
    within = _steps_within(values, owners)
    steps = [np.diff(values), *([within] if len(within) >= _FEWEST_STEPS else [])]
    if 4 * len(np.unique(values)) > len(values) and _is_epoch(values) and any(map(_never_falls, steps)):
        return "time"
    if any(map(_grows, steps)):
        return "id" if whole else "time"
    return "id" if whole and np.array_equal(np.sort(values), values.min() + np.arange(len(values))) else ""


def _counts_all(rows: Rows, column: str) -> bool:
    """Whether a column that counts the first rows has, all in all, the numbers that count all of them."""
    name = quoted(column)
    with readable(rows.name):
        ((n_rows, n_given, low, high, total),) = rows.workspace.rows(
            f"SELECT count(*), count({name}), min({name}), max({name}), sum({name}) FROM {rows.relation}"
        )
    return bool(n_given == n_rows == high - low + 1 and 2 * total == n_rows * (low + high))


def _steps_within(values: NDArray[np.float64], owners: NDArray[np.intp]) -> NDArray[np.float64]:
    """Steps from a row to the next one of the same arm."""
    order = np.argsort(owners, kind="stable")
    steps: NDArray[np.float64] = np.diff(values[order])[np.diff(owners[order]) == 0]
    return steps


def _never_falls(steps: NDArray[np.float64]) -> bool:
    return bool((steps >= 0).all())


def _grows(steps: NDArray[np.float64]) -> bool:
    return bool((steps > 0).all() or (steps < 0).all())


def _is_epoch(values: NDArray[np.float64]) -> bool:
    return any(bool(((values >= _EPOCH[0] * unit) & (values <= _EPOCH[1] * unit)).all()) for unit in _UNITS)
