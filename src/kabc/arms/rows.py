"""A table that DuckDB can scan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from kabc.arms.workspace import Workspace, quoted
from kabc.core.errors import SettingsError

FILE_ROWS = 1 << 40  # more rows than a file has: numbers the rows of several files
_ROW_NUMBERS = ("rowid", "file_row_number", "file_index")


@dataclass(frozen=True)
class Rows:
    """A table that DuckDB can scan.

    `relation` is SQL for it and `key` SQL for the number of a row. `types` are DuckDB's, by column. `name` is the one
    in messages. `moment` is SQL for when a row came; empty: in the order of their numbers.
    `file` is SQL for the number of the file that a row is in; empty: there is one file, or it is not known.
    """

    workspace: Workspace
    relation: str
    key: str
    types: dict[str, str]
    name: str
    moment: str = ""
    file: str = ""

    @property
    def order(self) -> str:
        """SQL for the order in which the rows came."""
        return f"{self.moment}, {self.key}" if self.moment else self.key

    def __post_init__(self) -> None:
        check_names(self.types, self.name)

    @classmethod
    def of_table(cls, workspace: Workspace, table: str, name: str) -> Rows:
        """A table in the temporary database."""
        return cls(workspace, quoted(table), "rowid", column_types(workspace, quoted(table)), name)


def column_types(workspace: Workspace, relation: str) -> dict[str, str]:
    """DuckDB's type of each column."""
    return {row[0]: row[1] for row in workspace.rows(f"DESCRIBE SELECT * FROM {relation}")}


def check_names(names: Iterable[object], where: str) -> None:
    """Refuse two columns of the same name, and names that DuckDB uses for row numbers.

    DuckDB ignores case in names, so names that differ only in case are the same.
    """
    written = [str(name) for name in names]
    counts = Counter(name.casefold() for name in written)
    twice = [name for name in written if counts[name.casefold()] > 1]
    if twice:
        raise SettingsError(
            f"{where} has columns of the same name: {', '.join(map(repr, twice))}; "
            "rename them (upper and lower case count as the same)"
        )
    for name in written:
        if name.casefold() in _ROW_NUMBERS:
            raise SettingsError(f"{where} has a column {name!r}, and DuckDB needs this name for row numbers; rename it")
