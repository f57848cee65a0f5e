"""Results made by hand, whose every figure is known."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import kabc
from kabc.core.evidence.pairs import Evidence
from kabc.results.values import Result, Trace
from kabc.strategies.answers import Guarantee, Round, Status


def result_of(labels: Sequence[int], status: Status = "decided", seed: int = 0, unknown: float = 0.0) -> Result:
    """A result whose distances straddle their thresholds and differ from pair to pair."""
    numbered = kabc.Partition.of(labels).labels
    n, rng = len(labels), np.random.default_rng(seed)
    distances = np.triu(rng.uniform(0.1, 1.0, (n, n)), 1)
    distances += distances.T
    told_apart = distances > 0.5
    gone = np.triu(rng.random((n, n)) < unknown, 1)
    distances[gone | gone.T] = np.nan
    evidence = Evidence.of_distances(
        told_apart.astype(np.int64), np.full(n, 9), distances, np.full((n, n), 0.5), np.ones(n)
    )
    names = tuple(f"arm {arm}" for arm in range(n))
    why = Guarantee("KABC", "claim", ("assumption",), ("rule",))
    rounds = (Round(1, 0.05, 9, 9 * n, 2),)
    return Result(names, numbered, status, evidence, dict.fromkeys(names, 1_234), rounds, why, 0.05, 2, 2, "kernel", 0)


def full_result(labels: Sequence[int], status: Status = "decided", **changes: Any) -> Result:
    """The same with samples of three columns (a number, a flag, a few levels), and a trace of four rounds."""
    result = result_of(labels, status)
    rng = np.random.default_rng(1)
    samples = {name: _rows(rng, label) for name, label in zip(result.names, result.labels, strict=True)}
    steps = np.arange(1, 5)
    strength = result.evidence.strength * steps[:, None, None] / 4
    trace = Trace(steps * 9 * len(labels), strength) if len(labels) <= 40 else None
    columns = ("latency", "failed", "size")
    given = {
        "samples": samples,
        "trace": trace,
        "columns": columns,
        "notes": ("a note",),
        "seconds": 1.5,
        "price": 0.01,
    }
    return dataclasses.replace(result, **(given | changes))


def _rows(rng: np.random.Generator, label: int) -> NDArray[np.float64]:  # (30, 3)
    return np.column_stack([rng.normal(label, 1.0, 30), rng.random(30) < 0.2, rng.integers(0, 4, 30) * 10])
