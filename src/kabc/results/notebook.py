"""A result as notebooks show it: a few lines of HTML without script, styles of the page or anything from elsewhere.

Colours of text and lines are those of the notebook, so that it reads well in light and dark themes.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from html import escape
from typing import TYPE_CHECKING

from kabc.core.words import counted
from kabc.results import within, words
from kabc.results.effects.words import estimates, group_effect_lines

if TYPE_CHECKING:
    from kabc.results.values import Result

_MOST_ARMS = 30  # named in a group
_MOST_GROUPS = 50
_MOST_NOTES = 20
_SURE, _UNSURE = "#2e9e6b", "#d98a1f"  # both are seen on white and on black

_CELL = "text-align:left;vertical-align:top;padding:.15em 1em .15em 0;white-space:normal"
_SOFT = "opacity:.75;font-size:90%"


def html_of(result: Result) -> str:
    """What is claimed, the groups with their effects, what was set aside, and what is doubtful."""
    colour = _SURE if result.certified else _UNSURE
    lines = "".join(f"<div>{_clean(line)}</div>" for line in words.certified_lines(result))
    return (
        f'<div style="border-left:.3em solid {colour};padding:.2em 0 .2em .8em;max-width:70em">'
        f"<div><strong>{_clean(words.headline(result))}</strong></div>{lines}{_groups(result)}{_remarks(result)}</div>"
    )


def _clean(text: str) -> str:
    """A text on one line, escaped."""
    return escape(words.one_line(text))


def _groups(result: Result) -> str:
    """The smallest groups first: the odd ones are what people look for."""
    by_size = sorted(enumerate(result.groups, 1), key=lambda entry: len(entry[1]))
    if not by_size:
        return ""
    guess = "" if result.certified else " (guess)"
    rows = []
    for number, arms in by_size[:_MOST_GROUPS]:
        said = [*group_effect_lines(result.effects, number), *_margins(result, arms)]
        effects = "".join(f"<div>{_clean(line)}</div>" for line in said)
        rows.append([f"{number}{guess}", f"{len(arms):,}", _names([words.one_line(arm) for arm in arms]), effects])
    heads = _row("th", ["group", "arms", "names", "values (estimates)"])
    body = "".join(_row("td", row) for row in rows)
    more = len(by_size) - _MOST_GROUPS
    left_out = f'<div style="{_SOFT}">and {counted(more, "larger group")}</div>' if more > 0 else ""
    table = f"<thead>{heads}</thead><tbody>{body}</tbody>"
    return f'<table style="border-collapse:collapse">{table}</table>{left_out}'


def _margins(result: Result, group: Sequence[Hashable]) -> list[str]:
    """What is proven of the arms of a group within the tolerance."""
    if result.tolerance is None or result.assumptions:
        return []
    margins = within.margins_of(result, result.tolerance, group)
    return [f"proven: {'; '.join(margins)}"] if margins else []


def _row(tag: str, cells: Sequence[str]) -> str:
    """A row of cells that are escaped already."""
    inside = "".join(f'<{tag} style="{_CELL}">{cell}</{tag}>' for cell in cells)
    return f"<tr>{inside}</tr>"


def _names(names: Sequence[str]) -> str:
    more = len(names) - _MOST_ARMS
    shown = ", ".join(f"<bdi>{_clean(name)}</bdi>" for name in names[:_MOST_ARMS])
    return f"{shown} and {more:,} more" if more > 0 else shown


def _remarks(result: Result) -> str:
    """Arms set aside and doubts, in sight; notes and samples, on request."""
    doubts = [*words.hardly_watched(result), *words.aside_lines(result), *words.doubt_lines(result)]
    doubts += within.lines(result, result.tolerance) if result.tolerance is not None else []
    if result.k_doubt is not None and result.k_doubt > 1:
        doubts += words.k_doubt(result)
    if result.failure:
        doubts.append(f"failure: {result.failure}")
    seen = "".join(f"<div>{_clean(line)}</div>" for line in doubts)
    notes = [*([estimates(result.effects)] if result.effects.groups else []), *result.notes[:_MOST_NOTES]]
    inside = "".join(f"<div>{_clean(note)}</div>" for note in notes)
    return (
        f'{seen}<details style="{_SOFT}"><summary>{counted(len(notes), "note")}</summary>{inside}</details>'
        if notes
        else seen
    )
