"""Runs that read the samples of earlier ones, in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kabc.results.values import Result
from kabc.running.intake import Intake
from kabc.running.progress import Ticker
from kabc.running.reuse import Reuse
from kabc.running.run import Run
from kabc.running.settings import Settings
from kabc.running.shift import Shift
from kabc.running.sources import Sources
from kabc.running.steps import run_here
from kabc.running.watch import Watch
from kabc.storage.memory import MemoryStorage
from kabc.study.growth import drawn_rows, last_whole_round
from kabc.study.ledger import Ledger

Draw = Callable[[int, np.random.Generator], NDArray[Any]]


def normal(mean: float, spread: float = 1.0) -> Draw:
    return lambda n, rng: rng.normal(mean, spread, n)


def run(arms: Mapping[str, Any], reuse: Reuse | None = None, seed: int = 0, **settings: Any) -> tuple[Result, Any]:
    """The answer, and the rows of each arm that were drawn for it, in their order."""
    chosen = Settings(seed=seed, **settings)
    sources = Sources(arms, None, seed)
    intake = Intake(sources.names, sources.facts, seed, None, Watch(len(sources), seed), reuse)
    storage = MemoryStorage()
    study = storage.create_study("run", {}, {})
    ledger = Ledger(storage, study, sources.facts, seed, "here")
    show = Ticker.of(False)
    shift = Shift(ledger, sources, show, lambda: intake.n_samples)
    result = Run(chosen, sources, intake, ledger, show).result(partial(run_here, shift=shift))
    found = drawn_rows(storage, study.id, 0, last_whole_round(storage, study.id))
    return result, {sources.names[arm]: rows for arm, rows in found.items()}


def reuse_of(record: Mapping[str, NDArray[Any]], arms: Mapping[str, Any], anchors: int = 20) -> Reuse:
    """The record for these arms; those that are a `RecordedArm` cannot be drawn."""
    live = [not getattr(arm, "recorded", False) for arm in arms.values()]
    return Reuse("before", [record.get(name) for name in arms], live, anchors)
