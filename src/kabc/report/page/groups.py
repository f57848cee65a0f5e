"""The groups: their arms, their values, and how they differ from the largest one."""

from __future__ import annotations

import math
from collections.abc import Sequence

from kabc.core.words import counted
from kabc.report.nodes import names_of, plain
from kabc.report.page.tags import Row, badge, details, name, table
from kabc.report.svg import clean
from kabc.results import gate
from kabc.results.effects.values import ColumnEffect, Effects
from kabc.results.effects.words import (
    MOST_COLUMNS,
    contrast_text,
    contrast_words,
    decimals,
    figure,
    intervals,
    per_cent,
    values_text,
)
from kabc.results.values import Result
from kabc.results.words import margin_lines

_MOST_CARDS = 24
_MOST_MEMBERS = 30
_SHOWN_OF_MANY = 6
_MOST_ROWS = 200  # of the table of effects
_MOST_LEVELS = 6

_HEADS = ["Group", "Column", "Samples kept", "Median", "5 %", "95 %", "Mean", "SD", "Against the largest group"]
_NUMBERS: tuple[int, ...] = (0, 2, 3, 4, 5, 6, 7)
_SAID = (
    "They are no part of the guarantee, because samples were drawn adaptively. Spread is the distance from the 5 % to "
    "the 95 % quantile. What distinguishes a group most comes first."
)


def groups_section(result: Result) -> str:
    """A card for each group, the smallest first; of a check, its arms."""
    if result.reference:
        lines = "".join(f"<p>{clean(line[0].upper() + line[1:])}</p>" for line in gate.arm_lines(result))
        return f"<h2>Arms</h2>{lines}\n"
    texts = dict(zip(result.names, names_of(result), strict=True))
    ordered = sorted(enumerate(result.groups), key=lambda entry: len(entry[1]))
    cards = [_card(result, group, [texts[arm] for arm in arms]) for group, arms in ordered[:_MOST_CARDS]]
    shown = f'<div class="cards">{"".join(cards)}</div>'
    if len(ordered) > _MOST_CARDS:
        rest = [
            f"<li>{clean(_heading(result, group, len(arms)))}: {_listed([texts[arm] for arm in arms])}</li>"
            for group, arms in ordered[_MOST_CARDS:]
        ]
        shown += details(f"{len(rest):,} more groups", f'<ul class="tall">{"".join(rest)}</ul>')
    soft = "<p class='soft'>The smallest groups come first.</p>" if len(ordered) > 1 else ""
    kind = "Groups" if result.certified else "Groups (a guess)"
    return f"<h2>{kind}</h2>{soft}{shown}\n"


def _heading(result: Result, group: int, n_arms: int) -> str:
    return f"Group {group + 1}{'' if result.certified else ' (guess)'}: {counted(n_arms, 'arm')}"


def _card(result: Result, group: int, names: Sequence[str]) -> str:
    values = "".join(_values(column, result.effects.reference) for column in _columns(result.effects, group + 1))
    values += "".join(f'<p class="effect">{clean(line)}</p>' for line in margin_lines(result, group + 1))
    heading = f"<h3>{badge(group)}{_heading(result, group, len(names))}</h3>"
    if len(names) <= _MOST_MEMBERS:
        return f'<section class="card">{heading}{values}{_chips(names)}</section>'
    more = len(names) - _SHOWN_OF_MANY
    hidden = f'<p class="tall">{_listed(names[_SHOWN_OF_MANY:])}</p>'
    link = f'<p class="soft"><a href="#arms" data-group="{group + 1}">In the table of arms</a></p>'
    shown = f"<p>{_listed(names[:_SHOWN_OF_MANY])}</p>" + details(f"and {more:,} more", hidden) + link
    return f'<section class="card">{heading}{values}{shown}</section>'


def _columns(effects: Effects, number: int) -> list[ColumnEffect]:
    """The columns of a group that distinguish the groups most."""
    found = {one.column: one for group in effects.groups if group.number == number for one in group.columns}
    return [found[title] for title in effects.ranked_columns[:MOST_COLUMNS] if title in found]


def _values(column: ColumnEffect, reference: int | None) -> str:
    against = "".join(f"; {clean(words)}" for words in contrast_words(column, reference))
    return f'<p class="effect"><b>{name(plain(column.column))}</b> {clean(values_text(column))}{against}</p>'


def _chips(names: Sequence[str]) -> str:
    return f'<ul class="arms">{"".join(f"<li>{name(one)}</li>" for one in names)}</ul>'


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(name, names))


# ------------------------------------------------------------ effects


def effects_section(result: Result) -> str:
    """The table of effects; nothing if no samples were kept."""
    effects = result.effects
    if not effects.groups:
        return ""
    rows, heads, numbers = group_rows(effects), _HEADS, _NUMBERS
    if result.reference:  # the arm and its reference, by their names
        rows = group_rows(effects, than="")
        called = {str(number): name(text) for number, text in enumerate(names_of(result), 1)}
        rows = [[called[str(row[0])], *row[1:-1], "the reference" if row[0] == "1" else row[-1]] for row in rows]
        heads, numbers = ["Arm", *_HEADS[1:-1], "Against the reference"], _NUMBERS[1:]
    more = len(rows) - _MOST_ROWS
    left_out = f" {counted(more, 'row')} with smaller effects left out." if more > 0 else ""
    shown = table(heads, rows[:_MOST_ROWS], numbers, "Effects")
    said = f"Estimates from the samples kept, with {intervals(effects)}. {_SAID}{left_out}"
    return f'<h2>Effects</h2><p class="soft">{clean(said)}</p>{shown}\n'


def group_rows(effects: Effects, than: str | None = None) -> list[Row]:
    """A row for each group and column; columns that distinguish most come first. `than`: instead of " group 1"."""
    found = {(group.number, one.column): one for group in effects.groups for one in group.columns}
    numbers = [group.number for group in effects.groups]
    return [
        _group_row(number, found[number, title], f" group {effects.reference}" if than is None else than)
        for title in effects.ranked_columns
        for number in numbers
        if (number, title) in found
    ]


def _group_row(number: int, column: ColumnEffect, than: str) -> Row:
    against = "; ".join(
        contrast_text(contrast, than if place == 0 else "") for place, contrast in enumerate(column.contrasts)
    )
    kept = [str(number), name(plain(column.column)), f"{column.n:,}"]
    return [*kept, *_figures(column), clean(against) or "the largest group"]


def _figures(column: ColumnEffect) -> Row:
    """Median, 5 %, 95 %, mean and sd; for categories their shares."""
    if column.shares:
        listed = ", ".join(f"{plain(level)} ({per_cent(share)})" for level, share in column.shares[:_MOST_LEVELS])
        return [clean(listed), None, None, None, None]
    places = decimals(column.high - column.low, column.median if column.low > 0 else math.inf)
    values = (column.median, column.low, column.high, column.mean, column.sd)
    return [clean(figure(value, places)) for value in values]
