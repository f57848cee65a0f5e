"""Twelve builds whose truth is known: 4 groups. Nothing is timed: each run prints seconds from a seeded law.

    python examples/builds/twelve.py b10            # the seconds of one run; kabc gives a new KABC_SEED to each
    python examples/builds/twelve.py --table 3000   # runs of all builds in turn, as twelve.csv

b01 to b09 are the same. b10 is 3 % slower. b11 varies twice as much. b12 takes ten times as long in 3 % of its runs.
"""

from __future__ import annotations

import argparse
import csv
import os
import random
from pathlib import Path

BUILDS = [f"b{number:02}" for number in range(1, 13)]


def seconds(build: str, rng: random.Random) -> float:
    """How long a run takes: about a tenth of a second."""
    time = 0.1 * rng.lognormvariate(0.0, 0.08 if build == "b11" else 0.04)
    if build == "b10":
        time *= 1.03
    return 10 * time if build == "b12" and rng.random() < 0.03 else time


def main() -> None:
    """Print one run, or write a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", choices=BUILDS, default="b01")
    parser.add_argument("--table", type=int, metavar="RUNS", help="write this many runs of each build to twelve.csv")
    given = parser.parse_args()
    if given.table is None:
        print(seconds(given.build, random.Random(os.environ.get("KABC_SEED"))))
        return
    rng = random.Random(0)
    with Path("twelve.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["build", "seconds"])
        rows.writerows([build, seconds(build, rng)] for _ in range(given.table) for build in BUILDS)


if __name__ == "__main__":
    main()
