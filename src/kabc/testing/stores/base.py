"""What the tests of a store share: a store, a study in it, workers that lease and hand in."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kabc.storage.contract import Draw, Failure, Json, NewTicket, Note, Outcome, Storage, Ticket
from kabc.storage.errors import StorageError

LONG = 60.0  # seconds of a lease that does not lapse during a test
LAPSED = 0.0  # seconds of a lease that has lapsed when the call returns


class StoreTests(ABC):
    """A store that is made anew for each test."""

    @abstractmethod
    def make_storage(self) -> Storage:
        """A new, empty store."""

    def again(self, store: Storage) -> Storage:
        """The same store, as another process sees it. Default: the object itself."""
        return store

    # ------------------------------------------------------------ for the tests

    def study(self, store: Storage, name: str = "nightly") -> int:
        """The id of a new study."""
        return store.create_study(name, {"seed": 7}, {"max_samples": 100}).id

    def one_round(self, store: Storage, arms: int = 3, count: int = 4) -> tuple[int, list[Ticket]]:
        """A study with its first round: one ticket for each arm."""
        study = self.study(store)
        return study, store.open_round(study, 0, tickets(arms, count))

    def lease(
        self, store: Storage, study: int, worker: str = "ann", want: int = 1, seconds: float = LONG
    ) -> list[Ticket]:
        """What the worker is given."""
        return list(store.exchange(study, worker, want=want, seconds=seconds).leased)

    def hand_in(self, store: Storage, study: int, *finished: Draw | Failure) -> tuple[Outcome, ...]:
        """What becomes of it."""
        return store.exchange(study, finished[0].worker, finished).outcomes

    def kinds(self, store: Storage, study: int) -> list[str]:
        """The kinds of all notes."""
        return [note.kind for note in store.notes(study)]

    def note(self, store: Storage, study: int, kind: str) -> Note:
        """The only note of a kind."""
        (found,) = [note for note in store.notes(study) if note.kind == kind]
        return found


def tickets(arms: int = 3, count: int = 4, start: int = 0) -> list[NewTicket]:
    """One ticket for each arm."""
    return [NewTicket(arm, 0, start, count) for arm in range(arms)]


def drawn(ticket: Ticket, worker: str = "", value: float = 1.0, n_paid: int = 0) -> Draw:
    """Samples for a ticket: a pattern of its arm, its start and a value."""
    rows = np.arange(ticket.count) + ticket.start + 100 * ticket.arm + value / 10
    return Draw(ticket.id, ticket.lease, worker or ticket.worker, rows, 1.0, 2.0, n_paid)


def drawn_rows(rows: NDArray[Any]) -> Callable[[Ticket], Draw]:
    """Makes the draw of a ticket that has these rows."""
    return lambda ticket: Draw(ticket.id, ticket.lease, ticket.worker, rows, 1.0, 2.0)


def failed(ticket: Ticket, message: str = "the line is dead", *, final: bool = True) -> Failure:
    """A lease that ended without rows."""
    return Failure(ticket.id, ticket.lease, ticket.worker, message, final)


def refused(call: Callable[[], object], kind: type[StorageError] = StorageError) -> str:
    """The message with which a call is refused: one line."""
    message = ""
    try:
        call()
    except kind as error:
        message = str(error)
    assert message, "it was not refused"
    assert "\n" not in message
    return message


def ids(some: Sequence[Ticket]) -> list[int]:
    """Their ids."""
    return [ticket.id for ticket in some]


EMPTY: Json = {}
