"""What is proven within the tolerance: the map of verdicts, margins of groups, and arms between groups."""

from __future__ import annotations

from kabc.core.words import counted
from kabc.report import svg
from kabc.report.page.figures import figure
from kabc.report.page.tags import Row, table
from kabc.report.svg import clean
from kabc.report.verdict_map import verdict_map
from kabc.results.values import Result
from kabc.results.within import between_lines, margins_of

_MOST_ROWS = 40
_SHAPES = "A full square (≠): different. A disc (=): the same. A small dashed square (?): open."
_OF_THE_GROUP = (
    "The same means: each arm is within the tolerance of the rest of its group together. Two arms of a group may be "
    "further apart than that."
)
_OF_EACH_OTHER = "The same means: the two arms are within the tolerance of each other."


def verdicts_section(result: Result) -> str:
    """The section; nothing without a tolerance or without groups, and for a check, whose one verdict is its answer."""
    if result.tolerance is None or not result.groups or result.reference:
        return ""
    verdicts = verdict_map(result)
    each = "a pair of groups; on the diagonal, a group with itself" if verdicts.nodes.are_groups else "a pair of arms"
    same = _OF_EACH_OTHER if verdicts.same_pairs_are_close else _OF_THE_GROUP
    caption = f"Each cell is {each}. {_SHAPES} {same} Point at a cell to read how far apart the arms are proven to be."
    if verdicts.nodes.are_groups:
        caption += " Where the pairs of a cell have several verdicts, their shares are shown from left to right."
    if verdicts.nodes.left_out:
        caption += f" {counted(verdicts.nodes.left_out, 'smaller group')} left out."
    drawn = figure("Verdicts", svg.draw_verdicts(verdicts), caption)
    said = [*_doubt(result), *(line[0].upper() + line[1:] + "." for line in between_lines(result))]
    lines = "".join(f"<p>{clean(line)}</p>" for line in said)
    head = f"<h2>Within a tolerance of {clean(result.tolerance.tolerance)}</h2>{lines}"
    return f'{head}<div class="figures">{drawn}{"" if result.assumptions else _margins(result)}</div>\n'


def _doubt(result: Result) -> list[str]:
    """Why the verdicts are no proofs, where they are not."""
    return [f"These verdicts would be proven if {result.conditional_on}."] if result.assumptions else []


def _margins(result: Result) -> str:
    """A row for each group, the smallest first."""
    assert result.tolerance is not None
    rows: list[Row] = []
    ordered = sorted(enumerate(result.groups), key=lambda entry: len(entry[1]))
    for group, arms in ordered[:_MOST_ROWS]:
        said = "; ".join(margins_of(result, result.tolerance, arms)) or "nothing beyond the verdicts"
        rows.append([str(group + 1), f"{len(arms):,}", clean(said)])
    more = len(ordered) - _MOST_ROWS
    left_out = f'<p class="soft">{counted(more, "larger group")} left out.</p>' if more > 0 else ""
    same = "".join(f"<li>{clean(one)}</li>" for one in result.tolerance.equivalents)
    as_much = f"<h3>The tolerance in other units</h3><ul>{same}</ul>" if same else ""
    title = "Margins of the groups"
    margins = table(["Group", "Arms", "Proven"], rows, (0, 1), title)
    return f"<div><h3>{title}</h3>{margins}{left_out}{as_much}</div>"
