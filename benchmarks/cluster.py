"""Executors side by side: two workers against one, what a draw costs beside drawing, and a worker that is killed.

    python -m benchmarks.cluster [--draws 200] [--milliseconds 5] [--rounds 5] [--without ray,dask]

Draws go through kabc's own loop, without a strategy: a round of `--draws` arms, one sample each. A draw burns so many
milliseconds of processor time, so that a busy machine does not make it shorter. "joblib" is not kabc: the same draws as
`joblib.Parallel` makes them, one task each, batched as joblib likes. All take turns, `--rounds` times, and the table
has the medians. The overhead is what a draw that computes nothing costs, all told, divided by the number of draws. In
the last column a worker is killed (SIGKILL) while a round is drawn: what that round takes more than usual, and whether
its samples are the same. Ray and joblib are left out where they are not installed.
"""

from __future__ import annotations

import argparse
import importlib.util
import logging
import os
import signal
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from typing import Any

import numpy as np

from kabc.core.arrays import Array
from kabc.running.engines.base import engine_of
from kabc.running.progress import Ticker
from kabc.running.shift import Shift
from kabc.running.sources import Sources
from kabc.running.workers import Place
from kabc.study.private import PrivateLedger
from kabc.study.tickets import rng_of

SEED = 0
Rows = dict[int, list[float]]


def burn(n: int, rng: np.random.Generator, seconds: float) -> Array:
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass
    return rng.normal(size=n)


def alone(arm: int, number: int, seconds: float) -> list[float]:
    """The same draw without kabc."""
    return [float(one) for one in burn(1, rng_of(SEED, arm, number), seconds)]


class Loop:
    """Rounds of draws on an executor, one after the other, as a run makes them."""

    def __init__(self, executor: Any, n_arms: int, seconds: float) -> None:
        self._sources = Sources([partial(burn, seconds=seconds)] * n_arms, None, SEED)
        self._sources.workers = Place(None, engine_of(executor), "redraw").workers_for(self._sources.arms)
        self._ledger = PrivateLedger(self._sources.facts, SEED)
        self._shift = Shift(self._ledger, self._sources, Ticker(False), lambda: 0)
        self._request = dict.fromkeys(range(n_arms), 1)
        self._number = 0

    def __call__(self) -> Rows:
        self._number += 1
        before = [self._number - 1] * len(self._request)
        while (rows := self._ledger.round(self._number, self._request, before)) is None:
            self._shift.work()
        return {arm: np.concatenate(pieces).ravel().tolist() for arm, pieces in rows.items()}

    def close(self) -> None:
        self._sources.close()


@dataclass(frozen=True)
class Way:
    """One way to draw: a function that makes loops, how many workers it has, and their processes."""

    name: str
    workers: int
    loop: Callable[[int, float], Callable[[], Rows]]
    pids: Callable[[], list[int]] | None = None  # None: nobody is killed there


def joblib_loop(pool: Any, n_arms: int, seconds: float) -> Callable[[], Rows]:
    from joblib import delayed

    numbers = iter(range(1, 10**9))

    def draw() -> Rows:
        number = next(numbers)
        return dict(enumerate(pool(delayed(alone)(arm, number, seconds) for arm in range(n_arms))))

    return draw


@contextmanager
def places(without: set[str]) -> Iterator[list[Way]]:
    """All ways to draw, each with one and with two workers, started and warm."""
    with ExitStack() as stack:
        found = [Way("plain loop", 1, partial(Loop, None))]
        for workers in (1, 2):
            pool = stack.enter_context(ProcessPoolExecutor(workers, get_context("spawn")))
            found.append(Way("process pool", workers, partial(Loop, pool), partial(_children, pool)))
            for name, add in (("joblib", _joblib), ("dask", _dask), ("ray", _ray)):
                if name not in without and importlib.util.find_spec("distributed" if name == "dask" else name):
                    found += add(stack, workers)
        names = list(dict.fromkeys(way.name for way in found))
        yield sorted(found, key=lambda way: names.index(way.name))


def _children(pool: ProcessPoolExecutor) -> list[int]:
    return list(pool._processes)


def _joblib(stack: ExitStack, workers: int) -> list[Way]:
    from joblib import Parallel

    pool = stack.enter_context(Parallel(n_jobs=workers, backend="loky"))
    return [Way("joblib", workers, partial(joblib_loop, pool))]


def _dask(stack: ExitStack, workers: int) -> list[Way]:
    from distributed import Client, LocalCluster

    settings = {"threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "host": "127.0.0.1", "memory_limit": 0}
    cluster = stack.enter_context(LocalCluster(n_workers=workers, silence_logs=logging.CRITICAL, **settings))
    client = stack.enter_context(Client(cluster, set_as_default=False))
    return [Way("Dask", workers, partial(Loop, client), lambda: list(client.run(os.getpid).values()))]


def _ray(stack: ExitStack, workers: int) -> list[Way]:
    import ray

    if workers == 1:  # one Ray in a process: it has two workers alone
        return []
    ray.init(num_cpus=workers, include_dashboard=False, log_to_driver=False, configure_logging=False)
    stack.callback(ray.shutdown)
    return [Way("Ray", workers, partial(Loop, ray))]


# ------------------------------------------------------------ measure


def seconds_of(draw: Callable[[], Rows]) -> float:
    started = time.perf_counter()
    draw()
    return time.perf_counter() - started


def turns(loops: list[Callable[[], Rows]], rounds: int) -> list[float]:
    """The median time of a round of each, after one to warm up."""
    for loop in loops:
        loop()
    times = [[seconds_of(loop) for loop in loops] for _ in range(rounds)]
    return [statistics.median(column) for column in zip(*times, strict=True)]


def killed(place: Way, n_arms: int, seconds: float, usual: float, expected: list[Rows]) -> str:
    """A worker is killed in the middle of the second round."""
    if place.pids is None:
        return ""
    loop = place.loop(n_arms, seconds)
    first, pids = loop(), place.pids()
    threading.Timer(usual / 3, os.kill, (pids[0], signal.SIGKILL)).start()
    started = time.perf_counter()
    second = loop()
    more = time.perf_counter() - started - usual
    return f"{more:+.1f} s, {'same' if [first, second] == expected else 'OTHER'} samples"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--milliseconds", type=float, default=5.0)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--without", default="", help="joblib, dask, ray")
    given = parser.parse_args()
    n_arms, seconds = given.draws, given.milliseconds / 1000
    with places(set(given.without.split(","))) as found:
        working = turns([place.loop(n_arms, seconds) for place in found], given.rounds)
        empty = turns([place.loop(n_arms, 0.0) for place in found], given.rounds)
        usual = Loop(None, n_arms, seconds)
        expected = [usual(), usual()]
        of_one = {place.name: wall for place, wall in zip(found, working, strict=True) if place.workers == 1}
        print(
            f"{n_arms} draws of {given.milliseconds:g} ms, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}\n"
        )
        print("| executor | workers | a round | speed-up over one worker | overhead of a draw | a worker killed |")
        print("|---|---|---|---|---|---|")
        for place, wall, idle in zip(found, working, empty, strict=True):
            gain = f"{of_one[place.name] / wall:.2f}" if place.workers > 1 and place.name in of_one else ""
            loss = killed(place, n_arms, seconds, wall, expected) if place.workers > 1 else ""
            print(
                f"| {place.name} | {place.workers} | {wall:.2f} s | {gain} | {1000 * idle / n_arms:.2f} ms | {loss} |"
            )


if __name__ == "__main__":
    main()
