"""Runs by every kind of source and question, and what came of them, as plain values.

`OPENBLAS_CORETYPE=Haswell python -m tests.blackbox.golden_runs` records them in tests/golden/blackbox/runs.json. Record
again only what a change is meant to change, and say so.
"""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import kabc
from tests.blackbox.golden_data import Draw, failing, line, make_files, normal, sentences, words

GOLDEN = Path(__file__).parent.parent / "golden" / "blackbox" / "runs.json"

Run = Callable[[], Any]
LATENCY: dict[str, Any] = {"arm": "host", "values": ["latency"]}


def clustered(source: Any, n_clusters: int | None = None, **settings: Any) -> Run:
    """A run of `kabc.cluster`."""
    given = {"seed": 0, "progress": False, **settings}
    return lambda: kabc.cluster(source, n_clusters, **given)


def checked(source: Any, **settings: Any) -> Run:
    """A run of `kabc.check`."""
    given = {"seed": 0, "progress": False, "tolerance": "5%", **settings}
    return lambda: kabc.check(source, **given)


def odd(source: Any, **settings: Any) -> Run:
    """A run of `kabc.outliers`."""
    given = {"seed": 0, "progress": False, **settings}
    return lambda: kabc.outliers(source, **given)


def planned(*numbers: Any, **settings: Any) -> Run:
    """What a run will cost."""
    return lambda: kabc.plan(*numbers, progress=False, **settings)


def delayed(mean: float) -> Callable[[np.random.Generator], Any]:
    """An arm that waits for each sample."""

    async def draw(rng: np.random.Generator) -> float:
        await asyncio.sleep(0)
        return float(rng.normal(mean, 1.0))

    return draw


def arrays(n_arms: int, rows: int, gap: float, seed: int = 0) -> dict[str, Any]:
    """Arms of so many rows; every second one is shifted."""
    rng = np.random.default_rng(seed)
    return {f"arm {i}": rng.normal(gap * (i % 2), 1.0, rows) for i in range(n_arms)}


def frame(library: str) -> Any:
    """The table as a data frame of this library."""
    if library == "polars":
        import polars

        return polars.read_parquet("hosts.parquet")
    import pandas  # type: ignore[import-untyped]

    return pandas.read_parquet("hosts.parquet")


def in_threads(arms: dict[str, Draw]) -> Any:
    """A run whose draws are made by an executor."""
    with ThreadPoolExecutor(4) as pool:
        return kabc.cluster(arms, 3, seed=0, progress=False, executor=pool)


def failed(arms: dict[str, Draw]) -> Any:
    """The answer so far of a run that an arm ended."""
    try:
        kabc.cluster(arms, 2, seed=4, progress=False)
    except kabc.KabcError as error:
        return error.result
    raise AssertionError("no draw failed")


def kept(**settings: Any) -> Any:
    """A run that is kept as a study, in one process, ended by its budget, and ended for good."""
    arms = line(4, 2, 2.0)
    where: dict[str, Any] = {"storage": "kept.db", "study": "kept"}
    early = kabc.cluster(arms, 2, seed=0, progress=False, max_samples=24, **where, **settings)
    assert early.status == "budget"
    study = kabc.load_study("kept", "kept.db")
    study.raise_budget(None)
    return study.run(arms)


def reused() -> Any:
    """A study that reads the samples of an earlier one first."""
    arms = line(4, 2, 2.0)
    kabc.create_study("first", arms, 2, storage="reused.db", seed=0).run(arms)
    return kabc.create_study("second", arms, 2, storage="reused.db", seed=1, reuse="first").run(arms)


