"""All strategies on all instances: resumable, in parallel over runs, the same seeds for all.

Every run is one line of `runs.jsonl`, written as soon as it ends; what is there is not run again. Strategies of one
round have no rule for the number of samples: theirs is the smallest on a grid that is wrong in at most delta of the
runs, which only somebody who knows the truth can find (an oracle budget).

Nothing is run for its own sake: a strategy that had no answer in the first three runs on an instance gets no more of
them, nor does a number of samples that is already wrong too often.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cache
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from kabc.bench.contestants import CONTESTANTS
from kabc.bench.instances import Instance, load_instances
from kabc.bench.play import ANSWERED, FAILED, IN_TIME, UNFIT, Job, Outcome, fingerprint, play
from kabc.bench.suites import INSTANCES, SUITES
from kabc.core.errors import SettingsError
from kabc.core.settings import error_probability, whole_number
from kabc.running.progress import ShowLine, Ticker, sigterm_interrupts

GRID = tuple(round(2 ** (k / 2)) for k in range(2, 31))  # 2, 3, 4, 6, 8, 11, 16, ...: samples of each arm
_FIRST = 3  # runs, after which it is seen whether more make sense
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


@dataclass(frozen=True)
class Plan:
    """What is compared: instances, strategies, and how long each run may go on."""

    instances: tuple[str, ...]
    strategies: tuple[str, ...]
    runs: int = 10
    delta: float = 0.1
    cap: int | None = None  # samples in all; None: each instance has its own
    limit: float = 60.0  # seconds of computing
    file: str | None = None  # people's own instances

    def __post_init__(self) -> None:
        whole_number("runs", self.runs, 1)
        error_probability(self.delta)
        known = self.known()
        for name in self.instances:
            if name not in known:
                raise SettingsError(f"there is no instance {name!r}; there are {', '.join(known)}")
        for name in self.strategies:
            if name not in CONTESTANTS:
                raise SettingsError(f"there is no strategy {name!r}; there are {', '.join(CONTESTANTS)}")

    @classmethod
    def of(cls, names: Iterable[str], strategies: Iterable[str], *, file: str | None = None, **settings: Any) -> Plan:
        """From names of suites and instances; no names: all, or all of the file."""
        own = load_instances(file) if file is not None else {}
        chosen: list[str] = []
        for name in names or (own if own else SUITES):
            chosen += [one.name for one in SUITES[name]] if name in SUITES and name not in own else [name]
        return cls(tuple(dict.fromkeys(chosen)), tuple(strategies) or tuple(CONTESTANTS), file=file, **settings)

    def known(self) -> Mapping[str, Instance]:
        """All instances there are; those of the file hide others of the same name."""
        return _known(self.file)

    def suite(self, instance: str) -> str:
        """Where it comes from."""
        own = self.file is not None and instance in load_instances(self.file)
        return Path(str(self.file)).stem if own else next(s for s, all_ in SUITES.items() if instance in _names(all_))

    def first_jobs(self) -> Iterator[Job]:
        """All that are known beforehand."""
        known = self.known()
        for name in self.instances:
            mark, cap = fingerprint(known[name]), known[name].cap if self.cap is None else self.cap
            for strategy in self.strategies:
                n = GRID[0] if CONTESTANTS[strategy].one_round else None
                yield from self._seeds(Job(name, mark, strategy, 0, self.delta, cap, self.limit, n), 0, _FIRST)

    def _seeds(self, job: Job, start: int, stop: int) -> Iterator[Job]:
        for seed in range(start, min(stop, self.runs)):
            yield replace(job, seed=seed)

    def next_jobs(self, found: Mapping[Job, Outcome]) -> Iterator[Job]:
        """What is worth running after these: more seeds, or more samples of strategies with one round."""
        cells: dict[Job, dict[int | None, list[Outcome]]] = {}
        for job, outcome in found.items():
            cells.setdefault(replace(job, seed=0, n=None), {}).setdefault(job.n, []).append(outcome)
        for job, by_n in cells.items():
            n = max((n for n in by_n if n is not None), default=None)
            outcomes = by_n[n]
            if any(outcome.status in (UNFIT, FAILED, IN_TIME) for outcome in outcomes) and not _answers(outcomes):
                continue
            if n is None:
                if len(outcomes) < self.runs and _answers(outcomes):
                    yield from self._seeds(job, len(outcomes), self.runs)
            elif bad(outcomes) > self.delta * self.runs:
                larger = next((more for more in GRID if more > n), None)
                if larger is not None and larger * self.known()[job.instance].n_arms <= job.cap:
                    yield from self._seeds(replace(job, n=larger), 0, _FIRST)
            elif len(outcomes) < self.runs:
                yield from self._seeds(replace(job, n=n), len(outcomes), self.runs)


def _answers(outcomes: Sequence[Outcome]) -> int:
    return sum(outcome.status in ANSWERED for outcome in outcomes)


def bad(outcomes: Sequence[Outcome]) -> int:
    """Runs that were wrong or had no answer."""
    return len(outcomes) - sum(outcome.status in ANSWERED and not outcome.wrong for outcome in outcomes)


def _names(instances: Sequence[Instance]) -> list[str]:
    return [one.name for one in instances]


@cache
def _known(file: str | None) -> dict[str, Instance]:
    return INSTANCES | (load_instances(file) if file is not None else {})


class Store:
    """The runs of a folder, one JSON line each."""

    def __init__(self, folder: str | Path) -> None:
        self.path = Path(folder) / "runs.jsonl"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.done: dict[Job, Outcome] = {}
        kept = 0
        if self.path.exists():
            for number, line in enumerate(self.path.read_bytes().splitlines(keepends=True), 1):
                if not line.endswith(b"\n"):
                    break  # cut off when a run was killed: it is made again
                self._take(line, number)
                kept += len(line)
            os.truncate(self.path, kept)

    def _take(self, line: bytes, number: int) -> None:
        try:
            row = json.loads(line)
            self.done[Job(**row["job"])] = Outcome.of_row(row["outcome"])
        except (ValueError, TypeError, KeyError) as error:
            raise SettingsError(
                f"{self.path}, line {number}, is not a run of kabc bench ({error}); choose another folder"
            ) from error

    def add(self, job: Job, outcome: Outcome) -> None:
        """Keep it, on disk first."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"job": asdict(job), "outcome": outcome.as_row()}) + "\n")
        self.done[job] = outcome


