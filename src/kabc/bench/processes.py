"""Makes the runs of a contest, in this process or in several processes with one thread each."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from multiprocessing.process import BaseProcess

from kabc.bench.field import resolve
from kabc.bench.instances import Instance, load_instances
from kabc.bench.play import Job, Outcome, play
from kabc.bench.suites import INSTANCES
from kabc.core.errors import SettingsError
from kabc.strategies.entry import StrategyEntry
from kabc.strategies.registry import REGISTRY, register_strategy

Specs = Mapping[str, tuple[str, StrategyEntry]]  # name in tables -> text that the user wrote, and entry

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


@cache
def known_instances(file: str | None) -> dict[str, Instance]:
    """All known instances. An instance of the file replaces another one of the same name."""
    return INSTANCES | (load_instances(file) if file is not None else {})


class Run:
    """Runs jobs in this process or in several processes with one thread each. Yields results as they arrive."""

    def __init__(self, pool: ProcessPoolExecutor | None, file: str | None, specs: Specs, workers: int) -> None:
        self._pool, self._file, self._specs, self._workers = pool, file, specs, workers

    def __call__(self, jobs: Iterable[Job], doing: Callable[[Job], None]) -> Iterator[tuple[Job, Outcome]]:
        if self._pool is None:
            for job in jobs:
                doing(job)
                yield job, _play(job, self._file, self._specs[job.strategy][0])
            return
        queue = iter(jobs)
        running: dict[Future[Outcome], Job] = {}
        while True:
            for job in queue:
                spec = self._specs[job.strategy][0]
                running[self._pool.submit(_play, job, self._file, spec)] = job
                if len(running) >= 2 * self._workers:
                    break
            if not running:
                return
            doing(next(iter(running.values())))
            for future in wait(running, timeout=1.0, return_when=FIRST_COMPLETED).done:
                yield running.pop(future), future.result()


@contextmanager
def runner(workers: int, file: str | None, specs: Specs) -> Iterator[Run]:
    """A runner with one process, or with several that end together with it."""
    if workers == 1:
        from threadpoolctl import threadpool_limits

        with threadpool_limits(1, user_api="blas"):
            yield Run(None, file, specs, 1)
        return
    registered = _sendable(specs)
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ |= dict.fromkeys(_THREADS, "1")
    pool = ProcessPoolExecutor(
        workers, multiprocessing.get_context("spawn"), initializer=_serve, initargs=(registered,)
    )
    try:
        yield Run(pool, file, specs, workers)
    except BaseException:
        for child in multiprocessing.active_children():  # their remaining runs are not needed
            child.terminate()
        raise
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for name, value in before.items():
            os.environ.pop(name, None) if value is None else os.environ.update({name: value})


def _serve(registered: bytes) -> None:
    """Ignore Ctrl-C here: it reaches all processes, and the first one ends the others. End if the first one dies."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for entry in pickle.loads(registered):
        register_strategy(entry)
    threading.Thread(target=_end_with, args=(multiprocessing.parent_process(),), daemon=True).start()


def _end_with(parent: BaseProcess | None) -> None:
    if parent is not None:
        parent.join()
    os._exit(1)


def _play(job: Job, file: str | None, spec: str) -> Outcome:
    return play(job, known_instances(file)[job.instance], resolve(spec))


def _sendable(specs: Specs) -> bytes:
    """Strategies registered in this process, to be sent to the others. These find names and files by themselves."""
    names = {name.partition("[")[0] for name in specs}
    entries = [entry for name, entry in REGISTRY.registered.items() if name in names]
    try:
        return pickle.dumps(entries)
    except Exception as error:  # pickle raises many kinds
        raise SettingsError(
            f"the registered strategies cannot be sent to other processes ({error}); use workers=1, or put the "
            "strategy into a Python file and name it file.py:Name"
        ) from None
