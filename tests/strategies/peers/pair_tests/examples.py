"""Arms, kernels, and KABC by other tests played on them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kabc import Function, Gaussian, Partition, RandomFeatures
from kabc.core.kernels import Kernel
from kabc.strategies.peers.pair_tests.bernstein import BernsteinKABC
from kabc.strategies.peers.pair_tests.by_test import ByTest
from kabc.strategies.peers.pair_tests.manole_ramdas import ManoleRamdasKABC
from kabc.strategies.peers.pair_tests.permutation import PermutationKABC
from kabc.strategies.peers.pair_tests.witness import WitnessKABC

Array = NDArray[np.float64]
Maker = Callable[..., ByTest[Any]]
MAKERS: dict[str, Maker] = {
    "witness": WitnessKABC,
    "manole-ramdas": ManoleRamdasKABC,
    "manole-ramdas as printed": partial(ManoleRamdasKABC, tight=False),
    "bernstein": BernsteinKABC,
    "permutation": PermutationKABC,
}
KERNELS: dict[str, Kernel] = {
    "exact": Gaussian(1.0),
    "features": RandomFeatures(Gaussian(1.0), 64, seed=1),
    "declared": Function(lambda x, y: np.exp(-np.abs(x - y.T)), supremum=1.0, infimum=0.0),
}
CENTRES = [0.0, 5.0, 0.0, 10.0, 5.0]
TRUTH = Partition.of(CENTRES)


def answers(strategy: ByTest[Any], rng: np.random.Generator, columns: int = 1) -> dict[int, Array]:
    return {arm: rng.normal(CENTRES[arm], 1.0, (count, columns)) for arm, count in strategy.ask().items()}


def run(strategy: ByTest[Any], seed: int = 1) -> ByTest[Any]:
    rng = np.random.default_rng(seed)
    while not strategy.stopped:
        strategy.tell(answers(strategy, rng))
    return strategy


def told(strategy: ByTest[Any], n_rounds: int, laws: list[Callable[[int], Array]]) -> list[Array]:
    """Play some rounds; all samples of each arm."""
    parts: list[list[Array]] = [[] for _ in laws]
    for _ in range(n_rounds):
        for arm, count in strategy.ask().items():
            parts[arm].append(laws[arm](count))
        strategy.tell({arm: rows[-1] for arm, rows in enumerate(parts)})
    return [np.concatenate(rows) for rows in parts]


def three_laws(seed: int) -> list[Callable[[int], Array]]:
    rng = np.random.default_rng(seed)
    return [
        lambda n: rng.normal(0.0, 1.0, (n, 1)),
        lambda n: rng.normal(0.5, 1.0, (n, 1)),
        lambda n: rng.exponential(2.0, (n, 1)),
    ]
