"""How many rows of each arm can be drawn. Every value of the table is checked on the way."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kabc.arms.cells import FLOATS, WHOLE, Scanning
from kabc.arms.values import Missing, infinite_values, missing_values, not_a_number
from kabc.arms.words import listed
from kabc.core.errors import ArmError
from kabc.core.words import counted

_EXACT = 2.0**53  # whole numbers below it are exact as floats


def natural(name: str) -> tuple[list[str | tuple[int, str]], str]:
    """Sorts names with the numbers in them compared as numbers: "m2" before "m10"."""
    parts = re.split(r"([0-9]+)", name)
    return [_in_order(part) if place % 2 else part for place, part in enumerate(parts)], name


def _in_order(digits: str) -> tuple[int, str]:
    """Sorts as the number does, of any length. Python makes no number of more than 4,300 digits."""
    shortest = digits.lstrip("0")
    return len(shortest), shortest


def numbers_of(names: Sequence[str], kind: str) -> dict[str, int | float]:
    """The numbers behind names from a column of numbers; empty where it has others. Whole ones are whole numbers.

    pandas makes a column of whole numbers one of floats where a value is missing.
    """
    if kind in FLOATS:
        known = {name: float(name) for name in names}
        whole = all(abs(number) < _EXACT and number.is_integer() for number in known.values())
        return {name: int(number) for name, number in known.items()} if whole else dict(known)
    return {name: int(name) for name in names} if WHOLE.fullmatch(kind) else {}


def rows_of_arms(
    scan: Scanning, arm: str, missing: Missing, expected: Sequence[str]
) -> tuple[dict[str, int], list[str]]:
    """How many rows of each arm can be drawn, and notes about the others. Every value is checked."""
    usual = " AND ".join(cell.usual for cell in scan.cells)
    table = scan.tally(f"coalesce({usual}, false)")
    total = sum(row[1] for row in table)
    if not total and not expected:
        raise ArmError(f"{scan.name} has no rows; pass a table with at least 2 arms and 2 rows for each")
    nameless = sum(row[1] for row in table if row[0] is None)
    if nameless and missing != "drop":
        raise ArmError(
            f"column {arm!r}, which names the arm, is empty in {nameless:,} of {counted(total, 'row')}; "
            "fill in the names, or set missing='drop'"
        )
    table, total = [row for row in table if row[0] is not None], total - nameless
    absent: dict[str, int] = {}
    if sum(row[2] for row in table) < total:
        absent = _unusual(scan, missing, total)
        table = [row for row in scan.tally(scan.kept) if row[0] is not None]
    counts = dict.fromkeys(expected, 0) | {row[0]: row[2] for row in table}
    _enough(counts, arm, scan.name, missing)
    without = f"{counted(nameless, 'row')} without an arm {'was' if nameless == 1 else 'were'} dropped"
    notes = _missing_note(absent, total - sum(counts.values()), missing)
    return counts, [f"{without} (column {arm!r} is empty)", *notes] if nameless else notes


def _unusual(scan: Scanning, missing: Missing, total: int) -> dict[str, int]:
    """How many values are missing in each column. An error for values that are never allowed."""
    tests = [test for cell in scan.cells for test in (cell.missing, cell.infinite, cell.rubbish)]
    seen = scan.counts([f"{test} AND {scan.arm} IS NOT NULL" for test in tests])
    for cell, absent, infinite, rubbish in zip(scan.cells, seen[0::3], seen[1::3], seen[2::3], strict=True):
        if rubbish:
            first = scan.examples(cell.column, cell.rubbish)[0]
            raise not_a_number(cell.column, first)
        if infinite:
            raise infinite_values(cell.column, infinite)
        if absent and missing == "raise":
            raise missing_values(cell.column, absent, total)
    return {cell.column: absent for cell, absent in zip(scan.cells, seen[0::3], strict=True)}


def _enough(counts: dict[str, int], arm: str, name: str, missing: Missing) -> None:
    if len(counts) < 2:
        raise ArmError(
            f"{name} has only one arm, {next(iter(counts))!r} (column {arm!r}); at least 2 are needed; check that the "
            "right column names the arm"
        )
    # A few such arms are set aside by the run. If most are, the column is hardly one of arms.
    few = sorted((arm for arm, count in counts.items() if count < 2), key=natural)
    if len(few) > len(counts) - 2 or len(few) > len(counts) / 2:
        complete = " complete" if missing == "drop" else ""
        raise ArmError(
            f"{len(few)} of {len(counts)} arms have fewer than 2{complete} rows: {listed(few, 10)}; check that "
            "the right column names the arm"
        )


def _missing_note(absent: dict[str, int], dropped: int, missing: Missing) -> list[str]:
    where = ", ".join(f"{column}: {count:,}" for column, count in absent.items() if count)
    if missing == "drop" and dropped:
        return [f"missing values: {counted(dropped, 'row')} dropped ({where}); the groups are about complete rows"]
    if missing == "encode" and where:
        return [f"missing values: encoded as a value of their own ({where})"]
    return []
