"""What scans of a table read: SQL about its columns, and the queries about all of its rows.

A table may lie in several parts, on several machines (kabc.arms.parts). So each query is one whose answers for parts
can be put together.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Protocol

from numpy.typing import NDArray

from kabc.arms.early import first_rows, some_arms
from kabc.arms.rows import Rows
from kabc.arms.values import Kind
from kabc.arms.workspace import quoted, readable
from kabc.core.arrays import Counts

FLOATS = ("FLOAT", "DOUBLE")
WHOLE = re.compile(r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?")
NUMBERS = re.compile(
    r'U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|DECIMAL.*|FLOAT|DOUBLE|"NULL"'
)  # "NULL": a column without values
STRINGS = re.compile(r"VARCHAR|ENUM.*|UUID")
TIMES = re.compile(r"DATE|TIME.*|INTERVAL")


@dataclass(frozen=True)
class Cell:
    """SQL about one value column."""

    column: str
    type: str
    kind: Kind

    @property
    def value(self) -> str:
        """A DOUBLE for a number, else a VARCHAR. NULL or NaN where it is missing."""
        name = quoted(self.column)
        if self.kind != "number":
            text = f"CAST({name} AS VARCHAR)"
            return f"CASE WHEN isnan({name}) THEN NULL ELSE {text} END" if self.type in FLOATS else text
        if TIMES.fullmatch(self.type):
            return f"epoch({name})"
        return f"TRY_CAST({self._field} AS DOUBLE)" if self.written else f"CAST({name} AS DOUBLE)"

    @property
    def written(self) -> bool:
        """Whether it is a number in a column of strings."""
        return self.kind == "number" and bool(STRINGS.fullmatch(self.type))

    @property
    def _field(self) -> str:
        return f"nullif(trim(CAST({quoted(self.column)} AS VARCHAR)), '')"

    @property
    def missing(self) -> str:
        """Without a value."""
        empty = f"({self._field} IS NULL)" if self.written else f"({self.value} IS NULL)"
        return f"({empty} OR coalesce(isnan({self.value}), false))" if self.kind == "number" else empty

    @property
    def usual(self) -> str:
        """Neither missing nor wrong in any other way."""
        return f"isfinite({self.value})" if self.kind == "number" else f"{self.value} IS NOT NULL"

    @property
    def infinite(self) -> str:
        """An infinite number."""
        return f"isinf({self.value})" if self.kind == "number" else "false"

    @property
    def rubbish(self) -> str:
        """A text where a number is declared."""
        return f"({self._field} IS NOT NULL AND {self.value} IS NULL)" if self.written else "false"

    @property
    def fetched(self) -> str:
        """What a scan reads."""
        return f"coalesce({self.value}, 'NaN'::DOUBLE)" if self.kind == "number" else self.value


class Scanning(Protocol):
    """Queries about all rows of a table, here (`Scan`) or in parts elsewhere (`kabc.arms.parts.PartedScan`)."""

    @property
    def name(self) -> str:
        """Of the table, in messages."""

    @property
    def arm(self) -> str:
        """SQL for the name of an arm."""

    @property
    def cells(self) -> list[Cell]:
        """The value columns."""

    @property
    def kept(self) -> str:
        """SQL that is true for rows that can be drawn."""

    def in_blocks(self, length: int) -> Scanning:
        """The same rows in blocks."""

    def tally(self, test: str) -> list[tuple[Any, ...]]:
        """For each arm: its name, its number of rows, and how many of them pass a test."""

    def counts(self, tests: list[str]) -> list[int]:
        """How many rows pass each test."""

    def examples(self, column: str, test: str) -> list[Any]:
        """The value of a column in the first row that passes a test; empty where there is none."""

    def fingerprints(self, salt: int) -> dict[str, int]:
        """For each arm a number that differs where its rows or their order do."""

    def first(self, names: NDArray[Any], wanted: Counts) -> dict[str, NDArray[Any]]:  # (N,), (N,)
        """The first rows of each arm in the order in which they came, arm after arm: so many as are wanted of it."""

    def read(self, cuts: dict[str, NDArray[Any]], salt: int) -> dict[str, NDArray[Any]]:
        """Rows of some arms whose hash is in a range."""


@dataclass(frozen=True)
class Scan:
    """What is read from the rows: the name of the arm and the value columns, of all rows or of complete rows only.

    `within` is SQL for the order of rows whose numbers have the same hash: those of a block.
    """

    rows: Rows
    arm: str
    cells: list[Cell]
    drop: bool
    within: str = "0"

    @property
    def fetched(self) -> str:
        """SQL for the values that a scan reads."""
        return ", ".join(f"{cell.fetched} AS value{place}" for place, cell in enumerate(self.cells))

    def in_blocks(self, length: int) -> Scan:
        """The same rows, without a last part of an arm that is no whole block. Rows of a block have one number."""
        rows, table = self.rows, f"blocks_of_{length}"
        of_arm = f"OVER (PARTITION BY {self.arm}"
        how = f"CREATE OR REPLACE TABLE {table} AS"
        with readable(rows.name):
            for condition in some_arms(self):
                rows.workspace.rows(
                    f"{how} SELECT * EXCLUDE (kabc_total) FROM ("
                    f"SELECT {self.arm} AS kabc_arm, {self.fetched}, count(*) {of_arm}) AS kabc_total, "
                    f"row_number() {of_arm} ORDER BY {rows.order}) - 1 AS kabc_place FROM {rows.relation} "
                    f"WHERE {self.kept} AND {condition}) WHERE kabc_place < kabc_total // {length} * {length}"
                )
                how = f"INSERT INTO {table}"
        cells = [
            Cell(f"value{place}", "DOUBLE" if cell.kind == "number" else "VARCHAR", cell.kind)
            for place, cell in enumerate(self.cells)
        ]
        key = f"hash(kabc_arm, kabc_place // {length})"
        types = {cell.column: cell.type for cell in cells}
        blocked = Rows(rows.workspace, table, key, types, rows.name, moment="kabc_place")
        return Scan(blocked, "kabc_arm", cells, drop=False, within="kabc_place")

    @property
    def kept(self) -> str:
        """SQL that is true for rows that can be drawn."""
        return " AND ".join(f"NOT {cell.missing}" for cell in self.cells) if self.drop else "true"

    # ------------------------------------------------------------ queries

    @property
    def name(self) -> str:
        """Of the table, in messages."""
        return self.rows.name

    def tally(self, test: str) -> list[tuple[Any, ...]]:
        """For each arm: its name, its number of rows, and how many of them pass a test."""
        return self.rows.workspace.rows(
            f"SELECT {self.arm}, count(*), count(*) FILTER ({test}) FROM {self.rows.relation} GROUP BY 1"
        )

    def counts(self, tests: list[str]) -> list[int]:
        """How many rows pass each test."""
        counted = ", ".join(f"count(*) FILTER ({test})" for test in tests)
        ((*found,),) = self.rows.workspace.rows(f"SELECT {counted} FROM {self.rows.relation}")
        return found

    def examples(self, column: str, test: str) -> list[Any]:
        """The value of a column in the first row that passes a test; empty where there is none."""
        found = self.rows.workspace.rows(
            f"SELECT {quoted(column)} FROM {self.rows.relation} WHERE {test} ORDER BY {self.rows.key} LIMIT 1"
        )
        return [value for (value,) in found]

    def hash_of_rows(self, salt: int) -> str:
        """SQL for the hash of a row. Rows are drawn in its order."""
        # hashed twice: with one xor alone, the orders of two seeds would be similar
        return f"hash(xor(hash({self.rows.key}), {salt}::UBIGINT))"

    def fingerprints(self, salt: int) -> dict[str, int]:
        """For each arm a number that differs where its rows or their order do."""
        values = ", ".join(cell.fetched for cell in self.cells)
        # hashed twice: the hash of several values is an xor, and would not say which of them belong together
        row = f"hash(hash({self.hash_of_rows(salt)}, {self.within}, {values}))"
        with readable(self.name):
            found = self.rows.workspace.rows(
                f"SELECT {self.arm}, bit_xor({row}) FROM {self.rows.relation} WHERE {self.kept} GROUP BY 1"
            )
        return dict(found)

    def first(self, names: NDArray[Any], wanted: Counts) -> dict[str, NDArray[Any]]:  # (N,), (N,)
        """The first rows of each arm in the order in which they came, arm after arm. `code` is the place of a name."""
        return first_rows(self, names, wanted)

    def read(self, cuts: dict[str, NDArray[Any]], salt: int) -> dict[str, NDArray[Any]]:
        """Rows of the arms `name` in `cuts` whose hash is in [low, high), with their `code`, hash and order within it.

        Without its last bit, so that the end of the range is a number as well.
        """
        workspace, order = self.rows.workspace, self.hash_of_rows(salt)
        near = f"{self.kept} AND {order} >> 1 < {cuts['high'].max()}::UBIGINT"
        workspace.connection.register("cuts", cuts)
        with readable(self.name):
            found = workspace.arrays(
                f"SELECT cuts.code, near.* EXCLUDE (name) FROM (SELECT {self.arm} AS name, {order} AS hash, "
                f"{self.within} AS within, {self.fetched} FROM {self.rows.relation} WHERE {near}) AS near "
                "JOIN cuts ON near.name = cuts.name AND hash >> 1 >= low AND hash >> 1 < high"
            )
        workspace.connection.unregister("cuts")
        return found
