"""The tickets of a round: all samples are asked for once, in a random order, each with randomness of its own."""

from __future__ import annotations

from collections import Counter

import numpy as np

from kabc.storage.contract import NewTicket, Ticket
from kabc.study.facts import ArmFacts, Facts
from kabc.study.tickets import generators_of, rng_of, tickets_of

PLAIN = Facts((ArmFacts(),) * 4)
LIVE = Facts((ArmFacts(one_at_a_time=True), ArmFacts(), ArmFacts(one_at_a_time=True)))
PAIRED = Facts((ArmFacts(paired=True), ArmFacts(paired=True), ArmFacts()))
MATCHED = Facts((ArmFacts(paired=True, one_at_a_time=True),) * 2)


def first(ticket: NewTicket, facts: Facts, number: int = 1) -> list[float]:
    kept = Ticket(1, number, 0, ticket.arm, ticket.piece, ticket.start, ticket.count)
    return [float(rng.random()) for rng in generators_of(kept, 7, facts)]


def test_an_arm_has_one_ticket_for_its_whole_count() -> None:
    tickets = tickets_of({0: 5, 2: 3}, 1, 7, PLAIN, [10, 0, 20, 0])
    assert sorted((one.arm, one.piece, one.start, one.count) for one in tickets) == [(0, 0, 10, 5), (2, 0, 20, 3)]


def test_arms_drawn_one_at_a_time_have_a_ticket_for_each_sample() -> None:
    tickets = tickets_of({0: 3, 1: 4, 2: 2}, 1, 7, LIVE, [5, 0, 9])
    assert Counter(one.arm for one in tickets) == {0: 3, 1: 1, 2: 2}
    mine = [one for one in tickets if one.arm == 0]
    assert [(one.piece, one.start, one.count) for one in mine] == [(0, 5, 1), (1, 6, 1), (2, 7, 1)]


def test_the_order_is_random_and_of_each_round() -> None:
    orders = {tuple(one.arm for one in tickets_of(dict.fromkeys(range(4), 1), n, 7, PLAIN, [0] * 4)) for n in range(9)}
    assert len(orders) > 4


def test_a_draw_has_the_randomness_of_its_arm_and_round() -> None:
    assert first(NewTicket(2, 0, 0, 5), PLAIN) == [rng_of(7, 2, 1).random()]
    assert first(NewTicket(2, 0, 0, 5), PLAIN, 2) == [rng_of(7, 2, 2).random()]


def test_no_two_draws_of_a_run_share_their_randomness() -> None:
    request, before = {0: 3, 1: 4, 2: 2}, [0] * 3
    seen = [first(one, LIVE, n)[0] for n in range(4) for one in tickets_of(request, n, 7, LIVE, before)]
    assert len(set(seen)) == len(seen) == 4 * 6


def test_paired_arms_share_a_generator_and_others_have_none() -> None:
    a, b = first(NewTicket(0, 0, 0, 5), PAIRED), first(NewTicket(1, 0, 0, 5), PAIRED)
    assert a[1] == b[1] and a[0] != b[0]
    assert len(first(NewTicket(2, 0, 0, 5), PAIRED)) == 1


def test_the_pieces_of_paired_arms_share_one_each() -> None:
    shared = np.array([[first(NewTicket(arm, k, k, 1), MATCHED)[1] for k in range(3)] for arm in range(2)])
    assert np.array_equal(shared[0], shared[1])
    assert len(set(shared[0])) == 3
