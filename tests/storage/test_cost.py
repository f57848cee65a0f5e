"""What a tell and a look cost does not grow with the tickets of a round. Counted, not timed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import text

from kabc.storage.contract import Draw, NewTicket, Storage, Ticket
from kabc.storage.memory import MemoryStorage
from kabc.storage.opening import open_storage
from kabc.storage.sql.store import SqlStorage
from tests.postgres import new_database

SHORT, LONG = 400, 8_000
CALLS: dict[str, Callable[[Storage, int], object]] = {
    "tell": lambda store, study: store.exchange(study, "ann", told(store.leases(study)[:2]), want=2),
    "summary": lambda store, study: store.summary(study),
    "leases": lambda store, study: store.leases(study),
    "wait": lambda store, study: store.wait(study, 0, 0.0),
    "deaths": lambda store, study: store.deaths(study),
    "bury": lambda store, study: store.bury(study, "carl", counted=False),
}


def told(held: Any) -> list[Draw]:
    return [Draw(one.id, one.lease, one.worker, np.zeros(1), 0.0, 1.0) for one in held]


def half_drawn(store: Storage, n_tickets: int) -> int:
    """A study with a round of which the first half is done, and four tickets are leased."""
    study = store.create_study(f"round of {n_tickets}", {}, {}).id
    store.open_round(study, 0, [NewTicket(i % 20, i // 20, i // 20, 1) for i in range(n_tickets)])
    while store.summary(study).tickets.get("done", 0) < n_tickets // 2:
        store.exchange(study, "ann", told(store.exchange(study, "ann", want=200).leased))
    store.exchange(study, "ann", want=4)
    return study


def grows(cost: Callable[[Callable[[Storage, int], object], int], int], store: Storage, name: str) -> tuple[int, int]:
    """What a call costs in a short and in a long round. The first call may find out what later ones know."""
    found = []
    for n_tickets in (SHORT, LONG):
        study = half_drawn(store, n_tickets)
        cost(CALLS[name], study)
        found.append(cost(CALLS[name], study))
    return found[0], found[1]


@pytest.fixture
def sqlite(tmp_path: Path) -> Iterator[SqlStorage]:
    store = open_storage(tmp_path / "kabc.db")
    assert isinstance(store, SqlStorage)
    yield store
    store.close()


@pytest.mark.parametrize("name", CALLS)
def test_steps_of_sqlite_do_not_grow_with_the_round(sqlite: SqlStorage, name: str) -> None:
    def cost(call: Callable[[Storage, int], object], study: int) -> int:
        steps = 0

        def step() -> int:
            nonlocal steps
            steps += 1
            return 0

        with sqlite.home.transaction(write=False) as connection:
            raw: Any = connection.connection.driver_connection
        raw.set_progress_handler(step, 10)
        try:
            call(sqlite, study)
        finally:
            raw.set_progress_handler(None, 0)
        return 10 * steps

    short, long = grows(cost, sqlite, name)
    assert 0 < long <= 1.5 * short + 100


@pytest.mark.parametrize("name", CALLS)
def test_rows_that_postgres_reads_do_not_grow_with_the_round(postgres: str, name: str) -> None:
    store = open_storage(new_database(postgres))
    assert isinstance(store, SqlStorage)

    def read() -> int:
        query = "SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0)) FROM pg_stat_user_tables"
        with store.home.transaction(write=False) as connection:
            connection.execute(text("SELECT pg_stat_clear_snapshot()"))
            return int(connection.execute(text(query)).scalar_one())

    def cost(call: Callable[[Storage, int], object], study: int) -> int:
        settled(store)
        before = read()
        call(store, study)
        settled(store)
        return read() - before

    short, long = grows(cost, store, name)
    store.close()
    assert long <= 1.5 * short + 20


def settled(store: SqlStorage) -> None:
    """What was read is counted, and what the tables hold is known to the planner, as after a while."""
    store.home.close()  # connections report what they read when they end, if not before
    with store.home.transaction(write=True) as connection:
        connection.execute(text("ANALYZE"))
    store.home.close()


class Counting(dict[int, Ticket]):
    """Tickets by their id; it counts how many are looked at."""

    n_read = 0

    def __getitem__(self, key: int) -> Ticket:
        self.n_read += 1
        return super().__getitem__(key)


@pytest.mark.parametrize("name", CALLS)
def test_tickets_that_memory_looks_at_do_not_grow_with_the_round(name: str) -> None:
    store = MemoryStorage()

    def cost(call: Callable[[Storage, int], object], study: int) -> int:
        deck = store._studies[study].deck
        deck.tickets = tickets = Counting(deck.tickets)
        call(store, study)
        return tickets.n_read

    short, long = grows(cost, store, name)
    assert long <= short
