"""Latencies of a thousand hosts: python examples/fleet/make_hosts.py --week 1 writes week1.parquet.

There are three generations of machines. One rack, h0360 to h0399, has failing disks. In week 2, h0012 fails as well.
"""

from __future__ import annotations

import argparse

import duckdb
import numpy as np
from numpy.typing import NDArray

HOSTS, CALLS = 1000, 500  # calls of each host
MEDIANS = (4.0, 8.0, 16.0)  # milliseconds, of each generation
FIRST = (0, 400, 700)  # first host of each generation
RACK, LATER = range(360, 400), 12


def latencies(host: int, week: int) -> NDArray[np.float64]:  # (CALLS,)
    """Milliseconds of the calls of a host, log-normal. With a failing disk, every third call waits."""
    rng = np.random.default_rng((week, host))
    generation = sum(host >= first for first in FIRST) - 1
    times = MEDIANS[generation] * rng.lognormal(0.0, 0.2, CALLS)
    fails = host in RACK or (week == 2 and host == LATER)
    return np.asarray(times * np.where(rng.random(CALLS) < 1 / 3, 10.0, 1.0) if fails else times)


def main() -> None:
    """Write the file of a week into the current folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--week", type=int, choices=(1, 2), required=True)
    week = parser.parse_args().week
    hosts = np.repeat([f"h{host:04d}" for host in range(HOSTS)], CALLS)
    times = np.concatenate([latencies(host, week) for host in range(HOSTS)])
    with duckdb.connect() as database:
        database.register("calls", {"host": hosts, "latency": times})
        database.execute(f"copy calls to 'week{week}.parquet'")
    print(f"{HOSTS * CALLS:,} calls of {HOSTS:,} hosts: week{week}.parquet")


if __name__ == "__main__":
    main()
