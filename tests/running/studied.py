"""Studies that the tests of resuming share: arms of every kind, and a store that breaks between any two calls."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl

import kabc
from kabc.arms.callables import PairedArm
from kabc.core.arrays import Array
from kabc.storage.contract import Storage
from kabc.storage.memory import MemoryStorage
from tests.running.live import Slow

NAME = "nightly"


def normals() -> dict[str, Any]:
    return {name: _normal(mean) for name, mean in (("a", 0.0), ("b", 3.0), ("c", 0.0))}


def _normal(mean: float) -> Callable[[int, np.random.Generator], Array]:
    return lambda n, rng: rng.normal(mean, 1.0, n)


def pools() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {name: rng.normal(mean, 1.0, size) for name, mean, size in (("a", 0, 90), ("b", 3, 80), ("c", 0, 5))}


def table() -> Any:
    rng = np.random.default_rng(0)
    host = np.repeat(["x", "y", "z"], 70)
    seconds = rng.normal(np.where(host == "y", 4.0, 0.0), 1.0)
    return pl.DataFrame({"host": host, "seconds": seconds, "kind": rng.choice(["low", "high"], 210)})


def texts() -> dict[str, Any]:
    def words(share: float) -> Callable[[int, np.random.Generator], Any]:
        return lambda n, rng: np.where(rng.random(n) < share, "error", "fine")

    return {"a": words(0.1), "b": words(0.9), "c": words(0.1)}


def paired() -> dict[str, Any]:
    def build(slower: float) -> PairedArm:
        return PairedArm(lambda n, rng, shared: 5.0 * shared.normal(size=n) + slower + rng.normal(size=n))

    return {"a": build(0.0), "b": build(3.0), "c": build(0.0)}


def live() -> dict[str, Any]:
    return {name: Slow(mean, [], name) for name, mean in (("a", 0.0), ("b", 5.0))}


def dependent() -> dict[str, Any]:
    """Within a draw, samples depend on the ones before."""

    def draw(mean: float) -> Callable[[int, np.random.Generator], Array]:
        return lambda n, rng: mean + np.repeat(rng.normal(size=n // 3 + 1), 3)[:n]

    return {"a": draw(0.0), "b": draw(4.0)}


CASES: dict[str, tuple[Callable[[], Any], dict[str, Any]]] = {
    "anytime": (normals, {"n_clusters": 2}),
    "kabc with a pilot": (normals, {"n_clusters": 2, "strategy": "kabc", "max_samples": 900}),
    "tolerance": (normals, {"tolerance": "2 sd", "max_samples": 1_000}),
    "pools": (pools, {"n_clusters": 2}),
    "table": (table, {"n_clusters": 2, "arm": "host"}),
    "texts": (texts, {"n_clusters": 2}),
    "paired": (paired, {"n_clusters": 2}),
    "one at a time": (live, {"n_clusters": 2}),
    "blocks": (dependent, {"n_clusters": 2, "block": "auto", "pilot": 60}),
    "threads": (normals, {"n_clusters": 2, "workers": 3}),
}


def study_of(case: str, storage: Storage, **more: Any) -> kabc.Result:
    """Run a case as a study, or go on with it."""
    arms, settings = CASES[case]
    return kabc.cluster(arms(), storage=storage, study=NAME, **{"seed": 4, "progress": False} | settings | more)


def log(storage: Storage, name: str = NAME) -> list[Any]:
    """Asks and samples, in order."""
    study = storage.load_study(name).id
    return [
        (ticket.round, ticket.place, ticket.arm, ticket.piece, ticket.start, draw.rows.tolist())
        for ticket, draw in storage.draws(study, 0, 10_000)
    ]


def same(one: kabc.Result, other: kabc.Result) -> bool:
    """Whether samples, evidence and labels are equal, exactly."""
    return (
        one.evidence == other.evidence
        and (one.labels, one.status, one.rounds) == (other.labels, other.status, other.rounds)
        and one.samples_per_arm == other.samples_per_arm
        and one.samples.keys() == other.samples.keys()
        and all(np.array_equal(one.samples[name], other.samples[name]) for name in one.samples)
        and (one.n_pilot, one.block, one.tolerance is None) == (other.n_pilot, other.block, other.tolerance is None)
    )


class Crash(Exception):  # noqa: N818
    """The process dies."""


class Breaking:
    """A store in front of which the process dies at one of its calls: before the call, or after it was committed."""

    def __init__(self, storage: Storage, calls: int, *, after: bool) -> None:
        self._storage, self._left, self._after = storage, calls, after
        self._thread = threading.get_ident()
        self.n_calls = 0

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._storage, name)
        if not callable(found):
            return found

        def call(*given: Any, **named: Any) -> Any:
            if threading.get_ident() != self._thread:
                return found(*given, **named)
            self.n_calls += 1
            if self.n_calls > self._left + self._after:
                raise Crash
            answer = found(*given, **named)
            if self.n_calls > self._left:
                raise Crash
            return answer

        return call


def dead(storage: Storage) -> None:
    """The processes that worked on it are gone: their leases and the step are free."""
    study = storage.load_study(NAME).id
    for worker in storage.workers(study):
        storage.bury(study, worker.name, counted=False)


def uninterrupted(case: str) -> tuple[kabc.Result, list[Any], int]:
    """The answer of a case, its log, and how many calls of the store that took."""
    storage = MemoryStorage()
    counting: Any = Breaking(storage, 1_000_000, after=False)
    result = study_of(case, counting)
    return result, log(storage), counting.n_calls
