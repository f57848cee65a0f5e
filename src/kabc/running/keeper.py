"""Snapshots of a study: a cache in its store, so that a run goes on without replaying all rounds.

Without a snapshot, or with one that does not fit, all rounds are replayed: only time is lost. Strategies that keep all
samples have snapshots that are larger than these, so room is weighed against time: see `worth_it`.
"""

from __future__ import annotations

import time
from contextlib import suppress

from kabc.running.script import Rounds
from kabc.storage.contract import Storage, StudyRecord
from kabc.storage.errors import StorageError
from kabc.study.freeze import NotFrozenError, freeze, thaw

SECONDS = 5.0  # of computing between two snapshots, at least
ROOM = 0.5  # of the bytes of all samples: a snapshot with more is kept only where replaying takes long
LONG = 600.0  # seconds of computing
_SHARE = 0.05  # of the time for computing that may go into snapshots


def worth_it(n_bytes: int, sample_bytes: int, seconds: float) -> bool:
    """Whether to keep a snapshot of so many bytes that saves so many seconds."""
    return n_bytes <= ROOM * sample_bytes or seconds >= LONG


class Keeper:
    """Keeps the state of one study from time to time, and takes it up again.

    Parameters
    ----------
    storage : Storage
        Where the study is kept.
    study : StudyRecord
        The study.
    fingerprint : str
        Of its question.
    """

    def __init__(self, storage: Storage, study: StudyRecord, fingerprint: str) -> None:
        self._storage, self._study = storage, study
        self._mark = f"{study.id} {fingerprint}"
        self._computed = self._cost = 0.0  # seconds since the last snapshot, and what that one took
        self._total = 0.0  # seconds of computing in this process
        self._can = True

    def restore(self, rounds: Rounds) -> bool:
        """Take up the latest state, if its round is in the log; False: all rounds are to be replayed."""
        try:
            kept = self._storage.load_snapshot(self._study.id)
            state = None if kept is None else thaw(kept[1], self._mark)
        except StorageError:  # damaged, or made up
            return False
        if kept is None or not isinstance(state, dict) or state.get("number") != kept[0]:
            return False
        tickets = self._storage.tickets(self._study.id, kept[0])
        if not tickets or any(ticket.state != "done" for ticket in tickets):
            return False
        rounds.take_up(state)
        return True

    def told(self, rounds: Rounds, number: int, seconds: float) -> None:
        """A round was told, which took so long: keep the state if much would have to be computed again."""
        self._computed += seconds
        self._total += seconds
        due = self._computed >= max(SECONDS, self._cost / _SHARE)
        if not due or not self._can or rounds.strategy is None:
            return
        started = time.perf_counter()
        try:
            content = freeze(rounds.state(number), self._mark)
        except NotFrozenError:  # it holds a function, or is too large
            self._can = False
            return
        with suppress(StorageError):  # it is a cache
            draws = self._storage.draws(self._study.id, 0, number)
            if worth_it(len(content), sum(draw.rows.nbytes for _, draw in draws), self._total):
                self._storage.save_snapshot(self._study.id, number, content)
        self._computed, self._cost = 0.0, time.perf_counter() - started
