"""Arms that are coroutine functions: many samples at the same time, with results in a fixed order."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Future
from typing import Any, NoReturn

import numpy as np

from kabc.arms.checks import expect, is_whole


class AsyncArm:
    """A coroutine function that gives one sample, a number or a row of them: ``async def f(rng)``.

    At most `concurrency` samples are drawn at the same time. They run in an event loop in its own thread. The loop
    stays open until `close`, so that the function can keep a client open. Each sample has its own generator, so the
    answer does not depend on which sample ends first. The first error cancels the others and is raised unchanged.
    """

    def __init__(self, function: Callable[[np.random.Generator], Awaitable[Any]], concurrency: int = 8) -> None:
        expect(is_whole(concurrency) and concurrency > 0, "concurrency", concurrency, "a whole number, 1 or more")
        self.function = function
        self.concurrency = concurrency
        self._home: _Home | None = None

    def __repr__(self) -> str:
        return f"AsyncArm({self.function!r}, concurrency={self.concurrency})"

    def __getstate__(self) -> NoReturn:
        raise TypeError(
            "an AsyncArm cannot be sent to another process, because its event loop cannot; make it in that process"
        )

    @property
    def remaining(self) -> None:
        return None

    def draw(self, n: int, rng: np.random.Generator) -> list[Any]:  # n values or rows
        if self._home is None:
            self._home = _Home()
        future = asyncio.run_coroutine_threadsafe(self._all(rng.spawn(n)), self._home.loop)
        try:
            return future.result()
        finally:
            future.cancel()  # for an interrupted wait; a future that is done does not change

    def close(self) -> None:
        """End the event loop and its thread. A later draw starts new ones."""
        if self._home is not None:
            self._home.close()
            self._home = None

    async def _all(self, generators: list[np.random.Generator]) -> list[Any]:
        results: list[Any] = [None] * len(generators)
        waiting = iter(enumerate(generators))  # shared: each worker takes the next free sample
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(self.concurrency, len(generators))):
                    group.create_task(self._work(waiting, results))
        except BaseExceptionGroup as several:
            error = several.exceptions[0]
        else:
            return results
        raise error

    async def _work(self, waiting: Iterator[tuple[int, np.random.Generator]], results: list[Any]) -> None:
        for position, rng in waiting:
            results[position] = await self.function(rng)


class _Home:
    """A running event loop in its own thread."""

    def __init__(self) -> None:
        opened: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()
        # asyncio.run, not only a loop: at the end it also cancels what is left and closes generators
        self._thread = threading.Thread(target=lambda: asyncio.run(_stay(opened)), name="kabc-async", daemon=True)
        self._thread.start()
        self.loop, self._leave = opened.result()

    def close(self) -> None:
        self.loop.call_soon_threadsafe(self._leave.set)
        self._thread.join()


async def _stay(opened: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]]) -> None:
    leave = asyncio.Event()
    opened.set_result((asyncio.get_running_loop(), leave))
    await leave.wait()
