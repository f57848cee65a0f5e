"""When calls are made: how many at once, and how many a second."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import TypeVar

_Given = TypeVar("_Given")
_Made = TypeVar("_Made")


class Pace:
    """At most `rate` calls a second. Each call gets its own start time."""

    def __init__(self, rate: float | None) -> None:
        self._gap = 0.0 if rate is None else 1 / rate
        self._next = 0.0
        self._lock = threading.Lock()

    def wait(self, stop: threading.Event) -> None:
        """Wait for the next free start time, or until `stop` is set."""
        if not self._gap:
            return
        with self._lock:
            now = time.monotonic()
            mine = max(now, self._next)
            self._next = mine + self._gap
        stop.wait(mine - now)


def in_order(
    make: Callable[[_Given, threading.Event], _Made],
    given: Sequence[_Given],
    concurrency: int,
    stop: threading.Event | None = None,
) -> list[_Made]:
    """One result for each item given, in their order, at most `concurrency` at once. The first error stops the rest.

    So does whoever sets `stop`.
    """
    stop = stop or threading.Event()
    with ThreadPoolExecutor(min(concurrency, len(given)), thread_name_prefix="kabc-http") as pool:
        futures = [pool.submit(make, item, stop) for item in given]
        try:
            done, _ = wait(futures, return_when=FIRST_EXCEPTION)
        finally:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
    return [future.result() for future in futures if future in done]
