"""The rounds of a study: opened once, read many at a time, given when they are whole, and never changed by readers."""

from __future__ import annotations

from typing import Any

import numpy as np

from kabc.storage.contract import Draw, Storage
from kabc.storage.memory import MemoryStorage
from kabc.study.facts import ArmFacts, Facts
from kabc.study.ledger import Ledger

FACTS = Facts((ArmFacts(), ArmFacts(one_at_a_time=True)))
REQUEST = {0: 3, 1: 2}


class Counting(MemoryStorage):
    """Counts the queries of draws and tickets."""

    n_queries = n_looks = 0

    def tickets(self, study: int, number: int) -> Any:
        self.n_looks += 1
        return super().tickets(study, number)

    def draws(self, study: int, first: int, last: int) -> Any:
        self.n_queries += 1
        return super().draws(study, first, last)


def ledger(storage: Storage, worker: str = "one", *, only_read: bool = False) -> Ledger:
    return Ledger(storage, storage.load_study("nightly"), FACTS, 7, worker, only_read=only_read)


def study() -> Counting:
    storage = Counting()
    storage.create_study("nightly", {}, {})
    return storage


def draw_all(book: Ledger, value: float, n: int = 100) -> None:
    """Lease what there is, and hand in rows that tell where they come from."""
    leased = book.exchange(want=n).leased
    done = [
        Draw(one.id, one.lease, book.worker, value + one.start + np.arange(one.count) / 10.0, 0.0, 0.0)
        for one in leased
    ]
    book.exchange(done)


def rows(found: dict[int, list[Any]] | None) -> dict[int, list[float]]:
    assert found is not None
    return {arm: np.concatenate(pieces).round(6).tolist() for arm, pieces in found.items()}


def test_a_round_is_given_once_all_of_its_tickets_are_done_pieces_in_order() -> None:
    book = ledger(study())
    assert book.round(1, REQUEST, [0, 0]) is None
    draw_all(book, 0.0, n=1)
    assert book.round(1, REQUEST, [0, 0]) is None
    draw_all(book, 0.0)
    assert rows(book.round(1, REQUEST, [0, 0])) == {0: [0.0, 0.1, 0.2], 1: [0.0, 1.0]}


def test_tickets_are_read_once_the_round_is_whole_and_not_while_others_draw() -> None:
    storage = study()
    mine, other = ledger(storage), ledger(storage, "two")
    assert mine.round(1, REQUEST, [0, 0]) is None
    storage.n_looks = 0
    draw_all(other, 0.0, n=1)
    assert mine.round(1, REQUEST, [0, 0]) is mine.round(1, REQUEST, [0, 0]) is None
    assert storage.n_looks == 0
    draw_all(other, 0.0)
    assert rows(mine.round(1, REQUEST, [0, 0])) == {0: [0.0, 0.1, 0.2], 1: [0.0, 1.0]}


def test_a_round_that_is_whole_is_given_though_a_later_one_is_open() -> None:
    storage = study()
    mine, other = ledger(storage), ledger(storage, "two")
    assert mine.round(1, REQUEST, [0, 0]) is other.round(1, REQUEST, [0, 0]) is None
    draw_all(other, 0.0)
    assert rows(other.round(1, REQUEST, [0, 0])) == {0: [0.0, 0.1, 0.2], 1: [0.0, 1.0]}
    assert other.round(2, REQUEST, [3, 2]) is None
    assert rows(mine.round(1, REQUEST, [0, 0])) == {0: [0.0, 0.1, 0.2], 1: [0.0, 1.0]}


def test_rows_that_others_drew_are_read() -> None:
    storage = study()
    mine, other = ledger(storage), ledger(storage, "two")
    assert mine.round(1, REQUEST, [0, 0]) is None
    draw_all(mine, 0.0, n=1)
    draw_all(other, 0.0)
    assert rows(mine.round(1, REQUEST, [0, 0])) == {0: [0.0, 0.1, 0.2], 1: [0.0, 1.0]}


def test_the_log_is_read_many_rounds_at_a_time() -> None:
    storage = study()
    book = ledger(storage)
    for number in range(1, 251):
        assert book.round(number, REQUEST, [3 * number, 2 * number]) is None
        draw_all(book, 0.0)
    storage.n_queries = 0
    again = ledger(storage)
    for number in range(1, 251):
        found = rows(again.round(number, REQUEST, [3 * number, 2 * number]))
        assert found[1] == [2.0 * number, 2.0 * number + 1.0]
    assert storage.n_queries <= 5
    assert again.round(251, REQUEST, [0, 0]) is None
    assert len(storage.tickets(1, 251)) == 3


def test_what_there_is_of_an_open_round_is_given_as_a_part() -> None:
    storage = study()
    book = ledger(storage)
    book.round(1, {0: 3}, [0, 0])
    assert book.part() == {}
    draw_all(ledger(storage, "two"), 5.0)
    assert rows(book.part()) == {0: [5.0, 5.1, 5.2]}
    assert book.round(1, {0: 3}, [0, 0]) is not None
    assert book.part() == {}  # it was given whole: nothing is counted twice


def test_a_reader_opens_nothing_and_notes_nothing() -> None:
    storage = study()
    book = ledger(storage)
    book.round(1, REQUEST, [0, 0])
    draw_all(book, 0.0)
    before = storage.load_study("nightly").revision
    reader = ledger(storage, "reader", only_read=True)
    reader.note("block", {"length": 3})
    assert reader.round(1, {0: 9}, [0, 0]) is not None
    assert reader.round(2, REQUEST, [0, 0]) is None
    assert storage.load_study("nightly").revision == before and storage.tickets(1, 2) == []
    assert storage.notes(1) == []


def test_the_first_note_of_a_kind_counts() -> None:
    storage = study()
    one, other = ledger(storage), ledger(storage, "two")
    assert one.noted("block") is None
    one.note("block", {"length": 3})
    other.note("block", {"length": 4})
    assert one.noted("block") == other.noted("block") == {"length": 3}
