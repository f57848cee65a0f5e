from __future__ import annotations

import numpy as np

from kabc.storage.contract import Draw, Failure, NewTicket
from kabc.storage.memory import MemoryStorage


def test_rows_are_the_arrays_that_were_handed_in() -> None:
    store = MemoryStorage()
    study = store.create_study("same", {}, {}).id
    store.open_round(study, 0, [NewTicket(0, 0, 0, 4)])
    rows = np.arange(4.0)
    (ticket,) = store.exchange(study, "w", want=1).leased
    store.exchange(study, "w", [Draw(ticket.id, ticket.lease, "w", rows, 0.0, 1.0)])
    ((_, draw),) = store.draws(study, 0, 0)
    assert draw.rows is rows


def test_deaths_of_a_ticket_are_forgotten_when_people_open_it_again() -> None:
    store = MemoryStorage()
    study = store.create_study("deadly", {}, {}).id
    store.open_round(study, 0, [NewTicket(0, 0, 0, 4), NewTicket(1, 0, 0, 4)])
    for worker in ("a", "b", "c"):
        leased = store.exchange(study, worker, want=2, seconds=0.0).leased
    assert store.deaths(study) == {0: 2, 1: 2}
    store.exchange(study, "c", [Failure(leased[0].id, leased[0].lease, "c", "killed twice")])
    assert store.reopen(study, {}) == 1
    assert store.deaths(study) == {1: 2}
    again = store.exchange(study, "d", want=2).leased
    assert [ticket.deaths for ticket in again] == [0, 3]
