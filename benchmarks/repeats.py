"""Values that come again bit for bit: how often is a wrong answer certified without a visible doubt?

    python benchmarks/repeats.py [--before PATH/src] [--runs 100] [--clean 200] [--only "one arm"]

Faults: four arms of one law, N(0, 1), so every pair that is told apart is wrong; delta 0.05, at most 400 samples. Each
is run with K = 2 and with a tolerance of 0.5 sd. A cell counts runs that tell arms apart, or certify more than one
group, without a visible doubt: neither a refuted assumption nor the status "doubtful". Clean data: honest laws that
repeat by themselves, K = 2 and at most 400 samples; a cell counts runs in which repeats are doubted. "After" is this
package, "before" the one given by `--before`, for example a checkout of an earlier version.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Draw = Callable[[int, np.random.Generator], Array]
Law = Callable[[np.random.Generator, int], Array]

N_ARMS = 4
MODES: dict[str, dict[str, Any]] = {"K = 2": {"n_clusters": 2}, "0.5 sd": {"tolerance": "0.5 sd"}}


# ------------------------------------------------------------ faults: of each arm by its own generator


def honest(rng: np.random.Generator) -> Draw:
    return lambda n, of_run: of_run.normal(size=n)


def reseeds(rng: np.random.Generator) -> Draw:
    """The same seed at each call: the same values from the first on."""
    seed = int(rng.integers(1 << 32))
    return lambda n, of_run: np.random.default_rng(seed).normal(size=n)


def constant(rng: np.random.Generator) -> Draw:
    value = rng.normal()
    return lambda n, of_run: np.full(n, value)


def stream(values: Iterator[float]) -> Draw:
    return lambda n, of_run: np.array([next(values) for _ in range(n)])


def cached(rng: np.random.Generator) -> Draw:
    """The last value again with probability 80 %."""

    def values() -> Iterator[float]:
        value = rng.normal()
        while True:
            yield value
            value = value if rng.random() < 0.8 else rng.normal()

    return stream(values())


def times(count: int) -> Callable[[np.random.Generator], Draw]:
    """Each value so many times."""
    return lambda rng: stream(value for _ in iter(int, 1) for value in [rng.normal()] * count)


FAULTS: dict[str, tuple[Callable[[np.random.Generator], Draw], int]] = {  # and how many arms have it
    "one arm reseeds itself at each call": (reseeds, 1),
    "all arms reseed themselves": (reseeds, N_ARMS),
    "one arm gives one value for ever": (constant, 1),
    "one arm is cached, 80 % hits": (cached, 1),
    "all arms are cached, 80 % hits": (cached, N_ARMS),
    "one arm gives each value 3 times": (times(3), 1),
    "all arms give each value 3 times": (times(3), N_ARMS),
    "one arm gives each value 10 times": (times(10), 1),
    "all arms give each value 10 times": (times(10), N_ARMS),
    "none (control)": (honest, 0),
}


# ------------------------------------------------------------ clean data


def normal(mean: float, spread: float, digits: int | None = None) -> Law:
    """Rounded to so many decimals, if any."""
    return lambda rng, n: (lambda x: x if digits is None else np.round(x, digits))(rng.normal(mean, spread, n))


def whole(law: Law) -> Law:
    return lambda rng, n: np.floor(law(rng, n))


def exponential(mean: float) -> Law:
    return lambda rng, n: rng.exponential(mean, n)


def poisson(mean: float) -> Law:
    return lambda rng, n: rng.poisson(mean, n).astype(np.float64)


def or_zero(share: float, law: Law) -> Law:
    return lambda rng, n: np.where(rng.random(n) < share, 0.0, law(rng, n))


def scaled(law: Law, place: float, spread: float) -> Law:
    return lambda rng, n: (law(rng, n) - place) / spread


def ticks(mean: float, tick: float) -> Law:
    """Latencies by a clock that knows multiples of a tick."""
    return lambda rng, n: np.floor(rng.exponential(mean, n) / tick) * tick


def coin(share: float) -> Law:
    return lambda rng, n: (rng.random(n) < share).astype(np.float64)


def codes(*values: float) -> Law:
    return lambda rng, n: rng.choice(np.array(values), n)


def capped(law: Law, limit: float) -> Law:
    return lambda rng, n: np.minimum(law(rng, n), limit)


def single(law: Law) -> Law:
    return lambda rng, n: law(rng, n).astype(np.float32).astype(np.float64)


def beside_code(law: Law) -> Law:
    return lambda rng, n: np.column_stack([law(rng, n), rng.integers(0, 2, n)])


CLEAN: dict[str, tuple[Law, Law]] = {  # of the first arm, and of the three others
    "normal": (normal(0, 1), normal(0, 1)),
    "normal, no decimals": (normal(100, 5, 0), normal(100, 5, 0)),
    "normal, 1 decimal, spread 0.5 beside 50": (normal(100, 0.5, 1), normal(100, 50, 1)),
    "normal, 2 decimals, spread 0.05 beside 5": (normal(100, 0.05, 2), normal(100, 5, 2)),
    "normal, 3 decimals, spread 0.005 beside 5": (normal(100, 0.005, 3), normal(100, 5, 3)),
    "the same in single precision, 2 decimals": (single(normal(100, 0.05, 2)), single(normal(100, 5, 2))),
    "Poisson, mean 3": (poisson(3), poisson(3)),
    "Poisson, mean 3 beside 10,000": (poisson(3), poisson(10_000)),
    "whole ms, mean 20 beside 2,000": (whole(exponential(20)), whole(exponential(2000))),
    "clock of 15.625 ms, mean 0.05 s beside 5 s": (ticks(0.05, 1 / 64), ticks(5, 1 / 64)),
    "clock of 1/3 us, mean 5 us beside 5 ms": (ticks(5e-6, 1 / 3e6), ticks(5e-3, 1 / 3e6)),
    "0 and 1": (coin(0.02), coin(0.5)),
    "status codes, one of them always 200": (codes(200.0), codes(200.0, 404.0, 500.0)),
    "rain: 30 % zeros in all arms": (or_zero(0.3, exponential(5)), or_zero(0.3, exponential(5))),
    "rain: 30 % zeros beside none": (or_zero(0.3, exponential(5)), exponential(5)),
    "the same standardised, 60 % zeros in all": (
        scaled(or_zero(0.6, exponential(5)), 1.2345, 3.3221),
        scaled(or_zero(0.6, exponential(5)), 1.2345, 3.3221),
    ),
    "a limit of 30 s that half of the values reach": (capped(exponential(40), 30.0), exponential(3)),
    "Fahrenheit as Celsius, spread 1 beside 300": (
        scaled(normal(60, 1, 0), 32.0, 1.8),
        scaled(normal(60, 300, 0), 32.0, 1.8),
    ),
    "two columns, the second 0 or 1": (beside_code(normal(0, 1)), beside_code(normal(0, 1))),
    "constants by the rule: 80 % zeros beside none": (or_zero(0.8, exponential(5)), exponential(5)),
}


# ------------------------------------------------------------ runs


def run(kind: str, name: str, seed: int) -> dict[str, Any]:
    """One run with the kabc that is imported, and what it said."""
    import kabc

    rngs = np.random.default_rng([seed, sum(map(ord, name))]).spawn(N_ARMS)
    if kind == "clean":
        first, others = CLEAN[name]
        arms = {f"arm {i}": as_draw(first if i == 0 else others) for i in range(N_ARMS)}
    else:
        make, n_faulty = FAULTS[name]
        arms = {f"arm {i}": (make if i < n_faulty else honest)(rng) for i, rng in enumerate(rngs)}
    asked: dict[str, Any] = MODES.get(kind, MODES["K = 2"])
    result = kabc.cluster(arms, delta=0.05, seed=seed, max_samples=400, progress=False, **asked)
    told = bool(result.evidence.n_told_apart) or result.n_groups_at_least > 1 or result.certified
    doubted = result.status == "doubtful" or bool(result.assumptions)
    repeats = any("repeat" in one.what for one in result.assumptions)
    return {"wrong": told and not doubted, "doubted": doubted, "repeats": repeats}


def as_draw(law: Law) -> Draw:
    return lambda n, rng: law(rng, n)


def counted(source: str | None, jobs: list[tuple[str, str, int]]) -> Counter[tuple[str, str, str]]:
    """What runs said, in a process that imports kabc from `source`."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    if source is not None:
        environment["PYTHONPATH"] = str(Path(source).resolve())
    command = [sys.executable, __file__, "--worker"]
    found = Counter[tuple[str, str, str]]()
    with subprocess.Popen(command, stdin=-1, stdout=-1, text=True, env=environment) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("".join(json.dumps(job) + "\n" for job in jobs))
        process.stdin.close()
        for (kind, name, _), line in zip(jobs, process.stdout, strict=False):
            found.update((kind, name, what) for what, so in json.loads(line).items() if so)
            found[kind, name, "runs"] += 1
    return found


