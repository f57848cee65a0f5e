"""Files and arms that the recorded runs read: made from a seed, so that nothing is stored but what came of them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
from numpy.typing import NDArray

Draw = Callable[[int, np.random.Generator], NDArray[Any]]

HOSTS = [f"host {i}" for i in range(6)]


def normal(mean: float, spread: float = 1.0) -> Draw:
    """Independent normal samples."""
    return lambda n, rng: rng.normal(mean, spread, n)


def line(n_arms: int, n_groups: int, gap: float) -> dict[str, Draw]:
    """Normal arms; the mean of group g is gap * g."""
    return {f"arm {i}": normal(gap * (i % n_groups)) for i in range(n_arms)}


def words(chances: list[float]) -> Draw:
    """Short texts with these probabilities."""
    names = np.array(["ok", "slow", "error"])
    return lambda n, rng: names[rng.choice(3, n, p=chances)]


def sentences(hot: float) -> Draw:
    """Longer texts; some of their words are others with this probability."""
    cold, warm = (
        ["the", "pump", "runs", "at", "low", "speed", "and", "the", "valve", "is", "closed"],
        ["a", "fan", "spins", "fast", "while", "doors", "are", "open"],
    )

    def draw(n: int, rng: np.random.Generator) -> NDArray[Any]:
        return np.array([" ".join(rng.choice(warm if rng.random() < hot else cold, 6)) for _ in range(n)])

    return draw


def failing(share: float) -> Draw:
    """An arm that fails with this probability, by a generator of its own."""

    def draw(n: int, rng: np.random.Generator) -> NDArray[Any]:
        if rng.random() < share:
            raise ConnectionError("the line is dead")
        return rng.normal(0.0, 1.0, n)

    return draw


def table(rows: int = 1500, seed: int = 0) -> pa.Table:
    """Six hosts, every second one slower: time, latency, size, status and a text; some sizes are missing."""
    rng = np.random.default_rng(seed)
    host = rng.integers(6, size=rows)
    latency = rng.lognormal(0.25 * (host % 2), 0.2)
    size = rng.normal(100.0, 10.0, rows).round(1)
    status = np.where(rng.random(rows) < 0.1 + 0.2 * (host % 2), "error", "ok")
    text = np.array([f"job {a} of {b}" for a, b in rng.integers(50, size=(rows, 2))])
    return pa.table(
        {
            "host": [HOSTS[i] for i in host],
            "second": np.arange(rows) * 0.5 + rng.random(rows) * 0.1,
            "latency": latency,
            "size": pa.array(size, mask=rng.random(rows) < 0.02),
            "status": status,
            "text": text,
        }
    )


def dependent(rows: int = 8000, seed: int = 1) -> pa.Table:
    """Four hosts whose values depend on the ones before."""
    rng = np.random.default_rng(seed)
    noise = rng.normal(0.0, 1.0, (rows // 4, 4))
    for i in range(1, len(noise)):
        noise[i] = 0.7 * noise[i - 1] + np.sqrt(1 - 0.7**2) * noise[i]
    noise += 1.5 * (np.arange(4) % 2)
    return pa.table(
        {"host": [HOSTS[i] for i in range(4)] * len(noise), "second": np.arange(rows), "value": noise.ravel()}
    )


def make_files(folder: Path) -> None:
    """All files, under the names that the runs use."""
    whole = table()
    plain = whole.select(["host", "latency", "status"])
    pacsv.write_csv(plain, folder / "hosts.csv")
    pacsv.write_csv(plain, folder / "hosts.tsv", pacsv.WriteOptions(delimiter="\t"))
    pacsv.write_csv(whole.drop_columns(["text"]), folder / "all.csv")
    pq.write_table(plain, folder / "hosts.parquet")
    pq.write_table(whole, folder / "all.parquet")
    pq.write_table(dependent(), folder / "series.parquet")
    half = len(plain) // 2
    pq.write_table(plain.slice(0, half), folder / "part-1.parquet")
    pq.write_table(plain.slice(half), folder / "part-2.parquet")
    lines = [json.dumps(row) for row in plain.slice(0, 600).to_pylist()]
    (folder / "hosts.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    wide = {name: np.random.default_rng(i).normal(3.0 * (i % 2), 1.0, 60) for i, name in enumerate("abcd")}
    pacsv.write_csv(pa.table(wide), folder / "wide.csv")
    with sqlite3.connect(folder / "hosts.sqlite") as database:
        database.execute("CREATE TABLE calls (host TEXT, latency REAL, status TEXT)")
        database.executemany("INSERT INTO calls VALUES (?, ?, ?)", [tuple(row.values()) for row in plain.to_pylist()])
    database.close()
    timings = {
        "results": [
            {"command": name, "times": np.random.default_rng(i).normal(0.1 + 0.02 * (i == 2), 0.004, 60).tolist()}
            for i, name in enumerate(["old", "new", "slow"])
        ]
    }
    (folder / "timings.json").write_text(json.dumps(timings), encoding="utf-8")
    (folder / "draw.py").write_text(SCRIPT, encoding="utf-8")
    (folder / "hosts.toml").write_text(SETTINGS, encoding="utf-8")
    (folder / "hosts.toml").chmod(0o600)


# A command that draws by the seed that kabc gives it: the same numbers on every machine.
SCRIPT = """import os, random, sys
random.seed(int(os.environ["KABC_SEED"]))
if random.random() < float(sys.argv[2]):
    sys.exit("no answer")
print(random.gauss(float(sys.argv[1]), 1.0))
"""

SETTINGS = """clusters = 2
seed = 3
max_samples = 600

[table]
path = "hosts.parquet"
arm = "host"
values = ["latency"]
"""
