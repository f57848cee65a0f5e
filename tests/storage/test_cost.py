"""What a tell and a look cost does not grow with the tickets of a round. Counted, not timed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import Connection, event, text

from kabc.storage.contract import Draw, NewTicket, Storage, Ticket
from kabc.storage.memory import MemoryStorage
from kabc.storage.opening import open_storage
from kabc.storage.sql.store import SqlStorage
from tests.postgres import new_database

SHORT, LONG = 400, 6_000

Call = Callable[[Storage, int], object]
CALLS: dict[str, Call] = {
    "tell": lambda store, study: store.exchange(study, "ann", told(store.leases(study)[:2]), want=2),
    "summary": lambda store, study: store.summary(study),
    "leases": lambda store, study: store.leases(study),
    "wait": lambda store, study: store.wait(study, 0, 0.0),
    "deaths": lambda store, study: store.deaths(study),
    "bury": lambda store, study: store.bury(study, "carl", counted=False),
}


def told(held: Iterable[Ticket]) -> list[Draw]:
    return [Draw(one.id, one.lease, one.worker, np.zeros(1), 0.0, 1.0) for one in held]


def half_drawn(store: Storage, n_tickets: int) -> int:
    """A study with a round of which the first half is done, and four tickets are leased."""
    study = store.create_study(f"round of {n_tickets}", {}, {}).id
    store.open_round(study, 0, [NewTicket(i % 20, i // 20, i // 20, 1) for i in range(n_tickets)])
    while store.summary(study).tickets.get("done", 0) < n_tickets // 2:
        store.exchange(study, "ann", told(store.exchange(study, "ann", want=200).leased))
    store.exchange(study, "ann", want=4)
    return study


def that_grow(store: Storage, cost: Callable[[Call, int], int], most: Callable[[int], float]) -> dict[str, list[int]]:
    """Calls that cost more in a long round than `most` says of a short one. The first call may learn for later ones."""
    found: dict[str, list[int]] = {name: [] for name in CALLS}
    for n_tickets in (SHORT, LONG):
        study = half_drawn(store, n_tickets)
        for name, call in CALLS.items():
            cost(call, study)
            found[name].append(cost(call, study))
    assert max(map(max, found.values())) > 0  # something is counted at all
    return {name: costs for name, costs in found.items() if costs[1] > most(costs[0])}


def test_steps_of_sqlite_do_not_grow_with_the_round(tmp_path: Path) -> None:
    store = open_storage(tmp_path / "kabc.db")
    assert isinstance(store, SqlStorage)

    def cost(call: Call, study: int) -> int:
        steps = 0

        def step() -> int:
            nonlocal steps
            steps += 1
            return 0

        with store.home.transaction(write=False) as connection:
            raw: Any = connection.connection.driver_connection
        raw.set_progress_handler(step, 10)
        try:
            call(store, study)
        finally:
            raw.set_progress_handler(None, 0)
        return 10 * steps

    found = that_grow(store, cost, lambda short: 1.5 * short + 100)
    store.close()
    assert found == {}


def test_rows_that_postgres_reads_do_not_grow_with_the_round(postgres: str) -> None:
    store = open_storage(new_database(postgres))
    assert isinstance(store, SqlStorage)
    reads = Reads(store)

    def cost(call: Call, study: int) -> int:
        with store.home.transaction(write=True) as connection:
            connection.execute(text("ANALYZE"))  # as the server does by itself after a while
        before = reads.n_rows
        call(store, study)
        return reads.n_rows - before

    found = that_grow(store, cost, lambda short: 1.5 * short + 20)
    store.close()
    assert found == {}


class Reads:
    """Counts the rows that each transaction reads, at its end: the server itself counts them a little later."""

    def __init__(self, store: SqlStorage) -> None:
        self.n_rows = 0
        engine = store.home._engine  # type: ignore[attr-defined]
        event.listen(engine, "begin", lambda connection: self._add(-1, connection))
        event.listen(engine, "commit", lambda connection: self._add(1, connection))

    def _add(self, sign: int, connection: Connection) -> None:
        raw: Any = connection.connection.driver_connection
        query = "SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0)) FROM pg_stat_xact_user_tables"
        self.n_rows += sign * int(raw.execute(query).fetchone()[0] or 0)


class Counting(dict[int, Ticket]):
    """Tickets by their id; it counts how many are looked at."""

    n_read = 0

    def __getitem__(self, key: int) -> Ticket:
        self.n_read += 1
        return super().__getitem__(key)


def test_tickets_that_memory_looks_at_do_not_grow_with_the_round() -> None:
    store = MemoryStorage()

    def cost(call: Call, study: int) -> int:
        deck = store._studies[study].deck
        deck.tickets = tickets = Counting(deck.tickets)
        call(store, study)
        return tickets.n_read

    assert that_grow(store, cost, lambda short: short) == {}
