"""The tables of a store. `migrations/` makes them; a test holds the two equal.

States of tickets are numbers, so that one small index holds those that are not finished. A draw that counts has its
ticket's id: no other index is needed. Workers are rows, and draws point to them: a name of 25 letters beside every draw
of one sample would be half of the file.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    literal_column,
)

from kabc.storage.contract import TicketState

OPEN, LEASED, DONE, FAILED = range(4)
STATES: tuple[TicketState, ...] = ("open", "leased", "done", "failed")

_Id = BigInteger().with_variant(Integer, "sqlite")  # SQLite counts up only integers of this name
_Double = Float(53)
metadata = MetaData()


def _id() -> Column[Any]:
    return Column("id", _Id, primary_key=True, autoincrement=True)


def _of(table: str, name: str, **options: Any) -> Column[Any]:
    return Column(name, _Id, ForeignKey(f"kabc_{table}.id", ondelete="CASCADE"), nullable=False, **options)


def _number(name: str) -> Column[Any]:
    return Column(name, _Id, nullable=False)


def _time(name: str) -> Column[Any]:
    return Column(name, _Double, nullable=False)


def _words(name: str, *, nullable: bool = False) -> Column[Any]:
    return Column(name, Text, nullable=nullable)


# Ids are never used again: a worker of a deleted study must not meet another one.
_ONCE: dict[str, Any] = {"sqlite_autoincrement": True}

studies = Table(
    "kabc_studies",
    metadata,
    _id(),
    Column("name", Text, nullable=False, unique=True),
    _words("spec"),
    _words("state"),
    _time("created"),
    _number("revision"),  # changes by workers are counted beside it, in their own rows
    _time("changed"),
    _words("facts", nullable=True),
    _words("limits"),
    _words("answer", nullable=True),
    _number("n_rounds"),
    _number("latest"),  # number of the latest round, -1 before the first one
    _number("counted"),  # rounds up to this number are in the totals
    _words("step_worker"),
    _time("step_expires"),
    _words("token"),  # of the call that wrote it: a call that is repeated knows its own work
    **_ONCE,
)

rounds = Table(
    "kabc_rounds",
    metadata,
    _of("studies", "study", primary_key=True),
    Column("number", _Id, primary_key=True),
    _time("opened"),
)

workers = Table(
    "kabc_workers",
    metadata,
    _id(),
    _of("studies", "study"),
    _words("name"),
    _words("facts", nullable=True),  # null: it never registered
    _time("first_seen"),
    _time("last_seen"),
    _number("changes"),  # of the study, made by this worker: each has its own row to count in, so none waits
    _time("changed"),
    _number("round"),  # the latest one that it handed in for, -1 before the first one; with what it handed in for it:
    _number("n_done"),  # tickets
    _number("n_samples"),
    _number("n_paid"),
    UniqueConstraint("study", "name", name="kabc_workers_name"),
    **_ONCE,
)

tickets = Table(
    "kabc_tickets",
    metadata,
    _id(),
    _of("studies", "study"),
    _number("round"),
    _number("place"),
    _number("arm"),
    _number("piece"),
    _number("start"),
    _number("count"),
    _number("state"),
    _number("lease"),
    Column("worker", _Id, nullable=True),
    _time("expires"),
    _number("deaths"),
    _number("n_paid"),
    _words("token", nullable=True),
    UniqueConstraint("study", "round", "place", name="kabc_tickets_place"),
    **_ONCE,
)
# as it stands in the index: SQLite uses it only where a query says the same
UNFINISHED = tickets.c.state < literal_column("2")
# in PostgreSQL the indices have the same conditions (migrations): to say so here would load its dialect for SQLite too
Index("kabc_tickets_unfinished", tickets.c.study, tickets.c.round, tickets.c.place, sqlite_where=UNFINISHED)
DEADLY = tickets.c.deaths > literal_column("0")
Index("kabc_tickets_deaths", tickets.c.study, tickets.c.arm, sqlite_where=DEADLY)
APART = tickets.c.state.in_(
    [literal_column("1"), literal_column("3")]
)  # leased or failed: few, however long a round is
Index("kabc_tickets_apart", tickets.c.study, tickets.c.state, tickets.c.round, tickets.c.place, sqlite_where=APART)

draws = Table(
    "kabc_draws",
    metadata,
    _of("tickets", "ticket", primary_key=True, autoincrement=False),
    _number("worker"),
    Column("rows", LargeBinary, nullable=False),
    _time("started"),
    _time("ended"),
)

late = Table(
    "kabc_late",
    metadata,
    _id(),
    _of("tickets", "ticket"),
    _number("lease"),
    _number("worker"),
    Column("rows", LargeBinary, nullable=False),
    _time("started"),
    _time("ended"),
    _number("n_paid"),
    UniqueConstraint("ticket", "lease", name="kabc_late_lease"),
)

totals = Table(
    "kabc_totals",
    metadata,
    _of("studies", "study", primary_key=True),
    Column("arm", _Id, primary_key=True),
    _number("n_samples"),
    _number("n_paid"),
)

notes = Table(
    "kabc_notes",
    metadata,
    _id(),
    _of("studies", "study"),
    _words("kind"),
    _words("body"),
    _time("written"),
    _words("token"),
    **_ONCE,
)
Index("kabc_notes_study", notes.c.study, notes.c.id)

tokens = Table(
    "kabc_tokens",
    metadata,
    _id(),
    _words("label"),
    _words("scope"),
    Column("digest", Text, nullable=False, unique=True),  # of the token, which is not kept
    _time("created"),
    Column("expires", _Double, nullable=True),
    **_ONCE,
)

snapshots = Table(
    "kabc_snapshots",
    metadata,
    _of("studies", "study", primary_key=True, autoincrement=False),
    _number("number"),
    Column("content", LargeBinary, nullable=False),
)
