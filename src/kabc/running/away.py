"""The part of a round that is drawn on an executor, and what happens when one of its workers dies.

A pool of processes breaks as a whole: all draws under way are lost with the one that died. They are sent again, with
the same randomness, to a new pool. From then on the round is drawn one arm at a time: so the draw that kills its worker
is known, and takes no other draw with it.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterable
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from contextlib import suppress
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from kabc.core.errors import ArmError, KabcError
from kabc.core.words import counted
from kabc.running.draws import Drawing

if TYPE_CHECKING:
    from kabc.running.sources import Sources

_POLL_SECONDS = 0.5
_MOST_DEATHS = 3  # in a row
_PATIENCE = 1.0  # seconds after which people want to know what it waits for

Piece = tuple[int, int]  # its place in the order, its arm


class Away:
    """One round on an executor. Arms that may not leave are drawn here; each arm by one task at a time."""

    def __init__(self, sources: Sources, drawing: Drawing) -> None:
        self._sources, self._drawing = sources, drawing
        self._waiting: dict[int, deque[int]] = {}  # arm -> places of its pieces that are still to be drawn
        self._here: deque[int] = deque()
        for place, arm in enumerate(drawing.order):
            if sources.may_leave(arm):
                self._waiting.setdefault(arm, deque()).append(place)
            else:
                self._here.append(arm)
        self._idle: list[Piece] = [(places.popleft(), arm) for arm, places in self._waiting.items()]
        heapq.heapify(self._idle)
        self._running: dict[Future[ArrayLike], Piece] = {}
        self._limit = sources.workers.limit
        self._deaths = 0  # in a row

    def run(self) -> None:
        """Draw all pieces."""
        try:
            while self._idle or self._running or self._here:
                self._send()
                if self._here:
                    self._drawing.draw(self._here.popleft())
                timeout = 0 if self._here else _POLL_SECONDS
                finished, _ = wait(self._running, timeout=timeout, return_when=FIRST_COMPLETED)
                self._collect(finished)
                self._drawing.say()
        except BaseException:
            self._settle()
            raise

    def _send(self) -> None:
        """Give the executor as much as it may have at a time."""
        while self._idle and len(self._running) < self._limit:
            executor = self._sources.workers.executor
            assert executor is not None
            try:
                task = executor.submit(self._drawing.task(self._idle[0][1]))
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
        _, arm = piece
        self._drawing.take(arm, future.result)
        self._deaths = 0
        self._next(arm)

    def _next(self, arm: int) -> None:
        if self._waiting[arm]:
            heapq.heappush(self._idle, (self._waiting[arm].popleft(), arm))

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
        for _, arm in lost:
            if not encode:
                self._drawing.lose(arm)
        if workers.on_loss == "raise" or (self._deaths >= _MOST_DEATHS and not encode):
            raise self._died(lost) from death
        rebuilt = workers.rebuilt()
        if rebuilt is None:
            raise self._died(lost, f"{type(workers.executor).__name__} cannot be made anew; ") from death
        self._sources.workers, self._limit = rebuilt, 1
        if encode:
            self._drawing.take_failed(lost[0][1])
            self._sources.n_encoded += 1
            self._next(lost[0][1])
            return
        self._sources.n_redrawn += len(lost)
        for piece in lost:
            heapq.heappush(self._idle, piece)

    def _died(self, lost: list[Piece], why: str = "") -> ArmError:
        names = [self._sources.names[arm] for _, arm in lost]
        times = "" if self._deaths == 1 else f" {counted(self._deaths, 'time')} in a row"
        hint = f"{why}was it killed, or out of memory? See on_worker_loss="
        if len(names) == 1:
            return ArmError(f"the worker that drew from it died{times}; {hint}").of_arm(names[0])
        beside = f" while these were drawn: {', '.join(map(repr, names))}" if names else ""
        return ArmError(f"a worker died{times}{beside}; {hint}")

    def _settle(self) -> None:
        """Cancel what has not begun, and count what comes of the rest: no sample is lost."""
        under_way = {future: arm for future, (_, arm) in self._running.items() if not future.cancel()}
        for arm in under_way.values():
            stop = getattr(self._sources.arms[arm], "stop", None)
            if callable(stop):
                stop()
        if wait(under_way, timeout=_PATIENCE).not_done:
            self._drawing.show.now("ending: waiting for draws that are under way; interrupt again to leave them")
        wait(under_way)
        for future, arm in under_way.items():
            with suppress(KabcError):  # it is wrong, but another error is being raised already
                self._drawing.take(arm, future.result)
