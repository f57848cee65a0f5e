"""The effects of a result, from the samples that it kept."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from kabc.core.arrays import Array
from kabc.results.effects import categories, numbers
from kabc.results.effects.columns import HasSamples, Readable, kept_arms, readable_columns
from kabc.results.effects.values import ArmEffect, ColumnEffect, Effects, GroupEffect

if TYPE_CHECKING:
    from kabc.results.values import Result

_CHANCE = 0.05  # level of all arms and columns together
_NONE: Array = np.empty(0)


def effects_of(result: Result) -> Effects:
    """All groups against the largest one, all arms against all others. Of a check: the arm against its reference."""
    if result.reference and result.labels != (0, 1):
        result = replace(result, labels=(0, 1))  # whether they are the same or not
    kept, columns = kept_arms(result), readable_columns(result)
    if not columns:
        return Effects()
    members = _members(result, list(kept))
    sizes = {label: sum(one == label for one in result.labels) for label in members}
    reference = max(members, key=lambda label: (sizes[label], -label))
    of_group: dict[int, list[ColumnEffect]] = {label: [] for label in members}
    for column in columns:
        for label, effect in _of_groups(column, members, reference).items():
            of_group[label].append(effect)
    groups = [
        GroupEffect(label + 1, sum(len(kept[arm]) for arm in arms), tuple(of_group[label]))
        for label, arms in members.items()
    ]
    dependent = result.block > 1 or bool(result.assumptions)
    return Effects(reference + 1, tuple(groups), _ranked_arms(result, kept, columns), dependent)


def _members(result: Result, arms: list[int]) -> dict[int, list[int]]:
    """Arms with samples, by their label; labels in order."""
    members: dict[int, list[int]] = {}
    for arm in sorted(arms, key=lambda arm: result.labels[arm]):
        members.setdefault(result.labels[arm], []).append(arm)
    return members


# ---------------------------------------------------------------- groups


def _of_groups(column: Readable, members: dict[int, list[int]], reference: int) -> dict[int, ColumnEffect]:
    pooled = {label: pooled_values(column, arms) for label, arms in members.items()}
    pooled = {label: values for label, values in pooled.items() if len(values)}
    positive = not column.categories and all(values[0] > 0 for values in pooled.values())
    found = {}
    for label, values in pooled.items():
        effect = summarised(column, values)
        if label != reference and reference in pooled:
            effect = _contrasted(column, effect, values, pooled[reference], positive)
        found[label] = effect
    return found


def pooled_values(column: Readable, arms: list[int]) -> NDArray[Any]:
    """The values of these arms together, ascending."""
    return np.sort(np.concatenate([column.values.get(arm, np.empty(0, dtype=np.int64)) for arm in arms]))


def summarised(column: Readable, ranked: NDArray[Any]) -> ColumnEffect:
    """One column of a group or an arm."""
    if column.categories:
        return categories.summary(column.name, ranked.astype(np.int64), column.levels)
    return numbers.summary(column.name, ranked)


def _contrasted(
    column: Readable, effect: ColumnEffect, values: NDArray[Any], reference: NDArray[Any], positive: bool
) -> ColumnEffect:
    found = (
        categories.contrasts(values.astype(np.int64), reference.astype(np.int64), column.levels)
        if column.categories
        else numbers.contrasts(values, reference, as_ratio=positive)
    )
    return replace(effect, contrasts=found)


# ---------------------------------------------------------------- arms


def against_rest(result: HasSamples, arms: Sequence[int]) -> dict[int, tuple[ColumnEffect, ...]]:
    """Each of these arms against all others together; the column that differs most first."""
    columns = readable_columns(result)
    found: dict[int, tuple[ColumnEffect, ...]] = {}
    for arm in arms:
        effects = []
        for column in columns:
            others = [other for other in column.values if other != arm]
            if arm in column.values and others:
                values, rest = pooled_values(column, [arm]), pooled_values(column, others)
                positive = not column.categories and values[0] > 0 and rest[0] > 0
                effects.append(_contrasted(column, summarised(column, values), values, rest, positive))
        found[arm] = tuple(sorted(effects, key=lambda effect: -effect.size))
    return found


def _ranked_arms(result: Result, kept: dict[int, NDArray[Any]], columns: list[Readable]) -> tuple[ArmEffect, ...]:
    if len(kept) < 2:
        return ()
    n_tests = len(kept) * sum(max(len(column.levels), 1) for column in columns)
    whole = [_Whole.of(column, list(kept)) for column in columns]
    found = []
    for arm, rows in kept.items():
        effects, best = [], (-math.inf, 0.0, "")
        for everything in whole:
            column = everything.column
            if arm not in column.values:
                continue
            ranked = np.sort(column.values[arm])
            effects.append(summarised(column, ranked))
            best = max(best, _oddness(ranked, everything, n_tests))
        oddness, distance, where = best
        name, group = result.names[arm], result.labels[arm] + 1
        if effects:
            found.append(ArmEffect(name, group, len(rows), oddness, distance, where, tuple(effects)))
    return tuple(sorted(found, key=lambda arm: -arm.oddness))


class _Whole(NamedTuple):
    """A column with the values of all arms together, ascending; for categories, with the share of each."""

    column: Readable
    ranked: NDArray[Any]
    shares: Array  # (L,)

    @classmethod
    def of(cls, column: Readable, arms: list[int]) -> Self:
        ranked = pooled_values(column, arms)
        return cls(column, ranked, categories.level_shares(ranked, len(column.levels)) if column.categories else _NONE)


def _oddness(ranked: NDArray[Any], whole: _Whole, n_tests: int) -> tuple[float, float, str]:
    """The distance from all other values beyond what chance explains, the distance, and the column.

    Chance: t with 2 exp(-2 t^2 n m / (n + m)) = level / n_tests (Dvoretzky-Kiefer-Wolfowitz; Hoeffding for one share).
    """
    n, m = len(ranked), len(whole.ranked) - len(ranked)
    if m == 0:
        return -math.inf, 0.0, whole.column.name
    distance = float(_distance(ranked, whole) * (n + m) / m)
    chance = math.sqrt(math.log(2 * n_tests / _CHANCE) * (1 / n + 1 / m) / 2)
    return distance - chance, distance, whole.column.name


def _distance(ranked: NDArray[Any], whole: _Whole) -> float:
    """From the values of all arms, the arm itself included; times T / (T - n) it is the distance from the others."""
    if whole.column.categories:
        return float(np.abs(categories.level_shares(ranked, len(whole.shares)) - whole.shares).max())
    # between two values of the arm its distribution function is flat: the extremes are at, and just before, its values
    at, before = ([_below(x, ranked, side) for x in (ranked, whole.ranked)] for side in ("right", "left"))
    return float(max((at[0] - at[1]).max(), (before[1] - before[0]).max()))


def _below(ranked: NDArray[Any], points: NDArray[Any], side: str) -> Array:  # (n,) ascending, (m,) -> (m,)
    """The share of values up to each point; side "left": without the point itself."""
    return np.asarray(np.searchsorted(ranked, points, "left" if side == "left" else "right") / len(ranked))
