"""The loop: ask, draw, tell. The only place that knows both arms and strategies."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kabc.arms.base import Arm
from kabc.arms.failures import SpendError
from kabc.core.errors import KabcError, SettingsError
from kabc.core.kernels import Gaussian, Kernel
from kabc.core.samples import as_points, expect_columns
from kabc.core.settings import expect_several_groups, positive_number, whole_number
from kabc.results.values import Result
from kabc.running.draws import Arms, Sources, Workers
from kabc.running.inputs import Reading, Table, suitable_kernel
from kabc.running.progress import Progress, Ticker, uninterrupted
from kabc.running.record import Tracer, drift_notes
from kabc.strategies import make_strategy, needs_kernel
from kabc.strategies.answers import Round, Status
from kabc.strategies.base import Strategy
from kabc.strategies.cluster import Cluster

KernelChoice = Kernel | Callable[[NDArray[Any]], Kernel] | None

_DELTA = 0.05
_PILOT = 20  # samples of each arm
_PILOT_ROUND = 0


def cluster(
    arms: Arms | Table,
    n_clusters: int | None = None,
    delta: float | None = None,
    *,
    kernel: KernelChoice = None,
    strategy: str | Strategy | None = None,
    strategy_options: Mapping[str, Any] | None = None,
    max_samples: int | None = None,
    min_separation: float | None = None,
    pilot: int | None = None,
    seed: int | None = None,
    names: Sequence[Hashable] | None = None,
    arm: str | None = None,
    values: str | Sequence[str] | None = None,
    types: Mapping[str, str] | None = None,
    missing: str | None = None,
    workers: int = 1,
    executor: Executor | None = None,
    progress: bool | Progress = True,
    on_round: Callable[[Round], None] | None = None,
) -> Result:
    """Find out which arms have the same distribution, wrong with probability at most delta.

    Ctrl-C ends it with what is certified so far (status "interrupted").

    Parameters
    ----------
    arms : mapping name -> arm, or a sequence of arms (then `names` may name them). An arm is a callable
        ``draw(n, rng)`` returning n samples, (n,) or (n, d), or an array of samples, used up in random order. Or a
        table: a data frame or the path of a file, with `arm` and `values`.
    n_clusters : K, at least 2. None when it is not known: then `min_separation` or `max_samples` is needed.
    delta : largest probability of a wrong certified answer, in (0, 1]. None: 0.05.
    kernel : for strategies that test with one: a kernel, or a function from a pilot (n, d) to a kernel. None: Gaussian
        with the median heuristic on a pilot, which is counted and never tested; Hamming for a table of texts and
        categories.
    strategy : "anytime" (by betting: by far the fewest samples, no kernel to choose), "kabc" (as published),
        "kabc-tight" (every improvement that keeps its proof), or a strategy object, which has settings of its own:
        others beside it are refused. Default: "anytime", or "kabc" where a kernel or `min_separation` is given.
    strategy_options : further settings of the strategy, e.g. ``{"keep_samples": True}``.
    max_samples : stop before more than this many samples are drawn in all.
    min_separation : the paper's s_0, a lower bound of s_*; K is then an output.
    pilot : samples of each arm that a kernel is chosen on. None: 20.
    seed : makes everything reproducible; a fresh one is drawn, and recorded in the result, if None.
    arm, values, types, missing : of a table: the column that names the arms, the columns of a sample (default: all
        others), their types ("number", "category", "text") and what a missing value means ("raise", "drop", "encode").
    workers : draw from so many arms at a time, in threads. The answer does not depend on it.
    executor : draw on this instead. Unless it is a ThreadPoolExecutor arms are sent to it by pickle; those that cannot
        be sent, or that keep something (pools, commands, connections), are drawn here.
    progress : show a line on standard error when it takes longer than two seconds, or hand the lines to a function.
    on_round : called with what each round saw, right after it.
    """
    started = time.perf_counter()
    seed = _seed(seed)
    workers = whole_number("workers", workers, 1)
    if executor is not None and not isinstance(executor, Executor):
        raise SettingsError(f"executor must be a concurrent.futures.Executor, got {executor!r}")
    if strategy is None:
        strategy = "anytime" if kernel is None and min_separation is None else "kabc"
    expect_several_groups(n_clusters if isinstance(strategy, str) else strategy.n_clusters)
    if not isinstance(strategy, str):
        _refuse_other_settings(
            strategy,
            own={"n_clusters": n_clusters, "delta": delta, "kernel": kernel},
            foreign={"strategy_options": strategy_options or None, "min_separation": min_separation, "pilot": pilot},
        )
    by_kernel = needs_kernel(strategy) if isinstance(strategy, str) else strategy.kernel is not None
    opened = Reading(arm, values, types, missing).opened(arms, by_kernel, seed)
    if kernel is None and by_kernel:
        kernel = suitable_kernel(opened)
    sources = Sources(opened, names, seed)
    run = _Run(sources, Ticker(progress), max_samples, started, on_round)
    try:
        sources.workers = Workers.of(executor, workers, len(sources))
        if not isinstance(strategy, str):
            return run.drive(strategy)
        delta = _DELTA if delta is None else delta
        settings = _Settings(strategy, n_clusters, delta, min_separation, run.budget, dict(strategy_options or {}))
        settings.check(kernel, len(sources))
        return run.settle_kernel_and_drive(settings, kernel, _PILOT if pilot is None else pilot)
    finally:
        sources.close()
        run.show.done()


def _refuse_other_settings(strategy: Strategy, own: Mapping[str, Any], foreign: Mapping[str, Any]) -> None:
    """A strategy object is run as it was made; settings that say otherwise would be ignored, so they are refused."""
    for name, value in own.items():
        its = getattr(strategy, name)
        if value is not None and not (value is its or value == its):
            has = "which has no kernel" if name == "kernel" and its is None else f"which has {name}={its!r}"
            raise SettingsError(
                f"{name}={value!r} is given beside a strategy object, {has}; leave {name}= out, or make the strategy "
                "with it"
            )
    for name, value in foreign.items():
        if value is not None:
            raise SettingsError(
                f"{name}={value!r} is given beside a strategy object, which is run as it was made; leave {name}= out, "
                "or pass the strategy by its name"
            )


def _seed(seed: int | None) -> int:
    if seed is None:
        return int(np.random.SeedSequence().entropy % 2**63)  # type: ignore[operator]
    return whole_number("seed", seed, 0)


@dataclass
class _Settings:
    """What the user asked for, before there is a kernel."""

    strategy: str
    n_clusters: int | None
    delta: float
    min_separation: float | None
    budget: int | None
    options: dict[str, Any]

    def check(self, kernel: object, n_arms: int) -> None:
        """Refuse bad settings before a single sample is paid for."""
        if kernel is not None and not needs_kernel(self.strategy):
            raise SettingsError(
                f"strategy {self.strategy!r} needs no kernel, got {kernel!r}; leave it out, or use 'kabc'"
            )
        if self.n_clusters is None and self.min_separation is None and self.budget is None:
            raise SettingsError(
                "with n_clusters=None pass min_separation (the smallest separation s_0 that matters; K is then an "
                "output) or max_samples (the answer is then a certified lower bound on the number of groups)"
            )
        if self.n_clusters is not None and self.min_separation is not None:
            raise SettingsError("n_clusters and min_separation are two ways to know when to stop; pass one of them")
        if self.min_separation is not None and not needs_kernel(self.strategy):
            raise SettingsError(f"min_separation needs a kernel, which strategy {self.strategy!r} has not; use 'kabc'")
        if self.min_separation is not None:
            positive_number("min_separation", self.min_separation)
        self._make(n_arms, Gaussian(bandwidth=1.0), 2)

    def build(self, sources: Sources, kernel: Kernel | None, n_pilot: int) -> Strategy:
        affordable = [arm.remaining for arm in sources.arms if arm.remaining is not None]
        if self.budget is not None:
            affordable.append((self.budget - n_pilot) // len(sources))
        return self._make(len(sources), kernel, min(affordable, default=2))

    def _make(self, n_arms: int, kernel: Kernel | None, affordable: int) -> Strategy:
        if self.n_clusters is not None or not needs_kernel(self.strategy):
            return make_strategy(self.strategy, n_arms, self.n_clusters, self.delta, kernel, self.options)
        assert kernel is not None
        if self.options:
            raise SettingsError(f"strategy_options need n_clusters; without it CLUSTER is run, got {self.options!r}")
        if self.min_separation is not None:
            return Cluster.for_separation(n_arms, self.min_separation, self.delta, kernel)
        if affordable < 2:
            raise SettingsError(
                f"max_samples or the pools allow {max(affordable, 0)} sample(s) per arm; at least 2 are needed"
            )
        return Cluster(n_arms, affordable, self.delta, kernel)


@dataclass
class _Run:
    """One run: where it draws, what it may spend, whom it tells, what it remembers."""

    sources: Sources
    show: Ticker
    max_samples: int | None
    started: float
    on_round: Callable[[Round], None] | None
    notes: list[str] = field(default_factory=list)
    n_pilot: int = 0

    def __post_init__(self) -> None:
        self.budget = None if self.max_samples is None else whole_number("max_samples", self.max_samples, 1)
        self.tracer = Tracer(len(self.sources))

    def settle_kernel_and_drive(self, settings: _Settings, kernel: KernelChoice, pilot: int) -> Result:
        """Draw a pilot where the kernel is chosen on one, then run."""
        if not needs_kernel(settings.strategy):
            return self.drive(settings.build(self.sources, None, 0))
        try:
            chosen = self._kernel(kernel, pilot)
        except (KeyboardInterrupt, SpendError) as stop:
            self.notes.append("stopped during the pilot: no kernel was chosen, nothing was tested")
            status: Status = "interrupted" if isinstance(stop, KeyboardInterrupt) else "budget"
            stand_in = settings.build(self.sources, Gaussian(bandwidth=1.0), 0)
            return replace(self._result(stand_in, status, 0), kernel="")
        return self.drive(settings.build(self.sources, chosen, self.n_pilot))

    def _kernel(self, kernel: KernelChoice, pilot: int) -> Kernel:
        if isinstance(kernel, Kernel):
            return kernel
        if kernel is not None and not callable(kernel):
            raise SettingsError(f"kernel must be a kabc kernel, a function pilot -> kernel, or None, got {kernel!r}")
        request = dict.fromkeys(range(len(self.sources)), whole_number("pilot", pilot, 2))
        total = sum(request.values())
        if self.budget is not None and total > self.budget:
            raise SettingsError(
                f"a pilot of {pilot} samples of each arm is {total} samples, over max_samples={self.budget}; "
                "lower pilot=, or pass a kernel with a fixed bandwidth"
            )
        self.sources.need(request)
        pooled = _pooled(self.sources.draw(request, _PILOT_ROUND, self.show), self.sources.names)
        self.n_pilot = total
        chosen = Gaussian.from_pilot(pooled) if kernel is None else kernel(pooled)
        if not isinstance(chosen, Kernel):
            raise SettingsError(
                f"kernel= was a function that returned {chosen!r} for the pilot; it must return a kabc kernel"
            )
        return chosen

    def drive(self, strategy: Strategy) -> Result:
        """Ask, draw, tell until something ends it."""
        if strategy.n_arms != len(self.sources):
            raise SettingsError(f"the strategy was made for {strategy.n_arms} arms, got {len(self.sources)}")
        self._refuse_rows_again(strategy)
        with _one_thread_for_small_matrices(strategy):
            return self._driven(strategy)

    def _refuse_rows_again(self, strategy: Strategy) -> None:
        pools = [name for name, arm in zip(self.sources.names, self.sources.arms, strict=True) if _ends(arm)]
        if strategy.n_samples and pools and not strategy.stopped:
            raise SettingsError(
                f"the strategy was told {strategy.n_samples:,} samples already, and arm {pools[0]!r} is a pool: "
                "rows that it has seen would be drawn twice; pass a new strategy object, or arms that are functions"
            )

    def _driven(self, strategy: Strategy) -> Result:
        before = strategy.n_samples
        # a strategy that goes on gets the draws of later rounds: those of the first ones it has seen
        first = _PILOT_ROUND + len(strategy.rounds)
        telling = False
        status: Status | None = None
        number = first
        try:
            while not strategy.stopped:
                request = strategy.ask()
                status = self._forbids(request)
                if status is not None:
                    break
                number += 1
                samples = self.sources.draw(request, number, self.show)
                self.show(f"round {number}: comparing {strategy.n_arms} arms, {self._so_far()}")
                with uninterrupted(self.show):
                    telling = True
                    _tell(strategy, samples, self.sources.names)
                    telling = False
                self._told(strategy, number, number - first)
        except KeyboardInterrupt:
            if telling:  # the strategy is neither before nor after the round: nothing it says would be certain
                raise
            status = "interrupted"
        except SpendError:
            status = "budget"
        ended = strategy.status or status  # an answer that is found stands, however the run ended
        assert ended is not None
        if ended == "decided" and not strategy.recommend().certified:
            ended = "stopped"
        if strategy.status == "budget" and not self.sources.can_give(dict.fromkeys(range(strategy.n_arms), 1)):
            ended = "exhausted"  # the rows were its budget
        return self._result(strategy, ended, before)

    def _forbids(self, request: Mapping[int, int]) -> Status | None:
        if not self.sources.can_give(request):  # a larger budget would not help, so this is the reason
            return "exhausted"
        return "budget" if self.budget is not None and self._total(request) > self.budget else None

    def _total(self, request: Mapping[int, int]) -> int:
        return self.sources.n_samples + sum(request.values())

    def _told(self, strategy: Strategy, number: int, of_this_run: int) -> None:
        self.show(f"round {number}: {strategy.rounds[-1].n_groups} group(s) after {self._so_far()}")
        if self.tracer.wants(of_this_run):
            self.tracer.add(strategy.n_samples, strategy.evidence())
        if self.on_round is not None:
            self.on_round(strategy.rounds[-1])

    def _so_far(self) -> str:
        return f"{self.sources.n_samples:,} samples"

    def _result(self, strategy: Strategy, status: Status, before: int) -> Result:
        sources = self.sources
        samples = sources.kept.by_name(sources.names)
        return Result(
            names=sources.names,
            labels=strategy.recommend().labels,
            status=status,
            evidence=strategy.evidence(),
            samples_per_arm=dict(zip(sources.names, sources.drawn, strict=True)),
            rounds=tuple(strategy.rounds),
            guarantee=strategy.guarantee(),
            delta=strategy.delta,
            n_clusters=strategy.n_clusters,
            n_groups_at_least=strategy.n_groups_at_least,
            kernel="" if strategy.kernel is None else repr(strategy.kernel),
            seed=sources.seed,
            n_pilot=self.n_pilot,
            n_unused=sources.n_samples - self.n_pilot - (strategy.n_samples - before),
            notes=(*sources.notes, *self.notes, *drift_notes(samples, sources.columns)),
            price=sources.price,
            seconds=time.perf_counter() - self.started,
            columns=sources.columns,
            levels={column: dict(known) for column, known in sources.levels.items()},
            samples=samples,
            trace=self.tracer.trace(),
        )


def _ends(arm: Arm) -> bool:
    return arm.remaining is not None


def _one_thread_for_small_matrices(strategy: Strategy) -> AbstractContextManager[object]:
    """Bets decompose small matrices in each round: more threads only wait for each other, ten times as long if busy."""
    if strategy.kernel is not None:
        return nullcontext()
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[object] = threadpool_limits(1, user_api="blas")
    return limits


def _tell(strategy: Strategy, samples: dict[int, ArrayLike], names: tuple[Hashable, ...]) -> None:
    try:
        strategy.tell(samples)
    except KabcError as error:
        if isinstance(error.arm, int):  # strategies number arms, people name them
            error.arm = names[error.arm]
        raise


def _pooled(samples: dict[int, ArrayLike], names: tuple[Hashable, ...]) -> NDArray[np.float64]:
    """All samples of the pilot as one array."""
    points: list[NDArray[np.float64]] = []
    for arm, rows in samples.items():
        try:
            points.append(as_points(rows))
            expect_columns(points[-1], points[0].shape[1])
        except KabcError as error:
            raise error.of_arm(names[arm]) from None
    return np.concatenate(points)
