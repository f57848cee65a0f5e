"""Which columns of a table are used, and what they hold: numbers, categories or texts."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import replace

from kabc.arms.cells import NUMBERS, STRINGS, TIMES
from kabc.arms.rows import Rows, check_names
from kabc.arms.values import Kind, string_kind
from kabc.arms.words import listed
from kabc.arms.workspace import quoted, readable
from kabc.core.errors import SettingsError
from kabc.core.words import counted

_MOST_COLUMNS = 20  # used as values when values= is not given
INFERENCE_ROWS = 100_000  # that decide whether strings are categories or text


def arm_column(rows: Rows, arm: str | None) -> str:
    """The column that names the arm of a row, checked."""
    if arm is None:
        raise no_arm_column(rows)
    return _known(arm, rows, "arm")


def in_order_of(
    rows: Rows, order: str | None, arm: str | None = None, values: str | Sequence[str] | None = None
) -> Rows:
    """The rows with a column that says when each came. It is no column of values then."""
    if order is None:
        return rows
    for setting, used in (("arm", [arm]), ("values", [values] if isinstance(values, str) else values or ())):
        if order in used:
            raise SettingsError(f"column {order!r} is in order= and in {setting}=; remove it from one of them")
    column = quoted(_known(order, rows, "order"))
    with readable(rows.name):
        ((absent,),) = rows.workspace.rows(f"SELECT count(*) - count({column}) FROM {rows.relation}")
    if absent:
        raise SettingsError(
            f"order={order!r} has {counted(absent, 'missing value')}, so nobody knows when these rows came; fill them "
            "in, remove the rows, or leave order= out"
        )
    others = {name: kind for name, kind in rows.types.items() if name != order}
    return replace(rows, types=others, moment=column)


def no_arm_column(rows: Rows, other_cure: str = "") -> SettingsError:
    """The error where no column names the arm."""
    return SettingsError(
        f"arm= must say which column names the arm of a row; {rows.name} has the columns {listed(rows.types)}"
        f"{other_cure}"
    )


def value_columns(
    rows: Rows, values: str | Sequence[str] | None, arm: str | None = None, skipped: Sequence[str] = ()
) -> list[str]:
    """The value columns, checked. Those in `skipped` are used only by name."""
    if values is None:
        columns = [column for column in rows.types if column != arm and column not in skipped]
        if len(columns) > _MOST_COLUMNS:
            raise SettingsError(
                f"{len(columns)} columns could be values, more than {_MOST_COLUMNS}; name some of them with values=; "
                f"they are {listed(columns)}"
            )
    else:
        columns = [_known(column, rows, "values") for column in ([values] if isinstance(values, str) else values)]
    if not columns:
        raise SettingsError(
            f"{rows.name} has no value column besides {arm!r}; pass a table with one, or name one with values="
        )
    check_names(columns, "values=")
    if arm in columns:
        raise SettingsError(f"column {arm!r} is in arm= and in values=; remove it from values=")
    return columns


def _known(column: str, rows: Rows, setting: str) -> str:
    if column in rows.types:
        return column
    folded = {name.casefold(): name for name in rows.types}
    near = difflib.get_close_matches(str(column).casefold(), folded, n=1)
    hint = f" (did you mean {folded[near[0]]!r}?)" if near else ""
    raise SettingsError(
        f"{setting}= names a column {column!r} that {rows.name} does not have{hint}; it has {listed(rows.types)}"
    )


def kinds_of(rows: Rows, columns: list[str], declared: Mapping[str, Kind]) -> dict[str, Kind]:
    """The kind of each column: as declared, else from its type, else from its first values."""
    for column in declared:
        if _known(column, rows, "types") not in columns:
            raise SettingsError(
                f"types= has a column {column!r} that is not one of the values {listed(columns)}; remove it"
            )
    kinds: dict[str, Kind] = dict(declared)
    strings = []
    for column in columns:
        if column not in kinds:
            guess = known_kind(column, rows.types[column])
            if guess is None:
                strings.append(column)
            else:
                kinds[column] = guess
    if strings:
        with readable(rows.name):
            kinds.update(_string_kinds(rows, strings))
    return kinds


def known_kind(column: str, kind: str) -> Kind | None:
    """The kind for a type of DuckDB. None for strings: their values decide."""
    if NUMBERS.fullmatch(kind):
        return "number"
    if kind == "BOOLEAN":
        return "category"
    if STRINGS.fullmatch(kind):
        return None
    cure = (
        f"set types={{{column!r}: 'number'}} to compare seconds, order={column!r} if it says when a row came, or leave "
        "it out of values="
        if TIMES.fullmatch(kind)
        else "leave it out of values=, or convert it to columns of numbers, categories or text"
    )
    raise SettingsError(f"column {column!r} has type {kind}, which is not a number, category or text; {cure}")


def _string_kinds(rows: Rows, columns: list[str]) -> dict[str, Kind]:
    parts = [
        f"count({name}), count(DISTINCT {name}), count(TRY_CAST(CAST({name} AS VARCHAR) AS DOUBLE))"
        for name in map(quoted, columns)
    ]
    names = ", ".join(map(quoted, columns))
    ((*seen,),) = rows.workspace.rows(
        f"SELECT {', '.join(parts)} FROM (SELECT {names} FROM {rows.relation} LIMIT {INFERENCE_ROWS})"
    )
    kinds: dict[str, Kind] = {}
    for column, given, different, numbers in zip(columns, seen[0::3], seen[1::3], seen[2::3], strict=True):
        if 2 * numbers > given:  # as text they would lose their order, and few people want that
            raise SettingsError(
                f"column {column!r} holds text, but {numbers:,} of the first {given:,} values are numbers; "
                f"say whether it is a number, category or text, e.g. types={{{column!r}: 'number'}}"
            )
        kinds[column] = string_kind(different, given)
    return kinds
