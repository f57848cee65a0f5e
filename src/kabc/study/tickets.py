"""The tickets of a round, and the randomness of each.

Randomness of a draw depends on (seed, arm, round, piece) alone: the answer is the same whatever the order of the draws
and the number of workers. Arms are drawn in a new random order in each round. Those that are drawn `one_at_a_time` have
a ticket for each sample, among those of other arms. So a drift in time does not favour one of them.

Keys of random numbers, no two alike: (arm,) shuffles a pool; (arm, round) is for a draw, (arm, round, 0, piece) for
one of several; (N, round) for the order of a round; (N, round, 1) for what paired arms share, (N, round, 1, piece) for
one of several draws.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from kabc.storage.contract import NewTicket, Ticket
from kabc.study.facts import Facts


def rng_of(seed: int, *key: int) -> np.random.Generator:
    """A random generator for each key."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


def tickets_of(
    request: Mapping[int, int], number: int, seed: int, facts: Facts, before: Sequence[int]
) -> list[NewTicket]:
    """The draws of a round in random order. `before`: samples of each arm that were asked for before."""
    pieces = [count if facts.arms[arm].one_at_a_time else 1 for arm, count in request.items()]
    order = [arm for arm, n in zip(request, pieces, strict=True) for _ in range(n)]
    if len(order) > 1:
        order = rng_of(seed, len(facts), number).permutation(order).tolist()
    if len(order) == len(request):
        return [NewTicket(arm, 0, before[arm], request[arm]) for arm in order]
    size = {arm: count // n for (arm, count), n in zip(request.items(), pieces, strict=True)}
    dealt = dict.fromkeys(request, 0)
    tickets = []
    for arm in order:
        piece = dealt[arm]
        tickets.append(NewTicket(arm, piece, before[arm] + piece * size[arm], size[arm]))
        dealt[arm] += 1
    return tickets


def generators_of(ticket: Ticket, seed: int, facts: Facts) -> tuple[np.random.Generator, ...]:
    """The generator of a draw; of a paired arm also the one that all arms have alike."""
    about, number = facts.arms[ticket.arm], ticket.round
    several = about.one_at_a_time
    own = rng_of(seed, ticket.arm, number, 0, ticket.piece) if several else rng_of(seed, ticket.arm, number)
    if not about.paired:
        return (own,)
    n_arms = len(facts)
    return own, (rng_of(seed, n_arms, number, 1, ticket.piece) if several else rng_of(seed, n_arms, number, 1))
