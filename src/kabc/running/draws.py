"""Drawing one round: pieces in random order.

Randomness of a draw depends on (seed, arm, round) alone: the answer is the same whatever the order of the arms and the
number of workers. Arms are drawn in a new random order in each round. Those that are drawn `one_at_a_time` are drawn
sample by sample among each other. So a drift in time does not favour one of them.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from kabc.arms.base import Arm
from kabc.core.errors import ArmError, KabcError, SampleError
from kabc.core.samples import as_rows
from kabc.core.words import counted
from kabc.running.progress import Ticker
from kabc.strategies.base import Request

if TYPE_CHECKING:
    from kabc.running.sources import Sources


class Drawing:
    """One round while it is drawn: pieces in random order; an arm's pieces are drawn one after the other."""

    def __init__(self, sources: Sources, request: Request, number: int, show: Ticker) -> None:
        self._sources, self._number, self.show = sources, number, show
        pieces = [count if one_at_a_time(sources.arms[arm]) else 1 for arm, count in request.items()]
        self._size = {arm: count // n for (arm, count), n in zip(request.items(), pieces, strict=True)}
        shuffled = rng_of(sources.seed, len(sources), number).permutation(np.repeat(list(request), pieces))
        self.order: list[int] = shuffled.tolist()
        self._rngs = {arm: rng_of(sources.seed, arm, number) for arm in request}
        # one generator for each arm, all of them alike
        self._shared = {arm: rng_of(sources.seed, len(sources), number, 1) for arm in request if sources.paired[arm]}
        self._rows: dict[int, list[ArrayLike]] = {arm: [] for arm in request}
        self._done = 0

    def here(self) -> None:
        """Draw all pieces, one after the other."""
        for arm in self.order:
            self.draw(arm)

    def draw(self, arm: int) -> None:
        """Draw one piece here."""
        with self.show.during(self._line()):
            self.take(arm, self.task(arm))

    def task(self, arm: int) -> Callable[[], ArrayLike]:
        """The draw of one piece. It can be sent to another process; sent again, it draws the same."""
        shared = (self._shared[arm],) if arm in self._shared else ()
        return partial(self._sources.arms[arm].draw, self._size[arm], self._rngs[arm], *shared)

    def take(self, arm: int, get: Callable[[], ArrayLike]) -> None:
        """Count the samples that `get` gives. Whatever goes wrong becomes an error of this arm."""
        name, count = self._sources.names[arm], self._size[arm]
        try:
            rows = get()
            _expect_rows(rows, count)
        except KabcError as error:
            self._sources.lost[arm] += count
            raise (error if error.arm is not None else error.of_arm(name)) from error.__cause__
        except Exception as error:
            self._sources.lost[arm] += count
            raise ArmError(f"its draw failed: {type(error).__name__}: {error}").of_arm(name) from error
        rows = self._sources.received(arm, _own(rows))
        self._rows[arm].append(rows)
        self._done += 1

    def take_failed(self, arm: int) -> None:
        """Count the piece as failed samples, for which the arm has a value."""
        source: Any = self._sources.arms[arm]
        self.take(arm, lambda: source.failed(self._size[arm]))

    def lose(self, arm: int) -> None:
        """Count a piece that was paid for, and gave nothing."""
        self._sources.lost[arm] += self._size[arm]

    def samples(self) -> dict[int, ArrayLike]:
        """The rows of each arm, in the order in which they were drawn."""
        drawn = {arm: rows[0] if len(rows) == 1 else self._joined(arm, rows) for arm, rows in self._rows.items()}
        return self._sources.as_numbers(drawn)

    def _joined(self, arm: int, rows: list[ArrayLike]) -> ArrayLike:
        try:
            return np.concatenate([as_rows(part) for part in rows])
        except ValueError as error:
            raise SampleError(f"its samples do not fit together: {error}").of_arm(self._sources.names[arm]) from error

    def say(self) -> None:
        """Show how far the round is."""
        self.show(self._line())

    def _line(self) -> str:
        return (
            f"round {self._number}: drawing, {self._done} of {len(self.order)} draws done, "
            f"{counted(self._sources.n_samples, 'sample')} so far"
        )


def rng_of(seed: int, *key: int) -> np.random.Generator:
    """A random generator for each key."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


def one_at_a_time(arm: Arm) -> bool:
    """Whether the arm is to be drawn sample by sample, in turn with others."""
    return bool(getattr(arm, "one_at_a_time", False))


def _expect_rows(rows: ArrayLike, count: int) -> None:
    try:
        got = len(rows)  # type: ignore[arg-type]
    except TypeError:
        raise ArmError(
            f"returned {rows!r} when asked for {count} samples; draw(n, rng) must return an array of n rows"
        ) from None
    if got != count:
        raise ArmError(f"returned {got} samples when asked for {count}; draw(n, rng) must return exactly n rows")


def _own(rows: ArrayLike) -> ArrayLike:
    """A copy: an arm may write its next samples into what it has returned."""
    with suppress(Exception):  # the strategy refuses what is no array, and says so
        return copy.deepcopy(rows)
    return rows
