"""Arms that are rows of a table: a file, several files or a data frame, also one that is larger than memory.

DuckDB reads them (kabc.arms.files, kabc.arms.frames). One scan counts the rows and checks every value before anything
is drawn (kabc.arms.counts). Later scans fetch what strategies ask for (kabc.arms.scans).
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np

from kabc.arms.base import NamedArms
from kabc.arms.cells import NUMBERS, Cell, Scan
from kabc.arms.columns import arm_column, in_order_of, kinds_of, known_kind, no_arm_column, value_columns
from kabc.arms.counts import natural, numbers_of, rows_of_arms
from kabc.arms.files import open_files
from kabc.arms.filters import kept_rows
from kabc.arms.frames import open_frame
from kabc.arms.identifiers import Identifiers, identifiers
from kabc.arms.parts import PartedScan, Parts
from kabc.arms.rows import Rows
from kabc.arms.scans import RowBuffer, TableArm
from kabc.arms.values import Encoder, Kind, Missing, TextForm
from kabc.arms.workspace import literal, quoted, readable
from kabc.core.errors import SettingsError

TableInput = str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | Any


def table_arms(
    source: TableInput,
    *,
    arm: str | None = None,
    values: str | Sequence[str] | None = None,
    wide: bool = False,
    types: Mapping[str, Kind] | None = None,
    missing: Missing = "raise",
    text: TextForm = "features",
    seed: int = 0,
    order: str | None = None,
    where: str | None = None,
    parts: Parts | None = None,
) -> NamedArms:
    """Arms from a table.

    They are sorted by name, with the numbers in names compared as numbers: "m2" comes before "m10". Names of a frame
    whose column holds numbers are numbers; those of files are texts.

    Parameters
    ----------
    source : str, path, sequence of paths, or data frame
        A .csv, .tsv, .json, .jsonl, .ndjson (each also with .gz), .parquet, .arrow, .feather or .ipc file. A pattern
        such as "logs/*.parquet", or a list of files of one format. A pandas or polars frame, also a lazy one, an Arrow
        table, or any other frame that narwhals supports.
    arm : str, optional
        The column that names the arm of a row. Names in text files are text: "1.1" and "1.10" are two arms.
    values : str or sequence of str, optional
        The columns of a sample. Default: all other columns, if there are at most 20. The index that pandas writes to a
        file and columns that only count the rows are left out then, and columns that look like ids or times are named
        in `warnings` of the arms.
    wide : bool, default False
        The table has one column for each arm. `values` then names the columns to use, and `types` has the key "value".
        Missing cells at the end of a column are its end.
    types : mapping of str to {"number", "category", "text"}, optional
        The kind of columns where the default is wrong. By default, numbers are numbers and booleans are categories.
        Strings are categories if there are at most 50 different ones and they repeat, else text.
    missing : {"raise", "drop", "encode"}, default "raise"
        What happens to missing values. "raise" refuses them. "drop" leaves out their rows, and rows without an arm.
        "encode" makes them a value of their own.
    text : {"features", "characters"}, default "features"
        How texts become numbers. "features" are hashed n-grams; "characters" are for the Hamming kernel.
    seed : int, default 0
        Decides the order of the draws. The same seed, table and version of DuckDB give the same order.
    order : str, optional
        The column that says when a row came, such as a time. It is not compared. Default: rows came in the order of the
        file.
    where : str, optional
        A condition in SQL, such as "seconds > 0 and region = 'eu'". Rows that do not meet it are left out and counted
        in `notes`. The condition may use every column.
    parts : Parts, optional
        Where the rows are, if they are not read here. `source` is then a look at the table: all files, or the first
        rows of a frame.

    Returns
    -------
    NamedArms
        The arms by name, for `kabc.cluster`.

    Notes
    -----
    There is one scan to count, and then about log2(samples of an arm / 64) scans to draw. Memory holds the rows that
    were drawn, and at most 512 MB of DuckDB.

    Examples
    --------
    >>> import numpy as np
    >>> import polars as pl
    >>> from kabc.arms.tables import table_arms
    >>> frame = pl.DataFrame({"machine": ["a", "b", "a", "b"], "heat": [1.5, 7.0, 1.5, 7.0]})
    >>> arms = table_arms(frame, arm="machine")
    >>> arms["b"].remaining
    2
    >>> arms["b"].draw(2, np.random.default_rng(0))
    array([[7.],
           [7.]])
    """
    rows = _opened(source, None if wide else arm, _needed(arm, values, order) if where is None and not wide else None)
    rows, notes = kept_rows(rows, where)
    if not wide and arm is None:
        raise no_arm_column(
            rows, "; for one column for each arm: --wide at the command line, kabc.arms.tables.table_arms in Python"
        )
    if not wide:
        rows = in_order_of(rows, order, arm, values)
        typed = not isinstance(source, str | os.PathLike | list | tuple)  # of files, names are texts
        return arms_of(rows, arm, values, types, missing, text, seed, notes=notes, parts=parts, typed=typed)
    if arm is not None:
        raise SettingsError(
            f"wide=True means one column for each arm, and arm={arm!r} one column with all names; leave one out"
        )
    rows = in_order_of(rows, order, None, values)
    found = identifiers(rows, list(rows.types)) if values is None else Identifiers()
    columns = value_columns(rows, values) if values is not None else [c for c in rows.types if c not in found.skipped]
    notes += [*found.notes, *found.warnings]
    arms = arms_of(_melted(rows, columns), "arm", "value", types, missing, text, seed, columns, notes)
    arms.warnings = (*found.warnings, *arms.warnings)
    return arms


def _needed(arm: str | None, values: str | Sequence[str] | None, order: str | None) -> list[str] | None:
    """The columns that are read; None: all of them."""
    if arm is None or values is None:
        return None
    return [arm, *([values] if isinstance(values, str) else values), *([] if order is None else [order])]


def _opened(source: TableInput, as_text: str | None, needed: Sequence[str] | None) -> Rows:
    if isinstance(source, str | os.PathLike):
        return open_files([os.fspath(source)], as_text)
    if isinstance(source, list | tuple) and source and all(isinstance(file, str | os.PathLike) for file in source):
        return open_files([os.fspath(file) for file in source], as_text)
    return open_frame(source, needed)


def _melted(rows: Rows, columns: list[str]) -> Rows:
    """A wide table as rows (arm, value), without the missing cells at the end of a column."""
    for column in columns:
        known_kind(column, rows.types[column])
    numbers = all(NUMBERS.fullmatch(rows.types[column]) for column in columns)
    cells = [f"CAST({quoted(column)} AS {'DOUBLE' if numbers else 'VARCHAR'})" for column in columns]
    given = "value IS NOT NULL AND NOT isnan(value)" if numbers else "value IS NOT NULL"
    with readable(rows.name):
        rows.workspace.rows(
            f"CREATE TABLE cells AS SELECT {rows.moment or 0} AS moment, {rows.key} AS place, "
            f"unnest([{', '.join(map(literal, columns))}]) AS arm, unnest([{', '.join(cells)}]) AS value "
            f"FROM {rows.relation}"
        )
        rows.workspace.rows(
            "CREATE TABLE melted AS SELECT cells.* FROM cells JOIN "
            f"(SELECT arm, max(place) AS last FROM cells WHERE {given} GROUP BY arm) USING (arm) WHERE place <= last"
        )
    types = {"arm": "VARCHAR", "value": "DOUBLE" if numbers else "VARCHAR"}
    return replace(rows, relation="melted", key="hash(arm, place)", types=types, moment="moment, place")


def arms_of(
    rows: Rows,
    arm: str | None,
    values: str | Sequence[str] | None,
    types: Mapping[str, Kind] | None,
    missing: Missing,
    text: TextForm,
    seed: int,
    expected: Sequence[str] = (),
    notes: Sequence[str] = (),
    parts: Parts | None = None,
    typed: bool = False,
) -> NamedArms:
    """Arms from rows. The names in `expected` are arms even where they have no row. `notes` come before others.

    `typed`: whether names are numbers where their column has numbers; else they are texts.
    """
    if not isinstance(seed, Integral) or seed < 0:
        raise SettingsError(f"seed must be a whole number, 0 or more, got {seed!r}")
    arm = arm_column(rows, arm)
    found = Identifiers()
    if values is None:
        found = identifiers(rows, [name for name in rows.types if name != arm and name not in (types or {})], arm)
    columns = value_columns(rows, values, arm, found.skipped)
    kinds = kinds_of(rows, columns, types or {})
    encoder = Encoder(columns, kinds, missing, text)
    cells = [Cell(column, rows.types[column], kinds[column]) for column in columns]
    here = Scan(rows, Cell(arm, rows.types[arm], "category").value, cells, missing == "drop")
    scan = here if parts is None else PartedScan(here, [arm, *columns], parts)
    with readable(rows.name):
        counts, about_rows = rows_of_arms(scan, arm, missing, expected)
    known = numbers_of(list(counts), rows.types[arm]) if typed else {}
    names = sorted(counts, key=known.__getitem__ if known else natural)
    buffer = RowBuffer(scan, names, np.array([counts[name] for name in names]), encoder, int(seed))
    arms = {known.get(name, name): TableArm(buffer, number) for number, name in enumerate(names)}
    return NamedArms(
        arms,
        [f"columns: {encoder.describe()}", *notes, *found.notes, *about_rows, *found.warnings],
        encoder.names,
        types=encoder.types,
        levels=encoder.levels,
        warnings=found.warnings,
        source=rows.name,
    )
