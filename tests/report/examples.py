"""Results made by hand, whose every figure is known."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import kabc
from kabc.core.evidence.pairs import Evidence
from kabc.core.evidence.verdicts import DIFFERENT, SAME, Verdicts
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


ODD = (12, 77, 191)  # arms of a fleet: three times as slow; failing; busy


def fleet(n: int, status: Status = "decided", n_rows: int = 40) -> Result:
    """Hosts in three groups and three odd ones, compared with a few hosts of each group, as `anytime` does."""
    rng = np.random.default_rng(n)
    kinds = np.digitize(np.arange(n) % 10, (6, 9))
    rows = np.stack([_host(rng, (40.0, 60.0, 95.0)[kind], n_rows) for kind in kinds])
    rows[ODD[0], :, 0] *= 3
    rows[ODD[1], :, 1] = rng.random(n_rows) < 0.6
    rows[ODD[2], :, 2] = 100 * rng.beta(8, 2, n_rows)
    kinds[list(ODD)] = (3, 4, 5)
    labels = np.array(kabc.Partition.of(kinds.tolist()).labels)
    compared = np.unique(np.concatenate([np.flatnonzero(labels == group)[:4] for group in range(6)]))
    apart = labels[:, None] != labels[compared]
    values = np.where(apart, rng.normal(30, 5, apart.shape), rng.normal(0, 2, apart.shape))
    values[compared] = (values[compared] + values[compared].T) / 2
    limits = np.full(values.shape, 18.0)
    evidence = Evidence.of_bets((values > limits).astype(np.int64), np.full(n, n_rows), values, limits, compared)
    names = tuple(f"node-{arm:04d}.eu-west.example.net" for arm in range(n))
    base = result_of([0, 1], status)
    return dataclasses.replace(
        base,
        names=names,
        labels=tuple(labels.tolist()),
        evidence=evidence,
        samples_per_arm=dict.fromkeys(names, n_rows),
        samples=dict(zip(names, rows, strict=True)),
        columns=("latency_ms", "failed", "cpu"),
        n_clusters=6,
        n_groups_at_least=6,
        kernel="",
    )


def _host(rng: np.random.Generator, latency: float, n: int) -> NDArray[np.float64]:  # (n, 3)
    return np.column_stack([latency * rng.lognormal(0, 0.2, n), rng.random(n) < 0.02, 100 * rng.beta(2, 5, n)])


def within(result: Result, **changes: Any) -> Result:
    """With verdicts in per cent: pairs of a group are the same, within 2.41; others differ, by 1.26 or more."""
    labels = np.asarray(result.labels)
    together = labels[:, None] == labels
    itself = np.eye(len(labels), dtype=bool)
    above = np.where(itself, 0.0, np.where(together, 2.41, np.inf))
    below = np.where(together, 0.0, 1.26)
    given: dict[str, Any] = {
        "tolerance": "2 %",
        "unit": "%",
        "eps": 0.2,
        "equivalents": ("latency: a shift by 3",),
        "verdicts": np.where(together, SAME, DIFFERENT),
        "same_within": above,
        "apart_at_least": below,
        "same_distance": 0.1 * above,
        "apart_distance": 0.1 * below,
    }
    return dataclasses.replace(result, tolerance=Verdicts(**(given | changes)))
