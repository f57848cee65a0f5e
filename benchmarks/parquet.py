"""Groups 1,000 arms of a Parquet file without loading it. Compares peak memory and time with reading it once.

    python benchmarks/parquet.py [--gb 2] [--arms 1000] [--keep file.parquet] [--json]

DuckDB makes the file, row group by row group. Rows of all arms are mixed. There are three columns of random numbers,
and five groups by the mean of the first column. kabc.cluster runs in its own process. The plain reading also has its
own process: DuckDB sums the same columns, with the same memory limit and threads. Memory is the largest resident set
of the process.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from kabc.arms.base import Arm

GROUPS = 5
ROW_BYTES = 24  # three doubles that hardly compress, and the arm


def main() -> None:
    parser = argparse.ArgumentParser(description="A Parquet file larger than memory: peak memory and time.")
    parser.add_argument("--gb", type=float, default=2.0, help="size of the file (default 2)")
    parser.add_argument("--arms", type=int, default=1000, help="number of arms (default 1000)")
    parser.add_argument("--keep", type=Path, help="path of the file: it is used if it exists, else made and kept")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--job", choices=list(JOBS), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        print(json.dumps(JOBS[options.job](str(options.keep))))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = options.keep or Path(folder, "arms.parquet")
        if not path.exists():
            make(path, int(options.gb * 1e9 / ROW_BYTES), options.arms)
        figures = {"gb": path.stat().st_size / 1e9, **{job: measured(job, path) for job in JOBS}}
    show(figures, options.json)


def make(path: Path, n_rows: int, n_arms: int) -> None:
    """Write a Parquet file row group by row group, which needs little memory. One thread always gives the same file."""
    import duckdb

    connection = duckdb.connect(config={"memory_limit": "512MB", "threads": 1})
    connection.execute("SELECT setseed(0.5)").fetchall()
    connection.execute(
        f"COPY (SELECT 'arm' || (i % {n_arms})::VARCHAR AS arm, "
        f"random() + (i % {GROUPS}) / 2 AS x, random() AS y, random() AS z FROM range({n_rows}) AS rows(i)) "
        f"TO '{path}' (FORMAT parquet, ROW_GROUP_SIZE 200000)"
    ).fetchall()
    connection.close()


class TimedArm:
    """An arm that measures the time of its draws."""

    def __init__(self, arm: Arm) -> None:
        self._arm = arm
        self.seconds = 0.0

    @property
    def remaining(self) -> int | None:
        return self._arm.remaining

    def draw(self, n: int, rng: np.random.Generator) -> ArrayLike:
        start = time.perf_counter()
        rows = self._arm.draw(n, rng)
        self.seconds += time.perf_counter() - start
        return rows


def cluster(path: str) -> dict[str, float]:
    import kabc
    from kabc.arms.tables import table_arms

    start = time.perf_counter()
    arms = table_arms(path, arm="arm", seed=0)
    counted = time.perf_counter()
    timed = {name: TimedArm(arm) for name, arm in arms.items()}
    result = kabc.cluster(timed, n_clusters=GROUPS, delta=0.05, seed=0, progress=False)
    end = time.perf_counter()
    right = result.certified and all(len({int(str(arm)[3:]) % GROUPS for arm in group}) == 1 for group in result.groups)
    return {
        "seconds": end - start,
        "counting": counted - start,
        "drawing": sum(arm.seconds for arm in timed.values()),
        "samples": result.n_samples,
        "right": right,
        "memory_mb": peak_memory(),
    }


def plain(path: str) -> dict[str, float]:
    from kabc.arms.workspace import Workspace

    workspace = Workspace()
    start = time.perf_counter()
    workspace.rows(f"SELECT arm, sum(x), sum(y), sum(z) FROM read_parquet('{path}') GROUP BY arm")
    return {"seconds": time.perf_counter() - start, "memory_mb": peak_memory()}


JOBS = {"plain": plain, "cluster": cluster}


def peak_memory() -> float:
    """In megabytes; Linux gives kilobytes, macOS bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)


def measured(job: str, path: Path) -> dict[str, float]:
    command = [sys.executable, os.fspath(Path(__file__)), "--job", job, "--keep", os.fspath(path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def show(figures: dict[str, float | dict[str, float]], as_json: bool) -> None:
    if as_json:
        print(json.dumps(figures, indent=2))
        return
    plain, cluster = figures["plain"], figures["cluster"]
    assert isinstance(plain, dict)
    assert isinstance(cluster, dict)
    reading = cluster["counting"] + cluster["drawing"]
    print(f"file of {figures['gb']:.2f} GB           seconds  x plain  peak MB")
    print(f"plain reading            {plain['seconds']:8.1f} {1:8.1f} {plain['memory_mb']:8.0f}")
    for name in ("counting", "drawing"):
        print(f"  {name:22} {cluster[name]:8.1f} {cluster[name] / plain['seconds']:8.1f}")
    print(f"reading for kabc.cluster {reading:8.1f} {reading / plain['seconds']:8.1f}")
    print(
        f"kabc.cluster, all of it  {cluster['seconds']:8.1f} {cluster['seconds'] / plain['seconds']:8.1f} "
        f"{cluster['memory_mb']:8.0f}"
    )
    print(f"{cluster['samples']:,} samples, groups certified and {'right' if cluster['right'] else 'wrong'}")


if __name__ == "__main__":
    main()
