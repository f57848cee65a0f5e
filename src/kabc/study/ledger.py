"""One study in a store, as a script sees it: its rounds in order, each with the rows that count.

A script asks for rounds; a ledger opens them and gives their rows once all tickets are done, whoever drew them. Rounds
that are in the log already are read many at a time: so a study that goes on is the same script run again. Where the log
asks for something else than the script, the log rules, and a note says so.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from kabc.storage.contract import Answered, Draw, Failure, Json, Storage, StudyRecord, Ticket
from kabc.study.facts import Facts
from kabc.study.tickets import tickets_of

Rows = NDArray[Any]  # (count,) or (count, d)

_ROUNDS_AT_ONCE = 100  # read from the log


class Ledger:
    """The rounds of a study.

    Parameters
    ----------
    storage : Storage
        Where the study is kept.
    study : StudyRecord
        The study.
    facts : Facts
        Of its arms.
    seed : int
        Of the study.
    worker : str
        The name of this process.
    only_read : bool
        Whether nothing is written: a round that is not in the log is not opened.
    leave_out : collection of (int, int), default ()
        Tickets and leases whose draws are taken as not drawn.
    """

    private = False  # whether no other process can have a part in it: then what was handed in here is all there is

    def __init__(
        self,
        storage: Storage,
        study: StudyRecord,
        facts: Facts,
        seed: int,
        worker: str,
        *,
        only_read: bool = False,
        leave_out: Collection[tuple[int, int]] = (),
    ) -> None:
        self._leave_out = frozenset(leave_out)
        self.storage, self.study, self.facts, self.seed = storage, study, facts, seed
        self.worker, self._only_read = worker, only_read
        self.tickets: Sequence[Ticket] = ()  # of the open round
        self.replayed = False  # whether the last round was in the log
        self._number: int | None = None  # of the open round
        self._missing: set[int] = set()  # tickets of it that are not done, as far as is known here
        self._rows: dict[int, Rows] = {}  # of its tickets, where they are known here
        self._leases: dict[int, int] = {}  # that brought these rows: a ticket may be discarded, and drawn again
        self._log: dict[int, list[tuple[Ticket, Draw]]] = {}  # whole rounds that were read, and not asked for yet
        self._log_ends = False  # whether no more whole rounds are in the log

    # ------------------------------------------------------------ rounds

    def round(
        self, number: int, request: Mapping[int, int], before: Sequence[int]
    ) -> dict[int, list[Rows]] | None:  # arm -> rows of its pieces
        """The rows of a round, arm by arm, pieces in order; None as long as tickets are not done.

        `before`: samples of each arm that were asked for before.
        """
        if number != self._number:
            logged = self._logged(number)
            if logged is not None:
                self.replayed = True
                self._compare([ticket for ticket, _ in logged], number, request)
                return by_arm(request, [(ticket, draw.rows) for ticket, draw in logged])
            if not self._open(number, request, before):
                return None
        if self._missing:
            self._look()
        if self._missing:
            return None
        whole = by_arm(request, self._whole())
        self.tickets, self._rows = (), {}  # they are the script's now
        return whole

    def _open(self, number: int, request: Mapping[int, int], before: Sequence[int]) -> bool:
        """Open the round. False: it is not there, and nothing is written."""
        if self._only_read:
            self.tickets = self.storage.tickets(self.study.id, number)
            if not self.tickets:
                return False
        else:
            planned = tickets_of(request, number, self.seed, self.facts, before)
            self.tickets = self.storage.open_round(self.study.id, number, planned)
        self._number, self._rows, self._leases = number, {}, {}
        self._missing = self._not_done()
        self.replayed = False
        self._compare(self.tickets, number, request)
        return True

    def _look(self) -> None:
        """Look which tickets others have done. They are read only once the round is whole: there may be many."""
        assert self._number is not None
        seen = self.storage.summary(self.study.id)
        if seen.latest == self._number and seen.tickets.get("done", 0) < len(self.tickets):
            return
        self.tickets = self.storage.tickets(self.study.id, self._number)
        self._missing = self._not_done()
        now = {(ticket.id, ticket.lease) for ticket in self.tickets}
        self._rows = {one: rows for one, rows in self._rows.items() if (one, self._leases.get(one)) in now}

    def _not_done(self) -> set[int]:
        return {one.id for one in self.tickets if one.state != "done" or (one.id, one.lease) in self._leave_out}

    def _whole(self) -> list[tuple[Ticket, Rows]]:
        """All tickets with their rows; those that others drew are read."""
        assert self._number is not None
        if any(ticket.id not in self._rows for ticket in self.tickets):
            found = self.storage.draws(self.study.id, self._number, self._number)
            self._rows |= {ticket.id: draw.rows for ticket, draw in found if ticket.id not in self._rows}
        return [(ticket, self._rows[ticket.id]) for ticket in self.tickets]

    def part(self) -> dict[int, list[Rows]]:  # arm -> rows of its pieces
        """What there is of the open round, so far."""
        if self._number is None or not self.tickets:
            return {}
        found = self.storage.draws(self.study.id, self._number, self._number)
        good = ((ticket.id, draw.rows) for ticket, draw in found if (ticket.id, ticket.lease) not in self._leave_out)
        self._rows |= {one: rows for one, rows in good if one not in self._rows}
        done = [(ticket, self._rows[ticket.id]) for ticket in self.tickets if ticket.id in self._rows]
        return by_arm({ticket.arm: 0 for ticket, _ in done}, done)

    # ------------------------------------------------------------ the log

    def _logged(self, number: int) -> list[tuple[Ticket, Draw]] | None:
        """A round of the log that is known to be whole, because a later one was opened."""
        if number not in self._log and not self._log_ends:
            found: dict[int, list[tuple[Ticket, Draw]]] = {}
            for ticket, draw in self.storage.draws(self.study.id, number, number + _ROUNDS_AT_ONCE):
                found.setdefault(ticket.round, []).append((ticket, draw))
            found.pop(max(found, default=number), None)  # it may be open
            self._log, self._log_ends = found, not found
        return self._log.pop(number, None)

    def _compare(self, logged: Sequence[Ticket], number: int, request: Mapping[int, int]) -> None:
        """Note where the log asks for something else than the script does now: the log rules."""
        asked: dict[int, int] = {}
        for ticket in logged:
            asked[ticket.arm] = asked.get(ticket.arm, 0) + ticket.count
        if asked == dict(request) or self._only_read:
            return
        known = {note.body.get("round") for note in self.storage.notes(self.study.id) if note.kind == "differs"}
        if number not in known:
            both = {"logged": _texts(asked), "computed": _texts(request)}
            self.storage.add_note(self.study.id, "differs", {"round": number, "worker": self.worker, **both})

    def noted(self, kind: str) -> Json | None:
        """The body of the first note of a kind."""
        return next((note.body for note in self.storage.notes(self.study.id) if note.kind == kind), None)

    def note(self, kind: str, body: Json) -> None:
        """Add a note that other processes will go by."""
        if not self._only_read:
            self.storage.add_note(self.study.id, kind, body)

    @property
    def n_lost(self) -> int:
        """Calls that were paid for without a sample to show, of draws that count."""
        found = self.storage.summary(self.study.id)
        return found.n_paid - found.n_samples

    # ------------------------------------------------------------ leases

    def exchange(
        self,
        finished: Sequence[Draw | Failure] = (),
        want: int = 0,
        arms: Collection[int] | None = None,
        seconds: float = 60.0,
    ) -> Answered:
        """Hand in what was drawn, and lease tickets. Rows that count are remembered until their round is told."""
        answered = self.storage.exchange(self.study.id, self.worker, finished, want, arms, seconds)
        for one, outcome in zip(finished, answered.outcomes, strict=True):
            if outcome == "done" and isinstance(one, Draw) and one.ticket in self._missing:
                self._missing.discard(one.ticket)
                self._rows[one.ticket], self._leases[one.ticket] = one.rows, one.lease
        return answered


def by_arm(request: Mapping[int, int], drawn: Sequence[tuple[Ticket, Rows]]) -> dict[int, list[Rows]]:
    """The rows of each arm in the order of their pieces; arms in the order of the request."""
    if len(drawn) == len(request):  # one ticket for each arm
        rows = {ticket.arm: [one] for ticket, one in drawn}
        return {arm: rows[arm] for arm in request if arm in rows} | rows
    found: dict[int, list[Rows]] = {arm: [] for arm in request}
    for ticket, one in sorted(drawn, key=lambda pair: pair[0].piece):
        found.setdefault(ticket.arm, []).append(one)
    return found


def _texts(request: Mapping[int, int]) -> dict[str, int]:
    """The request with keys as JSON has them."""
    return {str(arm): count for arm, count in sorted(request.items())}
