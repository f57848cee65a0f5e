"""Whether two answers are to the same question: a change between them means something only then."""

from __future__ import annotations

import re

from kabc.core.errors import SettingsError
from kabc.core.words import counted
from kabc.results.effects.columns import kept_arms
from kabc.results.values import Result

_MOST_NAMED = 5
_FORMER = {"wall": "wall seconds", "cpu": "cpu seconds", "rss": "peak MB"}  # how 0.1.0 named what commands measure


def expect_same_columns(old: Result, new: Result) -> None:
    """Refuse answers about different columns."""
    before, now = (_columns(result) for result in (old, new))
    if before and now and set(before) != set(now):
        raise SettingsError(
            f"the answers are about different columns: {_listed(before, now)} before, {_listed(now, before)} now; "
            "compare answers about the same columns"
        )
    widths = [_width(result) for result in (old, new)]
    if None not in widths and widths[0] != widths[1]:
        raise SettingsError(
            f"a sample had {counted(widths[0] or 0, 'column')} before and has {widths[1]} now; "
            "compare answers about the same columns"
        )


def _columns(result: Result) -> tuple[str, ...]:
    return tuple(map(called_today, result.columns))


def called_today(column: str) -> str:
    """The name of a column, also where an older version wrote the answer."""
    return _FORMER.get(column, column)


def _width(result: Result) -> int | None:
    rows = next(iter(kept_arms(result).values()), None)
    return None if rows is None else rows.shape[1]


def _listed(columns: tuple[str, ...], others: tuple[str, ...]) -> str:
    """The columns that the other has not; all of them where there is none."""
    odd = [column for column in columns if column not in others] or list(columns)
    more = f" and {counted(len(odd) - _MOST_NAMED, 'more column')}" if len(odd) > _MOST_NAMED else ""
    return ", ".join(map(repr, odd[:_MOST_NAMED])) + more


def mismatches(old: Result, new: Result) -> tuple[str, ...]:
    """Why nothing can be certified from the two together: they ask, or assume, different things."""
    found = [
        _of_groups(old.n_clusters, new.n_clusters),
        _of_strategies(old, new),
        _of_kernels(old, new),
        _of_tolerances(old, new),
        "only one answer names its columns" if bool(old.columns) != bool(new.columns) else "",
    ]
    return tuple(filter(None, found))


def _of_groups(old: int | None, new: int | None) -> str:
    if old == new:
        return ""
    if old is not None and new is not None:
        return f"the answers assume different numbers of groups, {old} and {new}"
    return f"one answer assumes {counted(old or new or 0, 'group')}, the other assumes no number"


def _of_strategies(old: Result, new: Result) -> str:
    before, now = (_rule(result.guarantee.strategy) for result in (old, new))
    return "" if before == now else f"the answers come from different strategies, {before} and {now}"


def _rule(strategy: str) -> str:
    """The name of a strategy with what it was given, but for delta, K and tolerance, compared by themselves."""
    without = re.sub(r"(, )?\b(delta|K) = [^,()]+|(, )?\btolerance = .*(?=\))", "", strategy)
    return re.sub(r"\(\W*\)", "", without.replace("(, ", "(")).strip(" ,")


def _of_tolerances(old: Result, new: Result) -> str:
    """The same pair may be the same within one tolerance, and different without."""
    before, now = (None if one.tolerance is None else one.tolerance.tolerance for one in (old, new))
    if before == now:
        return ""
    if before is not None and now is not None:
        return f"the answers have different tolerances, {before} and {now}"
    return f"one answer has a tolerance, {before or now}, the other has none"


def _of_kernels(old: Result, new: Result) -> str:
    """Bandwidths are chosen anew for each run; another kind of kernel sees other differences."""
    before, now = (result.kernel.partition("(")[0] for result in (old, new))
    return "" if before == now else f"the answers use different kernels, {before or 'none'} and {now or 'none'}"
