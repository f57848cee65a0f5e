"""A cluster of Dask, reached by its client.

Arms go once to each worker (`spread.py`). Chunks of draws follow, each under a key of its own: Dask would answer two
equal ones with the same draw. Dask itself starts tasks again when a worker dies, and this would be a redraw that nobody
has chosen. So a chunk marks on the scheduler that it has begun. A second start finds the mark and draws nothing: the
chunk counts as lost, and `on_worker_loss` decides.
"""

from __future__ import annotations

import time
from asyncio import CancelledError
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError as OldCancelledError
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, Self, cast

import cloudpickle
from distributed import Client, Event, KilledWorker

from kabc.arms.base import Arm
from kabc.arms.parts import Parts
from kabc.core.errors import ArmError, SettingsError
from kabc.running.engines.base import WorkerLostError
from kabc.running.engines.chunks import Answers, Job, computed, drawn
from kabc.running.engines.frames import parts_of
from kabc.running.engines.spread import Spread, new_key

_LOOK_SECONDS = 1.0  # between two looks which workers there are


class DaskEngine:
    """Draws on the workers of a client, which stays open."""

    shares_memory = False
    falls_as_one = False

    def __init__(self, client: Client) -> None:
        if client.asynchronous:
            raise SettingsError("executor is an asynchronous client of Dask; pass one made with asynchronous=False")
        self._client = client
        self._arms: Spread | None = None  # all arms
        self._workers: dict[str, int] = {}  # threads of each worker, as of a moment ago
        self._looked = -_LOOK_SECONDS

    @property
    def slots(self) -> int:
        return max(1, sum(self._threads().values()))  # a cluster that grows with its tasks may begin with none

    @property
    def deserted(self) -> bool:
        return not self._threads()

    def _threads(self) -> dict[str, int]:
        """How many threads each worker has, as of a moment ago."""
        now = time.monotonic()
        if now >= self._looked + _LOOK_SECONDS and self._client.status == "running":
            with suppress(OSError):  # the scheduler is away: what is under way will say so
                self._workers = dict(self._client.nthreads())
            self._looked = now
        return self._workers

    def dumps(self, arm: Arm) -> bytes:
        return cast(bytes, cloudpickle.dumps(arm))

    def send(self, arms: Mapping[int, bytes] | Sequence[Arm], jobs: Sequence[Job]) -> Future[Answers]:
        if self._client.status not in ("running", "connecting"):
            raise ArmError(f"the client of Dask is {self._client.status}; pass one that is open")
        if self._arms is None:
            self._arms = Spread(self._client, arms)
        key, sent = new_key("draw"), self._arms
        task, worker = sent.submit(self._threads(), _drawn_once, key, list(jobs), key=key)
        return self._heard(task, sent, worker, key)

    def compute(self, function: Callable[[Any, Any], Any], common: Any) -> Callable[[Any], Future[Any]]:
        sent = Spread(self._client, common)

        def send(part: Any) -> Future[Any]:
            task, worker = sent.submit(self._threads(), computed, function, part, key=new_key("part"))
            return self._heard(task, sent, worker)

        return send

    def _heard(self, task: Any, sent: Spread, worker: str | None, mark: str | None = None) -> Future[Any]:
        """The future of a task that was meant for a worker; `mark`: set where it has begun."""
        answers: Future[Any] = Future()
        answers.set_running_or_notify_cancel()  # whether it has begun is known on the cluster alone
        answers.add_done_callback(lambda _: sent.done(worker))
        self._client.loop.add_callback(self._hear, task, mark, answers)
        return answers

    async def _hear(self, task: Any, mark: str | None, answers: Future[Any]) -> None:
        """Pass on what became of a task."""
        try:
            found = await task
        except (KilledWorker, CancelledError, OldCancelledError) as error:
            answers.set_exception(WorkerLostError(str(error)))
        except Exception as error:
            answers.set_exception(error)
        else:
            if found is None:
                answers.set_exception(WorkerLostError("the worker that began to draw is gone"))
            else:
                answers.set_result(found)
        if mark is not None:
            with suppress(Exception):  # it is in nobody's way
                await Event(mark, client=self._client).clear()

    def parts_of(self, source: Any, columns: Sequence[str] | None) -> tuple[Any, Parts] | None:
        return parts_of(self._client, source, columns)

    def renewed(self) -> Self:
        return self

    def close(self) -> None:
        self._arms = None


def _drawn_once(arms: Mapping[int, bytes], key: str, jobs: Sequence[Job]) -> Answers | None:
    """A chunk, on a worker; None if another worker has begun it."""
    begun = Event(key)
    if begun.is_set():
        return None
    begun.set()
    return drawn(arms, jobs)
