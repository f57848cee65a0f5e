"""A study that tests have workers for, in threads or as processes of their own.

As a program: `python -m tests.running.crew STORE [OPTIONS]` works for the study until it ends. The store may be the
URL of a server, whose token is in KABC_TOKEN.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from kabc.running.heartbeat import Heartbeat
from kabc.running.identity import worker_facts
from kabc.running.intake import Intake
from kabc.running.progress import Ticker
from kabc.running.script import Rounds
from kabc.running.settings import Settings
from kabc.running.shift import Shift
from kabc.running.sources import Sources
from kabc.running.steps import Stepper
from kabc.running.work import work
from kabc.running.worker import Worker
from kabc.running.workers import Workers
from kabc.server.client import open_server
from kabc.storage.contract import Storage
from kabc.storage.memory import MemoryStorage
from kabc.study.ledger import Ledger
from kabc.study.policies import OnWorkerLoss

MEANS = {"a": 0.0, "b": 0.0, "c": 3.0, "d": 3.0}
LEASE = 2.0


def normal(mean: float) -> Callable[[int, np.random.Generator], Any]:
    return lambda n, rng: rng.normal(mean, 1.0, n)


def arms() -> dict[str, Any]:
    return {name: normal(mean) for name, mean in MEANS.items()}


def pools() -> dict[str, Any]:
    """Arms with an order of their own, the same in every process."""
    rng = np.random.default_rng(0)
    return {name: rng.normal(mean, 1.0, 600) for name, mean in MEANS.items()}


class Ends:
    """The step of a study: its answer is the labels."""

    def __init__(self, storage: Storage, study: int, stepper: Stepper[Any], rounds: Rounds) -> None:
        self._storage, self._study, self._stepper, self._rounds = storage, study, stepper, rounds

    def advance(self) -> bool:
        if self._stepper.advance():
            return True
        assert self._rounds.strategy is not None
        labels = list(self._rounds.strategy.recommend().labels)
        self._storage.end(self._study, self._rounds.number, {"labels": labels, "status": self._stepper.found})
        return False


def attend(
    storage: Storage,
    given: Mapping[str, Any],
    *,
    name: str,
    serves: Sequence[str] | None = None,
    on_loss: OnWorkerLoss | None = None,
    show: Any = False,
    threads: int = 1,
    lease: float = LEASE,
) -> Worker:
    """Work for the study "nightly" until it ends."""
    study = storage.load_study("nightly")
    settings = Settings(n_clusters=2, seed=1, check_k=False)
    sources = Sources(given, None, 1)
    if serves is not None:
        sources.served = frozenset(sources.names.index(one) for one in serves)
    sources.workers = Workers.of(None, threads, sources.arms)
    intake = Intake(sources.names, sources.facts, 1)
    ledger = Ledger(storage, study, sources.facts, 1, name)
    ticker = Ticker(show)
    rounds = Rounds(settings, intake, None, ticker, (), ledger, lambda: 0.0, time.perf_counter())
    stepper = Stepper(rounds.asks(), ledger, intake)
    storage.register_worker(study.id, name, worker_facts("worker", list(serves or MEANS), "1"))
    with Heartbeat(storage, study.id, name, lease) as heart:
        shift = Shift(ledger, sources, ticker, lambda: intake.n_samples, heart, on_loss, lease)
        step = Ends(storage, study.id, stepper, rounds)
        worker = Worker(storage, study, sources.names, shift, step, heart, ticker)
        worker.run()
    return worker


def new_study() -> MemoryStorage:
    storage = MemoryStorage()
    storage.create_study("nightly", {}, {})
    return storage


def log(storage: Storage, name: str = "nightly") -> list[Any]:
    """Asks and samples, in order."""
    study = storage.load_study(name).id
    return [
        (ticket.round, ticket.place, ticket.arm, ticket.piece, ticket.start, draw.rows.tolist())
        for ticket, draw in storage.draws(study, 0, 10_000)
    ]


def one_worker(given: Callable[[], Mapping[str, Any]] = arms) -> MemoryStorage:
    storage = new_study()
    attend(storage, given(), name="one")
    return storage


# ---------------------------------------------------------------- as a program


def waiting(mean: float, marks: Path) -> Callable[[int, np.random.Generator], Any]:
    """The first draw says that it has begun, by a file, and waits for another file."""

    def draw(n: int, rng: np.random.Generator) -> Any:
        if not (marks / "begun").exists():
            (marks / "begun").touch()
            while not (marks / "go").exists():
                time.sleep(0.01)
        return rng.normal(mean, 1.0, n)

    return draw


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("store")
    parser.add_argument("--study", default="nightly")
    parser.add_argument("--serves", default="a,b,c,d")
    parser.add_argument("--waits", type=Path)  # where the first draw of arm a leaves its marks
    parser.add_argument("--clock", type=float, default=0.0)  # seconds that the clock of this process is ahead
    parser.add_argument("--lease", type=float, default=LEASE)
    parser.add_argument("--pools", action="store_true")
    given = parser.parse_args()
    if given.clock:
        right = time.time
        time.time = lambda: right() + given.clock
    made = (pools() if given.pools else arms()) | ({"a": waiting(MEANS["a"], given.waits)} if given.waits else {})
    served = {name: made[name] for name in given.serves.split(",")}
    by_url = given.store.startswith("http")
    store = open_server(given.store, os.environ["KABC_TOKEN"]) if by_url else given.store
    print(json.dumps(asdict(work(store, given.study, served, lease_seconds=given.lease, progress=False))))


if __name__ == "__main__":
    main()
