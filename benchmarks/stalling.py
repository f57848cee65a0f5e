"""What a run without K misses by stopping when nothing new is being learned.

    python benchmarks/stalling.py [--runs 2] [--only clear,half] [--most 1600]

Each run is made twice with the same samples: until it stalls, and on to four times as many samples (at most `--most` of
each arm). The table has the samples of each arm and the pairs told apart at both ends.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from kabc import AnytimeKABC

Law = Callable[[np.random.Generator, int], NDArray[np.float64]]


def normal(mean: float, spread: float = 1.0) -> Law:
    return lambda rng, n: rng.normal(mean, spread, (n, 1))


def student(rng: np.random.Generator, n: int) -> NDArray[np.float64]:
    """Unit variance, heavier tails."""
    return np.asarray(rng.standard_t(3, (n, 1)) / np.sqrt(3))


def timing(share: float) -> Law:
    """Log-normal; a share of the runs takes ten times as long."""

    def law(rng: np.random.Generator, n: int) -> NDArray[np.float64]:
        seconds = np.exp(rng.normal(0, 0.1, (n, 1)))
        return np.where(rng.random((n, 1)) < share, 10 * seconds, seconds)

    return law


def symbols(*shares: float) -> Law:
    return lambda rng, n: rng.choice(len(shares), (n, 1), p=shares).astype(np.float64)


INSTANCES: dict[str, list[Law]] = {
    "clear": [normal(0)] * 5 + [normal(2)] * 4 + [normal(4)] * 3,
    "half": [normal(0)] * 6 + [normal(0.5)] * 6,
    "third": [normal(0)] * 5 + [normal(0.33)] * 5,
    "scales": [normal(0)] * 5 + [normal(0, 1.5)] * 5,
    "tails": [normal(0)] * 4 + [student] * 4,
    "builds": [normal(0, 0.1)] * 9 + [normal(0.03, 0.1), normal(0, 0.16), timing(0.03)],
    "stalls": [timing(0.0)] * 5 + [timing(0.03)] * 3,
    "discrete": [symbols(0.5, 0.3, 0.2)] * 5 + [symbols(0.4, 0.3, 0.3)] * 4,
    "equal": [normal(0)] * 10,
    "mixed": [normal(0)] * 6 + [normal(0.3)] * 3 + [normal(3)] * 3,
    "hosts": [normal(0)] * 14 + [normal(0.8)] * 10,
}


def played(laws: list[Law], seed: int, patience: float | None, most: int) -> AnytimeKABC:
    """A run until it stops, or has `most` samples."""
    strategy = AnytimeKABC(len(laws), None, 0.05, patience=patience)
    rng = np.random.default_rng(seed)
    with threadpool_limits(1, user_api="blas"):
        while not strategy.stopped and strategy.n_samples < most:
            strategy.tell({arm: laws[arm](rng, n) for arm, n in strategy.ask().items()})
    return strategy


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--only", default=",".join(INSTANCES), help="instances, separated by commas; default: all")
    parser.add_argument("--most", type=int, default=1600, help="samples of each arm after which a run ends")
    parser.add_argument("--patience", type=float, default=2.0)
    options = parser.parse_args()
    print(f"{'instance':<10}{'seed':>5}{'stopped at':>12}{'pairs':>7}{'later':>8}{'pairs':>7}{'missed':>8}")
    for name in options.only.split(","):
        laws = INSTANCES[name]
        for seed in range(options.runs):
            limit = options.most * len(laws)
            first = played(laws, seed, options.patience, limit)
            later = played(laws, seed, None, min(4 * first.n_samples, limit)) if first.stopped else first
            ends = [(run.n_samples // len(laws), run.evidence().n_told_apart) for run in (first, later)]
            (at, pairs), (on, more) = ends
            said = f"{at:,}" if first.stopped else f"not by {at:,}"
            print(f"{name:<10}{seed:>5}{said:>12}{pairs:>7}{on:>8,}{more:>7}{more - pairs:>8}", flush=True)


if __name__ == "__main__":
    main()
