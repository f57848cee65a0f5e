"""Several arms as one: the pool that another arm is compared with.

A pool of tables and arrays holds all of their rows, and gives them in random order without replacement. So an arm with
more rows counts for more. A pool of arms without an end gives, for each sample, one sample of an arm that is chosen at
random, each with the same probability. Where samples come in blocks, blocks are chosen in these ways. Which arm a
sample comes from depends on its number alone, not on the draws before it.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kabc.arms.base import Arm, go_to
from kabc.arms.pools import check_start
from kabc.arms.tallies import Failures, failures_of
from kabc.core.arrays import Index
from kabc.core.errors import ArmError, KabcError, SettingsError

Hear = Callable[[int, ArrayLike], None]


def pooled(parts: Mapping[Hashable, Arm], rng: np.random.Generator) -> PooledRows | PooledDraws:
    """These arms as one. `rng` decides which of them each sample comes from."""
    ends = {name: arm.remaining is not None for name, arm in parts.items()}
    if len(set(ends.values())) > 1:
        table, live = (next(name for name, end in ends.items() if end is kind) for kind in (True, False))
        raise SettingsError(
            f"arm {table!r} is a pool of samples and arm {live!r} has no end, so that they cannot be one reference; "
            "name arms of one kind"
        )
    return PooledRows(parts, rng) if all(ends.values()) else PooledDraws(parts, rng)


class _Pooled(ABC):
    """What both kinds of pools do alike."""

    def __init__(self, parts: Mapping[Hashable, Arm], rng: np.random.Generator) -> None:
        self.names, self.parts = tuple(parts), list(parts.values())
        self.block = 1
        self.hear: Hear | None = None  # is told the samples of each part, as they come
        self._rng = rng
        self._place = 0  # number of the next sample
        self._blocks: list[int] = []  # the part of each block that was chosen so far

    def in_blocks(self, length: int) -> Any:
        """The same pool in blocks of consecutive samples of one arm."""
        pool = copy(self)
        pool.parts = [arm.in_blocks(length) if hasattr(arm, "in_blocks") else arm for arm in self.parts]
        pool.block, pool._place, pool._blocks = length, 0, []
        return pool

    def seek(self, start: int) -> None:
        """The next draw begins with sample number `start`, counted from 0."""
        check_start(start, sys.maxsize if self.remaining is None else self._place + self.remaining)
        before, now = (np.bincount(self._owners(0, end), minlength=len(self.parts)) for end in (start, self._place))
        for part, (name, arm) in enumerate(zip(self.names, self.parts, strict=True)):
            try:
                go_to(arm, int(before[part]), int(now[part]))
            except ArmError as error:
                raise error.of_arm(name) from None
        self._place = start

    def draw(self, n: int, rng: np.random.Generator) -> NDArray[Any]:
        """The next n samples."""
        owners = self._owners(self._place, self._place + n)
        drawn = [self._of(part, count, rng) for part, count in enumerate(np.bincount(owners).tolist()) if count]
        try:
            rows = np.concatenate(drawn)
        except ValueError as error:
            raise ArmError(f"samples of {', '.join(map(repr, self.names))} do not fit together: {error}") from error
        self._place += n
        mixed = np.empty_like(rows)
        mixed[np.argsort(owners, kind="stable")] = rows
        return mixed

    def _owners(self, first: int, end: int) -> Index:  # (end - first,)
        """The part that each sample from number `first` on, before `end`, comes from."""
        missing = -(-end // self.block) - len(self._blocks)
        if missing > 0:
            self._blocks += self._chosen(missing)
        low = first // self.block
        owners = np.repeat(np.array(self._blocks[low : -(-end // self.block)], dtype=np.intp), self.block)
        return owners[first - low * self.block : end - low * self.block]

    @property
    @abstractmethod
    def remaining(self) -> int | None:
        """How many more samples it can give. None: any number."""

    @abstractmethod
    def _chosen(self, n: int) -> list[int]:
        """The part that each of the next n blocks comes from."""

    def _of(self, part: int, n: int, rng: np.random.Generator) -> NDArray[Any]:
        """Samples of one part; what goes wrong is an error of that arm."""
        name = self.names[part]
        try:
            rows = np.asarray(self.parts[part].draw(n, rng))
        except KabcError as error:
            raise (error if error.arm is not None else error.of_arm(name)) from error.__cause__
        except Exception as error:
            raise ArmError(f"its draw failed: {type(error).__name__}: {error}").of_arm(name) from error
        if rows.ndim == 0 or len(rows) != n:
            raise ArmError(
                f"returned an array of shape {rows.shape} when asked for {n} samples; draw(n, rng) must return "
                "exactly n rows"
            ).of_arm(name)
        if self.hear is not None:
            self.hear(part, rows)
        return rows

    # ------------------------------------------------------------ what arms may have beside draw

    @property
    def one_at_a_time(self) -> bool:
        """Whether one of them is to be drawn sample by sample."""
        return any(getattr(arm, "one_at_a_time", False) for arm in self.parts)

    @property
    def waits(self) -> bool:
        """Whether a draw is mostly waiting."""
        return all(getattr(arm, "waits", False) for arm in self.parts)

    @property
    def n_paid(self) -> int:
        """Calls that all of them made; AttributeError where one does not count them."""
        return sum(arm.n_paid for arm in self.parts)  # type: ignore[attr-defined]

    @property
    def failures(self) -> Failures:
        """Failed tries of all of them."""
        found = [failures_of(arm) for arm in self.parts]
        kinds: Counter[str] = Counter()
        for one in found:
            kinds.update(one.kinds)
        last = next((one.last for one in reversed(found) if one.last), "")
        count, tries, values = (sum(getattr(one, what) for one in found) for what in ("count", "tries", "values"))
        return Failures(count, dict(kinds), last, tries, values)

    @property
    def waiting(self) -> str:
        """What people are told while one of them waits."""
        return next((said for arm in self.parts if (said := getattr(arm, "waiting", ""))), "")

    def stop(self) -> None:
        """The run ends."""
        self._each("stop")

    def close(self) -> None:
        """End what they hold open."""
        self._each("close")

    def _each(self, method: str) -> None:
        for arm in self.parts:
            call = getattr(arm, method, None)
            if callable(call):
                call()


class PooledRows(_Pooled):
    """All rows of several tables or arrays, each drawn at most once, in a random order that `rng` decides.

    The order does not depend on the sizes of the draws.
    """

    def __init__(self, parts: Mapping[Hashable, Arm], rng: np.random.Generator) -> None:
        super().__init__(parts, rng)
        self._free = self._left()  # blocks of each part that were not chosen yet

    def in_blocks(self, length: int) -> PooledRows:
        """The same pool in blocks of consecutive rows of one arm."""
        pool: PooledRows = super().in_blocks(length)
        pool._free = pool._left()
        return pool

    @property
    def remaining(self) -> int:
        return (int(self._free.sum()) + len(self._blocks)) * self.block - self._place

    @property
    def fingerprint(self) -> str:
        """Of the rows of all of them; empty where one has none."""
        found = [str(getattr(arm, "fingerprint", "")) for arm in self.parts]
        return " ".join(found) if all(found) else ""

    def in_order(self, most: int) -> ArrayLike:
        """The first rows of the arm that has most: arms one after the other would look like a drift."""
        longest = self.parts[int(np.argmax(self._left()))]
        if not hasattr(longest, "in_order"):
            raise SettingsError("the order of its rows is not known; pass a length as block=")
        rows: ArrayLike = longest.in_order(most)
        return rows

    def _left(self) -> Index:  # blocks of each part
        return np.array([(arm.remaining or 0) // self.block for arm in self.parts], dtype=np.intp)

    def _chosen(self, n: int) -> list[int]:
        if n > self._free.sum():
            raise ArmError(f"{n * self.block:,} samples were asked for, {self.remaining:,} are left; give it more rows")
        chosen = []
        for _ in range(n):  # each of the rows that are left is as likely as any other
            ends = np.cumsum(self._free)
            chosen.append(int(np.searchsorted(ends, self._rng.integers(ends[-1]), side="right")))
            self._free[chosen[-1]] -= 1
        return chosen


class PooledDraws(_Pooled):
    """For each sample, a sample of one of several arms, chosen at random."""

    @property
    def remaining(self) -> None:
        return None

    def _chosen(self, n: int) -> list[int]:
        chosen: list[int] = self._rng.integers(len(self.parts), size=n).tolist()
        return chosen
