"""How many draws a second go through a store: ours, and Optuna's."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import optuna.storages

from benchmarks.durable import theirs as rival
from benchmarks.durable.processes import LOADED, all_of, context
from kabc.storage.contract import Draw, NewTicket, Storage
from kabc.storage.opening import open_storage

LOADED.append(__name__)
ROUND = 2_000  # tickets
MOST = 64  # tickets leased at once


def counted(job: Callable[..., None], place: str, workers: int, draw: float, seconds: float, *more: Any) -> float:
    """Draws per second of so many processes, from the moment when the last one is ready."""
    made = context()
    begin, end = made.Event(), made.Event()
    ready, done = made.Semaphore(0), made.Value("q", 0)
    with all_of(job, [(place, f"w{n}", draw, ready, begin, end, done, *more) for n in range(workers)]) as processes:
        for _ in range(workers):
            if not ready.acquire(timeout=120):
                raise RuntimeError("a worker did not start")
        began = time.perf_counter()
        begin.set()
        time.sleep(seconds)
        count, took = done.value, time.perf_counter() - began
        end.set()
        for process in processes:
            process.join()
    return float(count / took)


# ------------------------------------------------------------ kabc


def ours(place: str, workers: int, draw: float, seconds: float, aim: float) -> float:
    store = open_storage(place)
    _open(store, store.create_study("study", {}, {}).id, 0)
    store.close()
    return counted(_tickets, place, workers, draw, seconds, aim)


def _open(store: Storage, study: int, number: int) -> None:
    store.open_round(study, number, [NewTicket(0, piece, number * ROUND + piece, 1) for piece in range(ROUND)])


def _tickets(place: str, worker: str, draw: float, ready: Any, begin: Event, end: Event, done: Any, aim: float) -> None:
    store = open_storage(place)
    study, number, size = store.load_study("study").id, 0, 1
    ready.release()
    begin.wait()
    finished: list[Draw] = []
    while not end.is_set():
        leased = store.exchange(study, worker, finished, want=size).leased
        with done.get_lock():
            done.value += len(finished)
        if not leased:  # the last ones of the round are with other workers
            finished, revision = [], store.load_study("study").revision
            if all(ticket.state == "done" for ticket in store.tickets(study, number)):
                number += 1
                _open(store, study, number)
            else:
                store.wait(study, revision, 0.5)
            continue
        number, began = max(number, leased[0].round), time.time()
        finished = []
        for ticket in leased:
            if draw:
                time.sleep(draw)
            finished.append(Draw(ticket.id, ticket.lease, worker, np.array([1.0]), began, time.time()))
        if aim:
            size = max(1, min(MOST, int(aim / max(draw, 1e-6))))
    store.close()


# ------------------------------------------------------------ Optuna


def _storage(place: str) -> optuna.storages.BaseStorage:
    if place.endswith(".log"):
        return rival.journal(Path(place))
    if place.startswith("postgresql:"):
        return optuna.storages.RDBStorage(place.replace("postgresql:", "postgresql+psycopg:"))
    return rival.sql(Path(place))


def theirs(place: str, workers: int, draw: float, seconds: float) -> float:
    if place.endswith(".db"):
        rival.wal(Path(place))
    rival.opened(_storage(place))
    return counted(_trials, place, workers, draw, seconds)


def _trials(place: str, worker: str, draw: float, ready: Any, begin: Event, end: Event, done: Any) -> None:
    study = rival.opened(_storage(place))
    ready.release()
    begin.wait()
    while not end.is_set():
        with suppress(optuna.exceptions.StorageInternalError):  # a lock error: the next trial
            trial = study.ask()
            value = trial.suggest_float("x", 0, 1)
            if draw:
                time.sleep(draw)
            study.tell(trial, value)
            with done.get_lock():
                done.value += 1
