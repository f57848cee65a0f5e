"""A private ledger gives the rounds that a ledger in a store gives, without the store."""

from __future__ import annotations

import numpy as np
import pytest

from kabc.core.errors import SampleError
from kabc.storage.contract import Draw, Failure, Ticket
from kabc.storage.memory import MemoryStorage
from kabc.study.facts import ArmFacts, Facts
from kabc.study.ledger import Ledger
from kabc.study.private import PrivateLedger

FACTS = Facts((ArmFacts(), ArmFacts(one_at_a_time=True), ArmFacts()))
ROUNDS = ({0: 4, 1: 3, 2: 4}, {2: 2}, {1: 2, 0: 5})
SEED = 7


def drawn(ticket: Ticket) -> Draw:
    rows = 100.0 * ticket.arm + ticket.start + np.arange(ticket.count)
    return Draw(ticket.id, ticket.lease, "run", rows, 0.0, 1.0)


def in_a_store() -> Ledger:
    storage = MemoryStorage()
    return Ledger(storage, storage.create_study("one", {}, {}), FACTS, SEED, "run")


def private() -> PrivateLedger:
    return PrivateLedger(FACTS, SEED)


def test_tickets_and_rows_are_those_of_a_ledger_in_a_store() -> None:
    told: list[object] = []
    dealt: list[object] = []
    for book in (in_a_store(), private()):
        before, rounds, tickets = [0] * 3, [], []
        for number, request in enumerate(ROUNDS):
            assert book.round(number, request, before) is None
            leased = book.exchange(want=100).leased
            tickets += [(one.id, one.round, one.place, one.arm, one.piece, one.start, one.count) for one in leased]
            assert book.exchange([drawn(one) for one in reversed(leased)]).outcomes == ("done",) * len(leased)
            rows = book.round(number, request, before)
            assert rows is not None
            rounds += [(arm, [one.tolist() for one in pieces]) for arm, pieces in rows.items()]
            for arm, count in request.items():
                before[arm] += count
        told.append(rounds)
        dealt.append(tickets)
    assert told[0] == told[1]
    assert dealt[0] == dealt[1]


def test_what_was_drawn_of_a_round_can_be_had_and_a_told_round_is_forgotten() -> None:
    book = private()
    assert book.part() == {}
    book.round(0, {0: 2, 2: 1}, [0] * 3)
    first, second = book.exchange(want=9).leased
    book.exchange([drawn(first)])
    assert list(book.part()) == [first.arm]
    assert book.round(0, {0: 2, 2: 1}, [0] * 3) is None
    book.exchange([drawn(second)])
    assert book.round(0, {0: 2, 2: 1}, [0] * 3) is not None
    assert book.part() == {}
    assert not book.tickets


def test_what_is_given_back_is_dealt_again_and_what_failed_is_not() -> None:
    book = private()
    book.round(0, {0: 2, 2: 1}, [0] * 3)
    (first,) = book.exchange(want=1).leased
    (second,) = book.exchange(want=1).leased
    assert book.exchange(want=9).leased == ()
    again = book.exchange([Failure(first.id, first.lease, "run", "", final=False)], want=9)
    assert [one.id for one in again.leased] == [first.id]
    failed = [Failure(second.id, second.lease, "run", "broken")]
    assert book.exchange(failed, want=9).leased == ()
    assert book.round(0, {0: 2, 2: 1}, [0] * 3) is None


def test_rows_that_were_not_asked_for_are_refused() -> None:
    book = private()
    book.round(0, {0: 2}, [0] * 3)
    (ticket,) = book.exchange(want=1).leased
    with pytest.raises(SampleError, match="asked for 2 samples"):
        book.exchange([Draw(ticket.id, ticket.lease, "run", np.zeros(3), 0.0, 1.0)])
