"""Which part of a round is one worker's, where several draw for a study: as much as each of the others."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence

from kabc.running.stepping import living
from kabc.storage.contract import Storage, Summary, Ticket


def share(
    storage: Storage,
    study: int,
    names: Sequence[Hashable],  # of all arms
    served: Collection[int] | None,  # arms of this worker; None: all
    held: Mapping[int, Ticket],  # what it has now, by id
    seconds: float,  # of a lease
    most: int,
) -> int:
    """How many tickets a worker may hold: its part of what is left of the round, from 1 to `most`.

    A ticket that two workers can draw counts as half a one for each of them. As the round is drawn, the parts grow
    smaller, and what a slow worker has not taken goes to the others: none of them waits while a ticket is open.
    """
    workers = living(storage, study, seconds)
    if len(workers) < 2:
        return most
    summary = storage.summary(study)
    if summary.tickets.get("open", 0) >= most * len(workers):  # enough for all of them
        return most
    able = Counter(arm for worker in workers for arm in set(map(str, worker.facts.get("arms", ()))))
    left = [
        ticket.arm
        for ticket in latest_tickets(storage, study, summary)
        if ticket.state in ("open", "leased") and ticket.id not in held and (served is None or ticket.arm in served)
    ]
    left += [ticket.arm for ticket in held.values()]
    mine = math.fsum(1 / max(able[str(names[arm])], 1) for arm in left)
    return max(1, min(most, math.ceil(mine - 1e-9)))


def latest_tickets(storage: Storage, study: int, summary: Summary) -> list[Ticket]:
    """The tickets of the latest round. The first round is number 0 where there is a pilot, else number 1."""
    numbers = (summary.n_rounds, summary.n_rounds - 1)
    return next(filter(None, (storage.tickets(study, number) for number in numbers)), [])
