"""Tables that lie in parts on the machines of a cluster: files of a shared folder, or partitions of a data frame.

Each part is scanned where it is, by the same queries as a table that is read here, and their answers are put together.
Rows have the numbers that they would have in one table, so they are drawn in the same order. Rows that nobody asks for
stay where they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import xor
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from kabc.arms.cells import Cell, Scan
from kabc.arms.early import FirstRows
from kabc.arms.files import parquet_rows
from kabc.arms.rows import Rows
from kabc.arms.workspace import Workspace, quoted, readable
from kabc.core.arrays import Counts
from kabc.core.errors import SettingsError

Columns = dict[str, NDArray[Any]]


class Parts(Protocol):
    """The parts of a table, in the order of their rows."""

    def __len__(self) -> int:
        """How many there are."""

    def each(self, query: Callable[[Any, int], Any], some: Iterable[int] | None = None) -> list[Any]:
        """The answers of a query, part by part, of some parts or of all.

        It is called where the part is, with the part and the rows before it.

        A part is the path of a Parquet file, or a data frame.
        """

    def total(self, query: Callable[[Any, int], Any]) -> Any:
        """The sum of the answers of all parts, added where the parts are, always in the same order."""


@dataclass(frozen=True)
class Recipe:
    """A scan without a table: what is sent to where the parts are."""

    name: str
    types: dict[str, str]
    arm: str
    cells: list[Cell]
    drop: bool

    def scan(self, part: Any, before: int) -> Scan:
        """The scan of one part. `before`: rows of the parts before it, or the number of a file times 2^40."""
        workspace = Workspace([part] if isinstance(part, str) else ())
        columns = ", ".join(f"CAST({quoted(name)} AS {kind}) AS {quoted(name)}" for name, kind in self.types.items())
        with readable(self.name):
            if isinstance(part, str):
                found = parquet_rows(workspace, [part], self.name)
                rows = replace(found, relation=f"(SELECT {columns}, {found.key} FROM {found.relation})")
            else:
                workspace.connection.register("frame", part)
                workspace.rows(f"CREATE TABLE source AS SELECT {columns} FROM frame")
                workspace.connection.unregister("frame")
                rows = Rows.of_table(workspace, "source", self.name)
        return Scan(replace(rows, key=f"({rows.key} + {before}::BIGINT)"), self.arm, self.cells, self.drop)


@dataclass(frozen=True)
class Query:
    """A function of a scan with its other arguments, to be asked of a part."""

    recipe: Recipe
    function: Callable[..., Any]
    arguments: tuple[Any, ...]

    def __call__(self, part: Any, before: int) -> Any:
        return self.function(self.recipe.scan(part, before), *self.arguments)


class PartedScan:
    """The scan of a table in parts. It answers as `Scan` does. `columns` are those that are read."""

    def __init__(self, scan: Scan, columns: Sequence[str], parts: Parts) -> None:
        self.name, self.arm, self.cells, self.kept = scan.name, scan.arm, scan.cells, scan.kept
        self._parts = parts
        # each part of a frame may know other categories
        types = {name: re.sub(r"ENUM.*", "VARCHAR", scan.rows.types[name]) for name in columns}
        self._recipe = Recipe(scan.name, types, scan.arm, scan.cells, scan.drop)

    def each(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """What a function says of each part: it is called where the part is, with its scan and these arguments."""
        return self._parts.each(Query(self._recipe, function, arguments))

    def total(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """The sum of what a function says of each part."""
        return self._parts.total(Query(self._recipe, function, arguments))

    def in_blocks(self, length: int) -> Scan:
        """Not here: rows of a block may lie in two parts."""
        raise SettingsError(
            f"block={length} needs the rows of an arm in one place, and this table lies in parts on a cluster; leave "
            "executor= out, so that it is read here"
        )

    def tally(self, test: str) -> list[tuple[Any, ...]]:
        """For each arm: its name, its number of rows, and how many of them pass a test."""
        found: dict[Any, list[int]] = {}
        for name, *counts in (row for rows in self.each(Scan.tally, test) for row in rows):
            found[name] = [a + b for a, b in zip(found.get(name, [0, 0]), counts, strict=True)]
        return [(name, *counts) for name, counts in found.items()]

    def counts(self, tests: list[str]) -> list[int]:
        """How many rows pass each test."""
        return [sum(column) for column in zip(*self.each(Scan.counts, tests), strict=True)]

    def examples(self, column: str, test: str) -> list[Any]:
        """The value of a column in the first row that passes a test."""
        return [value for values in self.each(Scan.examples, column, test) for value in values][:1]

    def fingerprints(self, salt: int) -> dict[str, int]:
        """For each arm a number that differs where its rows or their order do."""
        found: dict[str, list[int]] = {}
        for name, one in (item for part in self.each(Scan.fingerprints, salt) for item in part.items()):
            found.setdefault(name, []).append(one)
        return {name: reduce(xor, ones) for name, ones in found.items()}

    def first(self, names: NDArray[Any], wanted: Counts) -> Columns:  # (N,), (N,)
        """The first rows of each arm in the order in which they came, arm after arm.

        Parts are asked in their order, until all arms have what is wanted, and more at a time while they have little.
        """
        found, next_part, at_once = FirstRows(wanted), 0, 1
        while next_part < len(self._parts) and found.missing.any():
            some, before = np.flatnonzero(found.missing), found.missing.sum()
            asked = range(next_part, min(next_part + at_once, len(self._parts)))
            query = Query(self._recipe, Scan.first, (names[some], found.missing[some]))
            for part in self._parts.each(query, asked):
                found.add(part | {"code": some[part["code"]]})
            at_once *= 2 if 2 * found.missing.sum() > before else 1
            next_part = asked.stop
        return found.columns()

    def read(self, cuts: Columns, salt: int) -> Columns:
        """Rows of some arms whose hash is in a range."""
        return joined(self.each(Scan.read, cuts, salt))


def joined(found: Sequence[Columns]) -> Columns:
    """The rows of all parts."""
    return {name: np.concatenate([part[name] for part in found]) for name in found[0]}
