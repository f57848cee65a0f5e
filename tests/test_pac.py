"""delta-PAC, seen: wrong in at most delta of the runs, and never over the theorem's budget."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

import kabc
from kabc import KABC, Gaussian, Partition, RandomFeatures
from kabc.core.kernels import Kernel

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Instance:
    """Arms on finite supports, so that distances and variances of the true embeddings are exact sums."""

    kernel: Kernel
    supports: tuple[Array, ...]  # one (m, d) per group, each point equally likely
    labels: tuple[int, ...]

    @property
    def n_arms(self) -> int:
        return len(self.labels)

    @property
    def n_clusters(self) -> int:
        return len(self.supports)

    def draw(self, arm: int, n: int, rng: np.random.Generator) -> Array:
        support = self.supports[self.labels[arm]]
        return support[rng.integers(len(support), size=n)]

    def gap_and_variance(self) -> tuple[float, float]:
        g = self.kernel
        means = np.array([[g(x, y).mean() for y in self.supports] for x in self.supports])
        own = np.diag(means)
        squared = own[:, None] + own[None, :] - 2 * means
        variances = [g.diagonal(x).mean() - g(x, x).mean() for x in self.supports]
        gaps = squared[~np.eye(len(own), dtype=bool)]
        return float(np.sqrt(gaps.min())), float(max(variances))


def skewed() -> Instance:
    """Three laws on a line with the same mean and variance: mirror images, and a symmetric one."""
    skew = np.sort(np.random.default_rng(0).exponential(size=40))
    skew = (skew - skew.mean()) / skew.std()
    even = np.linspace(-1, 1, 40)
    even = even / even.std()
    supports = tuple(3 * law[:, None] for law in (skew, -skew, even))
    return Instance(Gaussian(1.0), supports, (0, 1, 2, 0, 1))


def odd_one_out() -> Instance:
    """One arm alone among many, in three dimensions, with random features for a kernel."""
    rng = np.random.default_rng(1)
    plain = rng.normal(size=(60, 3))
    return Instance(RandomFeatures(Gaussian(1.5), 128, seed=0), (plain, 2.5 + plain), (0, 0, 0, 1, 0, 0))


def rings() -> Instance:
    """Two rings around one centre: equal means, groups of sizes 2 and 2."""
    angle = np.linspace(0, 2 * np.pi, 48, endpoint=False)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    return Instance(Gaussian(1.0), (circle, 3 * circle), (0, 1, 1, 0))


INSTANCES = {"skewed": skewed, "odd one out": odd_one_out, "rings": rings}
RUNS, DELTA = 80, 0.1


def play(strategy: KABC, instance: Instance, seed: list[int]) -> KABC:
    rng = np.random.default_rng(seed)
    while not strategy.stopped:
        strategy.tell({arm: instance.draw(arm, count, rng) for arm, count in strategy.ask().items()})
    return strategy


@pytest.mark.slow
@pytest.mark.parametrize("maker", [KABC, KABC.tight], ids=["published", "tight"])
@pytest.mark.parametrize("name", INSTANCES)
def test_wrong_in_at_most_delta_of_the_runs_and_under_the_theorems_budget(
    name: str, maker: Callable[..., KABC]
) -> None:
    instance = INSTANCES[name]()
    gap, variance = instance.gap_and_variance()
    plan = kabc.plan(
        instance.n_arms, instance.n_clusters, DELTA, embedded_gap=gap, variances=variance, kernel=instance.kernel
    )
    wrong = 0
    for run in range(RUNS):
        strategy = maker(instance.n_arms, instance.n_clusters, DELTA, instance.kernel)
        play(strategy, instance, [run, len(name)])
        wrong += not strategy.recommend().matches(Partition(instance.labels))
        assert strategy.n_samples <= plan.theorem_bound
        assert strategy.n_samples <= plan.sure_samples
    # refutes "at most DELTA" with one mistake in a million; 6 cells x 80 runs in all
    assert wrong <= binom.ppf(1 - 1e-6, RUNS, DELTA)


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [{}, {"threshold": "bounded-differences"}, {"threshold": "variance-aware"}, {"threshold": "kernel-uniform"}],
    ids=str,
)
def test_equal_arms_are_falsely_parted_at_any_look_in_at_most_delta_of_the_runs(settings: dict[str, Any]) -> None:
    """Many looks at growing samples of equal arms: the error of all looks together stays under delta."""
    runs, looks, delta = 200, 12, 0.3
    kernel = RandomFeatures(Gaussian(1.0), 64, seed=1)
    parted = 0
    for run in range(runs):
        rng = np.random.default_rng([run, 77])
        strategy = KABC.tight(4, 2, delta, kernel, **settings)
        while not strategy.stopped and len(strategy.rounds) < looks:
            strategy.tell({arm: rng.standard_exponential((n, 1)) for arm, n in strategy.ask().items()})
        parted += strategy.n_groups_at_least > 1
    assert parted <= binom.ppf(1 - 1e-6, runs, delta)