def compare(plan: Plan, store: Store, *, workers: int = 1, progress: bool | ShowLine = True) -> dict[Job, Outcome]:
    """Make the runs that are not there yet, and return all of the plan."""
    show = Ticker(progress)
    found: dict[Job, Outcome] = {}
    with sigterm_interrupts(), _runner(workers, plan.file) as run:
        wave = list(plan.first_jobs())
        while wave:
            found |= _made(wave, store, run, show, len(found))
            wave = list(plan.next_jobs(found))
    show.done()
    return found


def _made(wave: list[Job], store: Store, run: _Run, show: Ticker, before: int) -> dict[Job, Outcome]:
    missing = [job for job in wave if job not in store.done]
    started, made, total = time.monotonic(), 0, before + len(wave)

    def doing(job: Job) -> None:
        left = f", about {(time.monotonic() - started) / made * (len(missing) - made):,.0f} s left" if made else ""
        show(f"{total - len(missing) + made:,} of {total:,} runs{left}; now {job.strategy} on {job.instance}")

    for job, outcome in run(missing, doing):
        store.add(job, outcome)
        made += 1
    return {job: store.done[job] for job in wave}


# ---------------------------------------------------------------- processes


class _Run:
    """Runs jobs here, or in several processes with one thread each; results as they come."""

    def __init__(self, pool: ProcessPoolExecutor | None, file: str | None, workers: int) -> None:
        self._pool, self._file, self._workers = pool, file, workers

    def __call__(self, jobs: Iterable[Job], doing: Callable[[Job], None]) -> Iterator[tuple[Job, Outcome]]:
        if self._pool is None:
            for job in jobs:
                doing(job)
                yield job, _play(job, self._file)
            return
        queue = iter(jobs)
        running: dict[Future[Outcome], Job] = {}
        while True:
            for job in queue:
                running[self._pool.submit(_play, job, self._file)] = job
                if len(running) >= 2 * self._workers:
                    break
            if not running:
                return
            doing(next(iter(running.values())))
            for future in wait(running, timeout=1.0, return_when=FIRST_COMPLETED).done:
                yield running.pop(future), future.result()


@contextmanager
def _runner(workers: int, file: str | None) -> Iterator[_Run]:
    if workers == 1:
        from threadpoolctl import threadpool_limits

        with threadpool_limits(1, user_api="blas"):
            yield _Run(None, file, 1)
        return
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ |= dict.fromkeys(_THREADS, "1")
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), initializer=_serve)
    try:
        yield _Run(pool, file, workers)
    except BaseException:
        for child in multiprocessing.active_children():  # nobody waits for the rest of their runs
            child.terminate()
        raise
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for name, value in before.items():
            os.environ.pop(name, None) if value is None else os.environ.update({name: value})


def _serve() -> None:
    """Ctrl-C reaches all processes of a terminal, but the first one ends the others; if it dies, they end too."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(multiprocessing.parent_process(),), daemon=True).start()


def _end_with(parent: BaseProcess | None) -> None:
    if parent is not None:
        parent.join()
    os._exit(1)


def _play(job: Job, file: str | None) -> Outcome:
    return play(job, _known(file)[job.instance])
