"""A value on all workers of a cluster of Dask, and tasks on it that are shared out evenly.

Dask gives a task to a worker that has what the task needs. A value that is sent once lies on one worker, so that this
one would get all tasks. Other workers would get a copy only when they steal a task, and Dask takes copies away again
when nobody uses them. So each worker has a value of its own here, made from the first one, and a task is sent to the
worker that has least to do. This is a wish: where the worker is gone, or busy with something else, Dask takes another.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any

import dask
from distributed import Client

_GONE = ("lost", "cancelled", "error")


class Spread:
    """A value that goes to each worker once."""

    def __init__(self, client: Client, value: Any) -> None:
        self._client, self._value = client, value
        self._first: Any = None  # a future of the value
        self._copies: dict[str, Any] = {}  # by worker
        self._under_way: Counter[str | None] = Counter()  # tasks, by worker
        self._lock = Lock()  # tasks end in another thread

    def submit(
        self, threads: Mapping[str, int], function: Callable[..., Any], *arguments: Any, key: str
    ) -> tuple[Any, str | None]:
        """A future of function(value, *arguments), and the worker it is meant for. `threads`: of all workers."""
        if self._first is None or self._first.status in _GONE:
            self._first, self._copies = sent_once(self._client, self._value), {}
        self._copies = {worker: one for worker, one in self._copies.items() if worker in threads}
        with self._lock:
            worker = min(threads, key=lambda one: self._under_way[one] / threads[one], default=None)
            self._under_way[worker] += 1
        if worker is None:  # nobody is there yet
            return submit(self._client, function, self._first, *arguments, key=key), None
        wish = {"workers": [worker], "allow_other_workers": True}
        if worker not in self._copies or self._copies[worker].status in _GONE:
            self._copies[worker] = submit(self._client, _same, self._first, key=new_key("copy"), **wish)
        return submit(self._client, function, self._copies[worker], *arguments, key=key, **wish), worker

    def done(self, worker: str | None) -> None:
        """A task has ended that was meant for this worker."""
        with self._lock:
            self._under_way[worker] -= 1


def sent_once(client: Client, value: Any) -> Any:
    """A future of a value on the cluster. Dask can repeat it, whereas scattered data is lost with its last worker."""
    return submit(client, _same, value, key=new_key("value"))


def new_key(kind: str) -> str:
    """A key that no other task has. Dask learns how long tasks of a kind take."""
    return f"kabc-{kind}-{uuid.uuid4().hex}"


def submit(client: Client, function: Callable[..., Any], *arguments: Any, key: str, **where: Any) -> Any:
    """A future of a call that is made once, and not again where it fails. What it needs may be large."""
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
        return client.submit(function, *arguments, key=key, pure=False, retries=0, **where)


def _same(value: Any) -> Any:
    return value
