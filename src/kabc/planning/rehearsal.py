"""What a strategy without a schedule will cost: a few simulated runs. A guess; no bound is proved."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from kabc.core.arrays import Array
from kabc.core.errors import SettingsError
from kabc.running.progress import Ticker
from kabc.strategies.base import Strategy

_RUNS = 5
_MOST_SAMPLES = 50_000  # of a simulated run, which is then given up


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one sample, where known: money and seconds."""

    price: float = 0.0
    seconds: float = 0.0

    def lines(self, counts: dict[str, int]) -> list[str]:
        """Money and time of these numbers of samples, in words."""
        shown = {"price": (self.price, "{:,.6g}"), "time": (self.seconds, "{:,.6g} s")}
        return [
            f"{what}: " + ", ".join(f"{form.format(each * count)} ({name})" for name, count in counts.items())
            for what, (each, form) in shown.items()
            if each
        ]


@dataclass(frozen=True)
class SimulatedPlan:
    """What simulated runs of a strategy took. Print it for a table. A guess: no bound is proved.

    `samples` are the samples of each run; `n_given_up` of them were not decided when they were given up.
    """

    strategy: str
    n_arms: int
    n_clusters: int
    delta: float
    source: str
    samples: tuple[int, ...]
    n_given_up: int
    cost: Cost = field(default_factory=Cost)

    @property
    def expected_samples(self) -> int:
        """The median of the runs."""
        return int(statistics.median_low(self.samples))

    @property
    def sure_samples(self) -> None:
        """Nothing is proved."""

    @property
    def estimated(self) -> bool:
        """It is always a guess."""
        return True

    def __str__(self) -> str:
        figures = {"fewest": min(self.samples), "median": self.expected_samples, "most": max(self.samples)}
        undecided = [f"{self.n_given_up} of {len(self.samples)} runs were given up undecided: it takes more than that"]
        return "\n".join(
            [
                f"{self.n_arms} arms, {self.n_clusters} groups, delta = {self.delta:g}, strategy {self.strategy}",
                f"{len(self.samples)} simulated runs, {self.source}: a guess, no bound is proved",
                f"{'':>8} {'samples in all':>15} {'per arm':>10}",
                *(f"{name:>8} {count:>15,} {count / self.n_arms:>10,.1f}" for name, count in figures.items()),
                *(undecided if self.n_given_up else []),
                *self.cost.lines(figures),
            ]
        )


@dataclass(frozen=True)
class Instance:
    """Arms to simulate, with their true groups."""

    labels: NDArray[np.intp]  # (N,)
    draw: Callable[[int, int, np.random.Generator], Array]  # arm, count -> (count, d)

    @classmethod
    def of_rows(cls, rows: Sequence[NDArray[np.float64]], labels: NDArray[np.intp]) -> Instance:
        """Arms that draw with replacement from the rows of all arms of their group."""
        groups = [np.flatnonzero(labels == group) for group in range(int(labels.max()) + 1)]
        pools = [np.concatenate([rows[arm] for arm in group.tolist()]) for group in groups]

        def draw(arm: int, count: int, rng: np.random.Generator) -> Array:
            pool: Array = pools[labels[arm]]
            return pool[rng.integers(len(pool), size=count)]

        return cls(labels, draw)

    @classmethod
    def of_normals(cls, gap: float, n_arms: int, n_clusters: int) -> Instance:
        """Normal arms of deviation 1; means of neighbouring groups are `gap` apart, groups are as equal as can be."""
        labels = np.arange(n_arms) % n_clusters
        return cls(labels, lambda arm, count, rng: rng.normal(gap * labels[arm], 1.0, (count, 1)))


def rehearse(make: Callable[[], Strategy], instance: Instance, show: Ticker) -> tuple[tuple[int, ...], int]:
    """Samples that each of a few seeded runs took, and how many of them were given up.

    Runs that go wrong, as one in 1/delta may, are left out: they can take for ever.
    """
    samples: list[int] = []
    given_up = 0
    for run in range(2 * _RUNS):
        strategy = make()
        rng = np.random.default_rng(run)
        while not strategy.stopped and strategy.n_samples < _MOST_SAMPLES and not _wrong(strategy, instance):
            show(f"plan: simulated run {run + 1}, {strategy.n_samples:,} samples so far")
            strategy.tell({arm: instance.draw(arm, count, rng) for arm, count in strategy.ask().items()})
        if not _wrong(strategy, instance):
            samples.append(strategy.n_samples)
            given_up += not strategy.stopped
        if len(samples) == _RUNS:
            break
    show.done()
    if not samples:
        raise SettingsError(f"all simulated runs went wrong; lower delta, which is {make().delta:g}")
    return tuple(samples), given_up


def _wrong(strategy: Strategy, instance: Instance) -> bool:
    same = instance.labels[:, None] == instance.labels[None, :]
    return bool((strategy.evidence().told_apart & same).any())
