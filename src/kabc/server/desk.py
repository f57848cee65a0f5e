"""A process of its own for what takes long: answers are computed there, and requests are served meanwhile.

It does one thing at a time. Who asks for what is being computed already waits for the same answer. The process opens
the store itself, starts when it is first needed, and ends with the server, however that ends.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from multiprocessing.connection import wait
from typing import Any, TypeVar

from kabc.core.errors import KabcError
from kabc.server.errors import RefusedError, code_of
from kabc.storage.contract import Storage

_MOST_WAITING = 64  # different questions at a time

T = TypeVar("T")
Answer = tuple[int, Any]  # an HTTP code and what is said of the error; 0 and the answer

_STORE: list[Storage] = []  # in the process of a desk: the store that it opened


class StillComputingError(RefusedError):
    """The answer is on its way."""

    def __init__(self) -> None:
        super().__init__(503, "this is being computed; ask again in a moment", 2)


class Desk:
    """Computes in another process. `storage` is where studies are kept, as `open_storage` takes it."""

    def __init__(self, storage: str) -> None:
        self._storage = storage
        self._pool: ProcessPoolExecutor | None = None
        self._asked: dict[tuple[Any, ...], asyncio.Task[Any]] = {}

    async def ask(self, function: Callable[..., T], *words: Any, patience: float) -> T:
        """What a function of a module says there. `StillComputingError` if it takes longer than `patience`."""
        key = (function.__name__, *words)
        task = self._asked.get(key)
        if task is None:
            if len(self._asked) >= _MOST_WAITING:
                raise RefusedError(503, "too much is being computed at the moment; ask again in a moment", 5)
            task = self._asked[key] = asyncio.create_task(self._compute(function, words))
            task.add_done_callback(lambda done: self._forget(key, done))
        done, _ = await asyncio.wait([task], timeout=patience)
        if not done:
            raise StillComputingError
        found: T = task.result()
        return found

    def _forget(self, key: tuple[Any, ...], done: asyncio.Task[Any]) -> None:
        self._asked.pop(key, None)
        if not done.cancelled():
            done.exception()  # seen, also where nobody waits any more

    async def _compute(self, function: Callable[..., Any], words: tuple[Any, ...]) -> Any:
        if self._pool is None:
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(1, context, _begin, (self._storage,))
        pool = self._pool
        try:
            code, found = await asyncio.get_running_loop().run_in_executor(pool, _called, function, words)
        except BrokenProcessPool:
            if self._pool is pool:
                self._pool = None  # the next call makes a new one
            pool.shutdown(wait=False)
            raise RefusedError(503, "the process that computes answers has ended; ask again", 2) from None
        if code:
            raise RefusedError(code, found)
        return found

    def close(self) -> None:
        """End the process, also in the middle of something: all that counts is in the store."""
        if self._pool is not None:
            for process in list(self._pool._processes.values()):
                process.kill()
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None


# ---------------------------------------------------------------- in the other process


def store() -> Storage:
    """The store, in the process of a desk."""
    return _STORE[0]


def _begin(storage: str) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server hears it, and ends this process
    threading.Thread(target=_end_with_parent, daemon=True).start()
    from kabc.storage.opening import open_storage

    _STORE[:] = [open_storage(storage, create=False)]


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _called(function: Callable[..., Any], words: tuple[Any, ...]) -> Answer:
    """Errors travel as texts: their classes may hold what cannot."""
    with suppress(BrokenPipeError):
        try:
            return 0, function(*words)
        except KabcError as error:
            return code_of(error), str(error)
        except Exception as error:
            frame = error.__traceback__
            while frame is not None and frame.tb_next is not None:
                frame = frame.tb_next
            where = "" if frame is None else f" in {frame.tb_frame.f_code.co_filename}, line {frame.tb_lineno}"
            return 500, f"a fault of kabc: {type(error).__name__}{where}"
    raise AssertionError("not reached")
