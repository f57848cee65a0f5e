"""Effects in words: short lines with units, and figures as long as they are meaningful."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from kabc.core.words import counted, named

if TYPE_CHECKING:
    from kabc.results.effects.values import ColumnEffect, Contrast, Effects, GroupEffect

MOST_COLUMNS = 3  # in a printed group
_MOST_LEVELS = 4  # in a printed line
_MOST_ODD = 5
_FEWEST_ARMS = 13  # from here on, the odd ones are named
_SMALL = 0.1  # ratios that differ from 1 by less are said in per cent
_WIDTH = 112  # of a line; longer ones go on in the next

_TOO_NARROW = " (too narrow if samples depend on each other)"


def text(effects: Effects) -> str:
    """All groups, all columns, and the arms that stand out."""
    lines = []
    for group in effects.groups:
        lines += [f"group {group.number}, {counted(group.n, 'sample')} kept"]
        lines += [f"    {line}" for column in group.columns for line in column_lines(column, effects.reference)]
    return "\n".join(
        [*lines, *odd_lines(effects, fewest=2), estimates(effects)] if lines else ["effects: no samples were kept"]
    )


def group_effect_lines(effects: Effects, number: int) -> list[str]:
    """The columns of a group that distinguish the groups most."""
    group = next((one for one in effects.groups if one.number == number), None)
    if group is None:
        return []
    shown = [_column(group, name) for name in effects.ranked_columns[:MOST_COLUMNS]]
    return [line for column in shown if column for line in column_lines(column, effects.reference)]


def closing_lines(effects: Effects) -> list[str]:
    """What to know about the lines above."""
    if not effects.groups:
        return []
    more = len(effects.ranked_columns) - MOST_COLUMNS
    others = f"; and {counted(more, 'more column')} in the report" if more > 0 else ""
    return [*odd_lines(effects), estimates(effects) + others]


def estimates(effects: Effects) -> str:
    """What to know about all figures."""
    return f"effects: estimates with {intervals(effects)}, no part of the guarantee"


def intervals(effects: Effects) -> str:
    """What the intervals are, and where they say too much."""
    return "95 % bootstrap intervals" + (_TOO_NARROW if effects.dependent else "")


def odd_lines(effects: Effects, fewest: int = _FEWEST_ARMS) -> list[str]:
    """The arms that stand out most, where there are many arms."""
    odd = [arm for arm in effects.in_small_groups if arm.oddness > 0]
    if len(effects.arms) < fewest or not odd:
        return []
    lines = ["odd ones first, each arm against all others together (descriptive, largest Kolmogorov-Smirnov distance):"]
    for arm in odd[:_MOST_ODD]:
        column = next(one for one in arm.columns if one.column == arm.column)
        lines.append(f"    {plain(arm.arm)}: {described(column)}; distance {arm.distance:.2f}")
    more = len(odd) - _MOST_ODD
    return [*lines, f"    and {counted(more, 'more arm')}"] if more > 0 else lines


def _column(group: GroupEffect, name: str) -> ColumnEffect | None:
    return next((column for column in group.columns if column.column == name), None)


def column_lines(column: ColumnEffect, reference: int | None) -> list[str]:
    """One column of a group, in most cases on one line."""
    parts = [described(column), *contrast_words(column, reference)]
    lines = [parts[0]]
    for part in parts[1:]:
        if len(lines[-1]) + len(part) + 2 <= _WIDTH:
            lines[-1] += f"; {part}"
        else:
            lines[-1] += ";"
            lines.append(f"  {part}")
    return lines


def described(column: ColumnEffect) -> str:
    """The column, and where its values lie."""
    return f"{plain(column.column)}: {values_text(column)}"


def values_text(column: ColumnEffect) -> str:
    """Where the values of a column lie."""
    if column.shares:
        listed = ", ".join(f"{plain(level)} ({per_cent(share)})" for level, share in column.shares[:_MOST_LEVELS])
        more = f" and {len(column.shares) - _MOST_LEVELS} more" if len(column.shares) > _MOST_LEVELS else ""
        return f"{listed}{more}"
    median, low, high = figures(column)
    return f"median {median}, 5-95 % {low} to {high}"


def contrast_words(column: ColumnEffect, reference: int | None) -> list[str]:
    """How a column differs from the reference group; what distinguishes most comes first, and names the group."""
    first, rest = column.contrasts[:1], column.contrasts[1:]
    named = [contrast_text(contrast, f" group {reference}") for contrast in first]
    # tails follow from the others where they do not stand out most
    return named + [contrast_text(one, "") for one in rest if one.what not in ("above", "below")]


def contrast_text(contrast: Contrast, than: str) -> str:
    """One contrast; `than` is the group that it is compared with, after a blank."""
    match contrast.what:
        case "ratio" if abs(contrast.value - 1) < _SMALL and math.isfinite(contrast.high - contrast.low):
            return _in_per_cent(contrast, than)
        case "ratio":
            between = f"({ratio(contrast.low)} to {ratio(contrast.high)})"
            return f"median {ratio(contrast.value)} times{than} {between}"
        case "difference":
            value, low, high = _signed(contrast)
            against = f" against{than}" if than else ""
            return f"median {value}{against} ({low} to {high})"
        case "spread":
            return f"spread {max(float(f'{contrast.value:.2g}'), 0.0):,} times{than}"
    here, there = contrast.shares or (math.nan, math.nan)
    other = f"in{than}" if than else "there"
    if contrast.what == "share":
        return f"share of {plain(contrast.at)}: {per_cent(here)}, {per_cent(there)} {other}"
    limit = f"{float(contrast.at or 0):,.6g}"
    return f"{per_cent(here)} of values {contrast.what} {limit}, {per_cent(there)} {other}"


# ---------------------------------------------------------------- figures


def figures(column: ColumnEffect) -> tuple[str, str, str]:
    """Median and outer quantiles, with as many decimals as their distance is worth."""
    values = (column.median, column.low, column.high)
    whole = all(value == round(value) for value in values if math.isfinite(value))
    places = 0 if whole else decimals(column.high - column.low, column.median if column.low > 0 else math.inf)
    return figure(values[0], places), figure(values[1], places), figure(values[2], places)


def decimals(width: float, least: float) -> int:
    """So many that the width has three digits, and the least of the values two."""
    known = [2 - _exponent(width)] if width > 0 else [3 - _exponent(least)]
    return max(*known, 1 - _exponent(least)) if math.isfinite(least) and least > 0 else known[0]


def _exponent(value: float) -> int:
    return math.floor(math.log10(abs(value))) if value and math.isfinite(value) else 0


def figure(value: float, places: int) -> str:
    """A value with thousands separators; very large and very small ones as powers of ten."""
    if not math.isfinite(value):
        return "unknown" if math.isnan(value) else f"{value}"
    if places > 9 or abs(value) >= 1e9:
        return f"{value:.4g}"
    return f"{value:,.{max(places, 0)}f}"


def ratio(value: float) -> str:
    """A factor with about four digits."""
    if not math.isfinite(value) or not 1e-3 <= value < 1e9:
        return f"{value:.4g}"
    return f"{value:,.{max(3 - max(_exponent(value), 0), 0) if value >= 0.1 else 5}f}"


def _in_per_cent(contrast: Contrast, than: str) -> str:
    """A ratio near 1: "median 3.1 % above group 1 (2.2 to 4.0 %)"; more digits where the interval is narrow."""
    ends = [100 * (one - 1) for one in (contrast.low, contrast.high)]
    low, high = ends if contrast.value >= 1 else (-ends[1], -ends[0])
    places = min(max(decimals(high - low, math.inf) - 1, 1), 6) if high > low else 1
    higher, lower = ("above", "below") if than else ("higher", "lower")
    value = f"{abs(100 * (contrast.value - 1)):.{places}f} % {higher if contrast.value >= 1 else lower}{than}"
    return f"median {value} ({low:,.{places}f} to {high:,.{places}f} %)"


def _signed(contrast: Contrast) -> tuple[str, str, str]:
    places = decimals(contrast.high - contrast.low, math.inf)
    value, low, high = (
        ("+" if one > 0 else "") + figure(one, places) for one in (contrast.value, contrast.low, contrast.high)
    )
    return value, low, high


def per_cent(share: float) -> str:
    """A share with two digits: "3.1 %"."""
    shown = 100 * share
    return f"{shown:.0f} %" if shown >= 9.95 or shown == round(shown) else f"{float(f'{shown:.2g}'):g} %"


def plain(name: object) -> str:
    """A name or category on one line."""
    return named(name)
