"""One run of one strategy on one instance. Every sample is counted.

All strategies see the same samples. The samples of an arm come from a stream that depends only on the seed and the
arm. The number of samples in a request and the time of the request have no effect on them.
"""

from __future__ import annotations

import signal
import threading
import time
from dataclasses import asdict, dataclass
from types import FrameType
from typing import Any, Self, get_type_hints

import numpy as np
from numpy.typing import NDArray

from kabc.bench.instances import Instance
from kabc.bench.laws import Draw
from kabc.core.arrays import Array
from kabc.core.kernels import Gaussian, Hamming, Kernel
from kabc.core.partitions import Partition
from kabc.running.loop import Loop, blas_threads
from kabc.strategies.base import Request, Strategy
from kabc.strategies.entry import StrategyEntry, UnfitError

PILOT = 20  # samples of each arm, as in kabc.cluster
AT_CAP, IN_TIME, UNFIT, FAILED = "no stop at cap", "no stop in time", "unfit", "failed"
ANSWERED = ("decided", "stopped", "contradicted")

_BLOCK = 2**15  # a stream draws this many numbers at a time


class Stream:
    """The samples of one arm, in a fixed order."""

    def __init__(self, draw: Draw, seed: int, arm: int) -> None:
        self._draw, self._rng = draw, np.random.default_rng([seed, arm])
        self._left: Array = draw(1, self._rng)  # the first sample shows the number of columns
        self._rows = max(1, min(256, _BLOCK // self._left.shape[1]))

    def next(self, n: int) -> Array:  # (n, d)
        """The next n samples."""
        blocks, held = [self._left], len(self._left)
        while held < n:
            blocks.append(self._draw(self._rows, self._rng))
            held += self._rows
        rows = np.concatenate(blocks)
        self._left = rows[n:]
        return rows[:n]


@dataclass(frozen=True)
class Job:
    """What identifies a run. It prevents making the same run twice."""

    instance: str
    fingerprint: str  # of the instance: a changed instance of the same name is another job
    strategy: str
    code: str  # fingerprint of the strategy and its settings: a change makes another job
    seed: int
    delta: float
    cap: int  # total samples
    limit: float  # seconds of computing
    n: int | None = None  # samples of each arm, for strategies with one round

    @classmethod
    def of_row(cls, row: dict[str, Any]) -> Self:
        """Read a job from a line of the file; ValueError, TypeError or KeyError if it is none."""
        return cls(**_typed(cls, row))


@dataclass(frozen=True)
class Outcome:
    """How a run ended."""

    status: str  # status of the strategy, or one of the words above
    wrong: bool
    samples: int
    queries: int | None = None  # queries of single features, if the strategy counts them
    seconds: float = 0.0  # computing time of the strategy
    note: str = ""

    @classmethod
    def of_row(cls, row: dict[str, Any]) -> Self:
        """Read an outcome from a line of the file; ValueError, TypeError or KeyError if it is none."""
        return cls(**_typed(cls, {name: row[name] for name in cls.__dataclass_fields__}))

    def as_row(self) -> dict[str, Any]:
        """The outcome as a line of the file."""
        return asdict(self)


def _typed(cls: type, row: dict[str, Any]) -> dict[str, Any]:
    """The fields as they were written, each of its type. A line of the file may say anything."""
    for name, kind in get_type_hints(cls).items():
        allowed = (int, float) if kind is float else kind
        if name in row and (not isinstance(row[name], allowed) or (kind is not bool and isinstance(row[name], bool))):
            raise TypeError(f"{name} is {row[name]!r}")
    return row


def fingerprint(instance: Instance) -> str:
    """A fingerprint of the truth and of the first samples of each law."""
    import hashlib

    rng = np.random.default_rng(0)
    digest = hashlib.sha256(repr(instance.labels).encode())
    for law in instance.laws:
        digest.update(np.ascontiguousarray(law.draw(3, rng)).tobytes())
    return digest.hexdigest()[:12]


def play(job: Job, instance: Instance, entry: StrategyEntry) -> Outcome:
    """Run a job until it stops or reaches the cap or the time limit. An error ends only this run, not later ones."""
    clock = _Clock(job.limit)
    game: _Play | None = None
    try:
        game = _Play(job, instance, entry)
        with clock:
            return game.outcome()
    except UnfitError as error:
        return Outcome(UNFIT, False, 0, note=str(error))
    except Exception as error:
        if clock.rang and game is not None:  # compiled code may turn it into an error of another name
            return Outcome(IN_TIME, False, game.counted, seconds=job.limit)
        return Outcome(FAILED, False, 0, note=f"{type(error).__name__}: {error}")


class _OutOfTimeError(Exception):
    pass


_AGAIN = 1.0  # seconds; an error that is raised while garbage is collected is lost


class _Clock:
    """Ends a run in the middle of a round if the system can measure computing time. Otherwise only between rounds."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._works = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
        self._usual: Any = None
        self.rang = False

    def __enter__(self) -> None:
        if self._works:
            self._usual = signal.signal(signal.SIGPROF, self._ring)
            signal.setitimer(signal.ITIMER_PROF, self._seconds, _AGAIN)

    def __exit__(self, *_: object) -> None:
        if self._works:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.signal(signal.SIGPROF, self._usual)

    def _ring(self, number: int, frame: FrameType | None) -> None:
        self.rang = True
        raise _OutOfTimeError


class _Play:
    def __init__(self, job: Job, instance: Instance, entry: StrategyEntry) -> None:
        setup = entry.bench
        if setup.by_means and instance.sigma is None:
            raise UnfitError("there is no standard deviation")
        if instance.n_arms > setup.most_arms:
            raise UnfitError(f"a round takes too long with more than {setup.most_arms:g} arms")
        self.job, self.entry = job, entry
        self.truth = Partition.of(instance.labels)
        self.instance = instance.standardised() if setup.by_means else instance
        self.options = setup.options(self.instance, job.seed)
        if job.n is not None:
            self.options["samples_per_arm"] = job.n
        self.own_kernel = setup.own_kernel
        self.streams = [Stream(draw, job.seed, arm) for arm, draw in enumerate(self.instance.arms)]
        self.counted = 0  # samples drawn
        self.seconds = 0.0
        self.told_at: float | None = None

    def outcome(self) -> Outcome:
        self.began = time.process_time()
        self.first, kernel = self._kernel()
        strategy = self.entry.build(
            self.instance.n_arms,
            self.instance.n_groups,
            self.job.delta,
            kernel,
            self.options,
        )
        loop = Loop(strategy, self._next, self._forbids)
        with blas_threads(strategy):
            for _ in loop:
                pass
            self._stop_watch()
        if loop.reason is not None:
            return self._ended(strategy, loop.reason)
        certified = strategy.recommend().certified
        status = "stopped" if strategy.status == "decided" and not certified else str(strategy.status)
        return self._ended(strategy, status)

    def _forbids(self, request: Request) -> str | None:
        self._stop_watch()
        if self.counted + (0 if self.first else sum(request.values())) > self.job.cap:
            return AT_CAP
        return IN_TIME if time.process_time() - self.began > self.job.limit else None

    def _next(self, request: Request) -> dict[int, NDArray[Any]]:
        samples, self.first = self.first or self._draw(request), None
        self.told_at = time.process_time()
        return samples

    def _stop_watch(self) -> None:
        """Count the time since the samples were drawn. The strategy used it to process them and choose the next."""
        if self.told_at is not None:
            self.seconds += time.process_time() - self.told_at
            self.told_at = None

    def _ended(self, strategy: Strategy, status: str) -> Outcome:
        found = status in ("decided", "stopped") and strategy.recommend().matches(self.truth)
        undecided = status in (AT_CAP, IN_TIME, "budget")
        queries = getattr(strategy, "n_queries", None)
        return Outcome(status, not (found or undecided), self.counted, queries, self.seconds)

    def _draw(self, request: Request) -> dict[int, NDArray[Any]]:
        self.counted += sum(request.values())
        return {arm: self.streams[arm].next(n) for arm, n in request.items()}

    def _kernel(self) -> tuple[dict[int, NDArray[Any]] | None, Kernel | None]:
        """The kernel, and the samples that chose it if the strategy uses them too."""
        if not self.entry.needs_kernel:
            return None, None
        if self.instance.symbols is not None:
            return None, Hamming()
        n = self.job.n if self.own_kernel and self.job.n is not None else PILOT
        seen = self._draw(dict.fromkeys(range(self.instance.n_arms), n))
        kernel = Gaussian.from_pilot(np.concatenate(list(seen.values())))
        return (seen if self.own_kernel else None), kernel
