"""The table of all arms, the odd ones first. The script of the page sorts and searches it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from kabc.core.arrays import Array, Index
from kabc.core.words import counted
from kabc.report.nodes import MOST_NODES, names_of, odd_arms, plain
from kabc.report.page.tags import name, row_of, scrolling
from kabc.report.style import PRINTED
from kabc.report.svg import clean
from kabc.results.effects.values import ArmEffect, ColumnEffect
from kabc.results.effects.words import figures, values_text
from kabc.results.values import Result

_MOST_COLUMNS = 3  # of the samples
_TWO = 2  # categories
_LONG = 44  # letters of a name that may be broken

_SAID = (
    "Each arm against all other arms together; arms of small groups and odd ones first; descriptive only. Oddness is "
    "the part of the largest Kolmogorov-Smirnov distance (of categories: the largest difference of a share) that "
    "chance does not explain; arms above 0 stand out."
)
_EVIDENCE = (
    "Evidence is the least evidence against an arm of another group, in units of its threshold: above 1, the two are "
    "told apart."
)
_ODDNESS = ("Oddness", "Oddest column")
_QUANTILES = ("median", "5 %", "95 %")

Levels = tuple[str, ...]  # the commonest category first
Columns = list[tuple[str, Levels | None]]  # columns of the samples; None: they hold numbers


@dataclass(frozen=True)
class _Head:
    """A column of the table: its head, the head above it, and whether it holds numbers."""

    text: str
    above: str = ""
    numeric: bool = True
    largest_first: bool = False


def arms_section(result: Result) -> str:
    """The section with the table; its tools appear where the script runs."""
    effects, columns = {one.arm: one for one in result.effects.arms}, _columns(result)
    heads = _heads(result, columns)
    odd_first = dict.fromkeys([*(one.arm for one in odd_arms(result)), *effects, *result.names])
    numbers = {arm: number for number, arm in enumerate(result.names)}
    texts, (least, other) = names_of(result), least_across(result)
    numeric = {place for place, head in enumerate(heads) if head.numeric}
    body = []
    for arm in odd_first:
        number = numbers[arm]
        near = [f"{least[number]:.3g}", name(texts[other[number]])] if np.isfinite(least[number]) else ["", ""]
        cells = [name(texts[number]), *_facts(result, number, effects.get(arm), columns), *near][: len(heads)]
        body.append(f"<tr>{row_of(cells, numeric)}</tr>")
    long = " class=long" if max(map(len, texts)) > _LONG else ""
    table = f'<table id="arms-table"{long}>{_thead(heads)}<tbody>{"".join(body)}</tbody></table>'
    said = f"{_SAID} {_EVIDENCE}" if effects else _EVIDENCE
    arms = counted(len(body), "arm")
    printed = f'<p class="printed">The first {PRINTED} of {arms}.</p>' if len(body) > PRINTED else ""
    return (
        f'<h2 id="arms">All {arms}</h2><p class="soft">{clean(said)}</p>{_TOOLS}{printed}'
        f"{scrolling(table, 'Table of all arms')}\n"
    )


_TOOLS = (
    '<div id="arms-tools" hidden><label>Search <input type="search" placeholder="name, or: group 2"></label> '
    '<output aria-live="polite"></output><span class="soft">Select a head to sort.</span></div>'
)


def _heads(result: Result, columns: Columns) -> list[_Head]:
    heads = [_Head("Arm", numeric=False), _Head("Group" if result.certified else "Group (guess)"), _Head("Samples")]
    found = result.effects
    if found.arms:
        heads += [_Head(_ODDNESS[0], largest_first=True)]
        heads += [_Head(_ODDNESS[1], numeric=False)] if len(columns) > 1 else []
        for title, levels in columns:
            above = clean(plain(title))
            heads += [_Head(one, above) for one in _QUANTILES] if levels is None else [_of_levels(levels, above)]
    near = [_Head("against", "Evidence", numeric=False)] if len(result.names) <= MOST_NODES else []
    return [*heads, _Head("least", "Evidence"), *near]


def _of_levels(levels: Levels, above: str) -> _Head:
    """Of two categories, the share of the rarer one is a number to sort by."""
    return _Head(f"{clean(plain(levels[-1]))}, %", above) if len(levels) == _TWO else _Head("shares", above, False)


def _columns(result: Result) -> Columns:
    """Those that distinguish the groups most."""
    wanted = result.effects.ranked_columns[:_MOST_COLUMNS]
    levels: dict[str, Counter[str]] = {title: Counter() for title in wanted}
    for arm in result.effects.arms:
        for column in arm.columns:
            if column.shares and column.column in levels:
                levels[column.column].update(dict(column.shares))
    ranked = {title: tuple(level for level, _ in found.most_common()) for title, found in levels.items()}
    return [(title, ranked[title] or None) for title in wanted]


def _thead(heads: list[_Head]) -> str:
    """Two rows of heads: the upper one has the columns of the samples."""
    upper, lower, place = [], [], 0
    while place < len(heads):
        head = heads[place]
        width = next((i for i, one in enumerate(heads[place:]) if one.above != head.above), len(heads) - place)
        if head.above:
            upper.append(f'<th scope="colgroup" colspan="{width}">{head.above}</th>')
            lower += [_sortable(place + i, one) for i, one in enumerate(heads[place : place + width])]
        else:
            upper += [_sortable(place + i, one, 2) for i, one in enumerate(heads[place : place + width])]
        place += width
    return f"<thead><tr>{''.join(upper)}</tr><tr>{''.join(lower)}</tr></thead>"


def _sortable(place: int, head: _Head, rows: int = 1) -> str:
    marks = f' rowspan="{rows}"' if rows > 1 else ""
    marks += " class=n" if head.numeric else ""
    marks += ' data-first="descending"' if head.largest_first else ""
    return f'<th scope="col" data-sort="{place}"{marks}>{head.text}</th>'


def _facts(result: Result, number: int, effect: ArmEffect | None, columns: Columns) -> list[str]:
    label, samples = result.labels[number], result.samples_per_arm[result.names[number]]
    cells = [str(label + 1) if label >= 0 else "not measured", f"{samples:,}"]
    if not result.effects.arms:
        return cells
    found = {} if effect is None else {one.column: one for one in effect.columns}
    cells.append("" if effect is None else f"{effect.oddness:.2f}")
    if len(columns) > 1:
        cells.append("" if effect is None else clean(plain(effect.column)))
    for title, levels in columns:
        cells += _cells(found.get(title), levels)
    return cells


def _cells(column: ColumnEffect | None, levels: Levels | None) -> list[str]:
    if levels is None:
        return ["", "", ""] if column is None else [clean(text) for text in figures(column)]
    if column is None:
        return [""]
    if len(levels) == _TWO:
        return [f"{100 * dict(column.shares).get(levels[-1], 0.0):.1f}"]
    return [clean(plain(values_text(column)))]


def least_across(result: Result) -> tuple[Array, Index]:  # -> (N,), (N,)
    """For each arm the least evidence against an arm of another group, and that arm. Infinite if there is none."""
    evidence, labels = result.evidence, np.asarray(result.labels)
    columns = labels[evidence.compared]
    across = (labels[:, None] != columns) & (labels >= 0)[:, None] & (columns >= 0)
    values = np.where(across & ~np.isnan(evidence.block_strength), evidence.block_strength, np.inf)
    least, other = np.full(len(labels), np.inf), np.zeros(len(labels), dtype=np.intp)
    if values.shape[1]:
        places = values.argmin(axis=1)
        least, other = values[np.arange(len(labels)), places], evidence.compared[places]
        by_column, rows = values.min(axis=0), values.argmin(axis=0)
        better = by_column < least[evidence.compared]  # of an arm that others were compared with
        least[evidence.compared[better]], other[evidence.compared[better]] = by_column[better], rows[better]
    return least, other
