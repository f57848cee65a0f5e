"""What a run keeps beside its answer: first samples, and the growth of the evidence."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kabc.core.arrays import Array, Index
from kabc.core.evidence.pairs import Evidence, all_pairs, strength
from kabc.results.values import Trace
from kabc.running.snapshots import Snapshot

_MOST_ROWS = 500  # of an arm
_MOST_NUMBERS = 2_000_000  # of all arms: 16 MB
_FEWEST_ROWS = 20  # of an arm, however many arms and columns
_MANY_ARMS = 1_000
_MOST_BLOCKS = 4  # of each of many arms
_MOST_ARMS = 40  # pictures of pairs over time cannot show more
_MOST_ROUNDS = 256
_DOUBLE = 8  # bytes
_CATEGORIES = (str, bytes, bool, int, float, type(None))  # what the values of a category may be


def rows_of(samples: ArrayLike) -> NDArray[Any] | None:  # -> (n, d)
    """Samples as rows; None if they are none, which the strategy refuses."""
    try:
        rows = samples if type(samples) is np.ndarray else np.asarray(samples)
    except ValueError:
        return None
    if rows.ndim not in (1, 2) or not rows.size:
        return None
    return rows if rows.ndim == 2 else rows[:, None]


def together(blocks: list[NDArray[Any]], rows: NDArray[Any], n_arms: int) -> None:  # (m, d) each, (n, d)
    """Add rows to the blocks of an arm. With many arms, several blocks become one: each takes some memory.

    Else they stay as they were drawn: a snapshot names what the store has, and does not hold it again.
    """
    blocks.append(rows)
    if n_arms > _MANY_ARMS and len(blocks) >= _MOST_BLOCKS:
        blocks[:] = [np.concatenate(blocks)]


class Kept:
    """The first samples of each arm."""

    def __init__(self, n_arms: int) -> None:
        self._blocks: list[list[NDArray[Any]]] = [[] for _ in range(n_arms)]
        self._rows = [0] * n_arms

    def add(self, arm: int, samples: ArrayLike) -> None:
        """Keep what still fits. Samples that are no rows are left to the strategy to refuse."""
        if self._rows[arm] >= _MOST_ROWS:
            return
        rows, blocks = rows_of(samples), self._blocks[arm]
        rows = None if rows is None else _storable(rows)
        if rows is None or (blocks and not _alike(blocks[0], rows)):
            return
        room = self.room(arm, rows.shape[1])
        if room:
            rows = rows[:room].copy()
            together(blocks, rows, len(self._blocks))
            self._rows[arm] += len(rows)

    def room(self, arm: int, columns: int) -> int:
        """How many more samples of an arm are kept."""
        most = min(_MOST_ROWS, max(_FEWEST_ROWS, _MOST_NUMBERS // (len(self._rows) * columns)))
        return max(0, most - self._rows[arm])

    def by_name(self, names: Sequence[Hashable]) -> dict[Hashable, NDArray[Any]]:  # each (m, d)
        """The samples of the arms that have any."""
        named = zip(names, self._blocks, strict=True)
        return {name: np.concatenate(blocks) for name, blocks in named if blocks}


def _storable(rows: NDArray[Any]) -> NDArray[Any] | None:  # (n, d)
    """Numbers that a file can hold, or texts; None for samples that are neither, which the strategy refuses."""
    if rows.dtype == np.float64:  # most samples
        return rows
    if rows.dtype.kind in "OS" and all(isinstance(value, _CATEGORIES) for value in rows.ravel().tolist()):
        return np.array([str(value) for value in rows.ravel().tolist()]).reshape(rows.shape)
    if rows.dtype.kind == "f" and rows.dtype.itemsize > _DOUBLE:
        with np.errstate(over="ignore"):  # infinite then, which is refused
            return rows.astype(np.float64)
    return rows if rows.dtype.kind in "biufU" else None


def _alike(before: NDArray[Any], rows: NDArray[Any]) -> bool:  # (m, d), (n, d)
    """Whether they are rows of one table: as wide, and both numbers or both texts."""
    if before.shape[1] != rows.shape[1]:
        return False
    return before.dtype is rows.dtype or (before.dtype.kind == "U") == (rows.dtype.kind == "U")


class Tracer:
    """The evidence after each round; when there are many rounds, after every second, fourth, ... one."""

    def __init__(self, n_arms: int) -> None:
        self._on = n_arms <= _MOST_ARMS
        self._every = 1
        self._seen: list[tuple[int, Index, Array, Array]] = []  # samples; arms compared (C,), values and limits (N, C)

    def wants(self, round_number: int) -> bool:
        """Whether this round, counted from 1, is to be recorded."""
        return self._on and round_number % self._every == 0

    def hear(self, seen: Snapshot) -> None:
        """Record the round if it is to be recorded."""
        if self.wants(seen.number):
            self.add(seen.n_told, seen.evidence)

    def add(self, n_samples: int, evidence: Evidence) -> None:
        """Record a round. What it looks like is worked out in the end."""
        self._seen.append((n_samples, evidence.compared, evidence.values, evidence.limits))
        if len(self._seen) > _MOST_ROUNDS:
            del self._seen[::2]  # those left have even numbers
            self._every *= 2

    def trace(self) -> Trace | None:
        """What was recorded."""
        if not self._seen:
            return None
        counts = np.array([n_samples for n_samples, *_ in self._seen], dtype=np.int64)
        strengths = [all_pairs(strength(*of), compared, np.nan) for _, compared, *of in self._seen]
        return Trace(counts, np.round(strengths, 4))
