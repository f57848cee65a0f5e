"""What it would take to notice a hidden group in short runs: how often it is noticed, against what that costs.

    python benchmarks/check_k_curve.py [--seeds 20]

Three instances whose runs with K one too small are settled after 7 or 8 samples of an arm, before a close pair of
groups shows, and one with the right K that is settled as soon. For each rule, looks (`shuffles.py`) are replayed: at
least `floor` samples of each arm, and on to the next look while p <= small / (samples over those at the start) ** 2.
Counted: the evidence reached 20. `more`: samples with the right K. Bets are left out; so short runs give them little.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np

from kabc.strategies.anytime.batches import Batch
from kabc.strategies.anytime.check import LOOKS as SHARE
from kabc.strategies.anytime.doubts import LIMIT
from kabc.strategies.anytime.shuffles import LOOKS, Shuffles, graded

MOST = 4.0  # samples over those at the start
RULES = [(floor, small) for floor in (0, 11, 15, 20) for small in (0.0, 0.25, 0.5)]
Case = tuple[Sequence[Sequence[float]], Sequence[int], float]  # means of the arms, groups, samples when settled
HIDDEN: dict[str, Case] = {
    "near-duplicates": ([(0, 0)] * 4 + [(0.7, 0)] * 4 + [(0, 8)] * 4, [0] * 8 + [1] * 4, 6.9),
    "boc-moderate": (
        [(0, 0, 0)] * 2 + [(1, 0, 0)] * 2 + [(0, 10, 0)] * 4 + [(0, 0, 10)] * 3,
        [0] * 4 + [1] * 4 + [2] * 3,
        7.1,
    ),
    "unequal-gaps": (
        [(0,)] * 2 + [(0.7,)] * 2 + [(10,)] * 2 + [(30,)] * 2 + [(100,)] * 2,
        [0] * 4 + [1, 1, 2, 2, 3, 3],
        8.0,
    ),
}
RIGHT: Case = ([(0, 0)] * 4 + [(8, 0)] * 4 + [(0, 8)] * 4, [0] * 4 + [1] * 4 + [2] * 4, 7.5)


def p_values(means: Sequence[Sequence[float]], groups: Sequence[int], most: int, seed: int) -> list[float]:
    """Those of all looks at up to so many samples of each arm."""
    rng = np.random.default_rng([9, seed])
    rows = [rng.normal(mean, 1.0, (most, len(mean))) for mean in means]
    found = Shuffles(np.arange(len(means)), np.array(groups), None)
    found.follow([Batch.of(range(len(means)), rows)])
    return found.p_values


def replayed(p: Sequence[float], start: float, floor: int, small: float) -> tuple[bool, float]:
    """Whether the hidden group is noticed, and the samples of an arm at the end."""
    n = first = max(start, floor)
    while True:
        seen = min(sum(look <= n for look in LOOKS), len(p))
        if SHARE * sum(map(graded, p[:seen])) / len(LOOKS) >= LIMIT:
            return True, n
        if seen == len(p) or n >= MOST * start or p[seen - 1] > small / (n / first) ** 2:
            return False, n
        n = LOOKS[seen]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20)
    seeds = parser.parse_args().seeds
    hidden = {name: [p_values(one[0], one[1], 36, seed) for seed in range(seeds)] for name, one in HIDDEN.items()}
    right = [p_values(RIGHT[0], RIGHT[1], 27, seed) for seed in range(2 * seeds)]
    print(f"{'floor':>5}{'small':>7}" + "".join(f"{name:>18}" for name in hidden) + f"{'more':>10}")
    for floor, small in RULES:
        noticed = [sum(replayed(p, HIDDEN[name][2], floor, small)[0] for p in found) for name, found in hidden.items()]
        more = np.mean([replayed(p, RIGHT[2], floor, small)[1] for p in right]) / RIGHT[2] - 1
        counts = "".join(f"{f'{count} of {seeds}':>18}" for count in noticed)
        print(f"{floor:>5}{small:>7}{counts}{100 * more:>8.0f} %")


if __name__ == "__main__":
    main()
