"""Chunks of draws: what is sent to an engine, what comes back, and how many draws go into one.

A chunk is drawn one after the other. Arms are unpickled anew for each draw: what an arm keeps from one draw to the next
would depend on which worker drew what.
"""

from __future__ import annotations

import pickle
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from numpy.typing import ArrayLike, NDArray

from kabc.arms.base import Arm
from kabc.core.errors import ArmError, KabcError
from kabc.core.samples import as_rows, two_dimensional
from kabc.running.loop import one_blas_thread
from kabc.study.tickets import rng_of

_CHUNK_SECONDS = 0.05, 0.25  # of drawing: more than sending it takes, and short enough to share out the work
_MOST_DRAWS = 1000  # in one chunk
_QUICK_SECONDS = 1.0  # a worker that draws longer has no next chunk waiting: somebody else could be idle


@dataclass(frozen=True)
class Job:
    """One draw, as it is sent: number of the arm, number of samples, seed and keys of its random numbers."""

    arm: int
    count: int
    seed: int
    keys: tuple[tuple[int, ...], ...]

    def draw(self, arm: Arm) -> ArrayLike:
        """The samples. The same job gives the same samples everywhere."""
        return arm.draw(self.count, *(rng_of(self.seed, *key) for key in self.keys))


@dataclass
class Answers:
    """What a chunk brought: rows of its first draws, then the error that ended it, if there is one."""

    rows: list[ArrayLike] = field(default_factory=list)
    error: Exception | None = None
    seconds: float = 0.0

    @property
    def n_tried(self) -> int:
        """How many draws were begun."""
        return len(self.rows) + (self.error is not None)

    def get(self, place: int) -> ArrayLike:
        """The samples of a draw, or its error."""
        if place < len(self.rows):
            return self.rows[place]
        assert self.error is not None
        raise self.error


def drawn(arms: Mapping[int, bytes], jobs: Sequence[Job]) -> Answers:
    """The draws of a chunk, in another process."""
    answers = _answered(partial(_from_bytes, arms[job.arm], job) for job in jobs)
    if answers.error is not None:
        answers.error = _portable(answers.error)
    return answers


def drawn_here(arms: Sequence[Arm], jobs: Sequence[Job]) -> Answers:
    """The draws of a chunk, in a thread of this process."""
    return _answered(partial(job.draw, arms[job.arm]) for job in jobs)


def computed(common: Any, function: Callable[[Any, Any], Any], part: Any) -> Any:
    """A part of what a strategy computes, in another process; with one thread, as the process that runs it does."""
    with one_blas_thread():
        return function(common, part)


def _answered(draws: Iterable[Callable[[], ArrayLike]]) -> Answers:
    answers, started = Answers(), time.perf_counter()
    try:
        for draw in draws:
            answers.rows.append(draw())
    except Exception as error:
        answers.error = error
    answers.seconds = time.perf_counter() - started
    return answers


def _from_bytes(arm: bytes, job: Job) -> NDArray[Any]:
    return own_rows(job.draw(pickle.loads(arm)), job.count)


def _portable(error: Exception) -> Exception:
    """The error with its traceback as a note; as text where it cannot be sent."""
    try:
        copied: Exception = pickle.loads(pickle.dumps(error))
    except Exception:  # an error that cannot be sent may raise anything
        copied = RuntimeError(f"{type(error).__name__}: {error}")
    if not isinstance(copied, KabcError):  # these say all there is to say
        copied.add_note("".join(traceback.format_exception(error)))
    return copied


def own_rows(rows: ArrayLike, count: int) -> NDArray[Any]:  # (count,) or (count, d)
    """A copy of as many samples as were asked for: an arm may write its next ones into what it has returned."""
    try:
        got = len(rows)  # type: ignore[arg-type]
    except TypeError:
        raise ArmError(
            f"returned {rows!r} when asked for {count} samples; draw(n, rng) must return an array of n rows"
        ) from None
    if got != count:
        raise ArmError(f"returned {got} samples when asked for {count}; draw(n, rng) must return exactly n rows")
    array = as_rows(rows)
    two_dimensional(array)  # refuses what is no row
    return array.copy()


class Pace:
    """How many draws to send at a time, from how long the last ones took."""

    def __init__(self) -> None:
        self._seconds: float | None = None  # of one draw; None: not known yet

    def heard(self, n_draws: int, seconds: float) -> None:
        """A chunk came back."""
        if n_draws:
            mean = seconds / n_draws
            self._seconds = mean if self._seconds is None else (self._seconds + mean) / 2

    def chunks(self, slots: int) -> int:
        """How many chunks may be under way: one more for each slot if draws are quick, so that none waits for us."""
        return 2 * slots if self._seconds is not None and self._seconds < _QUICK_SECONDS else slots

    def draws(self, waiting: int, under_way: int, slots: int) -> int:
        """How many draws form the next chunk: an even share of those that wait.

        Shares become smaller towards the end, so that all workers end together. But none is so small that sending it
        takes longer than drawing it, unless there are too few draws for all workers.
        """
        if self._seconds is None:
            return 1
        least, most = (int(min(_MOST_DRAWS, seconds / max(self._seconds, 1e-9))) for seconds in _CHUNK_SECONDS)
        share, of_all = -(-waiting // slots), -(-(waiting + under_way) // slots)
        return max(1, min(most, max(share, min(least, of_all))))
