"""What one process draws for a study: tickets are leased, drawn here or on an engine, and handed in."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext, suppress
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kabc.arms.base import Arm, go_to
from kabc.arms.failures import SpendError
from kabc.core.arrays import Array
from kabc.core.errors import ArmError, KabcError
from kabc.core.secrets import hide_words
from kabc.core.words import counted, shown
from kabc.running.away import Away
from kabc.running.engines.chunks import Job, Pace, own_rows
from kabc.running.heartbeat import Heartbeat
from kabc.running.interrupts import DRAW_FIRST, uninterrupted
from kabc.running.progress import Ticker
from kabc.running.sharing import share
from kabc.running.sources import Sources
from kabc.storage.contract import Draw, Failure, Ticket
from kabc.study.categories import Categories
from kabc.study.ledger import Ledger
from kabc.study.policies import OnWorkerLoss, fate, loss_message
from kabc.study.tickets import Streams, keys_of

LEASE_SECONDS = 60.0
_EXCHANGE_SECONDS = 0.15  # of drawing between two exchanges with a store that others share
_MOST_AT_ONCE = 500  # tickets
_SAMPLES_AT_ONCE = 4096  # of a table, about
_AT_ONCE = nullcontext()


class Shift:
    """The tickets that this process draws.

    Parameters
    ----------
    ledger : Ledger
        Of the study.
    sources : Sources
        The arms.
    show : Ticker
        Shows how far the round is.
    n_before : callable
        How many samples earlier rounds have brought.
    heart : Heartbeat, optional
        Renews the leases, where others share the store.
    on_loss : {"redraw", "encode", "raise"}, optional
        What becomes of a draw whose worker died (kabc.study.policies).
    seconds : float
        How long a lease lasts.
    block : callable, optional
        The length of the blocks that pools are cut into. It is asked before the first row of a pool is drawn.
    expect : callable, optional
        Refuses samples that cannot be used, before they are handed in.
    """

    def __init__(
        self,
        ledger: Ledger,
        sources: Sources,
        show: Ticker,
        n_before: Callable[[], int],
        heart: Heartbeat | None = None,
        on_loss: OnWorkerLoss | None = None,
        seconds: float = LEASE_SECONDS,
        block: Callable[[], int] = lambda: 1,
        expect: Callable[[NDArray[Any]], None] | None = None,
    ) -> None:
        self.sources, self.show = sources, show
        self._heart, self._on_loss, self._seconds, self._expect = heart, on_loss, seconds, expect
        self.n_samples = 0
        self.n_superseded = 0  # draws that came too late
        self.n_failed = 0  # draws that the store refused: then no more are leased
        self._block: Callable[[], int] | None = block  # None: pools are cut
        self._ledger, self._n_before = ledger, n_before
        self._finished: list[Draw | Failure] = []
        self._held: dict[int, Ticket] = {}
        self._began: dict[int, tuple[float, int]] = {}  # ticket -> when its draw began, and what was paid before
        self._exchanged = time.perf_counter()
        self._at_once = sources.workers.limit
        self._quick = 1  # tickets that take no longer than one exchange: so few are not worth sharing
        self._streams = Streams(ledger.seed, sources.facts)
        self._pace = Pace()
        self._categories = Categories(ledger.storage, ledger.study.id)
        self._drawn = [0] * len(sources)  # samples of each arm, by this process
        self._n_done = self._n_samples = 0  # of the round, by this process
        self._n_earlier = 0  # samples of earlier rounds

    def work(self) -> int:
        """Draw what can be leased now, and hand it in. Returns how many tickets that were."""
        self._n_done = self._n_samples = 0
        self._n_earlier = self._n_before()  # counts all arms: once, not for each draw
        try:
            leased = self.lease(self._wanted())
            if not leased and not self._finished:
                return 0
            if self.sources.workers.engine is None:
                while leased or self._finished:
                    for some in self._together(leased):
                        self._draw_together(some)
                        self._hand_in()
                    leased = self.lease(self._wanted())
            else:
                Away(self, leased, self._pace).run()
                self.lease(0)
        except BaseException:
            self._leave()
            raise
        return self._n_done

    # ------------------------------------------------------------ leases

    def lease(self, want: int) -> Sequence[Ticket]:
        """Hand in what is done, and lease up to so many more tickets."""
        if self._heart is not None:
            self._heart.catch_up()
        finished, self._finished = self._finished, []
        try:
            if finished and not self._ledger.private:
                self._categories.write(self.sources.facts.levels)
            want = 0 if self.n_failed else self._fair(want)
            answered = self._ledger.exchange(finished, want, self.sources.served, self._seconds)
        except BaseException:
            self._finished = finished + self._finished
            raise
        self.n_superseded += answered.outcomes.count("superseded")
        self.n_failed += answered.outcomes.count("failed")
        if self._heart is not None:
            self._heart.release(one.ticket for one in finished)
            self._heart.hold(answered.leased)
        now = time.perf_counter()
        if finished and now > self._exchanged and not self._ledger.private:  # there all are wanted at once
            rate = len(finished) / (now - self._exchanged)
            self._at_once = int(max(self.sources.workers.limit, min(_MOST_AT_ONCE, _EXCHANGE_SECONDS * rate)))
            self._quick = self._drawn_quickly(finished)
        self._exchanged = now
        self._held |= {ticket.id: ticket for ticket in answered.leased}
        if answered.leased:
            self._streams.expect(answered.leased)
        return [ticket for ticket in answered.leased if not ticket.deaths or self._draws_again(ticket)]

    def _fair(self, want: int) -> int:
        """So many, or fewer where other workers want their part of the round."""
        if self._heart is None or self._ledger.private or want <= self._quick:
            return want
        about = self._ledger.storage, self._ledger.study.id, self.sources.names, self.sources.served
        held = len(self._held)
        most = share(*about, self._seconds, held + want)
        return max(0, min(want, max(most, self._quick) - held))

    def _drawn_quickly(self, finished: Sequence[Draw | Failure]) -> int:
        """How many draws can be made between two exchanges. Draws side by side end together: each by its own time."""
        seconds = [one.ended - one.started for one in finished if isinstance(one, Draw) and one.started]
        if not seconds:
            return self._quick
        mean = max(sum(seconds) / len(seconds), 1e-6)
        return max(1, min(self._at_once, int(_EXCHANGE_SECONDS * self.sources.workers.limit / mean)))

    def _draws_again(self, ticket: Ticket) -> bool:
        """Whether to draw what a worker died of; if it is to be failed samples, it is that now."""
        deaths = self._ledger.storage.deaths(self._ledger.study.id).get(ticket.arm, 0)
        do = fate(ticket, deaths, self._on_loss)
        if do == "fail":
            raise self._failed(ticket, ArmError(loss_message(deaths)))
        note = {"round": ticket.round, "arm": ticket.arm, "ticket": ticket.id, "deaths": ticket.deaths}
        self._ledger.storage.add_note(self._ledger.study.id, "redrawn" if do == "draw" else "encoded", note)
        if do == "encode":
            self.take_failed(ticket)
        return do == "draw"

    def more(self, idle: int) -> Sequence[Ticket]:
        """Further tickets for an engine that has so few idle ones, if it is time to ask."""
        if self._ledger.private:  # all tickets of the round were leased at once
            return ()
        if idle < self.sources.workers.limit or time.perf_counter() > self._exchanged + _EXCHANGE_SECONDS:
            return self.lease(max(0, self._at_once - idle))
        return ()

    def _hand_in(self) -> None:
        """What costs time is not kept back until the last ticket of a batch is drawn."""
        if not self._ledger.private and time.perf_counter() > self._exchanged + 2 * _EXCHANGE_SECONDS:
            self.lease(0)

    def _wanted(self) -> int:
        return len(self._ledger.tickets) if self._ledger.private else self._at_once

    def _leave(self) -> None:
        """Give back what will not be drawn, and hand in what was."""
        worker = self._ledger.worker
        self._finished += [Failure(one.id, one.lease, worker, "", final=False) for one in self._held.values()]
        self._held = {}
        with suppress(KabcError):  # another error is being raised already
            self.lease(0)

    # ------------------------------------------------------------ draws

    def draw(self, ticket: Ticket) -> None:
        """Draw a ticket here, unless it belongs to somebody else by now."""
        if self._heart is not None and ticket.id in self._heart.lost:
            self._held.pop(ticket.id, None)
            self._heart.release([ticket.id])
            return
        # stopping it would leave out slow draws more often than others; a private run is over with it in any case
        first = _AT_ONCE if self._heart is None else uninterrupted(self.show, DRAW_FIRST)
        with first, self.show.during(self._line):
            arm = self._begin(ticket)
            self.take(ticket, partial(arm.draw, ticket.count, *self._streams.of(ticket)))

    def _together(self, tickets: Sequence[Ticket]) -> Iterable[Sequence[Ticket]]:
        """Tickets that are drawn at once: many if all arms are of one table and nobody else draws, else one."""
        at_once = self.sources.table is not None and self._ledger.private and self._expect is None
        return _in_batches(tickets) if at_once else ((ticket,) for ticket in tickets)

    def _draw_together(self, tickets: Sequence[Ticket]) -> None:
        """Draw some tickets here. If this fails for several at once, one of them is the cause: they are drawn alone."""
        rows: Array | None = None
        if len(tickets) > 1 and self.sources.table is not None:
            began, counts = time.time(), np.array([ticket.count for ticket in tickets])
            with self.show.during(self._line), suppress(Exception):
                rows = self.sources.table.draw(np.array([ticket.arm for ticket in tickets]), counts)
        if rows is None:
            for ticket in tickets:
                self.draw(ticket)
            return
        for ticket, end in zip(tickets, np.cumsum(counts).tolist(), strict=True):
            self._took(ticket, rows[end - ticket.count : end], began)

    def job(self, ticket: Ticket) -> Job:
        """The draw of a ticket, which begins now. It can be sent to another process; sent again, it draws the same."""
        self._begin(ticket)
        return Job(ticket.arm, ticket.count, self._ledger.seed, keys_of(ticket, self.sources.facts))

    def _begin(self, ticket: Ticket) -> Arm:
        """The arm of a ticket, at the place where its draw begins."""
        if self._block is not None and self.sources.facts.arms[ticket.arm].in_blocks:
            self.sources.cut(self._block())
            self._block = None
        arm = self.sources.arms[ticket.arm]
        if not self._ledger.private:  # otherwise nobody else draws
            go_to(arm, ticket.start, self._drawn[ticket.arm])
        self._began[ticket.id] = time.time(), getattr(arm, "n_paid", 0)
        return arm

    def take(self, ticket: Ticket, get: Callable[[], ArrayLike]) -> None:
        """Count the samples that `get` gives. Whatever goes wrong becomes an error of this arm."""
        try:
            rows = own_rows(get(), ticket.count)
            if self._expect is not None:
                self._expect(rows)
        except Exception as error:
            self.lose(ticket)
            raise self._failed(ticket, error) from (error.__cause__ if isinstance(error, KabcError) else error)
        began, paid = self._began.pop(ticket.id, (0.0, 0))
        n_paid = getattr(self.sources.arms[ticket.arm], "n_paid", paid) - paid
        self._took(ticket, rows, began, max(n_paid, 0))

    def _took(self, ticket: Ticket, rows: NDArray[Any], began: float, n_paid: int = 0) -> None:
        self._finished.append(Draw(ticket.id, ticket.lease, self._ledger.worker, rows, began, time.time(), n_paid))
        self._held.pop(ticket.id, None)
        self._drawn[ticket.arm] += ticket.count
        self._n_done += 1
        self._n_samples += ticket.count
        self.n_samples += ticket.count

    def _failed(self, ticket: Ticket, error: Exception) -> KabcError:
        """The error, of this arm; the ticket is given up, but for money that is spent: then another one may draw it."""
        name = self.sources.names[ticket.arm]
        if not isinstance(error, KabcError):
            error = ArmError(f"its draw failed: {type(error).__name__}: {error}").of_arm(name)
        elif error.arm is None:
            error = error.of_arm(name)
        final = not isinstance(error, SpendError)
        said = hide_words(shown(str(error.args[0])))  # a store holds no keys; the note has the arm
        self._finished.append(Failure(ticket.id, ticket.lease, self._ledger.worker, said, final))
        self._held.pop(ticket.id, None)
        return error

    def take_failed(self, ticket: Ticket) -> None:
        """Count the ticket as failed samples, for which the arm has a value."""
        source: Any = self.sources.arms[ticket.arm]
        self.take(ticket, lambda: source.failed(ticket.count))

    def lose(self, ticket: Ticket) -> None:
        """Count a draw that was paid for, and gave nothing."""
        self.sources.lost[ticket.arm] += ticket.count

    def say(self) -> None:
        """Show how far the round is."""
        self.show(self._line)

    def _line(self) -> str:
        tickets = self._ledger.tickets
        if not tickets:  # another process does the step, and knows the whole round
            drawn = f"{counted(self._n_done, 'draw')}, {counted(self._n_samples, 'sample')}"
            return f"drawing: {drawn} of this round so far"
        return (
            f"round {tickets[0].round}: drawing, {self._n_done} of {len(tickets)} draws done, "
            f"{counted(self._n_earlier + self._n_samples, 'sample')} so far"
        )


def _in_batches(tickets: Sequence[Ticket]) -> Iterator[list[Ticket]]:
    """Tickets, as many together as ask for some thousand samples."""
    batch: list[Ticket] = []
    n_samples = 0
    for ticket in tickets:
        batch.append(ticket)
        n_samples += ticket.count
        if n_samples >= _SAMPLES_AT_ONCE:
            yield batch
            batch, n_samples = [], 0
    if batch:
        yield batch
