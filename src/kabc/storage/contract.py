"""What a store of studies must do, and the records that it keeps.

A study is a ledger. Rounds and their tickets are written before anything is drawn; a draw is written once; notes are
only added. Every method is one transaction: it happens whole or not at all, and what it returned survives a crash.

A ticket is one draw that a study asks for. A worker leases it: the lease has a number, and lasts until it is finished,
given back, or lapses because its worker stopped renewing it. Each new lease of a ticket has a higher number. Which
result counts is decided by this number, never by who comes first: so slow draws are not at a disadvantage. A lease
belongs to its worker: with the number of another one's, nothing is brought, renewed or ended.

A draw is looked at before it counts, in the transaction that takes it in: see `exchange`. So whatever is in the store
can be told to a strategy, and no bad draw keeps a study from going on.

Times are seconds of the store's own clock, never of a worker's.

A store that does not answer now and may do so later raises `StoreAwayError`: workers wait for it. Any other error ends
them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from numpy.typing import NDArray  # a look at a study does without numpy

Json = Mapping[str, Any]  # what json.dumps takes
StudyState = Literal["running", "paused", "ended"]
TicketState = Literal["open", "leased", "done", "failed"]
Outcome = Literal["done", "superseded", "failed"]
Scope = Literal["read", "tell", "admin"]


@dataclass(frozen=True)
class StudyRecord:
    """A study as it is kept.

    `spec` is the question and never changes. `facts` is what the first process that had the arms knew of them, written
    once. `limits` may change: the budget. `revision` grows with every change of the study, its tickets and notes;
    signs of life (renewed leases, the step) and snapshots are no change.
    """

    id: int
    name: str
    spec: Json
    state: StudyState
    created: float
    revision: int
    facts: Json | None = None
    limits: Json = field(default_factory=dict)
    answer: Json | None = None  # the result document of a study that has ended


@dataclass(frozen=True)
class NewTicket:
    """One draw of a round: `count` samples of an arm, of which `start` were asked for before."""

    arm: int
    piece: int
    start: int
    count: int


@dataclass(frozen=True)
class Ticket:
    """A ticket as it is kept. `place` is its place in the round: tickets are dealt and consumed in this order.

    `lease` is the number of its latest lease, 0 before the first one. `deaths` are the leases that lapsed: each is
    counted when the ticket is leased again, or when its worker is buried.
    """

    id: int
    round: int
    place: int
    arm: int
    piece: int
    start: int
    count: int
    state: TicketState = "open"
    lease: int = 0
    worker: str = ""
    expires: float = 0.0
    deaths: int = 0


@dataclass(frozen=True)
class Draw:
    """What a lease brought. Numbers or texts, one row for each sample."""

    ticket: int  # id
    lease: int
    worker: str
    rows: NDArray[Any]  # (count,) or (count, d)
    started: float  # seconds since 1970, at most 1e11, of the worker's clock: for people, never for decisions
    ended: float
    n_paid: int = 0  # calls that were paid for; 0: as many as samples
    late: bool = False  # its lease was not the ticket's any more, or it was discarded: kept, never used


@dataclass(frozen=True)
class Failure:
    """A lease that ended without rows: the draw failed (`final`), or the worker gives the ticket back."""

    ticket: int
    lease: int
    worker: str
    message: str
    final: bool = True


@dataclass(frozen=True)
class Note:
    """Something that happened: superseded, failed, discarded, lapsed, budget, paused, ... `body` says what."""

    id: int
    kind: str
    body: Json
    written: float


@dataclass(frozen=True)
class WorkerRecord:
    """A process that draws for a study. `facts`: host, process, what it can serve."""

    name: str
    facts: Json
    first_seen: float
    last_seen: float


@dataclass(frozen=True)
class Summary:
    """A study in figures. They are asked for often: what they cost does not grow with the tickets of a round."""

    study: StudyRecord
    n_rounds: int
    latest: int  # number of the latest round, -1 before the first one
    n_samples: int  # of draws that count
    n_paid: int
    tickets: Mapping[TicketState, int]  # of the latest round
    last_change: float


@dataclass(frozen=True)
class TokenRecord:
    """A token with which people and workers come in over HTTP. The token itself is not kept, only its SHA-256."""

    id: int
    label: str  # whose it is, for people
    scope: Scope
    digest: str  # SHA-256 of the token, in hex
    created: float
    expires: float | None  # None: never


@dataclass(frozen=True)
class Answered:
    """What became of finished leases, in their order, and the tickets that were leased next."""

    outcomes: tuple[Outcome, ...]
    leased: tuple[Ticket, ...]


class Storage(Protocol):
    """Studies by name. All methods may be called from any thread and any process."""

    @property
    def url(self) -> str:
        """Where it is, without a password."""

    # ------------------------------------------------------------ studies

    def create_study(self, name: str, spec: Json, limits: Json) -> StudyRecord:
        """A new study. Raises `StudyExistsError` if the name is taken."""

    def load_study(self, name: str) -> StudyRecord:
        """Raises `NoStudyError` if there is none of this name; it says which names are like it."""

    def study_names(self) -> list[str]:
        """All names, oldest first."""

    def delete_study(self, study: int) -> None:
        """The study with all that belongs to it."""

    def set_facts(self, study: int, facts: Json) -> StudyRecord:
        """Write the facts if there are none yet. Returns the study with the facts that count: the first ones."""

    def set_limits(self, study: int, limits: Json, note: Json) -> StudyRecord:
        """Replace the limits, with a note of kind "limits". An ended study runs again."""

    def set_state(self, study: int, state: StudyState, note: Json) -> StudyRecord:
        """Replace the state, with a note of the state's name."""

    def end(self, study: int, last_round: int, answer: Json) -> StudyRecord:
        """The rounds up to `last_round` are told, as by `open_round`, and there is an answer: the state is "ended"."""

    def summary(self, study: int) -> Summary:
        """Figures of a study."""

    def samples_per_arm(self, study: int) -> Mapping[int, int]:
        """Arm -> samples of draws that count, for arms with any, in their order."""

    # ------------------------------------------------------------ rounds and tickets

    def open_round(self, study: int, number: int, tickets: Sequence[NewTicket]) -> list[Ticket]:
        """Write the ask of a round with its tickets; the rounds before are told by this.

        If the round is there already, nothing changes. Returns the tickets that count, in their order. A number below
        the latest one that was not opened is refused. Tickets of told rounds that are not done never will be: they are
        "failed", and what is handed in for them is superseded.
        """

    def tickets(self, study: int, number: int) -> list[Ticket]:
        """The tickets of a round in their order; empty if the round was not opened."""

    def unfinished(self, study: int) -> Mapping[TicketState, Mapping[int, int]]:
        """What is left of the latest round: "open" and "leased" -> arm -> how many tickets, for arms with any."""

    def exchange(
        self,
        study: int,
        worker: str,
        finished: Sequence[Draw | Failure] = (),
        want: int = 0,
        arms: Collection[int] | None = None,
        seconds: float = 60.0,
    ) -> Answered:
        """Hand in what was drawn, and lease up to `want` tickets of these arms (None: of any) for so many seconds.

        Open tickets of the latest round and those whose lease lapsed are leased, the lowest place first; none of a
        study that is not "running". A lapsed lease that is leased anew is noted as "lapsed".

        A draw counts ("done") if its lease is still the latest one of the ticket, lapsed or not, and its worker's.
        Handing in the same draw again is "done" again, and changes nothing. Otherwise it is "superseded", also where
        the ticket is done with other rows: the draw is kept as late, with a note of kind "superseded", once.

        A draw that cannot count makes its ticket "failed", with a note "failed" that says what is wrong: it has not
        one row for each sample asked for, its times are no times, a value is missing or not finite, or columns and
        their kinds (numbers or texts) are not those of the first draw that counted. Of two first draws at once, one is
        the first. Where its lease is not the worker's, it is "superseded", and not kept.

        A failure that is final makes the ticket "failed" (a note "failed"), one that is not makes it "open" (a note
        "returned"): with both the lease is over, and rows that come later are superseded.
        """

    def reopen(self, study: int, note: Json) -> int:
        """Failed tickets of the latest round are open again, with a note of kind "reopened". Returns how many.

        Their deaths are forgotten: people have seen to the cause.
        """

    def discard(self, study: int, ticket: int, note: Json) -> Ticket:
        """A done ticket of the latest round is open again, and its rows are late, with a note of kind "discarded".

        Returns the ticket as it was. Others are refused. Whoever calls it has the step, so that nobody tells the round.
        """

    def renew(self, study: int, worker: str, held: Mapping[int, int], seconds: float) -> set[int]:
        """Renew the leases held (ticket id -> lease number), and the worker's last-seen time.

        Returns the ids of tickets whose lease is still the worker's. A lease that lapsed may be renewed as long as
        nobody else has the ticket.
        """

    def bury(self, study: int, worker: str, *, counted: bool) -> int:
        """The worker's process is known to be dead: its leases lapse now, with a note "lapsed". Returns how many did.

        `counted`: they count as deaths of their tickets. Not so where people stopped the process themselves.
        """

    def deaths(self, study: int) -> Mapping[int, int]:
        """Arm -> workers that died with tickets of it, for arms with any.

        Who dies with several tickets at once has died once.
        """

    def draws(self, study: int, first: int, last: int) -> Iterator[tuple[Ticket, Draw]]:
        """The draws that count of rounds first to last, in ticket order."""

    def late_draws(self, study: int) -> Iterator[tuple[Ticket, Draw]]:
        """The draws that do not count."""

    # ------------------------------------------------------------ the step

    def take_step(self, study: int, worker: str, seconds: float) -> bool:
        """Become, or stay, the one process that tells rounds and opens the next; False while another one is it.

        It only saves work: telling and opening twice is harmless.
        """

    def drop_step(self, study: int, worker: str) -> None:
        """Let another process take the step at once."""

    # ------------------------------------------------------------ notes, workers, snapshots

    def add_note(self, study: int, kind: str, body: Json) -> None:
        """Add a note."""

    def notes(self, study: int, after: int = 0) -> list[Note]:
        """Notes with an id above `after`, in order."""

    def register_worker(self, study: int, name: str, facts: Json) -> None:
        """A worker that is there from now on; the same name again replaces its facts."""

    def workers(self, study: int) -> list[WorkerRecord]:
        """All workers that were ever registered, in order of their first time."""

    def leases(self, study: int) -> list[Ticket]:
        """Tickets that are leased now, lapsed ones too."""

    def save_snapshot(self, study: int, number: int, content: bytes) -> None:
        """Keep a state after a round, instead of the one before. It is a cache: it may be lost."""

    def load_snapshot(self, study: int) -> tuple[int, bytes] | None:
        """The latest state and its round."""

    def drop_snapshot(self, study: int) -> None:
        """Forget the state."""

    # ------------------------------------------------------------ tokens

    def add_token(self, label: str, scope: Scope, digest: str, seconds: float | None) -> TokenRecord:
        """A new token that is good for so many seconds; None: for ever. The same digest again changes nothing."""

    def tokens(self) -> list[TokenRecord]:
        """All tokens, oldest first; also those that have expired."""

    def remove_token(self, token: int) -> bool:
        """Forget a token, by its id. False: there is none."""

    # ------------------------------------------------------------ the store itself

    def now(self) -> float:
        """The store's clock, seconds since the epoch."""

    def wait(self, study: int, revision: int, seconds: float) -> int:
        """Wait until the study's revision is above `revision`, at most so many seconds. Returns the revision."""

    def close(self) -> None:
        """End what it holds open."""
