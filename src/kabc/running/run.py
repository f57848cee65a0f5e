"""One run, from settings and arms to an answer. The only place that knows both arms and strategies."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from kabc.arms.failures import SpendError
from kabc.arms.tallies import Failures
from kabc.core.errors import KabcError, StrategyError
from kabc.core.kernels import Gaussian
from kabc.core.words import counted
from kabc.results.values import Result
from kabc.running.answer import Ending, answer
from kabc.running.intake import Intake
from kabc.running.interrupts import Interrupts
from kabc.running.loop import blas_threads
from kabc.running.progress import Ticker
from kabc.running.script import Rounds
from kabc.running.settings import Settings
from kabc.running.snapshots import Listener
from kabc.running.sources import Sources
from kabc.running.steps import Stepper
from kabc.running.suggest import suggestion
from kabc.storage.contract import Note
from kabc.strategies.answers import Status
from kabc.strategies.base import Strategy
from kabc.study.ledger import Ledger
from kabc.study.story import assumed, losses


@dataclass
class Run:
    """Where a run draws, what it may spend, who listens, what it keeps."""

    settings: Settings
    sources: Sources | None  # None: the arms are elsewhere
    intake: Intake
    ledger: Ledger
    show: Ticker
    listeners: Sequence[Listener] = ()
    started: float = field(default_factory=time.perf_counter)
    interrupts: Interrupts | None = None
    story: Callable[[Sequence[Note]], Sequence[str]] = losses  # how the samples came together, from notes of the ledger

    def __post_init__(self) -> None:
        self.rounds = Rounds(
            self.settings, self.intake, self.sources, self.show, self.listeners, self.ledger, self._spent, self.started
        )

        self.stepper = Stepper(self.rounds.asks(), self.ledger, self.intake)
        self.ended = False  # whether the script came to its end
        self._finished: Result | None = None

    def result(self, run: Callable[[Stepper[Status]], object]) -> Result:
        """Check, choose a kernel if one is needed, and run until something ends it. `run` runs the script.

        A script that `run` leaves before its end is interrupted: the answer is the one so far.
        """
        self.settings.check(len(self.intake), finite=len(self.intake.pools) == len(self.intake))
        stepper = self.stepper
        try:
            run(stepper)
            if stepper.found is not None:
                return self.finished()
            self._over(stepper)
            status: Status = "interrupted"
        except KeyboardInterrupt:
            self._over(stepper)
            if self.rounds.telling:  # the strategy knows a part of the round: nothing it says would be certain
                raise
            status = "interrupted"
        except SpendError:
            self._over(stepper)
            status = "budget"
        except Exception as error:
            self._over(stepper)
            told = self._with_result(error)
            raise told from (error.__cause__ if told is error else error)
        return self._answer(status)

    def so_far(self) -> Result | None:
        """The answer if the run ended now; it goes on after this. None before the first round of the strategy."""
        return None if self.rounds.strategy is None else self._answer(self.stepper.found or "unfinished")

    def finished(self) -> Result:
        """The answer of a script that came to its end."""
        if self._finished is None:
            assert self.stepper.found is not None
            self.ended = True
            self._over(self.stepper)
            self._finished = self._answer(self.stepper.found)
        return self._finished

    def _over(self, stepper: Stepper[Status]) -> None:
        """From now on a signal does not take the answer away. What was drawn of the last round is counted."""
        if self.interrupts is not None:
            self.interrupts.over()
        with suppress(KabcError):  # samples that do not fit together, or a store that is gone: an error is on its way
            stepper.close()

    @property
    def last_round(self) -> int:
        """The number of the last round that was asked for."""
        return self.rounds.number

    @property
    def _n_lost(self) -> int:
        """Draws that were paid for without a sample to show."""
        if self.ledger.private and self.sources is not None:
            return self.sources.n_lost(self.intake.new)
        return self.ledger.n_lost + (0 if self.sources is None else sum(self.sources.lost))

    @property
    def _failures(self) -> Mapping[Hashable, Failures]:
        """What failed, by all workers."""
        if self.ledger.private:
            return {} if self.sources is None else self.sources.failures
        return {self.intake.names[arm]: one for arm, one in self.ledger.failures.items() if arm < len(self.intake)}

    def _spent(self) -> float:
        price = self.intake.price
        return price * (sum(self.intake.new) + self._n_lost) if price else 0.0

    # ------------------------------------------------------------ the answer

    def _answer(self, status: Status) -> Result:
        strategy = self.rounds.strategy
        if strategy is None:
            return self._without_kernel(status)
        with blas_threads(strategy):
            return self._answer_of(strategy, self._status(strategy, status))

    def _without_kernel(self, status: Status) -> Result:
        rounds = self.rounds
        chosen = "kernel" if self.settings.by_kernel else "length of blocks"
        rounds.notes.append(f"stopped during the pilot: no {chosen} was chosen, nothing was tested")
        stand_in = rounds.settings.build(len(self.intake), Gaussian(bandwidth=1.0), rounds.affordable)
        return replace(self._answer_of(stand_in, status), kernel="")

    def _answer_of(self, strategy: Strategy, status: Status) -> Result:
        rounds, seconds = self.rounds, time.perf_counter() - self.started
        noted = self.ledger.storage.notes(self.ledger.study.id)
        advice: tuple[str, ...] = ()
        if not rounds.telling:
            advice = tuple(suggestion(rounds.settings, self.intake, strategy.recommend().labels, status))
        ended = Ending(
            status=status,
            n_pilot=rounds.n_pilot,
            n_told=0 if rounds.telling else strategy.n_samples - rounds.before,
            notes=(*self.story(noted), *rounds.notes),
            seconds=seconds,
            trace=rounds.tracer.trace(),
            failures=self._failures,
            n_lost=self._n_lost,
            advice=advice,
            assumed=assumed(noted),
            broken=rounds.telling,
        )
        return answer(strategy, self.intake, ended)

    def _status(self, strategy: Strategy, status: Status) -> Status:
        if self.rounds.telling:
            return status
        ended = strategy.status or status  # an answer that is found stands, however the run ended
        if ended == "decided" and not strategy.recommend().certified:
            return "stopped"
        one_of_each = dict.fromkeys(range(strategy.n_arms), 1)
        if strategy.status == "budget" and self.intake.too_small(one_of_each):
            return "exhausted"  # the rows were its budget
        return ended

    def _with_result(self, error: Exception) -> Exception:
        """The error, with the answer so far: what was paid for is not lost. An error of the strategy gets a name."""
        if not self.intake.n_samples:
            return error
        number = self.rounds.number
        if self.rounds.telling:
            self.rounds.notes.append(f"round {number} was not told to its end: nothing that was found is certain")
            if not isinstance(error, KabcError):
                error = StrategyError(f"the strategy failed: {type(error).__name__}: {error}")
        if isinstance(error, KabcError):
            error.round = number
            failure = error.what
        else:  # of a listener: whoever wrote it expects its type
            failure = f"{type(error).__name__}: {error}"
        with suppress(Exception):  # no memory is left, or the strategy is broken: the error itself matters more
            found = replace(self._answer("failed"), failure=failure)
            error.result = found  # type: ignore[attr-defined]
            if not isinstance(error, KabcError):
                error.add_note(f"kabc: {counted(found.n_samples, 'sample')} drawn so far: see the error's result")
        return error
