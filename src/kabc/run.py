"""The loop: ask, draw, tell. The only place that knows both arms and strategies.

Randomness of a draw depends on (seed, arm, round) alone: the answer is the same whatever the order of the arms.
Arms are drawn in a new random order in each round, so that a drift in time does not favour one of them.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kabc.arms.base import Arm, as_arm
from kabc.errors import ArmError, KabcError, SettingsError
from kabc.kernels import Gaussian, Kernel
from kabc.result import Result, Round, Status
from kabc.samples import as_points, expect_columns
from kabc.strategies import make_strategy, needs_kernel
from kabc.strategies.base import Request, Strategy, positive_number, whole_number
from kabc.strategies.cluster import Cluster

Source = Callable[[int, np.random.Generator], ArrayLike] | ArrayLike | Arm
Arms = Mapping[Any, Source] | Sequence[Source]
Progress = Callable[[str], None]

_PILOT_ROUND = 0
_QUIET_SECONDS = 2.0


def cluster(
    arms: Arms,
    n_clusters: int | None = None,
    delta: float = 0.05,
    *,
    kernel: Kernel | Callable[[NDArray[Any]], Kernel] | None = None,
    strategy: str | Strategy | None = None,
    strategy_options: Mapping[str, Any] | None = None,
    max_samples: int | None = None,
    min_separation: float | None = None,
    pilot: int = 20,
    seed: int | None = None,
    names: Sequence[Hashable] | None = None,
    progress: bool | Progress = True,
    on_round: Callable[[Round], None] | None = None,
) -> Result:
    """Find out which arms have the same distribution, wrong with probability at most delta.

    Parameters
    ----------
    arms : mapping name -> arm, or a sequence of arms (then `names` may name them). An arm is a callable
        ``draw(n, rng)`` returning n samples, (n,) or (n, d), or an array of samples, used up in random order.
    n_clusters : K. None when it is not known: then `min_separation` or `max_samples` is needed.
    delta : largest probability of a wrong certified answer, in (0, 1].
    kernel : for strategies that test with one: a kernel, or a function from a pilot (n, d) to a kernel. None: Gaussian
        with the median heuristic on a pilot of `pilot` samples of each arm, which is counted and never tested.
    strategy : "anytime" (by betting: by far the fewest samples, no kernel to choose), "kabc" (as published),
        "kabc-tight" (every improvement that keeps its proof), or a strategy object. Default: "anytime", or "kabc" where
        a kernel or `min_separation` is given.
    strategy_options : further settings of the strategy, e.g. ``{"keep_samples": True}``.
    max_samples : stop before more than this many samples are drawn in all.
    min_separation : the paper's s_0, a lower bound of s_*; K is then an output.
    seed : makes everything reproducible; a fresh one is drawn, and recorded in the result, if None.
    progress : show a line on standard error when it takes longer than two seconds, or hand the lines to a function.
    on_round : called with what each round saw, right after it.
    """
    seed = _seed(seed)
    sources = _Sources.of(arms, names, seed)
    budget = None if max_samples is None else whole_number("max_samples", max_samples, 1)
    show = _Ticker(progress)
    if strategy is None:
        strategy = "anytime" if kernel is None and min_separation is None else "kabc"
    n_pilot = 0
    if isinstance(strategy, str):
        settings = _Settings(strategy, n_clusters, delta, min_separation, budget, dict(strategy_options or {}))
        settings.check(kernel, len(sources.arms))
        given: Kernel | None = None
        if needs_kernel(settings.strategy):
            given, n_pilot = _kernel(kernel, sources, pilot, budget, show)
        strategy = settings.build(sources, given, n_pilot)
    elif strategy.n_arms != len(sources.arms):
        raise SettingsError(f"the strategy was made for {strategy.n_arms} arms, got {len(sources.arms)}")
    status = _loop(strategy, sources, budget, show, on_round)
    return _result(strategy, sources, status, n_pilot, seed)


def _seed(seed: int | None) -> int:
    if seed is None:
        return int(np.random.SeedSequence().entropy % 2**63)  # type: ignore[operator]
    return whole_number("seed", seed, 0)


def _rng(seed: int, *key: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


@dataclass
class _Sources:
    """Arms with their names, and how many samples of each were drawn."""

    names: tuple[Hashable, ...]
    arms: list[Arm]
    seed: int
    drawn: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, arms: Arms, names: Sequence[Hashable] | None, seed: int) -> _Sources:
        named = _named(arms, names)
        if len(named) < 2:
            raise ArmError(f"there must be at least 2 arms to compare, got {len(named)}")
        # keys (arm,) order the pools, keys (arm, round) draw: they never meet
        opened = [as_arm(name, source, _rng(seed, i)) for i, (name, source) in enumerate(named)]
        return cls(tuple(name for name, _ in named), opened, seed, [0] * len(opened))

    def can_give(self, request: Request) -> bool:
        limits = ((self.arms[arm].remaining, count) for arm, count in request.items())
        return all(remaining is None or remaining >= count for remaining, count in limits)

    def need(self, request: Request) -> None:
        """Refuse a pilot that a pool cannot give."""
        for arm, count in request.items():
            remaining = self.arms[arm].remaining
            if remaining is not None and remaining < count:
                raise ArmError(
                    f"it has {remaining} sample(s), fewer than the {count} of the pilot; "
                    "lower pilot=, or pass a kernel with a fixed bandwidth"
                ).of_arm(self.names[arm])

    def draw(self, request: Request, round_number: int, show: _Ticker) -> dict[int, ArrayLike]:
        order = _rng(self.seed, len(self.arms), round_number).permutation(list(request))
        samples: dict[int, ArrayLike] = {}
        for done, arm in enumerate(order.tolist()):
            show(f"round {round_number}: drawing, {done} of {len(order)} arms done, {sum(self.drawn):,} samples so far")
            samples[arm] = self._draw_one(arm, request[arm], round_number)
        return {arm: samples[arm] for arm in request}

    def _draw_one(self, arm: int, count: int, round_number: int) -> ArrayLike:
        name = self.names[arm]
        rows = self.arms[arm].draw(count, _rng(self.seed, arm, round_number))
        try:
            got = len(rows)  # type: ignore[arg-type]
        except TypeError:
            raise ArmError(
                f"returned {rows!r} when asked for {count} samples; draw(n, rng) must return an array of n rows"
            ).of_arm(name) from None
        if got != count:
            raise ArmError(
                f"returned {got} samples when asked for {count}; draw(n, rng) must return exactly n rows"
            ).of_arm(name)
        self.drawn[arm] += count
        return rows


def _named(arms: Arms, names: Sequence[Hashable] | None) -> list[tuple[Hashable, Source]]:
    if isinstance(arms, Mapping):
        if names is not None:
            raise ArmError("names are given twice: by the mapping of arms and by names=; leave names= out")
        return list(arms.items())
    if isinstance(arms, str | bytes) or not isinstance(arms, Sequence | np.ndarray):
        raise ArmError(f"arms must be a mapping name -> arm or a sequence of arms, got {type(arms).__name__}")
    given: Sequence[Hashable] = range(len(arms)) if names is None else names
    if len(given) != len(arms):
        raise ArmError(f"{len(arms)} arms have {len(given)} names; give one name to each")
    seen: set[Hashable] = set()
    for name in given:
        if not isinstance(name, Hashable):
            raise ArmError(f"arm name {name!r} cannot be a name because it is not hashable; use a string or a tuple")
        if name in seen:
            raise ArmError(f"arm name {name!r} is given twice; names must differ")
        seen.add(name)
    return list(zip(given, arms, strict=True))


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

    def build(self, sources: _Sources, kernel: Kernel | None, n_pilot: int) -> Strategy:
        affordable = [arm.remaining for arm in sources.arms if arm.remaining is not None]
        if self.budget is not None:
            affordable.append((self.budget - n_pilot) // len(sources.arms))
        return self._make(len(sources.arms), kernel, min(affordable, default=2))

    def _make(self, n_arms: int, kernel: Kernel | None, affordable: int) -> Strategy:
        if self.n_clusters is not None or (kernel is None and self.min_separation is None):
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


def _kernel(
    kernel: Kernel | Callable[[NDArray[Any]], Kernel] | None,
    sources: _Sources,
    pilot: int,
    budget: int | None,
    show: _Ticker,
) -> tuple[Kernel, int]:
    """The kernel, and the number of samples spent on choosing it."""
    if isinstance(kernel, Kernel):
        return kernel, 0
    if kernel is not None and not callable(kernel):
        raise SettingsError(f"kernel must be a kabc kernel, a function pilot -> kernel, or None, got {kernel!r}")
    request = dict.fromkeys(range(len(sources.arms)), whole_number("pilot", pilot, 2))
    total = sum(request.values())
    if budget is not None and total > budget:
        raise SettingsError(
            f"a pilot of {pilot} samples of each arm is {total} samples, over max_samples={budget}; "
            "lower pilot=, or pass a kernel with a fixed bandwidth"
        )
    sources.need(request)
    pooled = _pooled(sources.draw(request, _PILOT_ROUND, show), sources.names)
    chosen = Gaussian.from_pilot(pooled) if kernel is None else kernel(pooled)
    if not isinstance(chosen, Kernel):
        raise SettingsError(
            f"kernel= was a function that returned {chosen!r} for the pilot; it must return a kabc kernel"
        )
    return chosen, total


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


def _loop(
    strategy: Strategy,
    sources: _Sources,
    budget: int | None,
    show: _Ticker,
    on_round: Callable[[Round], None] | None,
) -> Status:
    number = _PILOT_ROUND
    while not strategy.stopped:
        request = strategy.ask()
        if budget is not None and sum(sources.drawn) + sum(request.values()) > budget:
            return "budget"
        if not sources.can_give(request):
            return "exhausted"
        number += 1
        samples = sources.draw(request, number, show)
        show(f"round {number}: comparing {strategy.n_arms} arms, {sum(sources.drawn):,} samples so far")
        _tell(strategy, samples, sources)
        show(f"round {number}: {strategy.rounds[-1].n_groups} group(s) after {sum(sources.drawn):,} samples")
        if on_round is not None:
            on_round(strategy.rounds[-1])
    show.done()
    status = strategy.status
    assert status is not None
    return status


def _tell(strategy: Strategy, samples: dict[int, ArrayLike], sources: _Sources) -> None:
    try:
        strategy.tell(samples)
    except KabcError as error:
        if isinstance(error.arm, int):  # strategies number arms, people name them
            error.arm = sources.names[error.arm]
        raise


def _result(strategy: Strategy, sources: _Sources, status: Status, n_pilot: int, seed: int) -> Result:
    return Result(
        names=sources.names,
        labels=strategy.recommend().labels,
        status=status,
        evidence=strategy.evidence(),
        samples_per_arm=dict(zip(sources.names, sources.drawn, strict=True)),
        rounds=strategy.rounds,
        guarantee=strategy.guarantee(),
        delta=strategy.delta,
        n_clusters=strategy.n_clusters,
        n_groups_at_least=strategy.n_groups_at_least,
        kernel="" if strategy.kernel is None else repr(strategy.kernel),
        seed=seed,
        n_pilot=n_pilot,
    )


class _Ticker:
    """Shows progress lines, at most two a second, once a run has taken longer than two seconds."""

    def __init__(self, progress: bool | Progress) -> None:
        self._show = progress if callable(progress) else (_to_stderr if progress else None)
        self._next = time.monotonic() + _QUIET_SECONDS
        self._shown = False

    def __call__(self, line: str) -> None:
        if self._show is None or time.monotonic() < self._next:
            return
        self._show(line)
        self._shown = True
        self._next = time.monotonic() + 0.5

    def done(self) -> None:
        if self._shown and self._show is _to_stderr and sys.stderr.isatty():
            sys.stderr.write("\r\033[K")


def _to_stderr(line: str) -> None:
    sys.stderr.write(f"\r\033[K{line}" if sys.stderr.isatty() else f"{line}\n")
    sys.stderr.flush()
