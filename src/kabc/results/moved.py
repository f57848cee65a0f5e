"""Groups that kept their arms while their values moved: all builds three times slower, for example."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kabc.core.words import counted
from kabc.results.effects import categories, numbers
from kabc.results.effects.columns import Readable, readable_columns
from kabc.results.effects.values import Contrast
from kabc.results.effects.words import contrast_text, plain
from kabc.results.questions import called_today
from kabc.results.values import Result

_LEVEL = 0.05  # of the intervals of all groups and columns together
_LEAST_RATIO = 0.01  # a median is said to have moved from 1 % on
_LEAST_SIZE = 0.1  # differences: from a tenth of a standard deviation on
_LEAST_SHARE = 0.01  # shares: from one point on


@dataclass(frozen=True, slots=True)
class Moved:
    """A column whose values moved in a group that is matched, from the old answer to the new one.

    Attributes
    ----------
    arms : tuple of str
        The arms of the group in both answers.
    column : str
        The column.
    contrast : Contrast
        The new values against the old ones: an estimate. Its interval holds for all groups and columns together.
    proven : tuple of str
        Arms whose own samples moved by an exact test; empty: only the estimate says so.
    """

    arms: tuple[str, ...]
    column: str
    contrast: Contrast
    proven: tuple[str, ...]

    def __str__(self) -> str:
        group = f"group of {some(self.arms)}"
        return f"{group} moved: {plain(self.column)} {contrast_text(self.contrast, '')}{_tested([self])}"


def some(names: Sequence[str], most: int = 5) -> str:
    """The first names, and how many more."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(plain, names[:most])) + more


def moved_lines(moved: tuple[Moved, ...], n_groups: int) -> list[str]:
    """A line for each group and column that moved; one for all groups where they moved alike."""
    lines = []
    for column in dict.fromkeys(one.column for one in moved):
        ours = [one for one in moved if one.column == column]
        together = _together(ours) if len(ours) == n_groups > 1 else None
        every = "both groups" if n_groups == 2 else f"all {n_groups:,} groups"
        lines += [f"{every} moved: {together}"] if together else [str(one) for one in ours]
    return lines


def _together(ours: list[Moved]) -> str | None:
    """All groups in one phrase, if one factor or difference may be that of all; None if not."""
    found = [one.contrast for one in ours]
    low, high = max(one.low for one in found), min(one.high for one in found)
    if {one.what for one in found} not in ({"ratio"}, {"difference"}) or low > high:
        return None
    middle = float(np.median([one.value for one in found]))
    all_of_them = replace(
        found[0], value=middle, low=min(one.low for one in found), high=max(one.high for one in found)
    )
    return f"{plain(ours[0].column)} {contrast_text(all_of_them, '')}{_tested(ours)}"


def _tested(ours: list[Moved]) -> str:
    proven, arms = (sum(len(part) for part in parts) for parts in zip(*((x.proven, x.arms) for x in ours), strict=True))
    return f"; {proven:,} of {counted(arms, 'arm')} by the test" if proven else "; an estimate"


# ---------------------------------------------------------------- finding them


def moved_groups(
    old: Result, new: Result, groups: list[tuple[str, ...]], n_common: int, level: float
) -> tuple[Moved, ...]:
    """What moved in groups of arms, by their texts, that are groups in both; `level` is that of all tests together."""
    before, now = ({called_today(column.name): column for column in readable_columns(result)} for result in (old, new))
    pairs = [_alike(before[name], now[name]) for name in before if name in now]
    places = [{text: i for i, text in enumerate(result.text_names)} for result in (old, new)]
    share = level / max(n_common * len(pairs), 1)
    n_intervals = len(groups) * len(pairs)
    tested = "doubtful" not in (old.status, new.status)  # the test, too, needs independent samples
    found = []
    for arms in groups:
        for was, is_now in pairs:
            sides = [
                [side.values.get(place[arm], _NOTHING) for arm in arms]
                for side, place in zip((was, is_now), places, strict=True)
            ]
            # one value of each block: values of one block may depend on each other
            free = [[x[:: one.block] for x in side] for one, side in zip((old, new), sides, strict=True)]
            each = zip(arms, *free, strict=True)
            proven = tuple(arm for arm, then, today in each if tested and have_moved(then, today, share))
            contrast = _contrast(was, np.concatenate(sides[0]), np.concatenate(sides[1]), bool(proven), n_intervals)
            if contrast is not None:
                found.append(Moved(arms, is_now.name, contrast, proven))
    return tuple(found)


