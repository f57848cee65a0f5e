"""One run, from settings and arms to an answer. The only place that knows both arms and strategies."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial

from kabc.arms.failures import SpendError
from kabc.core.errors import KabcError, ProtocolError, SampleError, SettingsError, StrategyError
from kabc.core.kernels import Gaussian, Kernel
from kabc.core.words import counted, two_digits
from kabc.results.values import Result
from kabc.running.answer import Ending, answer
from kabc.running.blocks import block_length, few_blocks
from kabc.running.interrupts import Interrupts, uninterrupted
from kabc.running.loop import Drawn, Loop, blas_threads
from kabc.running.pilot import PILOT_ROUND, chosen_kernel
from kabc.running.progress import Ticker
from kabc.running.record import Tracer
from kabc.running.settings import AUTO, Settings
from kabc.running.snapshots import Listener, Snapshot
from kabc.running.sources import Sources
from kabc.running.suggest import suggestion
from kabc.strategies.answers import Status
from kabc.strategies.base import Request, SetsAside, Strategy

_LOOK_SECONDS = 0.5  # between two looks at what is left


@dataclass
class Run:
    """Where a run draws, what it may spend, who listens, what it keeps."""

    settings: Settings
    sources: Sources
    show: Ticker
    listeners: Sequence[Listener] = ()
    started: float = field(default_factory=time.perf_counter)
    interrupts: Interrupts | None = None

    def __post_init__(self) -> None:
        self.tracer = Tracer(len(self.sources))
        self.notes: list[str] = []
        self.n_pilot = 0
        self._strategy: Strategy | None = None
        self._before = 0  # samples that the strategy was told in earlier runs
        self._telling = False
        self._left, self._next_look = "", 0.0  # what is left, in words, and when to look again
        self._number = PILOT_ROUND  # of the round that is drawn: the key of its draws

    def result(self) -> Result:
        """Check, choose a kernel if one is needed, and run until something ends it."""
        self.settings.check(len(self.sources))
        try:
            self._cut()
            if self.sources.watch is not None:
                self.sources.watch.look(self.sources.arms, self.sources.block)
            status = self._ended()
            self._over()
        except KeyboardInterrupt:
            self._over()
            if self._telling:  # the strategy knows a part of the round: nothing it says would be certain
                raise
            status = "interrupted"
        except SpendError:
            self._over()
            status = "budget"
        except Exception as error:
            self._over()
            told = self._with_result(error)
            raise told from (error.__cause__ if told is error else error)
        return self._answer(status)

    def _over(self) -> None:
        """From now on a signal does not take the answer away."""
        if self.interrupts is not None:
            self.interrupts.over()

    def _cut(self) -> None:
        """Find the length of the blocks if it is asked for, and cut the pools into blocks."""
        if self.settings.block == AUTO:
            found = block_length(self.settings, self.sources, self.show)
            self.settings = replace(self.settings, block=found.length)
            self.n_pilot, self._number = found.n_pilot, found.last_round
            self.notes += found.notes
        self.sources.cut(self.settings.block_length)
        self.notes += few_blocks(self.sources)

    def _affordable(self) -> int:
        """Samples of each arm that budget and pools allow; 2 if nothing limits them."""
        limits = list(self.sources.pools.values())
        if self.settings.max_samples is not None:
            limits.append((self.settings.max_samples - self.n_pilot) // len(self.sources))
        return min(limits, default=2)

    # ------------------------------------------------------------ the answer

    def _answer(self, status: Status) -> Result:
        if self._strategy is None:
            return self._without_kernel(status)
        with blas_threads(self._strategy):
            return self._answer_of(self._strategy, self._status(self._strategy, status))

    def _without_kernel(self, status: Status) -> Result:
        chosen = "kernel" if self.settings.by_kernel else "length of blocks"
        self.notes.append(f"stopped during the pilot: no {chosen} was chosen, nothing was tested")
        stand_in = self.settings.build(len(self.sources), Gaussian(bandwidth=1.0), self._affordable())
        return replace(self._answer_of(stand_in, status), kernel="")

    def _answer_of(self, strategy: Strategy, status: Status) -> Result:
        seconds = time.perf_counter() - self.started
        n_told = 0 if self._telling else strategy.n_samples - self._before
        notes = (*self.sources.losses, *self.notes)
        advice: tuple[str, ...] = ()
        if not self._telling:
            advice = tuple(suggestion(self.settings, self.sources, strategy.recommend().labels, status))
        ended = Ending(status, self.n_pilot, n_told, notes, seconds, self.tracer.trace(), advice, broken=self._telling)
        return answer(strategy, self.sources, ended)

    def _status(self, strategy: Strategy, status: Status) -> Status:
        if self._telling:
            return status
        ended = strategy.status or status  # an answer that is found stands, however the run ended
        if ended == "decided" and not strategy.recommend().certified:
            return "stopped"
        one_of_each = dict.fromkeys(range(strategy.n_arms), 1)
        if strategy.status == "budget" and not self.sources.can_give(one_of_each):
            return "exhausted"  # the rows were its budget
        return ended

    def _with_result(self, error: Exception) -> Exception:
        """The error, with the answer so far: what was paid for is not lost. An error of the strategy gets a name."""
        if not self.sources.n_samples:
            return error
        if self._telling:
            self.notes.append(f"round {self._number} was not told to its end: nothing that was found is certain")
            if not isinstance(error, KabcError):
                error = StrategyError(f"the strategy failed: {type(error).__name__}: {error}")
        if isinstance(error, KabcError):
            error.round = self._number
            failure = error.what
        else:  # of a listener: whoever wrote it expects its type
            failure = f"{type(error).__name__}: {error}"
        with suppress(Exception):  # no memory is left, or the strategy is broken: the error itself matters more
            found = replace(self._answer("failed"), failure=failure)
            error.result = found  # type: ignore[attr-defined]
            if not isinstance(error, KabcError):
                error.add_note(f"kabc: {counted(found.n_samples, 'sample')} drawn so far: see the error's result")
        return error

    # ------------------------------------------------------------ the rounds

    def _ended(self) -> Status:
        """Run the rounds; how that ended."""
        kernel: Kernel | None = None
        if self.settings.by_kernel and isinstance(self.settings.chosen, str):
            kernel, self.n_pilot = chosen_kernel(self.settings, self.sources, self.show)
        strategy = self.settings.build(len(self.sources), kernel, self._affordable())
        self._refuse_rows_again(strategy)
        self._before = strategy.n_samples
        # a strategy that goes on gets the draws of later rounds: it has seen those of the first ones
        self._number += len(strategy.rounds)
        self._strategy = strategy
        with blas_threads(strategy):
            loop = Loop[Status](
                strategy,
                self._draw,
                self._forbids,
                partial(self._tell, strategy),
                partial(self._does_without, strategy),
            )
            for number in loop:
                self._report(strategy, number)
        status = strategy.status or loop.reason
        assert status is not None
        return status

    def _refuse_rows_again(self, strategy: Strategy) -> None:
        pools = list(self.sources.pools)
        if strategy.n_samples and pools and not strategy.stopped:
            raise SettingsError(
                f"the strategy was told {counted(strategy.n_samples, 'sample')} already, and arm {pools[0]!r} is a "
                "pool: rows that it has seen would be drawn twice; pass a new strategy object, or arms that are "
                "functions"
            )

    def _does_without(self, strategy: Strategy, request: Request) -> bool:
        """Set aside arms that cannot give what is asked for; before the first round all arms without rows."""
        if not isinstance(strategy, SetsAside):
            return False
        asked = request if strategy.rounds else {**dict.fromkeys(range(len(self.sources)), 1), **request}
        short = set(self.sources.too_small(asked)) - strategy.arms_set_aside
        if short:
            strategy.set_aside(short)
        return bool(short)

    def _forbids(self, request: Request) -> Status | None:
        if not self.sources.can_give(request):  # a larger budget would not help, so this is the reason
            return "exhausted"
        budget, total = self.settings.max_samples, self.sources.n_samples + sum(request.values())
        return "budget" if budget is not None and total > budget else None

    def _draw(self, request: Request) -> Drawn:
        self._number += 1
        return self.sources.draw(request, self._number, self.show)

    def _tell(self, strategy: Strategy, samples: Drawn) -> None:
        comparing = f"round {self._number}: comparing {counted(strategy.n_arms, 'arm')}, {self._so_far()}"
        with uninterrupted(self.show), self.show.during(comparing):
            self._telling = True
            try:
                strategy.tell(samples)
            except KabcError as error:
                if isinstance(error.arm, int):  # strategies number arms, people name them
                    error.arm = self.sources.names[error.arm]
                # these refuse a round before anything is changed
                self._telling = not isinstance(error, SampleError | ProtocolError)
                raise
            self._telling = False

    def _report(self, strategy: Strategy, number: int) -> None:
        """Tell those who listen what the round has brought."""
        last = strategy.rounds[-1]
        seconds = time.perf_counter() - self.started
        n_samples, spent = self.sources.n_samples, self.sources.spent
        seen = Snapshot(last, number, n_samples, spent, seconds, strategy, n_told=strategy.n_samples)
        self._look_ahead(seen)
        self.show(f"round {self._number}: {counted(last.n_groups, 'group')} after {self._so_far()}")
        self.tracer.hear(seen)
        for listen in self.listeners:
            listen(seen)

    def _look_ahead(self, seen: Snapshot) -> None:
        """From time to time, what is left: with many arms a look takes long, so at most a tenth of the time."""
        now = time.perf_counter()
        if not self.show.forecasts or now < self._next_look:
            return
        left = seen.forecast
        self._left = "" if left is None else f", about {two_digits(left):,} left (an estimate)"
        self._next_look = now + max(_LOOK_SECONDS, 10 * (time.perf_counter() - now))

    def _so_far(self) -> str:
        return counted(self.sources.n_samples, "sample") + self._left
