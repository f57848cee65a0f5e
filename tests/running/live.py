"""Arms and executors that the tests of drawing share."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import kabc
from kabc import Result

Rows = NDArray[np.float64]
KERNEL = kabc.Gaussian(bandwidth=1.0)


def normal(n: int, rng: np.random.Generator, mean: float) -> Rows:
    return rng.normal(mean, 1.0, n)


def picklable_arms() -> dict[str, Any]:
    return {name: partial(normal, mean=mean) for name, mean in zip("abcde", (0, 9, 0, 18, 9), strict=True)}


def mixed_arms() -> dict[str, Any]:
    """Functions that can be sent, one that cannot, a pool."""
    pool = np.random.default_rng(0).normal(9, 1, 3000)
    return picklable_arms() | {"b": lambda n, rng: rng.normal(9, 1, n), "e": pool}


class Slow:
    """A live arm: drawn one sample at a time, by one task at a time."""

    one_at_a_time = True
    remaining = None

    def __init__(self, mean: float, log: list[Any], name: str = "") -> None:
        self.mean, self.log, self.name = mean, log, name
        self.busy = threading.Lock()
        self.closed = 0

    def draw(self, n: int, rng: np.random.Generator) -> Rows:
        assert self.busy.acquire(blocking=False), "drawn by two tasks at a time"
        self.log.append((self.name, n))
        time.sleep(0.0005)
        self.busy.release()
        return rng.normal(self.mean, 1.0, (n, 1))

    def close(self) -> None:
        self.closed += 1


class Reversed(Executor):
    """Runs what it is given when asked for the last of it, newest first."""

    def __init__(self) -> None:
        self.tasks: list[tuple[Future[Any], Callable[..., Any], tuple[Any, ...]]] = []
        self.n_tasks = 0
        threading.Thread(target=self._work, daemon=True).start()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.tasks.append((future, fn, args))
        self.n_tasks += 1
        return future

    def _work(self) -> None:
        while True:
            time.sleep(0.01)
            while self.tasks:
                future, fn, args = self.tasks.pop()
                if future.set_running_or_notify_cancel():
                    future.set_result(fn(*args))


def same(one: Result, other: Result) -> bool:
    return (
        one.labels == other.labels
        and one.samples_per_arm == other.samples_per_arm
        and np.array_equal(one.evidence.strength, other.evidence.strength, equal_nan=True)
        and all(np.array_equal(one.samples[name], other.samples[name]) for name in one.names)
    )


def run(arms: Any, **settings: Any) -> Result:
    usual: dict[str, Any] = {"n_clusters": 3, "seed": 5, "strategy": "kabc", "progress": False}
    return kabc.cluster(arms, **(usual | settings))
