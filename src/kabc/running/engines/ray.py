"""Ray, which the program has initialised: `executor=ray`, the module itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from types import ModuleType
from typing import Any, Self, cast

from kabc.arms.base import Arm
from kabc.core.errors import SettingsError
from kabc.running.engines.base import WorkerLostError
from kabc.running.engines.chunks import Answers, Job, computed, drawn


class RayEngine:
    """Draws on the workers of Ray, which goes on when the run has ended."""

    shares_memory = False
    falls_as_one = False
    deserted = False

    def __init__(self, ray: ModuleType) -> None:
        self._ray: Any = ray
        if not self._ray.is_initialized():
            raise SettingsError("executor is ray, which is not running yet; call ray.init() first")
        self._draw = self._ray.remote(max_retries=0)(drawn)  # a retry would be a redraw that nobody has chosen
        self._compute = self._ray.remote(computed)
        self._arms: Any = None

    @property
    def slots(self) -> int:
        return max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def dumps(self, arm: Arm) -> bytes:
        return cast(bytes, self._ray.cloudpickle.dumps(arm))

    def send(self, arms: Mapping[int, bytes] | Sequence[Arm], jobs: Sequence[Job]) -> Future[Answers]:
        if self._arms is None:
            self._arms = self._ray.put(arms)
        return self._heard(self._draw.remote(self._arms, list(jobs)))

    def compute(self, function: Callable[[Any, Any], Any], common: Any) -> Callable[[Any], Future[Any]]:
        sent = self._ray.put(common)
        return lambda part: self._heard(self._compute.remote(sent, function, part))

    def _heard(self, task: Any) -> Future[Any]:
        """The future of a task."""
        answers: Future[Any] = Future()
        answers.set_running_or_notify_cancel()  # whether it has begun is known on the cluster alone
        task.future().add_done_callback(lambda done: self._hear(done, answers))
        return answers

    def _hear(self, done: Future[Any], answers: Future[Any]) -> None:
        error = done.exception()
        failed = self._ray.exceptions
        lost = (failed.WorkerCrashedError, failed.NodeDiedError, failed.ObjectLostError, failed.OutOfMemoryError)
        if isinstance(error, lost):
            if isinstance(error, failed.ObjectLostError):
                self._arms = None  # they may have been there
            answers.set_exception(WorkerLostError(str(error)))
        elif error is not None:
            answers.set_exception(error)
        else:
            answers.set_result(done.result())

    def parts_of(self, source: Any, columns: Sequence[str] | None) -> None:
        return None

    def renewed(self) -> Self:
        return self

    def close(self) -> None:
        self._arms = None
