"""Executors of the standard library, and all that are made like them."""

from __future__ import annotations

import concurrent.futures
import pickle
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

from kabc.arms.base import Arm
from kabc.core.errors import ArmError
from kabc.running.engines.chunks import Answers, Job, computed, drawn, drawn_here

# its threads share nothing, though it is a kind of ThreadPoolExecutor (Python 3.14)
_INTERPRETERS: Any = getattr(concurrent.futures, "InterpreterPoolExecutor", ())


class PoolEngine:
    """Draws on an executor. `owned`: it is ours, and ends with the run."""

    falls_as_one = True
    deserted = False

    def __init__(self, executor: Executor, *, owned: bool = False) -> None:
        self.executor, self._owned = executor, owned

    @property
    def shares_memory(self) -> bool:
        return isinstance(self.executor, ThreadPoolExecutor) and not isinstance(self.executor, _INTERPRETERS)

    @property
    def slots(self) -> int | None:
        if not isinstance(self.executor, ProcessPoolExecutor):
            return None
        pool: Any = self.executor  # how it was made is kept in private attributes alone
        return int(pool._max_workers)

    def dumps(self, arm: Arm) -> bytes:
        return pickle.dumps(arm)

    def send(self, arms: Mapping[int, bytes] | Sequence[Arm], jobs: Sequence[Job]) -> Future[Answers]:
        try:
            if self.shares_memory:
                return self.executor.submit(drawn_here, arms, jobs)  # type: ignore[arg-type]
            return self.executor.submit(drawn, {job.arm: arms[job.arm] for job in jobs}, jobs)  # type: ignore[misc]
        except concurrent.futures.BrokenExecutor:
            raise
        except RuntimeError as error:
            raise ArmError(f"the executor takes no more draws ({error}); pass one that is open") from error

    def compute(self, function: Callable[[Any, Any], Any], common: Any) -> Callable[[Any], Future[Any]]:
        return lambda part: self.executor.submit(computed, common, function, part)  # it is sent with each part

    def parts_of(self, source: Any, columns: Sequence[str] | None) -> None:
        return None

    def renewed(self) -> PoolEngine | None:
        """A new pool in place of a dead one; None where we do not know how it was made."""
        if type(self.executor) is not ProcessPoolExecutor:
            return None
        self.close()
        pool: Any = self.executor
        per_child = {"max_tasks_per_child": pool._max_tasks_per_child}
        new = ProcessPoolExecutor(pool._max_workers, pool._mp_context, pool._initializer, pool._initargs, **per_child)
        return PoolEngine(new, owned=True)

    def close(self) -> None:
        if self._owned:
            self.executor.shutdown(wait=False, cancel_futures=True)
