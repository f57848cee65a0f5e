"""What a strategy without a schedule will cost: a few simulated runs. This is a guess; no bound is proved."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from kabc.core.arrays import Array
from kabc.core.errors import SettingsError
from kabc.core.words import counted
from kabc.planning.cost import Cost
from kabc.running.loop import Drawn, Loop, blas_threads
from kabc.running.progress import Ticker
from kabc.strategies.base import Request, Strategy

_RUNS = 5
_FEW_SAMPLES = 100  # one simulated run computes as long as the run itself: more only while all together are this short
_MOST_SAMPLES = 50_000  # a simulated run that needs more is given up


@dataclass(frozen=True)
class SimulatedPlan:
    """What simulated runs of a strategy took. Print it for a table. This is a guess: no bound is proved.

    Attributes
    ----------
    n_clusters : int or None
        K. None: runs went on until all different arms were told apart.
    samples : tuple of int
        Samples of each run. One long run, or up to five short ones, so that a plan computes about as long as the run.
    n_given_up : int
        Runs that were given up before they were decided.
    source : str
        Where the simulated arms come from, in words.
    cost : Cost
        Of one sample.

    Examples
    --------
    >>> import kabc
    >>> plan = kabc.plan(n_arms=2, n_clusters=2, delta=0.2, gap=5.0, progress=False)
    >>> len(plan.samples), plan.n_given_up, plan.sure_samples is None
    (5, 0, True)
    """

    strategy: str
    n_arms: int
    n_clusters: int | None
    delta: float
    source: str
    samples: tuple[int, ...]
    n_given_up: int
    cost: Cost = field(default_factory=Cost)

    @property
    def expected_samples(self) -> int:
        """The median of the runs; of an even number the larger one of the two in the middle."""
        return int(statistics.median_high(self.samples))

    @property
    def sure_samples(self) -> None:
        """Nothing is proved."""

    @property
    def estimated(self) -> bool:
        """It is always a guess."""
        return True

    def __str__(self) -> str:
        n_runs = len(self.samples)
        figures = {"fewest": min(self.samples), "median": self.expected_samples, "most": max(self.samples)}
        figures = {"samples": self.samples[0]} if n_runs == 1 else figures
        given_up = f"{self.n_given_up} of {counted(n_runs, 'simulated run')} given up undecided: they need more samples"
        return "\n".join(
            [
                f"{self.n_arms} arms, {self._groups}, delta = {self.delta:g}, strategy {self.strategy}",
                f"{counted(n_runs, 'simulated run')}, {self.source}: a guess, no bound is proved",
                f"{'':>8} {'samples in all':>15} {'per arm':>10}",
                *(f"{name:>8} {count:>15,} {count / self.n_arms:>10,.1f}" for name, count in figures.items()),
                *([given_up] if self.n_given_up else []),
                *self.cost.lines(figures),
            ]
        )

    @property
    def _groups(self) -> str:
        if self.n_clusters is None:
            return "number of groups not known: until all different arms are told apart"
        return counted(self.n_clusters, "group")


@dataclass(frozen=True)
class SimulatedArms:
    """Arms to simulate, with their true groups."""

    labels: NDArray[np.intp]  # (N,)
    draw: Callable[[int, int, np.random.Generator], Array]  # arm, count -> (count, d)

    @classmethod
    def of_rows(cls, rows: Sequence[NDArray[np.float64]], labels: NDArray[np.intp], blur: float = 0.0) -> SimulatedArms:
        """Arms that draw with replacement from the rows of all arms of their group.

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

        return cls(labels, draw)

    @classmethod
    def of_normals(cls, gap: float, n_arms: int, n_clusters: int) -> SimulatedArms:
        """Normal arms of deviation 1; means of neighbouring groups are `gap` apart, group sizes differ by at most 1."""
        labels = np.arange(n_arms) % n_clusters
        return cls(labels, lambda arm, count, rng: rng.normal(gap * labels[arm], 1.0, (count, 1)))


def rehearse(make: Callable[[], Strategy], simulated: SimulatedArms, show: Ticker) -> tuple[tuple[int, ...], int]:
    """Samples that each of a few seeded runs took, and how many of the runs were given up; one run if it is long.

    A run that tells equal arms apart is left out: it may never end. Its probability is at most delta.
    """
    samples: list[int] = []
    given_up = 0
    for run in range(2 * _RUNS):
        strategy = make()
        with blas_threads(strategy):
            went_wrong = _rehearsed(strategy, simulated, run, show)
        if not went_wrong:
            samples.append(strategy.n_samples)
            given_up += not _ended(strategy, simulated)
        if samples and (len(samples) == _RUNS or sum(samples) >= _FEW_SAMPLES):
            break
    show.done()
    if not samples:
        raise SettingsError(f"all simulated runs went wrong; lower delta, which is {make().delta:g}")
    return tuple(samples), given_up


def _rehearsed(strategy: Strategy, simulated: SimulatedArms, run: int, show: Ticker) -> bool:
    """Run the strategy until it stops, goes wrong or takes too many samples; whether it went wrong."""
    rng = np.random.default_rng(run)

    def draw(request: Request) -> Drawn:
        show(f"plan: simulated run {run + 1}, {counted(strategy.n_samples, 'sample')} so far")
        return {arm: simulated.draw(arm, count, rng) for arm, count in request.items()}

    went_wrong = False
    for _ in Loop[None](strategy, draw):
        went_wrong = _wrong(strategy, simulated)
        if went_wrong or strategy.n_samples >= _MOST_SAMPLES or _ended(strategy, simulated):
            break
    return went_wrong


def _ended(strategy: Strategy, simulated: SimulatedArms) -> bool:
    """Whether it has stopped; a strategy without K never does, so once it has told apart all arms that differ."""
    if strategy.n_clusters is not None:
        return strategy.stopped
    different = simulated.labels[:, None] != simulated.labels[None, :]
    return bool(strategy.evidence().told_apart[different].all())


def _wrong(strategy: Strategy, simulated: SimulatedArms) -> bool:
    same = simulated.labels[:, None] == simulated.labels[None, :]
    return bool((strategy.evidence().told_apart & same).any())
