"""What sameness costs: how good are the price from a pilot, and the forecasts of a run?

Every run is made to its end. Its total number of samples is predicted from a pilot of other samples, as `kabc plan`
does, and the forecast is read at 25, 50 and 75 % of the run. A prediction is right if its total lies within a factor
of 2 of the true one. Medians of predicted / actual are shown, and how many were right.

    python benchmarks/tolerance_price.py             # 14 instances, 5 seeds: about 6 minutes
    python benchmarks/tolerance_price.py --seeds 2   # fewer
    python benchmarks/tolerance_price.py --only p50  # some of them
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

import kabc
from kabc.core.arrays import Array
from kabc.core.words import percent
from kabc.running.snapshots import Snapshot

Law = Callable[[int, np.random.Generator], Array]  # n -> (n,) or (n, d)

PARTS = (0.25, 0.5, 0.75)
PILOT = 50  # samples of each arm that the price is predicted from
GOAL = 0.8
FIRST_SEED = 1_000  # prices were designed on runs with seeds below 100


def normal(mean: float, deviation: float = 1.0, columns: int = 1) -> Law:
    """Normal values; with several columns the first one has the mean."""
    middle = np.array([mean] + [0.0] * (columns - 1))
    return lambda n, rng: rng.normal(0.0, deviation, (n, columns)) + middle


def latency(median: float) -> Law:
    """Log-normal values."""
    return lambda n, rng: rng.lognormal(np.log(median), 0.3, n)


INSTANCES: dict[str, tuple[list[Law], str | dict[str, str | float]]] = {
    "12 equal arms, 0.5 sd": ([normal(0.0)] * 12, "0.5 sd"),
    "12 equal arms, 0.2 sd": ([normal(0.0)] * 12, "0.2 sd"),
    "6 latencies, 5 %": ([latency(20.0)] * 6, "5%"),
    "3 groups of 4, 2 sd apart": ([normal(2.0 * (arm % 3)) for arm in range(12)], "0.5 sd"),
    "one of 10 is 1 sd off": ([normal(0.0)] * 9 + [normal(1.0)], "0.4 sd"),
    "half a tolerance apart": ([normal(0.2 * (arm % 2)) for arm in range(6)], "0.4 sd"),
    "5 columns, 2 groups": ([normal(1.5 * (arm % 2), columns=5) for arm in range(8)], "0.5 sd"),
    "6 latencies, p50 5 %": ([latency(20.0)] * 6, {"p50": "5%"}),
    "6 latencies, p50 10 %, p99 20 %": ([latency(20.0)] * 6, {"p50": "10%", "p99": "20%"}),
    "12 normal, p10 and p90 0.4": ([normal(0.0)] * 12, {"p10": 0.4, "p90": 0.4}),
    "2 of 8 latencies 1.3 times, p50 10 %": ([latency(20.0)] * 6 + [latency(26.0)] * 2, {"p50": "10%"}),
    "one of 6 is 5 % slower, p50 10 %": ([latency(20.0)] * 5 + [latency(21.0)], {"p50": "10%"}),
}
WITH_K = {  # a number of groups and a tolerance together
    "3 groups of 4, 2 sd apart, K = 3": 3,
    "12 equal arms, 0.5 sd, K = 2": 2,
}
for _name, _k in WITH_K.items():
    INSTANCES[_name] = INSTANCES[_name.removesuffix(f", K = {_k}")]


@dataclass(frozen=True)
class Look:
    """A prediction of a total, when it was made, and what it took in the end."""

    when: str
    predicted: int | None
    total: int

    @property
    def ratio(self) -> float:
        """Predicted over actual."""
        return np.nan if self.predicted is None else self.predicted / self.total

    @property
    def right(self) -> bool:
        """Whether it is within a factor of 2."""
        return 0.5 <= self.ratio <= 2


def looks(name: str, seed: int) -> list[Look]:
    """The predictions of one run."""
    laws, tolerance = INSTANCES[name]
    rng = np.random.default_rng([seed, 11])
    k = WITH_K.get(name)
    before = None  # a plan is for K or for a tolerance
    if k is None:
        before = kabc.plan(
            pilot=[law(PILOT, rng) for law in laws], tolerance=tolerance, progress=False
        ).expected_samples
    seen: list[tuple[int, int | None]] = []

    def listen(now: Snapshot) -> None:
        seen.append((now.n_samples, None if now.forecast is None else now.n_samples + now.forecast))

    result = kabc.cluster(laws, k, tolerance=tolerance, seed=seed, progress=False, on_round=listen)
    total = result.n_samples
    found = [Look("pilot", before, total)]
    for part in PARTS:
        at = next((one for one in reversed(seen) if one[0] <= part * total), seen[0])
        found.append(Look(percent(part), at[1], total))
    return found


def cell(seen: Sequence[Look]) -> str:
    """The median ratio, how many were right, and of how many that were shown."""
    shown = [one for one in seen if one.predicted is not None]
    if not shown:
        return "not shown"
    return f"{np.median([one.ratio for one in shown]):.2f}, {sum(one.right for one in shown)} of {len(shown)}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5, help="runs of each instance")
    parser.add_argument("--first", type=int, default=FIRST_SEED, help="the first seed")
    parser.add_argument("--only", default="", help="instances whose name holds this text")
    given = parser.parse_args(arguments)
    when = ["pilot", *map(percent, PARTS)]
    print("predicted / actual total (median), and how many of those shown were within a factor of 2")
    print(f"| instance | samples, median | {' | '.join(f'at {one}' if one != 'pilot' else one for one in when)} |")
    print("|---" * (2 + len(when)) + "|")
    every: list[Look] = []
    for name in (one for one in INSTANCES if given.only in one):
        seen = [look for seed in range(given.first, given.first + given.seeds) for look in looks(name, seed)]
        cells = [cell([one for one in seen if one.when == at]) for at in when]
        print(f"| {name} | {np.median([one.total for one in seen]):,.0f} | {' | '.join(cells)} |", flush=True)
        every += seen
    print(f"| all | | {' | '.join(cell([one for one in every if one.when == at]) for at in when)} |")
    shown = [one for one in every if one.predicted is not None]
    reached = sum(one.right for one in shown) / max(1, len(shown))
    print(f"\ngoal: {percent(GOAL)} of the predictions shown are right; measured: {percent(round(reached, 3))}")


if __name__ == "__main__":
    main()
