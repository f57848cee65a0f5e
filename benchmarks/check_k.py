"""How often a K that is one too small is caught, and what the check costs when K is right.

    python benchmarks/check_k.py [--runs 5] [--instances NAME,..] [--cap 20000] [--seed 0]

All instances of benchmarks/samples.py with three groups or more. Caught: the run ends contradicted or doubtful. A false
alarm: with the right K it ends so. `more`: samples with the check over samples without it, with the right K, on average
over the runs of an instance; `most`: of a single run.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import kabc
from kabc.bench import INSTANCES, SUITES, Instance

DELTA = 0.05
LEFT_OUT = ("boc-yeast", "coins")
SUITE_NAMES = ("real", "synthetic", "alphabets", "boc")
NAMES = [one.name for suite in SUITE_NAMES for one in SUITES[suite] if one.n_groups >= 3 and one.name not in LEFT_OUT]
ALARMS = ("contradicted", "doubtful")


@dataclass(frozen=True)
class Figures:
    """Counts over the runs of one instance."""

    name: str
    runs: int
    caught: int
    undecided: int  # with K one too small: the cap came first, nothing was certified
    alarms: int
    with_check: tuple[int, ...]  # samples of each run, right K
    without: tuple[int, ...]

    @property
    def more(self) -> float:
        return sum(self.with_check) / sum(self.without) - 1

    @property
    def most(self) -> float:
        return max(checked / plain for checked, plain in zip(self.with_check, self.without, strict=True)) - 1


def measured(instance: Instance, runs: int, cap: int, first: int) -> Figures:
    """Runs with K one too small, and with the right K with and without the check."""
    seeds = range(first, first + runs)
    few = [_run(instance, instance.n_groups - 1, seed, cap, True) for seed in seeds]
    right = [_run(instance, instance.n_groups, seed, cap, True) for seed in seeds]
    plain = [_run(instance, instance.n_groups, seed, cap, False) for seed in seeds]
    return Figures(
        instance.name,
        runs,
        sum(one.status in ALARMS for one in few),
        sum(one.status == "budget" for one in few),
        sum(one.status in ALARMS for one in right),
        tuple(one.n_samples for one in right),
        tuple(one.n_samples for one in plain),
    )


def _run(instance: Instance, n_groups: int, seed: int, cap: int, check_k: bool) -> kabc.Result:
    return kabc.cluster(instance.arms, n_groups, DELTA, seed=seed, max_samples=cap, check_k=check_k, progress=False)


def shown(one: Figures) -> str:
    return (
        f"{one.name:<18}{one.caught:>4} of {one.runs:<4}{one.undecided:>10}{one.alarms:>9} of {one.runs:<4}"
        f"{100 * one.more:>8.1f} %{100 * one.most:>8.1f} %"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--instances", default=",".join(NAMES), help="names, separated by commas")
    parser.add_argument("--cap", type=int, default=20_000, help="largest total number of samples of a run")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first run; the others follow")
    options = parser.parse_args()
    print(f"{'instance':<18}{'caught':>10}{'undecided':>12}{'false alarms':>15}{'more':>9}{'most':>10}")
    found = []
    for name in options.instances.split(","):
        found.append(measured(INSTANCES[name], options.runs, options.cap, options.seed))
        print(shown(found[-1]), flush=True)
    runs = sum(one.runs for one in found)
    more = sum(one.more for one in found) / len(found)
    total = sum(sum(one.with_check) for one in found) / sum(sum(one.without) for one in found) - 1
    caught, alarms = sum(one.caught for one in found), sum(one.alarms for one in found)
    print(f"all: caught {caught} of {runs}, false alarms {alarms} of {runs}")
    print(f"more samples: {100 * more:.1f} % on average over the instances, {100 * total:.1f} % of all together")


if __name__ == "__main__":
    main()
