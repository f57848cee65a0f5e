"""Makes the runs of a contest, in this process or in several processes with one thread each."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import cache, partial
from multiprocessing.process import BaseProcess

from kabc.bench.field import resolve
from kabc.bench.instances import Instance, load_instances
from kabc.bench.play import FAILED, Job, Outcome, play
from kabc.bench.suites import INSTANCES
from kabc.core.errors import SettingsError
from kabc.strategies.entry import StrategyEntry
from kabc.strategies.registry import REGISTRY, register_strategy

Specs = Mapping[str, tuple[str, StrategyEntry]]  # name in tables -> text that the user wrote, and entry

_LOOK_SECONDS = 1.0  # between two lines of progress
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


@cache
def known_instances(file: str | None) -> dict[str, Instance]:
    """All known instances. An instance of the file replaces another one of the same name."""
    return INSTANCES | (load_instances(file) if file is not None else {})


class Run:
    """Runs jobs in this process or in several processes with one thread each. Yields results as they arrive.

    A process that dies (killed, out of memory) breaks the pool, and all runs under way are lost with it. They are made
    again in a new pool, one at a time: so the run that kills its process is known. It has failed; the others go on.
    """

    def __init__(
        self, make_pool: Callable[[], ProcessPoolExecutor] | None, file: str | None, specs: Specs, workers: int
    ) -> None:
        self._make_pool, self._file, self._specs, self._workers = make_pool, file, specs, workers
        self._pool = None if make_pool is None else make_pool()

    def __call__(self, jobs: Iterable[Job], doing: Callable[[Job], None]) -> Iterator[tuple[Job, Outcome]]:
        if self._pool is None:
            for job in jobs:
                doing(job)
                yield job, _play(job, self._file, self._specs[job.strategy][0])
            return
        queue = deque(jobs)
        running: dict[Future[Outcome], Job] = {}
        while queue or running:
            try:
                while queue and len(running) < 2 * self._workers:
                    running[self._submit(queue[0])] = queue[0]
                    queue.popleft()
            except BrokenProcessPool:  # what is under way will say so; a process that died idle takes nothing with it
                if not running:
                    self._renew()
                    continue
            doing(next(iter(running.values())))
            ended, _ = wait(running, timeout=_LOOK_SECONDS, return_when=FIRST_COMPLETED)
            if any(isinstance(future.exception(), BrokenProcessPool) for future in ended):
                ended, _ = wait(running)  # the pool is broken: none of them goes on
            lost: list[Job] = []
            for future in ended:
                job = running.pop(future)
                if isinstance(future.exception(), BrokenProcessPool):
                    lost.append(job)
                else:
                    yield job, future.result()
            if lost:
                self._renew()
            for job in lost:
                doing(job)
                yield job, self._alone(job)

    def _submit(self, job: Job) -> Future[Outcome]:
        assert self._pool is not None
        return self._pool.submit(_play, job, self._file, self._specs[job.strategy][0])

    def _alone(self, job: Job) -> Outcome:
        """A run that may have killed its process. Once may be chance; a second time it has failed."""
        try:
            return self._submit(job).result()
        except BrokenProcessPool:
            self._renew()
            return Outcome(FAILED, False, 0, note="its process died twice: was it killed, or out of memory?")

    def _renew(self) -> None:
        assert self._make_pool is not None
        self.close()
        self._pool = self._make_pool()

    def close(self) -> None:
        """Leave no process behind."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)


@contextmanager
def runner(workers: int, file: str | None, specs: Specs) -> Iterator[Run]:
    """A runner with one process, or with several that end together with it."""
    if workers == 1:
        from threadpoolctl import threadpool_limits

        with threadpool_limits(1, user_api="blas"):
            yield Run(None, file, specs, 1)
        return
    before = {name: os.environ.get(name) for name in _THREADS}
    spawn = multiprocessing.get_context("spawn")
    make_pool = partial(ProcessPoolExecutor, workers, spawn, initializer=_serve, initargs=(_sendable(specs),))
    os.environ |= dict.fromkeys(_THREADS, "1")
    run = Run(make_pool, file, specs, workers)
    try:
        yield run
    except BaseException:
        for child in multiprocessing.active_children():  # their remaining runs are not needed
            child.terminate()
        raise
    finally:
        run.close()
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
