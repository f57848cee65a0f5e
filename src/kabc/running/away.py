"""Tickets that are drawn on an engine, and what happens when one of its workers dies.

Draws are sent in chunks. What was lost with a worker is sent again, with the same randomness, each draw by itself: so
the draw that kills its worker is known. A pool of processes breaks as a whole: all draws under way are lost with the
one that died. From then on the round is drawn one arm at a time, so that it takes no other draw with it.
"""

from __future__ import annotations

import heapq
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from kabc.core.errors import ArmError, KabcError
from kabc.core.words import counted, in_short
from kabc.running.engines.chunks import Answers, Pace
from kabc.storage.contract import Ticket
from kabc.study.policies import MOST_DEATHS

if TYPE_CHECKING:
    from kabc.running.shift import Shift

_POLL_SECONDS = 0.5
_MOST_TRIES = 3  # of one draw, where redraws were asked for
_PATIENCE = 1.0  # seconds after which people want to know what it waits for

Piece = tuple[int, Ticket]  # its place in the order, and what is to be drawn


class Away:
    """Tickets on an engine. Arms that may not leave are drawn here; each arm by one task at a time."""

    def __init__(self, shift: Shift, tickets: Sequence[Ticket], pace: Pace) -> None:
        self._shift, self._sources, self._pace = shift, shift.sources, pace
        self._waiting: dict[int, deque[Ticket]] = {}  # tickets of arms that are being drawn
        self._here: deque[Ticket] = deque()
        self._idle: list[Piece] = []
        self._busy: set[int] = set()  # arms that are idle or running
        self._running: dict[Future[Answers], list[Piece]] = {}
        self._alone: set[int] = set()  # tickets that are sent by themselves
        self._limit = self._sources.workers.limit
        self._deaths: Counter[int | None] = Counter()  # by ticket; None: with nothing under way
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
                self._say()
                self._add(self._shift.more(len(self._idle) + len(self._here)))
        except BaseException:
            self._settle()
            raise

    def _say(self) -> None:
        if self._deserted:
            self._shift.show("waiting for a worker: the cluster has none now")
        else:
            self._shift.say()

    @property
    def _deserted(self) -> bool:
        engine = self._sources.workers.engine
        return engine is not None and engine.deserted

    # ------------------------------------------------------------ chunks

    def _send(self) -> None:
        """Give the engine as much as it may have at a time."""
        while self._idle:
            engine = self._sources.workers.engine
            assert engine is not None
            slots = engine.slots
            if len(self._running) >= (self._limit if slots is None else min(self._limit, self._pace.chunks(slots))):
                return
            many = slots is not None and self._limit > 1
            under_way = sum(map(len, self._running.values()))
            chunk = self._next_chunk(self._pace.draws(len(self._idle), under_way, slots or 1) if many else 1)
            arms = self._sources.arms if engine.shares_memory else self._sources.dumped
            try:
                task = engine.send(arms, [self._shift.job(ticket) for _, ticket in chunk])
            except BrokenExecutor as error:
                self._again(chunk)
                if self._running:
                    return  # the draws under way will say so
                self._after_death([], error)
            else:
                self._running[task] = chunk

    def _next_chunk(self, size: int) -> list[Piece]:
        """The next draws, at most this many; one that was lost before is by itself."""
        chunk = [heapq.heappop(self._idle)]
        while self._idle and len(chunk) < size and not self._is_alone(chunk[0]) and not self._is_alone(self._idle[0]):
            chunk.append(heapq.heappop(self._idle))
        return chunk

    def _is_alone(self, piece: Piece) -> bool:
        return piece[1].id in self._alone

    def _again(self, pieces: Iterable[Piece]) -> None:
        for piece in pieces:
            heapq.heappush(self._idle, piece)

    def _collect(self, finished: Iterable[Future[Answers]]) -> None:
        lost: list[list[Piece]] = []
        death: BaseException | None = None
        for future in finished:
            pieces = self._running.pop(future)
            error = _loss(future)
            if error is None:
                self._take(pieces, future)
            else:
                lost, death = [*lost, pieces], error
        if death is None:
            return
        engine = self._sources.workers.engine
        if engine is not None and engine.falls_as_one:
            lost = [[piece for pieces in [*lost, *self._rest_of_the_pool()] for piece in pieces]]
        for pieces in lost:
            self._after_death(pieces, death)

    def _take(self, pieces: Sequence[Piece], future: Future[Answers]) -> None:
        if len(pieces) > 1 and future.exception() is not None:  # it could not be sent: one of them, nobody knows which
            self._alone |= {ticket.id for _, ticket in pieces}
            self._again(pieces)
            return
        self._deaths[None] = 0
        for place, (_, ticket) in enumerate(pieces):
            self._shift.take(ticket, partial(_rows_of, future, place))
            self._next(ticket.arm)
        self._pace.heard(len(pieces), future.result().seconds)

    def _next(self, arm: int) -> None:
        if self._waiting.get(arm):
            ticket = self._waiting[arm].popleft()
            heapq.heappush(self._idle, (ticket.place, ticket))
        else:
            self._busy.discard(arm)

    # ------------------------------------------------------------ deaths

    def _rest_of_the_pool(self) -> list[list[Piece]]:
        """What else was lost; a draw that was finished before the pool broke is taken."""
        wait(self._running)
        lost: list[list[Piece]] = []
        for future, pieces in list(self._running.items()):
            del self._running[future]
            if _loss(future) is not None:
                lost.append(pieces)
            else:
                self._take(pieces, future)
        return lost

    def _after_death(self, lost: list[Piece], death: BaseException) -> None:
        """Send again what was lost, or do what else was asked for."""
        workers, encode = self._sources.workers, self._sources.workers.on_loss == "encode" and len(lost) == 1
        tickets = [ticket for _, ticket in lost]
        which: list[int | None] = [ticket.id for ticket in tickets]
        self._deaths.update(which or [None])
        self._sources.deaths.update(ticket.arm for ticket in tickets)
        if not encode:
            for ticket in tickets:
                self._shift.lose(ticket)
        deaths = max(self._deaths[one] for one in which or [None])
        pattern = [ticket for ticket in tickets if self._sources.deaths[ticket.arm] >= MOST_DEATHS]
        if workers.on_loss is None and pattern:
            raise self._died(pattern, f"{MOST_DEATHS} workers", death) from death
        if workers.on_loss == "raise" or (deaths >= _MOST_TRIES and not encode):
            worst = [ticket for ticket in tickets if self._deaths[ticket.id] == deaths]
            who = "the worker" if deaths == 1 else f"{counted(deaths, 'worker')} in a row"
            raise self._died(worst, who, death) from death
        rebuilt = workers.rebuilt()
        if rebuilt is None:
            raise self._died(tickets, "the worker", death, f"{_name(workers.engine)} cannot be made anew; ") from death
        self._sources.workers = rebuilt
        if rebuilt.engine is not None and rebuilt.engine.falls_as_one:
            self._limit = 1
        if encode:
            self._shift.note_lost("encoded", tickets[0])
            self._shift.take_failed(tickets[0])
            self._next(tickets[0].arm)
            return
        for ticket in tickets:
            self._shift.note_lost("redrawn", ticket)
        self._alone |= {ticket.id for ticket in tickets}
        self._again(lost)

    def _died(self, tickets: Sequence[Ticket], who: str, death: BaseException, why: str = "") -> ArmError:
        """The error after deaths with draws of these tickets; `who` died."""
        hint = f"{why}killed, or out of memory? To draw again may leave out values that kill a worker: see to the cause"
        hint += ", or choose what becomes of lost draws, on_worker_loss= (docs/failures.md)"
        names = [self._sources.names[ticket.arm] for ticket in tickets]
        if len(names) == 1:
            return ArmError(f"{who} that drew from it died: {hint}").of_arm(names[0])
        beside = f" while these were drawn: {in_short([str(name) for name in names])}" if names else f" ({death})"
        return ArmError(f"{who} died{beside}: {hint}")

    def _settle(self) -> None:
        """Cancel what has not begun, and count what comes of the rest: no sample is lost."""
        under_way = {future: pieces for future, pieces in self._running.items() if not future.cancel()}
        for pieces in under_way.values():
            for _, ticket in pieces:
                stop = getattr(self._sources.arms[ticket.arm], "stop", None)
                if callable(stop):
                    stop()
        if wait(under_way, timeout=_PATIENCE).not_done:
            self._shift.show.now("ending: waiting for draws that are under way; interrupt again to leave them")
        while wait(under_way, timeout=_POLL_SECONDS).not_done and not self._deserted:
            pass
        for future, pieces in under_way.items():
            if future.done() and future.exception() is None:  # what was lost is given back
                for place, (_, ticket) in enumerate(pieces[: future.result().n_tried]):
                    with suppress(KabcError):  # it is wrong, but another error is being raised already
                        self._shift.take(ticket, partial(future.result().get, place))


def _rows_of(future: Future[Answers], place: int) -> ArrayLike:
    return future.result().get(place)


def _loss(future: Future[Answers]) -> BaseException | None:
    """How the worker of a chunk was lost; None if it was not."""
    error = None if future.cancelled() else future.exception()
    return error if isinstance(error, BrokenExecutor) else None


def _name(engine: object) -> str:
    return type(getattr(engine, "executor", engine)).__name__
