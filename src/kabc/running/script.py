"""The rounds of a run: a pilot of the length of blocks, a pilot of the kernel, then what the strategy asks for."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast

from kabc.arms.base import Arm
from kabc.core.errors import KabcError, ProtocolError, SampleError, SettingsError, StrategyError
from kabc.core.kernels import Kernel
from kabc.core.settings import error_probability
from kabc.core.words import counted, two_digits
from kabc.running.blocks import few_blocks, settled_block
from kabc.running.computing import computing
from kabc.running.intake import Intake, Pieces
from kabc.running.interrupts import uninterrupted
from kabc.running.loop import Loop, blas_threads
from kabc.running.pilot import PILOT_ROUND, chosen_kernel
from kabc.running.progress import Ticker
from kabc.running.record import Tracer
from kabc.running.settings import AUTO, Settings
from kabc.running.snapshots import Listener, Snapshot
from kabc.running.sources import Sources
from kabc.running.steps import Script
from kabc.running.sums import Summing, summing_of
from kabc.strategies.answers import Status
from kabc.strategies.base import Request, SetsAside, Strategy, TakesSums
from kabc.study.ledger import Ledger

_LOOK_SECONDS = 0.5  # between two looks at what is left
_WATCH_SHARE = 0.02  # largest share of the time that looks for doubts take
_WATCH_SECONDS = 3e-6  # that a look takes for each number watched, before one was timed

_STATE = ("strategy", "tracer", "notes", "n_pilot", "before", "_n_told")  # of a run, beside the intake


class Rounds:
    """The rounds of one run as a script, and what is known while it runs.

    Parameters
    ----------
    settings : Settings
        What is asked.
    intake : Intake
        Takes the samples.
    sources : Sources or None
        The arms, for a look at the order of their rows.
    show : Ticker
        Shows progress.
    listeners : sequence of callable
        Hear of each round that was not in the log before.
    ledger : Ledger
        For notes on what was settled once, whatever comes later.
    spent : callable
        The bill so far.
    started : float
        When the run began, by `time.perf_counter`.
    """

    def __init__(
        self,
        settings: Settings,
        intake: Intake,
        sources: Sources | None,
        show: Ticker,
        listeners: Sequence[Listener],
        ledger: Ledger,
        spent: Callable[[], float],
        started: float,
    ) -> None:
        self.settings, self.intake, self.show = settings, intake, show
        self._sources, self._listeners, self._spent, self._started = sources, listeners, spent, started
        self._ledger = ledger
        self.tracer = Tracer(len(intake))
        self.notes: list[str] = []
        self.n_pilot = 0
        self.strategy: Strategy | None = None
        self.before = 0  # samples that the strategy was told in earlier runs
        self.telling = False  # it was told a part of a round: nothing that it says is certain
        self.number = PILOT_ROUND  # of the round that is drawn
        self._n_told = 0  # rounds that the strategy was told in this run
        self._left, self._next_look = "", 0.0  # what is left, in words, and when to look again
        self._watching = self._last_watch = 0.0  # seconds that all looks for doubts have taken, and the last one

    @property
    def affordable(self) -> int:
        """Samples of each arm that budget and pools allow; 2 if nothing limits them."""
        limits = list(self.intake.pools.values())
        if self.settings.max_samples is not None:
            limits.append((self.settings.max_samples - self.n_pilot) // len(self.intake))
        return min(limits, default=2)

    def asks(self) -> Script[Status]:
        """All rounds, until something ends them; how that ended."""
        strategy = self.strategy
        if strategy is None:
            strategy = self.strategy = yield from self._begin()
        elif self._sources is not None:
            self._sources.cut(self.settings.block_length)
        if hasattr(strategy, "expect_budget"):  # strategies of others may not have it
            strategy.expect_budget(self.settings.max_samples)
        loop = Loop[Status](strategy, forbids=self._forbids, does_without=partial(self._does_without, strategy))
        summing = summing_of(strategy, self._sources, self.intake, self._ledger)
        with blas_threads(strategy):
            for request in loop.asks():
                self.number += 1
                rows = request if summing is None else summing.rows_of(request)
                self._tell(strategy, request, (yield self.number, rows) if rows else {}, summing)
                self._n_told += 1
                self._report(strategy, self._n_told)
        yield from self._anchors_in_the_end(may_draw=loop.reason != "budget")
        status = strategy.status or loop.reason
        assert status is not None
        return status

    def _begin(self) -> Script[Strategy]:
        """What comes before the rounds of the strategy: anchors, and pilots."""
        yield from self._anchors()
        yield from self._cut()
        kernel: Kernel | None = None
        if self.settings.by_kernel and isinstance(self.settings.chosen, str):
            kernel, self.n_pilot = yield from chosen_kernel(self.settings, self.intake, self.number)
        strategy = self.settings.build(len(self.intake), kernel, self.affordable)
        self._refuse_rows_again(strategy)
        self.before = strategy.n_samples
        # a strategy that goes on gets the draws of later rounds: it has seen those of the first ones
        self.number += len(strategy.rounds)
        return strategy

    # ------------------------------------------------------------ snapshots

    def state(self, number: int) -> dict[str, Any]:
        """All that it takes to go on after this round, without arms and settings."""
        kept = {name: getattr(self, name) for name in _STATE}
        return kept | {"number": number, "block": self.settings.block, "intake": self.intake.state()}

    def take_up(self, state: Mapping[str, Any]) -> None:
        """Go on after the round of a state, before `asks` is run."""
        for name in _STATE:
            setattr(self, name, state[name])
        self.number, self.settings = state["number"], replace(self.settings, block=state["block"])
        self.intake.take_up(state["intake"])

    # ------------------------------------------------------------ anchors

    def _anchors(self) -> Script[None]:
        """Draw new samples of arms with a record, and compare: then the record is read, or dropped."""
        reuse, intake = self.intake.reuse, self.intake
        if reuse is None:
            return
        reuse.check(self.settings)
        self.settings = replace(self.settings, delta=error_probability(self.settings.error) / reuse.share)
        request = reuse.request()
        if request:
            yield self.number, request
            self.number += 1
        found = reuse.judge(intake.names, intake.seed, intake.columns)
        if not found.passed:
            self.notes.append(found.message())

    def _anchors_in_the_end(self, *, may_draw: bool) -> Script[None]:
        """Compare again, with as many new samples as it takes to see what could have told arms apart.

        None are drawn if the budget is spent: it may be raised, and then the next round is the strategy's.
        """
        reuse, intake = self.intake.reuse, self.intake
        if reuse is None:
            return
        request = reuse.in_the_end(self.settings.max_samples)
        if request and may_draw:
            self.number += 1
            yield self.number, request
        intake.changed = reuse.judge_again(intake.names, intake.seed, intake.columns)

    def _cut(self) -> Script[None]:
        """Find the length of the blocks if it is asked for, cut the pools into blocks, and look at their order."""
        arms: Sequence[Arm] = () if self._sources is None else self._sources.arms
        if self.settings.block == AUTO:
            found = yield from settled_block(self.settings, self.intake, arms, self._ledger)
            self.settings = replace(self.settings, block=found.length)
            self.n_pilot, self.number = found.n_pilot, found.last_round
            self.notes += found.notes
        block = self.settings.block_length
        left = None if self._sources is None else self._sources.cut(block)
        # where others draw too, what is left here says nothing: the facts do
        self.intake.cut(block, left if self._ledger.private else None)
        self.notes += few_blocks(self.intake)
        if self.intake.watch is not None:
            arms = () if self._sources is None else self._sources.arms  # cut into blocks by now
            self.intake.watch.miss(self._elsewhere())
            self.intake.watch.look(arms, block)

    def _elsewhere(self) -> list[int]:
        """Arms with an order of their own that other processes have."""
        served = () if self._sources is None else self._sources.here
        return [arm for arm, about in enumerate(self.intake.facts.arms) if about.in_order and arm not in served]

    # ------------------------------------------------------------ decisions

    def _refuse_rows_again(self, strategy: Strategy) -> None:
        pools = list(self.intake.pools)
        if strategy.n_samples and pools and not strategy.stopped:
            raise SettingsError(
                f"the strategy was told {counted(strategy.n_samples, 'sample')} already, and arm {pools[0]!r} is a "
                "pool: rows that it has seen would be drawn twice; pass a new strategy object, or arms that are "
                "functions"
            )

    def _does_without(self, strategy: Strategy, request: Request) -> bool:
        """Set aside arms that cannot give what is asked for; before the first round all arms without rows."""
        asked = request if strategy.rounds else {**dict.fromkeys(range(len(self.intake)), 1), **request}
        short = set(self.intake.too_small(asked))
        if not short or not isinstance(strategy, SetsAside):
            return False
        short -= strategy.arms_set_aside
        if not short or any(self.intake.ends_the_run(arm) for arm in short):
            return False
        strategy.set_aside(short)
        return True

    def _forbids(self, request: Request) -> Status | None:
        if self.intake.too_small(request):  # a larger budget would not help, so this is the reason
            return "exhausted"
        budget, total = self.settings.max_samples, sum(self.intake.new) + sum(self.intake.rest(request).values())
        return "budget" if budget is not None and total > budget else None

    # ------------------------------------------------------------ what a round brings

    def _tell(self, strategy: Strategy, request: Request, pieces: Pieces, summing: Summing | None) -> None:
        samples = self.intake.take(pieces)
        given = {arm: len(rows) for arm, rows in samples.items()}  # type: ignore[arg-type]
        tell: Callable[[], None] = partial(strategy.tell, samples)
        if summing is not None and (rest := summing.rest(request, samples)):
            with self.show.during(f"round {self.number}: summing where the rows are, {self._so_far()}"):
                tell = partial(cast(TakesSums, strategy).tell_sums, summing.sums(samples, rest))
        elif given != request:
            _ask_instead(strategy, request, given)

        def comparing() -> str:
            return f"round {self.number}: comparing {counted(strategy.n_arms, 'arm')}, {self._so_far()}"

        with uninterrupted(self.show), self.show.during(comparing), computing(strategy, self._sources):
            self.telling = True
            try:
                tell()
            except KabcError as error:
                if isinstance(error.arm, int):  # strategies number arms, people name them
                    error.arm = self.intake.names[error.arm]
                # these refuse a round before anything is changed
                self.telling = not isinstance(error, SampleError | ProtocolError)
                raise
            self.telling = False

    def _report(self, strategy: Strategy, number: int) -> None:
        """Tell those who listen what the round has brought."""
        last = strategy.rounds[-1]
        seconds = time.perf_counter() - self._started
        seen = Snapshot(
            last, number, self.intake.n_samples, self._spent(), seconds, strategy, n_told=strategy.n_samples
        )
        self._look_ahead(seen)
        self._look_for_doubts()
        self.show(lambda: f"round {self.number}: {counted(last.n_groups, 'group')} after {self._so_far()}")
        self.tracer.hear(seen)
        for listen in () if self._ledger.replayed else self._listeners:
            listen(seen)

    def _look_ahead(self, seen: Snapshot) -> None:
        """From time to time, what is left: with many arms a look takes long, so at most a tenth of the time."""
        now = time.perf_counter()
        if not self.show.forecasts or now < self._next_look:
            return
        left = seen.forecast
        self._left = "" if left is None else f", about {two_digits(left):,} left (an estimate)"
        self._next_look = now + max(_LOOK_SECONDS, 10 * (time.perf_counter() - now))

    def _look_for_doubts(self) -> None:
        """From time to time, whether the samples speak against an assumption, for the lines of progress."""
        now = time.perf_counter()
        allowed = _WATCH_SHARE * (now - self._started) - self._watching
        if not self.show.shows or self._ledger.replayed or self._last_watch > allowed:
            return
        watch = self.intake.watch
        if watch is None or (not self._last_watch and _WATCH_SECONDS * watch.n_kept > allowed):
            return
        found = watch.assumptions(self.intake.names, self.intake.columns)
        more = f", and {counted(len(found) - 1, 'more doubt')}" if len(found) > 1 else ""
        self.show.doubt = f"; doubtful so far: {found[0]}{more}" if found else ""
        self._last_watch = time.perf_counter() - now
        self._watching += self._last_watch

    def _so_far(self) -> str:
        return counted(self.intake.n_samples, "sample") + self._left


def _ask_instead(strategy: Strategy, request: Request, logged: Request) -> None:
    """The log asked for something else than the strategy does now, by rounding on another machine: the log rules."""
    instead = getattr(strategy, "ask_instead", None)
    try:
        if callable(instead):
            instead(logged)
            return
    except ProtocolError:
        pass
    raise StrategyError(
        f"the log asks for {sum(logged.values()):,} samples, and the strategy now for {sum(request.values()):,} or "
        "others: the study was made by another version of kabc; go on with that one, or use another study name"
    )
