"""The accidents of `benchmarks/rivals_optuna.py`, as the stores of kabc have them."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections import Counter
from pathlib import Path

import numpy as np

from benchmarks.durable.processes import all_of, start
from benchmarks.durable.seen import Seen
from kabc.storage.contract import Draw, NewTicket, Storage, Ticket
from kabc.storage.opening import open_storage

LEASE = 2.0  # seconds


def drawn(ticket: Ticket, worker: str) -> Draw:
    """A sample that tells which ticket it is of."""
    now = time.time()
    return Draw(ticket.id, ticket.lease, worker, np.array([float(ticket.id)]), now, now)


def prepared(path: Path | str, tickets: int) -> tuple[Storage, int]:
    """A study with one round of so many tickets."""
    store = open_storage(path)
    study = store.create_study("study", {}, {}).id
    store.open_round(study, 0, [NewTicket(0, piece, piece, 1) for piece in range(tickets)])
    return store, study


def _draw_all(path: Path, said: Path, then_die: bool) -> None:
    """Draw tickets one by one; each one that was acknowledged is written down."""
    store = open_storage(path)
    study = store.load_study("study").id
    with said.open("a") as file:
        leased = store.exchange(study, "worker", want=1).leased
        while leased:
            answer = store.exchange(study, "worker", [drawn(leased[0], "worker")], want=1)
            file.write(f"{leased[0].id}\n")
            file.flush()
            leased = answer.leased
    if then_die:
        os.kill(os.getpid(), signal.SIGKILL)


def torn_writes(home: Path, count: int) -> list[Seen]:
    path, rng, right, gone = home / "torn.db", random.Random(0), 0, []
    prepared(path, 40)[0].close()
    start(_draw_all, path, home / "torn.txt", True).join()  # killed: nobody tidies up its write-ahead log
    acknowledged = [int(line) for line in (home / "torn.txt").read_text().split()]
    main, log = path.read_bytes(), path.with_name("torn.db-wal").read_bytes()
    for number in range(count):
        copy = home / f"torn-{number}.db"
        copy.write_bytes(main)
        copy.with_name(copy.name + "-wal").write_bytes(log[: rng.randrange(len(log))])
        store = open_storage(copy)
        study = store.load_study("study").id
        kept = [(ticket.id, draw.rows[0]) for ticket, draw in store.draws(study, 0, 0)]
        whole = kept == [(one, float(one)) for one in acknowledged[: len(kept)]]  # the first ones, in their order
        gone.append(len(acknowledged) - len(kept))
        store.bury(study, "worker", counted=False)
        store.close()
        _draw_all(copy, home / f"torn-{number}.txt", False)
        store = open_storage(copy)
        right += whole and sorted(ticket.id for ticket, _ in store.draws(study, 0, 0)) == sorted(acknowledged)
        store.close()
    said = f"opens at a commit; goes on; draws after the tear ({min(gone)} to {max(gone)} of 40) are drawn again"
    return [Seen("torn write", "kabc, SQLite", count, right, said)]


def _lease_and_wait(path: Path, seconds: float, said: Path) -> None:
    store = open_storage(path)
    study = store.load_study("study").id
    (ticket,) = store.exchange(study, "first", want=1, seconds=LEASE).leased
    said.write_text("leased")
    time.sleep(seconds)
    answer = store.exchange(study, "first", [drawn(ticket, "first")], want=1, seconds=LEASE)
    said.write_text(f"{answer.outcomes[0]}, goes on with {len(answer.leased)} more")


def late(home: Path) -> list[Seen]:
    path, said = home / "late.db", home / "late.txt"
    store, study = prepared(path, 2)
    frozen = start(_lease_and_wait, path, 0.2, said)
    while not said.exists():
        time.sleep(0.02)
    os.kill(frozen.pid or 0, signal.SIGSTOP)
    time.sleep(LEASE + 1)
    (again,) = store.exchange(study, "second", want=1).leased
    outcome = store.exchange(study, "second", [drawn(again, "second")]).outcomes[0]
    os.kill(frozen.pid or 0, signal.SIGCONT)
    frozen.join()
    counted, kept = [draw.worker for _, draw in store.draws(study, 0, 0)], len(list(store.late_draws(study)))
    right = frozen.exitcode == 0 and outcome == "done" and counted == ["second"] and kept == 1
    told = f"is told: {said.read_text()}; its rows are kept as late"
    return [Seen("late tell", "kabc, SQLite", 1, int(right), f"the worker {told}")]


def dead_worker(home: Path) -> list[Seen]:
    path, said = home / "dead.db", home / "dead.txt"
    store, study = prepared(path, 1)
    worker = start(_lease_and_wait, path, 60.0, said)
    while not said.exists():
        time.sleep(0.02)
    worker.kill()
    worker.join()
    time.sleep(LEASE + 0.5)
    leased = store.exchange(study, "second", want=1).leased
    right = [(ticket.lease, ticket.deaths) for ticket in leased] == [(2, 1)]
    return [Seen("dead worker", "kabc, SQLite", 1, int(right), "its ticket is leased to the next who asks, as lease 2")]


def _write(path: Path, count: int, worker: str, said: Path) -> None:
    store = open_storage(path)
    study = store.load_study("study").id
    errors, done = Counter[str](), 0
    for _ in range(count):
        try:
            (ticket,) = store.exchange(study, worker, want=1).leased
            done += store.exchange(study, worker, [drawn(ticket, worker)]).outcomes == ("done",)
        except Exception as error:
            errors["locked" if "locked" in str(error) else type(error).__name__] += 1
    said.write_text(json.dumps([done, errors]))


def writers(home: Path, processes: int, each: int) -> list[Seen]:
    folder = home / "writers"
    folder.mkdir()
    store, study = prepared(folder / "study.db", processes * each)
    began = time.perf_counter()
    given = [(folder / "study.db", each, f"w{n}", folder / f"{n}.json") for n in range(processes)]
    with all_of(_write, given) as running:
        for process in running:
            process.join()
    took = time.perf_counter() - began
    said = [json.loads(file.read_text()) for file in folder.glob("*.json")]
    done, errors = sum(one[0] for one in said), sum((Counter(one[1]) for one in said), Counter[str]())
    kept = [ticket.id for ticket, _ in store.draws(study, 0, 0)]
    right = len(set(kept)) if len(kept) == len(set(kept)) == done else 0
    told = f"{dict(errors) or 'no error'}; {took:.0f} s"
    return [Seen(f"{processes} writers", "kabc, SQLite", processes * each, right, told)]
