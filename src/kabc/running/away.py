"""Tickets that are drawn on an executor, and what happens when one of its workers dies.

A pool of processes breaks as a whole: all draws under way are lost with the one that died. They are sent again, with
the same randomness, to a new pool. From then on the round is drawn one arm at a time: so the draw that kills its worker
is known, and takes no other draw with it.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from contextlib import suppress
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from kabc.core.errors import ArmError, KabcError
from kabc.core.words import counted
from kabc.storage.contract import Ticket

if TYPE_CHECKING:
    from kabc.running.shift import Shift

_POLL_SECONDS = 0.5
_MOST_DEATHS = 3  # in a row
_PATIENCE = 1.0  # seconds after which people want to know what it waits for

Piece = tuple[int, Ticket]  # its place in the order, and what is to be drawn


class Away:
    """Tickets on an executor. Arms that may not leave are drawn here; each arm by one task at a time."""

    def __init__(self, shift: Shift, tickets: Sequence[Ticket]) -> None:
        self._shift, self._sources = shift, shift.sources
        self._waiting: dict[int, deque[Ticket]] = {}  # tickets of arms that are being drawn
        self._here: deque[Ticket] = deque()
        self._idle: list[Piece] = []
        self._busy: set[int] = set()  # arms that are idle or running
        self._running: dict[Future[ArrayLike], Piece] = {}
        self._limit = self._sources.workers.limit
        self._deaths = 0  # in a row
        self._add(tickets)

    def _add(self, tickets: Sequence[Ticket]) -> None:
        for ticket in tickets:
            if not self._sources.may_leave(ticket.arm):
                self._here.append(ticket)
            elif ticket.arm in self._busy:
                self._waiting.setdefault(ticket.arm, deque()).append(ticket)
            else:
                self._busy.add(ticket.arm)
                heapq.heappush(self._idle, (ticket.place, ticket))

    def run(self) -> None:
        """Draw them all, and what comes after them."""
        try:
            while self._idle or self._running or self._here:
                self._send()
                if self._here:
                    self._shift.draw(self._here.popleft())
                timeout = 0 if self._here else _POLL_SECONDS
                finished, _ = wait(self._running, timeout=timeout, return_when=FIRST_COMPLETED)
                self._collect(finished)
                self._shift.say()
                self._add(self._shift.more(len(self._idle) + len(self._here)))
        except BaseException:
            self._settle()
            raise

    def _send(self) -> None:
        """Give the executor as much as it may have at a time."""
        while self._idle and len(self._running) < self._limit:
            executor = self._sources.workers.executor
            assert executor is not None
            try:
                task = executor.submit(self._shift.task(self._idle[0][1]))
            except BrokenExecutor as error:
                if self._running:
                    return  # the draws under way will say so
                self._after_death([], error)
            except RuntimeError as error:
                raise ArmError(f"the executor takes no more draws ({error}); pass one that is open") from error
            else:
                self._running[task] = heapq.heappop(self._idle)

    def _collect(self, finished: Iterable[Future[ArrayLike]]) -> None:
        lost: list[Piece] = []
        death: BrokenExecutor | None = None
        for future in finished:
            piece = self._running.pop(future)
            error = None if future.cancelled() else future.exception()
            if isinstance(error, BrokenExecutor):
                lost, death = [*lost, piece], error
            else:
                self._take(piece, future)
        if death is not None:
            self._after_death([*lost, *self._rest_of_the_pool()], death)

    def _take(self, piece: Piece, future: Future[ArrayLike]) -> None:
        _, ticket = piece
        self._shift.take(ticket, future.result)
        self._deaths = 0
        self._next(ticket.arm)

    def _next(self, arm: int) -> None:
        if self._waiting.get(arm):
            ticket = self._waiting[arm].popleft()
            heapq.heappush(self._idle, (ticket.place, ticket))
        else:
            self._busy.discard(arm)

    # ------------------------------------------------------------ deaths

    def _rest_of_the_pool(self) -> list[Piece]:
        """What else was lost; a draw that was finished before the pool broke is taken."""
        wait(self._running)
        lost: list[Piece] = []
        for future, piece in list(self._running.items()):
            del self._running[future]
            if not future.cancelled() and isinstance(future.exception(), BrokenExecutor):
                lost.append(piece)
            else:
                self._take(piece, future)
        return lost

    def _after_death(self, lost: list[Piece], death: BrokenExecutor) -> None:
        """Send again what was lost, or do what else was asked for."""
        workers, encode = self._sources.workers, self._sources.workers.on_loss == "encode" and len(lost) == 1
        self._deaths += 1
        for _, ticket in lost:
            if not encode:
                self._shift.lose(ticket)
        if workers.on_loss == "raise" or (self._deaths >= _MOST_DEATHS and not encode):
            raise self._died(lost) from death
        rebuilt = workers.rebuilt()
        if rebuilt is None:
            raise self._died(lost, f"{type(workers.executor).__name__} cannot be made anew; ") from death
        self._sources.workers, self._limit = rebuilt, 1
        if encode:
            self._shift.take_failed(lost[0][1])
            self._sources.n_encoded += 1
            self._next(lost[0][1].arm)
            return
        self._sources.n_redrawn += len(lost)
        for piece in lost:
            heapq.heappush(self._idle, piece)

    def _died(self, lost: list[Piece], why: str = "") -> ArmError:
        names = [self._sources.names[ticket.arm] for _, ticket in lost]
        times = "" if self._deaths == 1 else f" {counted(self._deaths, 'time')} in a row"
        hint = f"{why}was it killed, or out of memory? See on_worker_loss="
        if len(names) == 1:
            return ArmError(f"the worker that drew from it died{times}; {hint}").of_arm(names[0])
        beside = f" while these were drawn: {', '.join(map(repr, names))}" if names else ""
        return ArmError(f"a worker died{times}{beside}; {hint}")

    def _settle(self) -> None:
        """Cancel what has not begun, and count what comes of the rest: no sample is lost."""
        under_way = {future: ticket for future, (_, ticket) in self._running.items() if not future.cancel()}
        for ticket in under_way.values():
            stop = getattr(self._sources.arms[ticket.arm], "stop", None)
            if callable(stop):
                stop()
        if wait(under_way, timeout=_PATIENCE).not_done:
            self._shift.show.now("ending: waiting for draws that are under way; interrupt again to leave them")
        wait(under_way)
        for future, ticket in under_way.items():
            with suppress(KabcError):  # it is wrong, but another error is being raised already
                self._shift.take(ticket, future.result)
