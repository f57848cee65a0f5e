"""Arms that are coroutine functions: many samples at the same time, with results in a fixed order."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Future
from typing import Any, NoReturn

import numpy as np

from kabc.arms.checks import expect, is_whole
from kabc.core.errors import ArmError


class AsyncArm:
    """A coroutine function: ``async def f(rng)`` gives one sample, ``async def f(n, rng)`` gives n of them.

    At most `concurrency` calls of the first kind are made at the same time. Each has its own generator, so the answer
    does not depend on which one ends first. The first error cancels the others and is raised unchanged. All calls run
    in an event loop in its own thread. The loop stays open until `close`, so that the function can keep a client open.
    """

    waits = True  # drawn at the same time as other arms that wait

    def __init__(self, function: Callable[..., Awaitable[Any]], concurrency: int = 8) -> None:
        expect(is_whole(concurrency) and concurrency > 0, "concurrency", concurrency, "a whole number, 1 or more")
        self._gives_all = _gives_all(function)
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

    def draw(self, n: int, rng: np.random.Generator) -> Any:  # n values or rows
        if self._home is None:
            self._home = _Home()
        future = asyncio.run_coroutine_threadsafe(self._samples(n, rng), self._home.loop)
        try:
            return future.result()
        finally:
            future.cancel()  # for an interrupted wait; a future that is done does not change

    def close(self) -> None:
        """End the event loop and its thread. A later draw starts new ones."""
        if self._home is not None:
            self._home.close()
            self._home = None

    async def _samples(self, n: int, rng: np.random.Generator) -> Any:
        return await (self.function(n, rng) if self._gives_all else self._all(rng.spawn(n)))

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


def _gives_all(function: Callable[..., Any]) -> bool:
    """Whether one call gives all samples of a draw: f(n, rng), not f(rng). Arguments with defaults do not count."""
    signature = inspect.signature(function)
    needed = [one for one in signature.parameters.values() if one.default is one.empty]
    by_place = [one for one in needed if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    by_name = [one for one in needed if one.kind is one.KEYWORD_ONLY]
    if by_name or len(by_place) not in (1, 2):
        name = getattr(function, "__name__", type(function).__name__)
        raise ArmError(
            f"async def {name}{signature} is no arm; write async def {name}(rng) for one sample, or "
            f"async def {name}(n, rng) for n of them"
        )
    return len(by_place) == 2


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
