"""Anchors: a few new samples of arms with recorded ones, to see whether the arms are still what they were.

| symbol | here       | meaning                                                                                       |
|--------|------------|-----------------------------------------------------------------------------------------------|
| m_i    |            | recorded samples of arm i; how many there are depends on their values                          |
| r      | `_first`   | how many of them, the first ones, the anchors are compared with: a number of a fixed ladder    |
| a      |            | anchors of an arm, a number that is fixed beforehand                                           |
| G      | `_RUNGS`   | rungs of the ladder 8, 16, ..., 4,096; each has an equal share of the error                    |

The bets are those of `kabc.core.evidence.exchangeability`, on the anchors alone; the proof is in
docs/theory.md, section 29.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kabc.core.arrays import Array
from kabc.core.evidence.exchangeability import order_evidence
from kabc.core.words import counted, percent
from kabc.results.values import Assumption
from kabc.running.record import rows_of
from kabc.running.watch import watched_columns
from kabc.study.tickets import rng_of

ALARM = 0.01  # probability that arms which did not change are said to have
LOOK = ALARM / 2  # of each look: before the record is read, and in the end. Half for single arms, half for all together
ANCHORS = 20  # of an arm, unless it is said otherwise

_LOWEST, _RUNGS = 8, 10  # the ladder: 8 * 2^k for k = 0, ..., 9
_KEY = 2  # of random numbers that decide between equal values; (arm, column, 1) are those of the watch
CHANGED = "new samples differ from recorded ones"


@dataclass(frozen=True)
class Anchored:
    """What new samples say about recorded ones."""

    drifts: tuple[Assumption, ...]  # the strongest first; none: nothing was seen
    n_arms: int  # that were compared
    n_anchors: int  # of all of them

    @property
    def passed(self) -> bool:
        """Whether recorded samples may be used."""
        return not self.drifts

    def message(self) -> str:
        """What to know about it, in one sentence."""
        if not self.n_arms:
            return "no arm with recorded samples could be drawn again: whether arms have changed was not checked"
        seen = f"{counted(self.n_anchors, 'new sample')} of {counted(self.n_arms, 'arm')} with recorded ones"
        if self.passed:
            return (
                f"{seen} gave no sign that the arms have changed (a false alarm has probability {percent(ALARM)}); a "
                "small change may not show"
            )
        more = f" (and {counted(len(self.drifts) - 1, 'more sign')})" if len(self.drifts) > 1 else ""
        return f"recorded samples are not used: {self.drifts[0]}{more}; found with {seen}"


def compare(
    recorded: Mapping[Any, NDArray[Any]],
    anchors: Mapping[Any, NDArray[Any]],
    seed: int,
    columns: Sequence[str] = (),
    *,
    n_arms: int,
) -> Anchored:  # name -> (m,) or (m, d), name -> (a,) or (a, d)
    """Whether the anchors look as if they went on where the records ended; arms with hardly any record are left out.

    `n_arms`: N, all arms of the question. How many of them have a record depends on values, so the union is over N.
    """
    pairs = {name: (_rows(recorded[name]), _rows(rows)) for name, rows in anchors.items() if name in recorded}
    pairs = {name: both for name, both in pairs.items() if len(both[0]) >= _LOWEST}
    if not pairs:
        return Anchored((), 0, 0)
    names, n_columns = list(pairs), min(one.shape[1] for both in pairs.values() for one in both)
    logs, together = _evidence(list(pairs.values()), n_columns, seed)
    share = math.log(_RUNGS * n_columns)
    found = [
        Assumption(name, _what(int(column), n_columns, columns), math.exp(log))
        for name, log, column in zip(names, logs.max(axis=0) - share, logs.argmax(axis=0), strict=True)
        if log >= math.log(n_arms) - math.log(LOOK / 2)
    ]
    found.sort(key=lambda one: -one.evidence)
    if together - share >= -math.log(LOOK / 2):
        found.insert(0, Assumption(None, f"{CHANGED} (machine load?)", math.exp(together - share)))
    n_anchors = sum(len(new) for _, new in pairs.values())
    return Anchored(tuple(found), len(names), n_anchors)


def _evidence(pairs: list[tuple[Array, Array]], n_columns: int, seed: int) -> tuple[Array, float]:  # -> (C, arms)
    """Log evidence of each column of each arm, and the largest of all arms together, before shares are taken off."""
    own = [_first(len(old)) for old, _ in pairs]
    common = [min(own)] * len(pairs)
    fewest = min(len(new) for _, new in pairs)
    single, together = [], []
    for column in range(n_columns):
        order = _order(pairs, own, column, seed)
        single.append(order[0])
        together.append(_order([(old, new[:fewest]) for old, new in pairs], common, column, seed)[1])
    return np.stack(single), max(together)


def _order(pairs: Sequence[tuple[Array, Array]], known: Sequence[int], column: int, seed: int) -> tuple[Array, float]:
    series = [np.concatenate([old[:r, column], new[:, column]]) for (old, new), r in zip(pairs, known, strict=True)]
    rngs = [rng_of(seed, arm, column, _KEY) for arm in range(len(pairs))]
    found = order_evidence(series, rngs, max(map(len, series)), known)
    return found.log_evidence, found.log_together


def _first(n_recorded: int) -> int:
    """How many of the recorded samples are compared with: the highest rung that they reach."""
    return max(rung for k in range(_RUNGS) if (rung := _LOWEST << k) <= n_recorded)


def _rows(samples: NDArray[Any]) -> Array:  # (n,) or (n, d) -> (n, at most 10)
    rows = rows_of(samples)
    return np.zeros((0, 1)) if rows is None else watched_columns(rows)


def _what(column: int, n_columns: int, columns: Sequence[str]) -> str:
    return f"{CHANGED} (column {columns[column]})" if len(columns) == n_columns > 1 else CHANGED
