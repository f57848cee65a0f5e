"""What people read of a check: the verdict in one line, what is certified, and how the two arms differ."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from kabc.core.evidence.verdicts import DIFFERENT, OPEN, SAME
from kabc.core.words import counted, named, percent, two_digits
from kabc.results import gate_quantiles
from kabc.results.effects.words import contrast_text, described, estimates
from kabc.results.within import rounded_down, rounded_up

if TYPE_CHECKING:
    from kabc.results.effects.values import ColumnEffect
    from kabc.results.values import Result

_MOST_NAMED = 3  # arms of a reference
_MOST_COLUMNS = 3
_ENDS = {
    "budget": "the budget is spent",
    "exhausted": "there are no more rows",
    "interrupted": "the run was interrupted",
    "unfinished": "the study has not ended",
    "failed": "the run failed",
    "stalled": "more samples bring nothing new, as the values have a gap at a quantile",
}


def pool_name(this: Hashable, reference: Sequence[Hashable]) -> Hashable:
    """What a reference is called: its name, all names, or how many arms; never as the arm that is checked."""
    if len(reference) == 1:
        return reference[0]
    first = list(map(str, reference[:_MOST_NAMED]))
    if len(reference) > _MOST_NAMED:
        called = f"{counted(len(reference), 'arm')} together ({', '.join(first)}, ...)"
    else:
        called = f"{', '.join(first[:-1])} and {first[-1]}"
    return called if called != this else f"{called} (together)"


def verdict_of(result: Result) -> str | None:
    """What a check found: "same", "different" or "open"; None if it was no check."""
    if not result.reference:
        return None
    if result.assumptions or result.tolerance is None:
        return OPEN
    return str(result.tolerance.verdicts[0, 1])


def question(result: Result) -> str:
    """What was asked."""
    reference, this = map(named, result.names)
    if result.tolerance is not None and result.tolerance.quantiles:
        return f"{this} has {result.tolerance.near} of {reference}"
    return f"{this} is the same as {reference}" + (f" within {_tolerance(result)}" if _tolerance(result) else "")


def claim(result: Result) -> str:
    """The verdict, without what it cost."""
    reference, this = map(named, result.names)
    match result.verdict:
        case "same":
            though = ", though they differ" if differ(result) else ""
            quantiles = result.tolerance is not None and result.tolerance.quantiles
            return f"same: {this} {'has' if quantiles else 'is'} {_near(result)} of {reference}{though}"
        case "different":
            effect = first_effect(result)
            return f"different: {this} differs from {reference}" + (f": {effect}" if effect else "")
    return f"not known: {_so_far(result)}{_missing(result)}"


def sure(result: Result) -> str:
    """How sure a verdict is, before its cost."""
    return f"wrong with probability at most {percent(result.delta)}; " if result.verdict in (SAME, DIFFERENT) else ""


def differ(result: Result) -> bool:
    """Whether the two are certified to differ, by however little."""
    return result.evidence.n_told_apart > 0 or _apart(result) > 0


def first_effect(result: Result) -> str:
    """The largest effect in the units of the data: an estimate."""
    if result.tolerance is not None and result.tolerance.quantiles:
        return gate_quantiles.first_effect(result.tolerance)
    groups = result.effects.groups
    found = groups[1].distinguishes if len(groups) > 1 else None
    if found is None:
        return ""
    column, contrast = found
    many = len(groups[1].columns) > 1
    return (f"{named(column)}: " if many else "") + contrast_text(contrast, "")


def certified_lines(result: Result) -> list[str]:
    """What is certified, beside the verdict or instead of it."""
    if result.assumptions:
        return []
    said = _bounds(result)
    lines = [f"certified: {said}" if said else "certified: nothing yet"]
    if result.verdict == DIFFERENT and _reached(result) < 1:
        lines.append(f"not certified: that they differ by {_size(result)} or more; the estimate is above that")
    return lines


def arm_lines(result: Result) -> list[str]:
    """Which arm was checked against which ones; nothing if it was no check."""
    if not result.reference:
        return []
    return [f"checked: {named(result.names[1])}", f"reference: {', '.join(map(named, result.reference))}"]


def value_lines(result: Result) -> list[str]:
    """Where the values of both arms lie, and how they differ; the columns that differ most first."""
    effects = result.effects
    if len(effects.groups) < 2:
        return []
    lines = []
    for place in (1, 0):  # the arm that is checked comes first
        of = {column.column: column for column in effects.groups[place].columns}
        shown = [of[name] for name in effects.ranked_columns[:_MOST_COLUMNS] if name in of]
        lines += [f"    {named(result.names[place])}: {_described(column)}" for column in shown]
    if result.tolerance is not None:
        lines += gate_quantiles.value_lines(result, result.tolerance)
    return [*lines, estimates(effects)]


def _described(column: ColumnEffect) -> str:
    contrasts = [contrast_text(one, "") for one in column.contrasts if one.what not in ("above", "below")]
    return "; ".join([described(column), *contrasts])


# ---------------------------------------------------------------- parts


def _tolerance(result: Result) -> str:
    return "" if result.tolerance is None else result.tolerance.tolerance


def _near(result: Result) -> str:
    """What two arms that are the same have: "within 2 %", "p50 within 2 %"."""
    return "" if result.tolerance is None else result.tolerance.near


def _size(result: Result) -> str:
    quantiles = result.tolerance is not None and result.tolerance.quantiles
    return "the tolerance" if quantiles else _tolerance(result)


def _apart(result: Result) -> float:
    return 0.0 if result.tolerance is None else float(result.tolerance.apart_distance[0, 1])


def _reached(result: Result) -> float:
    """The certified distance from below, over the tolerance."""
    if result.tolerance is None:
        return 0.0
    found = result.tolerance
    return gate_quantiles.reached(found) if found.quantiles else _apart(result) / found.eps


def _bounds(result: Result) -> str:
    """What is certified of the distance."""
    found = result.tolerance
    if found is None:
        return ""
    if found.quantiles:
        return gate_quantiles.bounds(found)
    low, high = float(found.apart_at_least[0, 1]), float(found.same_within[0, 1])
    unit = f" {found.unit}" if found.unit else ""
    least = f"by at least {rounded_down(low)}{unit}" if 0 < low < math.inf else ""
    most = f"by less than {rounded_up(high)}{unit}" if math.isfinite(high) else ""
    if differ(result):
        return f"they differ{', ' if most and not least else ' '}{' and '.join(filter(None, (least, most)))}".rstrip()
    return f"within {rounded_up(high)}{unit}" if most else ""


def _so_far(result: Result) -> str:
    ended = _ENDS.get(result.status, "it has not ended")
    said = _bounds(result)
    return f"{said} so far, {ended}" if said else f"{ended} before anything was certified"


def _missing(result: Result) -> str:
    """What it would take, where that can be told."""
    more = max(result.needs.values(), default=0) if result.needs else 0
    asked = _near(result).removeprefix("within ")
    unit = "rows" if result.status == "exhausted" else "samples"
    return f"; for {asked} about {two_digits(more):,} more {unit} of each" if more else ""
