"""The samples of a round, as strategies that bet see them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from kabc.core.arrays import Array, Index


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """The samples of one round, arm after arm."""

    samples: Array  # (n, d)
    arms: Index  # (A,)
    counts: Index  # (A,)
    matches: int | None = None  # of each arm, where these are only some of the arms of a round

    @classmethod
    def of(cls, arms: Sequence[int], rows: Sequence[Array]) -> Batch:  # A arrays (count_i, d)
        """The rows of these arms."""
        counts = np.array([len(x) for x in rows], dtype=np.intp)
        return cls(np.concatenate(rows), np.array(arms, dtype=np.intp), counts)

    @property
    def owners(self) -> Index:  # (n,)
        """The arm of each sample."""
        return np.repeat(self.arms, self.counts)

    @property
    def starts(self) -> Index:  # (A + 1,)
        """Where the samples of each arm start, and where they end."""
        return np.concatenate([[0], np.cumsum(self.counts)])

    def sums(self, values: Array) -> Array:  # (n, G) -> (A, G)
        """The sum of what the samples of each arm have."""
        return np.asarray(np.add.reduceat(values, self.starts[:-1], axis=0))

    @property
    def base(self) -> int:
        """The smallest number of samples of an arm; this many of each arm are matched."""
        return int(self.counts.min()) if self.matches is None else self.matches

    def of_rows(self, rows: Index) -> Batch:  # (A,)
        """The same with other numbers for its arms, without those that have -1."""
        known = np.flatnonzero(rows >= 0)
        some = self if len(known) == len(rows) else self.part(known)
        return replace(some, arms=rows[known])

    def part(self, some: Index) -> Batch:  # (S,), places of arms
        """The part of some of the arms."""
        counts = self.counts[some]
        first, starts = np.cumsum(self.counts) - self.counts, np.cumsum(counts) - counts
        rows = np.repeat(first[some] - starts, counts) + np.arange(counts.sum())
        return Batch(self.samples[rows], self.arms[some], counts, self.base)
