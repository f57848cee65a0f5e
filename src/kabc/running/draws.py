"""Drawing one round: pieces in random order, here or on an executor.

Randomness of a draw depends on (seed, arm, round) alone: the answer is the same whatever the order of the arms and the
number of workers. Arms are drawn in a new random order in each round. Those that are drawn `one_at_a_time` are drawn
sample by sample among each other. So a drift in time does not favour one of them.
"""

from __future__ import annotations

import copy
import heapq
from collections import deque
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from kabc.arms.base import Arm
from kabc.core.errors import ArmError
from kabc.running.progress import Ticker
from kabc.strategies.base import Request

if TYPE_CHECKING:
    from kabc.running.sources import Sources

_POLL_SECONDS = 0.5


class Drawing:
    """One round while it is drawn: pieces in random order; an arm's pieces are drawn one after the other."""

    def __init__(self, sources: Sources, request: Request, number: int, show: Ticker) -> None:
        self._sources, self._number, self._show = sources, number, show
        pieces = [count if one_at_a_time(sources.arms[arm]) else 1 for arm, count in request.items()]
        self._size = {arm: count // n for (arm, count), n in zip(request.items(), pieces, strict=True)}
        shuffled = rng_of(sources.seed, len(sources), number).permutation(np.repeat(list(request), pieces))
        self._order: list[int] = shuffled.tolist()
        self._rngs = {arm: rng_of(sources.seed, arm, number) for arm in request}
        self._rows: dict[int, list[ArrayLike]] = {arm: [] for arm in request}
        self._done = 0

    def here(self) -> None:
        """Draw all pieces, one after the other."""
        for arm in self._order:
            self._draw(arm)

    def on(self, executor: Executor, limit: int) -> None:
        """Draw on the executor the arms that may leave, and here the others; each arm by one task at a time."""
        away = [(place, arm) for place, arm in enumerate(self._order) if self._sources.may_leave(arm)]
        here = deque(arm for arm in self._order if not self._sources.may_leave(arm))
        places: dict[int, deque[int]] = {arm: deque() for _, arm in away}
        for place, arm in away:
            places[arm].append(place)
        idle = [(queue.popleft(), arm) for arm, queue in places.items()]
        heapq.heapify(idle)
        running: dict[Future[ArrayLike], int] = {}
        try:
            while idle or running or here:
                while idle and len(running) < limit:
                    _, arm = heapq.heappop(idle)
                    running[executor.submit(self._sources.arms[arm].draw, self._size[arm], self._rngs[arm])] = arm
                if here:
                    self._draw(here.popleft())
                finished, _ = wait(running, timeout=0 if here else _POLL_SECONDS, return_when=FIRST_COMPLETED)
                for future in finished:
                    arm = running.pop(future)
                    self._take(arm, future.result)
                    if places[arm]:
                        heapq.heappush(idle, (places[arm].popleft(), arm))
                self._say()
        except BaseException:
            self._settle(running)
            raise

    def samples(self) -> dict[int, ArrayLike]:
        """The rows of each arm, in the order in which they were drawn."""
        return {arm: rows[0] if len(rows) == 1 else np.concatenate(rows) for arm, rows in self._rows.items()}

    def _draw(self, arm: int) -> None:
        self._say()
        self._take(arm, lambda: self._sources.arms[arm].draw(self._size[arm], self._rngs[arm]))

    def _take(self, arm: int, get: Callable[[], ArrayLike]) -> None:
        """Count the samples that `get` gives; an error names the arm."""
        try:
            rows = get()
            _expect_rows(rows, self._size[arm])
            rows = _own(rows)
        except ArmError as error:
            raise (error if error.arm is not None else error.of_arm(self._sources.names[arm])) from error.__cause__
        self._rows[arm].append(rows)
        self._sources.drawn[arm] += self._size[arm]
        self._sources.kept.add(arm, rows)
        if self._sources.watch is not None:
            self._sources.watch.hear(arm, rows)
        self._done += 1

    def _settle(self, running: dict[Future[ArrayLike], int]) -> None:
        """Cancel what has not begun, and count what comes of the rest: no sample is lost."""
        under_way = {future: arm for future, arm in running.items() if not future.cancel()}
        if not all(future.done() for future in under_way):
            self._show.now("ending: waiting for draws that are under way; interrupt again to leave them")
        wait(under_way)
        for future, arm in under_way.items():
            if future.exception() is None:
                with suppress(ArmError):  # its rows are wrong, but another error is being raised already
                    self._take(arm, future.result)

    def _say(self) -> None:
        self._show(
            f"round {self._number}: drawing, {self._done} of {len(self._order)} draws done, "
            f"{self._sources.n_samples:,} samples so far"
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
