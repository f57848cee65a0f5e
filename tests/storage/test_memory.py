from __future__ import annotations

import numpy as np
import pytest

from kabc.storage.contract import Draw, Failure, NewTicket
from kabc.storage.errors import StorageError
from kabc.storage.memory import MemoryStorage


def _played_round(store: MemoryStorage, study: int, number: int) -> None:
    store.open_round(study, number, [NewTicket(arm, 0, 4 * number, 4) for arm in range(2)])
    leased = store.exchange(study, "w", want=2).leased
    store.exchange(study, "w", [Draw(one.id, one.lease, "w", np.zeros(4), 0.0, 1.0) for one in leased])


def test_rows_of_told_rounds_are_forgotten_where_that_is_wished_and_figures_stay() -> None:
    store = MemoryStorage(forget=True)
    study = store.create_study("short", {}, {}).id
    for number in range(3):
        _played_round(store, study, number)
        assert len(list(store.draws(study, number, number))) == 2
    assert list(store.draws(study, 0, 1)) == []
    assert store.samples_per_arm(study) == {0: 12, 1: 12}
    with pytest.raises(StorageError, match="round 1 cannot be opened: round 2 was opened before it"):
        store.open_round(study, 1, [])
    store.end(study, 2, {})
    assert list(store.draws(study, 2, 2)) == []


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
