"""The tickets of a round, and the randomness of each.

Randomness of a draw depends on (seed, arm, round, piece) alone: the answer is the same whatever the order of the draws
and the number of workers. Arms are drawn in a new random order in each round. Those that are drawn `one_at_a_time` have
a ticket for each sample, among those of other arms. So a drift in time does not favour one of them.

Keys of random numbers, no two alike: (arm,) shuffles a pool; (arm, round) is for a draw, (arm, round, 0, piece) for
one of several; (N, round) for the order of a round; (N, round, 1) for what paired arms share, (N, round, 1, piece) for
one of several draws.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from kabc.core.streams import made_ahead, rng_of, rng_of_round, rngs_of
from kabc.storage.contract import NewTicket, Ticket
from kabc.study.facts import Facts

__all__ = ["Streams", "generators_of", "keys_of", "rng_of", "rngs_of", "tickets_of"]

_AT_ONCE = 1024  # generators that are made together: a round of many arms is not in memory as generators


def tickets_of(
    request: Mapping[int, int], number: int, seed: int, facts: Facts, before: Sequence[int]
) -> list[NewTicket]:
    """The draws of a round in random order. `before`: samples of each arm that were asked for before."""
    pieces = [count if facts.arms[arm].one_at_a_time else 1 for arm, count in request.items()]
    order = [arm for arm, n in zip(request, pieces, strict=True) for _ in range(n)]
    if len(order) > 1:
        order = rng_of_round(seed, len(facts) + 1, len(facts), number).permutation(order).tolist()
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
    return tuple(rng_of(seed, *key) for key in keys_of(ticket, facts))


def keys_of(ticket: Ticket, facts: Facts) -> tuple[tuple[int, ...], ...]:
    """The keys of the generators of a draw: these, with the seed, are all that another process needs."""
    about, number = facts.arms[ticket.arm], ticket.round
    piece = (ticket.piece,) if about.one_at_a_time else ()
    own = (ticket.arm, number, *((0, *piece) if piece else ()))
    return (own, (len(facts), number, 1, *piece)) if about.paired else (own,)


class Streams:
    """`generators_of` of tickets that are drawn one after the other, made many at a time."""

    def __init__(self, seed: int, facts: Facts) -> None:
        self._seed, self._facts = seed, facts
        self._alike = not any(about.paired or about.one_at_a_time for about in facts.arms)
        self._few = self._alike and made_ahead(len(facts) + 1)
        self._next: Iterator[Ticket] = iter(())
        self._made: dict[int, np.random.Generator] = {}  # by ticket

    def expect(self, tickets: Sequence[Ticket]) -> None:
        """These are drawn next, in about this order."""
        self._next, self._made = iter(tickets if self._alike else ()), {}

    def of(self, ticket: Ticket) -> tuple[np.random.Generator, ...]:
        """The generators of a ticket, whether it was expected or not."""
        if self._few:
            return (rng_of_round(self._seed, len(self._facts) + 1, ticket.arm, ticket.round),)
        if ticket.id not in self._made:
            some = [one for one, _ in zip(self._next, range(_AT_ONCE), strict=False)]
            made = rngs_of(self._seed, [(one.arm, one.round) for one in some])
            self._made |= {one.id: rng for one, rng in zip(some, made, strict=True)}
        own = self._made.pop(ticket.id, None)
        return generators_of(ticket, self._seed, self._facts) if own is None else (own,)
