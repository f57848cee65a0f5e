"""One run, from settings and arms to an answer. The only place that knows both arms and strategies."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from kabc.arms.failures import SpendError
from kabc.core.errors import KabcError, SettingsError
from kabc.core.kernels import Gaussian, Kernel
from kabc.core.words import counted
from kabc.results.values import Result
from kabc.running.answer import Ending, answer
from kabc.running.loop import Drawn, Loop, blas_threads
from kabc.running.pilot import PILOT_ROUND, chosen_kernel
from kabc.running.progress import Ticker, uninterrupted
from kabc.running.record import Tracer
from kabc.running.settings import Settings
from kabc.running.snapshots import Listener, Snapshot
from kabc.running.sources import Sources
from kabc.strategies.answers import Status
from kabc.strategies.base import Request, SetsAside, Strategy


@dataclass
class Run:
    """Where a run draws, what it may spend, who listens, what it keeps."""

    settings: Settings
    sources: Sources
    show: Ticker
    listeners: Sequence[Listener] = ()
    started: float = field(default_factory=time.perf_counter)

    def __post_init__(self) -> None:
        self.tracer = Tracer(len(self.sources))
        self.notes: list[str] = []
        self.n_pilot = 0
        self._telling = False
        self._number = PILOT_ROUND  # of the round that is drawn: the key of its draws

    def result(self) -> Result:
        """Check, choose a kernel if one is needed, and run until something ends it."""
        self.settings.check(len(self.sources))
        kernel: Kernel | None = None
        if self.settings.by_kernel and isinstance(self.settings.chosen, str):
            try:
                kernel, self.n_pilot = chosen_kernel(self.settings, self.sources, self.show)
            except (KeyboardInterrupt, SpendError) as stop:
                return self._without_kernel("interrupted" if isinstance(stop, KeyboardInterrupt) else "budget")
        return self._drive(self.settings.build(len(self.sources), kernel, self._affordable()))

    def _affordable(self) -> int:
        """Samples of each arm that budget and pools allow; 2 if nothing limits them."""
        limits = list(self.sources.pools.values())
        if self.settings.max_samples is not None:
            limits.append((self.settings.max_samples - self.n_pilot) // len(self.sources))
        return min(limits, default=2)

    def _without_kernel(self, status: Status) -> Result:
        self.notes.append("stopped during the pilot: no kernel was chosen, nothing was tested")
        stand_in = self.settings.build(len(self.sources), Gaussian(bandwidth=1.0), self._affordable())
        return replace(self._answer(stand_in, status, 0), kernel="")

    # ------------------------------------------------------------ the rounds

    def _drive(self, strategy: Strategy) -> Result:
        self._refuse_rows_again(strategy)
        before = strategy.n_samples
        # a strategy that goes on gets the draws of later rounds: it has seen those of the first ones
        self._number += len(strategy.rounds)
        with blas_threads(strategy):
            status = self._ended(strategy)
            return self._answer(strategy, status, before)

    def _answer(self, strategy: Strategy, status: Status, before: int) -> Result:
        seconds = time.perf_counter() - self.started
        n_told = strategy.n_samples - before
        told = Ending(status, self.n_pilot, n_told, tuple(self.notes), seconds, self.tracer.trace())
        return answer(strategy, self.sources, told)

    def _refuse_rows_again(self, strategy: Strategy) -> None:
        pools = list(self.sources.pools)
        if strategy.n_samples and pools and not strategy.stopped:
            raise SettingsError(
                f"the strategy was told {counted(strategy.n_samples, 'sample')} already, and arm {pools[0]!r} is a "
                "pool: rows that it has seen would be drawn twice; pass a new strategy object, or arms that are "
                "functions"
            )

    def _ended(self, strategy: Strategy) -> Status:
        """Run the rounds; how that ended."""
        loop = Loop[Status](
            strategy,
            self._draw,
            self._forbids,
            tell=lambda samples: self._tell(strategy, samples),
            does_without=lambda request: self._does_without(strategy, request),
        )
        status: Status | None = None
        try:
            for number in loop:
                self._report(strategy, number)
            status = loop.reason
        except KeyboardInterrupt:
            if self._telling:  # the strategy knows a part of the round: nothing it says would be certain
                raise
            status = "interrupted"
        except SpendError:
            status = "budget"
        ended = strategy.status or status  # an answer that is found stands, however the run ended
        assert ended is not None
        if ended == "decided" and not strategy.recommend().certified:
            return "stopped"
        one_of_each = dict.fromkeys(range(strategy.n_arms), 1)
        if strategy.status == "budget" and not self.sources.can_give(one_of_each):
            return "exhausted"  # the rows were its budget
        return ended

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
        self.show(f"round {self._number}: comparing {strategy.n_arms} arms, {self._so_far()}")
        with uninterrupted(self.show):
            self._telling = True
            try:
                strategy.tell(samples)
            except KabcError as error:
                if isinstance(error.arm, int):  # strategies number arms, people name them
                    error.arm = self.sources.names[error.arm]
                raise
            self._telling = False

    def _report(self, strategy: Strategy, number: int) -> None:
        """Tell those who listen what the round has brought."""
        last = strategy.rounds[-1]
        self.show(f"round {self._number}: {counted(last.n_groups, 'group')} after {self._so_far()}")
        n_samples = self.sources.n_samples
        seconds = time.perf_counter() - self.started
        seen = Snapshot(
            last, number, n_samples, self.sources.price * n_samples, seconds, strategy, n_told=strategy.n_samples
        )
        self.tracer.hear(seen)
        for listen in self.listeners:
            listen(seen)

    def _so_far(self) -> str:
        return counted(self.sources.n_samples, "sample")
