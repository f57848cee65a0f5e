"""Real processes that are quick to start: they are forked from a server that has imported everything already."""

from __future__ import annotations

import multiprocessing
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path
from typing import Any

LOADED = ["benchmarks.durable.processes", "kabc", "numpy", "sqlalchemy", "alembic"]  # by the server, when it starts


def context() -> ForkServerContext:
    made = multiprocessing.get_context("forkserver")
    made.set_forkserver_preload(LOADED)
    return made


def start(job: Callable[..., object], *given: Any, log: Path | None = None) -> ForkServerProcess:
    """A process that runs `job(*given)`. With `log`, an error is written there instead of to the terminal."""
    process = context().Process(target=_guarded, args=(job, given, log), daemon=True)
    process.start()
    return process


def _guarded(job: Callable[..., object], given: Sequence[Any], log: Path | None) -> None:
    if log is None:
        job(*given)
        return
    try:
        job(*given)
    except Exception:  # the process is judged by what it leaves behind
        with log.open("a") as file:
            file.write(traceback.format_exc())
        raise SystemExit(1) from None


@contextmanager
def all_of(job: Callable[..., object], each: Sequence[tuple[Any, ...]]) -> Iterator[list[ForkServerProcess]]:
    """One process for each tuple of arguments; none of them outlives the block."""
    processes = [start(job, *given) for given in each]
    try:
        yield processes
    finally:
        for process in processes:
            process.kill()
            process.join()
