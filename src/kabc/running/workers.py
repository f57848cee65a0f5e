"""Where draws run, and how many of them at a time."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from kabc.arms.base import Arm
from kabc.core.settings import whole_number
from kabc.running.engines.base import Engine
from kabc.running.engines.pools import PoolEngine
from kabc.study.policies import OnWorkerLoss

MOST_WAITING = 16  # arms that are drawn at the same time by default: each may make several calls


@dataclass(frozen=True)
class Workers:
    """Where draws run: here, or on an engine, at most `limit` at a time; and what happens when a worker dies.

    `only_waiting`: only arms that wait (`waits`) are drawn on the engine, the others here.
    """

    engine: Engine | None = None
    limit: int = 1
    on_loss: OnWorkerLoss | None = None
    only_waiting: bool = False

    @classmethod
    def of(
        cls, engine: Engine | None, workers: int | None, arms: Sequence[Arm], on_loss: OnWorkerLoss | None = None
    ) -> Workers:
        """At most `workers` draws at a time, on the given engine or in our own threads. None: as the arms allow."""
        limit = len(arms) if workers is None else min(workers, len(arms))
        if engine is not None:
            return cls(engine, limit, on_loss)
        if workers is None:
            # a draw whose time is measured must not share the machine or the line with others
            waiting = 0 if any(map(one_at_a_time, arms)) else sum(map(waits, arms))
            limit = min(waiting, MOST_WAITING)
        if limit < 2:
            return cls(None, 1, on_loss)
        pool = PoolEngine(ThreadPoolExecutor(limit, thread_name_prefix="kabc"), owned=True)
        return cls(pool, limit, on_loss, only_waiting=workers is None)

    @property
    def shares_memory(self) -> bool:
        """Whether arms stay where they are: draws run here or in threads."""
        return self.engine is None or self.engine.shares_memory

    def rebuilt(self) -> Workers | None:
        """What to go on with after a worker died; None where there is nothing left."""
        renewed = None if self.engine is None else self.engine.renewed()
        return None if renewed is None else replace(self, engine=renewed)

    def close(self) -> None:
        """Leave no worker of ours waiting for work."""
        if self.engine is not None:
            self.engine.close()


def waits(arm: Arm) -> bool:
    """Whether a draw of this arm is mostly waiting."""
    return bool(getattr(arm, "waits", False))


def one_at_a_time(arm: Arm) -> bool:
    """Whether the arm is to be drawn sample by sample, in turn with others."""
    return bool(getattr(arm, "one_at_a_time", False))


@dataclass(frozen=True)
class Place:
    """Where samples are drawn."""

    workers: int | None
    engine: Engine | None
    on_worker_loss: OnWorkerLoss | None

    def __post_init__(self) -> None:
        if self.workers is not None:
            whole_number("workers", self.workers, 1)

    def workers_for(self, arms: Sequence[Arm]) -> Workers:
        """The workers for these arms."""
        return Workers.of(self.engine, self.workers, arms, self.on_worker_loss)
