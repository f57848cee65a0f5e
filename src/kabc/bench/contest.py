"""Runs all strategies on all instances. It can be resumed, makes runs in parallel, and uses the same seeds for all.

Every run is one line of `runs.jsonl`, written as soon as the run ends. Runs found in this file are not repeated.

Strategies with one round have no rule for the number of samples. The contest looks for the smallest number on a grid
that is wrong in at most delta of the runs. This takes knowledge of the truth, so it is called an oracle budget.

Useless runs are avoided. A strategy without an answer in its first three runs on an instance gets no further runs
there. A number of samples that is already wrong too often gets no further runs either.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from kabc.bench.field import code_of, resolved
from kabc.bench.instances import Instance, load_instances
from kabc.bench.play import ANSWERED, FAILED, IN_TIME, UNFIT, Job, Outcome, fingerprint
from kabc.bench.processes import Run, known_instances, runner
from kabc.bench.runlog import RunLog
from kabc.bench.suites import SUITES
from kabc.core.errors import SettingsError
from kabc.core.settings import error_probability, whole_number
from kabc.core.words import did_you_mean
from kabc.running.interrupts import sigterm_interrupts
from kabc.running.progress import Progress, Ticker
from kabc.strategies.entry import StrategyEntry

GRID = tuple(round(2 ** (k / 2)) for k in range(2, 31))  # 2, 3, 4, 6, 8, 11, 16, ...: samples of each arm
_FIRST = 3  # after this many runs, decide whether more are useful


@dataclass(frozen=True)
class Contest:
    """What is compared: instances and strategies, and the limits of each run."""

    instances: tuple[str, ...]
    strategies: tuple[str, ...]  # names, names with options, or file.py:Name (see field.py); empty means all
    runs: int = 10
    delta: float = 0.1
    cap: int | None = None  # total samples; None: each instance has its own cap
    limit: float = 60.0  # seconds of computing
    file: str | None = None  # Python file with the user's own instances

    def __post_init__(self) -> None:
        whole_number("runs", self.runs, 1)
        error_probability(self.delta)
        known = self.known()
        for name in self.instances:
            if name not in known:
                raise SettingsError(
                    f"there is no instance {name!r}; {did_you_mean(name, known)}there are {', '.join(known)}"
                )
        _ = self.specs  # unknown strategies are refused here

    @classmethod
    def of(
        cls, names: Iterable[str], strategies: Iterable[str], *, file: str | None = None, **settings: Any
    ) -> Contest:
        """A contest from names of suites and instances. Without names: all instances of the file if given, else all."""
        own = load_instances(file) if file is not None else {}
        chosen: list[str] = []
        for name in names or (own if own else SUITES):
            chosen += [one.name for one in SUITES[name]] if name in SUITES and name not in own else [name]
        return cls(tuple(dict.fromkeys(chosen)), tuple(strategies), file=file, **settings)

    def known(self) -> Mapping[str, Instance]:
        """All known instances. An instance of the file replaces another one of the same name."""
        return known_instances(self.file)

    @cached_property
    def specs(self) -> Mapping[str, tuple[str, StrategyEntry]]:
        """Name in tables -> the text that the user wrote, and the entry of the strategy."""
        return resolved(self.strategies)

    def suite(self, instance: str) -> str:
        """The suite of an instance, or the name of the file that it comes from."""
        own = self.file is not None and instance in load_instances(self.file)
        return Path(str(self.file)).stem if own else next(s for s, all_ in SUITES.items() if instance in _names(all_))

    def first_jobs(self) -> Iterator[Job]:
        """The jobs that are known before any run."""
        known = self.known()
        for name in self.instances:
            mark, cap = fingerprint(known[name]), known[name].cap if self.cap is None else self.cap
            for strategy, (_, entry) in self.specs.items():
                n, code = GRID[0] if entry.bench.one_round else None, code_of(entry, known[name])
                yield from self._seeds(Job(name, mark, strategy, code, 0, self.delta, cap, self.limit, n), 0, _FIRST)

    def _seeds(self, job: Job, start: int, stop: int) -> Iterator[Job]:
        for seed in range(start, min(stop, self.runs)):
            yield replace(job, seed=seed)

    def next_jobs(self, found: Mapping[Job, Outcome]) -> Iterator[Job]:
        """The jobs that are useful after these outcomes: more seeds, or more samples for strategies with one round."""
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
    """The number of runs that were wrong or had no answer."""
    return len(outcomes) - sum(outcome.status in ANSWERED and not outcome.wrong for outcome in outcomes)


def _names(instances: Sequence[Instance]) -> list[str]:
    return [one.name for one in instances]


def run_contest(contest: Contest, log: RunLog, *, workers: int = 1, progress: Progress = None) -> dict[Job, Outcome]:
    """Make the missing runs, and return all runs of the contest."""
    show = Ticker(progress)
    found: dict[Job, Outcome] = {}
    with sigterm_interrupts(), runner(workers, contest.file, contest.specs) as run:
        wave = list(contest.first_jobs())
        while wave:
            found |= _made(wave, log, run, show, len(found))
            wave = list(contest.next_jobs(found))
    show.done()
    return found


def _made(wave: list[Job], log: RunLog, run: Run, show: Ticker, before: int) -> dict[Job, Outcome]:
    missing = [job for job in wave if job not in log.done]
    started, made, total = time.monotonic(), 0, before + len(wave)

    def doing(job: Job) -> None:
        left = f", about {(time.monotonic() - started) / made * (len(missing) - made):,.0f} s left" if made else ""
        show(f"{total - len(missing) + made:,} of {total:,} runs{left}; now {job.strategy} on {job.instance}")

    for job, outcome in run(missing, doing):
        log.add(job, outcome)
        made += 1
    return {job: log.done[job] for job in wave}
