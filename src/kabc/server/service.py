"""What all endpoints share: the store, who may come in, who waits, and the processes that compute."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from anyio import CapacityLimiter, to_thread
from starlette.requests import Request

from kabc.server import steps
from kabc.server.access import Access, Guest, guests
from kabc.server.desk import Desk
from kabc.server.errors import RefusedError
from kabc.server.hub import Hub, changes
from kabc.server.lines import Lines
from kabc.server.models.studies import Event
from kabc.storage.contract import Storage

log = logging.getLogger("kabc.server")

_THREADS = 16  # that call the store at a time
_STEP_PATIENCE = 3600.0

T = TypeVar("T")


class Service:
    """One server at work.

    Parameters
    ----------
    storage : Storage
        The store.
    given : str
        The same, as `open_storage` takes it, for the processes that compute.
    printed : str or None
        The token that is printed; None: who has none may read.
    cookie : str
        Name of the cookie.
    secure : bool
        Whether browsers reach it by https alone.
    """

    def __init__(self, storage: Storage, given: str, printed: str | None, cookie: str, *, secure: bool) -> None:
        self.storage, self.cookie, self.secure = storage, cookie, secure
        self.access = Access(lambda: self.thread(guests, storage), printed)
        self.reader, self._stepper = Desk(given), Desk(given)
        self.lines = Lines()
        self.hub = Hub(self._changes)
        self.stuck: dict[int, str] = {}  # studies whose step failed, and why
        # of workers: their calls are served in their order
        self.owners: dict[tuple[int, str], str] = {}  # study and name of a worker -> mark of its token
        self.exchanging: WeakValueDictionary[tuple[int, str], asyncio.Lock] = WeakValueDictionary()
        self._limiter = CapacityLimiter(_THREADS)
        self._stepping: set[int] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def thread(self, call: Callable[..., T], *words: Any, **options: Any) -> T:
        """A call of the store, in a thread: others are served meanwhile."""
        return await to_thread.run_sync(partial(call, *words, **options), limiter=self._limiter)

    async def _changes(self, known: Mapping[int, int]) -> Mapping[int, Event]:
        return await self.thread(changes, self.storage, list(known.items()))

    # ------------------------------------------------------------ the step

    def step(self, study: int) -> None:
        """The round of the study seems to be whole: see to the next one. It returns at once."""
        if study not in self._stepping:
            self._stepping.add(study)
            task = asyncio.create_task(self._step(study))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _step(self, study: int) -> None:
        try:
            why, so_far = await self._stepper.ask(steps.step, study, patience=_STEP_PATIENCE)
            self.lines.learn(study, so_far)
        except RefusedError as error:
            why = "" if error.code == 503 else str(error)
        finally:
            self._stepping.discard(study)
        if why and self.stuck.get(study) != why:
            log.error("study number %d cannot go on: %s", study, why)
        if why:
            self.stuck[study] = why
        else:
            self.stuck.pop(study, None)
        self.hub.nudge()

    async def close(self) -> None:
        """End all that it began."""
        await self.hub.close()
        for task in list(self._tasks):
            task.cancel()
        self.reader.close()
        self._stepper.close()


@dataclass
class Call:
    """One request: who asks, for which study, with what. `body` and `query` have been checked."""

    service: Service
    request: Request
    guest: Guest | None
    study: int = 0
    body: Any = None
    query: Any = None
    headers: dict[str, str] = field(default_factory=dict)

    async def store(self, method: str, *words: Any, **options: Any) -> Any:
        """Call a method of the store."""
        return await self.service.thread(getattr(self.service.storage, method), *words, **options)
