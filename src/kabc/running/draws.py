"""Drawing a round: the arms with their names, in random order, here or on an executor.

Randomness of a draw depends on (seed, arm, round) alone: the answer is the same whatever the order of the arms and the
number of workers. Arms are drawn in a new random order in each round, and those that are drawn `one_at_a_time` sample
by sample among each other, so that a drift in time does not favour one of them.
"""

from __future__ import annotations

import copy
import heapq
import pickle
from collections import deque
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kabc.arms.base import Arm, NamedArms, as_arm
from kabc.core.errors import ArmError
from kabc.running.progress import Ticker
from kabc.running.record import Kept

Source = Callable[[int, np.random.Generator], ArrayLike] | ArrayLike | Arm
Arms = Mapping[Any, Source] | Sequence[Source]
Request = Mapping[int, int]

_POLL_SECONDS = 0.5


@dataclass(frozen=True)
class Workers:
    """Where draws run: here, or on an executor, at most `limit` at a time."""

    executor: Executor | None
    limit: int
    owned: bool

    @classmethod
    def of(cls, executor: Executor | None, workers: int, n_arms: int) -> Workers:
        """`workers` threads; or the given executor, with at most that many draws at a time where it is not 1."""
        limit = min(workers, n_arms) if workers > 1 else n_arms
        if executor is None and workers > 1:
            return cls(ThreadPoolExecutor(limit, thread_name_prefix="kabc"), limit, owned=True)
        return cls(executor, limit, owned=False)

    def close(self) -> None:
        """Leave no thread of ours waiting for work."""
        if self.owned and self.executor is not None:
            self.executor.shutdown(wait=False, cancel_futures=True)


class Sources:
    """Arms with their names, and how many samples of each were drawn."""

    def __init__(self, arms: Arms, names: Sequence[Hashable] | None, seed: int) -> None:
        named = _named(arms, names)
        if len(named) < 2:
            raise ArmError(f"there must be at least 2 arms to compare, got {len(named)}")
        # keys (arm,) order the pools, keys (arm, round) draw: they never meet
        self.arms = [as_arm(name, source, rng_of(seed, i)) for i, (name, source) in enumerate(named)]
        self.names = tuple(name for name, _ in named)
        about = arms if isinstance(arms, NamedArms) else NamedArms({})
        self.notes, self.columns, self.price, self.levels = about.notes, about.columns, about.price, about.levels
        self.seed = seed
        self.drawn = [0] * len(self.arms)
        self.kept = Kept(len(self.arms))
        self.workers = Workers(None, 1, owned=False)
        self._may_leave: dict[int, bool] = {}

    def __len__(self) -> int:
        return len(self.arms)

    @property
    def n_samples(self) -> int:
        """All samples drawn so far."""
        return sum(self.drawn)

    def can_give(self, request: Request) -> bool:
        """Whether no pool is too small."""
        limits = ((self.arms[arm].remaining, count) for arm, count in request.items())
        return all(remaining is None or remaining >= count for remaining, count in limits)

    def need(self, request: Request) -> None:
        """Refuse a pilot that a pool cannot give."""
        for arm, count in request.items():
            remaining = self.arms[arm].remaining
            if remaining is not None and remaining < count:
                raise ArmError(
                    f"it has {remaining} sample(s), fewer than the {count} of the pilot; "
                    "lower pilot=, or pass a kernel with a fixed bandwidth"
                ).of_arm(self.names[arm])

    def draw(self, request: Request, round_number: int, show: Ticker) -> dict[int, ArrayLike]:
        """The samples of a round. What was drawn is counted even if the round is not finished."""
        drawing = _Drawing(self, request, round_number, show)
        if self.workers.executor is None:
            drawing.here()
        else:
            drawing.on(self.workers.executor, self.workers.limit)
        return drawing.samples()

    def may_leave(self, arm: int) -> bool:
        """Whether an arm can be drawn in another process: it keeps nothing here, and it can be sent."""
        if isinstance(self.workers.executor, ThreadPoolExecutor):
            return True
        if arm not in self._may_leave:
            one = self.arms[arm]
            keeps = one.remaining is not None or one_at_a_time(one) or hasattr(one, "close")
            self._may_leave[arm] = not keeps and _picklable(one)
        return self._may_leave[arm]

    def close(self) -> None:
        """End what arms hold open, and our threads."""
        self.workers.close()
        for arm in self.arms:
            close = getattr(arm, "close", None)
            if callable(close):
                close()


class _Drawing:
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
        """Draw on the executor what may leave, in this thread the rest; each arm by one task at a time."""
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
        self._done += 1

    def _settle(self, running: dict[Future[ArrayLike], int]) -> None:
        """Cancel what has not begun, and count what comes of the rest: no sample is lost."""
        under_way = {future: arm for future, arm in running.items() if not future.cancel()}
        if not all(future.done() for future in under_way):
            self._show.now("ending: waiting for draws that are under way; interrupt again to leave them")
        wait(under_way)
        for future, arm in under_way.items():
            if future.exception() is None:
                with suppress(ArmError):  # not what it was asked for; another error is on its way already
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
    with suppress(Exception):  # what cannot be copied is left to the strategy, which refuses what is no array
        return copy.deepcopy(rows)
    return rows


def _picklable(arm: Arm) -> bool:
    try:
        pickle.dumps(arm)
    except Exception:  # whatever an object raises that cannot be sent
        return False
    return True


def _named(arms: Arms, names: Sequence[Hashable] | None) -> list[tuple[Hashable, Source]]:
    if isinstance(arms, Mapping):
        if names is not None:
            raise ArmError("names are given twice: by the mapping of arms and by names=; leave names= out")
        return list(arms.items())
    if isinstance(arms, str | bytes) or not isinstance(arms, Sequence | np.ndarray):
        raise ArmError(f"arms must be a mapping name -> arm or a sequence of arms, got {type(arms).__name__}")
    given: Sequence[Hashable] = range(len(arms)) if names is None else names
    if len(given) != len(arms):
        raise ArmError(f"{len(arms)} arms have {len(given)} names; give one name to each")
    seen: set[Hashable] = set()
    for name in given:
        if not isinstance(name, Hashable):
            raise ArmError(f"arm name {name!r} cannot be a name because it is not hashable; use a string or a tuple")
        if name in seen:
            raise ArmError(f"arm name {name!r} is given twice; names must differ")
        seen.add(name)
    return list(zip(given, arms, strict=True))
