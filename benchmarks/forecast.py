"""Forecasts of runs: how often they are shown, and how often they are right.

Every run is made to its end, and the forecast of its total number of samples is read at 25, 50 and 75 % of them. It is
right if it lies within a factor of 2 of the true total; `left` says the same of the samples that were left.

    python benchmarks/forecast.py            # 204 runs of anytime, 24 of kabc-tight: about 6 minutes
    python benchmarks/forecast.py --runs 3   # fewer
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import kabc
from kabc.core.arrays import Array
from kabc.core.words import percent
from kabc.results.forecast import more_samples
from kabc.running.loop import Drawn, Loop, blas_threads
from kabc.strategies.base import Request, Strategy

Law = Callable[[int, np.random.Generator], Array]  # n -> (n,) or (n, d)

PARTS = (0.25, 0.5, 0.75)
GOAL = 0.8
FIRST_SEED = 1_000  # forecasts were designed on runs with seeds below 100
CAP = 60_000


def normals(means: Sequence[float], deviations: Sequence[float] | None = None) -> list[Law]:
    """Normal arms."""
    spread = [1.0] * len(means) if deviations is None else deviations
    return [partial(_normal, mean, deviation) for mean, deviation in zip(means, spread, strict=True)]


def _normal(mean: float, deviation: float, n: int, rng: np.random.Generator) -> Array:
    return rng.normal(mean, deviation, n)


def timing(slower: float = 1.0, wider: float = 1.0, stalls: float = 0.0) -> Law:
    """Times of a program; some runs stall and take three times as long."""

    def draw(n: int, rng: np.random.Generator) -> Array:
        times = 1 + (rng.gamma(40, 1 / 40, n) - 1) * wider
        return slower * np.where(rng.random(n) < stalls, 3 * times, times)

    return draw


def words(*shares: float) -> Law:
    """Codes of categories."""
    return lambda n, rng: rng.choice(len(shares), n, p=shares).astype(np.float64)


def vectors(mean: float, columns: int = 5) -> Law:
    """Normal vectors that differ in the first column."""
    shift = np.array([mean] + [0.0] * (columns - 1))
    return lambda n, rng: rng.normal(0, 1, (n, columns)) + shift


def tails(location: float) -> Law:
    """Log-normal values."""
    return lambda n, rng: rng.lognormal(location, 0.5, n)


INSTANCES: dict[str, tuple[list[Law], int]] = {
    "2 arms, gap 0.7": (normals([0, 0.7]), 2),
    "6 arms, gap 1": (normals([0, 1] * 3), 2),
    "6 arms, gap 0.5": (normals([0, 0.5] * 3), 2),
    "12 arms, K 3": (normals([0, 1, 2] * 4), 3),
    "8 arms, K 4": (normals([0, 0, 0, 0, 0, 1, 1.5, 3]), 4),
    "spread 1.6": (normals([0] * 6, [1, 1, 1, 1.6, 1.6, 1.6]), 2),
    "builds, K 4": ([timing()] * 5 + [timing(1.1), timing(wider=1.8), timing(stalls=0.1)], 4),
    "categories": ([words(0.5, 0.3, 0.2)] * 3 + [words(0.3, 0.4, 0.3)] * 3, 2),
    "5 columns": ([vectors(0)] * 4 + [vectors(1)] * 4, 2),
    "log-normal": ([tails(0)] * 5 + [tails(0.3)] * 2, 2),
    "odd one of 20": (normals([0] * 19 + [1]), 2),
    "60 arms": (normals([0, 1.5] * 30), 2),
}
FEW = ("2 arms, gap 0.7", "6 arms, gap 1", "12 arms, K 3", "spread 1.6")


@dataclass(frozen=True)
class Look:
    """A look at a run: part of it that was behind, samples drawn and forecast, and what it took in the end."""

    part: float
    drawn: int
    forecast: int | None
    total: int

    @property
    def right(self) -> bool:
        """Whether the forecast of the total is within a factor of 2."""
        return self.forecast is not None and 0.5 <= self.forecast / self.total <= 2

    @property
    def left_right(self) -> bool:
        """Whether the forecast of what is left is within a factor of 2."""
        return self.forecast is not None and 0.5 <= (self.forecast - self.drawn) / (self.total - self.drawn) <= 2


def looks(make: Callable[[int, int], Strategy], name: str, seed: int) -> list[Look]:
    """One run, looked at when these parts of it were behind; none if it was not decided."""
    laws, n_clusters = INSTANCES[name]
    strategy, rng = make(len(laws), n_clusters), np.random.default_rng([seed, 7])

    def draw(request: Request) -> Drawn:
        return {arm: laws[arm](count, rng) for arm, count in request.items()}

    seen: list[tuple[int, int | None]] = []
    with blas_threads(strategy):
        for _ in Loop[None](strategy, draw):
            more = more_samples(strategy)
            seen.append((strategy.n_samples, None if more is None else strategy.n_samples + int(more.sum())))
            if strategy.n_samples > CAP:
                return []
    total = strategy.n_samples
    return [] if strategy.status != "decided" else [Look(part, *_at(seen, part * total), total) for part in PARTS]


def _at(seen: list[tuple[int, int | None]], n_samples: float) -> tuple[int, int | None]:
    """The latest look before there were more samples than these; the first one if there is none."""
    return next((one for one in reversed(seen) if one[0] <= n_samples), seen[0])


def row(title: str, seen: list[Look]) -> str:
    """One line of the table."""
    shown = [one for one in seen if one.forecast is not None]
    share = [len(shown) / max(1, len(seen))]
    share += [sum(rights) / max(1, len(shown)) for rights in ([s.right for s in shown], [s.left_right for s in shown])]
    figures = [percent(round(value, 2)) for value in share] if shown else [percent(0), "-", "-"]
    return f"{title:<28} {len(seen):>6} {figures[0]:>8} {figures[1]:>12} {figures[2]:>8}"


def measure(title: str, make: Callable[[int, int], Strategy], names: Sequence[str], runs: int) -> list[Look]:
    """The table of one strategy; all looks."""
    print(f"\n{title:<28} {'looks':>6} {'shown':>8} {'right':>12} {'left':>8}")
    found: dict[str, list[Look]] = {}
    for name in names:
        found[name] = list(_each(make, name, runs))
        print(row(name, found[name]), flush=True)
    everything = [look for one in found.values() for look in one]
    for part in PARTS:
        print(row(f"all, at {percent(part)}", [look for look in everything if look.part == part]))
    print(row("all", everything))
    return everything


def _each(make: Callable[[int, int], Strategy], name: str, runs: int) -> Iterator[Look]:
    for seed in range(FIRST_SEED, FIRST_SEED + runs):
        yield from looks(make, name, seed)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and say whether the goal is reached."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=17, help="of each instance")
    runs = parser.parse_args(arguments).runs
    kernel: Any = kabc.Gaussian(1.0)
    print("shown: a forecast was given; right: its total is within a factor of 2; left: so are the samples left")
    every = measure("anytime", lambda n, k: kabc.AnytimeKABC(n, k, 0.05), list(INSTANCES), runs)
    every += measure("kabc-tight", lambda n, k: kabc.KABC.tight(n, k, 0.05, kernel), FEW, max(1, runs // 3))
    shown = [look for look in every if look.forecast is not None]
    reached = sum(look.right for look in shown) / max(1, len(shown))
    print(f"\ngoal: {percent(GOAL)} of the forecasts shown are right; measured: {percent(round(reached, 3))}")


if __name__ == "__main__":
    main()
