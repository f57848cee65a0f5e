"""Every strategy of the list keeps the contract of `Strategy`."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from kabc import KABC, Cluster, Gaussian, Hamming
from kabc.strategies import Strategy, entry_of, strategies
from kabc.testing import StrategyConformance


@dataclass(frozen=True)
class FourArms:
    """What a bench would tell a strategy about the arms here: two groups of two, eight standard deviations apart."""

    facts: frozenset[str]
    n_groups: int = 2
    sigma: float = 1.0
    min_share: float = 0.5
    symbols: int = 3

    @property
    def gaps(self) -> NDArray[np.float64]:
        return np.array([7.0])


MOST_SAMPLES_LESS: dict[str, dict[str, Any]] = {"acb-star": {"hanson_wright": 0.01}}  # the usual one takes too many


def by_name(name: str, delta: float) -> Strategy:
    """As the list of strategies says that it is set up."""
    entry = entry_of(name)
    options = entry.bench.options(FourArms(frozenset({"two groups", "one column"})), 0)
    options |= {"samples_per_arm": 6} if entry.bench.one_round else {}
    kernel = Gaussian(2.0) if entry.needs_kernel else None
    return entry.build(4, 2, delta, kernel, options | MOST_SAMPLES_LESS.get(name, {}))


MAKERS: dict[str, Callable[[float], Strategy]] = {
    "Cluster": lambda delta: Cluster(4, 6, delta, Gaussian(2.0)),
    "Cluster.for_separation": lambda delta: Cluster.for_separation(4, 3.0, delta, Gaussian(2.0)),
    "KABC with kept samples": lambda delta: KABC(4, 2, delta, Gaussian(2.0), keep_samples=True),
    "KABC by representatives": lambda delta: KABC.tight(4, 2, delta, Gaussian(2.0), comparisons="representatives"),
}


def drawn(name: str, means: tuple[float, float], arm: int, n: int, rng: np.random.Generator) -> NDArray[Any]:
    """Arms that suit the strategy: normal with the means of the two groups, or symbols that are as far apart."""
    requires = entry_of(name).bench.requires if name not in MAKERS else frozenset()
    mean = means[arm % 2]
    if "finite alphabet" in requires:
        return rng.choice([0.0, 1.0, 2.0], (n, 1), p=[0.9 - mean / 10, 0.1, mean / 10])
    return rng.normal(mean, 1.0, (n, 1 if "one column" in requires else 2))


class TestEveryStrategy(StrategyConformance):
    name, delta = "", 0.5
    runs, law_samples = 15, 120  # of each of all strategies; test_pac.py has longer ones of the product

    @pytest.fixture(autouse=True, params=[*strategies(), *MAKERS])
    def _named(self, request: pytest.FixtureRequest) -> None:
        self.name = request.param

    def make_strategy(self) -> Strategy:
        return MAKERS[self.name](self.delta) if self.name in MAKERS else by_name(self.name, self.delta)

    def draw(self, arm: int, n: int, rng: np.random.Generator) -> NDArray[Any]:
        return drawn(self.name, (0.0, 8.0), arm, n, rng)

    def draw_close(self, group: int, n: int, rng: np.random.Generator) -> NDArray[Any]:
        return drawn(self.name, (0.0, 0.4), group, n, rng)

    @pytest.mark.slow
    def test_it_is_wrong_in_no_more_runs_than_delta_allows(self) -> None:
        self.delta = 0.1
        super().test_it_is_wrong_in_no_more_runs_than_delta_allows()

    def test_a_pickled_run_goes_on_as_before(self) -> None:
        strategy = self.make_strategy()
        for number in range(20):
            if strategy.stopped:
                break
            samples = self._answers(strategy.ask(), number)
            copy: Strategy = pickle.loads(pickle.dumps(strategy))
            strategy.tell(samples)
            copy.tell(samples)
            assert copy.ask() == strategy.ask()
            assert copy.recommend() == strategy.recommend()


class TestAStrategyOfTexts(StrategyConformance):
    def make_strategy(self) -> Strategy:
        return KABC.tight(4, 2, 0.5, Hamming())

    def draw(self, arm: int, n: int, rng: np.random.Generator) -> NDArray[Any]:
        return rng.choice([["red", "high"], ["blue", "low"]][arm % 2], (n, 1))
