"""How often equal arms are told apart. All arms have one law, two groups are asked for, and every round is checked.

    python benchmarks/nulls.py [--runs 2000] [--delta 0.05] [--horizon 60] [--only SETTING,..] [--workers 2] [--json]

A false split is a run in which, at any time, a pair is told apart or the strategy stops. The table has the share of
false splits with a 95 % Clopper-Pearson interval. The interval must not lie above delta. Settings: the default;
drifting scores (maps that change with every fit and remember single samples); tiny blocks (one sample of each arm in
every round, checked after every round); discrete and heavy-tailed laws.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom, binomtest

from kabc import AnytimeKABC
from kabc.core.scores.maps import FeatureMap, Levels, Ranks, Scaled
from kabc.strategies.anytime import pace

Array = NDArray[np.float64]
Law = Callable[[np.random.Generator, int], Array]

N_ARMS = 4


@dataclass(frozen=True)
class Drifting(FeatureMap):
    """Random features that are drawn again at each fit, and indicators of being close to single earlier samples."""

    anchors: Array | None = None
    turn: int = 0

    def fitted(self, past: Array) -> Self:
        rng = np.random.default_rng(len(past))
        return type(self)(past[rng.integers(len(past), size=6)], len(past))

    def __call__(self, samples: Array) -> Array:
        assert self.anchors is not None
        waves = np.random.default_rng(self.turn).normal(size=(samples.shape[1], 6)) * 3
        near = np.abs(samples[:, None, :] - self.anchors).max(axis=2) < 0.05
        return np.concatenate([np.cos(samples @ waves), near], axis=1)


@dataclass(frozen=True)
class Setting:
    """One way to run it."""

    law: Law
    maps: Sequence[FeatureMap] | None = None
    tiny: bool = False


def _normal(rng: np.random.Generator, n: int) -> Array:
    return rng.normal(size=(n, 1))


def _discrete(rng: np.random.Generator, n: int) -> Array:
    return rng.integers(0, 3, size=(n, 1)).astype(np.float64)


def _cauchy(rng: np.random.Generator, n: int) -> Array:
    return rng.standard_cauchy(size=(n, 2))


FEW = (Scaled(), Ranks(), Levels())
SETTINGS: dict[str, Setting] = {
    "default": Setting(_normal),
    "drifting scores": Setting(_normal, (Drifting(), Scaled())),
    "tiny blocks": Setting(_normal, FEW, tiny=True),
    "discrete": Setting(_discrete, FEW),
    "heavy tails": Setting(_cauchy, FEW),
}


def splits(name: str, seeds: range, delta: float, horizon: int) -> int:
    """False splits in runs with these seeds, each up to `horizon` samples per arm."""
    setting = SETTINGS[name]
    if setting.tiny:
        pace.GROWTH, pace.FIRST = 0.0, 1
    false = 0
    for seed in seeds:
        rng = np.random.default_rng([seed, horizon])
        strategy = AnytimeKABC(N_ARMS, 2, delta, maps=setting.maps)
        while not strategy.stopped and strategy.n_samples < N_ARMS * horizon:
            strategy.tell({arm: setting.law(rng, n) for arm, n in strategy.ask().items()})
            if strategy.evidence().told_apart.any():
                break
        false += strategy.stopped or bool(strategy.evidence().told_apart.any())
    return false


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--delta", type=float, default=0.05)
    parser.add_argument("--horizon", type=int, default=60, help="samples per arm after which a run ends")
    parser.add_argument("--only", default=",".join(SETTINGS), help="settings, separated by commas; default: all")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
    started = time.perf_counter()
    rows: list[dict[str, Any]] = []
    with ProcessPoolExecutor(options.workers, multiprocessing.get_context("spawn"), max_tasks_per_child=1) as pool:
        for name in options.only.split(","):
            pieces = [range(first, min(first + 50, options.runs)) for first in range(0, options.runs, 50)]
            waiting = [pool.submit(splits, name, piece, options.delta, options.horizon) for piece in pieces]
            false = 0
            for done, future in enumerate(waiting, 1):
                false += future.result()
                seconds = time.perf_counter() - started
                print(
                    f"[{seconds:5.0f} s] {name}: {pieces[done - 1].stop} runs, {false} false",
                    file=sys.stderr,
                    flush=True,
                )
            interval = binomtest(false, options.runs).proportion_ci(0.95)
            rows.append(
                {"setting": name, "runs": options.runs, "false": false, "interval": [interval.low, interval.high]}
            )
    if options.json:
        print(json.dumps(rows, indent=1))
        return
    allowed = int(binom.ppf(0.999, options.runs, options.delta))
    print(
        f"Equal arms, K = 2 asked, delta = {options.delta:g}, up to {options.horizon} samples of each of {N_ARMS} arms"
    )
    print(f"(a rate of delta would give more than {allowed} false splits of {options.runs} once in a thousand times)")
    print(f"{'setting':<18}{'runs':>6}{'false splits':>14}{'share':>9}  95 % interval")
    for row in rows:
        low, high = row["interval"]
        share = row["false"] / row["runs"]
        print(f"{row['setting']:<18}{row['runs']:>6}{row['false']:>14}{share:>9.4f}  {low:.4f} to {high:.4f}")


if __name__ == "__main__":
    main()
