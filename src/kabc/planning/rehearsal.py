"""What a strategy without a schedule will cost: a simulated run. This is a guess; no bound is proved.

It takes the samples of a pilot first, where there is one: that far it is a run like the real one. Then it draws arms
that are made up. There is only one, so that a plan takes less time than the run that it plans (benchmarks/plan.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from kabc.core.arrays import Array
from kabc.core.errors import SettingsError
from kabc.core.words import counted
from kabc.planning.cost import Cost
from kabc.planning.tolerances import ASK, TolerancePlan
from kabc.running.loop import Drawn, Loop, blas_threads
from kabc.running.progress import Ticker
from kabc.strategies.base import Request, Strategy

_TRIES = 10  # simulated runs that may go wrong
_MOST_SAMPLES = 50_000  # a simulated run that needs more is given up


@dataclass(frozen=True)
class SimulatedPlan:
    """What a simulated run of a strategy takes. Print it for a table. This is a guess: no bound is proved.

    Attributes
    ----------
    n_clusters : int or None
        K. None: the run went on until all different arms were told apart.
    expected_samples : int
        Samples of the simulated run.
    given_up : bool
        Whether it was given up before it was decided: it needs more samples.
    source : str
        Where the simulated arms come from, in words.
    cost : Cost
        Of one sample.
    within : TolerancePlan or None
        Without K: what it costs to ask for a tolerance instead. None where that cannot be told.

    Examples
    --------
    >>> import kabc
    >>> plan = kabc.plan(n_arms=2, n_clusters=2, delta=0.2, gap=5.0, progress=False)
    >>> plan.expected_samples < 100, plan.given_up, plan.sure_samples is None
    (True, False, True)
    """

    strategy: str
    n_arms: int
    n_clusters: int | None
    delta: float
    source: str
    expected_samples: int
    given_up: bool
    cost: Cost = field(default_factory=Cost)
    within: TolerancePlan | None = None

    @property
    def sure_samples(self) -> None:
        """Nothing is proved."""

    @property
    def estimated(self) -> bool:
        """It is always a guess."""
        return True

    def __str__(self) -> str:
        count = self.expected_samples
        return "\n".join(
            [
                f"{self.n_arms} arms, {self._groups}, delta = {self.delta:g}, strategy {self.strategy}",
                f"one simulated run, {self.source}: a guess, no bound is proved",
                f"{'':>8} {'samples in all':>15} {'per arm':>10}",
                f"{'expected':>8} {count:>15,} {count / self.n_arms:>10,.1f}",
                *(["the simulated run was given up undecided: it needs more samples"] if self.given_up else []),
                *self.cost.lines({"expected": count}),
                *([] if self.within is None else [f"{ASK} ({self.within.source}):", *self.within.table()]),
            ]
        )

    @property
    def _groups(self) -> str:
        if self.n_clusters is None:
            return "number of groups not known: until all different arms are told apart"
        return counted(self.n_clusters, "group")


@dataclass(frozen=True)
class SimulatedArms:
    """Arms to simulate, with their true groups. Each gives the rows in `first`, where there are any, then it draws."""

    labels: NDArray[np.intp]  # (N,)
    draw: Callable[[int, int, np.random.Generator], Array]  # arm, count -> (count, d)
    first: tuple[Array, ...] = ()  # N arrays (n_i, d)

    def samples(self, arm: int, start: int, count: int, rng: np.random.Generator) -> Array:  # (count, d)
        """The samples of an arm from number `start` on."""
        own = self.first[arm][start : start + count] if self.first else ()
        drawn = self.draw(arm, count - len(own), rng)
        return np.concatenate([own, drawn]) if len(own) else drawn

    @classmethod
    def of_rows(cls, rows: Sequence[NDArray[np.float64]], labels: NDArray[np.intp], blur: float = 0.0) -> SimulatedArms:
        """Arms that give their rows, then draw with replacement from the rows of all arms of their group.

        The rows of two groups differ more than the groups do, by the noise of the rows. So a part `blur` of the samples
        comes from all rows: then all mean embeddings differ by 1 - blur of what the rows show.
        """
        groups = [np.flatnonzero(labels == group) for group in range(int(labels.max()) + 1)]
        pools = [np.concatenate([rows[arm] for arm in group.tolist()]) for group in groups]
        everything = np.concatenate(pools)

        def draw(arm: int, count: int, rng: np.random.Generator) -> Array:
            pool: Array = pools[labels[arm]]
            chosen = pool[rng.integers(len(pool), size=count)]
            anything = everything[rng.integers(len(everything), size=count)]
            return np.where(rng.random((count, 1)) < blur, anything, chosen)

        return cls(labels, draw, tuple(rows))

    @classmethod
    def of_normals(cls, gap: float, n_arms: int, n_clusters: int) -> SimulatedArms:
        """Normal arms of deviation 1; means of neighbouring groups are `gap` apart, group sizes differ by at most 1."""
        labels = np.arange(n_arms) % n_clusters
        return cls(labels, lambda arm, count, rng: rng.normal(gap * labels[arm], 1.0, (count, 1)))


def rehearse(make: Callable[[], Strategy], simulated: SimulatedArms, show: Ticker) -> tuple[int, bool]:
    """Samples that a seeded run takes, and whether it was given up.

    A run that tells equal arms apart is made again: it may never end. Its probability is at most delta.
    """
    for run in range(_TRIES):
        strategy = make()
        with blas_threads(strategy):
            found = _rehearsed(strategy, simulated, run, show)
        if found is not None:
            show.done()
            return found
        simulated = replace(simulated, first=())  # the same rows would go wrong again
    show.done()
    raise SettingsError(f"all simulated runs went wrong; lower delta, which is {make().delta:g}")


def rehearse_on(make: Callable[[], Strategy], rows: Sequence[Array], show: Ticker) -> int | None:
    """Samples that a run on these rows alone takes, with K known; None if they do not decide it."""
    strategy = make()
    draw = _Drawing(strategy, SimulatedArms.of_rows(rows, np.arange(len(rows))), 0, show)
    with blas_threads(strategy):
        for _ in Loop[str](strategy, draw, forbids=draw.beyond_the_rows):
            pass
    show.done()
    return strategy.n_samples if strategy.status == "decided" else None


class _Drawing:
    """Draws what a strategy asks for from simulated arms, from their first sample on."""

    def __init__(self, strategy: Strategy, simulated: SimulatedArms, run: int, show: Ticker) -> None:
        self._strategy, self._simulated, self._show = strategy, simulated, show
        self._run, self._rng = run, np.random.default_rng(run)
        self._taken = [0] * strategy.n_arms

    def __call__(self, request: Request) -> Drawn:
        self._show(f"plan: simulated run {self._run + 1}, {counted(self._strategy.n_samples, 'sample')} so far")
        drawn = {}
        for arm, count in request.items():
            drawn[arm] = self._simulated.samples(arm, self._taken[arm], count, self._rng)
            self._taken[arm] += count
        return drawn

    def beyond_the_rows(self, request: Request) -> str | None:
        """A reason not to draw: the rows of an arm are used up."""
        first = self._simulated.first
        over = any(self._taken[arm] + count > len(first[arm]) for arm, count in request.items())
        return "too few rows" if over else None


def _rehearsed(strategy: Strategy, simulated: SimulatedArms, run: int, show: Ticker) -> tuple[int, bool] | None:
    """Samples of a run that goes on until it stops or takes too long, and whether it did; None if it went wrong."""
    draw = _Drawing(strategy, simulated, run, show)
    for _ in Loop[None](strategy, draw):
        if _wrong(strategy, simulated):
            return None
        if strategy.n_samples >= _MOST_SAMPLES or _ended(strategy, simulated):
            break
    return strategy.n_samples, not _ended(strategy, simulated)


def _ended(strategy: Strategy, simulated: SimulatedArms) -> bool:
    """Whether it has stopped; a strategy without K never does, so once it has told apart all arms that differ."""
    if strategy.n_clusters is not None:
        return strategy.stopped
    different = simulated.labels[:, None] != simulated.labels[None, :]
    return bool(strategy.evidence().told_apart[different].all())


def _wrong(strategy: Strategy, simulated: SimulatedArms) -> bool:
    same = simulated.labels[:, None] == simulated.labels[None, :]
    return bool((strategy.evidence().told_apart & same).any())
