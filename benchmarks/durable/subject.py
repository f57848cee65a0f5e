"""The run that is disturbed: arms that write down their calls, one line that runs or resumes it, and what it leaves.

python -m benchmarks.durable.subject STORE NAME CALLS MILLISECONDS     # the line, as a process of its own
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import kabc
from benchmarks.durable.processes import LOADED
from kabc.storage.opening import open_storage

LOADED.append("benchmarks.durable.warm")
SEED = 7
MEANS = {"a1": 0.0, "a2": 0.0, "b1": 2.0, "b2": 2.0}
BY_ITSELF = ("a2", "b1")  # drawn one sample at a time, as HTTP and command arms are
_CHANGING = {"seconds", "origin", "notes", "n_lost", "spent"}  # of an answer: what an accident may change


class Counted:
    """An arm whose calls are on record: one line for each, written before anything is returned."""

    remaining = None

    def __init__(self, name: str, calls: Path, seconds: float) -> None:
        self.name, self.calls, self.seconds = name, calls, seconds
        self.one_at_a_time = name in BY_ITSELF

    def draw(self, n: int, rng: np.random.Generator) -> NDArray[np.float64]:  # (n,)
        time.sleep(self.seconds)
        rows = rng.normal(MEANS[self.name], 1.0, n)
        line = f"{self.name} {n} {rows.tobytes().hex()}\n".encode()
        record = os.open(self.calls, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        try:
            os.write(record, line)  # one write at the end of a file is whole
        finally:
            os.close(record)
        return rows


@dataclass(frozen=True)
class Lines:
    """What a run says while it runs, in a file."""

    path: Path

    def __call__(self, line: str) -> None:
        with self.path.open("a") as file:
            file.write(f"{line}\n")


def run(place: str, name: str, calls: Path, seconds: float, said: Path | None = None) -> None:
    """Begin the study, or go on with it. Any number of processes may do this at the same time."""
    arms = {arm: Counted(arm, calls, seconds) for arm in MEANS}
    progress = False if said is None else Lines(said)
    kabc.cluster(arms, n_clusters=2, seed=SEED, storage=place, study=name, progress=progress)


def run_and_die(place: str, name: str, calls: Path, seconds: float, statement: int) -> None:
    """The same, but killed by SIGKILL at this moment: before and after each statement, and before each commit."""
    from sqlalchemy import event
    from sqlalchemy.engine import Engine

    sent = [0]

    def count(*_: object) -> None:
        sent[0] += 1
        if sent[0] >= statement:
            os.kill(os.getpid(), signal.SIGKILL)

    for what in ("before_cursor_execute", "after_cursor_execute", "commit"):
        event.listen(Engine, what, count)
    run(place, name, calls, seconds)


def statements(place: str, name: str, calls: Path, seconds: float, said: Path) -> None:
    """Run, and write down how many moments `run_and_die` can choose from."""
    from sqlalchemy import event
    from sqlalchemy.engine import Engine

    sent = [0]

    def count(*_: object) -> None:
        sent[0] += 1

    for what in ("before_cursor_execute", "after_cursor_execute", "commit"):
        event.listen(Engine, what, count)
    run(place, name, calls, seconds)
    said.write_text(str(sent[0]))


@dataclass(frozen=True)
class Left:
    """What a study left in its store, apart from times and workers."""

    state: str
    asks: str  # fingerprint of all tickets, in their order
    samples: str  # fingerprint of all rows that count, in the order of tickets
    answer: str  # labels, evidence, trace and the rest, as JSON
    n_draws: int
    n_samples: int
    n_told: int  # samples that the answer says
    unknown: int  # draws that count but were never made by an arm
    twice: int  # tickets with more than one draw that counts

    def faults(self, right: Left) -> list[str]:
        """Names of all that is not as it must be."""
        wrong = [
            name
            for name in ("state", "asks", "samples", "answer", "n_draws")
            if getattr(self, name) != getattr(right, name)
        ]
        wrong += [name for name in ("unknown", "twice") if getattr(self, name)]
        return wrong + (["count"] if self.n_samples != self.n_told else [])


def left(place: str, name: str, calls: Path) -> Left:
    """Read it, and compare the draws that count with the record of the arms."""
    store = open_storage(place)
    try:
        study = store.load_study(name)
        summary = store.summary(study.id)
        found = list(store.draws(study.id, -1_000, 1_000_000))
    finally:
        store.close()
    made = Counter(calls.read_text().splitlines())
    names = list(MEANS)
    lines = [f"{names[ticket.arm]} {ticket.count} {draw.rows.tobytes().hex()}" for ticket, draw in found]
    answer = dict(study.answer or {})
    kept = {key: value for key, value in answer.items() if key not in _CHANGING}
    asks = [(one.round, one.place, one.arm, one.piece, one.start, one.count) for one, _ in found]
    return Left(
        study.state,
        _mark(json.dumps(asks)),
        _mark("\n".join(lines)),
        _mark(json.dumps(kept, sort_keys=True)),
        len(found),
        summary.n_samples,
        int(answer.get("n_samples", -1)),
        sum(1 for line in lines if not made[line]),
        len(found) - len({ticket.id for ticket, _ in found}),
    )


def n_calls(calls: Path) -> int:
    return len(calls.read_text().splitlines()) if calls.exists() else 0


def _mark(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


if __name__ == "__main__":
    run(sys.argv[1], sys.argv[2], Path(sys.argv[3]), float(sys.argv[4]) / 1000)
