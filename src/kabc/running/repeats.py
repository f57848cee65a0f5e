"""Values that come again bit for bit in one arm and hardly in the others: a seed at each call, a cache, copied rows.

A heuristic: it has no error probability. Where a law has few values they repeat by themselves, so three kinds of
repeats say nothing: of values that lie as densely as their digits allow; of an atom, such as 0 or a limit, which has
few digits; and of values that unsuspicious arms have too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from kabc.core.arrays import Array

_FEWEST, _SHARE = 3, 0.1  # repeats that are many: both, of the samples of an arm
_CONSTANT_FROM = 6  # samples of one and the same value
_TIMES = 10  # as large a share as the other arms have, at least
_ORDER_SHOWS = 40  # samples from which their order shows what most arms have in common
_BY_CHANCE = 20  # times as many as equally likely values would give
_DIGITS, _DIGITS_AT_AN_END = 3, 6  # significant ones of an atom; the smallest and the largest value may be a limit
_MOST_VALUES, _MOST_ARMS = 64, 100  # from which it is read how far apart values are


def repeating(rows: Sequence[Array], numbers: Sequence[int]) -> dict[int, int]:  # N of (n, d)
    """The arms whose values repeat without a reason, and how many do. `numbers`: columns that are no codes or texts.

    Arms in which less than half repeats, or which have a reason, are usual. Where few other arms are, only order could
    tell copies from a law of few values: then half of the values have to repeat, and the order has to show nothing yet.
    """
    if not numbers or not any(_may_repeat(one, numbers) for one in rows):
        return {}
    arms = {place: _Values(one[:, numbers], one) for place, one in enumerate(rows) if len(one)}
    columns = [_Column([arm.columns[:, at] for arm in arms.values()]) for at in range(len(numbers))]
    repeats = {place: arm.repeats(columns) for place, arm in arms.items()}
    counts = {place: sum(one.values()) for place, one in repeats.items()}
    odd = [at for at, arm in arms.items() if _are_many(counts[at], arm.n) and not arm.explain(counts[at], columns)]
    usual = set(arms) - {at for at in odd if 2 * counts[at] >= arms[at].n}
    known = Counter(key for at in usual for key in arms[at].keys)
    everywhere = Counter(key for arm in arms.values() for key in arm.keys)
    n_repeats, n = sum(counts[at] for at in usual), sum(arms[at].n for at in usual)
    found = {}
    for at in odd:
        arm, own = arms[at], at in usual
        if 2 * (len(usual) - own) >= len(arms) - 1:
            count = _unlike(repeats[at], known, own)
            others = (n_repeats - own * counts[at]) / max(1, n - own * arm.n)
            if _are_many(count, arm.n) and count >= _TIMES * others * arm.n:
                found[at] = count
        elif len(arm.keys) > 1 and arm.n < _ORDER_SHOWS:
            count = _unlike(repeats[at], everywhere, 1)
            if 2 * count >= arm.n:
                found[at] = count
    return found


def _may_repeat(rows: Array, numbers: Sequence[int]) -> bool:
    """Whole rows repeat no more often than the values of a column: quickly seen."""
    if len(rows) <= _FEWEST:
        return False
    return _are_many(len(rows) - max(len(np.unique(rows[:, number])) for number in numbers), len(rows))


def _are_many(repeats: int, n: int) -> bool:
    return repeats >= max(_FEWEST, _SHARE * n)


def _unlike(repeats: Mapping[bytes, int], known: Mapping[bytes, int], own: int) -> int:
    """Repeats of values that no other arm has."""
    return sum(count for key, count in repeats.items() if known.get(key, 0) <= own)


class _Values:
    """The different rows of an arm, in order, and how often each came."""

    def __init__(self, columns: Array, rows: Array) -> None:  # (n, c), (n, d)
        values, first, self._times = np.unique(rows, axis=0, return_index=True, return_counts=True)
        self.n, self.keys = len(rows), [value.tobytes() for value in values]
        self.columns = _decimal(columns[first])  # (v, c)

    def repeats(self, columns: Sequence[_Column]) -> dict[bytes, int]:
        """How often each row came again. Not of atoms; but a constant counts, whatever its digits."""
        if len(self.keys) == 1:
            return {self.keys[0]: self.n - 1} if self.n >= _CONSTANT_FROM else {}
        found = {}
        for at in np.flatnonzero(self._times > 1).tolist():
            if not all(column.is_atom(value) for column, value in zip(columns, self.columns[at].tolist(), strict=True)):
                found[self.keys[at]] = int(self._times[at]) - 1
        return found

    def explain(self, repeats: int, columns: Sequence[_Column]) -> bool:
        """Whether so many repeats are no surprise, as there are so few possible values."""
        possible = max(column.possible(self.columns[:, at]) for at, column in enumerate(columns))
        return repeats * possible < _BY_CHANCE * self.n**2 / 2


class _Column:
    """How far apart the values of a column are, in all arms."""

    def __init__(self, arms: Sequence[Array]) -> None:  # N of (v,)
        self._ends = min(float(one.min()) for one in arms), max(float(one.max()) for one in arms)
        self._values = np.unique(np.concatenate([_middle(one) for one in arms[:_MOST_ARMS]]))

    def is_atom(self, value: float) -> bool:
        """Whether a value has few digits, as 0, a limit and a mark have."""
        digits = _DIGITS_AT_AN_END if value in self._ends else _DIGITS
        return float(f"{value:.{digits}g}") == value

    def possible(self, values: Array) -> float:  # (v,)
        """About how many values an arm could have, by how far apart they are; of a constant, the others'."""
        own = np.unique(values)
        spread = own if len(own) > 1 else self._values
        gaps, near = np.diff(_middle(spread)), np.diff(_middle(own if len(own) > 2 else self._values))
        if not len(gaps) or not len(near):
            return 1.0
        return len(spread) * _low(gaps) / _step(near)  # a low one: not of values far away


def _middle(values: Array) -> Array:  # (v,)
    """Neighbours among many values."""
    values = np.unique(values)
    start = max(0, (len(values) - _MOST_VALUES) // 2)
    return np.asarray(values[start : start + _MOST_VALUES])


def _low(gaps: Array) -> float:  # (g,)
    return float(np.sort(gaps)[(len(gaps) - 1) // 4])


def _step(gaps: Array) -> float:  # (g,)
    """The largest step of which all gaps are multiples, by Euclid's algorithm; something tiny where there is none."""
    least, step = 1e-6 * _low(gaps), 0.0
    for gap in gaps.tolist():
        rest = step
        step = gap
        while rest > least:
            step, rest = rest, step % rest
            if step - rest < least:  # a multiple, but for rounding
                rest = 0.0
    return step


def _decimal(values: Array) -> Array:  # (v, c)
    """Numbers of single precision as they were meant: 0.1 is not 0.10000000149."""
    with np.errstate(over="ignore"):
        single = values.astype(np.float32)
    if not np.array_equal(single, values) or np.array_equal(values, np.floor(values)):
        return values
    return single.astype(str).astype(np.float64)
