"""How often a change of arms with recorded samples is seen before these are read (docs/theory.md, section 29).

    python -m benchmarks.anchors [--runs 100] [--record 100] [--anchors 20] [--json]

Samples are normal. The new ones are shifted by some standard deviations: those of all arms, or of one arm. The table
has the share of runs in which the first look sees it. A shift of 0 is a false alarm.
"""

from __future__ import annotations

import argparse
import json

import numpy as np

from kabc.running.anchors import compare

SHIFTS = (0.0, 0.25, 0.5, 1.0, 2.0)  # standard deviations
CASES = [(3, 3), (5, 5), (10, 10), (5, 1)]  # arms, and how many of them change


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--record", type=int, default=100)
    parser.add_argument("--anchors", type=int, default=20)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    rows = [
        {"arms": n_arms, "changed": changed}
        | {str(shift): seen(n_arms, changed, shift, given.runs, given.record, given.anchors) for shift in SHIFTS}
        for n_arms, changed in CASES
    ]
    if given.json:
        print(json.dumps(rows, indent=2))
        return
    print(f"{given.runs} runs each, {given.record} recorded and {given.anchors} new samples of each arm")
    print("arms  changed  " + "".join(f"{shift:>6.2f} sd" for shift in SHIFTS))
    for row in rows:
        print(f"{row['arms']:>4}  {row['changed']:>7}  " + "".join(f"{row[str(shift)]:>9.2f}" for shift in SHIFTS))


def seen(n_arms: int, changed: int, shift: float, runs: int, record: int, anchors: int) -> float:
    """The share of runs in which new samples are said to differ from recorded ones."""
    found = 0
    for seed in range(runs):
        rng = np.random.default_rng([n_arms, changed, int(100 * shift), seed])
        old = {arm: rng.normal(0.0, 1.0, record) for arm in range(n_arms)}
        new = {arm: rng.normal(shift if arm < changed else 0.0, 1.0, anchors) for arm in range(n_arms)}
        found += not compare(old, new, seed, n_arms=len(old)).passed
    return found / runs


if __name__ == "__main__":
    main()
