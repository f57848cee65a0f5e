"""Snapshots of a run: a cache in its store, so that a study goes on without replaying all of its rounds.

Without a snapshot, or with one that does not fit, all rounds are replayed: only time is lost.
"""

from __future__ import annotations

import json
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from kabc.storage.contract import Storage, StudyRecord
from kabc.storage.errors import StorageError
from kabc.study.freeze import NotFrozenError, freeze, thaw

if TYPE_CHECKING:
    from kabc.running.script import Rounds

_SECONDS = 10.0  # of computing between two snapshots, at least
_SHARE = 0.05  # of the time for computing that may go into snapshots


class Keeper:
    """Keeps the state of the rounds of one study from time to time, and takes it up again.

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
        # a raised budget may change what a strategy is made with
        self._mark = f"{study.id} {fingerprint} {json.dumps(dict(study.limits), sort_keys=True)}"
        self._computed = self._cost = 0.0  # seconds since the last snapshot, and what it took
        self._can = True

    def restore(self, rounds: Rounds) -> bool:
        """Take up the latest state, if its rounds are in the log; False: all rounds are to be replayed."""
        try:
            kept = self._storage.load_snapshot(self._study.id)
            state = None if kept is None else thaw(kept[1], self._mark)
        except StorageError:  # damaged, or made up
            return False
        if kept is None or state is None:
            return False
        tickets = self._storage.tickets(self._study.id, kept[0])
        return bool(tickets) and all(one.state == "done" for one in tickets) and rounds.take_up(state, kept[0])

    def told(self, rounds: Rounds, seconds: float) -> None:
        """A round was told, which took so long: keep the state if much would have to be computed again."""
        self._computed += seconds
        if not self._can or self._computed < max(_SECONDS, self._cost / _SHARE):
            return
        started = time.perf_counter()
        try:
            content = freeze(rounds.state(), self._mark)
        except NotFrozenError:  # it holds a function of the user, or is too large
            self._can = False
            return
        with suppress(StorageError):  # a cache
            self._storage.save_snapshot(self._study.id, rounds.number, content)
        self._computed, self._cost = 0.0, time.perf_counter() - started
