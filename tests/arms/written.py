"""A table for tests, in every form that can be read."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from kabc.arms.base import Arm
from kabc.core.arrays import Array

RNG = np.random.default_rng(0)


def frame(n_arms: int = 3, rows: int = 40, **columns: Any) -> pl.DataFrame:
    """Arms m0, m1, ... in turn; `place` numbers the rows."""
    n = n_arms * rows
    return pl.DataFrame({"machine": [f"m{i % n_arms}" for i in range(n)], "place": np.arange(n) / 8, **columns})


def drawn(arm: Arm, n: int | None = None) -> Array:
    return np.asarray(arm.draw(arm.remaining or 0 if n is None else n, RNG))


def as_csv(folder: Path, table: pl.DataFrame) -> Any:
    table.write_csv(folder / "t.csv")
    return folder / "t.csv"


def as_tsv(folder: Path, table: pl.DataFrame) -> Any:
    table.write_csv(folder / "t.tsv", separator="\t")
    return str(folder / "t.tsv")


def as_gz(folder: Path, table: pl.DataFrame) -> Any:
    import gzip

    with gzip.open(folder / "t.csv.gz", "wt") as file:
        file.write(table.write_csv())
    return folder / "t.csv.gz"


def as_json(folder: Path, table: pl.DataFrame) -> Any:
    table.write_json(folder / "t.json")
    return folder / "t.json"


def as_lines(folder: Path, table: pl.DataFrame) -> Any:
    table.write_ndjson(folder / "t.jsonl")
    return folder / "t.jsonl"


def as_parquet(folder: Path, table: pl.DataFrame) -> Any:
    table.write_parquet(folder / "t.parquet")
    return folder / "t.parquet"


def as_feather(folder: Path, table: pl.DataFrame) -> Any:
    table.write_ipc(folder / "t.feather")
    return folder / "t.feather"


def as_stream(folder: Path, table: pl.DataFrame) -> Any:
    table.write_ipc_stream(folder / "t.arrow")
    return folder / "t.arrow"


def as_two_csv(folder: Path, table: pl.DataFrame) -> Any:
    table[:50].write_csv(folder / "part1.csv")
    table[50:].write_csv(folder / "part2.csv")
    return [folder / "part1.csv", folder / "part2.csv"]


def as_two_feathers(folder: Path, table: pl.DataFrame) -> Any:
    table[:50].write_ipc(folder / "part1.ipc")
    table[50:].write_ipc(folder / "part2.ipc")
    return str(folder / "part*.ipc")


def as_pandas(_: Path, table: pl.DataFrame) -> Any:
    return importlib.import_module("pandas").DataFrame(table.to_dict(as_series=False))


def as_polars(_: Path, table: pl.DataFrame) -> Any:
    return table


def as_lazy(_: Path, table: pl.DataFrame) -> Any:
    return table.lazy()


def as_arrow(_: Path, table: pl.DataFrame) -> Any:
    return table.to_arrow()


FORMATS: list[Callable[[Path, pl.DataFrame], Any]] = [
    as_csv,
    as_tsv,
    as_gz,
    as_json,
    as_lines,
    as_parquet,
    as_feather,
    as_stream,
    as_two_csv,
    as_two_feathers,
    as_pandas,
    as_polars,
    as_lazy,
    as_arrow,
]
