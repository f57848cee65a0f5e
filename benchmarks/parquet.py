"""Groups the arms of a Parquet file without loading it. Compares peak memory and time with reading it once.

    python benchmarks/parquet.py [--gb 2] [--arms 1000] [--keep file.parquet] [--json]
    python benchmarks/parquet.py --cluster 4 --gb 0.048 --arms 2000 [--apart 0.5]

DuckDB makes the file, row group by row group. Rows of all arms are mixed. There are three columns of random numbers,
and five groups by the mean of the first column. kabc.cluster runs in its own process, with its default settings. The
plain reading also has its own process: DuckDB sums the same columns, with the same memory limit and threads. Memory is
the largest resident set of the process; there are no others.

With --cluster the rows are in several files, and kabc-tight with random features groups their arms three times, each in
its own process: without a cluster; on a LocalCluster of two processes that sends the rows that are drawn; on the same
cluster that sends feature sums. Figures are those of the calling process: rows and megabytes that the workers sent it,
peak memory, processor seconds; the scheduler of the cluster runs in it too. The order of rows is not watched.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

GROUPS = 5
ROW_BYTES = 24  # three doubles that hardly compress, and the arm


def main() -> None:
    parser = argparse.ArgumentParser(description="A Parquet file larger than memory: peak memory and time.")
    parser.add_argument("--gb", type=float, default=2.0, help="size of the file (default 2)")
    parser.add_argument("--arms", type=int, default=1000, help="number of arms (default 1000)")
    parser.add_argument("--apart", type=float, default=0.5, help="between the means of two groups (default 0.5)")
    parser.add_argument("--keep", type=Path, help="path of the file: it is used if it exists, else made and kept")
    parser.add_argument("--cluster", type=int, metavar="FILES", help="compare with a cluster, rows in so many files")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--job", choices=[*JOBS, *ON_A_CLUSTER], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        print(json.dumps((JOBS | ON_A_CLUSTER)[options.job](str(options.keep))))
        return
    if options.cluster:
        with tempfile.TemporaryDirectory() as folder:
            make_files(Path(folder), int(options.gb * 1e9 / ROW_BYTES), options.arms, options.apart, options.cluster)
            show_cluster({job: measured(job, Path(folder, "*.parquet")) for job in ON_A_CLUSTER}, options.json)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = options.keep or Path(folder, "arms.parquet")
        if not path.exists():
            make(path, int(options.gb * 1e9 / ROW_BYTES), options.arms, options.apart)
        figures = {"gb": path.stat().st_size / 1e9, **{job: measured(job, path) for job in JOBS}}
    show(figures, options.json)


def make_files(folder: Path, n_rows: int, n_arms: int, apart: float, n_files: int) -> None:
    """Write the rows to several files. All arms are in each."""
    import duckdb

    whole = folder / "whole"
    make(whole, n_rows, n_arms, apart)
    connection = duckdb.connect(config={"memory_limit": "512MB", "threads": 1})
    for number in range(n_files):
        low, high = n_rows * number // n_files, n_rows * (number + 1) // n_files
        connection.execute(
            f"COPY (SELECT * EXCLUDE (file_row_number) FROM read_parquet('{whole}', file_row_number=true) "
            f"WHERE file_row_number >= {low} AND file_row_number < {high}) TO '{folder}/{number:03}.parquet'"
        ).fetchall()
    connection.close()
    whole.unlink()


def make(path: Path, n_rows: int, n_arms: int, apart: float) -> None:
    """Write a Parquet file row group by row group, which needs little memory. One thread always gives the same file."""
    import duckdb

    connection = duckdb.connect(config={"memory_limit": "512MB", "threads": 1})
    connection.execute("SELECT setseed(0.5)").fetchall()
    connection.execute(
        f"COPY (SELECT 'arm' || (i % {n_arms})::VARCHAR AS arm, "
        f"random() + (i % {GROUPS}) * {apart} AS x, random() AS y, random() AS z FROM range({n_rows}) AS rows(i)) "
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
        "rounds": len(result.rounds),
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


def tight(path: str, **where: Any) -> dict[str, Any]:
    """What kabc-tight finds, and what it takes in this process."""
    import kabc

    kernel = kabc.RandomFeatures(kabc.Gaussian(bandwidth=0.5), n_features=256)
    asked: dict[str, Any] = {"arm": "arm", "delta": 0.05, "seed": 0, "progress": False, "watch": False}
    asked |= {"strategy": "kabc-tight", "kernel": kernel, "strategy_options": {"comparisons": "representatives"}}
    start, used = time.perf_counter(), time.process_time()
    result = kabc.cluster(path, GROUPS, **asked, **where)
    return {
        "seconds": time.perf_counter() - start,
        "processor": time.process_time() - used,
        "memory_mb": peak_memory(),
        "status": result.status,
        "samples": result.n_samples,
        "rounds": len(result.rounds),
        "labels": list(result.labels),
        "told": result.evidence.told.ravel().tolist(),
        "distances": np.nan_to_num(result.evidence.values, nan=-1.0).ravel().tolist(),
    }


def on_a_cluster(path: str) -> dict[str, Any]:
    """The same on two worker processes, and what they sent."""
    import distributed

    from kabc.arms.parts import PartedScan

    sent = {"rows": 0, "mb": 0.0}
    gather, read = distributed.Client.gather, PartedScan.read

    def weighed(*given: Any, **named: Any) -> Any:
        found = gather(*given, **named)
        sent["mb"] += n_bytes(found) / 1e6
        return found

    def counted(*given: Any) -> Any:
        found = read(*given)
        sent["rows"] += len(found["code"])
        return found

    distributed.Client.gather, PartedScan.read = weighed, counted  # type: ignore[method-assign, assignment]
    settings: dict[str, Any] = {"threads_per_worker": 1, "dashboard_address": None, "memory_limit": 0}
    with distributed.LocalCluster(2, host="127.0.0.1", **settings) as workers, distributed.Client(workers) as client:
        found = tight(path, executor=client)
        return found | sent | {"workers": sum(client.run(time.process_time).values())}


def with_rows(path: str) -> dict[str, Any]:
    """On a cluster, as if the strategy needed the samples themselves."""
    from kabc.running import script

    script.summing_of = lambda *_: None  # type: ignore[attr-defined]
    return on_a_cluster(path)


ON_A_CLUSTER: dict[str, Any] = {"here": tight, "rows": with_rows, "sums": on_a_cluster}


def n_bytes(found: Any) -> int:
    """Of the arrays in an answer; names and the like as they are pickled."""
    if isinstance(found, np.ndarray) and found.dtype != object:
        return found.nbytes
    if isinstance(found, list) and not (found and isinstance(found[0], tuple)):
        return sum(map(n_bytes, found))
    parts = found if isinstance(found, dict) else getattr(found, "__dict__", None)
    return sum(map(n_bytes, parts.values())) if parts else len(pickle.dumps(found))


def peak_memory() -> float:
    """In megabytes; Linux gives kilobytes, macOS bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)


