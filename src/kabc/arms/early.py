"""The first rows of each arm, in the order in which they came, with little memory however large the table is.

A table in the order of its row numbers is read range by range, until all arms have what is wanted: if the rows of all
arms are mixed, that is soon. A table with an order of its own is sorted, some arms at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kabc.arms.rows import FILE_ROWS
from kabc.arms.workspace import readable
from kabc.core.arrays import Counts, Index

if TYPE_CHECKING:
    from kabc.arms.cells import Scan

Columns = dict[str, NDArray[Any]]

_AT_ONCE = 1_000_000  # rows that are read or sorted together


class FirstRows:
    """A place for the first rows of arms: so many of each as are wanted, arm after arm."""

    def __init__(self, wanted: Counts) -> None:  # (N,)
        self.missing = wanted.copy()
        self._next: Counts = np.cumsum(wanted) - wanted  # the place of the next row of each arm
        self._total = int(wanted.sum())
        self._columns: Columns = {}

    def add(self, found: Columns) -> None:
        """The next rows, sorted by `code`, and those of each arm in their order. Rows above what is wanted are left."""
        code = found["code"]
        rank = np.arange(len(code)) - np.searchsorted(code, code)
        kept = rank < self.missing[code]
        places = (self._next[code] + rank)[kept]
        for name, column in found.items():
            if name not in self._columns:
                self._columns[name] = np.empty(self._total, dtype=column.dtype)
            elif self._columns[name].dtype != column.dtype:  # the first missing values of a column of texts
                self._columns[name] = self._columns[name].astype(object)
            self._columns[name][places] = column[kept]
        got = np.bincount(code[kept], minlength=len(self.missing))
        self.missing -= got
        self._next += got

    def columns(self) -> Columns:
        """What was found, arm after arm."""
        if not self.missing.any():
            return self._columns
        there = np.ones(
            self._total, dtype=np.bool_
        )  # the table has changed since its rows were counted: draws will say so
        for arm in np.flatnonzero(self.missing).tolist():
            there[self._next[arm] : self._next[arm] + self.missing[arm]] = False
        return {name: column[there] for name, column in self._columns.items()}


def first_rows(scan: Scan, names: NDArray[Any], wanted: Counts) -> Columns:  # (N,), (N,)
    """The first rows of each arm, arm after arm; `code` is the place of its name."""
    found = FirstRows(wanted)
    with readable(scan.name):
        pieces = some_arms(scan) if scan.rows.moment else _ranges(scan)
        for condition in pieces:
            some = np.flatnonzero(found.missing)
            if not len(some):
                break
            found.add(_read(scan, names, some, condition))
    return found.columns()


def _read(scan: Scan, names: NDArray[Any], some: Index, condition: str) -> Columns:
    """The rows of some arms that meet a condition, arm after arm, those of each in the order in which they came."""
    workspace = scan.rows.workspace
    workspace.connection.register("known", {"name": names[some], "code": some.astype(np.int32)})
    found = workspace.arrays(
        f"SELECT known.code, early.* EXCLUDE (name, place) FROM (SELECT {scan.arm} AS name, {scan.fetched}, "
        f"row({scan.rows.order}) AS place FROM {scan.rows.relation} WHERE {scan.kept} AND {condition}) AS early "
        "JOIN known ON early.name = known.name ORDER BY known.code, early.place"
    )
    workspace.connection.unregister("known")
    return found


def _ranges(scan: Scan) -> Iterator[str]:
    """Conditions that cut a table into ranges of row numbers."""
    rows = scan.rows
    files = rows.workspace.rows(
        f"SELECT min({rows.key}), max({rows.key}) FROM {rows.relation} GROUP BY {rows.key} // {FILE_ROWS} ORDER BY 1"
    )
    for low, high in _together(
        [(low, min(low + _AT_ONCE, last + 1)) for first, last in files for low in range(first, last + 1, _AT_ONCE)]
    ):
        # DuckDB skips files by their number, and parts of a file by the numbers of their rows
        near = f"{rows.file} BETWEEN {low // FILE_ROWS} AND {(high - 1) // FILE_ROWS} AND " if rows.file else ""
        yield f"{near}{rows.key} >= {low} AND {rows.key} < {high}"


def _together(pieces: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Ranges of row numbers, with small ones that follow each other put together."""
    while pieces:
        held, place = 0, 0
        while place < len(pieces) and (held := held + pieces[place][1] - pieces[place][0]) <= _AT_ONCE:
            place += 1
        yield pieces[0][0], pieces[place - 1][1]
        pieces = pieces[place:]


def some_arms(scan: Scan) -> Iterator[str]:
    """Conditions that cut a table into parts, each with all rows of some arms, that can be sorted one at a time."""
    rows = scan.rows
    ((n_rows,),) = rows.workspace.rows(f"SELECT count(*) FROM {rows.relation}")
    n_parts = max(1, -(-n_rows // _AT_ONCE))
    for part in range(n_parts):
        yield f"hash({scan.arm}) % {n_parts} = {part}" if n_parts > 1 else "true"
