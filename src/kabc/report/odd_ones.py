"""The arms that stand out, each against all other arms together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from kabc.core.errors import SettingsError
from kabc.report.nodes import MOST_ODD, names_of, odd_arms, plain
from kabc.report.values import Column, column_of
from kabc.results.effects import categories, numbers
from kabc.results.effects.columns import Readable, readable_columns
from kabc.results.effects.values import Contrast
from kabc.results.effects.words import contrast_text
from kabc.results.values import Result


@dataclass(frozen=True)
class OddArm:
    """One arm and all others, in the column where it stands out most.

    Attributes
    ----------
    name, group : of the arm. Groups are numbered from 0.
    distance : the largest Kolmogorov-Smirnov distance of its columns; of categories, the largest difference of a share.
    column : values of the arm (first row) and of all other arms together (second row).
    effects : how it differs from the others, in words; the largest standardised effect comes first.
    """

    name: str
    group: int
    distance: float
    column: Column
    effects: tuple[str, ...]


@dataclass(frozen=True)
class OddOnes:
    """What the picture shows: the oddest arms, and how many more stand out."""

    arms: tuple[OddArm, ...]
    left_out: int


def odd_ones(result: Result, most: int = MOST_ODD) -> OddOnes:
    """The oddest arms of a result, with their values beside those of all others."""
    odd = odd_arms(result)
    if not odd:
        raise SettingsError("no arm stands out from all others, or no samples were kept")
    columns = {column.name: _Ranked.of(column) for column in _wanted(result, {arm.column for arm in odd[:most]})}
    number_of = {name: number for number, name in enumerate(result.names)}
    texts = names_of(result)
    shown = []
    for arm in odd[:most]:
        number, ranked = number_of[arm.arm], columns[arm.column]
        column, mine, others = ranked.column, *ranked.split(number)
        drawn = column_of(plain(column.name), [mine, others], dict(enumerate(column.levels)))
        effects = tuple(contrast_text(one, " the other arms") for one in _contrasts(column, mine, others))
        shown.append(OddArm(texts[number], arm.group - 1, arm.distance, drawn, effects))
    return OddOnes(tuple(shown), len(odd) - len(shown))


def _wanted(result: Result, names: set[str]) -> list[Readable]:
    return [column for column in readable_columns(result) if column.name in names]


class _Ranked(NamedTuple):
    """The values of all arms, ascending, with their arms: so each arm is split off without sorting again."""

    column: Readable
    values: NDArray[Any]
    arms: NDArray[np.intp]

    @classmethod
    def of(cls, column: Readable) -> Self:
        values = np.concatenate(list(column.values.values()))
        arms = np.repeat(list(column.values), [len(one) for one in column.values.values()])
        order = np.argsort(values, kind="stable")
        return cls(column, values[order], arms[order])

    def split(self, arm: int) -> tuple[NDArray[Any], NDArray[Any]]:
        own = self.arms == arm
        return self.values[own], self.values[~own]


def _contrasts(column: Readable, mine: NDArray[Any], others: NDArray[Any]) -> tuple[Contrast, ...]:
    if column.categories:
        return categories.contrasts(mine, others, column.levels)
    found = numbers.contrasts(mine, others, as_ratio=bool(mine[0] > 0 and others[0] > 0))
    # tails follow from the others where they do not stand out most
    return tuple(one for place, one in enumerate(found) if place == 0 or one.what not in ("above", "below"))