_NOTHING = np.empty(0, dtype=np.int64)


def have_moved(first: NDArray[Any], second: NDArray[Any], level: float) -> bool:  # (n,), (m,) in drawn order
    """Whether two laws differ, by the exact two-sample Kolmogorov-Smirnov test; valid whenever sampling stopped.

    The first q = min(n, m) values of each: P(D >= k/q) <= 2 C(2q, q + k) / C(2q, q) if the laws are the same (21.1).
    Because q depends on what was seen, each q has the share 1 / (q (q + 1)) of the level (21.2).
    """
    q = min(len(first), len(second))
    if q == 0:
        return False
    points = np.concatenate([first[:q], second[:q]])
    below = [np.searchsorted(np.sort(side[:q]), points, "right") for side in (first, second)]
    k = int(np.abs(below[0] - below[1]).max())
    log_p = math.log(2) + 2 * math.lgamma(q + 1) - math.lgamma(q - k + 1) - math.lgamma(q + k + 1)  # (21.1)
    return log_p <= math.log(level / (q * (q + 1)))  # (21.2)


def _alike(was: Readable, is_now: Readable) -> tuple[Readable, Readable]:
    """The two columns with one meaning of their numbers."""
    if was.categories and is_now.categories:
        levels = tuple(sorted({*was.levels, *is_now.levels}))
        return _recoded(was, levels), _recoded(is_now, levels)
    return _as_numbers(was), _as_numbers(is_now)  # 0 and 1 alone look like categories


def _recoded(column: Readable, levels: tuple[str, ...]) -> Readable:
    place = np.array([levels.index(level) for level in column.levels], dtype=np.int64)
    return Readable(column.name, {arm: place[codes] for arm, codes in column.values.items()}, levels, categories=True)


def _as_numbers(column: Readable) -> Readable:
    if not column.categories:
        return column
    try:
        meant = np.array(list(map(float, column.levels)))
    except ValueError:
        return Readable(column.name, {})
    return Readable(column.name, {arm: meant[codes] for arm, codes in column.values.items()})


def _contrast(
    column: Readable, old: NDArray[Any], new: NDArray[Any], proven: bool, n_intervals: int
) -> Contrast | None:
    """What to report: the median or share where it moved clearly, and otherwise what differs most if that is proven."""
    if not (len(old) and len(new)):
        return None
    level = 1 - _LEVEL / n_intervals
    if column.categories:
        (found,) = categories.contrasts(new, old, column.levels)
        here, there = found.shares or (0.0, 0.0)
        low, high = numbers.share_interval(here, len(new), there, len(old), level)
        clear = _apart(low, high, 0.0) and abs(found.value) >= _LEAST_SHARE
        return replace(found, low=low, high=high) if clear or proven else None
    old, new = np.sort(old.astype(np.float64)), np.sort(new.astype(np.float64))
    as_ratio = bool(old[0] > 0 and new[0] > 0)
    every = numbers.contrasts(new, old, as_ratio=as_ratio)
    middle = next(one for one in every if one.what in ("ratio", "difference"))
    low, high = numbers.median_interval(new, old, as_ratio=as_ratio, level=level)
    far = abs(middle.value - 1) >= _LEAST_RATIO if as_ratio else middle.size >= _LEAST_SIZE
    if _apart(low, high, float(as_ratio)) and far:
        return replace(middle, low=low, high=high)
    return every[0] if proven else None


def _apart(low: float, high: float, none: float) -> bool:
    return low > none or high < none
