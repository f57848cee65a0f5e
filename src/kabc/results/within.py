"""What people read of an answer within a tolerance: its first line, what is certified, margins of groups, chains."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from kabc.core.arrays import Array
from kabc.core.evidence.verdicts import DIFFERENT, OPEN, SAME, Verdicts
from kabc.core.words import counted, named, percent, plural, two_digits

if TYPE_CHECKING:
    from kabc.results.values import Result

_MOST = 6  # arms that are named
ENDS = {"exhausted": "all rows read", "budget": "the budget is spent"}


def decided_claim(result: Result, found: Verdicts) -> str:
    """The claim of a decided answer, for its first line."""
    groups = counted(len(result.groups), "group")
    near = _near(found) if _joined(result) else "all arms differ"
    other = f", {_apart(result, found)}" if len(result.groups) > 1 and _joined(result) else ""
    return f"{groups}, {near}{other}; wrong with probability at most {percent(result.delta)}"


def open_claim(result: Result, found: Verdicts) -> str:
    """How far it got, for the first line of an answer that ran out of rows or money; empty if nothing is proven."""
    near = _any_two(found, [_numbers(result, group) for group in result.groups])
    if not near:
        return ""
    whose = "" if len(result.groups) == 1 else " of a group"
    so_far = near.replace("any two", f"any two arms{whose}", 1)
    more = max(result.needs.values(), default=0) if result.needs else 0
    asked = found.near.removeprefix("within ")
    takes = f"; for {asked} about {two_digits(more):,} more {_unit(result)} of each arm" if more else ""
    return f"undecided: {so_far}, {ENDS[result.status]}{takes}; the groups are a guess"


def _unit(result: Result) -> str:
    return "rows" if result.status == "exhausted" else "samples"


def _apart(result: Result, found: Verdicts) -> str:
    """What is proven of arms of different groups: each two differ, or less (chains of quantiles, whole groups)."""
    labels = np.array(result.labels)
    across = (labels[:, None] != labels) & (labels >= 0) & (labels >= 0)[:, None]
    if (found.verdicts[across] == DIFFERENT).all():
        return "groups differ"
    return "some arms of any two groups differ" if found.quantiles else "groups differ, taken together"


def _near(found: Verdicts) -> str:
    if found.quantiles:
        return f"any two arms of a group have {found.near}"
    return f"each arm within {found.tolerance} of its group"


def _joined(result: Result) -> bool:
    return any(len(group) > 1 for group in result.groups)


def counts_line(result: Result, found: Verdicts) -> str:
    """How many pairs are proven to be what, where the groups are not."""
    said = verdict_counts(found)
    same = f"{counted(said[SAME], 'pair')} {plural(said[SAME], 'is')} the same"
    same += f" ({found.near})" if found.quantiles else f" {found.near}"
    others = [f"{said[kind]:,} {plural(said[kind], 'is')} {kind}" for kind in (DIFFERENT, OPEN)]
    return ", ".join([same, *others])


def verdict_counts(found: Verdicts) -> dict[str, int]:
    """How many pairs have which verdict."""
    kinds = found.verdicts[np.triu_indices(len(found.verdicts), 1)]
    return {kind: int(np.count_nonzero(kinds == kind)) for kind in (SAME, DIFFERENT, OPEN)}


def margin_of(result: Result, found: Verdicts, group: Sequence[Hashable]) -> str:
    """How far apart two arms of a group are at most, as far as it is proven: "any two within 4.1 %"."""
    near = _any_two(found, [_numbers(result, group)])
    return f"proven so far: {near}" if near else ""


def margins_of(result: Result, found: Verdicts, group: Sequence[Hashable]) -> list[str]:
    """How far apart two arms of a group are at most, and an arm of it and one of another group at least."""
    arms = _numbers(result, group)
    others = [arm for arm, label in enumerate(result.labels) if label >= 0 and arm not in set(arms)]
    least = float(found.apart_at_least[np.ix_(arms, others)].min(initial=math.inf))
    known = 0 < least < math.inf
    far = f"{f'at least {rounded_down(least)} {found.unit}'.rstrip()} from any other arm" if known else ""
    return [*filter(None, [_any_two(found, [arms]), far])]


def _numbers(result: Result, group: Sequence[Hashable]) -> list[int]:
    place = {name: arm for arm, name in enumerate(result.names)}
    return [place[name] for name in group]


def _any_two(found: Verdicts, groups: Sequence[Sequence[int]]) -> str:
    """What any two arms of one of these groups are proven to have; empty if nothing is."""
    if all(len(arms) < 2 for arms in groups):
        return ""
    if found.quantiles:
        return _quantiles_of(found, groups)
    most = _worst(found.same_within, groups)
    return f"any two within {rounded_up(most)} {found.unit}".rstrip() if math.isfinite(most) else ""


def _quantiles_of(found: Verdicts, groups: Sequence[Sequence[int]]) -> str:
    """ "any two have p50 within 1.4 %; nothing is known of p99"."""
    sizes = [_worst(one.same_within, groups) for one in found.quantiles]
    known = [
        one.within(rounded_up(size)) for one, size in zip(found.quantiles, sizes, strict=True) if math.isfinite(size)
    ]
    unknown = [one.name for one, size in zip(found.quantiles, sizes, strict=True) if not math.isfinite(size)]
    if not known:
        return ""
    nothing = f"; nothing yet of {', '.join(unknown)}" if unknown else ""
    return f"any two have {', '.join(known)}{nothing}"


def lines(result: Result, found: Verdicts) -> list[str]:
    """The tolerance in other units, and chains."""
    return [f"tolerance: {found.tolerance}, as much as {one}" for one in found.equivalents] + between_lines(result)


def between_lines(result: Result) -> list[str]:
    """The arms of chains, named."""
    if not result.between:
        return []
    names = ", ".join(map(named, result.between[:_MOST]))
    more = len(result.between) - _MOST
    names += f" and {more:,} more" if more > 0 else ""
    return [f"between groups: {names} (within the tolerance of more than one group, or nearly: an estimate)"]


def rounded_up(size: float) -> str:
    """Two digits, never less than what is proven."""
    return _rounded(size, math.ceil)


def rounded_down(size: float) -> str:
    """Two digits, never more than what is proven."""
    return _rounded(size, math.floor)


def _rounded(size: float, towards: Callable[[float], int]) -> str:
    if size <= 0:
        return "0"
    digit = 10.0 ** (math.floor(math.log10(size)) - 1)
    return f"{towards(round(size / digit, 6)) * digit:.6g}"


def _worst(values: Array, groups: Sequence[Sequence[int]]) -> float:  # (N, N)
    """The largest value of two arms of one group."""
    return max(float(values[np.ix_(arms, arms)].max(initial=0.0)) for arms in groups)
