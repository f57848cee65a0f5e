"""The arms of a run with their names, what was drawn of them, and where draws run."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kabc.arms.base import Arm, NamedArms, as_arm
from kabc.core.errors import ArmError
from kabc.core.words import counted
from kabc.running.draws import Drawing, one_at_a_time, rng_of
from kabc.running.progress import Ticker
from kabc.running.record import Kept
from kabc.strategies.base import Request

ArmLike = Callable[[int, np.random.Generator], ArrayLike] | ArrayLike | Arm
Arms = Mapping[Any, ArmLike] | Sequence[ArmLike]


@dataclass(frozen=True)
class Workers:
    """Where draws run: here, or on an executor, at most `limit` at a time."""

    executor: Executor | None
    limit: int
    owned: bool

    @classmethod
    def of(cls, executor: Executor | None, workers: int, n_arms: int) -> Workers:
        """`workers` threads; or the given executor, with at most that many draws at a time if it is not 1."""
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
        # random numbers: keys (arm,) shuffle the pools, keys (arm, round) are for draws; no key is used twice
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
        return not self.too_small(request)

    def too_small(self, request: Request) -> list[int]:
        """Arms that cannot give what is asked for."""
        limits = ((arm, self.arms[arm].remaining, count) for arm, count in request.items())
        return [arm for arm, remaining, count in limits if remaining is not None and remaining < count]

    @property
    def pools(self) -> dict[Hashable, int]:
        """Samples left of the arms that can run out."""
        left = {name: arm.remaining for name, arm in zip(self.names, self.arms, strict=True)}
        return {name: count for name, count in left.items() if count is not None}

    def need(self, request: Request) -> None:
        """Refuse a pilot that a pool cannot give."""
        for arm, count in request.items():
            remaining = self.arms[arm].remaining
            if remaining is not None and remaining < count:
                raise ArmError(
                    f"it has {counted(remaining, 'sample')}, fewer than the {count} of the pilot; "
                    "lower pilot=, or pass a kernel with a fixed bandwidth"
                ).of_arm(self.names[arm])

    def draw(self, request: Request, round_number: int, show: Ticker) -> dict[int, ArrayLike]:
        """The samples of a round. What was drawn is counted even if the round is not finished."""
        drawing = Drawing(self, request, round_number, show)
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


def _picklable(arm: Arm) -> bool:
    try:
        pickle.dumps(arm)
    except Exception:  # an object that cannot be sent may raise anything
        return False
    return True


def _named(arms: Arms, names: Sequence[Hashable] | None) -> list[tuple[Hashable, ArmLike]]:
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
