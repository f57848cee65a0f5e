"""The ledger of a run that nobody else knows of: no other process draws for it, and nothing is kept of it.

So its tickets need no store: those of a round are leased once, all to this process, and what it hands in counts.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from kabc.core.samples import expect_count
from kabc.storage.contract import Answered, Draw, Failure, Json, Outcome, Ticket
from kabc.storage.memory import MemoryStorage
from kabc.study.facts import Facts
from kabc.study.ledger import Ledger, Rows, by_arm
from kabc.study.tickets import tickets_of

_WORKER = "run"


class PrivateLedger(Ledger):
    """The rounds of a private run. The rows of a round are forgotten once it was told.

    Parameters
    ----------
    facts : Facts
        Of its arms.
    seed : int
        Of the run.
    """

    private = True

    def __init__(self, facts: Facts, seed: int) -> None:
        storage = MemoryStorage()
        super().__init__(storage, storage.create_study("run", {}, {}), facts, seed, _WORKER)
        self._waiting: list[Ticket] = []  # of the round, not leased yet or given back
        self._n_tickets = 0

    def round(
        self, number: int, request: Mapping[int, int], before: Sequence[int]
    ) -> dict[int, list[Rows]] | None:  # arm -> rows of its pieces
        if number != self._number:
            self._begin(number, request, before)
        if len(self._rows) < len(self.tickets):
            return None
        whole = by_arm(request, [(ticket, self._rows[ticket.id]) for ticket in self.tickets])
        self.tickets, self._rows = (), {}  # they are the script's now
        return whole

    def _begin(self, number: int, request: Mapping[int, int], before: Sequence[int]) -> None:
        planned, first = tickets_of(request, number, self.seed, self.facts, before), self._n_tickets + 1
        self.tickets = [
            Ticket(first + place, number, place, one.arm, one.piece, one.start, one.count, "leased", 1, _WORKER)
            for place, one in enumerate(planned)
        ]
        self._n_tickets += len(planned)
        self._number, self._rows, self._waiting = number, {}, list(self.tickets)

    def part(self) -> dict[int, list[Rows]]:  # arm -> rows of its pieces
        done = [(ticket, self._rows[ticket.id]) for ticket in self.tickets if ticket.id in self._rows]
        return by_arm({ticket.arm: 0 for ticket, _ in done}, done)

    def noted(self, kind: str) -> Json | None:
        return None

    def note(self, kind: str, body: Json) -> None:
        """Nobody else will go by it."""

    def exchange(
        self,
        finished: Sequence[Draw | Failure] = (),
        want: int = 0,
        arms: Collection[int] | None = None,
        seconds: float = 60.0,
    ) -> Answered:
        if finished:
            here = {ticket.id: ticket for ticket in self.tickets}
            for one in finished:
                ticket = here[one.ticket]
                if isinstance(one, Draw):
                    expect_count(one.rows, ticket.count)
                    self._rows[ticket.id] = one.rows
                elif not one.final:
                    self._waiting.append(ticket)
        leased, self._waiting = self._waiting[:want], self._waiting[want:]
        done: Outcome = "done"
        return Answered((done,) * len(finished), tuple(leased))
