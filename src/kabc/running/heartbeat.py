"""Signs of life: a thread that renews the leases of a worker while it draws.

So a slow draw never loses its lease, and a dead one always does: the thread ends with its process. A process that was
frozen hears at its first beat what it has lost meanwhile.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from types import TracebackType

from kabc.storage.contract import Storage, Ticket

_BEATS = 3  # in the time of a lease
_TRIES = 4  # for each beat, while the store does not answer
_PATIENCE = 5.0  # seconds until a store that hangs is left alone at the end


class Heartbeat:
    """Renews what a worker holds, from `with` to its end.

    Parameters
    ----------
    storage, study, worker
        Whose leases: the store, the id of the study, the name of the worker.
    seconds : float
        How long a lease lasts. It is renewed three times as often.
    say : callable, optional
        Is told in a line when the store does not answer, and when it answers again. It is called from the thread.
    """

    def __init__(
        self,
        storage: Storage,
        study: int,
        worker: str,
        seconds: float,
        say: Callable[[str], None] | None = None,
    ) -> None:
        self.worker, self.seconds = worker, seconds
        self._storage, self._study, self._say = storage, study, say
        self._lock = threading.Lock()
        self._held: dict[int, int] = {}  # ticket -> lease
        self._lost: set[int] = set()
        self._has_step = False
        self._silent = False  # the store did not answer the last time
        self._beaten = time.time()  # this clock goes on while the machine sleeps
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="kabc heartbeat", daemon=True)

    def __enter__(self) -> Heartbeat:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join(_PATIENCE)

    # ------------------------------------------------------------ what is held

    def hold(self, tickets: Iterable[Ticket]) -> None:
        """These were leased just now."""
        with self._lock:
            for ticket in tickets:
                self._held[ticket.id] = ticket.lease
                self._lost.discard(ticket.id)

    def release(self, tickets: Iterable[int]) -> None:
        """The leases of these, by their ids, are over: handed in or given back."""
        with self._lock:
            for ticket in tickets:
                self._held.pop(ticket, None)
                self._lost.discard(ticket)

    @property
    def lost(self) -> frozenset[int]:
        """Ids of tickets that are held here, but belong to somebody else by now: what they bring will not count."""
        with self._lock:
            return frozenset(self._lost)

    @property
    def has_step(self) -> bool:
        """Whether this worker does the step of the study. Set it when that begins and ends; a beat may take it away."""
        return self._has_step

    @has_step.setter
    def has_step(self, has: bool) -> None:
        with self._lock:
            self._has_step = has

    def catch_up(self) -> None:
        """Renew at once what should have been renewed long ago: the machine was asleep, or this process frozen.

        To be called before more is leased. Otherwise a worker would be given its own lapsed leases anew.
        """
        if not 0 <= time.time() - self._beaten <= self.seconds:
            self._beat()

    # ------------------------------------------------------------ the thread

    def _run(self) -> None:
        pause = self.seconds / _BEATS
        while not self._over.wait(pause / _TRIES if self._silent else pause):
            try:
                self._beat()
            except Exception as error:  # whatever a store may raise: a draw that costs money is under way
                self._tell(silent=True, line=f"the store does not answer, trying again: {error}")
            else:
                self._tell(silent=False, line="the store answers again")

    def _beat(self) -> None:
        with self._lock:
            held, had_step, began = dict(self._held), self._has_step, time.time()
        kept = self._storage.renew(self._study, self.worker, held, self.seconds)
        lost_step = had_step and not self._storage.take_step(self._study, self.worker, self.seconds)
        with self._lock:
            gone = [ticket for ticket in held if ticket not in kept]
            self._lost |= {ticket for ticket in gone if self._held.get(ticket) == held[ticket]}
            self._has_step = self._has_step and not lost_step
            self._beaten = began

    def _tell(self, *, silent: bool, line: str) -> None:
        if silent != self._silent and self._say is not None:
            self._say(line)
        self._silent = silent
