"""One process that draws for a study, beside others: lease, draw, hand in, step when a round is whole, wait.

Any number of these loops run at the same time, here and on other machines; `Study.run` is one of them. One of them does
the step: it tells whole rounds and opens the next. It keeps this duty while it lives, so that nobody else has to replay
the rounds; when it dies, another one does.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal, Protocol

from kabc.core.errors import ArmError
from kabc.core.words import counted, in_short
from kabc.running.heartbeat import Heartbeat
from kabc.running.identity import bury_dead
from kabc.running.progress import Ticker
from kabc.running.shift import Shift
from kabc.running.stepping import living
from kabc.storage.contract import Note, Storage, StudyRecord
from kabc.storage.errors import StorageError, StoreAwayError

Ended = Literal["ended", "paused"]

_WAIT_SECONDS = 5.0  # until the next look, if nothing is heard
_QUIET_SECONDS = 10.0  # of waiting for arms that nobody serves, before people are told
_STORE_PATIENCE = 600.0  # seconds in which a store may come back
_NAP_SECONDS = 1.0


class Step(Protocol):
    """Tells whole rounds to the strategy of a study, and opens the next."""

    def advance(self) -> bool:
        """Go as far as the draws allow. False: the study has ended, and its answer is in the store."""


@dataclass
class Worker:
    """The loop of one process. `may_step`: whether it may do the step now."""

    storage: Storage
    study: StudyRecord
    names: Sequence[Hashable]  # of all arms
    shift: Shift
    step: Step
    heart: Heartbeat
    show: Ticker
    may_step: Callable[[], bool] = lambda: True
    n_draws: int = field(default=0, init=False)
    _waiting: _Waiting = field(init=False)
    _buried: set[str] = field(default_factory=set, init=False)  # workers of this host that have ended
    _store_lost: float | None = field(default=None, init=False)  # since when

    def __post_init__(self) -> None:
        self._waiting = _Waiting(self.storage, self.study.id, self.names, self.heart.seconds)

    def run(self) -> Ended:
        """Draw until the study has ended or is paused. A failed draw ends it with the error of its arm."""
        try:
            while True:
                ended = self._patient_turn()
                if ended is not None:
                    return ended
        finally:
            if self.heart.has_step:
                self.heart.has_step = False
                with suppress(StorageError):  # it lapses by itself
                    self.storage.drop_step(self.study.id, self.heart.worker)

    def _patient_turn(self) -> Ended | None:
        try:
            ended = self._turn()
        except StoreAwayError as error:
            self._endure(error)
            return None
        self._store_lost = None
        return ended

    def _turn(self) -> Ended | None:
        study = self.storage.load_study(self.study.name)
        if study.state != "running":
            return study.state
        drawn = self.shift.work()
        self.n_draws += drawn
        if self.shift.n_failed or (not self._stepped() and not drawn):
            self.shift.n_failed = 0
            self._refuse_failed()
            if dead := bury_dead(self.storage, self.study.id, "worker", self._buried):
                self._buried.update(dead)
                return None
            with self.show.during(f"{self._waiting.line()} ({counted(self.n_draws, 'draw')} by this worker so far)"):
                self.storage.wait(study.id, study.revision, _WAIT_SECONDS)
        return None

    def _stepped(self) -> bool:
        """Whether a round was opened, or the study has ended."""
        if not self.heart.has_step and self.may_step():
            self.heart.has_step = self.storage.take_step(self.study.id, self.heart.worker, self.heart.seconds)
        if not self.heart.has_step:
            return False
        before = self.storage.wait(self.study.id, 0, 0.0)
        goes_on = self.step.advance()
        return not goes_on or self.storage.wait(self.study.id, 0, 0.0) > before

    def _refuse_failed(self) -> None:
        """Raise the error of an arm that another worker failed to draw: the round will not be finished."""
        failure = failed_draw(self.storage, self.study.id)
        if failure is not None:
            said = str(failure.body.get("message", ""))
            cure = "see to the cause, then kabc run or study.run goes on with the study"
            raise ArmError(f"{said}; {cure}").of_arm(self.names[int(failure.body["arm"])])

    def _endure(self, error: StoreAwayError) -> None:
        """Wait for a store that is away: what was drawn is kept until it is back."""
        now = time.monotonic()
        self._store_lost = self._store_lost or now
        if now > self._store_lost + _STORE_PATIENCE:
            raise error
        self.show.now(f"the store does not answer, trying again: {error}")
        time.sleep(_NAP_SECONDS)


def failed_draw(storage: Storage, study: int) -> Note | None:
    """The note of a ticket of the latest round that failed, if there is one."""
    if not storage.summary(study).tickets.get("failed", 0):
        return None
    return next((note for note in reversed(storage.notes(study)) if note.kind == "failed"), None)


class _Waiting:
    """What a worker waits for, in words."""

    def __init__(self, storage: Storage, study: int, names: Sequence[Hashable], seconds: float) -> None:
        self._storage, self._study, self._names, self._seconds = storage, study, names, seconds
        self._since: float | None = None  # arms without a worker were seen first

    def line(self) -> str:
        """Other workers draw, or arms wait for a worker that can serve them."""
        alone = self._unserved()
        if not alone:
            self._since = None
            return "waiting for other workers"
        self._since = self._since or time.monotonic()
        if time.monotonic() < self._since + _QUIET_SECONDS:
            return "waiting for other workers"
        return unserved_line(alone)

    def _unserved(self) -> list[Hashable]:
        """Arms with open tickets that no living worker can serve."""
        if not self._storage.summary(self._study).tickets.get("open", 0):
            return []
        workers = living(self._storage, self._study, self._seconds)
        served = {str(arm) for worker in workers for arm in worker.facts.get("arms", ())}
        waiting = sorted(self._storage.unfinished(self._study)["open"])
        return [self._names[arm] for arm in waiting if str(self._names[arm]) not in served]


def unserved_line(names: Sequence[Hashable]) -> str:
    """Which arms nobody can draw."""
    arms, verb, them = ("arm", "waits", "it") if len(names) == 1 else ("arms", "wait", "them")
    return f"{arms} {in_short([str(name) for name in names])} {verb} for a worker that can serve {them}"