def runs() -> dict[str, Run]:
    """All of them by name; they are made in a folder with the files of `make_files`."""
    from kabc.kernels import Gaussian, Laplace

    tables: dict[str, Run] = {
        "CSV, K given": clustered("hosts.csv", 2, arm="host"),
        "TSV": clustered("hosts.tsv", 2, arm="host"),
        "JSON lines, budget": clustered("hosts.jsonl", 2, max_samples=300, **LATENCY),
        "Parquet": clustered("hosts.parquet", 2, **LATENCY),
        "Parquet, two files": clustered("part-*.parquet", 2, **LATENCY),
        "no K": clustered("hosts.parquet", max_samples=900, **LATENCY),
        "where": clustered("all.parquet", 2, where="second > 100 and status = 'ok'", **LATENCY),
        "missing values dropped": clustered("all.csv", 2, arm="host", values=["latency", "size"], missing="drop"),
        "missing values encoded": clustered("all.csv", 2, arm="host", values=["size", "status"], missing="encode"),
        "order": clustered("all.parquet", 2, order="second", **LATENCY),
        "blocks": clustered("series.parquet", 2, arm="host", values="value", block=20, order="second"),
        "blocks of a length that is found": clustered("series.parquet", 2, arm="host", values="value", block="auto"),
        "dependent rows": clustered("series.parquet", 2, arm="host", values="value", max_samples=2000),
        "a category": clustered("hosts.parquet", 2, arm="host", values=["status"], types={"status": "category"}),
        "texts of a table": clustered("all.parquet", 2, arm="host", values=["text"], max_samples=400),
        "pandas": lambda: kabc.cluster(frame("pandas"), 2, seed=0, progress=False, **LATENCY),
        "polars": lambda: kabc.cluster(frame("polars"), 2, seed=0, progress=False, arm="host"),
        "published rule on a table": clustered("hosts.parquet", 2, strategy="kabc-tight", **LATENCY),
    }
    functions: dict[str, Run] = {
        "functions": clustered(line(6, 3, 3.0), 3),
        "four threads": clustered(line(6, 3, 3.0), 3, workers=4),
        "an executor": lambda: in_threads(line(6, 3, 3.0)),
        "arms that wait": clustered({"a": delayed(0.0), "b": delayed(3.0), "c": delayed(0.0)}, 2),
        "categories of functions": clustered(
            {"a": words([0.9, 0.1, 0]), "b": words([0.1, 0.1, 0.8]), "c": words([0.9, 0.1, 0])}, 2
        ),
        "texts of functions": clustered(
            {"a": sentences(0.1), "b": sentences(0.9), "c": sentences(0.1)}, 2, types={"value": "text"}
        ),
        "rows used up": clustered(arrays(6, 12, 1.0), 2),
        "too few rows in one": clustered({**arrays(6, 200, 3.0), "small": np.arange(3.0)}, 2),
        "an arm that fails": lambda: failed({"a": normal(0), "b": normal(0.2), "c": failing(0.3)}),
        "K too small": clustered(line(6, 3, 8.0), 2, max_samples=2_000),
        "no check of K": clustered(line(6, 3, 8.0), 2, check_k=False),
        "kernel": clustered(line(5, 2, 4.0), 2, kernel=Gaussian(1.0) + Laplace(2.0)),
        "smallest separation": clustered(line(4, 2, 6.0), min_separation=1.2),
        "a sequence with names": clustered([normal(0), normal(5), normal(0)], 2, names=[7, "x", (1, 2)]),
        "kept": kept,
        "reused": reused,
    }
    questions: dict[str, Run] = {
        "tolerance": clustered({"a": normal(100, 5), "b": normal(100, 5), "c": normal(112, 5)}, tolerance="4%"),
        "tolerance of a table": clustered("hosts.parquet", tolerance="10%", **LATENCY),
        "quantiles": clustered("hosts.parquet", tolerance={"p50": "10%", "p90": "20%"}, **LATENCY),
        "check, different": checked("hosts.parquet", this="host 1", same_as="host 0", **LATENCY),
        "check, same": checked({"new": normal(100, 5), "old": normal(100, 5)}, this="new", same_as="old"),
        "check against the rest": checked("hosts.parquet", this="host 1", **LATENCY),
        "check, quantiles": checked(
            "hosts.parquet", this="host 2", same_as=["host 0", "host 4"], **LATENCY | {"tolerance": {"p50": "10%"}}
        ),
        "outliers": odd({f"host {i}": np.random.default_rng(i).normal(float(i == 5), 1.0, 600) for i in range(12)}),
        "outliers beyond a tolerance": odd("hosts.parquet", tolerance="0.5 sd", **LATENCY),
        "plan by a gap": planned(6, 2, gap=2.0),
        "plan by a pilot": planned(n_clusters=2, pilot=arrays(4, 40, 3.0), price=0.01),
        "plan of a tolerance": planned(pilot=arrays(4, 40, 0.0), tolerance="0.5 sd"),
    }
    return tables | functions | questions


def outcome(found: Any) -> dict[str, Any]:
    """What must not change, and the text."""
    if isinstance(found, kabc.Result):
        return {"text": str(found), **numbers(found)}
    if hasattr(found, "odd_names"):
        odd_ones = {str(name): samples for name, samples in found.samples_per_arm.items()}
        return {
            "text": str(found),
            "status": found.status,
            "odd": [str(x) for x in found.odd_names],
            "samples": odd_ones,
        }
    return {"text": str(found)}


def numbers(result: kabc.Result) -> dict[str, Any]:
    """Samples, rounds, labels, and the evidence of pairs."""
    size = len(result.names)
    upper = np.triu_indices(size, 1)
    strength = np.broadcast_to(result.evidence.strength, (size, size))[upper]
    return {
        "status": result.status,
        "names": [str(name) for name in result.names],
        "labels": list(result.labels),
        "certified": bool(result.certified),
        "n_groups_at_least": result.n_groups_at_least,
        "samples_per_arm": list(result.samples_per_arm.values()),
        "n_pilot": result.n_pilot,
        "n_rounds": len(result.rounds),
        "told_in_round": np.broadcast_to(result.evidence.told_in_round, (size, size))[upper].tolist(),
        "strength": [shown(value) for value in strength],
        "first_samples": [shown(rows.ravel()[0]) for rows in result.samples.values() if rows.size],
    }


def shown(value: Any) -> float | str | None:
    """Nine digits: other processors add in another order. Texts as they are."""
    if isinstance(value, str):
        return str(value)
    return float(f"{float(value):.9g}") if np.isfinite(value) else None


def main() -> None:
    """Record them all."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        make_files(Path(folder))
        os.chdir(folder)
        for name, run in runs().items():
            found[name] = outcome(run())
            print(f"{name}: {found[name]['text'].splitlines()[0]}", flush=True)
        os.chdir("/")
    GOLDEN.parent.mkdir(parents=True, exist_ok=True)
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(one)}" for name, one in found.items())
    GOLDEN.write_text("{\n" + lines + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
