"""Where draws run, and how a dead pool of processes is replaced."""

from __future__ import annotations

from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Literal

OnWorkerLoss = Literal["redraw", "encode", "raise"]


@dataclass(frozen=True)
class Workers:
    """Where draws run: here, or on an executor, at most `limit` at a time; and what happens when a worker dies."""

    executor: Executor | None
    limit: int
    owned: bool
    on_loss: OnWorkerLoss = "redraw"

    @classmethod
    def of(cls, executor: Executor | None, workers: int, n_arms: int, on_loss: OnWorkerLoss = "redraw") -> Workers:
        """`workers` threads; or the given executor, with at most that many draws at a time if it is not 1."""
        limit = min(workers, n_arms) if workers > 1 else n_arms
        if executor is None and workers > 1:
            return cls(ThreadPoolExecutor(limit, thread_name_prefix="kabc"), limit, True, on_loss)
        return cls(executor, limit, False, on_loss)

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
