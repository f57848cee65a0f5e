"""Where draws run, and how a dead pool of processes is replaced."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from kabc.arms.base import Arm
from kabc.core.errors import SettingsError
from kabc.core.settings import whole_number
from kabc.study.policies import OnWorkerLoss

MOST_WAITING = 16  # arms that are drawn at the same time by default: each may make several calls


@dataclass(frozen=True)
class Workers:
    """Where draws run: here, or on an executor, at most `limit` at a time; and what happens when a worker dies.

    `only_waiting`: only arms that wait (`waits`) are drawn on the executor, the others here.
    """

    executor: Executor | None
    limit: int
    owned: bool
    on_loss: OnWorkerLoss = "redraw"
    only_waiting: bool = False

    @classmethod
    def of(
        cls, executor: Executor | None, workers: int | None, arms: Sequence[Arm], on_loss: OnWorkerLoss = "redraw"
    ) -> Workers:
        """At most `workers` draws at a time, on the given executor or in our own threads. None: as the arms allow."""
        limit = len(arms) if workers is None else min(workers, len(arms))
        if executor is not None:
            return cls(executor, limit, False, on_loss)
        if workers is None:
            # a draw whose time is measured must not share the machine or the line with others
            waiting = 0 if any(map(one_at_a_time, arms)) else sum(map(waits, arms))
            limit = min(waiting, MOST_WAITING)
        if limit < 2:
            return cls(None, 1, False, on_loss)
        pool = ThreadPoolExecutor(limit, thread_name_prefix="kabc")
        return cls(pool, limit, True, on_loss, only_waiting=workers is None)

    @property
    def shares_memory(self) -> bool:
        """Whether arms stay where they are: draws run here or in threads."""
        return self.executor is None or isinstance(self.executor, ThreadPoolExecutor)

    def rebuilt(self) -> Workers | None:
        """The same with a new pool in place of a dead one; None where we do not know how it was made."""
        if type(self.executor) is not ProcessPoolExecutor:
            return None
        self.close()
        pool: Any = self.executor  # how it was made is kept in private attributes alone
        per_child = {"max_tasks_per_child": pool._max_tasks_per_child}
        new = ProcessPoolExecutor(pool._max_workers, pool._mp_context, pool._initializer, pool._initargs, **per_child)
        return replace(self, executor=new, owned=True)

    def close(self) -> None:
        """Leave no worker of ours waiting for work."""
        if self.owned and self.executor is not None:
            self.executor.shutdown(wait=False, cancel_futures=True)


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
    executor: Executor | None
    on_worker_loss: OnWorkerLoss | None

    def __post_init__(self) -> None:
        if self.workers is not None:
            whole_number("workers", self.workers, 1)
        if self.executor is not None and not isinstance(self.executor, Executor):
            raise SettingsError(f"executor must be a concurrent.futures.Executor, got {self.executor!r}")

    def workers_for(self, arms: Sequence[Arm]) -> Workers:
        """The workers for these arms."""
        return Workers.of(self.executor, self.workers, arms, self.on_worker_loss or "redraw")
