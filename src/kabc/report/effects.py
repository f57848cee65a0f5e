"""The section on effects: tables of groups and arms, in the units of the data."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping

from kabc.core.words import counted
from kabc.report.nodes import names_of, plain
from kabc.report.svg import clean
from kabc.report.tags import details, name, table
from kabc.results.effects.values import ArmEffect, ColumnEffect, Effects
from kabc.results.effects.words import contrast_text, decimals, figure, intervals, per_cent, values_text
from kabc.results.values import Result

_MOST_COLUMNS = 50  # of a group, in its table
_MOST_ARM_COLUMNS = 3  # of an arm, in the table of all arms
_MOST_LEVELS = 6

Row = list[str]  # cells, escaped

_GROUP_HEADS = ["Group", "Column", "Samples kept", "Median", "5 %", "95 %", "Mean", "SD", "Against the largest group"]
_GROUP_NUMBERS = (0, 2, 3, 4, 5, 6, 7)
_SAID = (
    "They are no part of the guarantee, because samples were drawn adaptively. Spread is the distance from the 5 % to "
    "the 95 % quantile. What distinguishes a group most comes first."
)
_OF_ARMS = (
    "Each arm against all other arms together, the odd ones first; descriptive only. Distance: the largest "
    "Kolmogorov-Smirnov distance of its columns (of categories: the largest difference of a share). Oddness: the part "
    "of it that chance does not explain; arms above 0 stand out."
)


def effects_section(result: Result) -> str:
    """Groups against the largest one, and every arm against all others; empty if no samples were kept."""
    found = result.effects
    if not found.groups:
        return ""
    groups = table(_GROUP_HEADS, group_rows(found), numeric=_GROUP_NUMBERS)
    said = f"Estimates from the samples kept, with {intervals(found)}. {_SAID}"
    parts = [f'<h2>Effects</h2><p class="soft">{said}{_left_out(found)}</p>{groups}']
    if found.arms:
        texts = dict(zip(result.names, names_of(result), strict=True))
        arms = table(_arm_heads(found), arm_rows(found, texts), numeric=(1, 2, 3, 4))
        of_arms = f'<p class="soft">{_OF_ARMS}</p>'
        parts.append(details(f"Odd ones first: all {len(found.arms):,} arms with their quantiles", of_arms + arms))
    return "".join(parts) + "\n"


def group_rows(effects: Effects) -> list[Row]:
    """A row for each group and column; columns that distinguish most come first."""
    shown = effects.ranked_columns[:_MOST_COLUMNS]
    rows = []
    for title in shown:
        for group in effects.groups:
            column = next((one for one in group.columns if one.column == title), None)
            if column is not None:
                rows.append(_group_row(group.number, column, effects.reference))
    return rows


def _group_row(number: int, column: ColumnEffect, reference: int | None) -> Row:
    against = "; ".join(
        contrast_text(contrast, f" group {reference}" if place == 0 else "")
        for place, contrast in enumerate(column.contrasts)
    )
    kept = [str(number), name(plain(column.column)), f"{column.n:,}"]
    return [*kept, *_figures(column), clean(plain(against)) or "the largest group"]


def _figures(column: ColumnEffect) -> Row:
    """Median, 5 %, 95 %, mean and sd; for categories their shares."""
    if column.shares:
        listed = ", ".join(f"{plain(level)} ({per_cent(share)})" for level, share in column.shares[:_MOST_LEVELS])
        return [clean(listed), "", "", "", ""]
    places = decimals(column.high - column.low, column.median if column.low > 0 else math.inf)
    values = (column.median, column.low, column.high, column.mean, column.sd)
    return [clean(figure(value, places)) for value in values]


def _left_out(effects: Effects) -> str:
    """How many columns are not in the table."""
    more = len(effects.ranked_columns) - _MOST_COLUMNS
    return f" {counted(more, 'column')} with smaller effects left out." if more > 0 else ""


def _arm_heads(effects: Effects) -> Row:
    """Of the table of all arms."""
    columns = [clean(plain(title)) for title in effects.ranked_columns[:_MOST_ARM_COLUMNS]]
    return ["Arm", "Group", "Samples kept", "Oddness", "Distance", "Oddest column", *columns]


def arm_rows(effects: Effects, texts: Mapping[Hashable, str]) -> list[Row]:
    """A row for each arm, the odd ones first, with the quantiles of the columns that distinguish most."""
    return [_arm_row(arm, effects, texts) for arm in effects.arms]


def _arm_row(arm: ArmEffect, effects: Effects, texts: Mapping[Hashable, str]) -> Row:
    found = {column.column: column for column in arm.columns}
    shown = [found.get(title) for title in effects.ranked_columns[:_MOST_ARM_COLUMNS]]
    return [
        name(texts[arm.arm]),
        str(arm.group),
        f"{arm.n:,}",
        f"{arm.oddness:.2f}",
        f"{arm.distance:.2f}",
        clean(plain(arm.column)),
        *(clean(plain(values_text(column))) if column else "" for column in shown),
    ]