def measured(job: str, path: Path) -> dict[str, Any]:
    command = [sys.executable, os.fspath(Path(__file__)), "--job", job, "--keep", os.fspath(path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    figures: dict[str, Any] = json.loads(done.stdout)
    return figures


def show_cluster(figures: dict[str, Any], as_json: bool) -> None:
    here = figures["here"]
    for found in figures.values():
        found["same"] = all(found[name] == here[name] for name in ("labels", "told", "status", "samples", "rounds"))
        found["off"] = (
            float(np.abs(np.subtract(found["distances"], here["distances"])).max()) if found["same"] else None
        )
    for found in figures.values():
        for name in ("labels", "told", "distances"):
            del found[name]
    if as_json:
        print(json.dumps(figures, indent=2))
        return
    print(f"{here['samples']:,} samples in {here['rounds']} rounds, {here['status']}")
    print("                        rows sent  MB sent  peak MB      cpu  cpu of workers  same answer, distances")
    for job, name in (("here", "without a cluster"), ("rows", "cluster, rows sent"), ("sums", "cluster, sums")):
        one = figures[job]
        print(
            f"{name:20} {one.get('rows', 0):12,} {one.get('mb', 0):8.1f} {one['memory_mb']:8.0f} "
            f"{one['processor']:8.1f} {one.get('workers', 0):15.1f}  {'yes' if one['same'] else 'NO'}, {one['off']}"
        )


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
    said = "certified and right" if cluster["right"] else "not certified, or wrong"
    print(f"{cluster['samples']:,} samples in {cluster['rounds']} rounds, groups {said}")


if __name__ == "__main__":
    main()
