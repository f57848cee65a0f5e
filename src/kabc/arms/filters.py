"""`where`: a condition that rows of a table must meet. DuckDB's own parser says that it is one, and nothing more."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from kabc.arms.rows import Rows
from kabc.arms.words import cut
from kabc.arms.workspace import Workspace, first_line, literal
from kabc.core.errors import ArmError, SettingsError
from kabc.core.words import counted

_ROW = "kabc_row_number"
_EXAMPLE = "write it like \"seconds > 0 and region = 'eu'\""


def kept_rows(rows: Rows, where: str | None) -> tuple[Rows, list[str]]:
    """The rows that meet a condition, and a note that counts them."""
    if where is None:
        return rows, []
    import duckdb

    _expect_condition(rows.workspace, where)
    relation = f"(SELECT *, {rows.key} AS {_ROW} FROM {rows.relation} WHERE {_bracketed(where)})"
    try:
        ((kept,),) = rows.workspace.rows(f"SELECT count(*) FROM {relation}")
        ((every,),) = rows.workspace.rows(f"SELECT count(*) FROM {rows.relation}")
    except duckdb.Error as error:
        raise _refused(where, first_line(error)) from error
    if every and not kept:
        raise ArmError(f"where={cut(where)} keeps none of the {counted(every, 'row')} of {rows.name}; correct it")
    note = f"where: {kept:,} of {counted(every, 'row')} kept by {cut(where)}"
    return replace(rows, relation=relation, key=_ROW, file=""), [note]


def _bracketed(where: str) -> str:
    return f"({where}\n)"  # a line break, because the condition may end in a comment


def _expect_condition(workspace: Workspace, where: str) -> None:
    """Refuse all but a condition on the values of one row that means the same in every scan."""
    if not isinstance(where, str) or not where.strip():
        raise SettingsError(f"where must be a condition on the columns of a table, got {where!r}; {_EXAMPLE}")
    parsed, plain = (_parsed(workspace, condition) for condition in (where, "true"))
    if parsed.get("error"):
        raise _refused(where, str(parsed["error_message"]))
    meant, usual = (one["statements"][0]["node"] for one in (parsed, plain))
    condition = meant.pop("where_clause", None)
    usual.pop("where_clause")
    if len(parsed["statements"]) != 1 or meant != usual:
        raise _refused(where, "it is more than a condition")
    parts = list(_parts(condition))
    if any(part.get("class") == "SUBQUERY" for part in parts):
        raise _refused(where, "it has a query in it, and a condition can only look at one row at a time")
    called = {str(part["function_name"]).lower() for part in parts if "function_name" in part}
    unsteady = called & _unsteady(workspace)
    if unsteady:
        raise _refused(where, f"{min(unsteady)}() may have another value in the next scan; write the value itself")


def _parsed(workspace: Workspace, where: str) -> Any:
    statement = f"SELECT * FROM t WHERE {_bracketed(where)}"
    ((text,),) = workspace.rows(f"SELECT json_serialize_sql({literal(statement)})")
    return json.loads(text)


def _parts(node: Any) -> Iterator[dict[str, Any]]:
    """All expressions within a parsed one, itself included."""
    if isinstance(node, dict):
        yield node
    children = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    for child in children:
        yield from _parts(child)


def _unsteady(workspace: Workspace) -> set[str]:
    """Names of functions that can give another value for the same row, such as random() and now()."""
    return {
        row[0] for row in workspace.rows("SELECT function_name FROM duckdb_functions() WHERE stability <> 'CONSISTENT'")
    }


def _refused(where: str, why: str) -> SettingsError:
    return SettingsError(f"where={cut(where)} is refused: {why}; {_EXAMPLE}")
