"""Groups the arms of a Parquet file without loading it. Compares peak memory and time with reading it once.

    python benchmarks/parquet.py [--gb 2] [--arms 1000] [--keep file.parquet] [--json]

DuckDB makes the file, row group by row group. Rows of all arms are mixed. There are three columns of random numbers,
and five groups by the mean of the first column. kabc.cluster runs in its own process, with its default settings. The
plain reading also has its own process: DuckDB sums the same columns, with the same memory limit and threads. Memory is
the largest resident set of the process; there are no others.
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


def cluster(path: str) -> dict[str, float]:
    import kabc

    start, used = time.perf_counter(), time.process_time()
    result = kabc.cluster(path, GROUPS, arm="arm", delta=0.05, seed=0, progress=False)
    seconds, processor = time.perf_counter() - start, time.process_time() - used
    right = result.certified and all(len({int(str(arm)[3:]) % GROUPS for arm in group}) == 1 for group in result.groups)
    return {
        "seconds": seconds,
        "processor": processor,
        "samples": result.n_samples,
        "right": right,
        "memory_mb": peak_memory(),
    }


def plain(path: str) -> dict[str, float]:
    from kabc.arms.workspace import Workspace

    workspace = Workspace()
    start, used = time.perf_counter(), time.process_time()
    workspace.rows(f"SELECT arm, sum(x), sum(y), sum(z) FROM read_parquet('{path}') GROUP BY arm")
    seconds, processor = time.perf_counter() - start, time.process_time() - used
    return {"seconds": seconds, "processor": processor, "memory_mb": peak_memory()}


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
    print(f"file of {figures['gb']:.2f} GB    seconds      cpu  peak MB")
    for name, found in (("plain reading", plain), ("kabc.cluster", cluster)):
        print(f"{name:17} {found['seconds']:8.1f} {found['processor']:8.1f} {found['memory_mb']:8.0f}")
    print(f"{cluster['samples']:,} samples, groups certified and {'right' if cluster['right'] else 'wrong'}")


if __name__ == "__main__":
    main()