def work() -> None:
    """The other side of `counted`."""
    for line in sys.stdin.read().splitlines():
        print(json.dumps(run(*json.loads(line))), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--before", help="source folder of another kabc")
    parser.add_argument("--runs", type=int, default=100, help="of each fault, in each mode")
    parser.add_argument("--clean", type=int, default=200, help="runs of each kind of clean data")
    parser.add_argument("--only", default="", help="faults and kinds whose names hold this")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        work()
        return
    sides = {} if options.before is None else {"before": options.before}
    sides["after"] = None
    faults = [(mode, name, seed) for name in FAULTS for mode in MODES for seed in range(options.runs)]
    jobs = [job for job in faults if options.only in job[1]]
    found = {side: counted(source, jobs) for side, source in sides.items()}
    print(f"{'wrong without a visible doubt':<46}" + "".join(f"{f'{side}, {m}':>16}" for side in sides for m in MODES))
    for name in dict.fromkeys(name for _, name, _ in jobs):
        cells = (f"{found[side][m, name, 'wrong']} of {options.runs}" for side in sides for m in MODES)
        print(f"{name:<46}" + "".join(f"{cell:>16}" for cell in cells))
    clean = [("clean", name, seed) for name in CLEAN for seed in range(options.clean) if options.only in name]
    seen = counted(None, clean)
    print(f"\n{'clean data: repeats are doubted':<46}{'after':>16}")
    for name in dict.fromkeys(name for _, name, _ in clean):
        cell = f"{seen['clean', name, 'repeats']} of {options.clean}"
        print(f"{name:<46}{cell:>16}")


if __name__ == "__main__":
    main()
