"""Arms that are rows of a table: a file, many files or a data frame, larger than memory if need be.

DuckDB reads (kabc.arms.rows), one scan counts the rows and checks every value before anything is drawn, and later scans
fetch what strategies ask for (kabc.arms.scans).
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np

from kabc.arms.base import NamedArms
from kabc.arms.rows import Rows, Source, check_names, literal, open_table, quoted, readable
from kabc.arms.scans import NUMBERS, STRINGS, TIMES, Cell, Scan, Store, TableArm
from kabc.arms.values import (
    Encoder,
    Kind,
    Missing,
    TextForm,
    infinite_values,
    missing_values,
    not_a_number,
    string_kind,
)
from kabc.core.errors import ArmError, SettingsError

_MOST_COLUMNS = 20  # taken as values when nobody says which
_INFERENCE_ROWS = 100_000  # that decide whether strings are categories or text


def table_arms(
    source: Source,
    *,
    arm: str | None = None,
    values: str | Sequence[str] | None = None,
    wide: bool = False,
    types: Mapping[str, Kind] | None = None,
    missing: Missing = "raise",
    text: TextForm = "features",
    seed: int = 0,
) -> NamedArms:
    """Arms from a table, sorted by name, numbers in names compared as numbers ("m2" comes before "m10").

    Parameters
    ----------
    source : path of a .csv, .tsv, .json, .jsonl, .ndjson (each also .gz), .parquet, .arrow, .feather or .ipc file; a
        pattern such as "logs/*.parquet" or a list of files of one format; a pandas or polars frame, an Arrow table, or
        any other frame that narwhals knows.
    arm : the column that names the arm of a row. Names in text files are text: "1.1" and "1.10" are two arms.
    values : the column(s) that make up a sample; default: all others, if there are at most 20.
    wide : one column for each arm instead (`values` then says which columns, `types` is for the column "value");
        missing cells at the end of a column end it.
    types : "number", "category" or "text" for columns where the guess is wrong: number types are numbers, booleans
        categories, strings categories if at most 50 different ones repeat, else text.
    missing, text : see `kabc.arms.values.Encoder`.
    seed : chooses the order of the rows; the same for the same seed, table and version of DuckDB.

    Cost: one scan to count, then about log2(samples of an arm / 64) scans. Memory: what was drawn, DuckDB's 512 MB.
    """
    rows = open_table(source, as_text=None if wide else arm)
    if not wide:
        return arms_of(rows, arm, values, types, missing, text, seed)
    if arm is not None:
        raise SettingsError(f"wide=True means one column for each arm, so arm={arm!r} has no meaning; leave one out")
    columns = _chosen(rows, values) if values is not None else list(rows.types)
    return arms_of(_melted(rows, columns), "arm", "value", types, missing, text, seed, columns)


def _melted(rows: Rows, columns: list[str]) -> Rows:
    """Wide form as rows (arm, value), without the missing cells that end a column."""
    for column in columns:
        _guessable(column, rows.types[column])
    numbers = all(NUMBERS.fullmatch(rows.types[column]) for column in columns)
    cells = [f"CAST({quoted(column)} AS {'DOUBLE' if numbers else 'VARCHAR'})" for column in columns]
    given = "value IS NOT NULL AND NOT isnan(value)" if numbers else "value IS NOT NULL"
    with readable(rows.name):
        rows.workspace.rows(
            f"CREATE TABLE cells AS SELECT {rows.key} AS place, unnest([{', '.join(map(literal, columns))}]) AS arm, "
            f"unnest([{', '.join(cells)}]) AS value FROM {rows.relation}"
        )
        rows.workspace.rows(
            "CREATE TABLE melted AS SELECT cells.* FROM cells JOIN "
            f"(SELECT arm, max(place) AS last FROM cells WHERE {given} GROUP BY arm) USING (arm) WHERE place <= last"
        )
    types = {"arm": "VARCHAR", "value": "DOUBLE" if numbers else "VARCHAR"}
    return replace(rows, relation="melted", key="hash(arm, place)", types=types)


def arms_of(
    rows: Rows,
    arm: str | None,
    values: str | Sequence[str] | None,
    types: Mapping[str, Kind] | None,
    missing: Missing,
    text: TextForm,
    seed: int,
    expected: Sequence[str] = (),
) -> NamedArms:
    """Arms from rows; `expected` names are arms even when they have no row."""
    if not isinstance(seed, Integral) or seed < 0:
        raise SettingsError(f"seed must be a whole number from 0 on, got {seed!r}")
    arm = _arm_column(rows, arm)
    columns = _chosen(rows, values, arm)
    kinds = _kinds(rows, columns, types or {})
    encoder = Encoder(columns, kinds, missing, text)
    cells = [Cell(column, rows.types[column], kinds[column]) for column in columns]
    scan = Scan(rows, Cell(arm, rows.types[arm], "category").value, cells, missing == "drop")
    with readable(rows.name):
        counts, notes = _counted(scan, arm, missing, expected)
    names = sorted(counts, key=_natural)
    store = Store(scan, names, np.array([counts[name] for name in names]), encoder, int(seed))
    arms = {name: TableArm(store, number) for number, name in enumerate(names)}
    return NamedArms(
        arms, [f"columns: {encoder.describe()}", *notes], encoder.names, types=encoder.types, levels=encoder.levels
    )


def _arm_column(rows: Rows, arm: str | None) -> str:
    if arm is None:
        raise SettingsError(
            f"arm= must say which column names the arm of a row (or wide=True: one column for each arm); "
            f"{rows.name} has the columns {_listed(rows.types)}"
        )
    return _known(arm, rows, "arm")


def _chosen(rows: Rows, values: str | Sequence[str] | None, arm: str | None = None) -> list[str]:
    """The value columns, checked."""
    if values is None:
        columns = [column for column in rows.types if column != arm]
        if len(columns) > _MOST_COLUMNS:
            raise SettingsError(
                f"{len(columns)} columns could be values, more than {_MOST_COLUMNS}; say which with values=: "
                f"{_listed(columns)}"
            )
    else:
        columns = [_known(column, rows, "values") for column in ([values] if isinstance(values, str) else values)]
    if not columns:
        raise SettingsError(
            f"{rows.name} has no value column beside {arm!r}; pass a table that has, or name it by values="
        )
    check_names(columns, "values=")
    if arm in columns:
        raise SettingsError(f"column {arm!r} is given as arm= and among values=; leave it out of values=")
    return columns


def _known(column: str, rows: Rows, setting: str) -> str:
    if column in rows.types:
        return column
    folded = {name.casefold(): name for name in rows.types}
    near = difflib.get_close_matches(str(column).casefold(), folded, n=1)
    hint = f"; did you mean {folded[near[0]]!r}?" if near else ""
    raise SettingsError(f"{setting}: {rows.name} has no column {column!r}{hint}; it has {_listed(rows.types)}")


def _listed(names: Iterable[str], most: int = 30) -> str:
    shown = [repr(name) for name in names]
    return ", ".join(shown[:most]) + (f" and {len(shown) - most} more" if len(shown) > most else "")


def _natural(name: str) -> tuple[list[str | int], str]:
    parts = re.split(r"(\d+)", name)
    return [int(part) if place % 2 else part for place, part in enumerate(parts)], name


def _kinds(rows: Rows, columns: list[str], declared: Mapping[str, Kind]) -> dict[str, Kind]:
    for column in declared:
        if _known(column, rows, "types") not in columns:
            raise SettingsError(f"types: column {column!r} is not among the values {_listed(columns)}; leave it out")
    kinds: dict[str, Kind] = dict(declared)
    strings = []
    for column in columns:
        if column not in kinds:
            guess = _guessable(column, rows.types[column])
            if guess is None:
                strings.append(column)
            else:
                kinds[column] = guess
    if strings:
        with readable(rows.name):
            kinds.update(_string_kinds(rows, strings))
    return kinds


def _guessable(column: str, kind: str) -> Kind | None:
    """The kind that a type of DuckDB stands for; None for strings, where values decide."""
    if NUMBERS.fullmatch(kind):
        return "number"
    if kind == "BOOLEAN":
        return "category"
    if STRINGS.fullmatch(kind):
        return None
    cure = (
        f"declare types={{{column!r}: 'number'}} (seconds), or leave it out of values="
        if TIMES.fullmatch(kind)
        else "leave it out of values=, or turn it into columns of numbers, categories or text"
    )
    raise SettingsError(f"column {column!r} has type {kind}, which is no number, category or text; {cure}")


def _string_kinds(rows: Rows, columns: list[str]) -> dict[str, Kind]:
    parts = [
        f"count({name}), count(DISTINCT {name}), count(TRY_CAST(CAST({name} AS VARCHAR) AS DOUBLE))"
        for name in map(quoted, columns)
    ]
    names = ", ".join(map(quoted, columns))
    ((*seen,),) = rows.workspace.rows(
        f"SELECT {', '.join(parts)} FROM (SELECT {names} FROM {rows.relation} LIMIT {_INFERENCE_ROWS})"
    )
    kinds: dict[str, Kind] = {}
    for column, given, different, numbers in zip(columns, seen[0::3], seen[1::3], seen[2::3], strict=True):
        if 2 * numbers > given:  # as text they would lose their order, which is seldom meant
            raise SettingsError(
                f"column {column!r} holds text, but {numbers:,} of the first {given:,} values are numbers; "
                f"say what it is: types={{{column!r}: 'number'}}, 'category' or 'text'"
            )
        kinds[column] = string_kind(different, given)
    return kinds


def _counted(scan: Scan, arm: str, missing: Missing, expected: Sequence[str]) -> tuple[dict[str, int], list[str]]:
    """Rows of each arm that may be drawn, and what to say about the others; every value is checked."""
    usual = " AND ".join(cell.usual for cell in scan.cells)
    table = _tally(scan, f"coalesce({usual}, false)")
    total = sum(row[1] for row in table)
    if not total and not expected:
        raise ArmError(f"{scan.rows.name} has no rows; pass a table with at least two rows for each of two arms")
    nameless = sum(row[1] for row in table if row[0] is None)
    if nameless:
        raise ArmError(
            f"{nameless:,} of {total:,} rows have no arm: column {arm!r} is empty there; fill or remove them"
        )
    absent: dict[str, int] = {}
    if sum(row[2] for row in table) < total:
        absent = _unusual(scan, missing, total)
        table = _tally(scan, scan.kept)
    counts = dict.fromkeys(expected, 0) | {row[0]: row[2] for row in table}
    _enough(counts, arm, scan.rows.name, missing)
    return counts, _missing_note(absent, total - sum(counts.values()), missing)


def _tally(scan: Scan, test: str) -> list[tuple[Any, ...]]:
    """For each arm its name, its rows, and how many of them pass a test."""
    return scan.rows.workspace.rows(
        f"SELECT {scan.arm}, count(*), count(*) FILTER ({test}) FROM {scan.rows.relation} GROUP BY 1"
    )


def _unusual(scan: Scan, missing: Missing, total: int) -> dict[str, int]:
    """How many values each column misses; an error for what is never allowed."""
    rows = scan.rows
    tests = [f"count(*) FILTER ({t})" for cell in scan.cells for t in (cell.missing, cell.infinite, cell.rubbish)]
    ((*seen,),) = rows.workspace.rows(f"SELECT {', '.join(tests)} FROM {rows.relation}")
    for cell, absent, infinite, rubbish in zip(scan.cells, seen[0::3], seen[1::3], seen[2::3], strict=True):
        if rubbish:
            ((first,),) = rows.workspace.rows(
                f"SELECT {quoted(cell.column)} FROM {rows.relation} WHERE {cell.rubbish} ORDER BY {rows.key} LIMIT 1"
            )
            raise not_a_number(cell.column, first)
        if infinite:
            raise infinite_values(cell.column, infinite)
        if absent and missing == "raise":
            raise missing_values(cell.column, absent, total)
    return {cell.column: absent for cell, absent in zip(scan.cells, seen[0::3], strict=True)}


def _enough(counts: dict[str, int], arm: str, name: str, missing: Missing) -> None:
    if len(counts) < 2:
        raise ArmError(
            f"{name} has one arm only, {next(iter(counts))!r} (column {arm!r}); there must be at least 2 to compare"
        )
    few = sorted((arm for arm, count in counts.items() if count < 2), key=_natural)
    if few:
        complete = " complete" if missing == "drop" else ""
        raise ArmError(
            f"{len(few)} of {len(counts)} arms have fewer than 2{complete} rows: {_listed(few, 10)}; remove them, "
            "or check that the right column names the arm"
        )


def _missing_note(absent: dict[str, int], dropped: int, missing: Missing) -> list[str]:
    where = ", ".join(f"{column}: {count:,}" for column, count in absent.items() if count)
    if missing == "drop" and dropped:
        return [f"missing values: {dropped:,} rows dropped ({where}); the groups are about complete rows"]
    if missing == "encode" and where:
        return [f"missing values: encoded as a value of their own ({where})"]
    return []
