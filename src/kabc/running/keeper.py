"""Snapshots of a study: a cache in its store, so that a run goes on without replaying all rounds.

Without a snapshot, or with one that does not fit, all rounds are replayed: only time is lost. Samples are in the store
already, so a snapshot only names them. What else it holds may be large too, so room is weighed against time: see
`worth_it`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import groupby

import numpy as np

from kabc.running.script import Rounds
from kabc.storage.contract import Storage, StudyRecord
from kabc.storage.errors import StorageError
from kabc.study.freeze import NotFrozenError, digest_of, freeze, thaw

SECONDS = 5.0  # of computing between two snapshots, at least
SMALL = 8_000_000  # bytes: a snapshot with fewer is kept in any case
ROOM = 0.5  # of the bytes of all samples: a larger snapshot with more is kept only where replaying takes long
LONG = 600.0  # seconds of computing
_SHARE = 0.05  # of the time for computing that may go into snapshots


def worth_it(n_bytes: int, sample_bytes: int, seconds: float) -> bool:
    """Whether to keep a snapshot of so many bytes that saves so many seconds."""
    return n_bytes <= max(SMALL, ROOM * sample_bytes) or seconds >= LONG


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
        self._known: set[str] = set()  # digests of the samples of all rounds up to `_known_to`
        self._known_to = -1
        self._sample_bytes = 0  # of these rounds

    def restore(self, rounds: Rounds) -> bool:
        """Take up the latest state, if its round is in the log; False: all rounds are to be replayed."""
        try:
            kept = self._storage.load_snapshot(self._study.id)
            state = None if kept is None else thaw(kept[1], self._mark, self._samples(0, kept[0]))
        except StorageError:  # damaged, or made up
            return False
        finally:
            self._sample_bytes = 0
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
        with suppress(StorageError):  # it is a cache
            try:
                self._known |= {digest_of(one) for one in self._samples(self._known_to + 1, number)}
                self._known_to = number
                content = freeze(rounds.state(number), self._mark, self._known)
            except NotFrozenError:  # it holds a function, or is too large
                self._can = False
                return
            if worth_it(len(content), self._sample_bytes, self._total):
                self._storage.save_snapshot(self._study.id, number, content)
        self._computed, self._cost = 0.0, time.perf_counter() - started

    def _samples(self, first: int, last: int) -> Iterator[bytes]:
        """What arrays of samples hold: the rows of each draw of these rounds, and of each round as a whole."""
        draws = self._storage.draws(self._study.id, first, last)
        for _, some in groupby(draws, key=lambda found: found[0].round):
            rows = [draw.rows for _, draw in some]
            self._sample_bytes += sum(one.nbytes for one in rows)
            yield from (one.tobytes() for one in rows)
            if all(one.dtype.kind in "biuf" for one in rows):
                yield np.concatenate([np.asarray(one, dtype=np.float64).ravel() for one in rows]).tobytes()
