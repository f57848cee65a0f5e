"""Odd ones out of a fleet: how many are found, how many are false, how long it takes.

    python benchmarks/outliers.py [--hosts 1000] [--rows 200] [--odd 3] [--slower 0.04] [--spread 0.04]
                                  [--tolerance 1%] [--fdr 0.05] [--seeds 3]

Latencies are log-normal with a relative spread; odd hosts are slower by a part. A last line without odd hosts shows how
often any host is listed. Time is that of one processor, memory the largest of the process so far.
"""

from __future__ import annotations

import argparse
import resource
import time
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

import kabc


@dataclass(frozen=True)
class Fleet:
    """What is made, and what is asked."""

    hosts: int
    rows: int
    odd: int
    slower: float
    spread: float
    tolerance: str | None
    fdr: float

    def run(self, seed: int) -> tuple[int, int, float]:
        """Odd hosts found, false ones, and seconds of processor time."""
        rng = np.random.default_rng(seed)
        latencies = 100 * rng.lognormal(0.0, self.spread, (self.hosts, self.rows))
        latencies[: self.odd] *= 1 + self.slower
        arms = {f"h{i:04d}": rows for i, rows in enumerate(latencies)}
        started = time.process_time()
        result = kabc.outliers(arms, tolerance=self.tolerance, fdr=self.fdr, seed=seed, progress=False)
        seconds = time.process_time() - started
        return int(result.odd[: self.odd].sum()), int(result.odd[self.odd :].sum()), seconds


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--odd", type=int, default=3)
    parser.add_argument("--slower", type=float, default=0.04)
    parser.add_argument("--spread", type=float, default=0.04)
    parser.add_argument("--tolerance", default="1%", help="'any': without a tolerance")
    parser.add_argument("--fdr", type=float, default=0.05)
    parser.add_argument("--seeds", type=int, default=3)
    given = vars(parser.parse_args())
    seeds = range(given.pop("seeds"))
    given["tolerance"] = None if given["tolerance"] == "any" else given["tolerance"]
    print(f"{'hosts':>6} {'rows':>6} {'seed':>5} {'odd':>4} {'found':>6} {'false':>6} {'seconds':>8} {'MB':>6}")
    shares = []
    with threadpool_limits(1):
        for odd in (given["odd"], 0):
            fleet = Fleet(**{**given, "odd": odd})
            for seed in seeds:
                found, false, seconds = fleet.run(seed)
                shares.append(false / max(1, found + false))
                memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
                line = f"{fleet.hosts:>6} {fleet.rows:>6} {seed:>5} {odd:>4} {found:>6} {false:>6}"
                print(f"{line} {seconds:>8.1f} {memory:>6.0f}", flush=True)
    print(f"share of false ones on average: {np.mean(shares):.4f} (at most {fleet.fdr:g} is promised)")


if __name__ == "__main__":
    main()
