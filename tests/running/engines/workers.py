"""The workers of a cluster of Dask, for tests: who they are, and that each has what it was given."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


def pids(client: Any) -> set[int]:
    return set(client.run(os.getpid).values())


@contextmanager
def nobody_steals(client: Any) -> Iterator[None]:
    """Idle workers take nothing from busy ones: they would in the end, too late for quick tasks."""

    async def stop(dask_scheduler: Any) -> None:
        await dask_scheduler.extensions["stealing"].stop()

    async def start(dask_scheduler: Any) -> None:
        await dask_scheduler.extensions["stealing"].start()

    client.run_on_scheduler(stop)
    try:
        yield
    finally:
        client.run_on_scheduler(start)
