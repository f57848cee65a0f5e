"""Plans of runs: how long a plan takes compared with the run that it plans, and how right it is.

Pilot, plan and run of every instance, one after the other in one process. `time` is seconds of the plan divided by
seconds of the run, both of the processor (a sample costs nothing here); `samples` is what was planned divided by what
the run took. A plan is right if that lies between 1/2 and 2. Pilots that are too small to show the groups give no plan.

    python -m benchmarks.plan            # 12 instances, 3 seeds
    python -m benchmarks.plan --seeds 1  # fewer
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

import kabc
from benchmarks.forecast import INSTANCES, Law
from kabc.core.arrays import Array

PILOT = 100  # samples of each arm
FIRST_SEED = 500  # times of some of these were looked at while plans were made faster


@dataclass(frozen=True)
class Planned:
    """A plan and its run: seconds and samples of both; no samples where the pilot was too small to plan."""

    seconds: float
    samples: int | None
    run_seconds: float
    run_samples: int

    @property
    def time(self) -> float:
        """Seconds of the plan for one second of the run."""
        return self.seconds / self.run_seconds

    @property
    def ratio(self) -> float | None:
        """Samples planned for one that was taken."""
        return None if self.samples is None else self.samples / self.run_samples


def measured(name: str, seed: int, pilot_size: int) -> Planned:
    """One instance: a pilot, its plan, and the run."""
    laws, n_clusters = INSTANCES[name]
    rng = np.random.default_rng([seed, 11])
    pilot = [law(pilot_size, rng) for law in laws]
    started = time.process_time()
    try:
        samples = kabc.plan(n_clusters=n_clusters, pilot=pilot, progress=False).expected_samples
    except kabc.SettingsError:  # the pilot does not show the groups
        samples = None
    planned = time.process_time()
    result = kabc.cluster([partial(_draw, law) for law in laws], n_clusters, seed=seed, progress=False)
    return Planned(planned - started, samples, time.process_time() - planned, result.n_samples)


def _draw(law: Law, n: int, rng: np.random.Generator) -> Array:
    return law(n, rng)


def row(title: str, seen: Sequence[Planned]) -> str:
    """One line of the table."""
    made = [one for one in seen if one.samples is not None]
    times = [one.time for one in seen]
    ratios = [one.ratio for one in made if one.ratio is not None]
    right = f"{sum(0.5 <= ratio <= 2 for ratio in ratios)} of {len(ratios)}"
    seconds, usual = statistics.median(one.run_seconds for one in seen), statistics.median(times)
    middle = f"{statistics.median(ratios):.2f}" if ratios else "-"
    return f"{title:<18} {seconds:>8.2f} {usual:>9.2f} {max(times):>8.2f} {len(made):>6} {middle:>8} {right:>9}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3, help="of each instance")
    parser.add_argument("--pilot", type=int, default=PILOT, help="samples of each arm in the pilot")
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED)
    given = parser.parse_args(arguments)
    measured("2 arms, gap 0.7", 0, given.pilot)  # imports must not count for either side
    heads = f"{'run, s':>8} {'time':>9} {'largest':>8} {'plans':>6} {'samples':>8} {'right':>9}"
    print(f"{'':<18} {heads}")
    everything: list[Planned] = []
    for name in INSTANCES:
        seeds = range(given.first_seed, given.first_seed + given.seeds)
        seen = [measured(name, seed, given.pilot) for seed in seeds]
        everything += seen
        print(row(name, seen), flush=True)
    print(row("all", everything))


if __name__ == "__main__":
    main()
