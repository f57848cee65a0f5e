"""The loop of a process that draws for a study, beside others: draw, hand in, step when a round is whole, wait.

Any number of these loops run at the same time, here and on other machines; `Study.run` is one of them. One of them does
the step: it tells whole rounds and opens the next. It keeps this duty while it lives, so that nobody else has to replay
the rounds; when it dies, another one does.
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Sequence
from contextlib import suppress

from kabc.core.errors import ArmError
from kabc.core.words import counted, in_short
from kabc.running.heartbeat import Heartbeat
from kabc.running.progress import Ticker
from kabc.running.shift import Shift
from kabc.running.steps import Found, Stepper
from kabc.storage.contract import Note, Storage, StudyRecord, StudyState, Ticket
from kabc.storage.errors import NoStudyError, StorageError
from kabc.study.ledger import Ledger

_WAIT_SECONDS = 5.0  # until the next look, if nothing is heard
_QUIET_SECONDS = 10.0  # of waiting for arms that nobody serves, before people are told
_STORE_PATIENCE = 600.0  # seconds in which a store may come back
_NAP_SECONDS = 1.0


class Worker:
    """The loop of one process.

    Parameters
    ----------
    ledger, shift, heart, show
        The study, what is drawn here, who renews the leases, and who tells people.
    names : sequence of hashable
        Of all arms of the study.
    steps : bool, default True
        Whether this process may do the step.
    """

    def __init__(
        self,
        ledger: Ledger,
        shift: Shift,
        heart: Heartbeat,
        show: Ticker,
        names: Sequence[Hashable],
        *,
        steps: bool = True,
    ) -> None:
        self._storage, self._study = ledger.storage, ledger.study
        self._shift, self._heart, self._show, self._names, self._steps = shift, heart, show, names, steps
        self.n_draws = 0
        self.state: StudyState = "running"  # of the study, when it was left
        self._waiting = _Waiting(self._storage, self._study.id, names, heart.seconds)
        self._store_lost: float | None = None  # since when

    def __call__(self, stepper: Stepper[Found]) -> Found | None:
        """What the script found; None if the study is paused, or has ended elsewhere: `state` says which.

        A draw that fails, here or elsewhere, ends it with the error of its arm.
        """
        try:
            while self.state == "running":
                if not self._patient_turn(stepper):
                    return stepper.found
            return None
        finally:
            self._drop_step()

    def _patient_turn(self, stepper: Stepper[Found]) -> bool:
        try:
            goes_on = self._turn(stepper)
        except NoStudyError:
            raise
        except StorageError as error:
            self._endure(error)
            return True
        self._store_lost = None
        return goes_on

    def _turn(self, stepper: Stepper[Found]) -> bool:
        """One look at the study. False: the script has ended."""
        study = self._storage.load_study(self._study.name)
        self.state = study.state
        if study.state != "running":
            return True
        if self._has_step() and not stepper.advance():
            return False
        drawn = self._shift.work()
        self.n_draws += drawn
        if not drawn:
            self._refuse_failed()
            self._wait(study)
        return True

    def _has_step(self) -> bool:
        if self._steps and not self._heart.has_step:
            self._heart.has_step = self._storage.take_step(self._study.id, self._heart.worker, self._heart.seconds)
        return self._heart.has_step

    def _drop_step(self) -> None:
        if self._heart.has_step:
            self._heart.has_step = False
            with suppress(StorageError):  # it lapses by itself
                self._storage.drop_step(self._study.id, self._heart.worker)

    def _wait(self, study: StudyRecord) -> None:
        with self._show.during(f"{self._waiting.line()} ({counted(self.n_draws, 'draw')} by this worker so far)"):
            self._storage.wait(study.id, study.revision, _WAIT_SECONDS)

    def _refuse_failed(self) -> None:
        """Raise the error of an arm that another worker failed to draw: the round will not be finished."""
        failure = failed_draw(self._storage, self._study.id)
        if failure is not None:
            raise ArmError(str(failure.body.get("message", ""))).of_arm(self._names[int(failure.body["arm"])])

    def _endure(self, error: StorageError) -> None:
        """Wait for a store that is away: what was drawn is kept until it is back."""
        now = time.monotonic()
        self._store_lost = self._store_lost or now
        if now > self._store_lost + _STORE_PATIENCE:
            raise error
        self._show.now(f"the store does not answer, trying again: {error}")
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
        summary = self._storage.summary(self._study)
        if not summary.tickets.get("open", 0):
            return []
        since = self._storage.now() - 2 * self._seconds
        living = [worker for worker in self._storage.workers(self._study) if worker.last_seen >= since]
        served = {str(arm) for worker in living for arm in worker.facts.get("arms", ())}
        # the first round is number 0 where there is a pilot, else number 1
        latest = (self._storage.tickets(self._study, summary.n_rounds - offset) for offset in (0, 1))
        waiting: list[Ticket] = next(filter(None, latest), [])
        arms = dict.fromkeys(ticket.arm for ticket in waiting if ticket.state == "open")
        return [self._names[arm] for arm in arms if str(self._names[arm]) not in served]


def unserved_line(names: Sequence[Hashable]) -> str:
    """Which arms nobody can draw."""
    arms, verb, them = ("arm", "waits", "it") if len(names) == 1 else ("arms", "wait", "them")
    return f"{arms} {in_short([str(name) for name in names])} {verb} for a worker that can serve {them}"
