"""Runs whose processes are killed with SIGKILL, at any moment, and then started again by the same line."""

from __future__ import annotations

import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from benchmarks.durable.processes import start
from benchmarks.durable.seen import Seen
from benchmarks.durable.subject import Left, left, n_calls, run, run_and_die, statements

PATIENCE = 240.0  # seconds for one run: longer is a hang


@dataclass(frozen=True)
class Bench:
    """Where the runs are made: a folder for what the arms write down, and a store for each study."""

    home: Path
    place: Callable[[str], str]  # name of a study -> its store
    draw: float = 0.03  # seconds: so that many accidents meet a draw

    def calls(self, name: str) -> Path:
        return self.home / f"calls-{name}"

    def start(self, name: str, count: int = 1) -> list[ForkServerProcess]:
        """So many processes that run the line."""
        given = self.place(name), name, self.calls(name), self.draw
        return [start(run, *given, log=self.home / "errors") for _ in range(count)]

    def left(self, name: str) -> Left:
        return left(self.place(name), name, self.calls(name))


@dataclass(frozen=True)
class Whole:
    """The run that nobody disturbs."""

    left: Left
    statements: int  # moments at which a process can be killed while it talks to the store


def whole(bench: Bench) -> Whole:
    """Run it once, alone."""
    said = bench.home / "statements"
    together([start(statements, bench.place("whole"), "whole", bench.calls("whole"), bench.draw, said)])
    found = bench.left("whole")
    if found.faults(found) or found.state != "ended" or found.n_draws != n_calls(bench.calls("whole")):
        raise RuntimeError(f"the run is not right without an accident: {found}")
    return Whole(found, int(said.read_text()))


def together(processes: Sequence[ForkServerProcess]) -> list[int | None]:
    """Wait for all of them; their exit codes. One that hangs is killed."""
    end = time.monotonic() + PATIENCE
    for process in processes:
        process.join(max(0.0, end - time.monotonic()))
        if process.is_alive():
            process.kill()
            process.join()
    return [process.exitcode for process in processes]


def kills(bench: Bench, right: Whole, where: str, workers: int, count: int, seed: int) -> list[Seen]:
    """One row for kills at any time of the run, one for kills while a process talks to the store."""
    rng, rows = random.Random(seed), []
    seconds = _undisturbed(bench, right, workers)
    for kind in ("any time", "in a transaction"):
        tried, good, wrong, again = 0, 0, Counter[str](), 0
        for number in range(10 * count):
            if tried == (count + 1) // 2:
                break
            name = f"{kind[:3]}-{workers}-{number}"
            if kind == "any time":
                killed = _at_any_time(bench, name, workers, rng, seconds)
            else:
                killed = _in_a_transaction(bench, name, workers, rng, right.statements)
            if not killed:
                continue  # it had ended before
            tried += 1
            faults = _resumed(bench, right, name)
            wrong.update(faults)
            good += not faults
            again += n_calls(bench.calls(name)) - right.left.n_draws
            print(f"{where}, {workers} workers: kill {tried} {kind}, {good} right", file=sys.stderr, flush=True)
        said = f"{dict(wrong) or 'same asks, samples, evidence, labels; 0 lost, 0 twice'}; {again} of "
        said += f"{tried * right.left.n_draws:,} draws made again"
        rows.append(Seen(f"kill -9, {kind}", f"{where}, {workers} worker{'s' * (workers > 1)}", tried, good, said))
    return rows


def _undisturbed(bench: Bench, right: Whole, workers: int) -> float:
    """Seconds of a run with so many workers, which must give the same."""
    name, began = f"undisturbed-{workers}", time.perf_counter()
    _go_on(bench, name, (), workers)
    took = time.perf_counter() - began
    if faults := _resumed(bench, right, name):
        raise RuntimeError(f"{workers} workers differ from one: {faults}")
    return took


def _at_any_time(bench: Bench, name: str, workers: int, rng: random.Random, seconds: float) -> bool:
    """Kill some of the processes, or all; whether any was still there. The others go on."""
    processes = bench.start(name, workers)
    time.sleep(rng.uniform(0, seconds))
    chosen = rng.sample(processes, rng.randint(1, workers))
    for process in chosen:
        process.kill()
    for process in chosen:
        process.join()
    killed = sum(process.exitcode == -signal.SIGKILL for process in chosen)
    _go_on(bench, name, [process for process in processes if process not in chosen], killed)
    return killed > 0


def _in_a_transaction(bench: Bench, name: str, workers: int, rng: random.Random, moments: int) -> bool:
    moment = rng.randint(1, max(1, moments // workers))
    given = bench.place(name), name, bench.calls(name), bench.draw, moment
    victim, others = start(run_and_die, *given, log=bench.home / "errors"), bench.start(name, workers - 1)
    together([victim])
    killed = victim.exitcode == -signal.SIGKILL
    _go_on(bench, name, others, int(killed))
    return killed


def _go_on(bench: Bench, name: str, alive: Sequence[ForkServerProcess], killed: int) -> None:
    """As many new processes as were killed."""
    codes = together([*alive, *bench.start(name, killed)])
    if any(codes):
        (bench.home / f"failed-{name}").write_text(str(codes))


def _resumed(bench: Bench, right: Whole, name: str) -> list[str]:
    failed = ["exit code"] if (bench.home / f"failed-{name}").exists() else []
    return failed + bench.left(name).faults(right.left)
